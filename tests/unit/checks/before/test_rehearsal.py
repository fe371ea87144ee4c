# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is made of a rehearsal, in place and by drain. How a run asks for it: tests/unit/modules."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Rehearsal
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import rehearsal
from ansible_collections.stackguard.nova.tests.unit.builders import STYLES
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet


def checked(some, tried, in_place=True):
    found = rehearsal.check(some.cloud.host(rehearsal=tried).bundle, some.request, in_place)
    return [item.code for item in found.findings], [item.code for item in found.unchecked]


def sound(some):
    """What a rehearsal of this fleet's plan says where all is well."""
    wanted = rename.rehearsal(some.cloud.bundle, some.request)
    return Rehearsal(wanted["name"], some.new_node, now=some.names(1).libvirt)


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("style", sorted(STYLES))
def test_in_every_style_of_names_a_sound_rehearsal_passes_and_another_name_does_not(style, in_place):
    some = fleet(style=style)
    assert checked(some, sound(some), in_place) == ([], [])
    other = dataclasses.replace(sound(some), hostname="renamed1.other.test")
    assert checked(some, other, in_place) == (["SG124"], [])
    assert absolute(some, other, in_place)
    # Undecided, it is the operator's word that counts.
    assert not absolute(some, dataclasses.replace(other, undecided=["nscd"]), in_place)


def absolute(some, tried, in_place):
    """Whether no override passes any finding about a name that libvirt would not have."""
    found = rehearsal.check(some.cloud.host(rehearsal=tried).bundle, some.request, in_place).findings
    return all(item.absolute for item in found)


@pytest.mark.parametrize("in_place", [True, False])
def test_what_was_not_rehearsed_or_for_another_name_is_not_known(in_place):
    some = fleet()
    for tried in (None, Rehearsal("renamed1", None, "unshare: no"), Rehearsal("other", "other", now="compute1")):
        assert checked(some, tried, in_place) == (["SG709"], [])
        # Whatever was tried: where the answer is another name than the plan's, the operator's word is not enough.
        assert absolute(some, tried, in_place) == (tried is not None and tried.hostname is not None)


def test_what_is_undecided_forbids_a_drain_whose_proof_comes_behind_the_point_of_no_return():
    some = fleet()
    tried = dataclasses.replace(sound(some), undecided=["systemd-resolved"])
    assert checked(some, tried) == ([], ["SG124"])
    assert checked(some, tried, in_place=False) == (["SG124"], [])
    # The same question, asked of the host as it is, does not give libvirt's name: then it is not libvirt's question.
    strange = dataclasses.replace(sound(some), now="elsewhere")
    assert checked(some, strange) == ([], ["SG124"])


def test_where_no_name_can_be_told_there_is_nothing_to_rehearse():
    some = fleet()
    bundle = some.cloud.host(nova_conf=None).bundle
    assert rename.rehearsal(bundle, some.request) is None
    assert rehearsal.check(bundle, some.request).findings == ()
