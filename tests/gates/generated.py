# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is made from the code: tables of variables, places, destinations, fences, codes, old names; GRANTs; choices.

    tests/gates/generated.py            says which are not what the code says, and returns 1
    tests/gates/generated.py --write    writes them

The page of a code is what the catalogue says of it. A table stands between `<!-- table: NAME -->`
and `<!-- end of table -->`. The role's argument specification has the kinds of fence as choices, since Ansible reads
them there; AWX's survey takes them from it.
"""

from __future__ import annotations

import inspect
import json
import pathlib
import re
import sys
import textwrap
import typing as t

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".build" / "dev"))
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "unit" / "systems")]

import grant_statements  # noqa: E402
import yaml  # noqa: E402
from labkit import parts  # noqa: E402

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import move_leftovers, start_table, unfit  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings, log_words, old_variables  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.model.codes.code import Code  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.catalogue import FENCES  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.name_places import catalogue  # noqa: E402

SPECIFICATION = "roles/evacuate_host/meta/argument_specs.yml"
#: The choices of evacuate_fence in it: the first ones after its name.
CHOICES = re.compile(r"(\n      evacuate_fence:\n(?:        .*\n)*?        choices: \[)[^\]]*(\])")
#: The newest release of Nova that rules were read from.
NEWEST = 34
CODES = "docs/codes"
PAGES = (
    *(
        f"docs/reference/{name}.md"
        for name in (
            "destinations",
            "fences",
            "grants",
            "leftovers",
            "log-words",
            "places",
            "starts",
            "tested",
            "upgrading",
        )
    ),
    "docs/codes/README.md",
)
#: The guide of each role.
GUIDES = {
    "audit": "guides/audit.md",
    "common": "reference/exit-status.md",
    "doctor": "guides/doctor.md",
    "drain_host": "guides/moves.md",
    "enable_host": "guides/maintain.md",
    "evacuate_host": "guides/evacuate.md",
    "explain": "codes/README.md",
    "maintain_hosts": "guides/maintain.md",
    "migrate_server": "guides/moves.md",
    "pin_servers": "guides/zones.md",
    "remove_host": "guides/remove.md",
    "rename_host": "guides/rename.md",
    "repair_links": "guides/links.md",
    "resize_server": "guides/zones.md",
    "return_host": "guides/return.md",
    "unshelve_server": "guides/zones.md",
}
MARKED = re.compile(r"(<!-- table: ([\w ]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def table(*rows: tuple[str, ...]) -> str:
    head, *body = rows
    return "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in (head, ("---",) * len(head), *body))


def places() -> str:
    rows = []
    for place in catalogue.PLACES:
        text = place.text
        codes = ", ".join(f"[{code}](../codes/{code}.md)" for code in place.codes)
        rows.append((text.place, text.read_with, text.change, text.rollback, text.remains, codes))
    return table(("place", "read with", "a rename", "a rollback", "remains", "codes"), *rows)


def leftovers() -> str:
    rows = [
        (
            *(row.left, row.by, row.loss),
            f"[{row.code}](../codes/{row.code}.md): {', '.join(row.found_by)}" if row.code else move_leftovers.NOBODY,
            *(row.done, row.source),
        )
        for row in move_leftovers.LEFTOVERS
    ]
    return table(("what stays", "of", "what it does later", "found by", "what is done", "source"), *rows)


def destinations() -> str:
    """What is compared of a guest and a destination, and what is not."""
    rows = []
    for row in unfit.TABLE:
        compared = "" if row.judge is None else "yes"
        rows.append((row.what, row.loss, compared, row.live, row.cold))
    return table(("what", "what is lost without a comparison", "SG523", "live migration", "new definition"), *rows)


def starts() -> str:
    """Every place where a start of nova-compute can destroy or refuse, and what judges it."""
    rows = []
    for rule in start_table.RULES:
        file, _blank, function = rule.place.rpartition(" ")
        last = rule.until or NEWEST
        releases = str(last) if last == rule.since else f"{rule.since} to {last}"
        verdict = f"**not judged**: {rule.unjudged}"
        if not rule.unjudged:
            verdict = f"`{rule.judged or f'start_rules.{rule.judge.__name__}'}`"
        rows.append((rule.loss, rule.when, f"`{file}`, `{function}`", releases, rule.reads, verdict))
    head = ("what is lost", "if", "Nova's source", "releases", "the audit reads", "judged by")
    return table(head, *rows)


def words() -> str:
    """What logs say, and the codes that it belongs to. The words stand on one line, as they are printed."""
    rows = []
    for row in log_words.ROWS:
        codes = ", ".join(f"[{code}](../codes/{code}.md)" for code in row.codes)
        guide = f" [Read on](../{row.page})." if row.page else ""
        releases = f", Nova {row.releases}" if row.releases else ""
        rows.append((f"`{row.words}`", codes, f"{row.means}{guide}", row.log, f"{row.source}{releases}"))
    return table(("the log says", "codes", "what it means", "who says it", "read in"), *rows)


def kinds() -> str:
    texts = [(f"`{name}`", entry.text) for name, entry in FENCES.items()]
    rows = [(name, text.proof, text.covers, text.use) for name, text in texts]
    head = ("`evacuate_fence`", "what proves that the host is fenced", "what the fence covers", "use it when")
    return table(head, *rows)


def codes(hundred: str) -> str:
    """The summaries of the codes that begin with this digit."""
    rows = []
    for code, entry in sorted(findings.CATALOGUE.items()):
        if code[2] == hundred:
            severity = f"{entry.severity}, absolute" if entry.absolute else entry.severity
            summary = f"{entry.summary} (reserved: never reported)" if entry.reserved else entry.summary
            rows.append((f"[{code}]({code}.md)", entry.slug, severity, summary))
    return table(("code", "name", "severity", ""), *rows)


def variables(role: str) -> str:
    """The page of a role's variables, as its argument specification describes them."""
    spec = _specification(role)
    rows = [
        (f"`{name}`", _default(option), _markdown(option["description"])) for name, option in spec["options"].items()
    ]
    first = f"{_markdown(spec['short_description']).rstrip('.')}: [{GUIDES[role]}](../../{GUIDES[role]})."
    shared = "" if role == "common" else "\n[What all playbooks share](common.md)."
    return f"# Variables: {role}\n\n{first}{shared}\n\n{table(('variable', 'default', ''), *rows)}"


def role_page(role: str) -> str:
    """A role's README: what it is for, and where the rest is."""
    spec = _specification(role)
    use = f"Run the playbook `stackguard.nova.{role}`" if role != "common" else "Every playbook includes it"
    links = f"[guide](../../docs/{GUIDES[role]}), [variables](../../docs/reference/variables/{role}.md)"
    said = _markdown(spec["short_description"]).rstrip(".")
    return f"# Role `stackguard.nova.{role}`\n\n{_wrapped(f'{said}. {use}: {links}.')}\n"


def _specification(role: str) -> dict[str, t.Any]:
    specs = yaml.safe_load((ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    return t.cast("dict[str, t.Any]", specs["main" if "main" in specs else "begin"])


def _default(option: dict[str, object]) -> str:
    if option.get("required"):
        return "required"
    default = option.get("default")
    if default is None or default == "":
        return ""
    shown = json.dumps(default) if isinstance(default, (bool, list, dict)) else str(default)
    return f"`{shown}`"


def _markdown(description: str | list[str]) -> str:
    """Ansible's markup as Markdown on one line, with a link to the page of each finding code."""
    text = " ".join([description] if isinstance(description, str) else description)
    text = re.sub(r"\b[CVM]\(((?:[^()]|\([^()]*\))*)\)", r"`\1`", text)
    text = re.sub(r"\bO\((?:\w+:)?([^)]*)\)", r"`\1`", text)
    # A link in a code span would be shown as it is.
    spans = re.split(r"(`[^`]*`)", text)
    text = "".join(
        span if span.startswith("`") else re.sub(r"\b(SG\d{3})\b", r"[\1](../../codes/\1.md)", span) for span in spans
    )
    return " ".join(text.replace("|", "\\|").split())


NETWORKS = {"tap": "taps", "ovs": "Open vSwitch agents", "ovn": "OVN"}


def tested() -> str:
    """What the parts of `make test-matrix` do, and on what they do it."""
    found: dict[str, list[str]] = {}
    for name, part in parts.PARTS.items():
        if part.lab is not None:
            found.setdefault(part.text, []).append(f"{_environment(part.lab)} (`{name}`)")
    return table(("what", "where (part)"), *((what, "<br>".join(where)) for what, where in sorted(found.items())))


def _environment(lab: parts.Shape) -> str:
    kolla = [f"{lab.engine} containers"] if lab.deploy != "packages" else []
    many = [f"{count} {what}" for what in ("pools", "clusters", "cells") if (count := getattr(lab, what)) > 1]
    setup = [f"set up with {lab.ovn}"] if lab.ovn != "usual" else []
    cinder = [f"Cinder with {lab.cinder}"] if lab.cinder else []
    return ", ".join([lab.release, *kolla, NETWORKS[lab.l2], *setup, *cinder, *many])


def upgrades() -> str:
    """Old variables: what took their place, or the value that they have now."""
    new = {name: f"set `{successor}`" for name, successor in old_variables.SUCCESSORS.items()}
    fixed = {name: f"remove it; the value is now {value}" for name, value in old_variables.CONSTANTS.items()}
    gone = {name: f"remove it: {what}" for name, what in old_variables.GONE.items()}
    rows = [(f"`{name}`", what) for name, what in sorted({**new, **fixed, **gone}.items())]
    return table(("until version 0.2", "now"), *rows)


def made(name: str, page: str) -> str:
    kind, _blank, rest = name.partition(" ")
    tables = {"places": places, "fences": kinds, "upgrades": upgrades, "tested": tested}
    tables.update(leftovers=leftovers, destinations=destinations, starts=starts, log=words)
    tables.update(codes=lambda: codes(rest), grants=lambda: grants(rest))
    return tables[kind]()


def catalogued(entry: Code) -> str:
    """A code's page: what is found, what to do, why, and which override passes it."""
    parts = [f"# {entry.code} {entry.slug}", f"**{said_severity(entry)}** {entry.summary}"]
    if entry.reserved:
        parts.append("Reserved: no check of this version reports it.")
    acts = _remedies(entry) if entry.remedies else ""
    parts += ["## Do this", *filter(None, (inspect.cleandoc(entry.do), acts))] if entry.do or acts else []
    parts += ["## Why", inspect.cleandoc(entry.why)]
    passed = " ".join(filter(None, (entry.overridden_by and f"`object`: {entry.overridden_by}.", entry.override)))
    parts += ["## Override", passed] if passed else []
    return "\n\n".join(map(_paragraphs, parts)) + "\n"


def said_severity(entry: Code) -> str:
    severity = {"info": "information"}.get(entry.severity, entry.severity)
    return f"{severity.capitalize()}, no override." if entry.absolute else f"{severity.capitalize()}."


def _remedies(entry: Code) -> str:
    """What a report says to do: the one text, or one for each state. Names are in capitals, as in a usage line."""
    if len(entry.remedies) > 1:
        return remedies(entry)
    (found,) = entry.remedies.values()
    return _PLACE.sub(lambda place: place[1].upper(), found.text).replace("{{", "{").replace("}}", "}")


def _paragraphs(text: str) -> str:
    """The text with each plain paragraph wrapped; lists, tables, commands and headings stay as they are."""
    return "\n\n".join(part if _FORMED.match(part) else _wrapped(part) for part in text.split("\n\n"))


_FORMED = re.compile(r"[-*#] | {4}|\d+\. |```|\|")


def remedies(entry: Code) -> str:
    """What a report says to do, by what the run has read. Names are in capitals, as in a usage line."""
    texts = {state: _PLACE.sub(lambda place: place[1].upper(), found.text) for state, found in entry.remedies.items()}
    states: dict[str, list[str]] = {}
    for state, text in texts.items():
        # A text stands once.
        states.setdefault(text, []).append(state)
    lines = [_wrapped(f"- **{', '.join(same).replace('-', ' ')}**: {text}", "  ") for text, same in states.items()]
    return "\n".join(line.replace("{{", "{").replace("}}", "}") for line in lines)


_PLACE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def _wrapped(text: str, indent: str = "") -> str:
    if text.startswith("- ") and not indent:
        return text
    lines = textwrap.wrap(text, 120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return "\n".join(lines)


def grants(group: str) -> str:
    """The statements that give the rights of a group of operations, to be copied as they stand."""
    return f"```sql\n{grant_statements.block(group)}\n```\n"


def remade(name: str, old: str) -> str:
    """Return what a file should hold."""
    if name.startswith(f"{CODES}/SG"):
        return catalogued(findings.CATALOGUE[pathlib.Path(name).stem])
    if name == SPECIFICATION:
        choices = ", ".join(("''", *FENCES))
        new, count = CHOICES.subn(rf"\g<1>{choices}\g<2>", old)
        if count != 1:
            sys.exit(f"{name}: the choices of evacuate_fence are not where they were")
        return new
    return MARKED.sub(lambda match: match[1] + made(match[2], old) + match[4], old)


def main(arguments: list[str]) -> int:
    """Return 1 where a file differs and is not to be written."""
    different = []
    pages = [f"{CODES}/{code}.md" for code in sorted(findings.CATALOGUE)]
    roles = {f"roles/{role}/README.md": role_page(role) for role in GUIDES}
    roles.update({f"docs/reference/variables/{role}.md": variables(role) for role in GUIDES})
    for name in (*PAGES, *pages, *roles, SPECIFICATION):
        path = ROOT / name
        old = path.read_text() if path.exists() else ""
        new = roles.get(name) or remade(name, old)
        if new != old:
            different.append(name)
            if arguments == ["--write"]:
                path.write_text(new)
    if different and arguments != ["--write"]:
        print(f"not what the code says: {', '.join(different)}: run tests/gates/generated.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
