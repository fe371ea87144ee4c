# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a remedy can be copied into a shell. Pure.

Remedies are sentences, and names in them are given by anybody. A command is shown only where every character of it
means nothing to a shell, and only where it is whole. One that a strange name has cut short would be about another
object: it is left out, and the sentence stays.
"""

from __future__ import annotations

import re
import typing as t

#: Characters that no shell looks at.
_PLAIN = re.compile(r"^[A-Za-z0-9 _./:@=+,%-]+$")
_NAME = re.compile(r"^[A-Za-z0-9_.-]+$")
#: Commands without a name in them.
_FIXED = (
    "systemctl mask nova-compute",
    "systemctl mask --now nova-compute",
    "systemctl restart libvirtd",
    "rbd trash ls",
    "nova-manage placement sync_aggregates",
    "nova-manage cell_v2 discover_hosts --by-service",
)
#: With a name: up to the end of the remedy, or (names of hosts, uuids) of the sentence.
_NAMED = (
    re.compile(r"\b(rbd (?:snap )?rm [^ ]+)\.?$"),
    re.compile(r"\b(rbd lock ls [^ ]+)\.?$"),
    re.compile(r"\b(rbd status [^ ]+/[^ ]+?)\.?$"),
    re.compile(
        r"\b((?:openstack|nova-manage) [^;()\n]+? (?:--host|--enable) [A-Za-z0-9_.-]*[A-Za-z0-9_-](?: nova-compute)?)"
        r"(?=\.? [A-Z]|\.?$)"
    ),
    re.compile(r"\b(openstack server event show [0-9a-f-]{36} req-[0-9a-f-]{36})\.?$"),
)  # fmt: skip
_PLAYBOOKS: t.Mapping[str, str] = {
    "return_host": "return_host={host}",
    "drain_host": "drain_host={host}",
    "repair_links": "repair_hosts={host} -e repair_codes={code}",
    "pin_servers": "pin_hosts={host}",
}
_CODES = re.compile(r"repair_codes=\[(SG\d{3})\]")
_HOSTS = 5


def of(remedy: str, hosts: t.Sequence[str]) -> t.Tuple[str, ...]:
    """Return the commands of a remedy, each once. ``hosts``: whom it is about."""
    found = [*_typed(remedy), *_playbooks(remedy, hosts)]
    return tuple(dict.fromkeys(found))


def _typed(remedy: str) -> t.Iterator[str]:
    yield from (text for text in _FIXED if re.search(rf"\b{re.escape(text)}(?![ \w/-]*[/@])", remedy))
    for pattern in _NAMED:
        match = pattern.search(remedy)
        if match and _PLAIN.match(match[1]):
            yield match[1]


def _playbooks(remedy: str, hosts: t.Sequence[str]) -> t.Iterator[str]:
    code = _CODES.search(remedy)
    for name, given in _PLAYBOOKS.items():
        if not re.search(rf"\b{name}\b", remedy) or (name == "repair_links" and not code):
            continue
        if name == "pin_servers" and f"nova.{name}" not in remedy:
            # It may be about unpinning.
            continue
        for host in [one for one in hosts if _NAME.match(one)][:_HOSTS]:
            variables = given.format(host=host, code=code[1] if code else "")
            yield f"ansible-playbook stackguard.nova.{name} -i INVENTORY --check -e {variables}"
