# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hosts answered the doctor: a file for each, in a directory of one run."""

from __future__ import annotations

import json
import os
import typing as t

from ..model import facts
from ..model.doctor import DoctorHost
from . import evidence

HOSTS = "doctor-hosts"
JOURNALS = "doctor-journals"


def save(directory: str, folder: str, answer: DoctorHost) -> None:
    """Keep one answer. Raises OSError."""
    evidence.save_part(directory, evidence.relative(folder, answer.name), answer)


def load(directory: t.Optional[str], folder: str, names: t.Sequence[str]) -> t.List[DoctorHost]:
    """Return the answer of each of these hosts. One that left none, or none that can be read, has failed."""
    return [_one(directory, folder, name) for name in names]


def _one(directory: t.Optional[str], folder: str, name: str) -> DoctorHost:
    if not directory:
        return DoctorHost(name, kind="failed", reason="the run did not check the host")
    path = os.path.join(directory, evidence.relative(folder, name))
    try:
        with open(path, encoding="utf-8") as stream:
            return facts.from_plain(DoctorHost, json.load(stream), path)
    except FileNotFoundError:
        return DoctorHost(name, kind="failed", reason="the check of the host returned no result")
    except (OSError, ValueError, facts.FactsError) as error:
        return DoctorHost(name, kind="failed", reason=f"the run cannot read the host's answer: {error}")
