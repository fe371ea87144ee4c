# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guard snapshots of an evacuation: which images need one, who makes it, and when it is removed."""

from __future__ import annotations

import typing as t

from ..engine import needs
from ..model import task_results
from ..model.codes.catalogue import remedy_text
from ..model.findings import Finding, Subject, finding
from ..records import journal as journals
from . import record as records
from . import round as rounds
from .call import Json
from .fences.fencing import FencedEvacuation
from .readers import Home
from .record import PlannedServer


class GuardedEvacuation(FencedEvacuation):
    """An evacuation that knows which servers' disks are protected."""

    def _to_be_guarded(self) -> t.List[PlannedServer]:
        staying = set(self.scratch.staying)
        return [entry for entry in records.servers_of(self.open_journal.journal) if entry.uuid in staying]

    def _homes(self, servers: t.Iterable[PlannedServer]) -> t.List[Json]:
        """Return images by cluster and pool, with the host that works there. Without one: left out, and not guarded."""
        found: t.Dict[Home, t.Dict[str, str]] = {}
        for entry in servers:
            for name, image in entry.images.items():
                found.setdefault((image.fsid, image.pool), {})[name] = image.id
        return [
            {"fsid": home[0], "pool": home[1], "reader": self._reader(home), "images": images}
            for home, images in sorted(found.items())
            if self._reader(home) is not None
        ]

    def _out_of_reach(self, uuids: t.Container[str]) -> str:
        """Return a sentence that names the clusters and pools of these servers that no host reaches; empty: none."""
        servers = [entry for entry in records.servers_of(self.open_journal.journal) if entry.uuid in uuids]
        homes = {home for entry in servers for home in entry.homes.values() if self._reader(home) is None}
        places = [f"pool {pool} of Ceph cluster {fsid}" for fsid, pool in sorted(homes)]
        if not places:
            return ""
        return f" The run found no host that reaches {', '.join(places)}. First make such a host available."

    def _verified_guards(self, kind: str) -> t.Set[str]:
        """Return the images that the host which made their guard read back with id and snapshot, in the right pool."""
        found = set()
        for answer in needs.answers_of(self.answers, kind):
            for home in answer.get("homes") or []:
                result = home.get("result")
                if not task_results.ended_well(result):
                    continue
                if (result.get("fsid"), result.get("pool")) != (home.get("fsid"), home.get("pool")):
                    continue
                wanted = dict(home.get("images") or {})
                for image in result.get("images") or []:
                    if image.get("guarded") and wanted.get(str(image.get("image"))) == image.get("id"):
                        found.add(str(image["image"]))
        return found

    def _through_others(self, kind: str) -> t.List[Json]:
        """Return the pools in which a host failed and that another host reaches: it is asked next."""
        found = []
        for answer in needs.answers_of(self.answers, kind):
            for home in answer.get("homes") or []:
                if task_results.ended_well(home.get("result")):
                    continue
                self.scratch.bad.append(str(home.get("reader")))
                other = self._reader((str(home["fsid"]), str(home["pool"])))
                if other is not None and other not in self.scratch.bad:
                    found.append({**{key: home[key] for key in ("fsid", "pool", "images")}, "reader": other})
                else:
                    self._warn(records.home_failed(home))
        return found

    def _guard_problems(self, lacking: t.Sequence[PlannedServer]) -> t.List[Finding]:
        return [
            finding(
                "SG504",
                Subject("instance", entry.uuid, entry.name, self.host),
                {
                    "images": sorted(entry.images),
                    "guard": "the run could not verify that each image has a guard snapshot",
                    "said": self.scratch.warned[-3:],
                },
                remedy_text("SG504", "guard-unverified"),
            )
            for entry in lacking
        ]

    # --- they are removed

    def _finished_guards(self, result: rounds.Round) -> t.List[PlannedServer]:
        """Return servers whose guard is not needed any more: verified elsewhere, or deleted by their owners."""
        arrived = {entry.uuid for entry in result.arrived if entry.state != rounds.WRONG}
        guarded = records.guarded(self.open_journal.journal)
        return [entry for entry in records.servers_of(self.open_journal.journal) if entry.uuid in arrived & guarded]

    def _maybe_in_transit(self) -> t.Set[str]:
        """Return servers at which Nova may still be. Where that was not read after a resume: all that were sent."""
        memory = self.open_journal.memory
        noted = {str(entry["uuid"]) for entry in journals.in_transit(self.open_journal.journal)}
        stuck = {uuid for uuid, hosts in records.tried(self.open_journal.journal).items() if rounds.STUCK in hosts}
        arrived = set(memory.get("arrived") or [])
        if self.scratch.resumed and not self.scratch.rounds:
            noted |= records.sent(self.open_journal.journal)
        return (noted | stuck) - arrived

    def _unguarded(self) -> None:
        """Take what the removal of guards answered, and note who has none any more."""
        answered = needs.answers_of(self.answers, needs.UNGUARD)
        if not answered:
            return
        free: t.Set[str] = set()
        asked: t.Set[str] = set()
        kept: t.Set[str] = set()
        for answer in answered:
            for home in answer.get("homes") or []:
                names = set(home.get("images") or {})
                asked |= names
                without = records.without_guard(home)
                free |= without
                kept |= names - without
        free -= kept
        done = {
            entry.uuid
            for entry in records.servers_of(self.open_journal.journal)
            if entry.images and set(entry.images) & asked and set(entry.images) <= free
        }
        self.scratch.free = sorted({*self.scratch.free, *done})
        self.open_journal.remember(guarded=sorted(records.guarded(self.open_journal.journal) - done))
