# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words for people. Pure. Python 3.9, standard library only: this file travels to compute hosts."""

from __future__ import annotations

#: What people read of findings that were only counted. Programs go by findings.CountedOnly.
NOT_LISTED = "more findings of this kind exist, but are not listed"
NOT_LOOKED_AT = "further rows may have the same problem: the run counted these rows, but did not check them one by one"


def quoted_text(text: str) -> str:
    """Return words that another program prints itself, such as Nova: they change with that program only."""
    return text


def visible(text: str) -> str:
    """Show characters that would steer a terminal, or turn the text around them: names are given by anybody."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\u{ord(char):04x}" for char in text)


def one_line(text: str) -> str:
    """Return a name as it is shown: a name that has lines would look like lines of the text around it."""
    return text if text.isprintable() else visible(text.replace("\t", " ")).replace("\n", "\\u000a")


def count(number: int, what: str, many: str = "") -> str:
    """Return a number with its noun, such as ``1 row`` or ``3 rows``. ``many``: the plural, unless it is with an s."""
    return f"{number} {what}" if number == 1 else f"{number} {many or what + 's'}"
