# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Directories that moves left in instances_path, of servers that Nova has elsewhere or on no host. SG713. Pure.

What they do later (nova/virt/libvirt/driver.py, nova/compute/manager.py, 27 to 34):

* C(pre_live_migration): a live migration to the host fails (DestinationDiskExists), whatever is in the directory.
* C(rebuild_instance): where images are files, a directory is taken for shared storage (C(instance_on_disk)), and an
  evacuation to the host starts the guest from the old disk in it. An unshelve does so, too (C(imagebackend.cache)).
* C(migrate_disk_and_power_off): the next resize from the host deletes C(UUID_resize).

A directory on a file system that other hosts may have mounted is the server's own. That of a deleted server stops
nothing, since no uuid is used again.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import HostFacts, InstanceRow
from ..model.findings import BLOCKER, WARNING, Subject, Unchecked, finding
from ..model.host_facts import LeftDirectory
from ..model.lookups import FINISHED, Index, Items, host_subject, in_progress, same_name
from ..model.names import conf_host

#: Directories that a finding names.
SHOWN = 10
RESIZE = "_resize"


@dataclasses.dataclass(frozen=True)
class Left:
    """A directory that nothing needs here. ``row``: its server. ``aside``: whether it may be moved aside.

    While its server has a task, something may come to it that no migration tells of: the end of a revert, an unshelve.
    """

    directory: LeftDirectory
    row: InstanceRow
    aside: bool

    @property
    def state(self) -> str:
        """Which remedy it has."""
        if self.aside:
            return "directory"
        if self.row.task_state is not None:
            return "directory-of-busy-server"
        return "directory-of-resize" if self.directory.name.endswith(RESIZE) else "directory-with-files"


def left_on(index: Index, facts: HostFacts) -> t.Optional[t.List[Left]]:
    """Return what is left on a host; None: what decides was not read.

    The rows of the servers must be among what was read: a server without a row is taken for a deleted one.
    """
    host, place = conf_host(facts), facts.instances_path
    if place is None or host is None or not index.cells_read("instances") or not index.migrations_read:
        return None
    found = (_left(index, facts, host, directory) for directory in place.left) if place.local else ()
    return [item for item in found if item is not None]


def _left(index: Index, facts: HostFacts, host: str, directory: LeftDirectory) -> t.Optional[Left]:
    rows = [row for _cell, row in index.instance_rows_by_uuid.get(directory.uuid, []) if not row.deleted]
    waits = [row for row in index.migrations_by_instance.get(directory.uuid, []) if row.status == FINISHED]
    moves = any(in_progress(row) for row in index.migrations_by_instance.get(directory.uuid, []))
    # Until it is confirmed, U_resize is the only copy; while anything moves, a directory may be arriving.
    if not rows or waits or moves:
        return None
    here = any(same_name(row.host, host) for row in rows)
    of_resize = directory.name.endswith(RESIZE)
    if here and not of_resize:
        return None
    domain = any(entry.uuid == directory.uuid for entry in facts.domains or [])
    row = next((entry for entry in rows if entry.task_state is not None), rows[0])
    return Left(directory, row, not (here or domain or directory.keeps or row.task_state is not None))


def check(index: Index, facts: HostFacts) -> Items:
    """SG713, one for each kind of leftover on a host."""
    found = left_on(index, facts)
    if found is None:
        why = next((entry.reason for entry in facts.unread if entry.part == "instances_path"), None)
        yield Unchecked("SG713", facts.inventory_name, why or "instances_path, the instances or the migrations")
        return
    for state in sorted({item.state for item in found}):
        items = [item for item in found if item.state == state]
        evidence = {"directories": [_shown(item) for item in items[:SHOWN]], "number": len(items)}
        remedy = remedy_text("SG713", state, host=conf_host(facts), path=_path(facts))
        yield finding("SG713", host_subject(facts), evidence, remedy, WARNING)


def stay(facts: HostFacts, found: t.Sequence[Left]) -> Items:
    """SG713 of each that cannot be moved aside: the host is not clear while it stops a later move."""
    for item in found:
        if not item.aside:
            subject = Subject("instance", item.row.uuid, item.row.display_name, conf_host(facts))
            remedy = remedy_text("SG713", item.state, host=conf_host(facts), path=_path(facts))
            yield finding("SG713", subject, _shown(item), remedy, BLOCKER)


def _path(facts: HostFacts) -> str:
    return facts.instances_path.path if facts.instances_path else ""


def _shown(item: Left) -> t.Dict[str, t.Any]:
    return {"directory": item.directory.name, "Nova's host": item.row.host, "files": item.directory.keeps}
