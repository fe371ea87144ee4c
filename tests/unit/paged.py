# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of an audit, and what it says is to be done."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.reports import page as renderer
from ansible_collections.stackguard.nova.plugins.plugin_utils import pages


def page(found, against=None, version=None):
    """Return C(report.html) of an audit. ``against``: C(changes.json)."""
    context = dataclasses.replace(audit.context(found, against), version=version)
    return pages.html(found.report, None, context)


def to_do(found):
    """Return the cards of what is to be done on hosts on which the order does not matter."""
    return renderer.cards(renderer.to_settle(found.report), renderer.Fleet(found.report))
