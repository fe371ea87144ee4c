# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How often an evacuation opens the images in Ceph: ``make bench-evacuation_reads``, or with [HOSTS] [SERVERS].

A simulation, without Ansible, Nova or Ceph: the operation is the real one, and so is what reads Ceph on a host; below
it is a cluster that counts. 1,000 hosts, and 500 servers with 750 images on the dead one. The output has each look of
the run: how many hosts were read, how many of them opened images, and how often each image was opened. "Every host" is
what the same looks open if every host that is read opens what it is asked for.
"""

from __future__ import annotations

import pathlib
import resource
import sys
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".build" / "dev"))

from ansible_collections.stackguard.nova.tests.unit.evacuation_fleet import Fleet  # noqa: E402


class Told(Fleet):
    """Counts the hosts of each look, too."""

    def __init__(self, *args: object, **given: object) -> None:
        super().__init__(*args, **given)
        self.read: dict[int, int] = {}

    def _read_hosts(self, need):
        answer = super()._read_hosts(need)
        count = len(self.base) if need["hosts"] is None else len(need["hosts"])
        self.read[self.look_number] = max(count, self.read.get(self.look_number, 0))
        return answer


def main() -> None:
    hosts, servers = (int(value) for value in (sys.argv[1:] or ["1000", "500"]))
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        fleet = Told(pathlib.Path(directory), patch, hosts=hosts, servers=servers)
        images = len(fleet.disks)
        print(f"{hosts} hosts, {servers} servers with {images} images on the dead one", flush=True)
        begun = time.monotonic()
        done = fleet.run()
        assert not done["failed"], done["msg"]
        every = 0
        for look in fleet.looks():
            opens = fleet.opens(look)
            every += fleet.read[look] * images
            print(
                f"look {look}: {fleet.read[look]:5} hosts read, {len(fleet.openers(look))} of them opened images: "
                f"{len(opens)} images, {sum(opens.values())} times, each at most {max(opens.values())} times"
            )
            assert set(opens.values()) == {1}, "an image was opened twice in one look"
            assert len(opens) == images, "an image was not opened"
        ours = sum(sum(fleet.opens(look).values()) for look in fleet.looks())
        guards = sum(fleet.opens(None).values())
        print(f"the whole run: {ours} opened by looks, every host would open {every}: {every / ours:.0f} times as many")
        print(f"beside the looks: {guards} to read guards, before and after they are made and removed")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{len(fleet.nova.asked)} servers sent in {time.monotonic() - begun:.0f} s, at most {peak} MiB")


if __name__ == "__main__":
    main()
