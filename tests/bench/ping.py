# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading compute hosts over ssh, against ``ansible -m ping`` on the same hosts: ``make bench-ping``.

Starts STACKGUARD_BENCH_HOSTS (200) sshd of OpenSSH on this machine, each with its own port, host key and client key.
Then it runs in turns, STACKGUARD_BENCH_ROUNDS (3) times each, with the ansible.cfg of ``examples/`` and
STACKGUARD_BENCH_FORKS (20) forks:

* ``ping``: ``ansible all -m ping``;
* ``play``: the play of the audit's playbook that reads the hosts, alone;
* ``audit``: the whole audit playbook with ``audit_sources: [hosts]``, judgement and reports included.

Printed are the least, the median and the most of the wall time, and the processor time of the controller and of all
hosts together. Controller and hosts share this machine: their processor time is what the wall time is made of. Each
run opens its own connections. STACKGUARD_BENCH_PYTHON is the hosts' interpreter (auto: Ansible discovers it).
STACKGUARD_BENCH_RUNS names which of the three run.
"""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import json
import os
import pathlib
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = int(os.environ.get("STACKGUARD_BENCH_HOSTS") or 200)
FORKS = int(os.environ.get("STACKGUARD_BENCH_FORKS") or 20)
ROUNDS = int(os.environ.get("STACKGUARD_BENCH_ROUNDS") or 3)
PYTHON = os.environ.get("STACKGUARD_BENCH_PYTHON") or "/usr/bin/python3"
RUNS = (os.environ.get("STACKGUARD_BENCH_RUNS") or "ping play audit").split()
PLAY = "Collect facts from the compute hosts"
_SUBREAPER = 36

SSHD = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {place}/host_{number}
AuthorizedKeysFile {place}/client_{number}.pub
PidFile none
LogLevel QUIET
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
# bash reads the files of an interactive shell where sshd starts it, unless it is not the outermost one.
SetEnv SHLVL=1
"""


def free_ports(count):
    """Ports that nobody listens on: all are bound at once, so that they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", path], check=True)


@contextlib.contextmanager
def servers(place):
    """Start an sshd for each host, write the inventory, and yield the processes."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if sshd is None:
        raise SystemExit("There is no sshd: install the package openssh-server.")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    hosts, known, running = {}, [], []
    try:
        for number, port in enumerate(free_ports(HOSTS), 1):
            key(f"{place}/host_{number}")
            key(f"{place}/client_{number}")
            pathlib.Path(f"{place}/sshd_{number}").write_text(SSHD.format(port=port, place=place, number=number))
            running.append(subprocess.Popen([sshd, "-D", "-e", "-f", f"{place}/sshd_{number}"]))
            kind, public = pathlib.Path(f"{place}/host_{number}.pub").read_text().split()[:2]
            known.append(f"[127.0.0.1]:{port} {kind} {public}\n")
            hosts[f"compute{number}"] = {
                "ansible_port": port,
                "ansible_ssh_private_key_file": f"{place}/client_{number}",
            }
        pathlib.Path(f"{place}/known_hosts").write_text("".join(known))
        common = {
            "ansible_host": "127.0.0.1",
            "ansible_user": getpass.getuser(),
            "ansible_python_interpreter": PYTHON,
            "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={place}/known_hosts -o IdentitiesOnly=yes",
        }
        inventory = {"all": {"children": {"compute": {"hosts": hosts, "vars": common}}}}
        pathlib.Path(f"{place}/inventory.json").write_text(json.dumps(inventory))
        for number, one in enumerate(running, 1):
            wait_for(one, int(hosts[f"compute{number}"]["ansible_port"]))
        yield running
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait()


def wait_for(process, port):
    for _ in range(200):
        if process.poll() is not None:
            raise SystemExit(f"sshd ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise SystemExit(f"sshd does not listen on port {port}")


def playbook(place):
    """Write the audit's play that reads the hosts as a playbook: before it is what the audit sets for it."""
    plays = yaml.safe_load((ROOT / "playbooks" / "audit.yml").read_text())
    (play,) = [one for one in plays if one["name"] == PLAY]
    given = {
        "stackguard_audit_evidence": f"{place}/evidence",
        "stackguard_audit_reads": ["hosts"],
        "stackguard_audit_ceph": [],
    }
    set_fact = {"ansible.builtin.set_fact": {**given, "cacheable": False}}
    before = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [set_fact]}
    pathlib.Path(f"{place}/play.yml").write_text(yaml.safe_dump([before, {**play, "hosts": "compute"}]))


def commands(place):
    given = {"audit_sources": ["hosts"], "audit_ceph": False, "audit_fail_on": "never"}
    given["stackguard_report_dir"] = f"{place}/reports"
    return {
        "ping": ["adhoc", "compute", "-m", "ping"],
        "play": ["playbook", f"{place}/play.yml"],
        "audit": ["playbook", "stackguard.nova.audit", "-e", json.dumps(given)],
    }


def of_hosts(running):
    """Processor seconds of the sshd, and of all below them that have ended."""
    total = 0
    for one in running:
        fields = pathlib.Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def close(control):
    """End the connections that ssh keeps open; they are our children, so that their time is counted."""
    for path in control.iterdir():
        subprocess.run(["ssh", "-F", "none", "-o", f"ControlPath={path}", "-O", "exit", "none"], capture_output=True)
    time.sleep(1)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def run(place, running, argv):
    """Run one, and return wall time and processor time of the controller and of the hosts."""
    control = pathlib.Path(tempfile.mkdtemp(prefix="sgb-"))
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".build" / "dev"), "ANSIBLE_HOME": f"{place}/home"}
    env.update(ANSIBLE_CONFIG=str(ROOT / "examples" / "ansible.cfg"), ANSIBLE_SSH_CONTROL_PATH_DIR=str(control))
    argv = [sys.executable, "-m", "ansible", *argv, "-i", f"{place}/inventory.json", "-f", str(FORKS)]
    hosts, controller, begun = of_hosts(running), of_children(), time.monotonic()
    try:
        done = subprocess.run(argv, env=env, capture_output=True, text=True, cwd=place)
        taken = time.monotonic() - begun
    finally:
        close(control)
        shutil.rmtree(control, ignore_errors=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "UNREACHABLE" not in done.stdout and "FAILED" not in done.stdout, done.stdout[-2000:]
    return taken, of_children() - controller, of_hosts(running) - hosts


def read(place):
    """Return how many hosts have left their facts, and forget them: a run that read nothing is fast, too."""
    folder = pathlib.Path(place) / "evidence"
    count = len(list(folder.glob("hosts/*.json")))
    shutil.rmtree(folder, ignore_errors=True)
    return count


def spread(values):
    return f"{min(values):8.2f} {statistics.median(values):8.2f} {max(values):8.2f}"


def main():
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="stackguard-bench-") as place, servers(place) as running:
        playbook(place)
        taken = {name: [] for name in commands(place) if name in RUNS}
        for number in range(ROUNDS):
            for name, rounds in taken.items():
                rounds.append(run(place, running, commands(place)[name]))
                assert name != "play" or read(place) == HOSTS, "not every host was read"
                print(
                    f"round {number + 1} {name:8}" + "".join(f" {value:8.2f} s" for value in rounds[-1]),
                    flush=True,
                )
    print(f"{HOSTS} hosts, {FORKS} forks, {ROUNDS} rounds, interpreter {PYTHON}: least, median, most, in seconds")
    for name, rounds in taken.items():
        for what, values in zip(("wall time", "processor, controller", "processor, hosts"), zip(*rounds)):
            print(f"{name:8} {what:24} {spread(values)}")
    for name in [name for name in taken if name != "ping" and "ping" in taken]:
        wall = [ours[0] / bare[0] for ours, bare in zip(taken[name], taken["ping"])]
        used = [sum(ours[1:]) / sum(bare[1:]) for ours, bare in zip(taken[name], taken["ping"])]
        print(f"ratio {name} to ping: wall time {spread(wall)}   processor time {spread(used)}")


if __name__ == "__main__":
    main()
