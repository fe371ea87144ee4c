# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of links as the collection runs them, with a journal in a directory, and hosts that bear witness."""

from __future__ import annotations

import itertools
import pathlib
import time
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle
from ansible_collections.stackguard.nova.plugins.module_utils.links import operation as repair_links
from ansible_collections.stackguard.nova.plugins.module_utils.links.plan import LinkRequest
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.steps import HostRunner
from ansible_collections.stackguard.nova.tests.unit import builders

_ids = itertools.count(1)


class Killed(BaseException):
    """What a test throws where a run is to end."""


class State:
    """The journal's directory. ``kill``: an op, and whether to die before or after it is carried out."""

    def __init__(self, directory: pathlib.Path, check_mode: bool = False) -> None:
        self.directory = directory
        self.check_mode = check_mode
        self.kill: tuple[str, str] | None = None
        self.between: tuple[str, t.Callable[[], None]] | None = None

    def call(self, requests: t.Sequence[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
        return [answer for request in requests for answer in self._one(request)]

    def _one(self, request: dict[str, t.Any]) -> list[dict[str, t.Any]]:
        op = request["op"]
        if self.between and self.between[0] == op:
            self.between[1]()
        if self.kill == (op, "before"):
            raise Killed
        outcome = HostRunner(str(self.directory), self.check_mode).run([request])
        if outcome.error is not None:
            raise StackguardError(outcome.error)
        if self.kill == (op, "after"):
            raise Killed
        return outcome.results


def witness(host: str, node: str, uuid: str | None, running: t.Sequence[str] = (), state: str = "running"):
    """A compute host that was read: its names, the uuid in its compute_id file, the domains on it."""
    cloud = builders.healthy(hosts=1, guests=1)
    (template,) = cloud.bundle.hosts.values()
    (domain,) = template.domains
    files = [facts.ComputeIdFile("/var/lib/nova/compute_id", True, uuid is not None, uuid)]
    changes = {
        "inventory_name": host,
        "nova_conf": _replace(template.nova_conf, host=host),
        "libvirt": _replace(template.libvirt, hostname=node),
        "compute_id_files": files,
        "domains": [_replace(domain, uuid=one, state=state) for one in running],
    }
    return _replace(template, **changes)


def _replace(value: t.Any, **changes: t.Any) -> t.Any:
    import dataclasses

    return dataclasses.replace(value, **changes)


def run(
    options: t.Mapping[str, t.Any],
    state: State,
    hosts: t.Sequence[facts.HostFacts] = (),
    overrides: t.Sequence[findings.Override] = (),
) -> repair_links.RepairRun:
    """What an action plugin would hand over."""
    number = next(_ids)
    return repair_links.RepairRun(
        state=state,
        clock=lifecycle.Clock(lambda: f"2026-11-21T06:00:00.{number:06}Z", time.monotonic, time.time, time.sleep),
        say=lambda _text: None,
        mine={"controller": "here", "pid": number, "pid_start": None},
        options=options,
        overrides=overrides,
        check_mode=state.check_mode,
        prefix="repair_",
        cloud_id=lambda: repair_links.cells_of(options),
        bundle=facts.Bundle(facts.SCHEMA, "", {host.inventory_name: host for host in hosts}, {}, None, None),
        operation_id=f"op{number}",
        diff=False,
    )


def request(*codes: str, hosts: t.Sequence[str] = (), batch_size: int = 1000, limit: int = 1000) -> LinkRequest:
    chosen = {"codes": codes} if codes else {}
    return LinkRequest(hosts=tuple(hosts), batch_size=batch_size, limit=limit, **chosen)


def repair_rows(given: repair_links.RepairRun, asked: LinkRequest) -> dict[str, t.Any]:
    """Repair, or resume the open repair."""
    return repair_links.carry_out(given, asked, "apply")


def resume_repair(given: repair_links.RepairRun, asked: LinkRequest) -> dict[str, t.Any]:
    """Resume what is open, and begin nothing."""
    return repair_links.carry_out(given, asked, "resume")


def show_repair(given: repair_links.RepairRun) -> dict[str, t.Any]:
    """Show what is open."""
    return repair_links.carry_out(given, request(), "status")


def undo_repair(given: repair_links.RepairRun, wanted: t.Optional[str] = None) -> dict[str, t.Any]:
    """Take back the open repair, else the one that is named, else the last."""
    return repair_links.carry_out(given, request(), "rollback", wanted)
