# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of a connection, and what is said where it fails: never a password."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import connection
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

AUTH = {"auth_url": "http://127.0.0.1:1/v3", "username": "admin", "password": "hunter2hunter2", "project_name": "admin"}


def test_a_cloud_that_does_not_answer_is_told_without_the_password() -> None:
    with pytest.raises(ApiError) as raised:
        connection.connect({"auth": {**AUTH, "auth_url": "http://admin:hunter2hunter2@127.0.0.1:1/v3"}, "cloud": None})
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_cloud_that_is_not_configured() -> None:
    with pytest.raises(ApiError, match="nowhere"):
        connection.connect({"cloud": "nowhere"})


def test_a_dictionary_holds_everything() -> None:
    with pytest.raises(ApiError, check=problem_is("cloud-dictionary-set")):
        connection.connect({"cloud": {"auth": AUTH}, "auth": AUTH, "interface": "internal"})
    assert connection._keywords({"cloud": {"auth": AUTH}, "interface": "public"}) == {"auth": AUTH}


def test_options_are_those_of_openstack_cloud() -> None:
    keywords = connection._keywords(
        {
            "cloud": "c",
            "validate_certs": False,
            "ca_cert": "ca",
            "client_cert": "crt",
            "client_key": "key",
            "region_name": "r",
            "api_timeout": 5,
            "auth_type": "token",
            "auth": {},
            "interface": "admin",
            "hosts": [],
        }
    )
    assert keywords == {
        "cloud": "c",
        "verify": False,
        "cacert": "ca",
        "cert": "crt",
        "key": "key",
        "region_name": "r",
        "api_timeout": 5,
        "auth_type": "token",
        "auth": {},
        "interface": "admin",
    }
    spec = connection.openstack_spec(hosts={"type": "list"})
    assert set(connection.OPENSTACK_SPEC) < set(spec)
    assert spec["auth"]["no_log"]
    assert "hosts" not in connection.OPENSTACK_SPEC
