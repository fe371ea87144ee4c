# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook as people run it, a process of its own, against real databases and no compute host."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import typing as t

import pytest
import servers
from link_runs import witness
from world import World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence

pytestmark = pytest.mark.ansible

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Result:
    """How a playbook ended."""

    rc: int
    output: str
    report: dict[str, t.Any] | None
    repairs: list[dict[str, t.Any]] | None
    stats: dict[str, t.Any]

    @property
    def codes(self) -> set[tuple[str, str]]:
        return {(item["code"], item["object"]["id"]) for item in (self.report or {})["findings"]}


class Playbook:
    """Runs repair_links in a directory of its own."""

    def __init__(self, world: World, directory: pathlib.Path) -> None:
        self.world = world
        self.directory = directory
        self.hosts = "[compute]\n"
        self.variables: dict[str, t.Any] = {
            **world.options(),
            "stackguard_state_dir": str(directory / "state"),
            "stackguard_report_dir": str(directory / "reports"),
        }

    def start(self, *flags: str, env: t.Mapping[str, str] | None = None, **variables: t.Any) -> subprocess.Popen[str]:
        (self.directory / "inventory").write_text(self.hosts)
        (self.directory / "vars.json").write_text(json.dumps({**self.variables, **variables}))
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "OS_"))},
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".build" / "dev"),
            "ANSIBLE_HOME": str(self.directory / "ansible-home"),
            "ANSIBLE_SHOW_CUSTOM_STATS": "1",
            "ANSIBLE_NOCOLOR": "1",
            **(env or {}),
        }
        program = str(ROOT / ".venv" / "bin" / "ansible-playbook")
        argv = [program, "stackguard.nova.repair_links", "-i", "inventory", "-e", "@vars.json", *flags]
        return subprocess.Popen(
            argv,
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *flags: str, **variables: t.Any) -> Result:
        for name in ("report", "repairs"):
            (self.directory / "reports" / f"{name}.json").unlink(missing_ok=True)
        process = self.start(*flags, **variables)
        output, _nothing = process.communicate(timeout=300)
        found = re.search(r"RUN: (\{.*\})", output.partition("CUSTOM STATS")[2], re.DOTALL)
        result = Result(
            process.returncode,
            output,
            self._written("report"),
            self._written("repairs"),
            json.loads(found.group(1))["stackguard"] if found else {},
        )
        for path in [*self.directory.rglob("*.json"), *self.directory.rglob("*.log")]:
            if path.name != "vars.json":
                assert servers.PLAIN_PASSWORD not in path.read_text(), path
        assert servers.PLAIN_PASSWORD not in output
        assert servers.PASSWORD not in output
        assert "Traceback" not in output, output
        return result

    def _written(self, name: str) -> t.Any:
        path = self.directory / "reports" / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None


def kill_all(pid: int) -> None:
    """Kill a process and all that it started: Ansible's workers are in sessions of their own."""
    pids = [pid]
    for one in pids:
        for path in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            pids += [int(child) for child in path.read_text().split()]
    for one in pids:
        os.kill(one, signal.SIGKILL)


@pytest.fixture
def playbook(world: World, tmp_path: pathlib.Path) -> Playbook:
    """The playbook, on a cloud with one link of each kind to be mended, and one that takes proof."""
    world.update("cell", "instances", 1, compute_id=None)
    world.update("cell", "instances", 2, compute_id=2)
    world.update("cell", "instances", 3, compute_id=2)
    world.update("cell", "compute_nodes", 2, service_id=4711)
    return Playbook(world, tmp_path)


def ids(world: World) -> list[t.Any]:
    return [row[-1] for row in world.rows("cell", "instances", "compute_id")]


NULL = ("SG211", uid("instance", 1))
OTHER = ("SG214", uid("instance", 2))
DANGLING = ("SG202", uid("node", 2))


def test_check_then_repair_then_nothing_then_back(playbook: Playbook) -> None:
    world = playbook.world
    before = world.rows("cell", "instances", "host", "node", "compute_id")
    seen = playbook.run("--check", "--diff")
    assert seen.rc == 0, seen.output
    assert seen.codes == {NULL, OTHER, DANGLING}
    assert "compute_id = NULL" in seen.output
    assert "certain: node 1 is the only existing node with host compute1" in seen.output
    assert world.rows("cell", "instances", "host", "node", "compute_id") == before
    assert not (playbook.directory / "state").exists()
    assert (seen.stats["state"], seen.stats["changed"]) == ("planned", True)

    done = playbook.run()
    assert done.rc != 0, "a green run would be read as: all links are right"
    assert "2 rows repaired; 1 wrong link remains (SG214; links requested for repair: 1)" in done.output
    assert ids(world) == [1, 2, 2]
    assert world.rows("cell", "compute_nodes", "service_id") == [(1, 1), (2, 2)]
    assert done.codes == {OTHER}
    assert (done.report or {})["verdict"] == "block"
    assert {row["row"] for row in done.repairs or []} == {"cell:cell1 instances id=1", "cell:cell1 compute_nodes id=2"}
    assert (done.stats["state"], done.stats["rows"]["changed"]) == ("finished", 2)

    again = playbook.run(repair_fail_when_left=False)
    assert (again.rc, again.stats["changed"]) == (0, False), again.output
    assert "changed=0" in again.output
    assert "nothing was repaired; 1 wrong link remains" in again.output, "said in green too"
    assert again.stats["remaining"]["asked"] == 1

    back = playbook.run(repair_action="rollback")
    assert (back.rc, back.stats["state"]) == (0, "rolled-back"), back.output
    assert world.rows("cell", "instances", "host", "node", "compute_id") == before


def test_refused(playbook: Playbook) -> None:
    refused = playbook.run(repair_limit=1)
    assert refused.rc != 0
    assert ("SG715", "repair_limit") in refused.codes
    assert refused.stats["state"] == "refused"
    assert ids(playbook.world) == [None, 2, 2]
    playbook.hosts = "[compute]\ncompute1 ansible_host=127.0.0.1 ansible_port=1\n"
    limited = playbook.run("--limit", "compute")
    assert limited.rc != 0, limited.output
    playbook.hosts = "[compute]\n"
    assert playbook.run(repair_codes="SG999").rc != 0
    assert ids(playbook.world) == [None, 2, 2]


def test_with_the_hosts_word(playbook: Playbook) -> None:
    directory = str(playbook.directory / "evidence")
    guest = uid("instance", 2)
    for host in (
        witness("compute1", "compute1.example", uid("node", 1), [guest]),
        witness("compute2", "compute2.example", uid("node", 2)),
    ):
        evidence.save_host(directory, host.inventory_name, host)
    done = playbook.run(repair_evidence_dir=directory, repair_codes="SG214", repair_hosts="compute1")
    assert done.rc == 0, done.output
    assert ids(playbook.world) == [None, 1, 2]
    (row,) = done.repairs or []
    assert "the instance's domain runs on compute1, not on compute2" in row["why"]


def test_a_host_that_does_not_answer_could_contradict_so_nothing_of_it_is_certain(playbook: Playbook) -> None:
    """An operator who asks no host at all lets the names decide: nothing was to be read then."""
    playbook.hosts = "[compute]\ncompute1 ansible_host=127.0.0.1 ansible_port=1 ansible_ssh_common_args='-F none'\n"
    before = ids(playbook.world)
    done = playbook.run()
    assert (done.rc, done.stats["state"], done.stats["changed"]) == (2, "none", False), done.output
    assert ids(playbook.world) == before
    done = playbook.run(repair_read_hosts=False)
    assert done.stats["state"] == "finished", done.output
    assert ids(playbook.world) == [1, 2, 2]


@pytest.mark.matrix
def test_killed_and_run_again(playbook: Playbook) -> None:
    """SIGKILL to the whole run while it waits for a row that another transaction holds: then the same command again."""
    world = playbook.world
    with world.server.admin(world.names["cell"]) as connection:
        held = connection.execution_options(isolation_level="READ COMMITTED")
        with held.begin():
            held.exec_driver_sql("UPDATE instances SET display_name = 'held' WHERE id = 1")
            process = playbook.start(repair_batch_size=1)
            journal = playbook.directory / "state" / "repair_links.json"
            end = time.monotonic() + 300
            while not list((playbook.directory / "state").glob("repair_links-*/*.done.json")):
                assert time.monotonic() < end, "the first batch was never written"
                assert process.poll() is None, process.stdout and process.stdout.read()
                time.sleep(0.05)
            kill_all(process.pid)
            process.communicate()
    assert journal.exists()
    assert ids(world) == [None, 2, 2]
    done = playbook.run(repair_batch_size=1)
    assert done.stats["state"] == "finished", done.output
    assert "resuming operation" in done.output
    assert ids(world) == [1, 2, 2]
    world.update("cell", "instances", 1, compute_id=2)
    back = playbook.run(repair_action="rollback")
    assert back.rc != 0, "one row was left alone"
    assert f"cell:cell1 instances id=1 (instance {uid('instance', 1)}): skipped" in back.output
    assert ids(world) == [2, 2, 2]
    assert world.rows("cell", "compute_nodes", "service_id") == [(1, 1), (2, 4711)], "also what the killed run wrote"
