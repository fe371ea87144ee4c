# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The objects that AWX gets, made for one example, and the argument specifications of the roles behind them."""

from __future__ import annotations

import yaml

from ansible_collections.stackguard.nova.plugins.plugin_utils import awx, awx_table
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

AWX = ROOT / "playbooks" / "awx"


class Loader(yaml.SafeLoader):
    """YAML with Ansible's !unsafe, which is a plain string here."""


Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))

CREDENTIAL_TYPES = yaml.load((AWX / "vars" / "credential_types.yml").read_text(), Loader)["awx_credential_types"]
TYPES = {item["name"]: item for item in CREDENTIAL_TYPES}
SETTINGS = awx.Settings("Cloud", "Hosts", "Nova", "lasting1", "nova")


def objects(**changed):
    """Return the objects of other settings."""
    return awx.Objects(awx.Settings(**{**vars(SETTINGS), **changed}), CREDENTIAL_TYPES)


MADE = objects().all()
TEMPLATES = {item["name"]: item for item in MADE["controller_templates"]}
WORKFLOWS = {item["name"]: item for item in MADE["controller_workflows"]}
#: The lines of the table, by the names of their templates.
LINES = {awx_table.PREFIX + item.name: item for item in awx.templates()}


def asked(item):
    """Return the questions of a template's or workflow's survey, by variable."""
    return {question["variable"]: question for question in item.get("survey_spec", {}).get("spec", [])}


QUESTIONS = {
    name: question for item in [*TEMPLATES.values(), *WORKFLOWS.values()] for name, question in asked(item).items()
}
#: What every template's extra variables begin with.
COMMON = {
    name: value for name, value in TEMPLATES["Nova: explain"]["extra_vars"].items() if name.startswith("stackguard_")
}


def options(playbook):
    """Options of the role that bears the name of the playbook, of those that it is built on, and of all playbooks."""
    common = ROOT / "roles" / "common" / "meta" / "argument_specs.yml"
    shared = yaml.safe_load(common.read_text())["argument_specs"]["begin"]["options"]
    return {**shared, **awx.options(playbook.rpartition("/")[2].removesuffix(".yml"))}
