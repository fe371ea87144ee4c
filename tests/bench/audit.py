# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long an audit takes: ``make bench-audit``, or ``python tests/bench/audit.py [evidence] [local] [sent]``.

* ``evidence``: time and memory of judging saved evidence of 1,000 hosts (STACKGUARD_BENCH_CLOUD) with 50 servers each,
  their definitions and the records of these, and of its report;
* ``local``: the playbook over 200 hosts of a local connection, against ``ansible -m ping`` on the same hosts and forks
  (STACKGUARD_BENCH_HOSTS, STACKGUARD_BENCH_FORKS). Without ssh: what is compared is Ansible's own work.
* ``sent``: bytes of what is sent to each host, and the processor time to compile and import it there, the best of nine
  (STACKGUARD_BENCH_PYTHON, /usr/bin/python3).

What reading the databases costs: tests/bench/databases.py and tests/bench/links.py.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".build" / "dev"))

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.model import domain_xml, facts  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit import builders, paged  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit import test_sent_to_hosts as sent_files  # noqa: E402

HOSTS, GUESTS = int(os.environ.get("STACKGUARD_BENCH_CLOUD") or 1000), 50
XML = (ROOT / "tests" / "unit" / "systems" / "host" / "recorded" / "domain.xml").read_text()
LOCAL = int(os.environ.get("STACKGUARD_BENCH_HOSTS") or 200)
FORKS = int(os.environ.get("STACKGUARD_BENCH_FORKS") or 20)


def timed(what, function):
    start = time.monotonic()
    result = function()
    seconds = time.monotonic() - start
    print(f"{what:60} {seconds:8.2f} s   {peak()} MiB at most so far", flush=True)
    return seconds, result


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def big():
    """A cloud in which one instance of fifty has lost its domain, and one host of a hundred its name."""
    some = builders.healthy(hosts=HOSTS, guests=GUESTS, new=None)
    hosts, recorded, made = dict(some.bundle.hosts), {}, domain_xml.definition(XML)
    for number in range(1, HOSTS + 1):
        name = f"compute{number}"
        some_facts = hosts[name]
        changes = {"domains": some_facts.domains[1:], "resolutions": [], "etc_hosts": []}
        changes["definitions"] = [
            facts.GuestDefinition(domain.uuid, domain.name, builders.AT, made, made) for domain in some_facts.domains
        ]
        recorded.update({guest.uuid: guest for guest in changes["definitions"]})
        if number % 100 == 0:
            changes["kernel_hostname"] = f"renamed{number}"
        hosts[name] = builders.dataclasses.replace(some_facts, **changes)
    return builders.dataclasses.replace(some.bundle, hosts=hosts, recorded=recorded)


def judged():
    _seconds, bundle = timed(f"made: {HOSTS} hosts, {HOSTS * GUESTS} servers (not part of an audit)", big)
    with tempfile.TemporaryDirectory() as directory:
        timed("evidence.jsonl written", lambda: evidence.save_whole(directory, bundle))
        path = f"{directory}/{evidence.WHOLE}"
        print(f"{'':60} {os.path.getsize(path) // 2**20:8} MiB")
        _seconds, again = timed("evidence.jsonl read", lambda: evidence.load(path))
        _seconds, found = timed("judged", lambda: audit.audited(again))
        for name, form in (
            ("report.json", audit.report_json),
            ("forecast.json", audit.forecast_json),
            ("report.prom", audit.report_prom),
            ("report.html", paged.page),
            ("the table", audit.table),
        ):
            _seconds, text = timed(name, lambda form=form: form(found))
            print(f"{'':60} {len(text) // 1024:8} KiB")
        print(f"{len(found.checked.findings)} findings, verdict {found.verdict}")


def local():
    """Ansible's own work for a host, with ours and with next to none."""
    with tempfile.TemporaryDirectory() as directory:
        here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        inventory = {"compute": {"hosts": {f"compute{number}": here for number in range(LOCAL)}}}
        (pathlib.Path(directory) / "inventory.json").write_text(json.dumps(inventory))
        common = ["-i", f"{directory}/inventory.json", "-f", str(FORKS)]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".build" / "dev")}
        env.update(ANSIBLE_HOME=f"{directory}/home", ANSIBLE_STDOUT_CALLBACK="default")
        given = {"audit_sources": ["hosts"], "audit_ceph": False, "audit_fail_on": "never"}
        given["stackguard_report_dir"] = f"{directory}/reports"

        def run(*argv):
            done = subprocess.run([sys.executable, "-m", "ansible", *argv], env=env, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

        bare, _result = timed(
            f"ansible -m ping, {LOCAL} hosts, {FORKS} forks", lambda: run("adhoc", "compute", "-m", "ping", *common)
        )
        ours, _result = timed(
            "the audit's playbook, hosts alone",
            lambda: run("playbook", "stackguard.nova.audit", *common, "-e", json.dumps(given)),
        )
        print(f"{'ratio':60} {ours / bare:8.2f}")


IMPORTED = """
import sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import concurrent.futures, dataclasses, glob, hashlib, ipaddress, json, socket, subprocess, tempfile, typing
import xml.etree.ElementTree
begun = time.process_time()
import ansible_collections.stackguard.nova.plugins.module_utils.systems.host.facts
print((time.process_time() - begun) * 1000)
"""


def sent():
    """What Ansible packs of ours into one call of compute_host_info. No wall time: the machine may be busy."""
    python = os.environ.get("STACKGUARD_BENCH_PYTHON") or "/usr/bin/python3"
    files = sent_files.closure(ROOT / "plugins" / "modules" / "compute_host_info.py", set())
    with tempfile.TemporaryDirectory() as directory:
        path, packages = f"{directory}/sent.zip", set()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for file in sorted(files):
                name = pathlib.Path("ansible_collections/stackguard/nova") / file.relative_to(ROOT)
                out.writestr(str(name), file.read_bytes())
                packages.update(parent for parent in name.parents if parent.name)
            for package in sorted(packages):
                out.writestr(str(package / "__init__.py"), b"")
        size = os.path.getsize(path)
        argv = [python, "-S", "-c", IMPORTED, path]
        taken = min(float(subprocess.run(argv, capture_output=True, check=True).stdout) for _ in range(9))
    print(f"sent to each host: {len(files)} files, {sum(file.stat().st_size for file in files)} bytes, {size} packed")
    print(f"compiled and imported there in {taken:.0f} ms of processor time, without the standard library")


def main():
    wanted = sys.argv[1:] or ["evidence", "local", "sent"]
    for name, part in (("evidence", judged), ("local", local), ("sent", sent)):
        if name in wanted:
            part()


if __name__ == "__main__":
    main()
