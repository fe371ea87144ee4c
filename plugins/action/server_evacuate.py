# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of server_evacuate: one wave, with progress as it goes."""

from __future__ import annotations

import dataclasses
import datetime
import time
import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.stackguard.nova.plugins.module_utils import findings, text
from ansible_collections.stackguard.nova.plugins.module_utils.actions import evacuation, evacuation_round
from ansible_collections.stackguard.nova.plugins.module_utils.connection import connect, openstack_spec
from ansible_collections.stackguard.nova.plugins.module_utils.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation_options import ARGUMENTS, request_of
from ansible_collections.stackguard.nova.plugins.module_utils.facts import FactsError, from_plain, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.requests import Fence

SECONDS = {"server_timeout": {"type": "int", "default": 1800}, "measured_for": {"type": "int", "default": 120}}


class ActionModule(ActionBase):
    """Send one wave of servers away from a dead host."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Carry out one round."""
        super().run(tmp, task_vars)
        spec = openstack_spec(**ARGUMENTS, **SECONDS)
        spec["journal"] = {**spec["journal"], "required": True}
        _validation, args = self.validate_argument_spec(spec)
        if self._task.check_mode:
            return {"changed": True, "again": False, "msg": "would send the first wave", "landed": [], "left": {}}
        try:
            return self._round(args)
        except (StackguardError, FactsError, findings.OverrideError) as error:
            return {"failed": True, "changed": False, "msg": str(error)}

    def _round(self, args: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        journal = args["journal"]
        about = journal["about"]
        connection = connect(args)
        passengers = [from_plain(evacuation_round.Passenger, item, "journal.servers") for item in about["servers"]]
        fence = Fence(**{**about["fence_proof"], "addresses": tuple(about["fence_proof"].get("addresses", ()))})
        request = request_of({**args, "servers": None, "order": None}, journal["operation_id"], [], fence)
        request = dataclasses.replace(request, order=tuple(about.get("order") or ()))
        begin = time.monotonic()

        def say(line: str) -> None:
            Display().display(f"[{time.monotonic() - begin:6.1f} s] {line}")

        evacuator = evacuation.Evacuator(
            connection,
            args["evacuate_host"],
            say,
            time.sleep,
            time.monotonic,
            args["target_state"],
            args["server_timeout"],
            _ago,
        )
        result = evacuation_round.run(
            connection,
            lambda: evacuation_round.collect(connection, args["evacuate_host"], args["evidence_dir"], passengers),
            evacuator,
            passengers,
            request,
            findings.parse_overrides(args["overrides"]),
            (journal.get("memory") or {}).get("evacuate") or {},
            _before(_moment(journal.get("started_at"))),
            evacuation_round.remembered(journal),
            args["measured_for"],
        )
        if result.findings:
            say(text.findings_text(findings.Checked(result.findings)))
        told = findings.Checked((*result.findings, *evacuation_round.stays(result, passengers, args["evacuate_host"])))
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        report = findings.report(told, now, 0, len(passengers))
        return {"changed": bool(result.outcomes), "msg": _summary(result), "report": report, **to_plain(result)}


def _moment(text_: t.Any) -> t.Optional[datetime.datetime]:
    try:
        return datetime.datetime.fromisoformat(str(text_).replace("Z", "+00:00"))
    except ValueError:
        return None


def _before(moment: t.Optional[datetime.datetime]) -> t.Optional[str]:
    now = datetime.datetime.now(datetime.timezone.utc)
    return None if moment is None else _ago((now - moment).total_seconds() + evacuation.SKEW)


def _ago(seconds: float) -> str:
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _summary(result: evacuation_round.Round) -> str:
    verified = sum(1 for entry in result.landed if entry.state == "verified")
    failed = sum(1 for entry in result.outcomes if entry.outcome == evacuation.FAILED)
    ended = f"{len(result.outcomes)} ended, {failed} failed, {len(result.riding)} on their way"
    return f"{ended}; {verified} seen well elsewhere; {len(result.left)} stay"
