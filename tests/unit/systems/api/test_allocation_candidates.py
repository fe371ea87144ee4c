# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What placement is asked for: never more than the scheduler asks, and restricted to the zone."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import allocation_candidates
from ansible_collections.stackguard.nova.tests.unit.zoned import LARGE


def asked(root=True, aggregates=("b", "a"), **specs):
    flavor = dataclasses.replace(LARGE, extra_specs={name.replace("__", ":"): value for name, value in specs.items()})
    return allocation_candidates.zone_query(flavor, root, aggregates)


def test_the_question_is_restricted_to_the_zone():
    assert asked() == {"resources": "DISK_GB:10,MEMORY_MB:4096,VCPU:2", "member_of": "in:a,b"}
    assert "member_of" not in asked(aggregates=())


def test_a_disk_that_is_a_volume_is_not_asked_for():
    assert asked(root=False)["resources"] == "MEMORY_MB:4096,VCPU:2"


def test_the_flavor_may_ask_for_other_resources_and_traits():
    assert (
        asked(resources__VCPU="0", resources__CUSTOM_FPGA="1")["resources"] == "CUSTOM_FPGA:1,DISK_GB:10,MEMORY_MB:4096"
    )
    assert (
        asked(trait__HW_CPU_X86_AVX="required", trait__CUSTOM_OLD="forbidden")["required"]
        == "!CUSTOM_OLD,HW_CPU_X86_AVX"
    )
    assert "VCPU" not in asked(hw__cpu_policy="dedicated")["resources"], "these are PCPU: not asked for at all"


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=6), max_size=4))
def test_whatever_the_flavor_says_no_more_than_it_has_is_asked_for(specs):
    flavor = dataclasses.replace(LARGE, extra_specs=specs)
    question = allocation_candidates.zone_query(flavor, True, ["a"])
    amounts = dict(part.split(":") for part in question["resources"].split(","))
    assert int(amounts["MEMORY_MB"]) <= LARGE.ram
