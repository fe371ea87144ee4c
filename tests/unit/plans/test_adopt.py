# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host renamed by hand in any subset of places: forward like a complete rename, back like the beginning."""

from __future__ import annotations

import collections

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.checks.before import adopt as checks
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import standing
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import RenameRequest
from ansible_collections.stackguard.nova.plugins.module_utils.plans import adopt
from ansible_collections.stackguard.nova.tests.unit import builders, handmade

#: States of each style and direction.
STATES = 30
#: Why a host may be refused though its identity is proven: nothing of this was made here.
LISTED = {"SG203"}


def request(style, direction, **changes):
    old, (new, node, _own) = builders.STYLES[style](1).host, handmade.GOALS[style]
    given = {"has_neutron_db": True, "hypervisor_hostname": node, **changes}
    return RenameRequest("compute1", old, new, "op1", adopt=direction, **given)


def judged(bundle, wanted):
    checked, adoption = checks.preflight(bundle, wanted)
    refused = standing(checked.findings, [])
    return refused, adoption


def proven(cloud, found, style, direction, states=()):
    """Carry the adoption of a found world out, and return the world that it ends in, and its steps."""
    bundle = handmade.bundle_of(cloud, found, states)
    refused, adoption = judged(bundle, request(style, direction))
    assert not refused, [(item.code, item.object, item.evidence) for item in refused]
    plan = adopt.plan(adoption)
    world = found.copy()
    handmade.Executor(world).forward(plan.steps)
    return world, plan


@pytest.mark.parametrize("direction", ["forward", "back"])
@pytest.mark.parametrize("style", sorted(handmade.GOALS))
def test_any_subset_of_places(style, direction, capsys):
    refusals = collections.Counter()
    for seed in range(STATES):
        rng = handmade.rng_of(f"{style} {direction} {seed}")
        cloud, before = handmade.begun(style, guests=rng.choice((1, 2, 3)), release=rng.choice((27, 28, 34)))
        after = handmade.completed(before, style)
        found, done = handmade.spoiled(before, after, rng, style)
        states = rng.choice(((), ("masked",), ()))
        bundle = handmade.bundle_of(cloud, found, states)
        refused, adoption = judged(bundle, request(style, direction))
        if refused:
            codes = {item.code for item in refused}
            assert codes <= LISTED, (seed, done, [(item.code, item.object, item.evidence) for item in refused])
            refusals[", ".join(sorted(codes))] += 1
            continue
        plan = adopt.plan(adoption)
        world = found.copy()
        executor = handmade.Executor(world)
        executor.forward(plan.steps)
        assert world == (after if direction == "forward" else before), (seed, done)
        executor.backward(plan.steps)
        kept = [step.params for step in plan.steps if step.action == "found_neutron"]
        if not (kept and not kept[0]["found_agents"] and kept[0]["ports"]):
            assert world == found, (seed, done)
        # Killed after any step, and taken back.
        count = rng.randrange(len(plan.steps))
        world = found.copy()
        executor = handmade.Executor(world)
        executor.forward(plan.steps[:count])
        executor.backward(plan.steps[:count])
        if not (kept and not kept[0]["found_agents"] and kept[0]["ports"]):
            assert world == found, (seed, count, done)
    with capsys.disabled():
        print(f"\n{style} {direction}: {sum(refusals.values())} of {STATES} refused {dict(refusals)}")
