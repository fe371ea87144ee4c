# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option by which a run carries out an approved plan only."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  expect_plan:
    type: str
    description:
      - The C(plan_sha256) of the plan that you approved. A run in check mode returns the C(plan_sha256) of its plan.
        The run refuses to start if the new plan differs from the approved plan. If C(plan.json) of the approved plan is
        in O(report_dir), the run shows the difference between the two plans.
      - The C(plan_sha256) depends, for example, on the request, the names, the rows, the set of servers and the fence
        in the plan. The C(plan_sha256) does not depend on operation ids, times, measurements, or the destination of
        each server.
      - If C(plan.json) of the approved plan is not in O(report_dir), set O(expect_plan) to the C(plan_sha256), followed
        by the character C(@) and the path of C(plan.json).
      - The run resumes an open operation only if the operation began with the approved plan.
"""
