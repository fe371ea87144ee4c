# stackguard.nova lab: written by lab/lab at every start
from __future__ import annotations

import os
import sys

worker_class = "gthread"
workers = 1
threads = 8
timeout = 300
graceful_timeout = 3
# longer than any pause of a client: 2 s, the default, is how often a move is looked at
keepalive = 75
# neutronclient splits its queries at 8 KiB, as Apache does; 4,094, the default, ends a list of 100 servers with a 400
limit_request_line = 8190


def post_fork(server, worker):
    # keystone and others read sys.argv with oslo.config: gunicorn's own arguments would make them fail
    sys.argv = ["wsgi", *os.environ.get("LAB_WSGI_ARGUMENTS", "").split()]
