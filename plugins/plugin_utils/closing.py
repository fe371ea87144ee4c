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

#: What a run leaves: for people, and for programs.
_REPORTS = {"doctor": ("doctor.json", "doctor.json")}
_DEFAULT = ("report.html", "report.json")


def lines(published: t.Mapping[str, t.Any], failed: bool, told: t.Collection[str]) -> t.List[str]:
    """Return the last lines. ``failed``: whether Ansible ends the run as a failure. ``told``: lines already shown."""
    if published.get("operation") == "explain":
        return []
    directory = str(published.get("report_dir") or "")
    page, data = (os.path.join(directory, name) for name in _REPORTS.get(str(published["operation"]), _DEFAULT))
    report = None
    if directory and os.path.isfile(data):
        with open(data, encoding="utf-8") as stream:
            report = json.load(stream)
    path = next(filter(os.path.isfile, (page, data)), "") if directory else ""
    found = closing.lines(published, report, typed_command(), failed, told, path)
    return [visible(line.replace("\n", " ")) for line in found]
