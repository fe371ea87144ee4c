# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one key in a stored request spec: read and replaced, and no other character touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import request_spec

ZONES = st.one_of(st.none(), st.text(max_size=40))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)
#: Names of which some look like what is searched for.
OTHERS = st.dictionaries(
    st.one_of(st.text(max_size=8), st.sampled_from(["nova_object.name2", "Availability_zone", "nova_object.data "])),
    st.one_of(VALUES, st.just({"availability_zone": "trap", "nova_object.data": {"availability_zone": "trap"}})),
    max_size=4,
)


def spec(zone, before=None, after=None, outer=None):
    data = {**(before or {}), "availability_zone": zone, **(after or {})}
    return {**(outer or {}), "nova_object.name": "RequestSpec", "nova_object.data": data, "nova_object.version": "1.14"}


@given(ZONES, ZONES, OTHERS, OTHERS, OTHERS, st.sampled_from([None, 1]), st.booleans())
def test_nothing_else_changes(zone, wanted, before, after, outer, indent, ascii_only):
    for others in (before, after):
        others.pop("availability_zone", None)
    for name in ("nova_object.name", "nova_object.data"):
        outer.pop(name, None)
    text = json.dumps(spec(zone, before, after, outer), indent=indent, ensure_ascii=ascii_only)
    assert request_spec.zone_of(text) == zone
    changed = request_spec.with_zone(text, wanted)
    assert request_spec.zone_of(changed) == wanted
    assert json.loads(changed) == spec(wanted, before, after, outer)
    if text == json.dumps(spec(zone, before, after, outer), indent=indent):
        assert request_spec.with_zone(changed, zone) == text, "back to the same bytes"


def test_a_number_that_python_would_write_otherwise_stays():
    text = '{"nova_object.name":"RequestSpec","nova_object.data":{"ratio":1.50,"availability_zone" : null ,"x":1E3}}'
    wanted = text.replace(" : null ,", ' : "az1" ,')
    assert request_spec.with_zone(text, "az1") == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        '{"nova_object.name": "RequestSpec"}',
        '{"nova_object.name": "RequestSpec", "nova_object.data": []}',
        '{"nova_object.name": "RequestSpec", "nova_object.data": {}}',
        '{"nova_object.name": "RequestSpec", "nova_object.data": {"availability_zone": 1}}',
        '{"nova_object.name": "RequestSpec", "nova_object.data": {"availability_zone": null, "availability_zone": 1}}',
        '{"nova_object.name": "Instance", "nova_object.data": {"availability_zone": null}}',
        '{"nova_object.name": "RequestSpec", "nova_object.data": {"availability_zone": null',
    ],
)
def test_what_is_not_understood_is_refused(text):
    with pytest.raises(request_spec.SpecError):
        request_spec.with_zone(text, "az1")
