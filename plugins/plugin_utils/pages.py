# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page for people: its template, the pages of codes, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import tempfile
import typing as t

import jinja2
import markupsafe

from ..module_utils.model.wording import visible
from ..module_utils.records.installed import collection_version
from ..module_utils.reports import page
from .typed_command import typed_command

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
TEMPLATES = os.path.join(ROOT, "roles", "audit", "templates")
#: What each code means.
CODES = os.path.join(ROOT, "docs", "codes")
NAME = "report.html"


def html(report: t.Optional[page.Json], plan: t.Optional[page.Json], context: page.Context) -> str:
    """Return C(report.html) of a C(report.json), of the plan of a C(plan.json), and of what the run says besides."""
    codes = {str(item["code"]) for item in (report or {}).get("findings") or ()}
    whole = dataclasses.replace(
        context,
        version=context.version or collection_version(),
        docs=context.docs or docs(codes),
        typed=context.typed or typed_command(),
    )
    return page.page(report, plan, whole, _render(), _text("report.css"), _text("report.js"))


@functools.cache
def _render() -> page.Render:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render


def _shown(value: t.Any) -> t.Any:
    """Show what would steer the text around it: names are given by anybody. What is markup is escaped already."""
    return visible(value) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value


def docs(codes: t.Iterable[str]) -> t.Dict[str, str]:
    """Return the pages of these codes, as they ship with the collection."""
    found = {}
    for code in codes:
        with contextlib.suppress(OSError):
            found[code] = _read(os.path.join(CODES, f"{code}.md"))
    return found


@functools.cache
def _text(name: str) -> str:
    return _read(os.path.join(TEMPLATES, name))


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def write(path: str, text: str) -> None:
    """Write a file whole or not at all, for its owner only: it holds names of guests and hosts."""
    descriptor, temporary = tempfile.mkstemp(prefix=".report-", suffix=".tmp", dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
