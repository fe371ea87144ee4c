# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the first task of each playbook refuses of an AWX that is set up in another way than the guide says."""

from __future__ import annotations

import re
import sys

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.dataloader import DataLoader

from ansible_collections.stackguard.nova.plugins.module_utils.model import playbook_input as inputs
from ansible_collections.stackguard.nova.plugins.plugin_utils import run_input
from ansible_collections.stackguard.nova.tests.unit.awx import jobs
from ansible_collections.stackguard.nova.tests.unit.awx.data import COMMON, TEMPLATES, options
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
HOSTS = {"compute1": HERE, "compute2": HERE}
#: Playbooks that keep a journal on the state host. A rename's is on its compute host, and the others keep none.
KEEPERS = sorted(
    {*inputs.PLAYBOOKS} - {"audit", "doctor", "explain", "rename_host"},
)


# --- an expression that AWX left as a text


def expressions():
    """Each variable of a template that holds an expression, with the playbook."""
    found = {(item["playbook"], name) for item in TEMPLATES.values() for name in COMMON if _jinja(COMMON[name])}
    for item in TEMPLATES.values():
        given = {name: value for name, value in (item.get("extra_vars") or {}).items() if _jinja(value)}
        found |= {(item["playbook"], name) for name in given}
    # configure.yml evaluates it itself.
    return sorted(pair for pair in found if pair[1] not in ("stackguard_awx_dir", "stackguard_state_host"))


def _jinja(value):
    return isinstance(value, str) and "{{" in value


@pytest.mark.parametrize(("playbook", "name"), [pair for pair in expressions() if pair[1] != "stackguard_state_dir"])
def test_an_expression_of_a_template_that_is_still_there_is_refused(playbook, name):
    option = options(playbook)[name]
    if option["type"] == "bool" or "choices" in option:
        # By its type: it is none of its values.
        assert ArgumentSpecValidator({name: option}).validate({name: "{{ x }}"}).error_messages
        return
    assert inputs.untemplated(options(playbook), {name: "{{ stackguard_awx_dir }}/x"}) == [name]
    assert inputs.untemplated(options(playbook), {name: "{% if x %}"}) == [name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("evacuate_servers", "[].{a: name} | [?a=='{{ x }}']"),
        ("nova_api_db_url", "mysql+pymysql://nova:{{x}}@db/nova_api"),
        ("evacuate_attested_by", "{{ x }}"),
        ("stackguard_report_dir", "/var/lib/{x}"),
        ("stackguard_overrides", [{"code": "SG110", "object": "guest1", "reason": "{{ x }}"}]),
        ("stackguard_awx_overrides", "SG110 guest1: {{ x }}"),
    ],
)
def test_braces_that_belong_there_are_taken(name, value):
    assert inputs.untemplated(options("evacuate_host.yml"), {name: value}) == []


@pytest.mark.parametrize(("job", "setting"), [(True, True), (False, False)])
def test_the_setting_of_awx_is_named_in_a_job_only(job, setting):
    (text,) = run_input.jinja_left(["stackguard_report_dir"], job)
    assert text.startswith("stackguard_report_dir: ")
    assert ("ALLOW_JINJA_IN_EXTRA_VARS" in text) is setting


@pytest.mark.ansible
def test_a_job_to_which_awx_gives_no_expression_is_refused(tmp_path, short_tmp):
    """ALLOW_JINJA_IN_EXTRA_VARS = never: not even the template's own are evaluated."""
    controller = jobs.Controller(tmp_path, short_tmp)
    job = controller.launch("Nova: drain", HOSTS, {"drain_host": "compute1"}, jinja="never")
    assert (job.status, job.told["state"], job.told["verdict"]) == ("failed", "refused", "block"), job.stdout
    for name in ("stackguard_report_dir", "stackguard_overrides", "ALLOW_JINJA_IN_EXTRA_VARS"):
        assert name in job.told["message"]
    assert "unable to convert" not in job.told["message"], "one cause is told once"
    assert not [path for path in tmp_path.rglob("*") if "{{" in path.name]


# --- ansible-core


@pytest.mark.parametrize(
    ("version", "taken"),
    [("2.17.14", False), ("2.18.6", False), ("2.19.0", True), ("2.19.0rc1", True), ("2.30.1", True)],
)
def test_an_ansible_core_that_is_too_old_is_refused_with_what_is_needed(monkeypatch, version, taken):
    monkeypatch.setattr(run_input, "__version__", version)
    found = run_input.old_core(DataLoader())
    assert bool(found) is not taken
    needed = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["requires_ansible"]
    assert all(version in text and needed in text for text in found)


# --- the state host


def given(playbook, host, connection, job=True):
    values = {name: entry.get("default") for name, entry in options(f"{playbook}.yml").items()}
    values["stackguard_state_host"] = host
    nobody = lambda _name: ["compute1"]  # noqa: E731
    return inputs.Given(values, {}, [], nobody, nobody, ["audit"], job, lambda _host: connection)


def refused(playbook, *args):
    rules = inputs.PLAYBOOKS[playbook].rules
    about = [rule for rule in rules if rule.__name__ == "_lasting_state_host"]
    return bool([text for rule in about for text in rule(given(playbook, *args))])


@pytest.mark.parametrize("playbook", KEEPERS)
def test_a_journal_in_the_container_of_a_job_is_refused(playbook):
    for host in ("localhost", "127.0.0.1", "::1"):
        assert refused(playbook, host, "ssh")
    for connection in ("local", "ansible.builtin.local", "ansible.legacy.local"):
        assert refused(playbook, "ops1", connection)
    assert not refused(playbook, "ops1", "ssh")
    assert not refused(playbook, "localhost", "local", False), "by hand it is where the operator is"


@pytest.mark.parametrize("playbook", [*inputs.PLAYBOOKS])
def test_every_playbook_that_keeps_a_journal_there_looks(playbook):
    tasks = (ROOT / "roles" / playbook / "tasks").glob("*.yml")
    delegates = any(re.search(r"delegate_to: .*stackguard_state_host", path.read_text()) for path in tasks)
    built_on_another = playbook in ("drain_host", "enable_host")
    assert (playbook in KEEPERS) == ((delegates and playbook not in ("audit", "doctor")) or built_on_another)


@pytest.mark.ansible
@pytest.mark.parametrize("host", ["localhost", "compute2", "127.0.0.1"])
def test_a_job_with_its_journal_in_its_container_changes_nothing(tmp_path, short_tmp, host):
    controller = jobs.Controller(tmp_path, short_tmp, stackguard_state_host=host)
    job = controller.launch("Nova: resize", HOSTS, {"resize_server": "web1", "resize_flavor": "m1.small"})
    assert (job.status, job.told["state"], job.told["changed"]) == ("failed", "refused", False), job.stdout
    assert "stackguard_state_host" in job.told["message"]
    assert not (tmp_path / "state").exists()
