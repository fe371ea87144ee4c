# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""RabbitMQ's URL: what nova.conf holds is understood, and what is cannot be parsed is refused without its password."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import BrokerError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.broker import queues
from ansible_collections.stackguard.nova.plugins.module_utils.systems.broker import url as broker_url
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is


@pytest.mark.parametrize(
    ("url", "places", "vhost", "tls"),
    [
        ("rabbit://nova:geheim@mq1", ["mq1:5672"], "/", False),
        ("rabbit://nova:geheim@mq1:5673/", ["mq1:5673"], "/", False),
        ("rabbit://nova:geheim@mq1:5672//", ["mq1:5672"], "/", False),
        ("kombu://nova:geheim@mq1:5672/nova_cell1", ["mq1:5672"], "nova_cell1", False),
        ("amqp://nova:geheim@[2001:db8::1]:5672/%2Fnova", ["[2001:db8::1]:5672"], "/nova", False),
        ("rabbit://nova:geheim@mq1:1,nova:geheim@mq2:2/", ["mq1:1", "mq2:2"], "/", False),
        ("amqps://nova:geheim@mq1", ["mq1:5671"], "/", True),
        ("rabbit://nova:geheim@mq1:5671/?ssl=1", ["mq1:5671"], "/", True),
        ("rabbit://nova:geheim@mq1/?ssl=False&x=y", ["mq1:5672"], "/", False),
    ],
)
def test_a_transport_url_is_understood(url, places, vhost, tls):
    address = broker_url.parsed(url)
    assert [node.place for node in address.nodes] == places
    assert {(node.user, node.password) for node in address.nodes} == {("nova", "geheim")}
    assert (address.vhost, address.tls is not None) == (vhost, tls)
    assert "geheim" not in repr(address)
    assert "geheim" not in broker_url.location(url)


def test_quoted_passwords_and_files_for_tls_are_taken():
    address = broker_url.parsed("amqps://nova:p%40s%2Fs@mq1/?ssl_ca_file=/etc/ca.pem&ssl_cert_file=/c&ssl_key_file=/k")
    assert address.nodes[0].password == "p@s/s"
    assert address.tls == broker_url.Tls("/etc/ca.pem", "/c", "/k")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://nova:geheim@mq1:15672/", "url-rabbitmq-must"),
        ("geheim", "url-rabbitmq-must"),
        ("rabbit:///", "url-rabbitmq-contains"),
        ("rabbit://mq1:5672/", "url-rabbitmq-must-contain"),
        ("rabbit://geheim@mq1:5672/", "url-rabbitmq-must-contain"),
        ("rabbit://nova:geheim@mq1:99999/", "url-rabbitmq-cannot"),
        ("rabbit://nova:geheim@mq1:x/", "url-rabbitmq-cannot"),
        ("rabbit://nova:geheim@:5672/", "url-rabbitmq-cannot"),
    ],
)
def test_what_is_not_understood_is_refused_without_being_repeated(url, why):
    with pytest.raises(BrokerError, check=problem_is(why)) as raised:
        broker_url.parsed(url)
    assert "geheim" not in str(raised.value)


def test_every_password_of_a_cluster_is_hidden_in_what_a_library_says():
    url = "rabbit://nova:first%21one@mq1:5672,nova:other@mq2:5672/"
    said = broker_url.redact("first%21one first!one other@mq2 login nova:other", url)
    for secret in ("first%21one", "first!one", "other"):
        assert secret not in said


def test_without_the_library_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(queues, "AMQP", False)
    with queues.Broker("rabbit://nova:geheim@mq1:5672/") as asked, pytest.raises(BrokerError, match="pip install"):
        asked.queue("compute.compute1")
