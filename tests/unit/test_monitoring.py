# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Alert rules and dashboard: every expression can be parsed, and every metric and label in it is one of report.prom.

Where promtool is installed (Debian: prometheus) it judges the rules and the metrics as well.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT
from ansible_collections.stackguard.nova.tests.unit.troubled import troubled

MONITORING = ROOT / "extensions" / "monitoring"
TOKEN = re.compile(
    r'\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[a-zA-Z_][a-zA-Z0-9_]*)|(?P<text>"[^"]*")|'
    r"(?P<sign>=~|!~|==|!=|>=|<=|[-+*/<>(){},=]))"
)
AGGREGATES = {"sum", "max", "min", "count", "avg"}
FUNCTIONS = {"time": 0, "absent": 1}


def metrics():
    """Metric name to the labels of its series."""
    bundle = dataclasses.replace(troubled().bundle, named=facts.CloudName("prod", "r1"))
    found = {}
    for line in audit.report_prom(audit.audited(bundle), "1.2.3", 1).splitlines():
        if not line.startswith("#"):
            name, labels = re.match(r"^([a-z_]+)\{(.*)\} [0-9.-]+$", line).groups()
            found.setdefault(name, {}).update(
                {
                    key: found.get(name, {}).get(key, set()) | {value}
                    for key, value in re.findall(r'(\w+)="([^"]*)"', labels)
                }
            )
    return found


class Parser:
    """The part of PromQL that the rules use. Raises AssertionError for anything else."""

    def __init__(self, text):
        self.tokens, self.place, at = [], 0, 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            assert match, f"cannot be parsed: {text[at:]}"
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self.selected = []
        self.expression()
        assert self.place == len(self.tokens), f"left over: {self.tokens[self.place :]}"

    def peek(self):
        return self.tokens[self.place] if self.place < len(self.tokens) else (None, None)

    def take(self, *wanted):
        kind, text = self.peek()
        assert text is not None and (not wanted or text in wanted or kind in wanted), f"{text!r}, expected {wanted}"
        self.place += 1
        return text

    def expression(self):
        self.operand()
        while self.peek()[1] in ("+", "-", "*", "/", ">", "<", ">=", "<=", "==", "!="):
            self.take()
            if self.peek()[1] in ("on", "ignoring"):
                self.take()
                self.labels()
            self.operand()

    def labels(self):
        self.take("(")
        names = [self.take("name")]
        while self.peek()[1] == ",":
            self.take()
            names.append(self.take("name"))
        self.take(")")
        return names

    def operand(self):
        kind, text = self.peek()
        if kind == "number":
            self.take()
        elif text == "(":
            self.take()
            self.expression()
            self.take(")")
        elif text in AGGREGATES:
            self.take()
            names = self.labels() if self.peek()[1] == "by" and self.take() else []
            before = len(self.selected)
            self.take("(")
            self.expression()
            self.take(")")
            for metric, _matchers in self.selected[before:]:
                self.selected.append((metric, [(name, "by", None) for name in names]))
        elif text in FUNCTIONS:
            self.take()
            self.take("(")
            if FUNCTIONS[text]:
                self.expression()
            self.take(")")
        else:
            metric = self.take("name")
            matchers = []
            if self.peek()[1] == "{":
                self.take()
                while self.peek()[1] != "}":
                    label, sign, value = self.take("name"), self.take("=", "!=", "=~", "!~"), self.take("text")
                    matchers.append((label, sign, value[1:-1]))
                    if self.peek()[1] == ",":
                        self.take()
                self.take("}")
            self.selected.append((metric, matchers))


def rules():
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard():
    return json.loads((MONITORING / "dashboard.json").read_text())


def expressions():
    yield from ((rule["alert"], rule["expr"]) for rule in rules())
    for panel in dashboard()["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel["targets"])


@pytest.mark.parametrize(("title", "text"), list(expressions()))
def test_every_expression_is_about_what_an_audit_leaves(title, text):
    known = metrics()
    selected = Parser(text).selected
    assert selected, title
    for metric, matchers in selected:
        assert metric in known, f"{title}: {metric} is not in report.prom"
        for label, sign, value in matchers:
            assert label in known[metric], f"{title}: {metric} has no label {label}"
            if sign == "=":
                assert value in known[metric][label], f"{title}: {metric} never has {label}={value!r}"


@pytest.mark.parametrize(
    "text", ["sum by cloud (x)", "x >", "x{a=b}", "sum(x", "x) > 1", "rate(x[5m])", 'x{a="b"', "", "x y"]
)
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(AssertionError):
        Parser(text)


def test_alerts_say_what_to_do_and_name_labels_that_exist():
    known = metrics()
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        (metric, *_more) = [metric for metric, _matchers in Parser(rule["expr"]).selected]
        named = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        assert named <= set(known[metric]), rule["alert"]
    assert len({rule["alert"] for rule in rules()}) == len(rules())


def test_the_alerts_fire_for_a_cloud_in_trouble():
    """Each metric that an alert compares with a number has the value that makes it fire."""
    bundle = dataclasses.replace(troubled().bundle, named=facts.CloudName("prod", "r1"))
    lines = audit.report_prom(audit.audited(bundle), "1.2.3", 1).splitlines()
    assert 'stackguard_audit_verdict{verdict="block",cloud="prod",region="r1"} 1' in lines
    assert 'stackguard_audit_host_forecast_guests_destroyed{host="compute5",cloud="prod",region="r1"} 1' in lines
    assert 'stackguard_audit_host_forecast{host="compute6",outcome="refuses",cloud="prod",region="r1"} 1' in lines
    assert 'stackguard_audit_hosts_unread{cloud="prod",region="r1"} 1' in lines
    assert 'stackguard_audit_new_blockers{cloud="prod",region="r1"} 1' in lines
    assert 'stackguard_audit_info{version="1.2.3",cloud="prod",region="r1"} 1' in lines


def test_the_dashboard_is_whole():
    shown = dashboard()
    ids = [panel["id"] for panel in shown["panels"]]
    assert len(set(ids)) == len(ids)
    assert {entry["name"] for entry in shown["templating"]["list"]} == {"datasource", "cloud", "region"}
    for panel in shown["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert panel["datasource"]["uid"] == "${datasource}"


def test_promtool_agrees_where_it_is_installed(tmp_path):
    found = audit.report_prom(audit.audited(troubled().bundle), "1.2.3", 1)
    promtool = shutil.which("promtool")
    # Without it, what it would look at first: each metric has its own help and type, once, before its samples.
    names = re.findall(r"^# TYPE (\S+) gauge$", found, re.MULTILINE)
    assert names == re.findall(r"^# HELP (\S+) .+\.$", found, re.MULTILINE)
    assert len(set(names)) == len(names)
    samples = [line.rpartition(" ")[0] for line in found.splitlines() if not line.startswith("#")]
    assert len(set(samples)) == len(samples)
    if promtool:
        subprocess.run([promtool, "check", "rules", str(MONITORING / "alerts.yml")], check=True)
        subprocess.run([promtool, "check", "metrics"], input=found, text=True, check=True)
