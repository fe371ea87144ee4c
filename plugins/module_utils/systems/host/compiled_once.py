# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Imports this file's own collection from Ansible's zip, and compiles each file once. Import it before the others.

A module reaches a host as a zip of source files. Python's zipimport compiles a file when it looks for it (find_spec
asks get_filename, which compiles), and a second time when it loads it: on each host, in each run. That was a fifth of
the processor time of ``compute_host_info``. Outside of such a zip nothing changes.

Python 3.9 and the standard library only.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import typing as t
import zipimport

_COLLECTION = "ansible_collections.stackguard.nova."


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a file of the zip. Unlike zipimporter's, its get_filename knows the name without compiling the file."""

    def __init__(self, fullname: str, path: str, archive: zipimport.zipimporter) -> None:
        super().__init__(fullname, path)
        self._archive = archive

    def get_data(self, path: str) -> bytes:
        return self._archive.get_data(path)

    def path_stats(self, path: str) -> t.Mapping[str, t.Any]:
        raise OSError("the zip file with the collection contains no compiled bytecode of this Python file")


class _Finder:
    """Finds the collection's files in the zip; all else is left to the finders after it."""

    def __init__(self, archive: zipimport.zipimporter, files: t.Container[str]) -> None:
        self._archive = archive
        self._files = files

    def find_spec(
        self, fullname: str, path: t.Any = None, target: t.Any = None
    ) -> t.Optional[importlib.machinery.ModuleSpec]:
        if not fullname.startswith(_COLLECTION):
            return None
        place = fullname.replace(".", "/")
        for file in (f"{place}/__init__.py", f"{place}.py"):
            if file in self._files:
                origin = f"{self._archive.archive}/{file}"
                loader = _Loader(fullname, origin, self._archive)
                return importlib.util.spec_from_file_location(fullname, origin, loader=loader)
        return None


def install(loader: object, finders: t.List[t.Any]) -> None:
    """Put the finder before the others, if ``loader`` (that of a module) reads a zip whose list of files is known."""
    files = getattr(loader, "_files", None)
    if isinstance(loader, zipimport.zipimporter) and isinstance(files, dict):
        finders.insert(0, _Finder(loader, frozenset(files)))


install(globals().get("__loader__"), sys.meta_path)
