# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run that moves, resizes or empties is given."""

from __future__ import annotations

import dataclasses
import uuid as uuids

from ..systems.api import server_records
from . import lifecycle
from .systems import Systems


@dataclasses.dataclass(frozen=True)
class ServerRun(lifecycle.Run):
    """What a run is given. ``options``: the module's own, as its documentation says."""

    systems: Systems
    operation_id: str


def identity(run: ServerRun, kind: str) -> str:
    """Return the uuid of the option C(server), a name or a uuid; also of a server that only an open journal knows.

    ``kind``: what the kinds of the operation's journals begin with. Raises :class:`lifecycle.Refused`.
    """
    word = str(run.options["server"])
    try:
        return str(uuids.UUID(word))
    except ValueError:
        pass
    named = server_records.named_servers(run.systems.cloud, word)
    if not named:
        found = [entry for entry in lifecycle.open_journals(run) if str(entry["kind"]).startswith(kind)]
        named = sorted({str(entry["about"]["server"]) for entry in found if entry["subject"] == word})
    if len(named) != 1:
        what = "no server is" if not named else f"{len(named)} servers are"
        raise lifecycle.Refused(f"{what} called {word}. Use the uuid of the server")
    return named[0]
