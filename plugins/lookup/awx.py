# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""awx: the objects that AWX gets, and how what AWX has differs from them."""

from __future__ import annotations

DOCUMENTATION = r"""
name: awx
author:
  - stackguard.nova contributors (@stackguard)
version_added: 0.2.0
short_description: Return the AWX objects of this collection, and how AWX differs from them
description:
  - Returns the credential types, job templates, workflows, schedules and roles that the playbook
    C(stackguard.nova.awx.configure) creates in AWX. The lists have the shape of C(infra.aap_configuration).
  - Surveys are made of the argument specifications of the roles.
  - The lookup itself connects to nothing.
options:
  _terms:
    description: Not used.
    type: list
    elements: str
    required: true
  settings:
    description: The variables C(nova_awx_NAME) of the playbook, without C(nova_awx_).
    type: dict
    required: true
  credential_types:
    description: The credential types.
    type: list
    elements: dict
    default: []
  found:
    description: What AWX has that the objects need. The keys are V(jobs), V(hosts), V(environments),
      V(container_groups) and V(galaxy).
    type: dict
    default: {}
  nodes:
    description: For each workflow, its nodes in AWX, as the API lists them.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show the job templates
  ansible.builtin.debug:
    msg: "{{ lookup('stackguard.nova.awx', 'all', settings=mine).objects.controller_templates }}"
"""

RETURN = r"""
_raw:
  description: Dictionary with the keys C(objects), C(export) (the same as YAML), C(schedules) (what is wrong with
    schedules), C(problems), C(warnings), and C(drift).
  type: list
  elements: dict
"""

import dataclasses
import json
import typing as t

from ansible.plugins.lookup import LookupBase

from ..plugin_utils import awx, awx_found


class LookupModule(LookupBase):
    """What Ansible loads."""

    def run(self, terms: t.Any, variables: t.Any = None, **kwargs: t.Any) -> t.List[t.Dict[str, t.Any]]:
        """Return the one dictionary."""
        self.set_options(var_options=variables, direct=kwargs)
        given, types, found, nodes = (
            # Without the tags that Ansible puts on each value.
            json.loads(json.dumps(self.get_option(name)))
            for name in ("settings", "credential_types", "found", "nodes")
        )
        names = {field.name for field in dataclasses.fields(awx.Settings)}
        settings = awx.Settings(**{name: value for name, value in given.items() if name in names})
        objects = awx.Objects(settings, types)
        there = awx_found.Found(**found)
        made = objects.all()
        workflows = made["controller_workflows"]
        drift = awx_found.find_drift(workflows, nodes, objects.harmless(), settings.keep_nodes)
        return [
            {
                "objects": made,
                "export": awx.export(made),
                "schedules": objects.wrong_schedules(),
                "problems": awx_found.find_problems(there, given),
                "warnings": awx_found.find_warnings(there, given),
                "drift": dataclasses.asdict(drift),
            }
        ]
