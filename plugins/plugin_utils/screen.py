# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where text leaves for a terminal: names are given by anybody, and nothing in them steers it."""

from __future__ import annotations

import functools
import typing as t

from ansible.utils.display import Display

from ..module_utils.model.wording import visible
from .typed_command import typed_command

Result = t.Dict[str, t.Any]
Run = t.Callable[..., Result]

#: What tasks take from a result and do not show: it stays as it is.
DATA = ("needs", "facts", "journals", "ansible_facts")


def say(text: str) -> None:
    """Show a text. The commands of remedies have the inventory of this run."""
    command = typed_command() if "-i INVENTORY" in text else None
    Display().display(visible(command.of_remedy(text) if command else text))


def warn(text: str) -> None:
    """Show a warning."""
    Display().warning(visible(text))


def result(run: Run) -> Run:
    """Make the result of an action plugin safe to show: callbacks print its message, its diff, or all of it."""

    @functools.wraps(run)
    def shown(*args: t.Any, **options: t.Any) -> Result:
        return {name: value if name in DATA else _shown(value) for name, value in run(*args, **options).items()}

    return shown


def message(run: Run) -> Run:
    """Make the message of an action plugin safe to show that returns facts: other tasks take these as they are."""

    @functools.wraps(run)
    def told(*args: t.Any, **options: t.Any) -> Result:
        found = run(*args, **options)
        return {**found, "msg": _shown(found["msg"])} if "msg" in found else found

    return told


def _shown(value: t.Any) -> t.Any:
    if isinstance(value, str):
        return value if value.isprintable() else visible(value)
    if isinstance(value, dict):
        return {_shown(key): _shown(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(entry) for entry in value]
    return value
