# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all pages have: findings by code, cards of what to do, bars, what was not decided, and their frame. Pure.

All text is given to a template that escapes it. Nothing here is markup.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    BLOCKER,
    CATALOGUE,
    INFO,
    WARNING,
    Finding,
    Override,
    ordered,
    overridden,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count, visible
from ansible_collections.stackguard.nova.plugins.module_utils.reports import audit
from ansible_collections.stackguard.nova.plugins.module_utils.reports.evidence_words import in_words, natural, page_of

#: Rows of a table, and cards, before "more"; names that a sentence or a card has room for.
FIRST, CARDS, NAMED = 50, 12, 5
#: Rows of all codes together before "more": a browser makes elements of each. A code has at least so many.
ROWS, LEAST = 400, 5
#: In the order of what has to be looked at first.
RANKS = (BLOCKER, WARNING, INFO, "passed", "none")


class ShownHost(t.Protocol):
    """What a page needs of a host."""

    @property
    def name(self) -> str:
        """Its name, as it is shown."""

    @property
    def anchor(self) -> str:
        """Where the page has more of it; empty: nowhere."""

    @property
    def number(self) -> int:
        """What everything about it is marked with."""


Render = t.Callable[..., str]


def framed(render: Render, style: str, script: str, **shown: t.Any) -> str:
    """Return a page. ``render``: the template's; it must escape what it is given."""
    hashes = {"style_hash": digest(style), "script_hash": digest(script)}
    return render(
        style=style, script=script, **hashes, plural=count, catalogue=CATALOGUE, ranks=RANKS, first_cards=CARDS, **shown
    )


def digest(text: str) -> str:
    """What a content security policy knows an inline script or style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def anchor(kind: str, name: str) -> str:
    """Return an id for a link: the name where it is plain, else what is plain of it with a digest."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:80]
    if plain == name:
        return f"{kind}-{name}"
    return f"{kind}-{plain.strip('-')}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


# --- findings -------------------------------------------------------------------------------------------------


def groups(
    items: t.Iterable[Finding],
    overrides: t.Sequence[Override],
    host_of: t.Callable[[Finding, t.Dict[str, t.Any]], ShownHost],
) -> t.List[t.Dict[str, t.Any]]:
    """Findings by code, what blocks first. A remedy that all of a code share is shown once.

    ``host_of``: takes a finding and its row, and returns the host that it is of.
    """
    by_code: t.Dict[str, t.List[t.Dict[str, t.Any]]] = {}
    seen: t.Set[str] = set()
    for item in ordered(items):
        passed = overridden(item, overrides)
        row: t.Dict[str, t.Any] = {
            "id": _unique(anchor(item.code, item.object.id), item, seen),
            "code": item.code,
            "slug": item.slug,
            "severity": item.severity,
            "level": "passed" if passed else item.severity,
            "kind": item.object.kind.replace("_", " "),
            "object": visible(item.object.id),
            "name": audit.label(item.object),
            "words": visible(in_words(item.evidence)),
            "json": visible(json.dumps(item.evidence, indent=1, sort_keys=True, default=str, ensure_ascii=False)),
            "remedy": visible(item.remedy),
        }
        row["host"] = host_of(item, row)
        by_code.setdefault(item.code, []).append(row)
    result = []
    for code, rows in by_code.items():
        rows.sort(key=lambda row: (RANKS.index(row["level"]), natural(row["host"].name), natural(row["name"])))
        shared = {row["remedy"] for row in rows}
        result.append(
            {
                "code": code,
                "entry": CATALOGUE[code],
                "rows": rows,
                "number": len(rows),
                "worst": rows[0]["level"],
                "remedy": shared.pop() if len(shared) == 1 else None,
            }
        )
    result.sort(key=lambda group: (RANKS.index(str(group["worst"])), str(group["code"])))
    left = ROWS
    for group in result:
        rows = t.cast("t.List[t.Any]", group.pop("rows"))
        number = min(FIRST, max(LEAST, left))
        group.update(first=rows[:number], rest=rows[number:])
        left -= min(number, len(rows))
    return result


def docs_of(found: t.Sequence[t.Mapping[str, t.Any]], docs: t.Mapping[str, str]) -> t.Dict[str, t.Any]:
    """Return the pages of the codes of these groups, as blocks."""
    return {str(group["code"]): page_of(docs[group["code"]]) for group in found if group["code"] in docs}


def _unique(wanted: str, item: Finding, seen: t.Set[str]) -> str:
    """Return an id that no other finding has, the same one in each report as long as this finding stands."""
    name = wanted
    if name in seen:
        name = f"{wanted}-{hashlib.sha256(repr((item.object, item.severity)).encode()).hexdigest()[:6]}"
    number = 1
    while name in seen:
        number += 1
        name = f"{wanted}-{number}"
    seen.add(name)
    return name


# --- what to do -----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Card:
    """What to do about one code: all hosts and objects, each remedy once."""

    code: str
    slug: str
    severity: str
    number: int
    kind: str
    names: t.Tuple[str, ...]
    hosts: t.List[ShownHost]
    remedies: t.List[str]
    commands: t.List[str]


def cards(entries: t.Iterable[audit.TodoEntry], host_of: t.Callable[[str], ShownHost]) -> t.List[Card]:
    """One card for each code. ``host_of``: the host of a name that findings have for it."""
    found: t.Dict[t.Tuple[str, str], Card] = {}
    for entry in entries:
        hosts = list({host.number: host for host in map(host_of, entry.hosts)}.values())
        card = found.setdefault(
            (entry.code, entry.severity), Card(entry.code, entry.slug, entry.severity, 0, "", (), [], [], [])
        )
        card.number += entry.number
        card.kind = entry.kind if card.kind in ("", entry.kind) else "object"
        card.names = (*card.names, *entry.objects)[:NAMED]
        known = {host.number for host in card.hosts}
        card.hosts += [host for host in hosts if host.number not in known]
        card.remedies.append(entry.remedy)
        card.commands += [command for command in entry.commands if command not in card.commands]
    for card in found.values():
        card.hosts.sort(key=lambda host: natural(host.name))
    return list(found.values())


# --- bars -----------------------------------------------------------------------------------------------------


def bar_parts(parts: t.Sequence[t.Tuple[str, int]]) -> t.List[t.Dict[str, t.Any]]:
    """Parts of a bar that is 1,000 wide. What is there at all is seen."""
    total = sum(number for _name, number in parts) or 1
    shown, at = [], 0.0
    for name, number in parts:
        width = 1000 * number / total
        if number:
            drawn = max(width, 4.0)
            shown.append({"name": name, "number": number, "x": round(min(at, 996.0), 1), "width": round(drawn, 1)})
        at += width
    return shown


# --- what was not decided -------------------------------------------------------------------------------------


def coverage(
    unchecked: t.Iterable[t.Mapping[str, t.Any]],
    fix_of: t.Callable[[str], str] = lambda _reason: "",
    failed: t.Callable[[str], str] = lambda _reason: "",
) -> t.List[t.Dict[str, t.Any]]:
    """What could not be decided, by reason: one database that is down is one entry.

    ``fix_of``: what helps against a reason; ``failed``: why a source was not read, where a reason knows only that.
    """
    reasons: t.Dict[str, t.List[t.Mapping[str, str]]] = {}
    for item in unchecked:
        reasons.setdefault(str(item["reason"]), []).append(item)
    result = []
    for reason, items in reasons.items():
        codes = sorted({str(item["code"]) for item in items})
        objects = sorted({str(item["object"]) for item in items}, key=natural)
        result.append(
            {
                "reason": visible(reason) or "no reason was noted",
                "codes": codes,
                "objects": [visible(name) for name in objects[:FIRST]],
                "more": max(0, len(objects) - FIRST),
                "number": len(items),
                "whole": objects == ["all"],
                "fix": fix_of(reason),
                "failed": failed(reason),
            }
        )
    return sorted(result, key=lambda entry: (-len(t.cast("t.List[str]", entry["codes"])), str(entry["reason"])))
