# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where text leaves for a terminal: names are given by anybody, and nothing in them steers it."""

from __future__ import annotations

import functools
import typing as t

from ansible.utils.display import Display
from ansible.utils.multiprocessing import context

from ..module_utils.model.wording import visible
from .typed_command import typed_command

Result = t.Dict[str, t.Any]
Run = t.Callable[..., Result]

#: What tasks take from a result and do not show: it stays as it is.
DATA = ("needs", "facts", "journals", "ansible_facts")
#: What people read of a result, and of what it publishes.
WORDS = ("msg", "summary", "text", "message", "report", "why")


def say(text: str) -> None:
    """Show a text at once: an operation takes its time. The commands of remedies have the inventory of this run."""
    command = typed_command()
    if command is not None and (command.job or "-i INVENTORY" in text):
        text = command.of_remedy(text)
    _display()(Display(), visible(text))


def told(text: str) -> str:
    """Return a text that says what to do next: in a job of AWX, it names templates."""
    command = typed_command()
    return command.job.told(text) if command is not None and command.job is not None else text


def _display() -> t.Callable[..., None]:
    """Return the method with which Ansible shows a text.

    The ansible-runner of AWX puts one of its own around it, which marks on stdout what belongs to an event. Until
    2.4.0 it does so in the worker process of a task, too, of which Ansible takes the text to its main process first,
    and Ansible warns of the marks. The method of the main process marks the same text there.
    """
    method: t.Any = Display.display
    if context.parent_process() is not None:
        while method.__globals__["__name__"] != Display.__module__ and hasattr(method, "__wrapped__"):
            method = method.__wrapped__
    return t.cast("t.Callable[..., None]", method)


def warn(text: str) -> None:
    """Show a warning."""
    Display().warning(visible(told(text)))


def result(run: Run) -> Run:
    """Make the result of an action plugin safe to show: callbacks print its message, its diff, or all of it."""

    @functools.wraps(run)
    def shown(*args: t.Any, **options: t.Any) -> Result:
        found = _worded(run(*args, **options))
        return {name: value if name in DATA else _shown(value) for name, value in found.items()}

    return shown


def message(run: Run) -> Run:
    """Make the message of an action plugin safe to show that returns facts: other tasks take these as they are."""

    @functools.wraps(run)
    def shown(*args: t.Any, **options: t.Any) -> Result:
        found = run(*args, **options)
        return {**found, "msg": _shown(told(str(found["msg"])))} if "msg" in found else found

    return shown


def _worded(found: Result) -> Result:
    """Tell what people read; what programs read, such as a report, stays as it is."""
    worded = {name: _told(value) if name in WORDS else value for name, value in found.items()}
    published = ((found.get("ansible_stats") or {}).get("data") or {}).get("stackguard")
    if isinstance(published, dict):
        stats = found["ansible_stats"]
        worded["ansible_stats"] = {**stats, "data": {**stats["data"], "stackguard": _worded(published)}}
    return worded


def _told(value: t.Any) -> t.Any:
    if isinstance(value, (list, tuple)):
        return [told(entry) if isinstance(entry, str) else entry for entry in value]
    return told(value) if isinstance(value, str) else value


def _shown(value: t.Any) -> t.Any:
    if isinstance(value, str):
        return value if value.isprintable() else visible(value)
    if isinstance(value, dict):
        return {_shown(key): _shown(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(entry) for entry in value]
    return value
