# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence as an audit reads it offline."""

from __future__ import annotations

import pathlib
import tempfile

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Bundle
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence, evidence_file


def as_saved(bundle: Bundle) -> Bundle:
    """Return evidence as it comes back from evidence.jsonl. The file stays open, and is gone."""
    with tempfile.TemporaryDirectory() as directory:
        return evidence.load(evidence.save_whole(directory, bundle))


def save_as(path: pathlib.Path, bundle: Bundle) -> str:
    """Write an evidence.jsonl under another name, and return its path."""
    return evidence.save_text(str(path.parent), path.name, "".join(evidence_file.lines(bundle)))
