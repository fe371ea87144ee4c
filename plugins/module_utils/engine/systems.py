# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ways to all systems that a step is given, and what steps of every operation do with errors and findings."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ..model.errors import ApiError, Conflict, DatabaseError
from ..model.facts import HostFacts, to_plain
from ..model.findings import Checked, Override, overridden
from ..systems.api import connection, http
from ..systems.db import nova
from .runner import Request, Result, StepError, TimedOutError

Params = t.Mapping[str, t.Any]
Memory = t.Mapping[str, t.Any]


class RenameHost(t.Protocol):
    """The compute host, for what a controller step must ask it."""

    def call(self, requests: t.Sequence[Request]) -> t.List[Result]:
        """Carry out requests on the host."""

    def facts(self, arguments: t.Dict[str, t.Any]) -> HostFacts:
        """Read the host's facts anew."""


@dataclasses.dataclass
class Systems:
    """The way to every system: options with URLs and credentials, and what is opened from them when first needed."""

    options: t.Mapping[str, t.Any]
    host: RenameHost
    info_arguments: t.Dict[str, t.Any]
    sleep: t.Callable[[float], None]
    monotonic: t.Callable[[], float]
    remark: t.Callable[[str], None] = lambda _text: None
    #: The operator's word in this very run, a resume too.
    overrides: t.Sequence[Override] = ()
    #: What the operator overrode when the operation began. The audit at its end finds it again.
    named_at_start: t.Sequence[Override] = ()
    #: Raises StepError where another run may have taken over; called now and then during a long wait, so that no
    #: balancer between here and the database takes the connection for idle.
    still_ours: t.Callable[[], None] = lambda: None
    #: The same without asking anyone, for the moment before a commit.
    fresh: t.Callable[[], None] = lambda: None
    #: What is to be closed when the operation lets go of its host.
    at_end: t.List[t.Callable[[], None]] = dataclasses.field(default_factory=list)
    _connection: t.Any = None

    @property
    def cloud(self) -> t.Any:
        """The SDK connection, made once."""
        if self._connection is None:
            self._connection = connection.connect(self.options)
            http.guard_changes(self._connection, self.still_ours, self.fresh)
        return self._connection

    def url(self, database: str) -> str:
        """Return the URL of ``api``, ``neutron`` or ``cell:NAME``."""
        return nova.url_of(self.options, database)

    def wait(self, what: t.Callable[[], str], timeout: float, seen: t.Callable[[], t.Optional[str]]) -> str:
        """Poll until ``seen`` returns a text; raise TimedOutError after ``timeout`` seconds.

        ``what``: a clause that follows "waiting until", in the present tense.
        """
        start = told = self.monotonic()
        while True:
            answer = seen()
            if answer is not None:
                return answer
            now = self.monotonic()
            if now - start > timeout:
                raise TimedOutError(
                    f"timed out after {int(timeout)} s while waiting until {what()}", problem="timed-out"
                )
            if now - told >= 10:
                told = now
                self.remark(f"after {int(now - start)} s, the run is still waiting until {what()}")
                self.still_ours()
            self.sleep(1)


@contextlib.contextmanager
def as_step_error() -> t.Iterator[None]:
    """Turn errors of the databases and the APIs into StepErrors; a Conflict is a value that changed meanwhile."""
    try:
        yield
    except Conflict as error:
        raise StepError(str(error), changed_meanwhile=True) from error
    except (ApiError, DatabaseError) as error:
        raise StepError(str(error)) from error


def noted(found: Checked, overrides: t.Sequence[Override]) -> t.Dict[str, t.Any]:
    """Return what a step keeps of its findings for the report of this run, and of a run that resumes."""
    return {
        "findings": [to_plain(item) for item in found.findings],
        "unchecked": [to_plain(item) for item in found.unchecked],
        "passed": [[item.code, item.object.id] for item in found.findings if overridden(item, overrides)],
    }
