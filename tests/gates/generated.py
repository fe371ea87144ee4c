# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of the documentation that are made from the code: places of a host name, fences, finding codes.

    tests/gates/generated.py            says which are not what the code says, and returns 1
    tests/gates/generated.py --write    writes them

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".build" / "dev"))

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.name_places import catalogue  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.operations import fences  # noqa: E402

PAGES = ("docs/name-places.md", "docs/guides/evacuate.md", "docs/codes/README.md")
MARKED = re.compile(r"(<!-- table: ([\w ]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def table(*rows: tuple[str, ...]) -> str:
    head, *body = rows
    return "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in (head, ("---",) * len(head), *body))


def places() -> str:
    rows = []
    for place in catalogue.PLACES:
        text = place.text
        codes = ", ".join(f"[{code}](codes/{code}.md)" for code in place.codes)
        rows.append((text.place, text.read_with, text.change, text.rollback, text.remains, codes))
    return table(("place", "read with", "a rename", "a rollback", "remains", "codes"), *rows)


def kinds() -> str:
    texts = {**{name: kind.text for name, kind in fences.FENCES.items()}, "attested": fences.ATTESTED}
    rows = [(f"`{name}`", text.proof, text.covers, text.use) for name, text in texts.items()]
    return table(("`evacuate_fence`", "the proof", "it covers", "use it when"), *rows)


def codes(hundred: str, page: str) -> str:
    """The summaries; what a page adds to one, such as `(reserved)`, stays."""
    added = dict(re.findall(r"^\| \[(SG\d+)\].* (\(reserved\)) \|$", page, re.MULTILINE))
    rows = []
    for code, entry in sorted(findings.CATALOGUE.items()):
        if code[2] == hundred:
            severity = f"{entry.severity}, absolute" if entry.absolute else entry.severity
            summary = " ".join(filter(None, (entry.summary, added.get(code))))
            rows.append((f"[{code}]({code}.md)", entry.slug, severity, summary))
    return table(("code", "name", "severity", ""), *rows)


def made(name: str, page: str) -> str:
    kind, _blank, rest = name.partition(" ")
    return {"places": places, "fences": kinds, "codes": lambda: codes(rest, page)}[kind]()


def main(arguments: list[str]) -> int:
    """Return 1 where a table differs and is not to be written."""
    different = []
    for name in PAGES:
        path = ROOT / name
        old = path.read_text()
        new = MARKED.sub(lambda match, page=old: match[1] + made(match[2], page) + match[4], old)
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
