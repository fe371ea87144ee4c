# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command that started a run, as the terminal and the page show it: whole, and without what may be a secret."""

from __future__ import annotations

import pytest
from ansible import constants, context
from ansible.module_utils.common.collections import ImmutableDict
from ansible.utils.vars import load_extra_vars

from ansible_collections.stackguard.nova.plugins.plugin_utils.typed_command import typed_command

TYPED = {
    "args": ("evacuate_host.yml",),
    "check": True,
    "inventory": constants.DEFAULT_HOST_LIST,
    "extra_vars": (),
    "become": constants.DEFAULT_BECOME,
    "become_method": constants.DEFAULT_BECOME_METHOD,
    "remote_user": constants.DEFAULT_REMOTE_USER,
    "vault_password_files": [],
}


@pytest.fixture
def typed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "return_host.yml").touch()

    def command(*extra, **more):
        options = {key: value for key, value in {**TYPED, "extra_vars": extra, **more}.items() if value is not None}
        monkeypatch.setattr(context, "CLIARGS", ImmutableDict(options))
        return typed_command.__wrapped__()

    return command


def test_files_and_options_stay_as_they_were_typed(typed, tmp_path):
    options = {"inventory": [f"{tmp_path}/my.yml"], "become": True, "vault_password_files": ["/v"]}
    command = typed(f"@{tmp_path}/cloud.yml", "evacuate_host=compute1 evacuate_max_hosts=2", **options)
    words = "ansible-playbook evacuate_host.yml -i my.yml --vault-password-file /v -b -e @cloud.yml"
    assert command.again() == f"{words} -e evacuate_host=compute1 -e evacuate_max_hosts=2"
    assert command.other("return_host").startswith("ansible-playbook return_host.yml -i my.yml")
    assert typed("evacuate_host=compute1").again() == "ansible-playbook evacuate_host.yml -e evacuate_host=compute1"


@pytest.mark.parametrize(
    "extra",
    [
        "nova_api_db_url=mysql://u:s3cret@db/nova",
        "evacuate_fence_command='fence -p s3cret'",
        '{"auth": {"password": "s3cret"}}',
        '{"cloud": {"auth": {"password": "s3cret"}}}',
        '{"evacuate_power_options": {"password": "s3cret"}}',
        '{"stackguard_rabbit_urls": {"cell1": "amqp://u:s3cret@mq"}}',
        "ansible_password=s3cret",
        "stackguard_state_host=x://u:s3cret@y",
        "anything=s3cret",
    ],
)
def test_what_may_be_a_secret_is_named_and_not_shown(typed, extra):
    command = typed("evacuate_host=compute1", extra)
    assert len(command.hidden) == 1
    assert command.hidden[0] in command.reminder
    for text in (repr(command), command.again(), command.other("return_host"), command.reminder):
        assert "s3cret" not in text


def test_a_list_that_was_typed_as_json_is_typed_so_again(typed):
    command = typed('{"evacuate_servers": ["a b", "c"], "evacuate_partial": true}')
    assert command.again().endswith("""-e '{"evacuate_servers": ["a b", "c"], "evacuate_partial": true}'""")


@pytest.mark.parametrize("workflow", [None, 7])
def test_what_awx_says_of_its_job_comes_from_the_extra_variables(typed, monkeypatch, workflow):
    given = {"awx_job_id": 3, "awx_job_template_name": "Nova: evacuate, check", "awx_workflow_job_id": workflow}
    monkeypatch.setattr(load_extra_vars, "extra_vars", given, raising=False)
    command = typed("@/runner/env/extravars", args=("playbooks/evacuate_host.yml",))
    assert (command.job.template, command.job.playbook) == ("Nova: evacuate, check", "evacuate_host")
    assert (command.job.in_workflow, command.launched) == (workflow is not None, True)
    assert "Nova: evacuate, abort" in command.again({"evacuate_action": "abort"})
    monkeypatch.setattr(load_extra_vars, "extra_vars", {"awx_job_template_name": "x"})
    assert typed("@cloud.yml").job is None


def test_what_a_program_started_has_no_command_to_type(typed):
    command = typed("@/runner/env/extravars")
    assert command.launched
    assert (command.again(), command.other("audit")) == ("", "")


@pytest.mark.parametrize("more", [{"args": ()}, {"args": ("a.yml", "b.yml")}, {"check": None}])
def test_without_one_playbook_there_is_no_command(typed, more):
    assert typed(**more) is None


def test_a_command_of_which_ansible_has_cut_a_value_is_not_repeated(typed):
    assert typed("evacuate_attested_by=John Smith") is None
    assert typed("evacuate_attested_by='John Smith'").again().endswith("John Smith\"}'")
