# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kills an ansible-playbook at a chosen place. On PYTHONPATH in tests only: no production code knows of it.

A *spark* is a place where a kill can fall: after each request to the host, before and after each action, before and
after each call that changes something by HTTP, after each UPDATE, before each COMMIT. Its name is
``apply STEP EVENT`` or ``undo STEP EVENT``, the second of the same name in a step ends in `` #2``, and so on.

STACKGUARD_TEST_SPARKS: a file that every spark is written to. STACKGUARD_TEST_KILL: the spark to die at, or ``next``:
the first one that is not in the file yet. STACKGUARD_TEST_ONLY: a regular expression of the sparks that count.
STACKGUARD_TEST_PAUSE: the spark to stop at, until a file ``go`` is in the directory STACKGUARD_TEST_MEETING, where the
run leaves a file ``reached``.
"""

from __future__ import annotations

import builtins
import os
import re
import signal
import sys
import threading
import time

KILL = os.environ.get("STACKGUARD_TEST_KILL", "")
SPARKS = os.environ.get("STACKGUARD_TEST_SPARKS", "")
PAUSE = os.environ.get("STACKGUARD_TEST_PAUSE", "")
MEETING = os.environ.get("STACKGUARD_TEST_MEETING", "")
ONLY = re.compile(os.environ.get("STACKGUARD_TEST_ONLY", ""))
STEPS = "ansible_collections.stackguard.nova.plugins.module_utils.engine.runner"
CHANGING = ("PUT", "POST", "PATCH", "DELETE")


class Place:
    """Where the run is: ``apply STEP`` or ``undo STEP``, and how often each event came."""

    lock = threading.Lock()
    now = ""
    counts = {}  # noqa: RUF012


def spark(event):
    with Place.lock:
        if not Place.now:
            return
        name = f"{Place.now} {event}"
        Place.counts[name] = count = Place.counts.get(name, 0) + 1
        if count > 1:
            name += f" #{count}"
        if not ONLY.search(name):
            return
        if name == PAUSE:
            pause()
        seen = _seen(name)
        if name == KILL or (KILL == "next" and not seen):
            die()


def _seen(name):
    if not SPARKS:
        return False
    with open(SPARKS, "a+", encoding="utf-8") as stream:
        stream.seek(0)
        known = name in stream.read().splitlines()
        if not known:
            stream.write(name + "\n")
    return known


def pause():
    with open(os.path.join(MEETING, "reached"), "w", encoding="utf-8"):
        pass
    while not os.path.exists(os.path.join(MEETING, "go")):
        time.sleep(0.05)


def die():
    """The whole run at once: the process of the task and ansible-playbook above it."""
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class Host:
    """Every request a round trip of its own, so that a kill can fall between two."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def call(self, requests):
        results = []
        for request in requests:
            results += self.inner.call([request])
            spark(f"host {request['op']} {request.get('note', {}).get('step_state', '')}".strip())
        return results


def sparking(action):
    """The same action, with a spark after what it does. Not another object: the runner asks what an action can do."""

    def after(function):
        def wrapped(*args):
            result = function(*args)
            spark("acted")
            return result

        return wrapped

    action.apply, action.undo = after(action.apply), after(action.undo)
    return action


def patch_steps(steps):
    runner = steps.Runner
    make, apply, undo = runner.__init__, runner._apply, runner._undo

    def init(self, *args, **kwargs):
        make(self, *args, **kwargs)
        # By now everything a run needs is imported.
        patch_database()
        patch_http()
        self.host = Host(self.host)
        self.actions = {name: sparking(action) for name, action in self.actions.items()}

    def within(direction, function):
        def wrapped(self, journal, step, *args):
            Place.now = f"{direction} {step.name}"
            spark("begins")
            return function(self, journal, step, *args)

        return wrapped

    runner.__init__ = init
    runner._apply = within("apply", apply)
    runner._undo = within("undo", undo)


def patch_database():
    import sqlalchemy.engine
    import sqlalchemy.event

    def executed(connection, _cursor, statement, *_rest):
        if statement.lstrip().upper().startswith("UPDATE"):
            connection.info["stackguard_test_updated"] = True
            spark("sql " + " ".join(statement.split()[:2]).replace("`", ""))

    def commits(connection):
        # Not the end of a transaction that only reads, such as the look whether the lock is still held.
        if connection.info.pop("stackguard_test_updated", False):
            spark("sql COMMIT")

    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "after_cursor_execute", executed)
    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "commit", commits)


def patch_http():
    import keystoneauth1.session

    send = keystoneauth1.session.Session.request

    def request(self, url, method, *args, **kwargs):
        path = url.partition("?")[0].rpartition("://")[2].split("/")[1:]
        # Without ids, versions and prefixes: "PUT ports", "POST os-aggregates/action".
        name = f"{method} {'/'.join(part for part in path if re.fullmatch('[a-z_-]+', part))}"
        counts = method in CHANGING and "auth/tokens" not in url
        if counts:
            spark(f"http before {name}")
        answer = send(self, url, method, *args, **kwargs)
        if counts:
            spark(f"http after {name}")
        return answer

    keystoneauth1.session.Session.request = request


def install():
    original = builtins.__import__

    def hooked(*args, **kwargs):
        module = original(*args, **kwargs)
        if hasattr(sys.modules.get(STEPS), "plan_of"):  # defined at the end of that module
            builtins.__import__ = original
            patch_steps(sys.modules[STEPS])
        return module

    builtins.__import__ = hooked


if (KILL or SPARKS or PAUSE) and any(word.endswith("ansible-playbook") for word in sys.orig_argv):
    install()
