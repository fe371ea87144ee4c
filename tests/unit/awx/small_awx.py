# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stand-in for AWX's API: keeps what it is given, answers as the modules of awx.awx expect, and decides nothing.

What AWX itself would refuse is not known here: a test that passes says that the modules accept the data, and what
they send.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import urllib.parse

PREFIX = "/api/v2/"
TEMPLATES = {"job_templates": "job_template", "workflow_job_templates": "workflow_job_template"}


class Awx:
    """Collections of objects by number, surveys, and which object is associated with which."""

    def __init__(self, **named):
        self.items = {}
        self.surveys = {}
        self.associated = {}
        self.writes = []
        for collection, names in named.items():
            for name in names:
                self.create(collection, {"name": name})

    def create(self, collection, fields):
        number = 1 + sum(len(items) for items in self.items.values())
        url = f"{PREFIX}{collection}/{number}/"
        related = {"survey_spec": f"{url}survey_spec/"} if collection in TEMPLATES else {}
        made = {"id": number, "type": TEMPLATES.get(collection, collection), "url": url, "related": related, **fields}
        self.items.setdefault(collection, {})[number] = made
        return made

    def named(self, collection):
        return {item["name"]: item for item in self.items.get(collection, {}).values()}

    def nodes(self, workflow):
        """Nodes of a workflow by identifier, each with the identifiers that follow it."""
        number = self.named("workflow_job_templates")[workflow]["id"]
        nodes = self.items["workflow_job_template_nodes"]
        found = {}
        for n, node in nodes.items():
            if node["workflow_job_template"] == number:
                follow = {
                    kind: [nodes[other]["identifier"] for other in self.associated.get((n, f"{kind}_nodes"), [])]
                    for kind in ("success", "always", "failure")
                }
                found[node["identifier"]] = (node, {kind: names for kind, names in follow.items() if names})
        return found

    def list(self, collection, query):
        collections = list(TEMPLATES) if collection == "unified_job_templates" else [collection]
        items = [item for name in collections for item in self.items.get(name, {}).values()]
        # An organization is not kept by templates: AWX takes it from the project.
        wanted = {key: value for key, value in query.items() if key not in ("organization", "page_size")}
        return [item for item in items if all(str(item.get(key)) == value for key, value in wanted.items())]

    def get(self, path, query):
        if path == ["ping"]:
            return 200, {}
        if len(path) == 1:
            found = self.list(path[0], query)
            return 200, {"count": len(found), "next": None, "results": found}
        collection, number = path[0], int(path[1])
        if len(path) == 2:
            return 200, self.items[collection][number]
        if path[2] == "survey_spec":
            return 200, self.surveys.get(number, {})
        found = [{"id": other} for other in self.associated.get((number, path[2]), [])]
        return 200, {"count": len(found), "next": None, "results": found}

    def post(self, path, fields):
        self.writes.append((path, fields))
        if len(path) == 1:
            return 201, self.create(path[0], fields)
        number = int(path[1])
        if path[2] == "survey_spec":
            self.surveys[number] = fields
            return 200, {}
        if path[2] == "create_approval_template":
            approval = self.create("workflow_approval_templates", fields)
            node = self.items["workflow_job_template_nodes"][number]
            node["unified_job_template"] = approval["id"]
            node["related"]["unified_job_template"] = approval["url"]
            return 201, approval
        links = self.associated.setdefault((number, path[2]), [])
        (links.remove if fields.get("disassociate") else links.append)(fields["id"])
        return 204, None

    def delete(self, path, _fields):
        self.writes.append((path, "delete"))
        del self.items[path[0]][int(path[1])]
        return 204, None

    def patch(self, path, fields):
        self.writes.append((path, fields))
        item = self.items[path[0]][int(path[1])]
        item.update(fields)
        return 200, item


@contextlib.contextmanager
def serving(awx):
    """Yield the address under which it answers."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, method):
            url = urllib.parse.urlsplit(self.path)
            path = url.path.removeprefix(PREFIX).strip("/").split("/")
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or "{}") if length else {}
            if method == "get":
                code, given = awx.get(path, dict(urllib.parse.parse_qsl(url.query)))
            else:
                code, given = getattr(awx, method)(path, body)
            content = b"" if given is None else json.dumps(given).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self):
            self.answer("get")

        def do_POST(self):
            self.answer("post")

        def do_PATCH(self):
            self.answer("patch")

        def do_DELETE(self):
            self.answer("delete")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
