# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One way to call an OpenStack API: an explicit microversion, every answer checked, every page followed.

The adapters of an openstacksdk connection do the work. Its resource classes are not used: they send the highest
microversion both sides know, which changes what calls mean.
"""

from __future__ import annotations

import email.utils
import threading
import typing as t
from concurrent import futures

from ...model import urls
from ...model.errors import ApiError

try:
    from keystoneauth1 import exceptions as auth_exceptions
    from openstack import exceptions as sdk_exceptions
except ImportError:
    OPENSTACK = False  # reported by the module, see connection.py

Params = t.Mapping[str, t.Any]
_T = t.TypeVar("_T")

COMPUTE = "compute"
PLACEMENT = "placement"
NETWORK = "network"
HA = "instance_ha"
IMAGE, VOLUME = "image", "block_storage"

#: Nova's [api] max_limit and neutron's usual pagination_max_limit; a server that allows less gives less.
PAGE = 1000
#: More pages than any cloud has: a server that repeats itself must not hold us for ever.
MAX_PAGES = 100_000


#: Times a read is asked again where the connection was lost. What changes something is sent once.
GET_RETRIES = 4
#: Calls for single things at the same time.
PARALLEL = 8


#: By the id of a connection: the connection, so that the id stays its own, and what is asked before each change.
_GUARDS: t.Dict[int, t.Tuple[t.Any, t.Callable[[], None], t.Callable[[], None]]] = {}


def guard_changes(connection: t.Any, check: t.Callable[[], None], fresh: t.Callable[[], None]) -> None:
    """Call ``check`` before each request of this connection that changes something. What it raises is raised.

    In other threads than the main one ``fresh`` is called: what asks a host or a database does so in one thread.
    """
    _GUARDS[id(connection)] = (connection, check, fresh)


def may_change(connection: t.Any) -> None:
    """Ask what is asked before each change, for changes that go another way than this connection."""
    if id(connection) in _GUARDS:
        _connection, check, fresh = _GUARDS[id(connection)]
        (check if threading.current_thread() is threading.main_thread() else fresh)()


def call(
    connection: t.Any,
    service: str,
    method: str,
    path: str,
    microversion: t.Optional[str] = None,
    *,
    params: t.Optional[Params] = None,
    body: t.Optional[Params] = None,
    headers: t.Optional[t.Mapping[str, str]] = None,
) -> t.Dict[str, t.Any]:
    """Send one request and return the JSON object it answers with (empty where there is no content).

    Raises :class:`ApiError` with the service's own message; C(status) is None where no answer came.
    """
    arguments: t.Dict[str, t.Any] = {"microversion": microversion, "params": params, "headers": dict(headers or {})}
    if body is not None:
        arguments["json"] = body
    if method == "GET":
        # A server, or a balancer before it, may drop an idle connection in the moment it is used again.
        arguments["connect_retries"] = GET_RETRIES
    else:
        may_change(connection)
    try:
        # The SDK can be configured to cache answers; nothing here may ever come from a cache.
        response = getattr(connection, service).request(path, method, skip_cache=True, **arguments)
    except (sdk_exceptions.SDKException, auth_exceptions.ClientException) as error:
        status = getattr(error, "http_status", None) or getattr(error, "status_code", None)
        raise ApiError(f"{method} {service} {path}: {_plain(str(error))}", status=status, service=service) from None
    if response.status_code >= 400:
        text = _message(response)
        raise ApiError(
            f"{method} {service} {path}: {response.status_code}: {text}", status=response.status_code, service=service
        )
    return _json(response, f"{method} {service} {path}")


def get_or_none(
    connection: t.Any, service: str, path: str, microversion: t.Optional[str] = None
) -> t.Optional[t.Dict[str, t.Any]]:
    """Read one thing; None where there is none. Raises :class:`ApiError`."""
    try:
        return call(connection, service, "GET", path, microversion)
    except ApiError as error:
        if error.data.get("status") == 404:
            return None
        raise


def delete_if_there(connection: t.Any, service: str, path: str, microversion: t.Optional[str] = None) -> None:
    """Delete one thing; one that is gone already is fine. Raises :class:`ApiError`."""
    try:
        call(connection, service, "DELETE", path, microversion)
    except ApiError as error:
        if error.data.get("status") != 404:
            raise


def each(things: t.Sequence[str], read: t.Callable[[str], _T]) -> t.Dict[str, _T]:
    """Read something of each thing, a few at the same time. Raises what the first that fails raises."""
    with futures.ThreadPoolExecutor(PARALLEL) as threads:
        return dict(zip(things, threads.map(read, things)))


def change_each(connection: t.Any, things: t.Sequence[str], change: t.Callable[[str], _T]) -> t.Dict[str, _T]:
    """Change something of each thing, a few at the same time: what is asked before each change is asked first."""
    if things:
        may_change(connection)
    return each(things, change)


def date(connection: t.Any, service: str) -> float:
    """Return what a service's clock says in whole seconds, by the header C(Date). Raises :class:`ApiError`."""
    try:
        response = getattr(connection, service).request("/", "GET", skip_cache=True, connect_retries=GET_RETRIES)
    except (sdk_exceptions.SDKException, auth_exceptions.ClientException) as error:
        raise ApiError(f"GET {service} /: {_plain(str(error))}", service=service) from None
    try:
        return email.utils.parsedate_to_datetime(response.headers["Date"]).timestamp()
    except (KeyError, TypeError, ValueError):
        raise ApiError(f"GET {service} /: the answer has no valid Date header", service=service) from None


def _json(response: t.Any, what: str) -> t.Dict[str, t.Any]:
    if not response.content:
        return {}
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ApiError(f"{what}: the answer is not a JSON object", status=response.status_code)
    return answer


def _message(response: t.Any) -> str:
    """Find the sentence in an error answer: Nova, neutron and placement each wrap it in their own way."""
    try:
        answer = response.json()
    except ValueError:
        return _plain(response.text or response.reason or "")
    values = list(answer.values()) if isinstance(answer, dict) else []
    first = values[0] if values else None
    if isinstance(first, list) and first and isinstance(first[0], dict):
        first = first[0]
    if isinstance(first, dict):
        first = first.get("message") or first.get("detail") or first
    return _plain(str(first if first is not None else answer))


def _plain(text: str) -> str:
    return urls.redact(" ".join(text.split()))[:1000]


def pages(
    connection: t.Any,
    service: str,
    path: str,
    key: str,
    microversion: t.Optional[str] = None,
    params: t.Optional[Params] = None,
    marker: str = "id",
    links: t.Optional[str] = None,
) -> t.Iterator[t.Dict[str, t.Any]]:
    """Yield every item of a paged list. ``marker``: the field that names an item to the next request.

    ``links``: the field that says whether there are more, where it is not ``KEY_links``.

    Raises :class:`ApiError`, also where the server repeats a page.
    """
    asked: t.Dict[str, t.Any] = {**(params or {}), "limit": PAGE}
    for _page in range(MAX_PAGES):
        answer = call(connection, service, "GET", path, microversion, params=asked)
        page = _list(answer, key, f"GET {service} {path}")
        yield from page
        more = any(link.get("rel") == "next" for link in answer.get(links or f"{key}_links") or ())
        if not page or not more:
            return
        last = str(page[-1].get(marker))
        if last == asked.get("marker"):
            raise ApiError(
                f"GET {service} {path}: the API returned the same page twice (marker {last})",
                problem="get-api-returned",
            )
        asked = {**asked, "marker": last}
    raise ApiError(f"GET {service} {path}: more than {MAX_PAGES} pages")


def items(
    connection: t.Any,
    service: str,
    path: str,
    key: str,
    microversion: t.Optional[str] = None,
    params: t.Optional[Params] = None,
) -> t.List[t.Dict[str, t.Any]]:
    """Return a list that the API does not page. Raises :class:`ApiError`."""
    answer = call(connection, service, "GET", path, microversion, params=params)
    return _list(answer, key, f"GET {service} {path}")


def _list(answer: t.Mapping[str, t.Any], key: str, what: str) -> t.List[t.Dict[str, t.Any]]:
    found = answer.get(key)
    if not isinstance(found, list):
        raise ApiError(f"{what}: the answer contains no {key}", problem="incomplete-answer")
    return found


def max_microversion(connection: t.Any, service: str) -> str:
    """Return the highest microversion a service offers, such as ``2.104``. Raises :class:`ApiError`."""
    try:
        data = getattr(connection, service).get_endpoint_data()
    except (sdk_exceptions.SDKException, auth_exceptions.ClientException) as error:
        raise ApiError(f"{service}: {_plain(str(error))}", service=service) from None
    if data is None or not data.max_microversion:
        raise ApiError(
            (f"{service}: the service has no endpoint, or its endpoint offers no microversion"), service=service
        )
    return ".".join(str(number) for number in data.max_microversion)


def list_catalog(connection: t.Any) -> t.List[str]:
    """Return the service types of the catalogue, sorted."""
    return sorted({str(entry["type"]) for entry in connection.service_catalog})
