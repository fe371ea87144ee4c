# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A headless Chromium, spoken to over its debugging pipe: no driver, no package, no port."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-extensions",
    "--remote-debugging-pipe",
)


class Browser:
    """One page. ``calls``: what the page asked of any network."""

    def __init__(self, directory):
        binary = shutil.which("chromium")
        assert binary, "chromium is missing: run tests/gates/need.sh"
        their_in, self._out = os.pipe()
        self._in, their_out = os.pipe()
        # The browser reads from 3 and writes to 4.
        argv = ["bash", "-c", f'exec "$@" 3<&{their_in} 4>&{their_out}', "bash", binary, *FLAGS]
        argv += [f"--user-data-dir={directory}", "about:blank"]
        self._process = subprocess.Popen(
            argv, pass_fds=(their_in, their_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(their_in)
        os.close(their_out)
        self._buffer, self._count, self._session, self.calls, self.errors = b"", 0, None, [], []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        """Carry out one command, and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _next(self):
        while b"\0" not in self._buffer:
            part = os.read(self._in, 1 << 20)
            assert part, "the browser ended"
            self._buffer += part
        message, _zero, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        if event.get("method") == "Network.requestWillBeSent":
            self.calls.append(event["params"]["request"]["url"])
        if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.errors.append(event["params"])

    def open(self, path):
        """Open a file, and wait until it is there."""
        self.send("Page.navigate", url=f"file://{path}")
        until = time.monotonic() + 300
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            assert time.monotonic() < until, "the page was not loaded in time"
            time.sleep(0.05)

    def run(self, script):
        """Return what an expression is."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def theme(self, name):
        """Prefer ``light`` or ``dark``."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, path, width=1250, height=1000):
        """Save what is seen."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=False)["data"]))

    def pdf(self):
        """Return the page as it is printed."""
        return base64.b64decode(self.send("Page.printToPDF")["data"])

    def close(self):
        """End it."""
        self._process.terminate()
        self._process.wait(30)
        os.close(self._in)
        os.close(self._out)
