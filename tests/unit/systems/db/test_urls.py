# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Database URLs: templates as Nova fills them, and no secret in any text."""

from __future__ import annotations

import string
from urllib import parse

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import urls
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, nova
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

URL = "mysql+pymysql://nova:s3cr3t%2Fpass@db.example:3306/nova_api?charset=utf8"


@pytest.mark.parametrize(
    "text",
    [
        "cannot parse mysql+pymysql://nova:s3cr3t%2Fpass@db.example:3306/nova_api",
        "Access denied for user 'nova' using password s3cr3t/pass",
        "could not connect to 's3cr3t%2Fpass@db.example'",
        "Port could not be cast to integer value as 's3cr3t'",
        "password='s3cr3t/pass' host=db.example",
    ],
)
def test_redact(text: str) -> None:
    shown = urls.redact(text, URL)
    assert "s3cr3t" not in shown
    assert urls.HIDDEN in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mysql://root:pw@db/nova and postgresql://u:p@w@h/x", "mysql://***@db/nova and postgresql://***@h/x"),
        ("connection password=abc failed", "connection password=*** failed"),
        ("{'passwd': 'abc', 'host': 'db'}", "{'passwd': 'abc', 'host': 'db'}"),
        ("using password: YES", "using password: ***"),
        ("https://api.example:8774/v2.1/servers", "https://api.example:8774/v2.1/servers"),
    ],
)
def test_redact_without_knowing_the_url(text: str, shown: str) -> None:
    assert urls.redact(text) == shown


@given(
    st.text(string.printable.replace("@", "") + "äß計", min_size=4, max_size=20).filter(
        lambda text: text.strip() == text
    )
)
def test_no_password_survives(password: str) -> None:
    for written in (parse.quote(password, safe=""), parse.quote_plus(password)):
        url = f"mysql+pymysql://nova:{written}@db/nova"
        for text in (url, f"denied {password}!", f"denied {password!r}", f"denied {written} at db"):
            shown = urls.redact(text, url)
            assert password not in shown.replace(urls.HIDDEN, "")
            assert written not in shown.replace(urls.HIDDEN, "")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (URL, "db.example:3306/nova_api"),
        ("mysql+pymysql://u:p@[2001:db8::1]:3306/nova", "[2001:db8::1]:3306/nova"),
        ("mysql+pymysql://u:p@/nova?unix_socket=/run/mysqld/mysqld.sock", "/run/mysqld/mysqld.sock/nova"),
        ("mysql+pymysql://u:p/w@db/nova", "db/nova"),
        ("mysql+pymysql://u:p@w@db/nova", "db/nova"),
        ("mysql+pymysql://db/nova", "db/nova"),
    ],
)
def test_location(url: str, shown: str) -> None:
    assert urls.location(url) == shown


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("mysql://u@h/d", "mysql+pymysql://u@h/d"),
        ("mysql+mysqldb://u@h/d", "mysql+pymysql://u@h/d"),
        ("mariadb+mariadbconnector://u@h/d", "mysql+pymysql://u@h/d"),
        (" postgresql+psycopg2://u@h/d ", "postgresql+psycopg://u@h/d"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
    ],
)
def test_normalise(url: str, normal: str) -> None:
    assert urls.normalise(url) == normal


@pytest.mark.parametrize(
    "url", ["sqlite:///x", "nova:hunter2@db/nova", "", "hunter2://hunter2@db", "oracle://u:hunter2@h/d"]
)
def test_other_databases_are_refused_without_showing_the_url(url: str) -> None:
    with pytest.raises(DatabaseError) as raised:
        urls.normalise(url)
    assert "@" not in raised.value.message


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("mysql+pymysql://a:b@c/nova_cell1", "mysql+pymysql://a:b@c/nova_cell1"),
        (
            "{scheme}://{username}:{password}@{hostname}:{port}/nova_cell1?{query}",
            "mysql+pymysql://nova:s3cr3t%2Fpass@db.example:3306/nova_cell1?charset=utf8",
        ),
        (
            "{scheme}://{username}:{password}@other/{path}_cell#{fragment}",
            "mysql+pymysql://nova:s3cr3t%2Fpass@other/nova_api_cell#",
        ),
    ],
)
def test_templates(template: str, filled: str) -> None:
    assert urls.fill_template(template, URL) == filled


def test_templates_with_several_servers() -> None:
    """Nova's extended format: a second server's parts have the number 2, and so on."""
    base = "mysql+pymysql://u1:p1@h1:3306,u2:p2@h2:3307/nova"
    with pytest.raises(DatabaseError):
        urls.fill_template("{scheme}://{username}@{nonsense}", base)
    assert urls.fill_template("{scheme}://{username2}:{password2}@{hostname2}:{port2}/x", base) == (
        "mysql+pymysql://u2:p2@h2:3307/x"
    )


@pytest.mark.parametrize("template", ["{scheme}://{user}@h/d", "{0}://h/d", "{scheme://h/d"])
def test_templates_that_cannot_be_filled(template: str) -> None:
    with pytest.raises(DatabaseError, check=problem_is("url-template")) as raised:
        urls.fill_template(template, URL)
    assert "s3cr3t" not in raised.value.message


def test_a_password_that_nova_cannot_take_apart_is_not_shown() -> None:
    with pytest.raises(DatabaseError, check=problem_is("url-template-scheme")) as raised:
        urls.fill_template("{scheme}://{hostname}/x", "mysql://root:hunter2/34@h:1/d")
    assert "hunter2" not in raised.value.message
    assert raised.value.__cause__ is None


def test_no_option_shows_in_a_repr() -> None:
    options = nova.DatabaseOptions.of(
        {"nova_api_db_url": URL, "nova_cell_db_urls": {"cell1": URL}, "neutron_db_url": URL, "cloud": "x"}
    )
    assert "s3cr3t" not in repr(options)
    assert "s3cr3t" not in repr(nova.Cell("cell1", "u", URL))
    assert nova.url_of(options, "api") == URL
    assert nova.DatabaseOptions.of({"nova_api_db_url": "", "neutron_db_url": None}) == nova.DatabaseOptions()
    with pytest.raises(DatabaseError, match="nova_api_db_url is not set"):
        nova.url_of({}, "api")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter2@h:port/d",
        "mysql://u:hunter2@h/d?charset=%zz&connect_timeout=x",
        "postgresql://u:hunter2@[h/d",
    ],
)
def test_urls_that_the_library_does_not_understand(url: str) -> None:
    with pytest.raises(DatabaseError) as raised, engine.snapshot(url):
        pass
    assert "hunter2" not in str(raised.value)


class _Refusal(Exception):
    """What PyMySQL raises."""


def test_reason_of_a_driver_error() -> None:
    error = sa.exc.OperationalError("SELECT secret", {"host": "x"}, _Refusal(1045, "Access denied\n for 's3cr3t/pass'"))
    assert engine.reason(error, URL) == "Access denied for '***' (1045)"
    assert not engine.is_busy(error)
    assert engine.is_busy(sa.exc.OperationalError("", {}, _Refusal(1213, "Deadlock")))
