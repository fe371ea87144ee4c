# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nova-compute makes of a configured C([DEFAULT] host): the rules of oslo.config's C(HostDomain). Pure.

oslo.config is the oracle of the tests. C(host) is an option of that type in all releases (nova/conf/netconf.py), and
its default, the kernel's host name, is judged as well.
"""

from __future__ import annotations

import re
import socket

from .wording import quoted_text

_LONGEST = 253
_LABEL = re.compile(r"[a-z0-9_-]{1,63}", re.IGNORECASE)


class HostDomainError(ValueError):
    """A value that oslo.config refuses; the message is oslo.config's."""


def accepted(value: str) -> str:
    """Return the name that nova-compute takes: an address as it is, a name without one trailing dot.

    Raises :class:`HostDomainError` where nova-compute would end with oslo.config's error.
    """
    if _is_address(value):
        return value
    name = value.removesuffix(".")
    labels = name.split(".")
    # The length counts the dot; the last label must not look like the last part of an address.
    if not value or len(value) > _LONGEST or not re.search("[a-zA-Z-]", labels[-1]):
        raise _refused(value)
    if not all(_is_label(label) for label in labels):
        raise _refused(value)
    return name


def _is_label(label: str) -> bool:
    # oslo.config lets a line end pass: an environment variable may hold one.
    bare = label.removesuffix("\n")
    return bool(_LABEL.fullmatch(bare)) and not bare.startswith("-") and not bare.endswith("-")


def _refused(value: str) -> HostDomainError:
    return HostDomainError(quoted_text(f"{value} is not a valid host address"))


def _is_address(value: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, value)
        except (OSError, ValueError):
            continue
        return True
    return False
