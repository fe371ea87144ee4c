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


#: The rooms of plugins/module_utils, from the ground up, each with its rule. A room may use those before it.
ROOMS = {
    "model": "the words of the trade: frozen dataclasses and pure functions over them",
    "name_places": "where the name of a host is stored, a file for each place; pure",
    "capacity": "who fits where, by measured memory or by placement's numbers; pure",
    "records": "files of ours: journals, evidence, batches",
    "checks": "facts to findings; pure",
    "plans": "facts to a plan; pure",
    "reports": "forms for people; pure",
    "systems": "all other reading and writing, a folder for each system",
    "steps": "what the steps of a plan do on the controller",
    "operations": "one file for an operation, all on one lifecycle",
}
#: Rooms in rooms, again from the ground up. Files beside the folders of checks judge all of them.
FOLDERS = {
    "checks": ("hazards", "after", "before", "coverage", "audit", "doctor_ovn", "doctor"),
    "systems": ("api", "broker", "ceph", "db", "host", "ovn"),
}
#: What a system may use of others; everything else goes through steps and operations. A server's pin is in the API and
#: in a database; where Ceph is, the files of a host say.
USES = {"api": ("db",), "ceph": ("host",), "host": ("ceph",)}
#: Rooms whose files do no I/O.
PURE = ("model", "name_places", "capacity", "checks", "plans", "reports")
#: What systems know of: facts, places of a name and amounts, and what is written down. They never judge or plan.
BELOW_SYSTEMS = ("model", "name_places", "capacity", "records")
IO = re.compile(
    r"^(ansible|openstack|keystoneauth1|sqlalchemy|libvirt|rbd|rados|subprocess|socket|requests|amqp|ovs|ovsdbapp)(\.|$)"
)
#: inet_pton reads an address as nova.conf's types do, and opens nothing.
PARSERS = {("model/host_domain.py", "socket")}
UTILS = pathlib.Path("plugins/module_utils")
PACKAGE = "ansible_collections.stackguard.nova.plugins.module_utils"
#: Files of operations/ that are no operation: what several share. Every other file is one, or a part of the one whose
#: name begins with the same word.
SHARED = (
    "lifecycle",
    "needs",
    "planned",
    "approved_plan",
    "run_owner",
    "run_token",
    "server_run",
    "evacuation_options",
    "fences",
    "move_evidence",
)


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every imported name with its line: of ``from a import b`` it is a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def own(name: str, root: pathlib.Path) -> pathlib.PurePosixPath | None:
    """The file below module_utils that an imported name is in; None: it is not of ours."""
    if not name.startswith(f"{PACKAGE}."):
        return None
    path = pathlib.PurePosixPath(*name[len(PACKAGE) + 1 :].split("."))
    for candidate in (path, path.parent):
        if (root / UTILS / f"{candidate}.py").exists():
            return candidate.with_name(f"{candidate.name}.py")
    return path


def room_problem(path: pathlib.PurePosixPath, other: pathlib.PurePosixPath) -> str | None:
    """Why a file must not import another one. Rooms are in order: what holds for each arrow holds for all."""
    order = list(ROOMS)
    here, there = path.parts[0], other.parts[0]
    if there not in ROOMS:
        return "belongs to no room"
    if here == "systems" and there != "systems" and there not in BELOW_SYSTEMS:
        return "is above systems: they read and write, and judge nothing"
    if order.index(there) > order.index(here):
        return f"is in {there}, which is above {here}"
    if here != there or here not in FOLDERS:
        return foreign_operation(path, other)
    mine, its = (pathlib.PurePosixPath(entry.parts[1]).stem for entry in (path, other))
    if here == "systems":
        return None if mine == its or its in USES.get(mine, ()) else f"is another system ({its})"
    folders = FOLDERS[here]
    if mine in folders and its in folders and folders.index(its) > folders.index(mine):
        return f"is in {here}/{its}, which is above {here}/{mine}"
    return None


def operation_of(path: pathlib.PurePosixPath) -> str | None:
    """The operation that a file is, or is a part of; None: operations share it, or it is in another room."""
    if path.parts[0] != "operations" or path.stem in SHARED:
        return None
    return path.stem.partition("_")[0].replace("evacuation", "evacuate")


def foreign_operation(path: pathlib.PurePosixPath, other: pathlib.PurePosixPath) -> str | None:
    mine, its = operation_of(path), operation_of(other)
    if its is None or mine == its:
        return None
    return "is another operation" if mine else "is an operation, and this file is shared by all"


def rooms(root: pathlib.Path = ROOT) -> Iterator[str]:
    """No arrow points upwards, and every file is in a room."""
    for file in sorted((root / UTILS).rglob("*.py")):
        path = pathlib.PurePosixPath(file.relative_to(root / UTILS).as_posix())
        if path.name == "__init__.py" and not file.read_text():
            continue  # pylint would take a file such as http.py for the standard library's
        folders = FOLDERS.get(path.parts[0], ())
        if path.parts[0] not in ROOMS or len(path.parts) == 1:
            yield f"{UTILS / path}: belongs to no room: {', '.join(ROOMS)}"
            continue
        if folders and pathlib.PurePosixPath(path.parts[1]).stem not in folders:
            yield f"{UTILS / path}: belongs to none of {path.parts[0]}'s own: {', '.join(folders)}"
            continue
        for line, name in imported(ast.parse(file.read_text(), str(file))):
            other = own(name, root)
            problem = room_problem(path, other) if other is not None else None
            if problem:
                yield f"{UTILS / path}:{line}: must not import {name}: it {problem}"
            if path.parts[0] in PURE and IO.search(name) and (str(path), name) not in PARSERS:
                yield f"{UTILS / path}:{line}: {path.parts[0]} are pure and must not import {name}"


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
    checks = (
        union_types,
        rooms,
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
