# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab's RabbitMQ: what waits in a queue. Nova's own environment has the client."""

from __future__ import annotations

import json
import subprocess

_SCRIPT = """
import json, sys
import kombu
from amqp.exceptions import NotFound
url, queue, what = json.loads(sys.argv[1])
with kombu.Connection(url) as connection:
    if what in ("declare", "leave"):
        connection.channel().queue_declare(queue, durable=False, auto_delete=False)
    if what == "leave":
        connection.Producer().publish({"oslo.message": "{}"}, routing_key=queue)
    try:
        found = connection.channel().queue_declare(queue, passive=True).message_count
        if what == "delete":
            connection.channel().queue_delete(queue)
    except NotFound:
        found = None
print(json.dumps(found))
"""


def url(lab):
    """What nova.conf's transport_url says, as C(stackguard_rabbit_urls) takes it."""
    return f"amqp://lab:{lab.info['password']}@{lab.info['controller']}:5672//"


def _ask(lab, queue, what):
    words = [lab.info["python"], "-c", _SCRIPT, json.dumps([url(lab), queue, what])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def messages(lab, queue):
    """How many messages wait in a queue; None: there is no such queue."""
    return _ask(lab, queue, "count")


def leave(lab, queue):
    """Leave a request in a queue, as a host that once bore the name does."""
    return _ask(lab, queue, "leave")


def declare(lab, queue):
    """Leave an empty queue."""
    return _ask(lab, queue, "declare")


def forget(lab, name):
    """Delete the queues of a host's name, as SG307 and SG315 tell an operator to."""
    for queue in (f"compute.{name}", f"compute-alt.{name}"):
        delete(lab, queue)


def delete(lab, queue):
    """Delete a queue with what is in it, as C(rabbitmqctl delete_queue) does; return how many messages it had."""
    return _ask(lab, queue, "delete")
