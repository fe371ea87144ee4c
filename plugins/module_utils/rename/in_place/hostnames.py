# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is a name one that a compute host can have? Pure.

Limits: RFC 1123 (2.1) and RFC 1035 (2.3.4) for host names; Linux' HOST_NAME_MAX for the kernel's own name; the
columns that hold it: 255 in Nova and neutron, 200 for resource_providers.name (placement, db/sqlalchemy/models.py).
"""

from __future__ import annotations

import string
import typing as t

from ...model import addresses

LABEL_MAX = 63
NAME_MAX = 253
KERNEL_MAX = 64
PROVIDER_MAX = 200
#: What /etc/hosts of distributions calls every machine.
_EVERY_MACHINE = frozenset(
    (
        "localhost",
        "localhost.localdomain",
        "localhost4",
        "localhost4.localdomain4",
        "localhost6",
        "localhost6.localdomain6",
        "ip6-localhost",
        "ip6-loopback",
    )
)
_ALLOWED = frozenset(string.ascii_letters + string.digits + "-")
#: Names below these never resolve to a host (RFC 6761, 6.3 and 6.4).
UNRESOLVABLE = ("invalid", "localhost")


def problems(name: str) -> t.List[str]:
    """Return everything that is wrong with a name; an empty list: nothing."""
    if not name:
        return ["the name is empty"]
    found = []
    if addresses.is_address(name):
        found.append("the name is an IP address")
    if name.casefold() in _EVERY_MACHINE:
        found.append("every machine uses this name for its own loopback address")
    if name.endswith("."):
        found.append("the name ends with a dot")
    if len(name) > NAME_MAX:
        found.append(f"the name has {len(name)} characters; the limit is {NAME_MAX}")
    if not any(character in string.ascii_letters for character in name):
        found.append("the name has no letter")
    labels = name.rstrip(".").split(".")
    return found + [problem for label in labels for problem in _label_problems(label)]


def _label_problems(label: str) -> t.Iterator[str]:
    if not label:
        yield "the name has an empty part (for example, two dots in a row)"
        return
    if len(label) > LABEL_MAX:
        yield f"label {label[:16]}... has {len(label)} characters; the limit is {LABEL_MAX}"
    strange = sorted(set(label) - _ALLOWED)
    if strange:
        yield f"{' '.join(repr(character) for character in strange)} is not allowed in a host name"
    if label.startswith("-") or label.endswith("-"):
        yield f"label {label} begins or ends with a hyphen"


def never_resolves(name: str) -> bool:
    """Whether the name is in a domain that is reserved for names that do not resolve."""
    return name.casefold().rpartition(".")[2] in UNRESOLVABLE and "." in name
