# SPDX-License-Identifier: GPL-3.0-or-later
"""Words that operators have to read twice: none of them is in a text that a user meets.

Looked at: strings of plugins (their docstrings are for developers), task names and texts of roles and playbooks,
README files, guides and code pages. Comments are not.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: The word, and what the field says instead.
WORDS = {
    r"anew": "again",
    r"mend(s|ed|ing)?": "repair",
    r"bears?|bearing": "has, is named",
    r"nobody": "no server, no host, no one by name",
    r"somebody": "who it is",
    r"tells?|told": "report, show, say",
    r"(carry|carries|carried|carrying) on": "resume",
    r"(go|goes|gone|going) on with": "resume",
    r"in green": "with exit status 0",
    r"by itself": "automatically, or who does it",
    r"(give[sn]?|gave|take[sn]?|took) back": "restore, roll back",
    r"whom": "which server, which host",
    r"anybody|everybody": "which user, which host",
    r"what was read": "the facts, the evidence",
    r"all the same": "still, anyway",
    r"says? so": "report, and what",
    r"half a rename": "an unfinished rename",
    r"in two minds": "while old and new names coexist",
    r"where it stands": "its state",
    r"in the meantime": "during the run, since it was read",
    r"lets? go of": "release",
    r"findings to pass|passed by name|be passed": "override",
    r"can not": "cannot",
}
FORBIDDEN = re.compile(r"\b(" + "|".join(WORDS) + r")\b", re.IGNORECASE)
#: Texts that are no sentences: keys that other programs read, and what a recorded answer says.
IDENTIFIERS = {"told", "heals by itself"}
TEXTS = (
    "README.md",
    "docs/**/*.md",
    "roles/*/tasks/*.yml",
    "roles/*/meta/*.yml",
    "roles/*/README.md",
    "playbooks/**/*.yml",
    "extensions/**/*.yml",
)


def documented(tree: ast.Module) -> set[int]:
    """Ids of the nodes that are docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    firsts = [node.body[0] for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    return {id(first.value) for first in firsts if isinstance(first, ast.Expr)}


def sentences(root: pathlib.Path) -> Iterator[tuple[str, str]]:
    """(place, line) of every text that a user can meet."""
    for path in sorted((root / "plugins").rglob("*.py")):
        tree = ast.parse(path.read_text(), str(path))
        docstrings = documented(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                for line in node.value.splitlines():
                    yield f"{path.relative_to(root)}:{node.lineno}", line
    for pattern in TEXTS:
        for path in sorted(root.glob(pattern)):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if not line.lstrip().startswith("#") or path.suffix == ".md":
                    yield f"{path.relative_to(root)}:{number}", line


def problems(root: pathlib.Path = ROOT) -> Iterator[str]:
    for place, line in sentences(root):
        found = FORBIDDEN.search(line)
        if found and line.strip() not in IDENTIFIERS:
            better = next(better for word, better in WORDS.items() if re.fullmatch(word, found[0], re.IGNORECASE))
            yield f"{place}: {found[0]!r}: better {better}: {line.strip()[:100]}"


def main() -> int:
    found = list(problems())
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
