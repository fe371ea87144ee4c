# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cloud in which much is wrong, with names that mean harm: what the forms of a report are tried on."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest, healthy, uid

#: Each would run a script, or leave the place it was put into, were it not escaped.
HOSTILE = (
    "<script>document.title = 'owned'</script>",
    '"><img src=x onerror="document.title = \'owned\'">',
    "</script><script>document.title = 'owned'</script>",
    "{{ 7 * 191 }}{% raw %}",
    "javascript:document.title='owned'",
    "\x1b[31mred\x07 \u202etxt",
)


def troubled(hosts=9):
    """Findings of every severity, unread parts, a refusal, a guest that a start would destroy, hostile names."""
    some = healthy(hosts=hosts, guests=3)
    for number, name in enumerate(HOSTILE):
        host, index = (1, 2, 9)[number % 3], 1 + number // 3
        some = some.change("instances", {"uuid": guest(host, index)}, display_name=name)
        some = some.drop("domains", {"uuid": guest(host, index)}, f"compute{host}")
    some = some.change("domains", None, "compute4", 1, memory_mib=40000)
    some = some.migrate(guest(5, 1), "compute5", "compute6", "done", "evacuation")
    some = some.migrate(guest(7, 1), "compute7", "compute8", "running", "live-migration")
    some = some.part("libvirt", "compute6", hostname="<b>compute6</b>")
    some = some.change("api_services", {"host": "compute2"}, state="down")
    some = some.change("instances", {"uuid": guest(7, 2)}, task_state="rebooting")
    some = some.unreachable("compute3", "<i>timed out</i>").host("compute8", memory=None)
    watchers = [facts.RbdWatcher(f"{address(host)}:0/{host}", "client.1") for host in (1, 2)]
    image = facts.RbdImage(f"{guest(2, 3)}_disk", "1a", 1, [facts.RbdSnapshot("stackguard-abc")], watchers, [])
    return some.host("compute9", rbd=facts.RbdFacts("library", "fsid", "vms", [], [image], None))


def many(findings):
    """A cloud with at least this many findings."""
    some = healthy(hosts=20, guests=1)
    rows = some.rows("instances")
    lost = [
        dataclasses.replace(rows[number % len(rows)], id=10_000 + number, uuid=uid("lost", number))
        for number in range(findings)
    ]
    return some.put("instances", [*rows, *lost])
