# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a module as a process of its own, as Ansible does, with commands of a made-up host on its PATH."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD

#: ovs-vsctl as far as host_names.py knows it. Where a file "kill" is there, its caller is killed at that word's "set".
OVS = """#!/bin/sh
cd {root} || exit 1
case "$*" in
*list\\ Open_vSwitch)
    printf '{{"data":[[["map",[["hostname","%s"],["system-id","u"]]]]],"headings":["external_ids"]}}' "$(cat ovs)" ;;
*" set Open_vSwitch . "*)
    [ "$(cat kill 2>/dev/null)" = before ] && {{ rm kill; kill -9 "$PPID"; exit 1; }}
    for last; do :; done
    printf %s "$last" | sed 's/.*="//; s/"$//' > ovs
    [ "$(cat kill 2>/dev/null)" = after ] && {{ rm kill; kill -9 "$PPID"; }}
    exit 0 ;;
*) echo "unexpected: $*" >&2; exit 2 ;;
esac
"""

#: systemctl as far as units.py knows it. A file "kill" holds the first words of the call at which the caller is killed.
SYSTEMCTL = """#!/bin/sh
cd {root} || exit 1
echo "$*" >> calls
case "$*" in show*) ;; *)
    if [ -e kill ] && case "$*" in "$(cat kill)"*) true ;; *) false ;; esac; then rm kill; kill -9 "$PPID"; exit 1; fi
esac
word=$1
for name; do :; done
case $word in
show)
    shift 3
    for name; do
        [ -e "$name" ] || {{ printf 'Id=%s\\nLoadState=not-found\\nActiveState=inactive\\n\\n' "$name"; continue; }}
        load=loaded drop_in=""
        [ -L "loaded/$name" ] && load=masked
        [ -e "loaded/$name.d/00-stackguard.conf" ] && drop_in={root}/system/$name.d/00-stackguard.conf
        printf 'Id=%s\\nLoadState=%s\\nActiveState=%s\\nMainPID=0\\nDropInPaths=%s\\n\\n' \\
            "$name" $load "$(cat "$name")" "$drop_in"
    done ;;
stop) echo inactive > "$name" ;;
start)
    if [ -L "system/$name" ] || [ -e "state/.blocked-$name" ]; then echo "$name: refused" >&2; exit 1; fi
    echo active > "$name" ;;
daemon-reload) rm -rf loaded; cp -a system loaded ;;
mask) ln -sf /dev/null "system/$name"; rm -rf loaded; cp -a system loaded ;;
unmask) rm -f "system/$name"; rm -rf loaded; cp -a system loaded ;;
esac
"""

#: The binding of libvirt, as far as a host without guests needs it; refuses every URI but one.
BINDING = """
class libvirtError(Exception):
    def get_error_code(self):
        return 38
VIR_ERR_NO_DOMAIN = 42
def registerErrorHandler(_handler, _context):
    pass
def openReadOnly(uri):
    if uri != "test:///default":
        raise libvirtError("no connection")
    return Connection()
class Connection:
    def getHostname(self):
        return "libvirts-name"
    def getLibVersion(self):
        return 9000000
    def getCapabilities(self):
        return "<capabilities><host><uuid>7fe11cd1-4525-5ffa-817c-991f06c17f73</uuid></host></capabilities>"
    def listAllDomains(self, _flags):
        return []
    def close(self):
        pass
"""


class Host:
    """A made-up host below a directory: its commands, its units, the modules' state directory."""

    def __init__(self, root):
        self.root, self.state = root, root / "state"
        (root / "bin").mkdir()
        (root / "system").mkdir()
        (root / "python").mkdir()
        (root / "python" / "libvirt.py").write_text(BINDING)
        (root / "ovs").write_text("old")
        for name, text in (("ovs-vsctl", OVS), ("systemctl", SYSTEMCTL)):
            (root / "bin" / name).write_text(text.format(root=root))
            (root / "bin" / name).chmod(0o755)

    def run(self, module, check=False, **options):
        """Run a module; return what it printed (None where it was killed) and how its process ended."""
        given = {**options, "_ansible_check_mode": check, "_ansible_diff": True, "_ansible_remote_tmp": str(self.root)}
        name = f"ansible_collections.stackguard.nova.plugins.modules.{module}"
        code = (
            "from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import units\n"
            f"units.SYSTEM = {str(self.root / 'system')!r}\n"
            f"import {name} as module\nmodule.main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps({"ANSIBLE_MODULE_ARGS": given}),
            env={
                **os.environ,
                "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": f"{self.root / 'python'}:{BUILD / 'dev'}",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return (json.loads(done.stdout) if done.stdout else None), done.returncode

    def steps(self, *requests, check=False):
        """Run compute_host_step."""
        return self.run("compute_host_step", check, requests=list(requests), state_dir=str(self.state))
