# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Volumes of a cloud, for tests: what Cinder says of them."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts

BACKEND = "controller@ceph"


def attachment(number, volume, server, host="compute1", status="attached", driver="rbd"):
    """Return an attachment. Without a host it is not connected."""
    return facts.VolumeAttachment(f"a{number}", volume, server, status, host, driver if host else None)


def volume(uuid, *attachments, status="in-use", protocol="ceph", **changes):
    """Return a volume in Ceph, with these attachments."""
    known = {"zone": "az1", "backend": f"{BACKEND}#pool", "multiattach": False, "encrypted": False, **changes}
    return facts.Volume(id=uuid, status=status, protocol=protocol, attachments=list(attachments), **known)


def service(host=BACKEND, state="up", cluster=None):
    """Return a cinder-volume."""
    return facts.VolumeService(host, "az1", state, "enabled", cluster)


UP = (service(),)


def cinder(*volumes, whole=True, services=UP, **changes):
    """Return what one reading of Cinder found."""
    known = {"computes": [f"compute{number}" for number in range(1, 4)], **changes}
    return facts.BlockStorage(whole, list(volumes), None if services is None else list(services), **known)
