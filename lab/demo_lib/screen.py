# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demonstration says, and the claims it makes: one that does not hold ends it."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Sequence

WIDTH = 112
INDENT = " " * 10


class DemoError(Exception):
    """Something was not as told."""


class Screen:
    """Plain text with elapsed seconds; colours on a terminal only."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.colours = self.terminal and not os.environ.get("NO_COLOR")
        self.claims = 0

    # --- lines

    def title(self, text: str) -> None:
        """A heading."""
        self._out("")
        self._out(self._paint(text, "1"))
        self._out(self._paint("-" * len(text), "1"))

    def tell(self, text: str) -> None:
        """A paragraph, with the time on its first line."""
        lines = textwrap.wrap(text, WIDTH - len(INDENT), break_long_words=False, break_on_hyphens=False)
        for number, line in enumerate(lines):
            self._out((self._stamp() if number == 0 else INDENT) + line)

    def command(self, text: str) -> None:
        """A command that is being carried out, as a person would type it."""
        self._out(INDENT + self._paint(f"$ {text}", "36"))

    def quote(self, text: str, limit: int = 40) -> None:
        """Output of a program, indented; long lines are folded, never cut silently."""
        lines = text.rstrip().splitlines()
        for line in lines[:limit]:
            for part in textwrap.wrap(line, WIDTH - 12, break_on_hyphens=False, drop_whitespace=False) or [""]:
                self._out(f"{INDENT}  {self._paint(part, '2')}")
        if len(lines) > limit:
            self._out(f"{INDENT}  ... {len(lines) - limit} more lines")

    def listing(self, text: str) -> None:
        """Text whose own columns matter: as it is."""
        for line in text.splitlines():
            self._out(f"{INDENT}  {self._paint(line, '2')}")

    def table(self, rows: Sequence[Sequence[str]], heading: bool = True) -> None:
        """Columns, the first row being their names."""
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for number, row in enumerate(rows):
            text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            self._out(f"{INDENT}{self._paint(text, '1') if heading and number == 0 else text}")

    def claim(self, text: str, holds: bool, seen: object = "") -> None:
        """Something asserted. What was seen is shown only where it does not hold."""
        if not holds:
            raise DemoError(f"expected: {text}" + (f"; seen: {seen}" if seen != "" else ""))
        self.claims += 1
        lines = textwrap.wrap(text, WIDTH - len(INDENT) - 6, break_long_words=False, break_on_hyphens=False)
        for number, line in enumerate(lines):
            head = self._stamp() + self._paint("seen: ", "32") if number == 0 else INDENT + " " * 6
            self._out(head + line)

    # --- waiting

    def wait(
        self, what: str, done: Callable[[], bool], timeout: float, pause: float = 1.0, report: float = 20.0
    ) -> float:
        """Wait, visibly; return the seconds it took. Raises DemoError when it takes too long."""
        begin = time.monotonic()
        said = 0.0
        while not done():
            waited = time.monotonic() - begin
            if waited > timeout:
                self._wipe()
                raise DemoError(f"still waiting after {waited:.0f} s: {what}")
            if self.terminal:
                print(f"\r{INDENT}waiting: {what} ({waited:.0f} s)", end="", flush=True)
            elif waited >= said + report:
                said = waited
                self._out(f"{INDENT}waiting: {what} ({waited:.0f} s)")
            time.sleep(pause)
        self._wipe()
        return time.monotonic() - begin

    def seconds(self) -> float:
        """Seconds since the demonstration began."""
        return time.monotonic() - self.start

    def blank(self) -> None:
        """An empty line."""
        self._out("")

    def plain(self, text: str) -> None:
        """A line as it is."""
        self._out(text)

    # --- how

    def _stamp(self) -> str:
        return f"[{self.seconds():5.0f} s] "

    def _paint(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self.colours else text

    def _wipe(self) -> None:
        if self.terminal:
            print("\r\033[K", end="", flush=True)

    @staticmethod
    def _out(text: str) -> None:
        print(text, flush=True)


def duration(seconds: float) -> str:
    """95 -> 1 min 35 s."""
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"
