# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Database URLs: cell mapping templates, drivers, and how they are shown without their secrets.

Standard library only, no I/O. A URL with a password never leaves this collection: people see :func:`location`,
and every error text of a driver goes through :func:`redact`.
"""

from __future__ import annotations

import re
import typing as t
from urllib import parse

from .errors import DatabaseError

#: What stands in the place of a secret.
HIDDEN = "***"

#: Drivers this collection works with, by backend: pure Python PyMySQL, and psycopg 3.
DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mysql+pymysql", "postgresql": "postgresql+psycopg"}

#: Parts of a password shorter than this are no secret by themselves, and stand in every text.
SHORTEST_PIECE = 4

#: Anything like ``scheme://user:password@`` (the password may hold ``@`` and ``/``, so the last ``@`` of a word
#: counts), and secrets in a query or in a key=value string.
_USERINFO = re.compile(r"(?<=://)\S*@")
_PAIRS = re.compile(r"(?i)\b(passwd|password|pwd|secret|token|ssl_?key)(\s*[=:]\s*)('[^']*'|\"[^\"]*\"|[^\s&,;)]+)")


def redact(text: str, *urls: t.Optional[str]) -> str:
    """Return a text without user, password or whole URL, whether they come as a URL or bare.

    ``urls``: the URLs the text is about; their passwords are removed wherever they stand, decoded or not.
    """
    for secret in sorted(_secrets(urls), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _USERINFO.sub(f"{HIDDEN}@", text)
    return _PAIRS.sub(rf"\1\2{HIDDEN}", text)


def _secrets(urls: t.Iterable[t.Optional[str]]) -> t.Set[str]:
    """Whatever could be the password, whole or in the pieces that parsers of several minds would make of it."""
    found: t.Set[str] = set()
    for url in urls:
        userinfo = _split(url or "")[0]
        password = userinfo.partition(":")[2]
        if not password:
            continue
        pieces = {piece for piece in re.split("[@/]", parse.unquote(password)) if len(piece) >= SHORTEST_PIECE}
        for text in {userinfo, password, *pieces}:
            # What SQLAlchemy, the driver and the server may each have made of it.
            plain = parse.unquote(text)
            found |= {text, plain, parse.unquote_plus(text), repr(plain)[1:-1]}
    return found


def _split(url: str) -> t.Tuple[str, str]:
    """Return what stands before the last @ (user and password, whatever they hold) and what follows it."""
    rest = url.partition("://")[2]
    userinfo, _at, place = rest.rpartition("@")
    return userinfo, place


def location(url: str) -> str:
    """Return a URL's host, port and database name, such as ``db1:3306/nova_api``: all that people need to see."""
    place, _mark, query = _split(url)[1].partition("?")
    socket = dict(parse.parse_qsl(query)).get("unix_socket", "")
    return f"{socket}{place}" if place.startswith("/") else place


def normalise(url: str) -> str:
    """Return a URL with the driver this collection uses.

    Raises :class:`DatabaseError` for what is no MySQL, MariaDB or PostgreSQL URL, without repeating it.
    """
    scheme, separator, rest = url.strip().partition("://")
    backend = scheme.partition("+")[0].lower()
    if not separator or backend not in DRIVERS:
        raise DatabaseError(
            "a database URL must begin with mysql://, mysql+pymysql:// or postgresql://"
            + (f", not {scheme}://" if separator and scheme.replace("+", "").isalnum() else "")
        )
    return f"{DRIVERS[backend]}://{rest}"


def fill_template(template: str, base: str) -> str:
    """Fill a cell mapping's ``database_connection`` with the parts of another URL, as Nova does.

    Nova (C(objects/cell_mapping.py), C(_format_url)) takes C([database] connection) of the process that reads the
    mapping; nobody but Nova's own configuration knows that one, so here it is the API database's URL: right where
    templates serve to keep one user, password and server for all (their purpose). Where they are not, name the
    cell's URL in O(nova_cell_db_urls). Raises :class:`DatabaseError` for an unknown placeholder.
    """
    if "{" not in template:
        return template
    try:
        parts = _parts(base)
    except ValueError:
        # Nova stumbles over it as well. The reason would hold a piece of the password.
        raise DatabaseError(
            "database_connection of the cell mapping is a template. The run needs nova_api_db_url to fill in the "
            "template, but cannot parse nova_api_db_url: percent-encode the special characters in the password of "
            "nova_api_db_url (/ is %2F)",
            problem="url-template-scheme",
        ) from None
    try:
        return template.format(**parts)
    except (KeyError, IndexError, ValueError) as error:
        raise DatabaseError(
            f"the template in database_connection of the cell mapping cannot be filled in: {error!r}",
            problem="url-template",
        ) from None


def _parts(url: str) -> t.Dict[str, t.Any]:
    """Return the names that Nova offers to a template. None is written ``None``, as Nova writes it."""
    parts = parse.urlparse(url)
    found: t.Dict[str, t.Any] = {
        "scheme": parts.scheme,
        "query": parts.query,
        "fragment": parts.fragment,
        "path": parts.path.lstrip("/"),
    }
    if "," not in parts.netloc:
        return {**found, **_server(parts)}
    # Several servers, an extension of oslo.messaging that Nova understands here too: username1, username2, ...
    for number, netloc in enumerate(parts.netloc.split(","), 1):
        server = _server(parse.urlparse(f"//{netloc}"))
        found.update({f"{name}{number}": value for name, value in server.items()})
    return found


def _server(parts: parse.ParseResult) -> t.Dict[str, t.Any]:
    return {name: getattr(parts, name) for name in ("username", "password", "hostname", "port")}
