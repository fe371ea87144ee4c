# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commands of a remedy, as data: what can be copied into a shell. Pure.

A remedy is a sentence, and its commands stand beside it where the remedy is made: nothing looks for them in the text.
Names in a command are given by anybody. A command exists only if no character of its names means anything to a shell:
one that a strange name would cut short would be about another object.
"""

from __future__ import annotations

import re
import typing as t

#: The commands of one remedy, in the order of its text.
Commands = t.Tuple[str, ...]

#: A name of which a shell looks at no character, and which no program takes for an option.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@=+,%][A-Za-z0-9_./:@=+,%-]*\Z")
_HOST = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*\Z")

MASK: Commands = ("systemctl mask nova-compute",)


def typed(command: t.Sequence[str], *names: t.Optional[str]) -> Commands:
    """Return a command with these names at its end; none if a name is not known or means something to a shell."""
    if not all(name is not None and _PLAIN.match(name) for name in names):
        return ()
    return (" ".join([*command, *map(str, names)]),)


def for_host(command: t.Sequence[str], host: t.Optional[str], *rest: str) -> Commands:
    """Return a command with the name of a host, and what follows it; none if the name means something to a shell."""
    return (" ".join([*command, host, *rest]),) if host is not None and _HOST.match(host) else ()


def playbook(name: str, host: t.Optional[str], variable: str, *more: str) -> Commands:
    """Return how a playbook is run for a host in check mode. ``more``: further variables, C(NAME=VALUE)."""
    if host is None or not _HOST.match(host):
        return ()
    given = "".join(f" -e {entry}" for entry in (f"{variable}={host}", *more))
    return (f"ansible-playbook stackguard.nova.{name} -i INVENTORY --check{given}",)
