# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long nova-compute is away during a rename, against a bare ``systemctl restart``: ``make bench-rename_outage``.

Away: from the moment it is asked to stop until its new process has joined the service group, by its own log. The lab
of STACKGUARD_LAB_INSTANCE is used, renamed, and renamed back.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from labkit import guests as guestkit
from labkit import state, waiting
from labkit.fixtures import documented_grants, prepared
from labkit.lab import current
from labkit.playbook import Playbooks

OLD, NEW = "compute1", guestkit.NEW
LOG = "/var/log/nova/nova-compute.log"
#: Prints the host's time at the first look at which the unit is neither active nor activating.
STOPPING = """
while :; do
  state=$(systemctl show -p ActiveState --value nova-compute)
  [ "$state" = active ] || [ "$state" = activating ] || { date +%s.%N; exit; }
  sleep 0.05
done
"""


def away(lab, act):
    """Return seconds between the stop that ``act`` makes and the next start that is complete."""
    size = int(lab.ssh(OLD, f"stat -c %s {LOG}"))
    watcher = subprocess.Popen([*lab.ssh_argv(OLD), "sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    watcher.stdin.write(STOPPING)
    watcher.stdin.close()
    act()
    stopped = float(watcher.stdout.readline())
    watcher.wait()

    def joined():
        text = lab.ssh(OLD, f"tail -c +{size + 1} {LOG}")
        return re.findall(r"^(\S+ [\d:.]+) .*Join ServiceGroup membership", text, re.MULTILINE)

    when = waiting.until("nova-compute joined its service group", joined, 180)[-1]
    return float(lab.ssh(OLD, f"date -d '{when}' +%s.%N")) - stopped


def main():
    lab = prepared(current())
    guestkit.make(lab)
    urls = guestkit.grant(lab, "sg_exact", documented_grants())
    urls.pop("neutron_db_url")
    playbooks = Playbooks(lab, {"cloud": "lab", **urls})
    bare = [away(lab, lambda: lab.ssh(OLD, "systemctl restart nova-compute")) for _ in range(2)]
    guestkit.wait_compute(lab, OLD)
    before = state.guests(lab)
    renames, totals = [], []
    for names in ((OLD, NEW), (NEW, OLD)):
        seconds = away(lab, lambda names=names: totals.append(playbooks.rename(*names).ok().seconds))
        renames.append(seconds)
    state.assert_same(before, state.guests(lab), "guests")
    print(f"bare restart: {', '.join(f'{value:.1f} s' for value in bare)}")
    print(f"rename: away {', '.join(f'{value:.1f} s' for value in renames)}; whole run "
          f"{', '.join(f'{value:.1f} s' for value in totals)}")  # fmt: skip
    print(f"ratio: {min(renames) / min(bare):.1f}")


if __name__ == "__main__":
    main()
