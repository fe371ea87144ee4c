# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a fence is: what it covers, what it cannot do without, how it is read back. Pure.

Each kind of fence is one file of this folder with one entry, and :mod:`catalogue` lists them all. Checks, plan, needs,
argument specification and the documentation take from the entries what they need to know of a fence.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..problems import ProblemError

Json = t.Dict[str, t.Any]
Answers = t.Sequence[t.Mapping[str, t.Any]]

#: What a proof covers: the machine with every disk, or clients of the Ceph clusters at the addresses that were read.
MACHINE, ADDRESSES = "machine", "addresses"


class ProofError(ProblemError, ValueError):
    """What was read back proves nothing: why."""


@dataclasses.dataclass(frozen=True)
class FenceTarget:
    """What is fenced, and how. ``clusters``: each with C(fsid) and C(addresses), for a fence of addresses."""

    host: str
    operation_id: str
    options: Json
    clusters: t.Tuple[Json, ...] = ()

    @property
    def wanted(self) -> t.Dict[str, t.List[str]]:
        """Ceph fsid to addresses."""
        return {str(entry["fsid"]): list(entry["addresses"]) for entry in self.clusters}


@dataclasses.dataclass(frozen=True)
class Reading:
    """What was read of a fence that holds. Only :meth:`FenceKind.read_back` makes one: lint refuses any other place.

    ``clusters``: of a fence of addresses, Ceph fsid to the addresses that were read there.
    """

    #: What was read, for people.
    read: str
    #: Inventory hosts on which it was read.
    source: str
    clusters: t.Dict[str, t.List[str]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FenceText:
    """What docs/reference/fences.md says of a kind of fence: a cell of its table each."""

    proof: str
    covers: str
    use: str


class FenceKind:
    """One kind of fence. The role has C(tasks/fence_NAME.yml), which acts and reads, and answers what it registered."""

    name: t.ClassVar[str]
    text: t.ClassVar[FenceText]
    #: :data:`MACHINE` or :data:`ADDRESSES`.
    covers: t.ClassVar[str]
    #: How often it is read back, some seconds apart. 0: never, so nothing proves it.
    readings: t.ClassVar[int] = 1
    #: Whether the machine is without power once it is proven: if it answers later, somebody switched it on again.
    powers_off: t.ClassVar[bool] = False
    #: Variables of the role, without C(evacuate_), that it cannot do without.
    requires: t.ClassVar[t.Tuple[str, ...]] = ()

    def read_back(self, target: FenceTarget, answers: Answers) -> Reading:
        """Return what the answers say of a fence that holds. Raises :class:`ProofError` where they prove nothing."""
        raise ProofError(f"{self.name!r} cannot be read back")


def source_of(answers: Answers) -> str:
    """Return the inventory hosts on which it was read."""
    return ", ".join(sorted({str(answer.get("on") or "localhost") for answer in answers}))
