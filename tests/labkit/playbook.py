# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""``ansible-playbook`` as people run it: a process, its output, its report, and no secret in any of them."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from .guests import PASSWORD
from .lab import ROOT

COLLECTIONS = pathlib.Path(os.environ.get("STACKGUARD_TEST_COLLECTIONS") or ROOT / ".build" / "collections")
INJECT = ROOT / "tests" / "crash" / "inject"
RUNS = ROOT / ".build" / "runs"
#: What a run needs of the collection.
PARTS = ("plugins", "roles", "playbooks", "meta", "galaxy.yml")
#: Where constants are that tests shorten: by the operation, the file, and the dictionary in it.
FIXED = {
    "evacuate": ("plugins/module_utils/evacuation/options.py", "FIXED"),
    "migrate": ("plugins/action/server_migrate.py", "ActionModule.FIXED"),
}


def copy_with_constants(directory, operation, constants):
    """Copy the collection with other values of constants that no operator turns; returns the path of collections.

    What an operator cannot turn a test may not wait for: a limit of 200 rounds, or of half an hour for one server.
    """
    copy = directory / "collections" / "ansible_collections" / "stackguard" / "nova"
    copy.mkdir(parents=True)
    for part in PARTS:
        source = COLLECTIONS / "ansible_collections" / "stackguard" / "nova" / part
        if source.is_dir():
            shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, copy / part)
    path, name = FIXED[operation]
    with (copy / path).open("a") as stream:
        stream.write(f"\nassert {set(constants)!r} <= set({name})\n{name}.update({constants!r})\n")
    return directory / "collections"


@dataclasses.dataclass
class Result:
    """How a playbook ended. ``stats``: what set_stats published. ``report``: report.json, where one was written."""

    argv: list
    rc: int
    stdout: str
    stderr: str
    seconds: float
    stats: dict
    report: dict | None
    directory: pathlib.Path

    @property
    def output(self):
        return self.stdout + self.stderr

    @property
    def recap(self):
        """Counts of the recap, by host."""
        tail = self.stdout.partition("PLAY RECAP")[2]
        lines = re.findall(r"^(\S+)\s+: (.*)$", tail, re.MULTILINE)
        return {host: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", rest)} for host, rest in lines}

    @property
    def changed(self):
        return sum(counts["changed"] for counts in self.recap.values())

    @property
    def codes(self):
        return {item["code"] for item in (self.report or {}).get("findings", []) if item["severity"] == "blocker"}

    def ok(self):
        assert self.rc == 0, self.told()
        return self

    def failed(self):
        assert self.rc not in (0, -9), self.told()
        return self

    def told(self):
        head = f"exit {self.rc} after {self.seconds:.1f} s: {' '.join(self.argv)}"
        return f"{head}\n{self.stdout[-8000:]}\n{self.stderr[-3000:]}"


class Playbooks:
    """Runs playbooks of the collection against one lab. ``variables``: what an inventory of that cloud would hold."""

    program = ROOT / ".venv" / "bin" / "ansible-playbook"
    #: Another inventory than the lab's own.
    inventory = None

    def __init__(self, lab, variables):
        self.lab = lab
        self.variables = variables
        self.results = []
        self.count = 0
        self.runs = self.directory()
        shutil.rmtree(self.runs, ignore_errors=True)

    def directory(self):
        """Where runs leave what they write."""
        return RUNS / f"i{self.lab.instance}"

    def environment(self):
        """The environment of a run: nothing of ours that an Ansible or an OpenStack client would read."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "OS_"))}
        return {
            **kept,
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_HOME": str(ROOT / ".build" / f"ansible-home-i{self.lab.instance}"),
        }

    @property
    def secrets(self):
        return {self.lab.info["password"], PASSWORD}

    def start(self, name, words=(), variables=None, env=None, flags=(), constants=None):
        """Start a playbook (of the collection, or a file); returns the process.

        ``words``: -e KEY=VALUE as typed; ``variables``: of this run only; ``constants``: see copy_with_constants.
        """
        self.count += 1
        directory = self.runs / f"{self.count:03}"
        directory.mkdir(parents=True)
        given = {"stackguard_report_dir": str(directory / "reports"), **self.variables, **(variables or {})}
        given = {key: value for key, value in given.items() if value is not None}
        file = directory / "vars.json"
        file.touch(0o600)
        file.write_text(json.dumps(given))
        argv = [
            str(self.program),
            name if name.endswith(".yml") else f"stackguard.nova.{name}",
            "-i",
            self.inventory or self.lab.info["inventory"],
        ]
        argv += ["-e", f"@{file}"] + [part for word in words for part in ("-e", word)] + list(flags)
        environment = {
            **self.environment(),
            "ANSIBLE_SHOW_CUSTOM_STATS": "1",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_RETRY_FILES_ENABLED": "0",
            "OS_CLIENT_CONFIG_FILE": self.lab.info["clouds_yaml"],
            **(env or {}),
        }
        if constants:
            kind = "evacuate" if name == "evacuate_host" else "migrate"
            environment["ANSIBLE_COLLECTIONS_PATH"] = str(copy_with_constants(directory, kind, constants))
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=(directory / "stdout").open("w"),
            stderr=(directory / "stderr").open("w"),
            start_new_session=True,
        )
        process.directory, process.began, process.words = directory, time.monotonic(), argv
        return process

    def finish(self, process, timeout=600):
        """Wait for a started playbook, and look for secrets in all that it left."""
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(
                f"no end within {timeout} s:\n{(process.directory / 'stdout').read_text()[-6000:]}"
            ) from None
        except BaseException:
            # An interrupted test mends what it broke: no run may go on and find nothing to refuse.
            process.kill()
            raise
        directory = process.directory
        stdout, stderr = (directory / "stdout").read_text(), (directory / "stderr").read_text()
        report = directory / "reports" / "report.json"
        result = Result(
            process.words,
            process.returncode,
            stdout,
            stderr,
            time.monotonic() - process.began,
            _stats(stdout),
            json.loads(report.read_text()) if report.exists() else None,
            directory,
        )
        (directory / "vars.json").unlink()
        self.results.append(result)
        self.assert_no_secret(directory)
        assert "Traceback (most recent call last)" not in result.output, result.told()
        return result

    def run(self, name, *words, variables=None, env=None, flags=(), timeout=600):
        """Run a playbook to its end."""
        return self.finish(self.start(name, words, variables, env, flags), timeout)

    def rename(
        self,
        old="compute1",
        new="cn-rack7.example",
        action=None,
        *,
        kill=None,
        env=None,
        variables=None,
        flags=(),
        timeout=600,
    ):
        """Rename a host. ``kill``: where in the run everything is to be killed, see tests/crash/inject."""
        words = [f"rename_from={old}", f"rename_to={new}", *([f"rename_action={action}"] if action else [])]
        return self.finish(self.start_rename(words, kill, env, variables, flags), timeout)

    def start_rename(self, words, kill=None, env=None, variables=None, flags=()):
        extra = dict(env or {})
        if kill or any(key.startswith("STACKGUARD_TEST") for key in extra):
            extra.update(PYTHONPATH=str(INJECT), STACKGUARD_TEST_KILL=kill or "")
        return self.start("rename_host", words, variables, extra, flags)

    def assert_no_secret(self, directory):
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                text = path.read_text(errors="replace")
                assert not [secret for secret in self.secrets if secret in text], f"a secret is in {path}"


def _stats(stdout):
    """The custom stats that the default callback prints at the end."""
    tail = stdout.partition("CUSTOM STATS")[2]
    found = re.search(r"RUN: (\{.*\})", tail, re.DOTALL)
    return json.loads(found.group(1)).get("stackguard", {}) if found else {}
