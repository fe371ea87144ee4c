# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Time and memory of judging saved evidence of a large cloud: ``make bench-saved``.

10,000 hosts (STACKGUARD_BENCH_CLOUD) with 100 instances each: each with its row, its server in the API, its port, its
allocation and its domain; one host in fifty has lost a domain. The file is some 2 GB, made record by record, in
STACKGUARD_BENCH_DIR (a new directory, removed at the end). Told are ratios to parsing its records one by one: into
plain data (json.loads), and into facts. Processor time, each in a process of its own.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".build" / "dev"))

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, garbage  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence, evidence_file  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit import builders  # noqa: E402

HOSTS, GUESTS, RELEASE = int(os.environ.get("STACKGUARD_BENCH_CLOUD") or 10000), 100, 34


def unique(entry, number, index, **names):
    """Guests are called alike in tests: here each has a name of its own, as in a cloud."""
    return dataclasses.replace(entry, **{field: f"{name}-{number}-{index}" for field, name in names.items()})


def host(number, name):
    made = builders._host(number, {number: name}, GUESTS, RELEASE, True)
    domains = [unique(one, number, index, nova_name="guest") for index, one in enumerate(made.domains, 1)]
    return dataclasses.replace(made, domains=domains[number % 50 == 0 :])


def server(number, index, name):
    return unique(builders._server(number, index, name), number, index, name="guest")


def instance(number, index, name):
    row = builders.instance_row(number, index, name.host, name.libvirt, RELEASE)
    return unique(row, number, index, display_name="guest")


class Made(collections.abc.Sequence):
    """Records of all hosts, each made when it is looked at."""

    def __init__(self, names, make, each):
        self.names, self.make, self.each = names, make, each

    def __len__(self):
        return len(self.names) * self.each

    def __getitem__(self, index):
        raise TypeError("these are looked at one after the other")

    def __iter__(self):
        for number, name in self.names.items():
            for index in range(1, self.each + 1):
                yield self.make(number, index, name)


class Hosts(collections.abc.Mapping):
    """Hosts by inventory name, each made when it is looked at."""

    def __init__(self, names):
        self.names = {name.inventory: (number, name) for number, name in names.items()}

    def __len__(self):
        return len(self.names)

    def __iter__(self):
        return iter(self.names)

    def __getitem__(self, inventory):
        return host(*self.names[inventory])


def make(directory):
    """Write evidence.jsonl."""
    names = {number: builders.STYLES["short"](number) for number in range(1, HOSTS + 1)}
    names = dict(sorted(names.items(), key=lambda item: item[1].inventory))
    cloud = dataclasses.replace(
        builders._cloud(names, 0, RELEASE, True),
        servers=Made(names, server, GUESTS),
        ports=Made(names, lambda number, index, name: builders.port(number, index, name.host, "ovs"), GUESTS),
        providers=Made(names, lambda number, _index, name: builders._provider(number, name, GUESTS), 1),
    )
    databases = builders._databases(names, 0, 1, RELEASE, True)
    (cell,) = databases.cells
    cells = [dataclasses.replace(cell, instances=Made(names, instance, GUESTS))]
    databases = dataclasses.replace(databases, cells=cells)
    evidence.save_whole(directory, facts.Bundle(facts.SCHEMA, builders.AT, Hosts(names), {}, cloud, databases))


def parse(directory, build):
    """Parse each record, and throw it away."""
    classes = {part.kind: part.cls for parts in evidence_file.PARTS.values() for part in parts}
    with open(f"{directory}/{evidence.WHOLE}") as lines:
        for line in lines:
            plain = json.loads(line)
            cls = classes.get(plain.pop("kind"))
            if cls is not None and cls not in evidence_file.PARTS:
                build(cls, plain)


def judge(directory):
    from ansible_collections.stackguard.nova.tests.unit.paged import page

    marks = [("imported", time.process_time())]
    bundle = evidence.load(f"{directory}/{evidence.WHOLE}")
    marks.append(("read", time.process_time()))
    found = audit.audited(bundle)
    marks.append(("judged", time.process_time()))
    texts = (audit.report_json, audit.forecast_json, audit.report_prom, audit.table, page)
    sizes = [len(form(found)) for form in texts]
    marks.append(("reports", time.process_time()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    for (_name, before), (name, after) in zip(marks, marks[1:]):
        print(f"  {name:56} {after - before:8.1f} s")
    print(f"  {len(found.checked.findings)} findings, verdict {found.verdict}, reports of {sum(sizes) // 1024} KiB")
    print(f"  {'memory, Python and Ansible included':56} {peak:8} MiB at most")
    if os.environ.get("STACKGUARD_BENCH_WRITTEN"):
        evidence.save_whole(f"{directory}/again", bundle)
        taken = time.process_time() - marks[-1][1]
        print(f"  {'evidence.jsonl written again beside the report':56} {taken:8.1f} s")
        same = pathlib.Path(f"{directory}/again/{evidence.WHOLE}").stat().st_size
        assert same == os.path.getsize(f"{directory}/{evidence.WHOLE}"), same
        print(f"  {'memory':56} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:8} MiB at most")
    return marks[-1][1] - marks[0][1]


PARTS = {
    "make": make,
    "json": lambda directory: parse(directory, lambda _cls, plain: plain),
    "facts": lambda directory: parse(directory, facts.from_plain),
    "judge": garbage.garbage_collection_paused()(judge),
}


def child(part, directory, told):
    print(told, flush=True)
    argv = [sys.executable, __file__, part, directory]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    *lines, seconds = done.stdout.splitlines()
    print("\n".join([*lines, f"  {'processor time':56} {float(seconds):8.1f} s"]), flush=True)
    return float(seconds)


def main():
    if len(sys.argv) == 3:
        begun = time.process_time()
        seconds = PARTS[sys.argv[1]](sys.argv[2])
        print(time.process_time() - begun if seconds is None else seconds)
        return
    with tempfile.TemporaryDirectory(prefix="stackguard-bench-", dir=os.environ.get("STACKGUARD_BENCH_DIR")) as place:
        child("make", place, f"made: {HOSTS} hosts, {HOSTS * GUESTS} instances (not part of an audit)")
        print(f"{os.path.getsize(f'{place}/{evidence.WHOLE}') // 2**20} MiB")
        plain = child("json", place, "each record parsed: json.loads")
        built = child("facts", place, "each record parsed into facts")
        taken = child("judge", place, "evidence.jsonll judged")
    print(f"ratio to parsing into facts {taken / built:.2f}, to json.loads alone {taken / plain:.2f}")


if __name__ == "__main__":
    main()
