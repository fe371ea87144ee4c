# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts of remedies that codes of several series share."""

from __future__ import annotations

from .code import Remedy

STOPPED = "Keep nova-compute stopped."
PART_UNREAD = Remedy(
    "Fix the cause that the evidence shows, then run the audit again. To skip a source on purpose, remove the source "
    "from audit_sources."
)
ONLY_HERE = (
    "Find out whether the guest runs on {host} (virsh domstate {uuid}), because this domain may be the only copy of "
    "the guest. If {host} has no domain of the guest, leave this domain as it is, and follow the page of SG132."
)
READ_FIRST = (
    "Make sure that the run can read libvirt on {hosts}, then run the same command again. Until then, leave the server "
    "as it is, because its guest may run on a host that the run could not read."
)
HANDS_OFF = Remedy(
    "Leave the server and nova-compute on its hosts as they are until SG132 of this server is decided and resolved."
)
OFF_HERE = "the guest executes on Nova's host, and the domain on this host is off"
OFF_DEFINITION = "the definition of a domain that is off"
ROLL_BACK = Remedy(
    "Do not restart anything on the host. Check the evidence, then run rename_host with rename_action=rollback."
)
FILE_OF_ANOTHER_HOST = Remedy(
    "Check rename_from, rename_to and the inventory host, because the compute_id file of this machine has the uuid of "
    "the compute node of {host}. If all three are correct, the file is wrong: stop nova-compute, and write the uuid of "
    "this host's compute node into it."
)
RESUME_RENAME = Remedy("Check the evidence, repair the cause, then run the same command again to resume the rename.")
