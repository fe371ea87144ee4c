# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last lines of a run in a terminal, of what it has published and left."""

from __future__ import annotations

import json
import os
import typing as t

from ..module_utils.model.wording import visible
from ..module_utils.reports import closing
from .typed_command import typed_command

#: Where a run leaves what it says, the first that is there.
_REPORTS = ("report.html", "report.json")
_DOCTOR = "doctor.json"


def lines(published: t.Mapping[str, t.Any], failed: bool, told: t.Collection[str]) -> t.List[str]:
    """Return the last lines. ``failed``: whether Ansible ends the run as a failure. ``told``: lines already shown."""
    if published.get("operation") == "explain":
        return []
    directory = str(published.get("report_dir") or "")
    names = (_DOCTOR,) if published.get("operation") == "doctor" else _REPORTS
    paths = [os.path.join(directory, name) for name in names] if directory else []
    path = next(filter(os.path.isfile, paths), "")
    report = None
    if path and os.path.isfile(paths[-1]) and names is _REPORTS:
        with open(paths[-1], encoding="utf-8") as stream:
            report = json.load(stream)
    found = closing.lines(published, report, typed_command(), failed, told, path)
    return [visible(line.replace("\n", " ")) for line in found]
