# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The small Nova of two zones behind HTTP, with as much of keystone and placement as the SDK asks for."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from urllib.parse import parse_qsl, urlsplit

DOMAIN = {"id": "default", "name": "Default"}
PROJECT = {"id": "p", "name": "admin", "domain": DOMAIN}


class Handler(http.server.BaseHTTPRequestHandler):
    """One request. ``nova``, ``lock`` and ``seen`` are set by :func:`serving`."""

    protocol_version = "HTTP/1.1"
    nova, lock, seen = None, None, None
    #: Service types of the catalogue.
    TYPES = ("compute", "placement")

    def log_message(self, *_words):
        pass

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, status, body, **headers):
        raw = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(raw), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(raw)

    def handle_request(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        url = urlsplit(self.path)
        service, _slash, rest = url.path.lstrip("/").partition("/")
        getattr(self, service)("/" + rest, dict(parse_qsl(url.query)), body)

    def identity(self, path, _params, _body):
        if not path.endswith("/auth/tokens"):
            links = [{"rel": "self", "href": f"{self.base}/identity/v3/"}]
            return self.answer(200, {"version": {"id": "v3.14", "status": "stable", "links": links}})
        paths = {"compute": "compute/v2.1"}
        urls = {name: f"{self.base}/{paths.get(name, name)}" for name in self.TYPES}
        catalog = [
            {
                "id": name,
                "type": name,
                "name": name,
                "endpoints": [{"id": name, "interface": "public", "region": "R", "region_id": "R", "url": url}],
            }
            for name, url in urls.items()
        ]
        token = {
            "methods": ["password"],
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "user": {"id": "u", "name": "admin", "domain": DOMAIN},
            "project": PROJECT,
            "roles": [{"id": "r", "name": "admin"}],
            "catalog": catalog,
        }
        return self.answer(201, {"token": token}, X_Subject_Token="token")

    def version(self, service):
        word = self.headers.get("OpenStack-API-Version") or ""
        return word.replace(f"{service} ", "") or None

    def compute(self, path, params, body):
        path = path[len("/v2.1") :]
        if path in ("", "/"):
            major, minor = self.nova.compute.get_endpoint_data().max_microversion
            links = [{"rel": "self", "href": f"{self.base}/compute/v2.1/"}]
            version = {"id": "v2.1", "status": "CURRENT", "version": f"{major}.{minor}", "min_version": "2.1"}
            return self.answer(200, {"version": {**version, "links": links}})
        with self.lock:
            found = self.nova.request(path, self.command, self.version("compute"), params, body)
            self.seen.append((self.command, path))
        return self.answer(found.status_code, json.loads(found.content) if found.content else None)

    def placement(self, path, params, _body):
        if path in ("", "/"):
            links = [{"rel": "self", "href": ""}]
            version = {"id": "v1.0", "status": "CURRENT", "min_version": "1.0", "max_version": "1.39", "links": links}
            return self.answer(200, {"versions": [version]})
        with self.lock:
            found = self.nova.place(path, self.command, self.version("placement"), params)
        return self.answer(found.status_code, json.loads(found.content))


for _method in ("GET", "POST", "PUT"):
    setattr(Handler, f"do_{_method}", Handler.handle_request)


@contextlib.contextmanager
def serving(nova, handler=Handler):
    """Serve a small Nova; yields the URL of its keystone, and a list of what is asked of it."""
    seen = []
    mine = type("Mine", (handler,), {"nova": nova, "lock": threading.Lock(), "seen": seen})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), mine)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/identity/v3", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
