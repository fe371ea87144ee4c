# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of findings: reads a saved report, asks it, prints the answer."""

from __future__ import annotations

import datetime
import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.stackguard.nova.plugins.module_utils.reports import findings_query as queries
from ansible_collections.stackguard.nova.plugins.plugin_utils import screen

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "report": {"type": "path", "required": True},
    "codes": {"type": "list", "elements": "str", "default": []},
    "severities": {"type": "list", "elements": "str", "default": []},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "query": {"type": "str", "default": ""},
    "format": {"type": "str", "default": queries.TABLE, "choices": list(queries.FORMATS)},
    "fail_if": {"type": "str", "default": queries.NEVER, "choices": list(queries.FAIL_IF)},
    "max_age_minutes": {"type": "int", "default": 0},
}


class ActionModule(ActionBase):
    """Ask a report, and print what it says."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Return the answer; fail where it is to fail."""
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(ARGUMENTS)
        path = str(self._loader.path_dwim(str(args["report"])))
        try:
            query = queries.query_of(args["codes"], args["severities"], args["hosts"], args["query"])
        except queries.QueryError as error:
            return _refused(error.message)
        try:
            with open(path, encoding="utf-8") as stream:
                report = queries.report_of(stream.read())
            _refuse_old(report, args["max_age_minutes"])
            queries.must_decide(report, query, args["fail_if"])
            found = queries.answer(report, query)
        except OSError as error:
            return _refused(f"findings_report: {path}: {error.strerror}")
        except UnicodeDecodeError:
            return _refused(f"findings_report: {path}: the file is not a text file")
        except queries.QueryError as error:
            return _refused(f"findings_report: {path}: {error.message}")
        text = queries.shown(found, args["format"])
        if text:
            screen.say(text)
        failed = found.fails(args["fail_if"])
        return {
            "changed": False,
            "failed": failed,
            "succeeded": not failed,
            "count": found.number,
            "result": found.result,
            "unchecked": list(found.undecided),
            "unread": sorted({str(item["code"]) for item in found.unread}),
            "unnamed_hosts": list(found.unnamed),
            "verdict": report["verdict"],
            "generated_at": report["generated_at"],
            "text": text,
            "msg": queries.message(found, report),
        }


def _refused(message: str) -> t.Dict[str, t.Any]:
    return {"failed": True, "changed": False, "succeeded": False, "refused": True, "msg": message}


def _refuse_old(report: t.Mapping[str, t.Any], minutes: int) -> None:
    """Refuse a report that is too old, or of which it is not known how old it is. Raises QueryError."""
    if minutes <= 0:
        return
    now = datetime.datetime.now(datetime.timezone.utc)
    try:
        written = datetime.datetime.fromisoformat(str(report["generated_at"]).replace("Z", "+00:00"))
        age = now - (written if written.tzinfo else written.replace(tzinfo=datetime.timezone.utc))
    except ValueError:
        raise queries.QueryError(
            f"generated_at of the report ({report['generated_at']!r}) is not a valid time, so the age of the report is "
            "unknown"
        ) from None
    if not datetime.timedelta(minutes=-1) <= age <= datetime.timedelta(minutes=minutes):
        raise queries.QueryError(
            f"the evidence of the report was collected at {report['generated_at']}. This time is not within the last "
            f"{minutes} minutes (findings_max_age_minutes). Run the audit again"
        )
