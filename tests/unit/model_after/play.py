# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One seed: something goes wrong, the cloud is audited, somebody follows the report, and operations are checked."""

from __future__ import annotations

import collections
import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.capacity import placement
from ansible_collections.stackguard.nova.plugins.module_utils.model.codes import code as codes
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import BLOCKER
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import MigrationRequest, RenameRequest
from ansible_collections.stackguard.nova.plugins.module_utils.moves import preflight as moves
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import preflight as rename_by_drain
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import preflight as rename
from ansible_collections.stackguard.nova.tests.unit.builders import address
from ansible_collections.stackguard.nova.tests.unit.model_after import people
from ansible_collections.stackguard.nova.tests.unit.model_after.world import (
    ALIVE,
    HOSTS,
    STRANGE,
    Violation,
    World,
)

#: Without neutron's database: nothing of where guests are.
NETWORK = ("SG305",)
#: Reports that are read, and followed, one after the other.
REPORTS = 4


@dataclasses.dataclass
class Played:
    """How it went: acts that remedies ordered; operations that may go on; codes that were seen."""

    acts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    passed: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    codes: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    #: Rows of the table of acts that were shown; of these, acts that the model does not know.
    rows: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    unknown: set = dataclasses.field(default_factory=set)


def play(seed, played=None):
    """Play one seed. Raises :class:`Violation`, with all that happened."""
    world, played = World(seed), played or Played()
    world.happen()
    try:
        for _number in range(REPORTS):
            if not _turn(world, played):
                break
    except Violation as error:
        raise Violation(error.rule, f"seed {seed}: {error}\n  " + "\n  ".join(world.log)) from error
    return played


def _turn(world, played):
    """Check everything, then follow one remedy that orders something. Return whether there was one."""
    scene = world.scene()
    reports = [("audit", audit.check(scene.cloud.bundle)), *_operations(world, scene, played)]
    orders = [(name, item) for name, checked in reports for item in checked.findings]
    world.dice.shuffle(orders)
    played.codes.update(item.code for _name, item in orders)
    for name, item in orders:
        world.say(f"{name}: {item.code} {item.object.id} on {item.object.host}: {item.remedy}")
        acts = people.acts_of(item)
        for state, act in acts:
            _read_before(world, item, state, act)
        played.rows.update(state for state, _act in acts)
        done = people.follow(world, item)
        if not done:
            played.unknown |= {f"{item.code}: {state}" for state, act in acts if not people.is_left_to_people(act)}
        if done:
            played.acts.update(f"{item.code} {act}" for act in done)
            return True
        world.log.pop()
    return False


def _read_before(world, item, state, act):
    """A remedy is shown only after what its guard says was read."""
    one = next((one for one in world.guests.values() if one.uuid in (item.object.id, item.object.name)), None)
    unread = {
        codes.EVERY_HOST: bool(world.silent),
        codes.NOVAS_HOST: one is not None and one.home in world.silent,
        codes.THIS_HOST: item.object.kind == "domain" and item.object.host in world.silent,
        codes.WATCHERS: not world.ceph,
    }
    lacking = [facts for facts in act.read if unread.get(facts)]
    if lacking:
        raise Violation("shown-unread", item.code, item.object.id, state, "without", *lacking)


def _operations(world, scene, played):
    """Yield what each operation says before it touches anything; what it would touch must be where Nova shows it."""
    for host in HOSTS:
        request = MigrationRequest(drain_host=host, operation_id="op1")
        yield f"drain {host}", _moved(world, played, scene.evidence(host), request)
        if host not in world.silent:
            yield from _renames(world, scene, played, host)
    for one in world.guests.values():
        request = MigrationRequest(servers=(one.uuid,), operation_id="op1")
        yield f"migrate {one.uuid}", _moved(world, played, scene.evidence(one.home, {one.uuid}), request)


def _renames(world, scene, played, host):
    number = int(host[-1])
    asked = RenameRequest(inventory_name=host, rename_from=host, rename_to=f"renamed{number}")
    bundle = scene.cloud.resolve(asked.rename_to, address(number)).bundle
    options = placement.DrainOptions()
    moved = plans.move_request(plans.limits_of(asked, options), drain_host=host)
    decision = moves.preflight(scene.evidence(host), moved)
    drained = rename_by_drain.preflight(bundle, decision, (), asked, options)
    for name, checked in (("rename", rename.preflight_rename(bundle, asked)), ("rename by drain", drained)):
        if not any(item.severity == BLOCKER and item.code not in NETWORK for item in checked.findings):
            played.passed[name] += 1
            undecided = {item.object for item in checked.unchecked}
            for one in world.guests.values():
                if host in (one.home, *one.copies) and one.uuid not in undecided:
                    _at_home(world, one, name)
        yield f"{name} {host}", checked


def _moved(world, played, evidence, request):
    decision = moves.preflight(evidence, request)
    if not decision.refused(request, ()):
        played.passed["moves"] += 1
        for row in decision.assignments.assigned:
            _at_home(world, world.guests[row.uuid], "moves")
    return decision.checked


def _at_home(world, one, operation):
    """A server that an operation touches has one domain, on the host that Nova shows.

    What a silent host has, and no record names, nobody can know.
    """
    told = {move.dest for move in world.moves if move.guest == one.uuid}
    seen = [host for host in one.copies if host in told or host not in (*world.silent, STRANGE)]
    if one.home not in seen and seen:
        raise Violation("touches-what-is-elsewhere", operation, one.uuid, "is on", *seen)
    if [host for host in seen if host != one.home and one.copies[host] in ALIVE]:
        raise Violation("touches-what-is-elsewhere", operation, one.uuid, "on", one.home, one.copies)
