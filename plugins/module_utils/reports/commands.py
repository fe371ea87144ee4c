# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a remedy can be copied into a shell. Pure.

Remedies are sentences, and names in them are given by anybody. A command is shown only where every character of it means
nothing to a shell, and only where it is whole: a word such as C(virsh destroy) without its object is none.
"""

from __future__ import annotations

import re
import typing as t

#: Characters that no shell looks at.
_PLAIN = re.compile(r"^[A-Za-z0-9 _./:@=+,%-]+$")
_NAME = re.compile(r"^[A-Za-z0-9_.-]+$")
_COMMAND = re.compile(r"\b((?:systemctl|rbd|ceph|openstack|nova-manage|virsh) [^;()\n]+)")
#: Commands of two words that are whole.
_WHOLE = frozenset({"rbd trash ls"})
_OPTION = re.compile(r" --?[a-z]")
_PLAYBOOKS: t.Mapping[str, str] = {
    "return_host": "return_host={host}",
    "drain_host": "drain_host={host}",
    "repair_links": "repair_hosts={host} -e repair_codes={code}",
}
_CODES = re.compile(r"repair_codes=\[(SG\d{3})\]")
_HOSTS = 5


def of(remedy: str, hosts: t.Sequence[str]) -> t.Tuple[str, ...]:
    """Return the commands of a remedy, each once. ``hosts``: whom it is about."""
    found = [*_typed(remedy), *_playbooks(remedy, hosts)]
    return tuple(dict.fromkeys(found))


def _typed(remedy: str) -> t.Iterator[str]:
    for match in _COMMAND.finditer(remedy):
        words = re.split(r"\.(?:\s|$)|, |: ", match[1])[0].strip().rstrip(".")
        # A name of many words of prose is no command; nor is one of two words, without its object.
        if _PLAIN.match(words) and 3 <= len(words.split()) <= 9 and not _unfinished(words):
            yield words


def _unfinished(words: str) -> bool:
    """Whether a command is named only, without what it is about."""
    last = words.split()[-1]
    whole = words in _WHOLE or words.split()[0] in ("systemctl", "rbd") or "--host " in words or "set --enable" in words
    return last.isupper() or not (whole or re.search(r"[0-9a-f]{8}-|sync_aggregates|discover_hosts --", words))


def _playbooks(remedy: str, hosts: t.Sequence[str]) -> t.Iterator[str]:
    for name, given in _PLAYBOOKS.items():
        if not re.search(rf"\b{name}\b", remedy):
            continue
        code = _CODES.search(remedy)
        if name == "repair_links" and not code:
            continue
        for host in [one for one in hosts if _NAME.match(one)][:_HOSTS]:
            variables = given.format(host=host, code=code[1] if code else "")
            yield f"ansible-playbook stackguard.nova.{name} -i INVENTORY --check -e {variables}"
