# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Nova release is this? From schema revisions, service versions and microversions. Pure.

None of these signs tells every release: each function answers with all releases that bear the sign, and ``None``
for a sign that this collection does not know (a newer Nova: read only, SG705). Read from Nova's source:
C(nova/db/{main,api}/migrations/versions), C(nova/objects/service.py) (C(SERVICE_VERSION)) and
C(nova/api/openstack/api_version_request.py) (C(_MAX_API_VERSION)) of 26.2.2, 27.0.0, 27.5.1, 28.3.0, 29.0.1, 29.4.0,
30.2.0, 31.2.0, 32.1.0, 33.0.2 and 34.0.0.
"""

from __future__ import annotations

import typing as t

Releases = t.Tuple[int, ...]

#: Releases this collection was written against: 26 (Zed) to 34 (2026.2).
KNOWN: Releases = tuple(range(26, 35))
#: A rename in place needs the compute_id file: 27 and newer.
RENAME_IN_PLACE: Releases = tuple(range(27, 35))

#: Head of the main (cell) database's migrations.
MAIN_REVISIONS: t.Dict[str, Releases] = {
    "ccb0fa1a2252": (26,),
    "960aac0e09ea": (27,),
    "1acf2c98e646": (28,),
    "13863f4e1612": (29, 30),
    "2903cd72dc14": (31, 32, 33),
    "ab450ba04102": (34,),
}

#: Head of the API database's migrations.
API_REVISIONS: t.Dict[str, Releases] = {
    "b30f573d3377": (26, 27),
    "cdeec0c85668": (28, 29, 30, 31, 32, 33, 34),
}

#: C(services.version) of nova-compute.
SERVICE_VERSIONS: t.Dict[int, Releases] = {
    64: (26,),
    66: (27, 28),
    67: (29, 30),
    68: (31,),
    70: (32,),
    72: (33,),
    74: (34,),
}

#: Highest compute microversion offered.
MICROVERSIONS: t.Dict[str, Releases] = {
    "2.93": (26,),
    "2.95": (27, 28),
    "2.96": (29, 30),
    "2.100": (31, 32),
    "2.103": (33,),
    "2.104": (34,),
}


def of_main_revision(revision: t.Optional[str]) -> t.Optional[Releases]:
    """Return the releases whose cell database has this alembic head; None: unknown."""
    return MAIN_REVISIONS.get(revision or "")


def of_api_revision(revision: t.Optional[str]) -> t.Optional[Releases]:
    """Return the releases whose API database has this alembic head; None: unknown."""
    return API_REVISIONS.get(revision or "")


def of_service_version(version: t.Optional[int]) -> t.Optional[Releases]:
    """Return the releases whose nova-compute writes this C(services.version); None: unknown."""
    return SERVICE_VERSIONS.get(-1 if version is None else version)


def of_microversion(microversion: t.Optional[str]) -> t.Optional[Releases]:
    """Return the releases whose API offers this as its highest microversion; None: unknown."""
    return MICROVERSIONS.get(microversion or "")


def of_package(version: t.Optional[str]) -> t.Optional[int]:
    """Return the release of a nova package version such as ``34.0.0`` or ``3:26.2.2-1~deb12u3``; None: unknown."""
    major = (version or "").rpartition(":")[2].partition(".")[0]
    return int(major) if major.isdigit() and int(major) in KNOWN else None


def microversion_tuple(microversion: str) -> t.Tuple[int, int]:
    """Return ``(2, 104)`` for ``2.104``: microversions compare as numbers. Raises ValueError."""
    major, _dot, minor = microversion.partition(".")
    return int(major), int(minor)


def lower_microversion(one: str, other: str) -> str:
    """Return the lower of two microversions."""
    return min(one, other, key=microversion_tuple)
