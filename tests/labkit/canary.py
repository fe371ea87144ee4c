# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets that nobody else uses, and where they came out: in what a run printed or left, in arguments of processes."""

from __future__ import annotations

import base64
import contextlib
import pathlib
import threading
import urllib.parse
import uuid

INTERVAL = 0.02


class Canaries:
    """One secret value for each kind that is asked for. Signs that URLs and shells change are part of it."""

    def __init__(self):
        self.values = {}
        self.argv = set()

    def __getitem__(self, kind):
        return self.values.setdefault(kind, f"c4n@ry-{kind}-{uuid.uuid4().hex}")

    def url(self, kind):
        """Return the secret as it stands in a URL."""
        return urllib.parse.quote(self[kind], safe="")

    def add(self, kind, value):
        """Look for a secret that was there before, too."""
        self.values[kind] = value

    def forms(self):
        """Yield each kind with every way to write it that is looked for."""
        for kind, value in self.values.items():
            yield kind, value
            if self.url(kind) != value:
                yield f"{kind}, as in a URL", self.url(kind)
            # Whatever is put before or behind it: without the characters at the ends that this changes.
            for shift in range(3):
                encoded = base64.b64encode(b"\0" * shift + value.encode()).decode()
                yield f"{kind}, in base64", encoded[4 if shift else 0 : -4]

    def found(self, text):
        """Return which of them the text gives away."""
        return sorted({kind for kind, form in self.forms() if form in text})

    def left(self, *places, but=()):
        """Return file and kind for every secret in the files below the places; ``but``: files that are to hold one."""
        leaks = []
        for place in places:
            for path in sorted(pathlib.Path(place).rglob("*")):
                if path.is_file() and not path.is_symlink() and not any(path.is_relative_to(one) for one in but):
                    leaks += [(str(path), kind) for kind in self.found(path.read_bytes().decode("latin-1"))]
        return leaks

    @contextlib.contextmanager
    def watched(self):
        """Look at the arguments of every process of this machine again and again; what is found is in ``argv``."""
        over = threading.Event()

        def look():
            seen = set()
            while not over.wait(INTERVAL):
                for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                    # Gone meanwhile.
                    with contextlib.suppress(OSError):
                        line = path.read_bytes()
                        if line not in seen:
                            seen.add(line)
                            text = line.replace(b"\0", b" ").decode("latin-1")
                            self.argv.update((kind, text) for kind in self.found(text))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
