# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw sentences that users meet, at random: for a reader who has not seen the code.

    tests/gates/draw.py [HOW_MANY] [SEED]              40 of them; the seed is the commit's id
    tests/gates/draw.py --context [HOW_MANY] [SEED]    with the paragraph, table row or message that each is in

Half of them are of the documentation, a quarter are of roles and playbooks, a quarter are of messages.
"""

from __future__ import annotations

import ast
import pathlib
import random
import re
import subprocess
import sys
from collections.abc import Iterator

import words
import yaml

ROOT = words.ROOT
#: A colon within a span of code ends no sentence.
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`])(?=(?:[^`]*`[^`]*`)*[^`]*$)")
#: Keys of YAML files whose values are sentences.
SAID = {"name", "description", "short_description", "fail_msg", "msg", "question_name", "question_description"}


def split(text: str) -> Iterator[str]:
    """The sentences of a paragraph. What is shorter than five words or has no verb's room is none."""
    for part in END.split(re.sub(r"\s+", " ", text).strip(" *-|#>")):
        if len(part.split()) >= 5 and re.search(r"[a-z]{3} [a-z]", part) and "{{" not in part:
            yield part


#: Where each sentence was found first: the heading of the page, and the whole text around it.
AROUND: dict[tuple[str, str], str] = {}


def around(place: str, sentence: str, text: str) -> tuple[str, str]:
    """Note what is around a sentence, as a reader meets it."""
    AROUND.setdefault((place, sentence), re.sub(r"\s+", " ", text).strip())
    return place, sentence


def pages(root: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Of Markdown: paragraphs, bullets and cells; code, fenced or indented, is not."""
    paths = [root / "README.md", *sorted(root.glob("docs/**/*.md")), *sorted(root.glob("roles/*/README.md"))]
    for path in paths:
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        text = re.sub(r"(?<=\n\n)(?: {4}.*\n)+", "\n", text)
        heading = ""
        for block in re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )|\n(?=#)", text):
            heading = block.strip("# \n") if block.startswith("#") else heading
            rows = block.split("\n|") if "|" in block else [block]
            columns = f" [{rows[0].strip('| ')}]" if len(rows) > 2 else ""
            for row in rows:
                for cell in row.split("|"):
                    for sentence in split(cell):
                        yield around(str(path.relative_to(root)), sentence, f"({heading}){columns} {row}")


def tasks(root: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Of roles and playbooks: names of tasks, descriptions, messages."""
    for pattern in ("roles/*/tasks/*.yml", "roles/*/meta/argument_specs.yml", "playbooks/**/*.yml"):
        for path in sorted(root.glob(pattern)):
            role = path.parts[path.parts.index("roles") + 1] if "roles" in path.parts else path.stem
            for of, text in said(yaml.load(path.read_text(), Loader=Loose)):
                for sentence in split(text):
                    yield around(str(path.relative_to(root)), sentence, f"({of or role}) {text}")


class Loose(yaml.SafeLoader):
    """Takes what only Ansible knows, such as !unsafe, as plain text."""


Loose.add_multi_constructor("!", lambda loader, _tag, node: loader.construct_scalar(node))


def said(value: object, of: str = "") -> Iterator[tuple[str, str]]:
    """Every value in nested YAML that is a sentence, after the option or return value that it describes."""
    if isinstance(value, list):
        for entry in value:
            yield from said(entry, of)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if key in SAID and isinstance(entry, str):
                yield of, entry
            elif key in SAID and isinstance(entry, list) and all(isinstance(line, str) for line in entry):
                yield from ((of, line) for line in entry)
            else:
                yield from said(entry, of if key in ("options", "contains", "suboptions", "block") else str(key))


def of_ansible_doc(tree: ast.Module) -> Iterator[int]:
    """The strings whose YAML ``ansible-doc`` reads: ids of their nodes."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "ModuleDocFragment":
            yield from (id(part.value) for part in node.body if isinstance(part, ast.Assign))
        names = {target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)}
        if names & {"DOCUMENTATION", "EXAMPLES", "RETURN"}:
            yield id(node.value)  # type: ignore[attr-defined]


def unread(tree: ast.Module) -> Iterator[int]:
    """Strings that are no sentences: keys of evidence and results, which stay as they are, and regular expressions."""
    for node in ast.walk(tree):
        skipped = [key for key in node.keys if key] if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("re.compile", "re.match", "re.search", "re.sub"):
            skipped = node.args[:1]
        yield from (id(part) for root in skipped for part in ast.walk(root))


def keyed(tree: ast.Module) -> dict[int, str]:
    """After which words a user sees a string: the key of a dictionary, or "waiting until" of a step that waits."""
    keys = {
        id(value): key.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    waits = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".wait")]
    return keys | {id(part): "waiting until" for node in waits for given in node.args[:1] for part in ast.walk(given)}


def messages(root: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Of plugins: whole strings, what is put in as "..."; module documentation as its YAML says."""
    for path in sorted((root / "plugins").rglob("*.py")):
        tree = ast.parse(path.read_text(), str(path))
        passed, documents = words.documented(tree) | set(unread(tree)), set(of_ansible_doc(tree))
        keys = keyed(tree)
        for node in ast.walk(tree):
            if id(node) in passed:
                continue
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "..." for part in node.values]
                passed |= {id(part) for part in node.values}
                found = [(keys.get(id(node), ""), "".join(map(str, parts)))]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = [(keys.get(id(node), ""), node.value)]
                if id(node) in documents:
                    found = list(said(list(yaml.load_all(node.value, Loader=Loose))))
            else:
                continue
            for of, text in found:
                for sentence in split(text):
                    yield around(f"{path.relative_to(root)}", sentence, f"({of}) {text}" if of else text)


def main() -> int:
    given = [word for word in sys.argv[1:] if word != "--context"]
    many = int(given[0]) if given else 40
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    dice = random.Random(given[1] if len(given) > 1 else head.stdout.strip())
    drawn = []
    for source, share in ((pages, many - many // 4 * 2), (tasks, many // 4), (messages, many // 4)):
        drawn += dice.sample(sorted(set(source(ROOT))), share)
    for number, (place, sentence) in enumerate(drawn, 1):
        print(f"{number}. [{place}] {sentence}")
        if "--context" in sys.argv and AROUND[place, sentence] != sentence:
            print(f"    in: {AROUND[place, sentence]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
