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


#: The floors of plugins/module_utils from the ground up: what each is, and the floors that it may import.
FLOORS = {
    "model": (),
    "records": ("model",),
    "name_places": ("model",),
    "capacity": ("model",),
    "systems": ("model", "records", "name_places", "capacity"),
    "hazards": ("model", "records", "name_places", "capacity"),
    "reports": ("model", "records"),
    "engine": ("model", "records", "systems", "hazards", "reports"),
}
#: The wings, one for each operation. They import all floors, and of the wings only themselves and what stands here.
WINGS = ("rename", "evacuation", "return_host", "moves", "zones", "links", "maintain", "remove", "audit", "doctor")
USES = {"rename/drain": "moves", "evacuation": "moves", "maintain": "moves"}
#: Floors whose files do no I/O.
PURE = ("model", "name_places", "capacity", "hazards", "reports")
#: The files of a wing that may use systems and the engine: those named so, and these. All others judge or plan.
ACTING = re.compile(
    r"(^|/)\w*(operation|steps)\.py$"
    r"|^(moves|remove)/(mover|evidence)\.py$"
    r"|^evacuation/(call|guards|record|round|fences/\w+)\.py$"
)
#: What a folder of systems may use of another one: everything else goes through steps and operations.
NEIGHBOURS = {("api", "db"), ("host", "ceph"), ("ceph", "host")}
IO = re.compile(
    r"^(ansible|openstack|keystoneauth1|sqlalchemy|libvirt|rbd|rados|subprocess|socket|requests|amqp|ovs|ovsdbapp)(\.|$)"
)
#: inet_pton reads an address as nova.conf's types do, and opens nothing.
PARSERS = {("model/host_domain.py", "socket")}
UTILS = pathlib.Path("plugins/module_utils")
PACKAGE = "ansible_collections.stackguard.nova.plugins.module_utils"


def imported(tree: ast.AST, here: str) -> Iterator[tuple[int, str]]:
    """Every imported name with its line: of ``from a import b`` it is a.b. ``here``: the package of the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = here.split(".")[: len(here.split(".")) - node.level + 1] if node.level else []
            for alias in node.names:
                yield node.lineno, ".".join([*base, *filter(None, [node.module]), alias.name])


def own(name: str, root: pathlib.Path) -> pathlib.PurePosixPath | None:
    """The file below module_utils that an imported name is in; None: it is not of ours."""
    if not name.startswith(f"{PACKAGE}."):
        return None
    path = pathlib.PurePosixPath(*name[len(PACKAGE) + 1 :].split("."))
    for candidate in (path, path.parent):
        if (root / UTILS / f"{candidate}.py").exists():
            return candidate.with_name(f"{candidate.name}.py")
    return path


def import_problem(path: pathlib.PurePosixPath, other: pathlib.PurePosixPath) -> str | None:
    """Why a file must not import another one."""
    here, there = path.parts[0], other.parts[0]
    if there not in FLOORS and there not in WINGS:
        return "belongs to no floor and no wing"
    if here in FLOORS:
        if here != there and there not in FLOORS[here]:
            return f"is in {there}, which {here} does not stand on"
        if here == there == "systems" and path.parts[1] != other.parts[1]:
            return None if (path.parts[1], other.parts[1]) in NEIGHBOURS else f"is another system ({other.parts[1]})"
        return None
    if there in WINGS and there != here and USES.get("/".join(path.parts[:2]), USES.get(here)) != there:
        return "is another wing"
    if there in ("systems", "engine") and not ACTING.search(str(path)):
        return f"is in {there}: only {ACTING.pattern} may use it"
    return None


def house(root: pathlib.Path = ROOT) -> Iterator[str]:
    """Every file is on a floor or in a wing, and imports what that may import."""
    for file in sorted((root / UTILS).rglob("*.py")):
        path = pathlib.PurePosixPath(file.relative_to(root / UTILS).as_posix())
        if path.name == "__init__.py" and not file.read_text():
            continue  # pylint would take a file such as http.py for the standard library's
        if len(path.parts) == 1 or path.parts[0] not in (*FLOORS, *WINGS):
            yield f"{UTILS / path}: belongs to no floor and no wing: {', '.join((*FLOORS, *WINGS))}"
            continue
        pure = path.parts[0] in PURE or (path.parts[0] in WINGS and not ACTING.search(str(path)))
        here = ".".join([PACKAGE, *path.parts[:-1]])
        for line, name in imported(ast.parse(file.read_text(), str(file)), here):
            other = own(name, root)
            problem = import_problem(path, other) if other is not None else None
            if problem:
                yield f"{UTILS / path}:{line}: must not import {name}: it {problem}"
            if pure and IO.search(name) and (str(path), name) not in PARSERS:
                yield f"{UTILS / path}:{line}: is pure and must not import {name}"


def relative_imports(root: pathlib.Path = ROOT) -> Iterator[str]:
    """Inside the collection, imports are relative."""
    for file in sorted((root / "plugins").rglob("*.py")):
        path = file.relative_to(root)
        for node in ast.walk(ast.parse(file.read_text(), str(file))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ansible_collections.stackguard."):
                yield f"{path}:{node.lineno}: import {node.module} relatively"


SCRIPTED = re.compile(r"from (ansible_collections\.stackguard\.nova[\w.]*) import ([\w, ]+)")


def imports(root: pathlib.Path = ROOT) -> Iterator[str]:
    """Programs in strings are seen by no type checker: what they import of ours is there."""
    prefix = "ansible_collections.stackguard.nova."
    for directory in ("tests", "lab"):
        for path, tree in parsed(root / directory):
            for node in ast.walk(tree):
                if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                    continue
                for module, names in SCRIPTED.findall(node.value):
                    base = root / pathlib.Path(*module[len(prefix) :].split("."))
                    for name in (word.split()[0] for word in names.split(",") if word.strip()):
                        if not base.with_suffix(".py").exists() and not (base / f"{name}.py").exists():
                            yield f"{path}:{node.lineno}: imports {module}.{name}, which is not there"


#: Where proof of a fence is made: nowhere else, not even from stored data.
PROOFS = pathlib.Path("plugins/module_utils/model/fence_proof.py")
#: Where the readings are made that a proof is made of: by the kinds of fence.
READINGS = pathlib.Path("plugins/module_utils/model/fences")


def proofs(directory: pathlib.Path = ROOT / "plugins") -> Iterator[str]:
    """A fence proof is made of what was just read back, by its maker: never by hand, from a journal, or changed."""
    for path, tree in parsed(directory):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or named(node.func) == "isinstance":
                continue
            words = {*map(named, (node.func, *node.args))}
            if "FenceProof" in words and path != PROOFS:
                yield f"{path}:{node.lineno}: a FenceProof is made in {PROOFS} only"
            if "Reading" in words and READINGS not in path.parents:
                yield f"{path}:{node.lineno}: a Reading of a fence is made in {READINGS} only"


def named(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def action_groups() -> Iterator[str]:
    groups = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["action_groups"]
    modules = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}
    for group, members in groups.items():
        for name in members:
            if name not in modules:
                yield f"meta/runtime.yml: group {group} names {name}, which is no module of this collection"


#: What the documentation of a module says that takes the options of a group.
CONNECTS = {"openstack": "- stackguard.nova.openstack\n", "databases": "- stackguard.nova.databases\n"}


def connections() -> Iterator[str]:
    """One module_defaults serves every module that connects to the cloud, and no other one; so for the databases."""
    groups = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["action_groups"]
    for group, fragment in CONNECTS.items():
        connect = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py") if fragment in path.read_text()}
        for name in sorted(connect ^ set(groups[group])):
            yield f"meta/runtime.yml: group {group}: {name} is {'not ' if name in connect else ''}in it"


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
    if f"v{version}\n" not in (ROOT / "CHANGELOG.rst").read_text():
        yield f"CHANGELOG.rst: does not mention {version}, the version in galaxy.yml"


def test_directories() -> Iterator[str]:
    """No test is forgotten: `make test` runs these directories, or their own target says why it does not."""
    known = {"unit", "integration", "integration_db", "crash", "matrix", "scale"}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        directory = path.relative_to(ROOT / "tests").parts[0]
        if directory not in known:
            yield f"{path.relative_to(ROOT)}: no target of the Makefile runs it"


def main() -> int:
    checks = (
        union_types,
        house,
        relative_imports,
        imports,
        proofs,
        action_groups,
        connections,
        action_modules,
        roles,
        versions,
        test_directories,
    )
    problems = [problem for check in checks for problem in check()]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
