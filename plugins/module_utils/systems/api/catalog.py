# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""keystone's catalogue: which cloud a connection leads to."""

from __future__ import annotations

import typing as t

from ...model.errors import ApiError

try:
    from keystoneauth1 import exceptions as auth_exceptions
    from openstack import exceptions as sdk_exceptions
except ImportError:
    # Without openstacksdk there is no connection to ask: :func:`connection.connect` says so.
    pass

COMPUTE = "compute"


def cloud_id(connection: t.Any) -> t.Optional[str]:
    """Return what tells one Nova from every other: the random id of its service in keystone, and the region.

    The interface (public, internal, admin) makes no difference. None: the catalogue has no ids, or there is none.
    Raises :class:`ApiError`. Source: keystone's API v3, the catalogue of a token.
    """
    try:
        entries = [entry for entry in connection.service_catalog if entry.get("type") == COMPUTE]
        chosen = connection.config.get_region_name(COMPUTE) if entries else None
    except (sdk_exceptions.SDKException, auth_exceptions.ClientException) as error:
        raise ApiError(f"keystone: {error}") from None
    ids = sorted(str(entry["id"]) for entry in entries if entry.get("id"))
    if not ids:
        return None
    ends = [end for entry in entries for end in entry.get("endpoints") or ()]
    regions = {str(end.get("region_id") or end.get("region")) for end in ends}
    region = chosen or (regions.pop() if len(regions) == 1 else "the default region")
    return f"{'+'.join(ids)} in {region}"
