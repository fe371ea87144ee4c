# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the caps of a Ceph user allow it to do: to the OSD blocklist, to images, to read where daemons are. Pure.

Only what is certain is said: a capability that is not understood neither allows nor forbids. Rules of Ceph 16 to 19
(C(mon/MonCap.cc), C(mon/MonCommands.h)): the command C(osd blocklist) asks for the service C(osd) with r and w, or for
a capability of its own, and C(profile rbd) has one that adds.
"""

from __future__ import annotations

import re
import typing as t

ADD, REMOVE = "add", "rm"
_BOTH = frozenset({ADD, REMOVE})
_NONE: t.FrozenSet[str] = frozenset()
#: Profiles by what they let a client do to the list.
_PROFILES = {
    "rbd": frozenset({ADD}),
    "simple-rados-client-with-blocklist": frozenset({ADD}),
    "simple-rados-client": _NONE,
}
_PROFILE = re.compile(r"""(?:allow\s+)?profile\s*=?\s*["']?([\w-]+)["']?\Z""")
_COMMAND = re.compile(r"""allow\s+command\s*=?\s*(["'])(.+?)\1(?:\s+with\s+(.+))?\Z""")
_RIGHTS = re.compile(r"""allow\s+(?:service\s*=?\s*["']?(\w+)["']?\s+)?(all|\*|[rwx]+)\Z""")
_ARGUMENT = re.compile(r"""(?:block|black)listop\s*=\s*["']?(add|rm)["']?\Z""")
_LISTS = ("osd blocklist", "osd blacklist")


class Blocklisting(t.NamedTuple):
    """Whether the user may add and remove; None: the caps were not understood that far."""

    add: t.Optional[bool]
    remove: t.Optional[bool]


def blocklisting(mon: str) -> Blocklisting:
    """Return what a user with these caps for C(mon) may do."""
    allowed: t.Set[str] = set()
    letters: t.Set[str] = set()
    clear = True
    for grant in _grants(mon):
        actions, rights, understood = _grant(grant)
        allowed |= actions
        letters |= rights
        clear = clear and understood
    if letters >= {"r", "w"}:
        allowed |= _BOTH
    otherwise = False if clear else None
    return Blocklisting(True if ADD in allowed else otherwise, True if REMOVE in allowed else otherwise)


def _grants(caps: str) -> t.List[str]:
    """Divide at commas and semicolons that are not quoted."""
    parts = re.findall(r"""(?:[^,;"']|"[^"]*"|'[^']*')+""", caps)
    return [" ".join(part.split()) for part in parts if part.strip()]


def _grant(grant: str) -> t.Tuple[t.FrozenSet[str], t.Set[str], bool]:
    """Return actions on the list, rights to the service osd, and whether the grant was understood."""
    profile = _PROFILE.match(grant)
    if profile:
        return _PROFILES.get(profile[1], _NONE), set(), profile[1] in _PROFILES
    command = _COMMAND.match(grant)
    if command:
        return _command(command[2], command[3])
    rights = _RIGHTS.match(grant)
    if not rights:
        return _NONE, set(), False
    if rights[1] not in (None, "osd"):
        return _NONE, set(), True
    return _NONE, set("rwx") if rights[2] in ("*", "all") else set(rights[2]), True


def _command(name: str, arguments: t.Optional[str]) -> t.Tuple[t.FrozenSet[str], t.Set[str], bool]:
    if name not in _LISTS:
        return _NONE, set(), True
    if arguments is None:
        return _BOTH, set(), True
    only = _ARGUMENT.match(arguments)
    return (frozenset({only[1]}), set(), True) if only else (_NONE, set(), False)


# --- images and daemons ---------------------------------------------------------------------------------------

_OSD = re.compile(
    r"""(?:allow\s+)?(?:profile\s*=?\s*["']?(?P<profile>[\w-]+)["']?|allow\s+(?P<rights>all|\*|[rwx]+|class-read|class-write))"""
    r"""(?:\s+pool\s*=?\s*["']?(?P<pool>[\w.-]+)["']?)?(?P<prefix>\s+object_prefix\s+\S+)?\Z"""
)


def writes_images(osd: str, pool: t.Optional[str]) -> t.Optional[bool]:
    """Return whether a user with these caps for C(osd) may change images of a pool, such as making a snapshot.

    None: the caps were not understood that far, or the pool (None) is not known. librbd calls classes, so that C(rw)
    without C(x) is not enough.
    """
    certain: t.Set[str] = set()
    possible: t.Set[str] = set()
    clear = True
    for grant in _grants(osd):
        found = _OSD.match(grant)
        letters = _letters(found) if found else None
        if found is None or letters is None:
            clear = False
        elif not found["prefix"] and (pool is None or found["pool"] in (None, pool)):
            possible |= letters
            certain |= letters if pool is not None or found["pool"] is None else set()
    if certain >= set("rwx"):
        return True
    return False if clear and not possible >= set("rwx") else None


def _letters(found: t.Match[str]) -> t.Optional[t.Set[str]]:
    """Return what a grant lets its user do to objects; None: a profile that is not known."""
    if found["profile"]:
        known = {"rbd": "rwx", "rbd-read-only": "rx"}.get(found["profile"])
        return None if known is None else set(known)
    rights = found["rights"]
    if rights.startswith("class"):
        return set()
    return set("rwx") if rights in ("*", "all") else set(rights)


def reads(mon: str, question: str) -> t.Optional[bool]:
    """Return whether a user with these caps for C(mon) may ask C(mgr dump) or C(fs dump); None: not understood."""
    service = {"mgr": "mgr", "fs": "mds"}[question.partition(" ")[0]]
    clear = True
    for grant in _grants(mon):
        rights, command, profile = _RIGHTS.match(grant), _COMMAND.match(grant), _PROFILE.match(grant)
        if command and command[2] == question and command[3] is None:
            return True
        if rights and rights[1] in (None, service) and (rights[2] in ("*", "all") or "r" in rights[2]):
            return True
        clear = clear and bool(rights or command or (profile and profile[1] in _PROFILES))
    return False if clear else None
