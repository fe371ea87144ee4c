# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which cloud a connection leads to, by keystone's catalogue."""

from __future__ import annotations

import types

import pytest
from keystoneauth1 import exceptions

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import catalog


def compute(*regions, identity="n1"):
    ends = [{"interface": face, "region_id": region} for region in regions for face in ("public", "internal")]
    return {"type": "compute", "id": identity, "endpoints": ends}


def connection(*entries, region=None):
    config = types.SimpleNamespace(get_region_name=lambda _service: region)
    return types.SimpleNamespace(
        service_catalog=[{"type": "image", "id": "g1", "endpoints": []}, *entries], config=config
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (connection(compute("one")), "n1 in one"),
        (connection(compute("one"), region="one"), "n1 in one"),
        (connection(compute("one", "two"), region="two"), "n1 in two"),
        (connection(compute("one", "two")), "n1 in the default region"),
        (connection(compute("one", identity="n2"), compute("one")), "n1+n2 in one"),
        (connection({"type": "compute", "id": "n1"}), "n1 in the default region"),
        # keystone's API v2 has no ids; and a cloud without Nova.
        (connection({"type": "compute", "endpoints": []}), None),
        (connection(), None),
    ],
)
def test_the_service_and_its_region_tell_a_cloud(given, expected):
    assert catalog.cloud_id(given) == expected


def test_a_keystone_that_refuses_is_no_cloud_without_an_identity():
    class Refusing:
        @property
        def service_catalog(self):
            raise exceptions.Unauthorized("wrong password")

    with pytest.raises(ApiError, match="wrong password"):
        catalog.cloud_id(Refusing())
