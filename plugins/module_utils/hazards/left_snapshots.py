# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The snapshot that a resize leaves on a disk in Ceph when its confirmation fails. SG713. Pure.

The next resize or cold migration makes a snapshot of the same name and fails in the middle, with the server in ERROR
(nova/virt/libvirt/driver.py, 27 to 34: _create_and_inject_local_root, C(create_snap)). A revert rolls the disk back to
the old one (finish_revert_migration, C(rollback_to_snap)).
"""

from __future__ import annotations

import typing as t

from ..capacity.measured import by_nova_name
from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiMigration, ApiServer, Bundle
from ..model.findings import BLOCKER, WARNING, Subject, Unchecked, finding
from ..model.lookups import Index, Items
from . import storage

#: nova/virt/libvirt/utils.py, RESIZE_SNAPSHOT_NAME.
RESIZE_SNAPSHOT = "nova-resize"


def check(index: Index) -> Items:
    """SG713 of each disk with a resize's snapshot whose server no migration needs it for."""
    for name, places in sorted(storage.seen(index.bundle).items()):
        for entry in places:
            if RESIZE_SNAPSHOT not in {snapshot.name for snapshot in entry.image.snapshots or []}:
                continue
            uuid = name.partition("_")[0]
            if not index.migrations_read:
                yield Unchecked("SG713", f"{entry.pool}/{name}", "the migrations were not read")
            elif not index.migrations_by_instance.get(uuid):
                place = f"{entry.pool}/{name}@{RESIZE_SNAPSHOT}"
                remedy = remedy_text("SG713", "resize-snapshot", uuid=uuid, snapshot=place)
                evidence = {"snapshot": place, "server": uuid}
                yield finding("SG713", Subject("image", f"{entry.pool}/{name}"), evidence, remedy, WARNING)


def by_record(bundle: t.Optional[Bundle], server: ApiServer, failed: t.Optional[ApiMigration]) -> Items:
    """SG713 of a server that is to move cold, where its last cold move failed on its destination.

    The destination makes the snapshot before it starts the guest. Neither confirmed nor reverted, it stays there, and
    the record does, too: only Ceph tells, which a move does not read.
    """
    if failed is None or server.image == "":
        return
    facts = by_nova_name(bundle).get(str(server.host)) if bundle is not None else None
    conf = facts.nova_conf if facts is not None else None
    if conf is not None and conf.images_type != "rbd":
        return
    image = f"{(conf.images_rbd_pool if conf else None) or 'POOL'}/{server.id}_disk"
    named = {"image": image, "snapshot": RESIZE_SNAPSHOT, "uuid": server.id}
    remedy = remedy_text("SG713", "resize-may-have-left-snapshot", **named)
    evidence = {"migration": failed.uuid or failed.id, "status": failed.status, "from": failed.source_compute}
    yield finding("SG713", Subject("instance", server.id, server.name, server.host), evidence, remedy, BLOCKER)
