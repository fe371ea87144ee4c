# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An answer that somebody clears in a survey arrives as '' or as []: it is the role's default, or it is refused.

It would replace the default, and an audit of no source would be green.
"""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import playbook_input as inputs
from ansible_collections.stackguard.nova.plugins.plugin_utils import run_input
from ansible_collections.stackguard.nova.tests.unit.awx.data import LINES, TEMPLATES, asked, options

NOTHING = (None, "", [], False)


class Plain:
    """A templar for values without a template."""

    @staticmethod
    def template(value):
        return value


def questions():
    """Each playbook with each option that a survey of its templates asks for."""
    pairs = {(LINES[name].playbook, variable) for name, item in TEMPLATES.items() for variable in asked(item)}
    assert len(pairs) > 40
    return sorted(pairs)


def judged(playbook, name, value):
    """Return what the playbook takes for an option, and what is wrong with it, as check_input does."""
    spec = options(playbook)
    named = {key: "compute1" for key, option in spec.items() if option.get("required")}
    raw, problems = run_input.typed(spec, {**named, name: value}, Plain)
    own = {name: inputs.as_list(raw[name]) if spec[name].get("type") == "list" else raw[name] for name in raw}
    required = [name for name, option in spec.items() if option.get("required")]
    table = inputs.PLAYBOOKS[playbook]
    wrong = inputs.wrong_names(table, raw, required)
    values, errors = run_input.validate({key: {**option, "required": False} for key, option in spec.items()}, own)
    given = inputs.Given(values, raw, [name], lambda _pattern: ["compute1"], lambda _name: ["compute1"], ["audit"])
    before = [*problems, *(text for texts in wrong.values() for text in texts), *errors]
    return values, before or [text for rule in table.rules for text in rule(given)]


@pytest.mark.parametrize("value", ["", [], " "], ids=repr)
@pytest.mark.parametrize(("playbook", "name"), questions())
def test_a_cleared_answer_is_the_default_or_is_refused(playbook, name, value):
    spec = options(playbook)[name]
    if value == " " and spec.get("type") != "list":
        return
    values, problems = judged(playbook, name, value)
    if not any(name in text for text in problems):
        assert spec.get("default") in NOTHING, "the default is something else than nothing"
        assert values[name] in NOTHING, values[name]


def test_a_list_of_ones_own_may_hold_nothing():
    raw, problems = run_input.typed(options("doctor"), {"stackguard_volume_pools": []}, Plain)
    assert (raw, problems) == ({"stackguard_volume_pools": []}, [])


@pytest.mark.parametrize("name", ["audit_hosts", "audit_previous_report", "audit_cloud_name", "audit_ceph"])
def test_a_list_is_no_text(name):
    """Ansible takes an empty list for a text with two brackets."""
    _raw, problems = run_input.typed(options("audit"), {name: []}, Plain)
    assert [text.partition(":")[0] for text in problems] == [name]
