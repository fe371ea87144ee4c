# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What services answer to a wrong request: their own words."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http
from ansible_collections.stackguard.nova.tests.unit.systems.api.cassette import Player

NOBODY = "00000000-0000-0000-0000-00000000dead"


@pytest.mark.parametrize(
    ("service", "path", "microversion", "status", "text"),
    [
        ("compute", "/os-services", "2.999", 406, "Version 2.999 is not supported by the API"),
        ("placement", f"/resource_providers/{NOBODY}", "1.14", 404, "No resource provider with uuid"),
        ("network", f"/ports/{NOBODY}", None, 404, "could not be found"),
    ],
)
def test_the_services_own_words(service: str, path: str, microversion: str, status: int, text: str) -> None:
    with pytest.raises(ApiError, match=text) as raised:
        http.call(Player("errors"), service, "GET", path, microversion)
    assert raised.value.data == {"status": status, "service": service}
