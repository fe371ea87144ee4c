# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option by which an operator overrides findings."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation of OPTION in module_utils/model/findings.py."""

    DOCUMENTATION = r"""
options:
  overrides:
    type: list
    elements: dict
    default: []
    description:
      - Findings to override, each with its code, its object and a reason. The report shows the reason for each
        override.
      - You cannot override an absolute finding. The page of the finding's code says whether you can override the
        finding.
    suboptions:
      code:
        type: str
        required: true
        description: Code of the finding, such as V(SG502).
      object:
        type: str
        required: true
        description: Id or name of the object that the finding is about.
      reason:
        type: str
        required: true
        description: Reason why the finding does not matter in this case.
"""
