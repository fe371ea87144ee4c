# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reference of the modules must say, and no other tool checks.

A public module has three examples at least and says what else to look at. Every dictionary that a module returns, alone
or in a list, says what it contains: by `contains`, by a description that says "by name" or "by uuid" (its keys are
names or ids), or by one that names the keys as C(key). What several modules return under a name that is a contract is
one thing.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
INTERNAL = "Internal, no stability promise."
EXAMPLES = 3
#: Says what the keys of a dictionary are: "By name, ...", "..., by name", "The keys are ..." or "... as the key".
BY_KEY = re.compile(r"^By |, by \w|[Tt]he keys? (is|are) |as the key\b")
#: Returned by several modules, in one form.
CONTRACTS = ("report", "plan")


def documented(path: pathlib.Path) -> dict[str, Any]:
    """DOCUMENTATION, EXAMPLES and RETURN of a module."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            name = ast.unparse(node.targets[0])
            if name in ("DOCUMENTATION", "EXAMPLES", "RETURN"):
                found[name] = yaml.safe_load(str(node.value.value))
    return found


def words(description: Any) -> str:
    return description if isinstance(description, str) else " ".join(description or ())


def unexplained(values: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """The dictionaries of which it is not said what they contain."""
    for name, value in values.items():
        place = f"{where}{name}"
        inner = value.get("contains")
        if inner:
            yield from unexplained(inner, f"{place}.")
        elif "dict" in (value.get("type"), value.get("elements")):
            text = words(value.get("description"))
            if not BY_KEY.search(text) and "C(" not in text and "V(null)" not in text:
                yield place


def problems(documents: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What is missing, by module."""
    contracts: dict[str, tuple[str, Any]] = {}
    for module, parts in documents.items():
        page = parts["DOCUMENTATION"]
        if not words(page["description"]).startswith(INTERNAL):
            count = len(parts["EXAMPLES"])
            if count < EXAMPLES:
                yield f"{module}: {count} examples; a public module has {EXAMPLES} at least"
            if not page.get("seealso"):
                yield f"{module}: no seealso"
        for place in unexplained(parts["RETURN"]):
            yield f"{module}: RETURN {place}: say what it contains"
        for name in set(CONTRACTS) & set(parts["RETURN"]):
            first, there = contracts.setdefault(name, (module, parts["RETURN"][name].get("contains")))
            if there != parts["RETURN"][name].get("contains"):
                yield f"{module}: RETURN {name} does not contain what that of {first} does"


def main() -> int:
    paths = sorted((ROOT / "plugins" / "modules").glob("*.py"))
    found = list(problems({path.stem: documented(path) for path in paths}))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
