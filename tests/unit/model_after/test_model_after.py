# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lost last writes, copies of hosts, silent hosts: the acts of every remedy, done to the letter, end and start nothing.

What waits in RabbitMQ is in the model of the evacuation (model_evacuation/queues.py). More seeds:
STACKGUARD_TEST_EXAMPLES=100 times as many; from another one: STACKGUARD_MODEL_SEED=1000000.
"""

from __future__ import annotations

import dataclasses
import os

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import guest_places, in_flight, owners
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.tests.unit.model_after import people, play

SEED = int(os.environ.get("STACKGUARD_MODEL_SEED", "0"))
#: Seeds until a defect that is put back must be found.
MOST = 150


@pytest.fixture
def times(request):
    """How many times as many seeds as usual are played: see labkit.longer."""
    longer = request.config.pluginmanager.hasplugin("labkit.longer")
    return int(os.environ.get("STACKGUARD_TEST_EXAMPLES") or 10) if longer else 1


@pytest.mark.examples
def test_nobody_who_follows_a_report_ends_a_guest_or_starts_a_second_one(times):
    played = play.Played()
    for seed in range(SEED, SEED + 50 * times):
        play.play(seed, played)
    # A report that orders nothing, and operations that refuse everything, would prove nothing.
    assert {"SG108 destroy", "SG108 undefine", "SG109 start", "SG509 start_compute"} <= set(played.acts), played.acts
    assert played.passed["moves"] and played.passed["rename"], played.passed
    assert {"SG132", "SG107", "SG709"} <= set(played.codes), played.codes
    # Each act of the table (the guards in model/codes) that a report shows is one that the model does.
    assert not played.unknown, played.unknown
    assert len(played.rows) > 3, played.rows


# --- defects, put back ----------------------------------------------------------------------------------------


def whatever_nova_does_not_show_is_a_stray(put):
    """B01: the remedy of SG108 is chosen from Nova's row and one host's domains."""
    put(guest_places.GuestPlace, "stray", property(lambda self: bool(self.there)))
    put(guest_places.GuestPlace, "elsewhere", property(lambda self: False))


def a_server_without_a_domain_on_its_host_is_started(put):
    """K1: SG109 orders a hard reboot, wherever the guest runs."""

    def missing(make, index, place):
        remedy = "Start the server again: openstack server reboot --hard SERVER."
        return dataclasses.replace(make(index, place), remedy=remedy)

    wrap(put, guest_places, "_missing", missing)
    put(guest_places.GuestPlace, "elsewhere", property(lambda self: False))


def a_silent_host_has_no_domain(put):
    """What was not read is taken for none."""
    look = guest_places.look

    def all_read(*args, **kwargs):
        return [dataclasses.replace(place, unread=()) for place in look(*args, **kwargs)]

    put(guest_places, "look", all_read)
    a_client_of_ceph_says_nothing(put)


def the_last_migration_says_nothing(put):
    """The domain on Nova's host is the guest, and the other one is a stray: the record says the opposite."""
    put(guest_places, "took_away", lambda *_asked: False)


def a_client_of_ceph_says_nothing(put):
    """A QEMU that no libvirt shows has the disk open."""
    put(guest_places, "_opened", lambda *_asked: False)


def an_operation_does_not_ask_for_domains(put):
    """H4: a guest that runs twice is moved."""
    put(guest_places, "against_touching", lambda *_asked: iter(()))


def whoever_has_the_file_is_the_host(put):
    """B02: a copied compute_id is a rename, to be adopted."""
    put(owners, "owner", lambda *_asked, **_options: owners.Owner())


def a_start_forgets_who_was_moved_back(put):
    """Found by this model: SG509 orders the start of a nova-compute that ends an instance which is there again."""
    put(in_flight, "_is_back", lambda *_asked: False)


def wrap(put, owner, name, wrapper):
    original = getattr(owner, name)
    put(owner, name, lambda *args: wrapper(original, *args))


#: Each defect with the rules of which it breaks one.
CASES = {
    whatever_nova_does_not_show_is_a_stray: ("only-copy-ended",),
    a_server_without_a_domain_on_its_host_is_started: ("second-copy",),
    a_silent_host_has_no_domain: ("second-copy", "only-copy-ended"),
    the_last_migration_says_nothing: ("second-copy", "only-copy-ended", "touches-what-is-elsewhere"),
    a_client_of_ceph_says_nothing: ("second-copy",),
    an_operation_does_not_ask_for_domains: ("touches-what-is-elsewhere",),
    whoever_has_the_file_is_the_host: ("identity-taken",),
    a_start_forgets_who_was_moved_back: ("only-copy-ended",),
}


@pytest.mark.parametrize("mutation", CASES, ids=lambda mutation: mutation.__name__)
def test_a_defect_that_is_put_back_is_found(monkeypatch, mutation):
    mutation(monkeypatch.setattr)
    assert found(CASES[mutation]) is not None, f"not found in {MOST} seeds: {mutation.__doc__}"


def found(rules):
    """Play until one of these rules is broken; None: none was."""
    for seed in range(MOST):
        try:
            play.play(seed)
        except play.Violation as violation:
            if violation.rule in rules:
                return seed, violation
    return None


@pytest.mark.parametrize(
    ("remedy", "acts"),
    [
        ("Wait until the task ends.", []),
        ("If the domain is not needed, run virsh destroy UUID.", []),
        ("On compute3, stop the domain (virsh destroy UUID).", ["destroy"]),
        ("Do not start nova-compute.", []),
        ("Find out why, then start the server again (openstack server reboot --hard UUID).", ["start"]),
    ],
)
def test_a_reader_does_what_is_ordered_and_nothing_else(remedy, acts):
    world = play.World(1)
    one = next(iter(world.guests.values()))
    one.copies, one.truth = {}, None
    subject = findings.Subject("instance", one.uuid, host="compute3")
    item = findings.finding("SG109", subject, {}, remedy.replace("UUID", one.uuid))
    assert people.follow(world, item) == acts
