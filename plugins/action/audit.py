# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of audit: from an evidence directory, or saved evidence, to findings and the report's files."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.audit import changes, coverage, tables
from ..module_utils.audit import report as audit
from ..module_utils.model import addresses, findings, garbage
from ..module_utils.model.facts import Bundle, CloudName, FactsError
from ..module_utils.records import evidence, operation_records
from ..module_utils.records.installed import collection_version
from ..plugin_utils import pages, screen

Result = t.Dict[str, t.Any]

SUMMARY_LINES = 40
#: What the next audit compares with: C(report.json) is removed before each run, and operations write it too.
PREVIOUS = "previous-report.json"
#: Wrong links that a report lists for each code; what is beyond is counted. A browser takes no more.
LINKS_LISTED = 1000
ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "evidence_dir": {"type": "path"},
    "evidence": {"type": "list", "elements": "path", "default": []},
    "inventory_hosts": {"type": "list", "elements": "str", "default": []},
    "sources": {"type": "list", "elements": "str", "default": [], "choices": list(coverage.SOURCES)},
    "failures": {"type": "dict", "default": {}},
    "journals": {"type": "dict"},
    "report_dir": {"type": "path", "required": True},
    "definitions_dir": {"type": "path"},
    "previous_report": {"type": "path"},
    "cloud_name": {"type": "str", "default": ""},
    "region": {"type": "str", "default": ""},
    "fail_on": {"type": "str", "default": "blocker", "choices": list(audit.FAIL_ON)},
    "overrides": findings.OPTION,
}


class ActionModule(ActionBase):
    """Judge the evidence, and leave the report."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Return the verdict; fail by ``fail_on``."""
        super().run(tmp, task_vars)
        result = self._result()
        # A role that prints the summary alone keeps the task from failing, and decides by this.
        return {**result, "succeeded": not result.get("failed", False)}

    def _result(self) -> Result:
        _validation, args = self.validate_argument_spec(ARGUMENTS)
        if addresses.NETADDR_ERROR is not None:
            return {"failed": True, "changed": False, "msg": addresses.MISSING}
        if not args["evidence_dir"] and not args["evidence"]:
            return {"failed": True, "changed": False, "msg": "set evidence_dir or evidence"}
        try:
            with garbage.garbage_collection_paused():
                return self._audited(args)
        except (FactsError, findings.OverrideError) as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        except OSError as error:
            return {
                "failed": True,
                "changed": False,
                "msg": f"{error.filename or args['report_dir']}: {error.strerror}",
            }

    def _audited(self, args: Result) -> Result:
        overrides = findings.parse_overrides(args["overrides"])
        bundle = self._bundle(args)
        found = audit.audited(bundle, overrides, LINKS_LISTED)
        directory = self._on_controller(args["report_dir"])
        os.makedirs(directory, mode=0o700, exist_ok=True)
        place = self._on_controller(args["previous_report"] or os.path.join(args["report_dir"], PREVIOUS))
        previous = _previous(place)
        against = changes.changes(found.report, previous)
        version = collection_version()
        plain = changes.changes_plain(against, found.report["generated_at"])
        for name, text in (
            ("report.json", audit.report_json(found)),
            ("forecast.json", audit.forecast_json(found)),
            ("changes.json", json.dumps(plain, indent=1, sort_keys=True) + "\n"),
            ("report.prom", audit.report_prom(found, version, against.new_blockers if against.comparable else None)),
            ("report.csv", tables.report_csv(found)),
            ("report.junit.xml", tables.report_junit(found)),
            (pages.NAME, pages.html(found.report, None, audit.context(found, plain))),
        ):
            pages.write(os.path.join(directory, name), text)
        # Saved evidence is written again too: what a report was made of lies beside it.
        evidence.save_whole(directory, bundle)
        if args["definitions_dir"] and not args["evidence"] and not self._task.check_mode:
            # After all is told: what is recorded now is what the next audit compares with.
            source = self._on_controller(args["evidence_dir"])
            evidence.record_definitions(self._on_controller(args["definitions_dir"]), bundle, source)
        if changes.is_later(found.report, previous) and not self._task.check_mode:
            evidence.save_part(os.path.dirname(place), os.path.basename(place), found.report)
        table = audit.table(found, against)
        screen.say(table)
        report = found.report
        failed = audit.fails(found.verdict, args["fail_on"], against)
        return {
            "changed": False,
            "failed": failed,
            "verdict": found.verdict,
            "counts": report["counts"],
            "hosts": report["hosts"],
            "servers": report["servers"],
            "generated_at": report["generated_at"],
            "codes": sorted({item["code"] for item in report["findings"]}),
            "report_dir": directory,
            "summary": _beginning(table),
            "changes": {
                "since": against.since,
                "comparable": against.comparable,
                "new": len(against.new),
                "gone": len(against.gone),
                "known": against.known,
                "new_blockers": against.new_blockers,
            },
            "msg": f"verdict {found.verdict} (fail_on {args['fail_on']}){_compared(args, against)}: "
            f"see {directory}/report.html",
        }

    def _bundle(self, args: Result) -> Bundle:
        if args["evidence"]:
            whole = audit.whole([self._on_controller(path) for path in args["evidence"]])
            return evidence.with_unread(whole, args["inventory_hosts"])
        directory = self._on_controller(args["evidence_dir"])
        if args["sources"]:
            evidence.save_part(directory, evidence.REQUESTED, sorted(args["sources"]))
        if args["cloud_name"] or args["region"]:
            name = CloudName(args["cloud_name"] or None, args["region"] or None)
            evidence.save_part(directory, evidence.NAMED, name)
        if args["failures"]:
            reasons = {str(source): str(reason) for source, reason in args["failures"].items()}
            evidence.save_part(directory, evidence.FAILURES, reasons)
        if args["journals"] is not None:
            found = args["journals"]
            if "open" in found:
                records = operation_records.records(found["open"] or [], found.get("closed") or [])
                evidence.save_part(directory, evidence.OPERATIONS, records)
            evidence.save_part(directory, evidence.UNKNOWN_JOURNALS, found.get("unknown") or [])
        bundle = evidence.with_unread(_load_or_nothing(directory), args["inventory_hosts"])
        if args["definitions_dir"]:
            bundle = evidence.with_recorded_definitions(bundle, self._on_controller(args["definitions_dir"]))
        return bundle

    def _on_controller(self, path: str) -> str:
        return str(self._loader.path_dwim(str(path)))


def _beginning(table: str) -> t.List[str]:
    """What a workflow passes on, and an alert carries: not a thousand lines."""
    lines = table.splitlines()
    more = len(lines) - SUMMARY_LINES
    return lines if more <= 0 else [*lines[:SUMMARY_LINES], f"... and {more} more lines"]


def _compared(args: Result, against: changes.Changes) -> str:
    """Why an earlier audit excuses nothing, where it was asked for."""
    if args["fail_on"] != audit.NEW_BLOCKER:
        return ""
    if against.comparable:
        return f", {against.new_blockers} new blockers since the audit of {against.since}"
    return f", every blocker counts as new because {'; '.join(against.because)}"


def _previous(path: str) -> changes.Previous:
    """Return the report of the audit before."""
    try:
        with open(path, encoding="utf-8") as stream:
            return changes.previous(json.load(stream), path)
    except FileNotFoundError:
        return changes.Previous()
    except OSError as error:
        return changes.damaged(f"{path}: {error.strerror}")
    except (ValueError, RecursionError):
        return changes.damaged(f"{path} is not JSON")


def _load_or_nothing(directory: str) -> Bundle:
    """Hosts of which none left even a trace are evidence too."""
    try:
        return evidence.load_dir(directory)
    except evidence.NoEvidenceError:
        return evidence.nothing()
