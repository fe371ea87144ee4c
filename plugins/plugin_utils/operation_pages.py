# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page that a run of an operation leaves beside its report, made of its result and its journal."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..module_utils.engine.runner import Host
from ..module_utils.records import journal as journals
from ..module_utils.reports.operation_run import (
    OperationRun,
    context,
    plan_of,
)
from . import pages, screen
from .typed_command import typed_command

Json = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Keeper:
    """Where the journal of a run is."""

    state: Host
    kind: str
    mine: Json
    #: By the open journal: the action that ends it in another way.
    back: t.Callable[[t.Dict[str, t.Any]], t.Optional[str]] = lambda _journal: "rollback"


def text_of(option: t.Any) -> str:
    """Return a name that an option gives. One that is no text may hold a password, such as a whole cloud."""
    return option if isinstance(option, str) else ""


def leave(directory: str, keeper: t.Optional[Keeper], shown: OperationRun) -> None:
    """Write C(report.html). What has ended does not fail because its page cannot be made: that is a warning.

    ``keeper``: None where nothing is to be looked up, since the run came to nothing.
    """
    try:
        _leave(directory, keeper, shown)
    except Exception as error:  # noqa: BLE001 (whatever it is, the operation is what it is)
        screen.warn(f"{pages.NAME} was not written: {error}")


def _leave(directory: str, keeper: t.Optional[Keeper], shown: OperationRun) -> None:
    if keeper is not None:
        shown = _with_journal(keeper, shown)
    if not (shown.journal or shown.report or shown.plan or shown.result.get("failed")):
        # Nothing is open, and nothing was to be done: there is nothing to show.
        return
    place = os.path.abspath(os.path.expanduser(directory))
    os.makedirs(place, mode=0o700, exist_ok=True)
    shown = dataclasses.replace(shown, typed=shown.typed or typed_command())
    pages.write(os.path.join(place, pages.NAME), html(shown))


def html(shown: OperationRun) -> str:
    """Return C(report.html) of a run."""
    return pages.html(shown.report, plan_of(shown), context(shown))


def _with_journal(keeper: Keeper, shown: OperationRun) -> OperationRun:
    try:
        found = _journal(keeper, shown.result)
    # A host that does not answer, or a journal that is damaged: the page says so.
    except Exception as error:  # noqa: BLE001
        return dataclasses.replace(shown, unread=str(error))
    back = keeper.back(found) if found is not None and found.get("state") not in journals.FINAL else shown.back
    return dataclasses.replace(shown, journal=found, back=back)


def _journal(keeper: Keeper, result: Json) -> t.Optional[t.Dict[str, t.Any]]:
    """Return the journal of this run's operation: by the id of the result, else the open one that this run has."""
    wanted = result.get("operation_id")
    if result.get("state") in ("planned", "none", "clear"):
        return None
    (found,) = keeper.state.call([{"op": "journal_read", "kind": keeper.kind}])
    journal = found.get("journal")
    if journal is not None and (
        journal["operation_id"] == wanted or (not wanted and journal.get("run") == dict(keeper.mine))
    ):
        return dict(journal)
    if not wanted:
        return None
    (closed,) = keeper.state.call([{"op": "journal_closed", "kind": keeper.kind}])
    return next((dict(one) for one in closed["journals"] if one["operation_id"] == wanted), None)
