# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The doctor on real OVN databases: roles, read-only connections, dead members, TLS files; and it changes nothing."""

from __future__ import annotations

import dataclasses
import subprocess

import pytest
from ovn_servers import OvnServers
from servers import free_port, program

from ansible_collections.stackguard.nova.plugins.module_utils.doctor import ovn as checks
from ansible_collections.stackguard.nova.plugins.module_utils.model.doctor import FAILED, NOT_CHECKED, OK, Asked
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import database, doctor


@pytest.fixture
def ovn():
    servers = OvnServers()
    try:
        servers.start()
        servers.chassis("compute1", 1)
        yield servers
    finally:
        servers.stop()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(database, "TIMEOUT", 4)
    of = database.OvnAccess.of
    monkeypatch.setattr(database.OvnAccess, "of", lambda options: dataclasses.replace(of(options), timeout=4))


def listening(ovn, **settings):
    """Let the southbound database listen on a TCP port too; return the connection."""
    port = free_port()
    more = [f"{key}={value}" for key, value in settings.items()]
    ovn.sb("--", "--id=@c", "create", "Connection", f'target="ptcp:{port}:127.0.0.1"', *more, "--",
           "set", "SB_Global", ".", "connections=@c")  # fmt: skip
    remote = "db:OVN_Southbound,SB_Global,connections"
    subprocess.run(
        [program("ovs-appctl"), "-t", ovn.directory / "sb.ctl", "ovsdb-server/add-remote", remote],
        check=True,
        capture_output=True,
    )
    return f"tcp:127.0.0.1:{port}"


def judged(options):
    found = checks.judge(Asked(operations=["rename_host"]), doctor.read_ovn_state(options), None)
    assert all(result.fix for result in found if result.state == FAILED)
    return {(result.subject, result.part): result for result in found}


def rows(ovn):
    """Every row with its version: a transaction that changed anything would have given one another."""
    asked = {"nb": ("NB_Global", "Logical_Switch_Port"), "sb": ("Chassis", "SB_Global", "Encap")}
    return [
        doctor._transact(
            f"unix:{ovn.directory}/{name}.sock",
            {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}[name],
            [{"op": "select", "table": table, "where": [], "columns": ["_uuid", "_version"]} for table in tables],
        )
        for name, tables in asked.items()
    ]


def test_both_databases_are_ok_and_nothing_is_changed(ovn):
    before = rows(ovn)
    assert {key: result.state for key, result in judged(ovn.options).items()} == {
        ("ovn northbound", "ovn_database"): OK,
        ("ovn northbound", "ovn_rights"): OK,
        ("ovn southbound", "ovn_database"): OK,
        ("ovn southbound", "ovn_rights"): OK,
    }
    assert rows(ovn) == before


@pytest.mark.parametrize(
    ("settings", "words"), [({"role": "ovn-controller"}, "RBAC"), ({"read_only": "true"}, "read only")]
)
def test_a_connection_that_forbids_changes_is_a_failure(ovn, settings, words):
    options = {**ovn.options, "ovn_sb_connection": listening(ovn, **settings)}
    found = judged(options)
    wrong = found["ovn southbound", "ovn_rights"]
    assert (wrong.state, words in wrong.seen) == (FAILED, True)
    assert "ovn-sbctl" in wrong.fix
    assert found["ovn southbound", "ovn_database"].state == OK, "it is read as ever"


def test_a_connection_of_that_kind_without_a_role_is_ok(ovn):
    assert {result.state for result in judged({**ovn.options, "ovn_sb_connection": listening(ovn)}).values()} == {OK}


def test_without_a_chassis_the_right_is_not_known(ovn):
    ovn.forget_chassis(ovn.sb("--bare", "--columns=name", "list", "Chassis"))
    found = judged(ovn.options)["ovn southbound", "ovn_rights"]
    assert (found.state, "no chassis" in found.seen) == (NOT_CHECKED, True)


def test_a_member_that_is_silent_is_not_ok(ovn):
    remote = f"{ovn.options['ovn_nb_connection']},tcp:127.0.0.1:1"
    found = judged({**ovn.options, "ovn_nb_connection": remote})
    assert found["ovn northbound", "ovn_database"].state == NOT_CHECKED
    assert "tcp:127.0.0.1:1" in found["ovn northbound", "ovn_database"].seen


def test_the_two_databases_mixed_up_are_failures(ovn):
    options = {"ovn_nb_connection": ovn.access.southbound, "ovn_sb_connection": ovn.access.northbound}
    found = judged(options)
    assert {result.state for (_subject, part), result in found.items() if part == "ovn_database"} == {FAILED}


def test_a_database_that_hangs_is_a_failure_in_time(ovn):
    ovn.freeze("sb")
    found = judged(ovn.options)
    ovn.thaw("sb")
    assert found["ovn southbound", "ovn_database"].state == FAILED
    assert found["ovn northbound", "ovn_database"].state == OK


def test_files_of_a_tls_connection_that_are_missing_are_named(tmp_path):
    options = {"ovn_nb_connection": "ssl:127.0.0.1:1", "ovn_sb_connection": "ssl:127.0.0.1:1"}
    assert "ovn_private_key: the option is not set" in judged(options)["ovn", "ovn_database"].seen
    options.update({f"ovn_{name}": str(tmp_path / name) for name in ("private_key", "certificate", "ca_cert")})
    assert (
        f"ovn_private_key: {tmp_path}/private_key is not a file on the Ansible controller"
        in judged(options)["ovn", "ovn_database"].seen
    )


def test_one_connection_alone_is_a_failure():
    assert judged({"ovn_nb_connection": "tcp:127.0.0.1:1"})["ovn", "ovn_database"].state == FAILED
