# SPDX-License-Identifier: GPL-3.0-or-later
"""What no other tool checks: that the parts of the collection fit one another, and hold on Python 3.9."""

from __future__ import annotations

import ast
import builtins
import pathlib
import re
import sys
from collections.abc import Iterator

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Part of the collection's design: what may import what, below plugins/module_utils.
PURE = ("checks", "plans")
PURE_FORBIDDEN = re.compile(
    r"(^|\.)(systems|actions)(\.|$)|^(ansible\.|openstack|sqlalchemy|libvirt|rbd|rados|subprocess|socket)"
)


def parsed(directory: pathlib.Path) -> Iterator[tuple[pathlib.Path, ast.Module]]:
    for path in sorted(directory.rglob("*.py")):
        yield path.relative_to(ROOT), ast.parse(path.read_text(), str(path))


def is_type(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return is_type(node.left) or is_type(node.right)
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Subscript):
        return is_type(node.value)
    return isinstance(node, ast.Name) and isinstance(getattr(builtins, node.id, None), type)


def union_types() -> Iterator[str]:
    """`X | None` fails on 3.9 wherever it is evaluated, and facts evaluate their annotations."""
    for path, tree in parsed(ROOT / "plugins"):
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and is_type(node):
                yield f"{path}:{node.lineno}: union types as `X | Y` need Python 3.10: use t.Optional or t.Union"


def pure_parts() -> Iterator[str]:
    """Checks and plans do no I/O: they import neither systems nor the libraries these use."""
    for part in PURE:
        for path, tree in parsed(ROOT / "plugins" / "module_utils" / part):
            for node in ast.walk(tree):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [f"{node.module or ''}.{alias.name}" for alias in node.names]
                for name in names:
                    if PURE_FORBIDDEN.search(name):
                        yield f"{path}:{node.lineno}: {part} are pure and must not import {name}"


#: Where proof of a fence is made: nowhere else, not even from stored data.
PROOFS = pathlib.Path("plugins/module_utils/fence_proof.py")


def proofs(directory: pathlib.Path = ROOT / "plugins") -> Iterator[str]:
    """A fence proof is made of what was just read back, by its makers: never by hand, from a journal, or changed."""
    for path, tree in parsed(directory):
        if path == PROOFS:
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or named(node.func) == "isinstance":
                continue
            if "FenceProof" in map(named, (node.func, *node.args)):
                yield f"{path}:{node.lineno}: a FenceProof is made in {PROOFS} only"


def named(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def action_groups() -> Iterator[str]:
    groups = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["action_groups"]
    modules = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}
    for group, members in groups.items():
        for name in members:
            if name not in modules:
                yield f"meta/runtime.yml: group {group} names {name}, which is no module of this collection"


def action_modules() -> Iterator[str]:
    for path in (ROOT / "plugins" / "action").glob("*.py"):
        if not path.name.startswith("_") and not (ROOT / "plugins" / "modules" / path.name).exists():
            yield f"{path.relative_to(ROOT)}: an action plugin without the module that documents it"


def roles() -> Iterator[str]:
    for role in sorted((ROOT / "roles").glob("*/")):
        for name in ("README.md", "meta/argument_specs.yml"):
            if not (role / name).exists():
                yield f"roles/{role.name}: has no {name}"


def versions() -> Iterator[str]:
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    if f"v{version}".replace(".", r"\.") not in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md: does not mention {version}, the version in galaxy.yml"


def test_directories() -> Iterator[str]:
    """No test is forgotten: `make test` runs these directories, or their own target says why it does not."""
    known = {"unit", "integration", "integration_db", "crash", "matrix", "scale"}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        directory = path.relative_to(ROOT / "tests").parts[0]
        if directory not in known:
            yield f"{path.relative_to(ROOT)}: no target of the Makefile runs it"


def main() -> int:
    checks = (union_types, pure_parts, proofs, action_groups, action_modules, roles, versions, test_directories)
    problems = [problem for check in checks for problem in check()]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
