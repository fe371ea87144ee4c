# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server of this collection's own, with which a host is tried: started on that very host, and deleted."""

from __future__ import annotations

import typing as t

from ...model.errors import ApiError
from . import http

try:
    from keystoneauth1 import exceptions as auth_exceptions
    from openstack import exceptions as sdk_exceptions
except ImportError:
    # Without them there is no connection, either.
    pass

#: The host is named, and the scheduler checks it (release 19).
NAMED_HOST = "2.74"
#: Seconds between two looks.
POLL = 2.0


class TrialServers:
    """Servers of one project. ``project``: its name or id; None: the project of the connection."""

    def __init__(self, connection: t.Any, project: t.Optional[str]) -> None:
        self.connection = connection
        self.own = connection
        if project:
            http.may_change(connection)
            self.own = connection.connect_as_project(project)

    def find(self, name: str) -> t.Optional[t.Dict[str, t.Any]]:
        """Return the server of this very name; None: there is none. Raises :class:`ApiError`."""
        rows = http.pages(self.own, http.COMPUTE, "/servers/detail", "servers", NAMED_HOST, {"name": f"^{name}$"})
        return next((row for row in rows if row["name"] == name), None)

    def create(self, name: str, host: str, test: t.Mapping[str, t.Any]) -> str:
        """Start a server on a host, and return its uuid. Raises :class:`ApiError` for what is not there, too."""
        http.may_change(self.connection)
        body = {
            "name": name,
            "imageRef": self._id("image", "find_image", str(test["image"])),
            "flavorRef": self._id("compute", "find_flavor", str(test["flavor"])),
            "networks": [{"uuid": self._id("network", "find_network", str(test["network"]))}],
            "host": host,
        }
        answer = http.call(self.own, http.COMPUTE, "POST", "/servers", NAMED_HOST, body={"server": body})
        return str(answer["server"]["id"])

    def delete(self, uuid: str) -> None:
        """Delete a server; one that is gone already is fine. Raises :class:`ApiError`."""
        http.may_change(self.connection)
        http.delete_if_there(self.own, http.COMPUTE, f"/servers/{uuid}", NAMED_HOST)

    def _id(self, service: str, finder: str, word: str) -> str:
        try:
            found = getattr(getattr(self.own, service), finder)(word)
        except (sdk_exceptions.SDKException, auth_exceptions.ClientException) as error:
            # Of two that have the same name, too.
            raise ApiError(f"{service} {word}: {' '.join(str(error).split())}") from None
        if found is None:
            raise ApiError(f"{word}: no such {'flavor' if service == 'compute' else service}")
        return str(found.id)
