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
        remedies={
            "unpinned": Remedy(
                "Pin the server to its zone: ansible-playbook stackguard.nova.pin_servers -i INVENTORY -e "
                "pin_servers=SERVER --check --diff, then run the command without --check --diff. If the server must "
                "stay "
                "unpinned, use only this collection to resize and move the server."
            ),
        },
    ),
    Code(
        "SG402",
        "pin-without-aggregate",
        BLOCKER,
        "The server is pinned to a zone without an aggregate, so the pin has no effect.",
        overridden_by="the server's uuid",
        remedies={
            "zone-of-host-known": Remedy("Pin the server to its real zone {zone} " + _PIN_OR_UNPIN),
            "zone-of-host-unknown": Remedy("Pin the server to the real zone of its host " + _PIN_OR_UNPIN),
            "pinned-to-default-zone": Remedy(
                "The server's pin is the name of Nova's default zone, which no server should ask for."
            ),
            "pinned-to-default-zone-of-its-host": Remedy(
                "Unpin the server (playbook pin_servers with pin_state=unpinned), because its pin is the name of "
                "Nova's "
                "default zone."
            ),
            "pinned-to-no-zone": Remedy(
                "If an aggregate's zone was renamed, you can give the aggregate this zone again.",
            ),
            "zone-without-aggregate": Remedy(
                "Put the server's host into an aggregate with a zone first: without an aggregate, an availability "
                "zone pin "
                "has no effect. Give the zone another name than Nova's default zone."
            ),
        },
    ),
    Code(
        "SG403",
        "host-in-two-zones",
        BLOCKER,
        "A host is in aggregates of two availability zones.",
        overridden_by="the host's name",
        override=(
            "If a host is in two zones, the run cannot resize the host's servers, even with an "
            "override, because the run cannot know in which zone a server must stay."
        ),
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
            "With the override, `migrate_server` and `drain_host` move the server into the zone of "
            "its pin. With the override, `resize_server` keeps the server in its current zone, but "
            "only if the run can change the pin in the API database (`nova_api_db_url`). If the run "
            "cannot change the pin, the resize fails in one of three ways:\n\n"
            "- If `resize_strategy` is `pin_api` or `pin_db`, the run refuses the resize before it changes "
            "anything.\n- If no host in the zone of the server's availability zone pin can take the server, Nova "
            "fails the resize with\n  NoValidHost.\n- If Nova moves the server to a host in the zone of the pin "
            "during the resize, the run reverts the resize, because the\n  zone of the pin differs from the server's "
            "current zone."
        ),
        remedies={
            "outside-its-pin": Remedy(
                "Move the server back into the zone of its availability zone pin, or change the pin. If you do "
                "neither, "
                "Nova chooses a host in the zone of the pin at the server's next migration, evacuation or resize."
            ),
            "pin-wanted-to-another-zone": Remedy(
                "If the server must stay in its current zone, unpin the server, then pin the server to its current "
                "zone. "
                "If the server must be in another zone, move the server into that zone, then pin the server. An "
                "availability zone pin cannot move a server into another zone."
            ),
        },
    ),
    Code(
        "SG405",
        "volume-zone-mismatch",
        WARNING,
        "A volume is in another zone than its server.",
        remedies={
            "volume-in-another-zone": Remedy(
                "Move the volume to the server's zone, or move the server to the volume's zone. With [cinder] "
                "cross_az_attach=false, Nova refuses to attach a volume of another zone."
            ),
        },
    ),
    Code(
        "SG406",
        "no-candidate-in-zone",
        BLOCKER,
        "No host in the server's zone can take the server.",
        overridden_by="the server's uuid",
        override=(
            "With the override, the run moves the other servers, leaves this server on its host, and then fails."
        ),
        remedies={
            "zone-full": Remedy(
                "Free up resources on a host of the server's zone, or add a host. The run has not resized the server."
            ),
            "no-destination": Remedy(
                "Start and enable another compute host of the server's zone, or free up resources on a compute host of "
                "this zone. The run has not moved the server."
            ),
        },
    ),
    Code(
        "SG407",
        "landed-outside-zone",
        BLOCKER,
        "The server landed outside its zone.",
        override=(
            "You cannot override this finding. If a resize moves the server into another zone, the "
            "run always reverts the resize, except if the owner has already confirmed the resize."
        ),
        remedies={
            "moved-out-of-zone": Remedy(
                "Move the server back into its zone. The server's events show who moved it (openstack server event "
                "list)."
            ),
            "resize-confirmed-outside-zone": Remedy(
                "Move the server back to its zone. The run cannot revert the resize, because another user confirmed "
                "the "
                "resize before the run compared the zones."
            ),
            "resize-reverted": Remedy(
                "Pin the server (resize_strategy=pin_api or pin_db), or make enough resources available in its zone. "
                "The run has reverted the resize."
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
        remedies={
            "aggregates-differ": Remedy("Synchronise the aggregates: nova-manage placement sync_aggregates."),
        },
    ),
)
