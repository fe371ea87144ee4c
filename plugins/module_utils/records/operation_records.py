# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What journals of the journal directory say of operations, in short. Pure.

Closed journals of evacuations are of two generations. Those of version 0.1 (kind C(evacuate)) hold the addresses that
they put on a blocklist without the cluster; the others (one for each host) by cluster. Open ones of version 0.1 are not
understood, and never come here.
"""

from __future__ import annotations

import typing as t

from ..model.facts import OperationRecord

EVACUATE = "evacuate"

Plain = t.Mapping[str, t.Any]


def is_evacuation(kind: str) -> bool:
    """Whether a kind of journal is that of an evacuation, of either generation."""
    return kind == EVACUATE or kind.startswith(f"{EVACUATE}-")


def records(open_: t.Sequence[Plain], closed: t.Sequence[Plain]) -> t.List[OperationRecord]:
    """Return the records of open and closed journals, the oldest first."""
    found = [*(record_of(journal, True) for journal in open_), *(record_of(journal, False) for journal in closed)]
    return sorted(found, key=lambda record: (record.started_at, record.operation_id))


def record_of(journal: Plain, is_open: bool) -> OperationRecord:
    """Return what a journal says. What it does not say, or says in a form that is not known, is left out."""
    about = _mapping(journal.get("about"))
    listed = {str(fsid): _words(addresses) for fsid, addresses in _mapping(about.get("blocklisted")).items()}
    host = about.get("host")
    return OperationRecord(
        str(journal.get("operation_id")),
        str(journal.get("kind")),
        str(journal.get("state")),
        str(journal.get("started_at") or ""),
        is_open,
        None if host is None else str(host),
        listed,
        _without_cluster(about),
        _homes(about),
        _requests_passed(journal, about),
    )


def _requests_passed(journal: Plain, about: Plain) -> t.Optional[str]:
    if not _mapping(journal.get("memory")).get("requests_unread"):
        return None
    words = [_mapping(entry) for entry in _list(about.get("overrides"))]
    return next((str(word.get("reason")) for word in words if word.get("code") == "SG329"), None)


def _without_cluster(about: Plain) -> t.List[str]:
    proof = _mapping(about.get("fence_proof"))
    return sorted({*_words(about.get("addresses")), *_words(proof.get("addresses"))})


def _homes(about: Plain) -> t.Dict[str, t.List[str]]:
    found: t.Dict[str, t.Set[str]] = {}
    for server in _list(about.get("servers")):
        for image in _mapping(_mapping(server).get("images")).values():
            # An old journal has the id alone.
            place = _mapping(image)
            if place.get("fsid") and place.get("pool"):
                found.setdefault(str(place["fsid"]), set()).add(str(place["pool"]))
    return {fsid: sorted(pools) for fsid, pools in sorted(found.items())}


def _mapping(value: t.Any) -> Plain:
    return value if isinstance(value, dict) else {}


def _list(value: t.Any) -> t.Sequence[t.Any]:
    return value if isinstance(value, (list, tuple)) else []


def _words(value: t.Any) -> t.List[str]:
    return [str(item) for item in _list(value) if isinstance(item, str)]
