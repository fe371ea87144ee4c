# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private RabbitMQ, with and without TLS, and messages as oslo.messaging sends them."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import amqp
import servers

USER, PASSWORD = "nova", "se:cr/et@x"
QUOTED = "se:cr%2Fet%40x"
CONFIGURATION = """
listeners.tcp.1 = 127.0.0.1:{port}
listeners.ssl.1 = 127.0.0.1:{tls_port}
ssl_options.cacertfile = {directory}/ca.pem
ssl_options.certfile = {directory}/cert.pem
ssl_options.keyfile = {directory}/key.pem
ssl_options.verify = verify_none
default_user = {user}
default_pass = {password}
loopback_users = none
"""


class Rabbit:
    """One server; :meth:`url` is what nova.conf would hold."""

    def __init__(self) -> None:
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="stackguard-rabbit-"))
        self.port, self.tls_port, self.epmd, self.dist = (servers.free_port() for _each in range(4))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._certificates()
        text = CONFIGURATION.format(**vars(self), user=USER, password=PASSWORD)
        (self.directory / "rabbitmq.conf").write_text(text)
        (self.directory / "plugins").write_text("[].\n")
        environment = {
            **os.environ,
            "HOME": str(self.directory),
            "RABBITMQ_NODENAME": f"sg{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": str(self.directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.directory / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.directory / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "plugins"),
            "RABBITMQ_PID_FILE": str(self.directory / "pid"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_DIST_PORT": str(self.dist),
            "ERL_EPMD_PORT": str(self.epmd),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        program = servers.program("rabbitmq-server", "/usr/lib/rabbitmq/bin/rabbitmq-server")
        with open(self.directory / "server.log", "wb") as log:
            # Should the tests be killed, the server goes with them.
            command = [servers.program("setpriv"), "--pdeathsig", "KILL", program]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        end = time.monotonic() + 180
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError, amqp.AMQPError), self.channel():
                return
            time.sleep(0.5)
        raise servers.ServerError(f"RabbitMQ does not start:\n{(self.directory / 'server.log').read_text()[-2000:]}")

    def stop(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            subprocess.run(["epmd", "-port", str(self.epmd), "-kill"], check=False, capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def url(self, scheme: str = "rabbit", password: str = QUOTED, vhost: str = "", port: int = 0) -> str:
        place = port or (self.tls_port if scheme == "amqps" else self.port)
        return f"{scheme}://{USER}:{password}@localhost:{place}/{vhost}"

    @property
    def ca_file(self) -> str:
        return str(self.directory / "ca.pem")

    @contextlib.contextmanager
    def channel(self):
        connection = amqp.Connection(f"127.0.0.1:{self.port}", USER, PASSWORD, login_method="PLAIN")
        connection.connect()
        with contextlib.closing(connection):
            yield connection.channel()

    def declare(self, name: str, kind: str = "classic") -> None:
        """Make a queue as nova-compute does: durable, of the kind that C(rabbit_quorum_queue) says."""
        with self.channel() as channel:
            channel.queue_declare(name, durable=True, auto_delete=False, arguments={"x-queue-type": kind})

    def send(self, queue: str, *bodies: str) -> None:
        with self.channel() as channel:
            channel.confirm_select()
            for body in bodies:
                message = amqp.Message(body, content_type="application/json", delivery_mode=2)
                channel.basic_publish_confirm(message, exchange="", routing_key=queue)

    def bodies(self, name: str) -> list[str]:
        """What waits in a queue."""
        found: list[str] = []
        with self.channel() as channel:
            while (message := channel.basic_get(name)) is not None:
                found.append(message.body)
        return found

    def _certificates(self) -> None:
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
        where = ["-keyout", str(self.directory / "key.pem"), "-out", str(self.directory / "cert.pem")]
        subprocess.run([*made, *where], check=True, capture_output=True)
        shutil.copy(self.directory / "cert.pem", self.directory / "ca.pem")


def request(number: int, method: str = "stop_instance", uuid: str = "u1") -> str:
    """A cast to nova-compute, as oslo.messaging puts it on the wire."""
    instance = {"nova_object.name": "Instance", "nova_object.data": {"uuid": uuid, "host": "compute1"}}
    message = {
        "method": method,
        "args": {"instance": instance, "admin_password": "geheim", "injected_files": []},
        "_unique_id": f"id{number}",
        "_context_request_id": f"req-{number}",
        "_context_auth_token": "token",
    }
    return json.dumps({"oslo.version": "2.0", "oslo.message": json.dumps(message)})
