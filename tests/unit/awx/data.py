# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The data of playbooks/awx as it is written, and the argument specifications of the roles behind it."""

from __future__ import annotations

import yaml
from jinja2.nativetypes import NativeEnvironment

from ansible_collections.stackguard.nova.plugins.plugin_utils.playbooks import operations
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

AWX = ROOT / "playbooks" / "awx"


class Loader(yaml.SafeLoader):
    """YAML with Ansible's !unsafe, which is a plain string here."""


Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def read(name):
    return yaml.load((AWX / "vars" / f"{name}.yml").read_text(), Loader)


TYPES = {item["name"]: item for item in read("credential_types")["awx_credential_types"]}
TEMPLATES = {item["name"]: item for item in read("job_templates")["awx_job_templates"]}


def made_workflows():
    """The workflows, those that are derived from pairs of templates among them: their text, as Ansible fills it in."""
    own = read("workflows")
    given = {"awx_job_templates": list(TEMPLATES.values()), "awx_own_workflows": own["awx_own_workflows"]}
    for name in ("awx_approval_workflows", "awx_workflows"):
        given[name] = NativeEnvironment().from_string(own[name]).render(**given)
    return given["awx_workflows"]


WORKFLOWS = {item["name"]: item for item in made_workflows()}


#: The tasks that create templates and workflows, by module, and what every template's extra variables begin with.
TASKS = {
    module: task[module]
    for task in yaml.load((AWX / "tasks" / "configure.yml").read_text(), Loader)
    for module in task
    if module.startswith("awx.awx.")
}
COMMON = yaml.load((AWX / "configure.yml").read_text(), Loader)[0]["vars"]["awx_common_vars"]


#: Roles that take what another one takes, too.
BUILT_ON = {"drain_host": ["migrate_server"]}


def options(playbook):
    """Options of the role that bears the name of the playbook, of those that it is built on, and of all playbooks."""
    common = ROOT / "roles" / "common" / "meta" / "argument_specs.yml"
    found = dict(yaml.safe_load(common.read_text())["argument_specs"]["begin"]["options"])
    name = playbook.removesuffix(".yml")
    for role in [*BUILT_ON.get(name, []), name]:
        specs = ROOT / "roles" / role / "meta" / "argument_specs.yml"
        found.update(yaml.safe_load(specs.read_text())["argument_specs"]["main"]["options"])
    return found


def asked(question):
    """A question, with the choices that configure.yml takes from the collection."""
    if question.get("choices") == "{{ nova_awx_operations }}":
        return {**question, "choices": operations(), "default": "\n".join(operations())}
    if question.get("choices") != "{{ nova_awx_fences }}":
        return question
    choices = options("evacuate_host.yml")["evacuate_fence"]["choices"]
    return {**question, "choices": list(filter(None, choices))}


QUESTIONS = {name: asked(question) for name, question in read("job_templates")["awx_questions"].items()}
