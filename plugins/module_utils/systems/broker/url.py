# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The URL of a cell's RabbitMQ, as C(transport_url) in nova.conf has it. Standard library only, no I/O.

    rabbit://USER:PASSWORD@HOST:PORT[,USER:PASSWORD@HOST:PORT...]/VHOST[?ssl=true&ssl_ca_file=PATH...]

C(amqps://) is the same with TLS. A URL with its passwords never leaves this collection: people see :func:`location`.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t
from urllib import parse

from ...model import urls
from ...model.errors import BrokerError

#: C(kombu) is oslo.messaging's other name for its driver.
SCHEMES = ("rabbit", "kombu", "amqp", "amqps")
PORT, TLS_PORT = 5672, 5671
_TRUE = ("1", "true", "yes", "on")
#: A host name, an IPv4 address, or an IPv6 address in brackets; a port.
_PLACE = re.compile(r"^(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:\[\]@\s]+)(?::(?P<port>\d{1,5}))?$")


@dataclasses.dataclass(frozen=True)
class BrokerNode:
    """One RabbitMQ server of a cluster. Who logs in is left out of the repr."""

    host: str
    port: int
    user: str = dataclasses.field(repr=False)
    password: str = dataclasses.field(repr=False)

    @property
    def place(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"


@dataclasses.dataclass(frozen=True)
class Tls:
    """Files for TLS; None: the machine's own authorities, no certificate of a client."""

    ca_file: t.Optional[str] = None
    cert_file: t.Optional[str] = None
    key_file: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a cell's RabbitMQ is: any of the nodes will do."""

    nodes: t.Tuple[BrokerNode, ...]
    vhost: str
    tls: t.Optional[Tls] = None


def parsed(url: str) -> Address:
    """Return what a URL says. Raises :class:`BrokerError`, without repeating it, for one that is not understood."""
    scheme, separator, rest = url.strip().partition("://")
    if not separator or scheme.lower() not in SCHEMES:
        raise BrokerError(
            "the URL of RabbitMQ must begin with rabbit://, amqp:// or amqps://, like transport_url in nova.conf",
            problem="url-rabbitmq-must",
        )
    whole, _mark, query = rest.partition("?")
    netloc, _slash, path = whole.partition("/")
    options = dict(parse.parse_qsl(query))
    tls = scheme.lower() == "amqps" or options.get("ssl", "").lower() in _TRUE
    files = Tls(options.get("ssl_ca_file"), options.get("ssl_cert_file"), options.get("ssl_key_file"))
    nodes = tuple(_node(part, TLS_PORT if tls else PORT) for part in netloc.split(",") if part)
    if not nodes:
        raise BrokerError("the URL of RabbitMQ contains no host", problem="url-rabbitmq-contains")
    return Address(nodes, parse.unquote(path) or "/", files if tls else None)


def _node(text: str, port: int) -> BrokerNode:
    userinfo, _at, place = text.rpartition("@")
    user, separator, password = userinfo.partition(":")
    found = _PLACE.match(place)
    if found is None or int(found["port"] or port) > 65535:
        raise BrokerError(
            "the URL of RabbitMQ cannot be parsed: expected USER:PASSWORD@HOST:PORT", problem="url-rabbitmq-cannot"
        )
    if not user or not separator:
        raise BrokerError(
            f"the URL of RabbitMQ must contain USER:PASSWORD@ before the host {found['host']}",
            problem="url-rabbitmq-must-contain",
        )
    return BrokerNode(found["host"], int(found["port"] or port), parse.unquote(user), parse.unquote(password))


def location(url: str) -> str:
    """Return hosts, ports and virtual host, such as ``mq1:5672,mq2:5672/``: all that people need to see."""
    address = parsed(url)
    return f"{','.join(node.place for node in address.nodes)}/{address.vhost.lstrip('/')}"


def redact(text: str, url: str) -> str:
    """Return a text without any of the URL's passwords, encoded or not."""
    netloc = url.partition("://")[2].partition("?")[0].partition("/")[0]
    secrets: t.Set[str] = set()
    for part in netloc.split(","):
        password = part.rpartition("@")[0].partition(":")[2]
        plain = parse.unquote(password)
        secrets |= {password, plain, repr(plain)[1:-1]}
    for secret in sorted(secrets - {""}, key=len, reverse=True):
        text = text.replace(secret, urls.HIDDEN)
    return urls.redact(text, url)
