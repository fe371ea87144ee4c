# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG4xx: availability zones. See code.py."""

from __future__ import annotations

import typing as t

from .code import BLOCKER, WARNING, Code, Remedy

_PIN_OR_UNPIN = "(playbook pin_servers), or unpin the server (pin_state=unpinned)."

CODES: t.Tuple[Code, ...] = (
    Code(
        "SG401",
        "unpinned-server",
        WARNING,
        "The server is not pinned to an availability zone.",
        do="""
            `pin_hosts=HOST` pins all servers of a host, `pin_all=true` those of the cloud; `pin_action=restore` gives
            the old pins back. A pinned server cannot move to another zone, even in an evacuation. One that stays
            unpinned keeps its zone only with `resize_server`, `migrate_server`, `drain_host` and `evacuate_host`: see
            [zones](../guides/zones.md).
        """,
        why="""
            Nova may place a server without a pin in any zone at each resize, migration or evacuation, away from its
            volumes. A server is pinned only if its user chose a zone, if `default_schedule_zone` is set, or if
            `[cinder] cross_az_attach` is `false` and its volumes are in another zone than `default_availability_zone`.
        """,
        remedies={
            "unpinned": Remedy(
                "Pin the server to its zone: ansible-playbook stackguard.nova.pin_servers -i INVENTORY -e "
                "pin_servers=SERVER --check --diff, then run the command without --check --diff. If the server must "
                "stay unpinned, use only this collection to resize and move the server."
            ),
        },
    ),
    Code(
        "SG402",
        "pin-without-aggregate",
        BLOCKER,
        "The server is pinned to a zone without an aggregate, so the pin has no effect.",
        overridden_by="the server's uuid",
        do="""
            The first command pins the server to its real zone. It needs `nova_api_db_url`, because Nova's API cannot
            replace a pin. The second one unpins it:

                ansible-playbook pin_servers.yml -e @cloud.yml -e pin_servers=web1 --check --diff
                ansible-playbook pin_servers.yml -e @cloud.yml -e pin_servers=web1 -e pin_state=unpinned --check --diff
        """,
        why="""
            The scheduler turns a pin into placement aggregates. A zone that no aggregate has, such as the default zone
            `nova` or the old name of a renamed zone, restricts nothing: the server can move to any zone. Nova's
            documentation forbids to ask for the default zone by name, and to give its name to an aggregate. A warning
            in an audit, a move or a resize: a resize treats the server as unpinned, and restores the old pin afterwards
            (but not with `resize_keep_pin=true`).
        """,
        remedies={
            "zone-of-host-known": Remedy("Pin the server to its real zone {zone} " + _PIN_OR_UNPIN),
            "zone-of-host-unknown": Remedy("Pin the server to the real zone of its host " + _PIN_OR_UNPIN),
            "pinned-to-default-zone": Remedy(
                "The server's pin is the name of Nova's default zone, which no server should ask for."
            ),
            "pinned-to-default-zone-of-its-host": Remedy(
                "Unpin the server (playbook pin_servers with pin_state=unpinned), because its pin is the name of "
                "Nova's default zone."
            ),
            "pinned-to-no-zone": Remedy(
                "If an aggregate's zone was renamed, you can give the aggregate this zone again.",
            ),
            "zone-without-aggregate": Remedy(
                "Put the server's host into an aggregate with a zone first. Give the zone another name than Nova's "
                "default zone."
            ),
            "zone-of-shelved-without-aggregate": Remedy(
                "Put the hosts of this zone into an aggregate with a zone, and pin the server to it. With an override "
                "of this finding, Nova chooses any host of the cloud, and the run reports a server that lands "
                "elsewhere (SG407)."
            ),
        },
    ),
    Code(
        "SG403",
        "host-in-two-zones",
        BLOCKER,
        "A host is in aggregates of two availability zones.",
        overridden_by="the host's name",
        override=("Even then, the servers of the host cannot be resized: in which zone they must stay is not known."),
        do="""
            Nova 34 refuses to take a host with servers out of its zone's aggregate: move them away first.
        """,
        why="""
            Nova shows both zones, and the scheduler uses either: a server that leaves this host can land in either
            zone.
        """,
        remedies={
            "several-zones": Remedy(
                "Remove the host from the aggregates of all zones except one: openstack aggregate remove host."
            ),
        },
    ),
    Code(
        "SG404",
        "server-outside-its-pin",
        BLOCKER,
        "The server is outside the zone to which it is pinned.",
        overridden_by="the server's uuid",
        override=(
            "With it, `migrate_server` and `drain_host` move the server into the zone of its pin. `resize_server` "
            "keeps it in its current zone, if it can change the pin in the API database (`nova_api_db_url`). If it "
            "cannot, `resize_strategy` `pin_api` and `pin_db` are refused before anything is changed; otherwise the "
            "resize fails with NoValidHost, or the run reverts it because the server reached the zone of its pin."
        ),
        do="""
            To keep the server in its current zone, unpin it, then pin it again:

                ansible-playbook pin_servers.yml -e @cloud.yml -e pin_servers=web1 -e pin_state=unpinned
                ansible-playbook pin_servers.yml -e @cloud.yml -e pin_servers=web1

            To move it into the zone of its pin, run `migrate_server` with an override of SG404.
        """,
        why="""
            At the server's next migration, evacuation or resize, Nova chooses a host in the zone of the pin: the server
            leaves its current zone, or fails with NoValidHost. A warning in an audit.
        """,
        remedies={
            "outside-its-pin": Remedy(
                "Move the server back into the zone of its availability zone pin, or change the pin."
            ),
            "pin-wanted-to-another-zone": Remedy(
                "If the server must stay in its current zone, unpin the server, then pin the server to its current "
                "zone. If the server must be in another zone, move the server into that zone, then pin the server."
            ),
        },
    ),
    Code(
        "SG405",
        "volume-zone-mismatch",
        WARNING,
        "A volume is in another zone than its server.",
        why="""
            The server's disk traffic crosses zones. With `[cinder] cross_az_attach=false`, Nova refuses to attach a
            volume of another zone: one that is attached stays, and cannot be attached again. Volumes in a zone without
            an aggregate are ignored, because many clouds have one volume zone for all.
        """,
        remedies={
            "volume-in-another-zone": Remedy(
                "Move the volume to the server's zone, or move the server to the volume's zone."
            ),
        },
    ),
    Code(
        "SG406",
        "no-candidate-in-zone",
        BLOCKER,
        "No host in the server's zone can take the server.",
        overridden_by="the server's uuid",
        override=("The run then moves the other servers, leaves this one on its host, and fails."),
        why="""
            The guest cannot move within its zone, and if it has no pin, Nova can take it to another one. A destination
            is up and enabled, and placement offers it; for a move, the server's groups allow it and it is in the
            server's cell. The evidence has the reasons against each host; one that lacks only memory is
            [SG501](SG501.md). A resize counts the server's own host only with `resize_same_host=true`.
        """,
        remedies={
            "zone-full": Remedy("Free up resources on a host of the server's zone, or add a host."),
            "host-of-shelved-down": Remedy(
                "Find out why the server's host is down (playbook audit), because a server that is SHELVED can only "
                "start there. A request to a host that is down waits in the host's queue."
            ),
            "no-destination": Remedy(
                "Start and enable another compute host of the server's zone, or free up resources on a compute host of "
                "this zone."
            ),
        },
    ),
    Code(
        "SG407",
        "landed-outside-zone",
        BLOCKER,
        "The server landed outside its zone.",
        override=(
            "None: a resize into another zone is always reverted, unless the owner has already confirmed it. An "
            "unshelved server stays where it runs."
        ),
        why="""
            The guest runs in another zone than its volumes. A host whose zone Nova does not show counts as outside,
            too. The run never confirms such a resize.
        """,
        remedies={
            "moved-out-of-zone": Remedy(
                "Move the server back into its zone. The server's events show who moved it (openstack server event "
                "list)."
            ),
            "resize-confirmed-outside-zone": Remedy(
                "Move the server back to its zone. The run cannot revert the resize, because another user confirmed it "
                "before the run compared the zones."
            ),
            "resize-reverted": Remedy(
                "Pin the server (resize_strategy=pin_api or pin_db), or make enough resources available in its zone. "
                "The run has reverted the resize."
            ),
            "unshelved-outside-zone": Remedy(
                "Move the server back to a host of its zone: openstack --os-compute-api-version 2.30 server migrate "
                "--live-migration --host HOST SERVER. The server runs, so the run does not shelve it again."
            ),
            "drained-guest-in-another-zone": Remedy(
                "Find out whether the owner or an operator moved the server to another zone (openstack server event "
                "list)."
            ),
        },
    ),
    Code(
        "SG408",
        "host-missing-from-placement-aggregate",
        BLOCKER,
        "Placement and Nova list different hosts in the aggregate of an availability zone.",
        overridden_by="the aggregate's uuid or name",
        do="""
            `sync_aggregates` adds the hosts that are missing in placement, and removes none. A host that is only in
            placement's aggregate you remove yourself.
        """,
        why="""
            The scheduler goes by placement's copy of an aggregate. A host that is missing there gets no servers of its
            zone, and NoValidHost does not say why. A host that only placement has gets servers of a zone that it is not
            in.
        """,
        remedies={
            "aggregates-differ": Remedy("Synchronise the aggregates: nova-manage placement sync_aggregates."),
        },
    ),
    Code(
        "SG409",
        "shelved-zone-unclear",
        BLOCKER,
        "The zone of a shelved server that is on no host is not known for certain.",
        overridden_by="the server's uuid",
        override=(
            "It passes a zone named in `unshelve_zone` that all facts contradict: the server then moves into this zone."
        ),
        do="""
            Look at the evidence: what each fact names. Find out where the server's data is, and name that zone:

                ansible-playbook unshelve_server.yml -e @cloud.yml -e unshelve_server=web1 -e unshelve_zone=az1 --check

            `pin_servers` cannot pin such a server. Unshelved with a named zone, it is pinned.
        """,
        why="""
            Nova places such a server as if it were new. Its zone is read from its pin, from the host that shelved it
            (by the events of its actions), from the zone that Nova shows, and from its volumes; all that name a zone
            must name the same. After an attempt to unshelve it that reached a host, the zone that Nova shows is
            that host's, and counts no more. A zone that no longer exists does not count either.
        """,
        remedies={
            "zones-of-shelved-differ": Remedy(
                "Find out in which of these zones the server belongs, and name the zone: unshelve_server -e "
                "unshelve_server=SERVER -e unshelve_zone=ZONE."
            ),
            "zone-of-shelved-unknown": Remedy(
                "Ask the server's owner in which zone it belongs, and name the zone: unshelve_server -e "
                "unshelve_server=SERVER -e unshelve_zone=ZONE."
            ),
            "named-zone-is-another": Remedy(
                "Verify unshelve_zone: everything that is known of the server names another zone. To unshelve the "
                "server in the named zone all the same, override this finding."
            ),
            "named-zone-unknown": Remedy("Name an existing zone in unshelve_zone: openstack availability zone list."),
        },
    ),
)
