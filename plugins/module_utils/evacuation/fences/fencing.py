# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fence of a dead host: it acts, it is read back, its proof is kept, and an abort lifts it."""

from __future__ import annotations

import dataclasses
import typing as t

from ...engine import needs
from ...engine.lifecycle import Stopped
from ...model import blocklists, fence_proof, task_results
from ...model.codes.catalogue import remedy_text
from ...model.facts import to_plain
from ...model.fence_proof import Attestation, FenceProof
from ...model.fences import attested, blocklist
from ...model.fences.catalogue import of_addresses
from ...model.fences.fence import FenceTarget, ProofError
from ...model.findings import Checked, Subject, finding
from ...model.lookups import OURS
from ...model.requests import EvacuationRequest
from ...records import journal as journals
from ...systems.api import compute_services
from .. import preflight as checks
from .. import record as records
from ..call import Answers, EvacuationCall, Json
from . import calls as fences

FENCE, HOLD = "fence", "hold_down"


class FencedEvacuation(EvacuationCall):
    """An evacuation that knows whether its host is fenced."""

    # --- the fence acts

    def _fence_needs(self, act: bool, extra: bool = True) -> t.List[Json]:
        """Return what the fence needs; the extra line of defence, too."""
        kind = str(self.options["fence"])
        try:
            found = fences.needs_of(kind, self._target(), act)
        except ProofError as error:
            raise self._not_fenced(str(error)) from error
        if extra and act and self.options["also_blocklist"] and not of_addresses(kind):
            clusters = self._clusters()
            if clusters:
                found = [*found, needs.fence(blocklist.FENCE.name, True, clusters, extra=True)]
            else:
                self._warn(
                    "the run knows no Ceph client address of the host, so the run adds no entry to the OSD blocklist"
                )
        return found

    def _target(self) -> FenceTarget:
        clusters = tuple(self._clusters()) if of_addresses(self.options["fence"]) else ()
        return FenceTarget(self.host, self.scratch.operation_id, self.options, clusters)

    def _clusters(self) -> t.List[Json]:
        """Return each cluster with the addresses that it is to refuse. Raises Stopped where no host reaches one."""
        found = []
        for fsid, addresses in sorted(records.addresses_of(self.open_journal.journal).items()):
            homes = [home for home in self._readers() if home[0] == fsid]
            reader = next((self._reader(home) for home in homes if self._reader(home)), None)
            if reader is None:
                raise self._not_fenced(
                    f"no host reaches Ceph cluster {fsid}: set stackguard_ceph_host to a host that reaches this cluster"
                )
            pool = next(home[1] for home in homes if self._reader(home) == reader)
            found.append(
                {
                    "fsid": fsid,
                    "pool": pool,
                    "reader": reader,
                    "addresses": sorted(addresses),
                    "infrastructure": sorted(self.options["ceph_infrastructure"]),
                    "never": self._never(),
                    "host_addresses": records.of_host(addresses),
                }
            )
        return found

    def _never(self) -> t.List[str]:
        """Return addresses that are never the dead host's. They say nothing of the cluster's own daemons."""
        return sorted({*self.options["never_blocklist"], *self.controllers})

    def _note_listed(self) -> None:
        if not of_addresses(self.options["fence"]) and not self.options["also_blocklist"]:
            return
        noted = records.blocklisted(self.open_journal.journal)
        asked = {str(cluster["fsid"]): list(cluster["addresses"]) for cluster in self._clusters()}
        before = {
            fsid: [address for address in found if self._is_listed(fsid, address)]
            for fsid, found in records.without(asked, noted).items()
        }
        kept = records.together([self.open_journal.about.get("listed_before") or {}, before])
        listed = records.together([noted, asked])
        self.open_journal.tell(blocklisted={fsid: found for fsid, found in listed.items() if fsid}, listed_before=kept)

    def _is_listed(self, fsid: str, address: str) -> bool:
        """Whether a blocklist that was read had an address before this operation listed it."""
        read = [host.rbd for host in self._bundle().hosts.values() if host.rbd is not None and host.rbd.fsid == fsid]
        return any(blocklists.covers(entry, address) for rbd in read for entry in rbd.blocklist or [])

    def _extra_fence(self) -> None:
        extra = [answer for answer in needs.answers_of(self.answers, needs.FENCE) if answer.get("extra")]
        if not extra:
            return
        try:
            target = FenceTarget(self.host, self.scratch.operation_id, self.options, tuple(self._clusters()))
            fence_proof.prove(blocklist.FENCE.name, target, extra, _read_at(extra))
        except ProofError as error:
            self._warn(f"the run could not add or verify the additional OSD blocklist entries: {error}")

    def _hold(self) -> None:
        """Force the compute service down and disable it with our reason, in one request."""
        reason = checks.reason_of(self.scratch.operation_id)
        closed = {checks.reason_of(str(entry["operation_id"])) for entry in self._closed()}
        if self.open_journal.state_of(HOLD) != journals.DONE:
            self.open_journal.mark(HOLD, journals.APPLYING)
        service = compute_services.find_service(self.connection, self.host)
        held = (service.disabled_reason if service else None) or ""
        if held.startswith(OURS) and held != reason and held not in closed:
            raise Stopped(f"SG707 lock-held: another operation has locked {self.host}: {held}")
        if service is not None and held != reason and "service" not in self.open_journal.about:
            before = {"status": service.status, "reason": service.disabled_reason, "forced_down": service.forced_down}
            self.open_journal.tell(service=before)
        compute_services.hold_down(self.connection, self.host, reason)
        if self.open_journal.state_of(HOLD) != journals.DONE:
            self.open_journal.mark(HOLD, journals.DONE)

    def _look_again(self, wait: float = 0.0) -> t.List[Json]:
        """Return what is needed before anything is judged again: the proof, and what hosts say now."""
        self.scratch.proven = False
        first = [needs.wait(wait)] if wait else []
        if self.options["fence"] == attested.FENCE.name:
            return [*first, self._reading()]
        proofs = [need for need in self._fence_needs(act=False, extra=False) if need["kind"] == needs.FENCE]
        # Hosts are read between two readings of the power state; the last reading is the last of all.
        return [*first, *proofs[:-1], self._reading(), proofs[-1]]

    # --- its proof

    def _proven(self) -> fence_proof.Fence:
        """Make the proof from the answers; an attestation from the override. Raises Stopped where there is none."""
        kind = str(self.options["fence"])
        if kind == attested.FENCE.name:
            return self._attestation()
        read = [answer for answer in needs.answers_of(self.answers, needs.FENCE) if not answer.get("extra")]
        if not read and self.scratch.proven and self.scratch.proof is not None:
            # Hosts were read once more since; how old the proof is decides where something is sent.
            return fence_proof.kept(self.scratch.proof)
        try:
            if not read:
                raise ProofError("the run did not verify the fence")
            proof = fence_proof.prove(kind, self._target(), read, _read_at(read))
        except ProofError as error:
            raise self._not_fenced(str(error)) from error
        self.scratch.proof, self.scratch.proven = t.cast("Json", to_plain(proof)), True
        return proof

    def _proven_if_read(self) -> None:
        if needs.answers_of(self.answers, needs.FENCE):
            self._proven()

    def _attestation(self) -> Attestation:
        words = [
            entry.reason
            for entry in self.run.overrides
            if entry.code == "SG506" and entry.object.casefold() == self.host.casefold()
        ]
        try:
            return Attestation(self.host, str(self.options["attested_by"] or ""), words[0] if words else "")
        except ProofError as error:
            raise self._not_fenced(
                f"{error}: evacuate_fence=attested needs {self.run.variable('attested_by')} and an entry in "
                "stackguard_overrides. Add this entry, and replace REASON with how you know that the host is dead: "
                f"{{code: SG506, object: {self.host}, reason: REASON}}"
            ) from error

    def _stored_fence(self) -> t.Optional[fence_proof.Fence]:
        """Return the proof of this very run; of an earlier run it counts as none."""
        if self.options["fence"] == attested.FENCE.name:
            return self._attestation()
        return None if self.scratch.proof is None else fence_proof.kept(self.scratch.proof)

    def _not_fenced(self, why: str) -> Stopped:
        evidence_ = {"fence": self.options["fence"], "read": why}
        action = self.run.variable("action")
        remedy = remedy_text("SG506", "fence-failed", fence=self.run.variable("fence"), action=action)
        if self.scratch.none_left:
            remedy = remedy_text("SG506", "fence-needless", action=action, host=self.host)
        elif not self.scratch.act:
            remedy = remedy_text("SG506", "fence-lost", refence=self.run.variable("refence"), action=action)
        item = finding("SG506", Subject("host", self.host), evidence_, remedy)
        return Stopped(f"{self.host} is not fenced: {why}", Checked((item,)))

    def _maybe_on(self) -> t.Optional[str]:
        """Return why the fence does not prove, at this moment, that the machine is off; None: it does."""
        fence, kind, now = self._stored_fence(), str(self.options["fence"]), self.run.clock.now()
        age = float(self.options["proof_max_age"])
        why = fence_proof.refusal(fence, self.host, self.scratch.operation_id, kind, now, age)
        if why is None and not (isinstance(fence, FenceProof) and fence.powered_off):
            why = f"the fence {kind} does not prove that the machine is off"
        return why

    def _round_request(self) -> EvacuationRequest:
        base = self._request(self.scratch.operation_id, None, self._stored_fence())
        order = tuple(self.open_journal.about.get("order") or ())
        return dataclasses.replace(base, servers=None, order=order)

    # --- it is lifted

    def _listed_clusters(self) -> t.List[Json]:
        """Return the clusters with addresses that this operation has listed. Raises Stopped where one is not read."""
        found = []
        listed = self._to_lift()
        homes = self._readers()
        for fsid, addresses in sorted(listed.items()):
            home = next((entry for entry in sorted(homes) if entry[0] == fsid), None)
            if home is None:
                raise Stopped(
                    f"no host reaches Ceph cluster {fsid}, so the run cannot remove these entries from the OSD "
                    f"blocklist of this cluster: {', '.join(addresses)}"
                )
            found.append({"fsid": fsid, "pool": home[1], "reader": self._reader(home), "addresses": list(addresses)})
        return found

    def _to_lift(self) -> t.Dict[str, t.List[str]]:
        """Return what this operation alone has listed: not what was there before, nor what an earlier one needs."""
        return records.without(
            records.blocklisted(self.open_journal.journal), self.open_journal.about.get("kept_listed") or {}
        )

    def _lifted(self) -> None:
        for answer in needs.answers_of(self.answers, needs.LIFT):
            for cluster in answer.get("clusters") or []:
                result = cluster.get("result")
                if not task_results.ended_well(result) or result.get("fsid") != cluster.get("fsid"):
                    raise Stopped(
                        f"the blocklist entries in Ceph cluster {cluster.get('fsid')} were not removed: "
                        f"{task_results.why(result)}"
                    )
                lifted = {str(cluster["fsid"]): cluster.get("addresses") or []}
                listed = records.without(records.blocklisted(self.open_journal.journal), lifted)
                self.open_journal.tell(blocklisted=listed)
        if needs.answers_of(self.answers, needs.LIFT):
            self.open_journal.mark(FENCE, journals.UNDONE)

    def _release(self) -> None:
        """Give the service back what it had before, if it is still ours."""
        self.open_journal.mark(HOLD, journals.UNDOING)
        service = compute_services.find_service(self.connection, self.host)
        if service is not None and service.disabled_reason == checks.reason_of(self.scratch.operation_id):
            before = self.open_journal.about.get("service") or {
                "status": "enabled",
                "reason": None,
                "forced_down": False,
            }
            compute_services.give_back(self.connection, self.host, before)
        self.open_journal.mark(HOLD, journals.UNDONE)


def _read_at(answers: Answers) -> str:
    """Return when the fence was read back last, as the role noted it before the reading. Raises ProofError."""
    at = str(answers[-1].get("at") or "")
    if fence_proof.moment(at) is None:
        raise ProofError("the run did not record the time at which it read back the state of the fence")
    return at
