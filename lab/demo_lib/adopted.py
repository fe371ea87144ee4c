# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Part 2: compute2 gets its new name again, and the collection restores the old one without a guest noticing."""

from __future__ import annotations

import re

from . import cloud, ovn, playbook, unguarded
from .screen import Screen
from .seen import Seen, names

HOST, NEW_NAME = unguarded.HOST, unguarded.NEW_NAME
BACK = ("-e", "rename_action=adopt", "-e", "rename_adopt=back")


def play(screen: Screen) -> None:
    """The whole part. Every claim is checked."""
    servers = {name: server for name, server in cloud.servers().items() if server.host == HOST}
    before, named, bound = Seen(HOST, servers), names(HOST), ovn.bindings()
    left = " and ".join(sorted(servers))
    screen.tell(
        f"{left} still run on {HOST}, because the operator did not evacuate them. But the operator did not remove the "
        f"cause of the new name. {HOST} gets the new name a second time:"
    )
    unguarded.refused(screen)
    screen.claim(
        f"the guests are not affected: {left} have the same QEMU processes", cloud.domains(HOST) == before.domains
    )

    screen.tell(
        "This time the operator evacuates nothing. The operator asks the collection what has happened. --check changes "
        "nothing:"
    )
    playbook.write_variables(screen)
    found = _checked(screen)
    screen.claim("the check finds the host in this state (SG131), and the old name can be restored", found)

    screen.tell(f"Then the operator lets the collection restore the name {HOST} in every place:")
    code, said = playbook.rename(screen, "adopt.txt", HOST, NEW_NAME, *BACK, follow=True)
    screen.claim("the playbook succeeds", code == 0, said[-3000:])

    screen.tell("The guests, before and after:")
    after = Seen(HOST, servers)
    screen.table(before.beside(after))
    screen.claim(
        "each QEMU is the same process, each definition is identical, and the same clients have each disk open",
        before == after,
    )
    if bound:
        screen.claim("OVN: all ports are bound to the same chassis as before, and up", ovn.bindings() == bound)
    now = names(HOST)
    screen.claim(
        "every place has the same name and the same rows as before the host got the new name",
        now == named,
        [pair for pair in zip(named, now) if pair[0] != pair[1]][:5],
    )
    screen.wait(f"{HOST} to be up", lambda: cloud.compute_services()[HOST]["State"] == "up", 60)
    screen.claim(f"the service is up and enabled as {HOST}", cloud.compute_services()[HOST]["Status"] == "enabled")


def _checked(screen: Screen) -> bool:
    code, said = playbook.rename(screen, "adopt-check.txt", HOST, NEW_NAME, *BACK, "--check", "--diff")
    screen.claim("the check passes: no finding blocks the run", code == 0, said[-3000:])
    screen.listing("\n".join(playbook.plan(said)))
    return bool(re.search(r"\bSG131\b", said))
