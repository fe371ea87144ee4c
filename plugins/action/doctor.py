# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of doctor: asks cloud and databases, judges them with what the hosts answered, and reports."""

from __future__ import annotations

import dataclasses
import datetime
import os
import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.doctor import checks
from ..module_utils.doctor import report as reports
from ..module_utils.model import doctor
from ..module_utils.records import answers, evidence
from ..module_utils.systems.api import connection
from ..module_utils.systems.api.doctor import read_cloud_state
from ..module_utils.systems.db import engine
from ..module_utils.systems.db.doctor import read_databases_state
from ..module_utils.systems.ovn.doctor import is_asked_for, read_ovn_state
from ..plugin_utils import playbooks, screen

Result = t.Dict[str, t.Any]

REPORT = "doctor.json"
SUMMARY_LINES = 40


def argument_spec() -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return the options, as documented."""

    def words(choices: t.Sequence[str], default: t.Sequence[str]) -> t.Dict[str, t.Any]:
        return {"type": "list", "elements": "str", "choices": list(choices), "default": list(default)}

    return connection.openstack_spec(
        **connection.ovn_spec(),
        sources=words(doctor.SOURCES, doctor.SOURCES),
        operations=words(playbooks.operations(), ()),
        accept_unchecked=words(doctor.ALL_PARTS, ()),
        hosts={"type": "list", "elements": "str", "default": []},
        journal_host={"type": "str"},
        volume_pools={"type": "list", "elements": "str", "default": []},
        evidence_dir={"type": "path"},
        report_dir={"type": "path", "required": True},
    )


class ActionModule(ActionBase):
    """Ask, judge, and leave the report."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Return the verdict; fail where anything that was asked for is not ok."""
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(argument_spec())
        if not args["sources"]:
            msg = f"sources: the list is empty. Set it to one or more of {', '.join(doctor.SOURCES)}"
            return {"failed": True, "changed": False, "succeeded": False, "msg": msg}
        # The APIs alone are what an audit needs and nothing else can do with.
        everything = ["audit"] if args["sources"] == ["api"] else playbooks.operations()
        args["operations"] = args["operations"] or everything
        try:
            return self._report(args, self._results(args))
        except OSError as error:
            msg = f"{error.filename or args['report_dir']}: {error.strerror}"
            return {"failed": True, "changed": False, "succeeded": False, "msg": msg}

    def _results(self, args: Result) -> t.List[doctor.Result]:
        sources = args["sources"]
        directory = self._on_controller(args["evidence_dir"]) if args["evidence_dir"] else None
        journals = answers.load(directory, answers.JOURNALS, [args["journal_host"] or "localhost"])
        return checks.judge(
            _asked(args),
            read_cloud_state(args) if "api" in sources else None,
            _databases(args) if "databases" in sources else None,
            answers.load(directory, answers.HOSTS, args["hosts"]) if "hosts" in sources else [],
            journals[0] if "journals" in sources else None,
        )

    def _report(self, args: Result, results: t.Sequence[doctor.Result]) -> Result:
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        plain = reports.report(results, _asked(args), now)
        directory = self._on_controller(args["report_dir"])
        path = evidence.save_text(directory, REPORT, reports.report_json(plain))
        table = reports.table(results, args["accept_unchecked"])
        screen.say(table)
        passed = plain["verdict"] == "pass"
        said = "ready" if passed else "not ready"
        alone = ", for an audit with the APIs alone" if args["sources"] == ["api"] else ""
        return {
            "changed": False,
            "failed": not passed,
            "succeeded": passed,
            "verdict": plain["verdict"],
            "counts": plain["counts"],
            "results": plain["results"],
            "summary": table.splitlines()[:SUMMARY_LINES],
            "report_dir": directory,
            "msg": f"{said}: {reports.summary(results)}{alone}: see {os.path.abspath(path)}",
        }

    def _on_controller(self, path: str) -> str:
        return str(self._loader.path_dwim(str(path)))


def _asked(args: Result) -> doctor.Asked:
    return doctor.Asked(
        sources=args["sources"],
        operations=args["operations"],
        accepted=args["accept_unchecked"],
        cloud=args["cloud"] if isinstance(args["cloud"], str) else "",
        volume_pools=args["volume_pools"],
    )


def _databases(args: Result) -> doctor.DatabasesState:
    ovn = read_ovn_state(args) if is_asked_for(args) else None
    if engine.SQLALCHEMY_ERROR is not None:
        missing = "the Python library SQLAlchemy is not installed on the Ansible controller"
        return doctor.DatabasesState(problem=missing, ovn=ovn)
    return dataclasses.replace(read_databases_state(args, args["operations"]), ovn=ovn)
