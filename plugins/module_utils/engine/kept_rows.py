# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rows of an operation that changes very many: in batches beside its journal, see :mod:`batches` of records.

A batch is written down, forced to disk, before the first of its rows is changed, and marked when it is known how that
ended. So the journal itself stays small, and a run that was killed anywhere can be resumed or taken back.
"""

from __future__ import annotations

import typing as t

from .runner import Host, Request, Result


class KeptRows:
    """The batches of one operation. ``writer``: who may write them; without it they can only be read."""

    def __init__(self, state: Host, kind: str, operation_id: str, writer: t.Optional[Host] = None) -> None:
        self._state = state
        self._about = {"kind": kind, "operation_id": operation_id}
        self._writer = writer

    def states(self) -> t.Dict[int, str]:
        """Return the batches and their states, in order."""
        found = self._call(self._state, "batch_states")
        return {int(number): str(state) for number, state in found["states"]}

    def read(self, number: int) -> t.List[t.Any]:
        """Return the rows of a batch."""
        return list(self._call(self._state, "batch_read", number=number)["rows"])

    def write(self, number: int, rows: t.Sequence[t.Any]) -> None:
        """Write a batch down, before any of it is changed."""
        self._write("batch_write", number=number, rows=list(rows))

    def mark(self, number: int, state: str) -> None:
        """Note how a batch ended."""
        self._write("batch_mark", number=number, state=state)

    def _write(self, op: str, **more: t.Any) -> None:
        if self._writer is None:
            raise TypeError(
                "internal error: the run tried to write rows to a journal that the run has opened for reading only"
            )
        self._call(self._writer, op, **more)

    def _call(self, host: Host, op: str, **more: t.Any) -> Result:
        request: Request = {"op": op, **self._about, **more}
        return host.call([request])[0]
