# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names before and after: the style a host has is kept, and what cannot be told is refused, not guessed."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import names
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import HostFacts, HostsLine, NovaConf
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

CONF = NovaConf(
    files=["/etc/nova/nova.conf"],
    host=None,
    state_path="/var/lib/nova",
    my_ip="192.0.2.11",
    instances_path="/var/lib/nova/instances",
    compute_driver="libvirt.LibvirtDriver",
    images_type="rbd",
    images_rbd_pool="vms",
    rbd_user="nova",
    images_rbd_ceph_conf="/etc/ceph/ceph.conf",
    live_migration_inbound_addr=None,
)


def host(kernel, conf_host=None, static=None):
    empty = {field.name: None for field in dataclasses.fields(HostFacts)}
    empty.update(unread=[], neutron_host_lines=[])
    conf = dataclasses.replace(CONF, host=conf_host)
    return HostFacts(
        **{
            **empty,
            "inventory_name": "h",
            "read_at": "",
            "kernel_hostname": kernel,
            "static_hostname": static or kernel,
        }
        | {"nova_conf": conf}
    )


@pytest.mark.parametrize(
    ("kernel", "conf_host", "hypervisor", "new", "expected"),
    [
        ("compute1", None, "compute1", "cn7", ("cn7", "cn7", "cn7")),
        ("compute1", None, "compute1", "cn7.example", ("cn7.example", "cn7.example", "cn7.example")),
        ("compute1", None, "compute1.lab", "cn7", ("cn7", "cn7.lab", "cn7")),
        ("compute1.lab", None, "compute1.lab", "cn7.lab", ("cn7.lab", "cn7.lab", "cn7.lab")),
        # The kernel has the short form, Nova the full one.
        ("compute1", "compute1.lab", "compute1.lab", "cn7.lab", ("cn7.lab", "cn7.lab", "cn7")),
        # The kernel has the full form, Nova the short one: the domain stays.
        ("compute1.lab", "compute1", "compute1.lab", "cn7", ("cn7", "cn7.lab", "cn7.lab")),
        # Nova's name has nothing to do with the host's: the host keeps its own.
        ("rack4-u12", "node-17", "rack4-u12", "node-18", ("node-18", "rack4-u12", None)),
    ],
)
def test_the_style_of_the_host_is_kept(kernel, conf_host, hypervisor, new, expected):
    _before, after = names.rename(host(kernel, conf_host), hypervisor, new)
    assert (after.host, after.hypervisor_hostname, after.os) == expected


def test_the_operators_word_on_libvirts_name_wins():
    _before, after = names.rename(host("compute1"), "compute1", "cn7", "cn7.dc2")
    assert after.hypervisor_hostname == "cn7.dc2"


def test_a_libvirt_name_that_follows_from_nothing_is_refused():
    with pytest.raises(names.NamesError, match="rename_hypervisor_hostname"):
        names.rename(host("compute1"), "hv-a8", "cn7")


def test_unread_configuration_is_refused():
    facts = dataclasses.replace(host("compute1"), nova_conf=None)
    with pytest.raises(names.NamesError, match=r"nova\.conf was not read"):
        names.rename(facts, "compute1", "cn7")


LABEL = st.from_regex(r"[a-z][a-z0-9]{0,9}", fullmatch=True)


@given(LABEL, LABEL, LABEL, st.booleans())
def test_renaming_there_and_back_gives_the_old_names(old, new, zone, full):
    first, second = (f"{old}.{zone}", f"{new}.{zone}") if full else (old, new)
    before, after = names.rename(host(first), first, second)
    back_from, back_to = names.rename(host(second), second, first)
    assert (before, after) == (back_to, back_from)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.11 compute1", "192.0.2.11 cn7.example"),
        ("192.0.2.11\tcompute1.lab\tcompute1", "192.0.2.11\tcn7.example\tcn7"),
        ("192.0.2.11 compute1 # the old rack", "192.0.2.11 cn7.example # the old rack"),
        ("192.0.2.11 compute1 storage1", "192.0.2.11 cn7.example storage1"),
        ("192.0.2.11 compute1 cn7.example", "192.0.2.11 cn7.example"),
        ("192.0.2.11 compute10 xcompute1", None),
    ],
)
def test_lines_of_etc_hosts(text, expected):
    full = "compute1.lab" in text
    table = {"compute1": "cn7" if full else "cn7.example", "compute1.lab": "cn7.example"}
    words = text.split("#")[0].split()
    assert names.rename_in_hosts_line(HostsLine(1, words[0], words[1:], text), table) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host = compute1", "host = cn7"),
        ("host=compute1", "host=cn7"),
        ("host : compute1  ", "host : cn7  "),
        ('host = "compute1"', 'host = "cn7"'),
    ],
)
def test_lines_of_nova_conf(text, expected):
    assert names.rename_in_option_line(text, "compute1", "cn7") == expected


@pytest.mark.parametrize("text", ["host = $my_name", "hostname = compute1", "host = compute10", "# host = compute1"])
def test_a_line_that_does_not_plainly_say_the_old_name_is_refused(text):
    with pytest.raises(names.NamesError, match="host = compute1", check=problem_is("cannot-change-line")):
        names.rename_in_option_line(text, "compute1", "cn7")
