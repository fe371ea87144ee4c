# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections that are dropped in the moment they are used: a read is asked again, a change is sent once."""

from __future__ import annotations

import http.server
import threading
import types
import typing

import pytest
from keystoneauth1 import adapter, noauth, session

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http as nova_http


class Dropping(http.server.BaseHTTPRequestHandler):
    """Drops so many connections without an answer, then answers."""

    drops = 0
    seen: typing.ClassVar[list[str]] = []

    def do_GET(self):
        self.seen.append(self.command)
        if len(self.seen) <= self.drops:
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET  # noqa: N815 (the library's name)

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def cloud():
    """Return a connection whose compute service drops the first connection."""
    handler = type("Handler", (Dropping,), {"drops": 1, "seen": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    compute = adapter.Adapter(
        session.Session(noauth.NoAuth(endpoint=f"http://127.0.0.1:{server.server_port}")), service_type="compute"
    )

    def request(path, method, skip_cache=None, **arguments):
        assert skip_cache
        return compute.request(path, method, raise_exc=False, **arguments)

    yield types.SimpleNamespace(compute=types.SimpleNamespace(request=request), seen=handler.seen)
    server.shutdown()
    server.server_close()


def test_a_read_is_asked_again(cloud):
    assert nova_http.call(cloud, nova_http.COMPUTE, "GET", "/servers") == {}
    assert cloud.seen == ["GET", "GET"]


def test_a_change_is_sent_once(cloud):
    with pytest.raises(ApiError):
        nova_http.call(cloud, nova_http.COMPUTE, "POST", "/servers/x/action", body={"confirmResize": None})
    assert cloud.seen == ["POST"]
