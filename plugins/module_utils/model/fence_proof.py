# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proof that a dead host can write no more: a value, made here only, from what was read back. Pure.

A proof holds its kind, its host and operation, what it covers, what was read, when and where. It is never empty and
never of another kind than the fence that was requested, and it expires: a machine can be switched on again. So it is
read again before each round and at each resume. :func:`prove` takes what the kind of fence (C(model/fences/)) finds
in the answers, nothing else.

An attestation is no proof. It is the statement of a named person, for the host that it names, given for one run.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from .fences import attested
from .fences.catalogue import (
    FENCES,
    PROVABLE,
    of_addresses,
)
from .fences.fence import Answers, FenceTarget, ProofError

#: Seconds that the controller's clock may go backwards between two readings.
SKEW = 2.0


@dataclasses.dataclass(frozen=True)
class FenceProof:
    """What was read back of a fence. :func:`prove` makes it: lint refuses any other place.

    ``clusters``: of a fence of addresses, Ceph fsid to the addresses that were read there. Empty for the others, which
    cover the machine and so every disk.
    """

    kind: str
    #: What Nova calls the host.
    host: str
    operation_id: str
    #: What was read, for people.
    read: str
    #: When: ISO 8601, by the controller's clock.
    at: str
    #: Inventory hosts on which it was read.
    source: str
    clusters: t.Dict[str, t.List[str]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a proof that proves nothing. Raises :class:`ProofError`."""
        for name in ("host", "operation_id", "read", "at", "source"):
            if not getattr(self, name):
                raise ProofError(f"the proof is invalid, because the field {name} is empty", problem="empty-field")
        if self.kind not in PROVABLE:
            raise ProofError(f"the run cannot verify a fence of kind {self.kind!r}", "unknown-kind")
        if of_addresses(self.kind) != bool(self.clusters):
            raise ProofError(
                "the proof is invalid: the proof of a fence by OSD blocklist must list Ceph clusters, and the proof of "
                "any other fence must not list Ceph clusters. "
                f"The proof of the fence of kind {self.kind} lists these clusters: {sorted(self.clusters)}"
            )
        if not all(fsid and addresses and all(addresses) for fsid, addresses in self.clusters.items()):
            raise ProofError(
                "for one Ceph cluster, the proof lists no address of the host, so the host is not fenced in that "
                "cluster"
            )

    @property
    def covers_machine(self) -> bool:
        """Whether the whole machine is off, whatever storage its guests use."""
        return not of_addresses(self.kind)

    @property
    def powered_off(self) -> bool:
        """Whether the machine was read as without power: one that answers later was switched on again."""
        return FENCES[self.kind].powers_off

    def covers_cluster(self, fsid: t.Optional[str]) -> bool:
        """Whether clients of the host are refused by this Ceph cluster (or the machine is off)."""
        return self.covers_machine or (fsid is not None and fsid in self.clusters)


@dataclasses.dataclass(frozen=True)
class Attestation:
    """A named person's statement that a host is dead. Given again at every resume. Never stored as proof."""

    host: str
    person: str
    reason: str
    kind: str = attested.FENCE.name

    def __post_init__(self) -> None:
        """Refuse a statement of no one, or without a reason. Raises :class:`ProofError`."""
        if not (self.host and self.person.strip() and self.reason.strip()):
            raise ProofError("an attestation needs a host, a person and a reason")


Fence = t.Union[FenceProof, Attestation]


# --- makers ---------------------------------------------------------------------------------------------------


def prove(kind: str, target: FenceTarget, answers: Answers, at: str) -> FenceProof:
    """Return the proof that the answers make: of a known kind, read back as often as that kind needs.

    ``answers``: one for each reading, in order. Raises :class:`ProofError` where they make none.
    """
    fence = FENCES.get(kind)
    if fence is None or not fence.readings:
        raise ProofError(f"the run cannot verify a fence of kind {kind!r}", problem="unknown-kind")
    reading = fence.read_back(target, answers)
    if len(answers) < fence.readings:
        raise ProofError(
            f"the run read the state of the fence {len(answers)} times, but a proof of the fence needs "
            f"{fence.readings} readings",
            problem="other-state",
        )
    return FenceProof(kind, target.host, target.operation_id, reading.read, at, reading.source, dict(reading.clusters))


def kept(plain: t.Mapping[str, t.Any]) -> FenceProof:
    """Return a proof that this very run made and has kept since. That of an earlier run counts as none.

    Raises :class:`ProofError` for what is none.
    """
    names = {field.name for field in dataclasses.fields(FenceProof)}
    if set(plain) != names:
        raise ProofError(f"a proof must have the fields {', '.join(sorted(names))}")
    clusters = {str(fsid): [str(entry) for entry in found] for fsid, found in plain["clusters"].items()}
    words = {name: str(plain[name]) for name in names - {"clusters"}}
    return FenceProof(clusters=clusters, **words)


# --- is it good? ----------------------------------------------------------------------------------------------


def age(proof: FenceProof, now: str) -> t.Optional[float]:
    """Return how old a proof is, in seconds; None where a time cannot be understood."""
    return seconds_between(proof.at, now)


def seconds_between(then: t.Optional[str], now: str) -> t.Optional[float]:
    """Return the seconds from one time to another; None where a time is not known or cannot be understood."""
    read, current = moment(then or ""), moment(now)
    return None if read is None or current is None else (current - read).total_seconds()


def refusal(
    fence: t.Optional[Fence], host: str, operation_id: str, kind: t.Optional[str], now: str, max_age: float
) -> t.Optional[str]:
    """Say why a fence does not prove the host fenced for this operation, just now; None: it does.

    ``kind``: the fence that was requested. An attestation is good for the host that it names.
    """
    if fence is None:
        return "the host is not fenced"
    if kind is not None and fence.kind != kind:
        return f"the proof is for a fence of kind {fence.kind}, but this run requests {kind}"
    if fence.host != host:
        return f"the proof is for a fence of another host: {fence.host}"
    if isinstance(fence, Attestation):
        return None
    if fence.operation_id != operation_id:
        return f"the proof belongs to another operation: {fence.operation_id}"
    seconds = age(fence, now)
    if seconds is None or seconds < -SKEW:
        return f"the time of the proof ({fence.at}) is invalid, or later than the current time ({now})"
    if seconds > max_age:
        return f"the proof is {int(seconds)} s old, but the limit is {int(max_age)} s"
    return None


def moment(text: str) -> t.Optional[datetime.datetime]:
    """Return an ISO 8601 time with its zone; None for anything else."""
    try:
        parsed = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else None
