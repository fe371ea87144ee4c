# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Places that keep the old name, since nothing looks a host up by them. Pure."""

from __future__ import annotations

from .place import NamePlace, Text


class LeftAlone(NamePlace):
    """Records of what was, and what is not this collection's to write."""

    text = Text(
        "`instance_faults`, `instance_actions_events`, `task_log`, stored `request_specs`, `attached_host` and "
        "connectors of Cinder's volume attachments; DNS, certificates, ssh's `known_hosts`, monitoring, `/etc/hosts` "
        "of other hosts",
        "before a rename, the run looks for services that depend on the host's name (SG313), reads the certificates on "
        "the host (SG314), and counts the volumes, naming those whose back end may know hosts by name (SG308). The run "
        "does not look for the old name in `instance_faults`, `instance_actions_events`, `task_log`, `request_specs`, "
        "DNS, `known_hosts`, monitoring, or `/etc/hosts` of other hosts",
        "the run changes none of these places",
        "nothing to undo",
        "all of these places keep the old name. A move, or a new attachment, writes `attached_host` anew",
    )
    codes = ("SG308", "SG313", "SG314")


PLACE = LeftAlone()
