# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists that come in pages: each page is followed, and a server that repeats itself is an error."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is


class _Pages:
    """A server with its own idea of pages."""

    def __init__(self, *answers: dict[str, t.Any]) -> None:
        self.answers = list(answers)
        self.asked: list[t.Any] = []
        self.compute = self

    def request(self, _path: str, _method: str, **arguments: t.Any) -> t.Any:
        self.asked.append(arguments["params"].get("marker"))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return type("Answer", (), {"status_code": 200, "content": b"x", "json": lambda _self: answer})()


NEXT = {"servers_links": [{"rel": "next", "href": "x"}]}


def test_pages_end_where_the_server_names_no_next() -> None:
    server = _Pages({"servers": [{"id": 1}, {"id": 2}], **NEXT}, {"servers": [{"id": 3}]})
    assert [item["id"] for item in http.pages(server, "compute", "/s", "servers")] == [1, 2, 3]
    assert server.asked == [None, "2"]


def test_pages_end_at_an_empty_one() -> None:
    server = _Pages({"servers": [{"id": 1}], **NEXT}, {"servers": [], **NEXT})
    assert len(list(http.pages(server, "compute", "/s", "servers"))) == 1


def test_a_server_that_repeats_itself_is_an_error() -> None:
    server = _Pages({"servers": [{"id": 1}], **NEXT})
    with pytest.raises(ApiError, check=problem_is("get-api-returned")):
        list(http.pages(server, "compute", "/s", "servers"))


def test_an_answer_without_the_list_is_an_error() -> None:
    with pytest.raises(ApiError, check=problem_is("incomplete-answer")):
        list(http.pages(_Pages({}), "compute", "/s", "servers"))
