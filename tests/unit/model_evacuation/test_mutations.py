# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each defect of the review, put back: the model test finds it, or it would not find the next one either.

A defect is put back with all that guards against it today: there is more than one line of defence.
"""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import ceph_readers, leaving_guests, planner
from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import operation as evacuate
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import preflight as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import record as evacuation_record
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import round as evacuation_round
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.fences import calls as fences
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import clients, fencing, storage, waiting
from ansible_collections.stackguard.nova.plugins.module_utils.model import fence_proof, server_state
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences import blocklist, power
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.fence import Reading
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import operation as return_host_operation
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import preflight as return_host
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots
from ansible_collections.stackguard.nova.tests.unit.model_evacuation import oracle, queues, scenario

#: Scenarios until it must be found.
MOST = 300

calm = scenario.calm


def changed(kind, **more):
    return dataclasses.replace(kind, **more)


class Patch:
    """The mutations' hands. Wrappers get what they replace first."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch

    def put(self, owner, name, value):
        assert hasattr(owner, name), f"{owner} has no {name}: the defect can not be put back"
        self.monkeypatch.setattr(owner, name, value)

    def wrap(self, owner, name, wrapper):
        original = getattr(owner, name)
        self.put(owner, name, lambda *args, **kwargs: wrapper(original, *args, **kwargs))

    def nothing(self, owner, name, value=()):
        self.put(owner, name, lambda *_args, **_kwargs: value)


# --- what each defect was -------------------------------------------------------------------------------------


def a_blocklist_of_no_address_is_proof(patch):
    """D1: nothing is put on the list, and the journal says that it was read back."""

    def read_back(_self, _target, _answers):
        return Reading("read back", "-", {fsid: ["192.0.2.254"] for fsid in ("fsid-1", "fsid-2")})

    def needs_of(original, kind, target, act):
        return [evacuate.needs.fence(kind, act)] if kind == "blocklist" else original(kind, target, act)

    patch.wrap(fences, "needs_of", needs_of)
    patch.put(blocklist.Blocklist, "read_back", read_back)
    patch.nothing(fencing, "uncovered", {})
    patch.nothing(storage, "bare")
    patch.nothing(fencing, "_none")


def the_first_host_reads_every_cluster(patch):
    """D2: who works in Ceph is chosen by name, and succeeds where there is nothing to guard."""
    patch.put(evacuate.Evacuation, "_reader", _first_by_name)
    patch.put(guard_snapshots, "expect_cluster", lambda ceph, fsid=None: ceph.fsid())
    patch.wrap(
        guard_snapshots,
        "guard",
        lambda make, ceph, op, _ids, images=None, **more: make(ceph, op, [n[:36] for n in images]),
    )
    patch.put(evacuate.Evacuation, "_verified_guards", _whatever_was_asked)
    patch.nothing(evacuation_round, "unguarded", {})


def _first_by_name(self, _home):
    return next(iter(sorted(name for name in self._bundle().hosts if name != self.source)), None)


def _whatever_was_asked(self, kind):
    answers = evacuate.needs.answers_of(self.answers, kind)
    return {name for answer in answers for home in answer["homes"] for name in home["images"]}


def the_first_cluster_is_the_right_one(patch):
    """D2: the fence is written to another cluster, and read back there."""
    patch.put(evacuate.Evacuation, "_reader", _first_by_name)
    patch.put(guard_snapshots, "expect_cluster", lambda ceph, fsid=None: ceph.fsid())
    patch.put(blocklist, "listings", _by_what_was_asked)
    nobody_guards(patch)


def _by_what_was_asked(answers):
    found = {}
    for answer in answers:
        for entry in answer.get("clusters") or []:
            found.setdefault(entry["fsid"], []).extend((entry["result"] or {}).get("listed") or [])
    return found, {"somebody"}


def volumes_are_not_looked_at(patch):
    """D3: servers whose volumes are not in the cluster that refuses their host."""
    patch.nothing(clients, "volumes_of", {})


def a_strangers_address_is_taken_for_the_hosts(patch):
    """D4, H2: whoever has a disk open is the dead host."""

    def addresses(find, *args, **kwargs):
        given = inspect.signature(find).bind(*args, **kwargs).arguments
        found = find(*args, **kwargs)
        bundle = given.get("bundle")
        images = [image for facts in bundle.hosts.values() if facts.rbd for image in facts.rbd.images or []]
        strange = {
            clients.address_of(watcher.address): clients.Known(clients.Origin.CLIENT, "watcher")
            for image in images
            for watcher in image.watchers or []
        }
        return dataclasses.replace(
            found, by_cluster={fsid: {**why, **strange} for fsid, why in found.by_cluster.items()}
        )

    patch.wrap(fencing, "addresses", addresses)
    patch.nothing(guard_snapshots, "_refuse_infrastructure", None)


def a_proof_is_read_once(patch):
    """D5: what was read first is good for ever."""

    def proven(make, self):
        stored = self._stored_fence()
        return make(self) if stored is None else stored

    patch.wrap(evacuate.Evacuation, "_proven", proven)
    patch.nothing(fence_proof, "refusal", None)
    patch.nothing(storage, "own_watchers", [])
    patch.nothing(storage, "live_domains", [])
    patch.nothing(storage, "_answered", [])


def a_silent_libvirt_has_no_domains(patch):
    """D6: a source that answers, and whose libvirt does not."""
    patch.nothing(storage, "silent")

    def live(find, bundle, request, *more):
        facts = clients.source_facts(bundle, request)
        return [] if facts is None or facts.domains is None else find(bundle, request, *more)

    patch.wrap(storage, "live_domains", live)


def another_machine_is_off(patch):
    """D7: any Off in the answer of a BMC with several systems."""
    patch.put(power, "power_state", lambda result, _options: "Off" if "Off" in repr(result) else "On")


def guards_stay_until_the_last(patch):
    """D16: of servers that have long arrived."""
    patch.nothing(evacuate.Evacuation, "_finished_guards", [])


def guards_go_too_early(patch):
    """The other way round: of servers that are still to be sent."""
    patch.put(
        evacuate.Evacuation,
        "_finished_guards",
        lambda self, _result: evacuation_record.servers_of(self.open_journal.journal),
    )
    patch.nothing(evacuation_round, "unguarded", {})


def nobody_guards(patch):
    """Servers are sent without a guard."""
    patch.put(evacuate.Evacuation, "_to_guard", lambda self: self._to_round())
    patch.nothing(evacuation_round, "unguarded", {})


def a_server_that_was_stopped_runs_afterwards(patch):
    """H1: a failed spawn made it an ERROR, and its power state is forgotten."""
    patch.nothing(evacuation_round, "_stop")


def a_stranger_does_not_matter(patch):
    """H3, turned round: somebody has the disk open, and it is sent."""
    patch.nothing(fencing, "strangers")


def an_expired_proof_ends_it_well(patch):
    """Found by this model: whoever was not sent in time was forgotten, and the run ended well."""

    def run(carry_out, *args, **kwargs):
        found = carry_out(*args, **kwargs)
        waits = "expired before the run requested the evacuation"
        left = {uuid: why for uuid, why in found.left.items() if waits not in why}
        again = found.again and bool(found.outcomes or found.in_transit or found.put_out or left == found.left)
        return dataclasses.replace(found, left=left, again=again)

    patch.wrap(evacuation_round, "run", run)


def a_cell_that_does_not_answer_has_no_servers(patch):
    """D17: the list is short, and nobody asks placement."""
    patch.wrap(
        evacuation_round.evacuation_facts,
        "read_evacuation",
        lambda read, *args, **kwargs: dataclasses.replace(read(*args, **kwargs), unlisted={}),
    )


def a_leftover_domain_is_not_seen(patch):
    """A failed spawn left it running, and it is sent elsewhere."""
    patch.nothing(storage, "_leftover_domains")
    patch.nothing(storage, "writers")


def the_power_state_of_an_error_is_running(patch):
    """H1: how a server ran is not asked."""
    patch.nothing(server_state, "power_before", "running")


def two_operations_promise_the_same_memory(patch):
    """D10: what the evacuation of another dead host has sent, and has not landed yet, is not counted."""
    patch.nothing(evacuate.Evacuation, "_others", [])
    patch.wrap(evacuate.OpenJournal, "write", lambda write, self, before=None, **_counted: write(self, before))


def an_abort_forgets_who_was_sent(patch):
    """The dead host may write again to disks that its servers have elsewhere."""
    patch.nothing(evacuation_record, "sent", set())


def zones_do_not_matter(patch):
    """A server is evacuated into another availability zone."""

    def assignment(take, guests, *args, **kwargs):
        return take([dataclasses.replace(guest, zone=None) for guest in guests], *args, **kwargs)

    patch.wrap(evacuation, "assign", assignment)


def a_cloud_without_images_fails_at_the_guard(patch):
    """D8: servers that boot from volumes are fenced, and then refused."""

    def to_guard(go_on, self):
        if not any(entry.images for entry in self._to_be_guarded()):
            raise lifecycle.Stopped("images_type is default: this host keeps no disks in Ceph; name the pool")
        return go_on(self)

    patch.wrap(evacuate.Evacuation, "_to_guard", to_guard)


def a_pin_counts_that_holds_nothing(patch):
    """D9: a server is pinned to a zone that no aggregate carries."""
    patch.put(leaving_guests._Zones, "of", lambda self, server: server.pinned_availability_zone or self._zone)


def a_host_in_repair_counts(patch):
    """D11: one other host of the zone is disabled, empty and down."""
    patch.nothing(evacuation, "_unexplained", True)


def the_dead_host_works_in_ceph(patch):
    """D14: it answers, and its name is the first."""

    def readers(_self):
        bundle, found = _self._bundle(), {}
        for name, facts in sorted(bundle.hosts.items()):
            if facts.rbd is not None and facts.rbd.images is not None:
                found.setdefault((facts.rbd.fsid, facts.rbd.pool), []).append(name)
        return found

    patch.put(evacuate.Evacuation, "_readers", readers)


def a_return_looks_through_the_first_host(patch):
    """D15: it is of another cluster, whose blocklist is empty."""

    def first(choose, bundle, exclude=()):
        found = choose(bundle, exclude)
        return found[:1] if len({reader.fsid for reader in found}) > 1 else []

    def views(see, bundle, request):
        found = list(see(bundle, request).values())[:1]
        place = return_host.home(bundle.hosts[request.inventory_name], request)
        return dict(zip([place], found))

    patch.wrap(ceph_readers, "readers", first)
    patch.wrap(return_host, "_views", views)
    patch.nothing(return_host, "_unreached")


def a_return_forgets_the_addresses_of_its_journals(patch):
    """D15: the host was installed again, and has another address."""
    patch.nothing(return_host, "_journaled", {})


def a_return_does_not_look_at_disks(patch):
    """H8: Ceph has refused what runs there, and it is said to be clear."""
    patch.nothing(return_host, "_disks")


def a_return_lifts_under_what_runs_there(patch):
    """Servers that live elsewhere run there still, and Ceph lets them write again."""
    patch.nothing(return_host, "_leftover", False)
    patch.nothing(return_host.forecast, "restart")


def aggregates_do_not_bind(patch):
    """D12: a flavor demands the hosts of an aggregate, and others are tried first."""
    patch.nothing(planner, "_aggregates")


def what_nova_refuses_is_told_after_the_fence(patch):
    """D13: a server with a virtual TPM is refused by the API, when its host is fenced."""
    patch.nothing(server_state, "refusals")


def an_address_that_was_named_was_seen(patch):
    """A later operation takes the word of an earlier one's operator for what was read on the host."""
    patch.nothing(clients, "is_seen", True)


def a_return_does_not_look_at_other_hosts(patch):
    """A spawn that failed left its QEMU on another host, and the one that comes back may write again."""
    patch.nothing(return_host, "_twice")


def soft_deleted_servers_are_not_seen(patch):
    """D18: they are in no list."""
    patch.wrap(
        evacuation_round.evacuation_facts,
        "read_evacuation",
        lambda read, *args, **kwargs: dataclasses.replace(read(*args, **kwargs), soft_deleted={}),
    )


def a_measurement_counts_from_the_wave(patch):
    """D19: hosts were read over many minutes, and count as read just now."""
    patch.wrap(evidence, "read_times", lambda read, directory: dict.fromkeys(read(directory), float("inf")))


def the_report_lacks_what_stopped_the_run(patch):
    """H4: it is on the terminal only."""

    def report(make, self):
        self.scratch.stopping = {}
        return make(self)

    patch.wrap(evacuate.Evacuation, "_report", report)


def a_fenced_host_that_answers_is_refused(patch):
    """H7: Ceph refuses it by proof, its link is back, and each resume is refused with: it lives."""
    patch.wrap(evacuate, "_blocks_fence", lambda count, item, act, lists, _held: count(item, act, lists, False))


def one_resize_keeps_all(patch):
    """H9: evacuate_partial does not help."""

    def refusing(judge, checked, *args, **kwargs):
        moving = [item for item in checked.findings if item.code in ("SG702", "SG703")]
        return judge(checked, *args, **kwargs) or moving

    patch.wrap(evacuation, "refusing", refusing)


def an_abort_lifts_what_an_earlier_operation_needs(patch):
    """It has sent nothing itself; one before it has, and that host is not back."""
    patch.nothing(evacuation_record, "same_outage", [])
    patch.nothing(evacuate.Evacuation, "_is_listed", False)


def a_return_does_not_look_at_the_queue(patch):
    """N1: nothing asks what waits for the host that is to start."""
    patch.nothing(return_host_operation.waiting_requests, "count", Checked())
    patch.nothing(return_host_operation.waiting_requests, "settle", Checked())


def nothing_is_removed(patch):
    """What a run says that it has removed waits still."""
    patch.put(queues.FakeBroker, "take", lambda _self, _name, ids: list(ids))


def a_reset_forgets_the_request(patch):
    """N1: evacuate_reset_states=[task] covers a start whose request nobody has removed."""
    patch.nothing(leaving_guests, "_waits", False)


def a_reset_trusts_an_earlier_look(patch):
    """Found by this model: the request came after the queue was read."""
    patch.nothing(evacuate.Evacuation, "_settle_late_requests", None)


def a_missing_queue_is_empty(patch):
    """The URL is of another virtual host, where no queue is."""
    patch.nothing(return_host_operation.waiting_requests, "_witnesses", set())


def every_request_is_removed(patch):
    """A delete, a part of a resize, and what nobody knows go with the others."""
    every = dict.fromkeys(waiting.VERDICTS[waiting.BINDS], waiting.REMOVE)
    patch.put(waiting, "VERDICTS", {**waiting.VERDICTS, waiting.BINDS: every})


def what_nobody_knows_is_removed(patch):
    """A method of a later Nova."""
    patch.put(waiting, "METHODS", {**waiting.METHODS, "brew_instance": waiting.Method(waiting.ACTS, "brews")})


def a_return_removes_what_is_its_own(patch):
    """The owner's request for a server that is here is lost."""
    verdicts = {**waiting.VERDICTS[waiting.ACTS], waiting.HERE: waiting.REMOVE}
    patch.put(waiting, "VERDICTS", {**waiting.VERDICTS, waiting.ACTS: verdicts})


def ids_are_noted_afterwards(patch):
    """A run that is killed in between leaves no word of what it has removed."""
    patch.nothing(evacuate.Evacuation, "_note_requests", None)
    patch.nothing(return_host_operation.HostReturn, "_note_removed", None)


def the_end_does_not_look_again(patch):
    """The API casts to the dead host until the server is elsewhere, and the run ends with a pass."""
    patch.nothing(evacuate.waiting_requests, "settle", Checked())


def a_return_ends_what_nova_shows_elsewhere(patch):
    """B01: the last write of a live migration to the host was lost, and the only copy of the guest is here."""
    patch.put(return_host, "_leftover", lambda _index, fate: fate.exists and fate.lives is not None)
    patch.nothing(return_host, "_harmless", True)
    patch.nothing(return_host.forecast, "restart")


def a_lost_write_is_not_seen(patch):
    """B01: the guest runs on another host than Nova shows, and is evacuated."""
    patch.nothing(storage, "_leftover_domains")
    patch.nothing(storage, "writers")
    patch.nothing(fencing, "strangers")


def a_dead_consumer_reads(patch):
    """Found by this model: RabbitMQ counts the consumer of a dead host, and what it was given is out of sight."""

    def count_alive(ask, options, connection, host, dead=False):
        return ask(options, connection, host)

    patch.wrap(evacuate.waiting_requests, "count", count_alive)


#: Operations that end with some of the servers, of a host that is cut off and refused by Ceph.
refused = changed(calm(), cut_off=1.0, odd_options=1.0, fence="blocklist")
#: Its link heals, and return_host is run.
back = changed(refused, alive=1.0, returns=1.0)

#: Owners' requests wait for the host, and it comes back.
asked = scenario.requested()
lost = scenario.lost()
RESET = ("reset-and-its-request-waits",)

#: One pool for all hosts; the host stays dead.
one_pool = changed(calm(), second_cluster=0.0, second_pool=0.0, returns=0.0)

#: Each defect with the clouds in which it shows, and the rules of which it breaks one.
CASES = {
    a_blocklist_of_no_address_is_proof: (changed(calm(), cut_off=1.0, odd_options=1.0, bmc_dead=0.5), ("not-covered",)),
    the_first_host_reads_every_cluster: (changed(calm(), second_cluster=1.0, mixed_homes=1.0), ("unguarded",)),
    the_first_cluster_is_the_right_one: (
        changed(calm(), second_cluster=1.0, mixed_homes=1.0, odd_options=1.0),
        ("not-covered", "no-proof"),
    ),
    volumes_are_not_looked_at: (changed(calm(), volumes=0.7, odd_options=1.0, cut_off=0.5), ("not-covered",)),
    a_strangers_address_is_taken_for_the_hosts: (
        changed(calm(), stranger=1.0, odd_options=1.0),
        ("foreign-address-listed",),
    ),
    a_proof_is_read_once: (
        changed(calm(), happens=1.0, odd_options=0.5, kill=0.3),
        ("seen-alive", "old-proof", "false-proof", "no-proof"),
    ),
    a_silent_libvirt_has_no_domains: (
        changed(calm(), compute_dead=1.0, libvirt_silent=0.7, odd_options=0.5),
        ("fenced-alive", "attested-and-alive", "two-writers"),
    ),
    another_machine_is_off: (changed(calm(), bmc_many=1.0, bmc_disobeys=0.7, cut_off=1.0), ("no-proof", "false-proof")),
    guards_stay_until_the_last: (changed(calm(), many=1.0), ("guard-kept",)),
    guards_go_too_early: (changed(calm(), happens=0.0), ("unguarded",)),
    nobody_guards: (calm(), ("unguarded",)),
    a_server_that_was_stopped_runs_afterwards: (changed(calm(), stopped=0.8, error=0.7), ("power-state",)),
    a_stranger_does_not_matter: (changed(calm(), stranger=1.0), ("sent-while-watched",)),
    an_expired_proof_ends_it_well: (changed(calm(), slow=0.4), ("pass-and-still-there",)),
    a_cell_that_does_not_answer_has_no_servers: (changed(calm(), cell_mute=1.0), ("pass-and-still-there",)),
    a_leftover_domain_is_not_seen: (changed(calm(), spawn_fails=1.0), ("sent-while-it-runs", "two-writers")),
    two_operations_promise_the_same_memory: (
        changed(one_pool, two_dead=1.0, tight=1.0, stopped=0.0, slow=1.0, slow_seconds=20.0),
        ("memory-promised-twice",),
    ),
    an_abort_forgets_who_was_sent: (
        changed(refused, aborts=1.0, kill=1.0),
        ("lifted-under-a-guest",),
    ),
    zones_do_not_matter: (changed(calm(), tight=0.5), ("sent-out-of-its-zone",)),
    the_power_state_of_an_error_is_running: (changed(calm(), stopped=0.8, error=0.7), ("power-state",)),
    a_cloud_without_images_fails_at_the_guard: (changed(calm(), no_images=1.0, must=True), ("not-evacuated",)),
    a_pin_counts_that_holds_nothing: (changed(calm(), pinned=1.0, must=True), ("not-evacuated",)),
    a_host_in_repair_counts: (changed(calm(), repair=1.0, must=True), ("not-evacuated",)),
    the_dead_host_works_in_ceph: (
        changed(calm(), compute_dead=1.0, stopped=1.0, fence="blocklist"),
        ("dead-host-at-work",),
    ),
    a_return_looks_through_the_first_host: (
        changed(refused, second_cluster=1.0, mixed_homes=1.0, returns=1.0),
        ("entry-left",),
    ),
    a_return_forgets_the_addresses_of_its_journals: (changed(refused, new_address=1.0, returns=1.0), ("entry-left",)),
    a_return_does_not_look_at_disks: (changed(back, some=1.0), ("dead-disk",)),
    a_return_lifts_under_what_runs_there: (back, ("lifted-under-a-guest",)),
    aggregates_do_not_bind: (changed(calm(), special=1.0), ("sent-to-a-host-that-nova-refuses",)),
    what_nova_refuses_is_told_after_the_fence: (changed(calm(), tpm=1.0, many=1.0), ("sent-what-nova-refuses",)),
    an_address_that_was_named_was_seen: (
        changed(refused, separate_network=1.0, stopped=1.0, some=1.0, odd_options=1.0),
        ("not-covered",),
    ),
    a_return_does_not_look_at_other_hosts: (changed(back, spawn_fails=1.0), ("two-writers",)),
    soft_deleted_servers_are_not_seen: (changed(calm(), soft=1.0), ("soft-deleted-untold",)),
    a_measurement_counts_from_the_wave: (
        changed(calm(), slow=1.0, slow_seconds=300.0),
        ("old-measurement",),
    ),
    the_report_lacks_what_stopped_the_run: (changed(calm(), bmc_dead=1.0), ("not-in-the-report",)),
    a_fenced_host_that_answers_is_refused: (changed(refused, kill=1.0, healed=1.0), ("fenced-and-refused",)),
    one_resize_keeps_all: (changed(calm(), resized=1.0, must=True), ("not-evacuated",)),
    a_return_does_not_look_at_the_queue: (asked, ("old-request", "two-writers")),
    nothing_is_removed: (asked, ("old-request", "two-writers", "pass-and-a-request-waits", *RESET)),
    a_reset_forgets_the_request: (changed(asked, no_rabbit=1.0), RESET),
    a_reset_trusts_an_earlier_look: (changed(asked, no_rabbit=0.0, busy=1.0), RESET),
    a_missing_queue_is_empty: (changed(asked, no_rabbit=1.0), ("old-request", "two-writers", *RESET)),
    every_request_is_removed: (changed(asked, no_rabbit=0.0), ("stranded",)),
    what_nobody_knows_is_removed: (changed(asked, no_rabbit=0.0), ("stranded",)),
    a_return_removes_what_is_its_own: (changed(asked, no_rabbit=0.0, some=1.0), ("request-of-its-own-lost",)),
    ids_are_noted_afterwards: (changed(asked, no_rabbit=0.0), ("request-not-noted",)),
    the_end_does_not_look_again: (changed(asked, no_rabbit=0.0), ("pass-and-a-request-waits", *RESET)),
    a_return_ends_what_nova_shows_elsewhere: (lost, ("only-copy-ended",)),
    a_lost_write_is_not_seen: (lost, ("sent-while-it-runs",)),
    a_dead_consumer_reads: (
        changed(asked, cut_off=0.0, compute_dead=0.0, no_rabbit=0.0),
        ("pass-and-a-request-waits",),
    ),
    an_abort_lifts_what_an_earlier_operation_needs: (
        changed(refused, aborts=0.5, kill=1.0, some=1.0, many=1.0, no_rabbit=1.0),
        ("lifted-under-a-guest",),
    ),
}


def found(stage, kind, rules, most):
    """Play until one of these rules is broken; None: none was."""
    for seed in range(most):
        try:
            stage.play(seed, kind)
        except oracle.Violation as violation:
            if violation.rule in rules:
                return seed, violation
    return None


@pytest.fixture
def stage(monkeypatch):
    made = scenario.Stage(monkeypatch)
    yield made
    made.close()


@pytest.mark.parametrize("mutation", CASES, ids=lambda mutation: mutation.__name__)
def test_a_defect_that_is_put_back_is_found(stage, monkeypatch, mutation):
    mutation(Patch(monkeypatch))
    kind, rules = CASES[mutation]
    assert found(stage, kind, rules, MOST) is not None, f"not found in {MOST} scenarios: {mutation.__doc__}"
