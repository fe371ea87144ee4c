# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ways to fence a dead host: what each needs, and what of its answer is proof. One class for each kind.

A class asks the role to act and to read back, or only to read back, and makes the proof from what was read. What was
not read, or read twice with different answers, is no proof. :data:`FENCES` has them all.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import fence_proof
from ansible_collections.stackguard.nova.plugins.module_utils.model.fence_proof import FenceProof, ProofError
from ansible_collections.stackguard.nova.plugins.module_utils.operations import needs

try:
    import jmespath
except ImportError:
    JMESPATH = False
else:
    JMESPATH = True

Json = t.Dict[str, t.Any]

#: Keys under which modules give a machine's power state (Redfish: PowerState; others: power_state).
_STATE_KEY = re.compile(r"power_?state", re.IGNORECASE)
#: Seconds between two readings.
BETWEEN = 5.0
#: What a machine that is off says, unless the operator says otherwise.
OFF = "[Oo]ff|OFF"


@dataclasses.dataclass(frozen=True)
class FenceTarget:
    """What is fenced, and how. ``clusters``: see :func:`needs.fence`."""

    host: str
    operation_id: str
    options: Json
    clusters: t.Tuple[Json, ...] = ()

    @property
    def wanted(self) -> t.Dict[str, t.List[str]]:
        """Ceph fsid to addresses."""
        return {str(entry["fsid"]): list(entry["addresses"]) for entry in self.clusters}


@dataclasses.dataclass(frozen=True)
class FenceText:
    """What docs/guides/evacuate.md says of a kind of fence: a cell of its table each."""

    proof: str
    covers: str
    use: str


class FenceKind(t.Protocol):
    """One kind of fence."""

    name: str
    #: How it is described in the plan.
    title: str
    text: FenceText

    def need(self, target: FenceTarget, act: bool) -> t.List[Json]:
        """Return what the role is to do. ``act`` false: only read back."""

    def prove(self, target: FenceTarget, answers: t.Sequence[t.Mapping[str, t.Any]], at: str) -> FenceProof:
        """Return the proof that the answers make. Raises :class:`ProofError` where they make none."""


class Power:
    """The machine is switched off by a module of the operator's choice, and read as off twice."""

    name = fence_proof.POWER
    title = "switch the machine off and read its power state twice"
    text = FenceText(
        "your module reads the machine's power state as off, twice, some seconds apart",
        "the machine: every disk and every volume of any backend",
        "the BMC answers. The first choice",
    )

    def need(self, target: FenceTarget, act: bool) -> t.List[Json]:
        """Return two readings some seconds apart: a machine that is restarted is off for a moment."""
        return [needs.fence(self.name, act), needs.wait(BETWEEN), needs.fence(self.name, False)]

    def prove(self, target: FenceTarget, answers: t.Sequence[t.Mapping[str, t.Any]], at: str) -> FenceProof:
        """Return the proof of two readings as off."""
        states = []
        for answer in answers:
            read = answer.get("read")
            if not needs.ended_well(read):
                switched = answer.get("switched")
                first = "" if not switched or needs.ended_well(switched) else f"; switch off: {needs.why(switched)}"
                raise ProofError(f"{_unread(read, target.options)}{first}")
            states.append(power_state(t.cast("Json", read), target.options))
        off = re.compile(target.options.get("power_off") or OFF)
        known = {state for state in states if off.fullmatch(state)}
        return fence_proof.power_proof(target.host, target.operation_id, states, known, at, _source(answers))


def power_state(result: t.Mapping[str, t.Any], options: t.Mapping[str, t.Any]) -> str:
    """Return the power state in a module's result. Raises :class:`ProofError` unless exactly one resource matches."""
    query, pattern = options.get("power_state_query"), options.get("power_off")
    if query:
        if not JMESPATH:
            raise ProofError("the Python library jmespath is not installed where the playbook runs")
        try:
            found = jmespath.search(query, dict(result))
        except jmespath.exceptions.JMESPathError as error:
            raise ProofError(f"{query!r} is no JMESPath expression") from error
        states = [str(item) for item in (found if isinstance(found, list) else [found]) if item is not None]
    else:
        states = list(_states(result))
        if not states and pattern:
            # Of a command: the operator's own pattern says which line is this machine's.
            states = [match.group(0) for match in re.finditer(pattern, str(result.get("stdout", "")))]
    if len(states) != 1:
        raise ProofError(
            f"{len(states)} power states are in the answer, exactly one is needed: name this machine's with a "
            "JMESPath expression (power_state_query)"
        )
    return states[0]


def _unread(read: t.Optional[t.Mapping[str, t.Any]], options: t.Mapping[str, t.Any]) -> str:
    """Say why a reading is no proof. One that was repeated in vain fails without a message, and has a state."""
    if read and read.get("attempts") and not read.get("msg"):
        try:
            return f"the power state was read as {power_state(read, options)}, {read['attempts']} times"
        except ProofError as error:
            return f"the power state was not read: {error}"
    return f"the power state was not read: {needs.why(read)}"


def _states(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "invocation":
                continue
            if _STATE_KEY.fullmatch(str(key)) and isinstance(item, (str, bool, int)):
                yield str(item)
            else:
                yield from _states(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _states(item)


class Command:
    """The operator's command fences the host; another one succeeds only when the host is off."""

    name = fence_proof.COMMAND
    title = "run the fence command and its confirming command"
    text = FenceText(
        "your confirming command exits with 0",
        "the same. It proves what your command proves",
        "your own tool switches machines or ports off",
    )

    def need(self, target: FenceTarget, act: bool) -> t.List[Json]:
        """Return one need."""
        return [needs.fence(self.name, act)]

    def prove(self, target: FenceTarget, answers: t.Sequence[t.Mapping[str, t.Any]], at: str) -> FenceProof:
        """Return the proof of the confirming command's exit status."""
        for answer in answers:
            for name in ("commanded", "confirmed"):
                result = answer.get(name)
                if name == "commanded" and not answer.get("act"):
                    continue
                if not needs.ended_well(result):
                    raise ProofError(f"{'fence' if name == 'commanded' else 'confirming'} command: {needs.why(result)}")
        last = answers[-1].get("confirmed") if answers else None
        code = last.get("rc") if last else None
        command = str(target.options.get("fence_confirm_command") or "")
        return fence_proof.command_proof(target.host, target.operation_id, code, command, at, _source(answers))


class Blocklist:
    """Each Ceph cluster that has a disk of the host's servers refuses the host's addresses."""

    name = fence_proof.BLOCKLIST
    title = "put the host's addresses on the OSD blocklist of each of its Ceph clusters and read it back"
    text = FenceText(
        "each address is read back from the OSD blocklist of each Ceph cluster",
        "disks and volumes in these clusters, for clients at these addresses. Nothing else",
        "the machine cannot be reached at all, and all disks are in Ceph",
    )

    def need(self, target: FenceTarget, act: bool) -> t.List[Json]:
        """Return one need for all clusters. Raises :class:`ProofError` where there is nothing to list."""
        if not target.clusters or not all(entry["addresses"] for entry in target.clusters):
            raise ProofError("no address of the host is known: there is nothing to put on a blocklist")
        return [needs.fence(self.name, act, target.clusters)]

    def prove(self, target: FenceTarget, answers: t.Sequence[t.Mapping[str, t.Any]], at: str) -> FenceProof:
        """Return the proof of what was read on each cluster's list."""
        listed, readers = listings(answers)
        return fence_proof.blocklist_proof(
            target.host, target.operation_id, target.wanted, listed, at, ", ".join(sorted(readers)) or "-"
        )


def listings(answers: t.Sequence[t.Mapping[str, t.Any]]) -> t.Tuple[t.Dict[str, t.List[str]], t.Set[str]]:
    """Return what was read on blocklists, fsid to addresses, and by whom. Raises :class:`ProofError` for a failure.

    The fsid is the one that the host that read it saw, never the one that was asked for.
    """
    listed: t.Dict[str, t.List[str]] = {}
    readers = set()
    for answer in answers:
        for entry in answer.get("clusters") or []:
            result = entry.get("result")
            if not needs.ended_well(result):
                raise ProofError(f"cluster {entry.get('fsid')}, through {entry.get('reader')}: {needs.why(result)}")
            listed.setdefault(str(result.get("fsid")), []).extend(map(str, result.get("listed") or []))
            readers.add(str(entry.get("reader")))
    return listed, readers


def _source(answers: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    return ", ".join(sorted({str(answer.get("on") or "localhost") for answer in answers}))


#: A person's word: nothing acts, and nothing is read back.
ATTESTED = FenceText(
    "none. A named person states that the host is dead, with a reason",
    "what the person says",
    "the machine is in your hands: unplugged, burnt, scrapped",
)
FENCES: t.Dict[str, FenceKind] = {kind.name: kind for kind in (Power(), Command(), Blocklist())}
