# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the API does not show in lists is asked for singly, and a server whose cell is silent is not one at rest."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import server_records
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.systems.api.answering_cloud import Cloud
from ansible_collections.stackguard.nova.tests.unit.systems.api.listing_api import Api, server


def test_a_guest_that_the_list_leaves_out_is_asked_for_singly(monkeypatch):
    api = Api(monkeypatch, [server("a"), server("b"), server("c", "elsewhere")], listed=["a"])
    found = server_records.guest_states(None, ["old1"], ["a", "b", "c", "gone"])
    assert [(guest.uuid, guest.host) for guest in found] == [("a", "old1"), ("b", "old1"), ("c", "elsewhere")]
    assert ("GET", "/servers/a") not in api.asked, "the list had it"


def test_a_guest_of_a_cell_that_does_not_answer_is_an_error_and_not_a_guest_at_rest(monkeypatch):
    """views/servers.py shows such a server with its uuid and the status UNKNOWN."""
    Api(monkeypatch, [server("a"), {"id": "b", "status": "UNKNOWN"}], listed=["a"])
    with pytest.raises(ApiError, check=problem_is("unknown-server")):
        server_records.guest_states(None, ["old1"], ["a", "b"])


# --- what Nova says of one server at this moment ----------------------------------------------------------------


@pytest.mark.parametrize(("status", "runs"), [(200, True), (409, False), (404, False)])
def test_nova_compute_says_whether_a_guest_runs(status, runs):
    """409: it is off, or paused; 404: its owner has deleted it."""
    cloud = Cloud()
    cloud.gives("/servers/one/diagnostics", status, state="running")
    assert server_records.is_running(cloud, "one") is runs


@pytest.mark.parametrize("status", [403, 500, 501])
def test_a_nova_that_does_not_say_whether_a_guest_runs_is_an_error(status):
    cloud = Cloud()
    cloud.gives("/servers/one/diagnostics", status)
    with pytest.raises(ApiError):
        server_records.is_running(cloud, "one")


@pytest.mark.parametrize(
    ("listed", "deleted"),
    [
        ([{"id": "one", "status": "DELETED"}], True),
        ([{"id": "one", "status": "SOFT_DELETED"}], False),
        ([{"id": "one", "status": "ACTIVE"}], False),
        # A Nova that ignores the filter.
        ([{"id": "other", "status": "DELETED"}], False),
        ([], False),
    ],
)
def test_only_a_record_of_the_deletion_tells_a_deleted_server_from_an_unknown_one(listed, deleted):
    cloud = Cloud()
    cloud.gives("/servers/detail", servers=listed)
    assert server_records.is_deleted(cloud, "one") is deleted
    ((_path, _version, params),) = cloud.asked
    assert params["uuid"] == "one"
    assert params["deleted"] == "True"
