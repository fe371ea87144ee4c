# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nova-compute makes of [DEFAULT] host: oslo.config's own type is the oracle."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oslo_config import types

from ansible_collections.stackguard.nova.plugins.module_utils.model import host_domain

LABELS = st.text("aZ0_-.x", max_size=12)


def judged(judge, value):
    try:
        return judge(value), None
    except ValueError as error:
        return None, str(error)


@given(st.one_of(LABELS, st.text(max_size=12), st.ip_addresses().map(str), st.lists(LABELS, max_size=4).map(".".join)))
@example("compute2.")
@example("compute2..")
@example("compute_2")
@example("_compute2_.")
@example("10.0.0.1")
@example("10.0.0.01")
@example("10.0.0.256")
@example("2001:db8::1")
@example("fe80::1%eth0")
@example("")
@example("a\n")
@example("a\n.b")
@example("a-\n")
@example("\n")
@example(".")
@example("node.10")
@example("-node")
@example("node-.example")
@example("a" * 63)
@example("a" * 64)
@example(".".join(["a" * 49] * 5) + ".aaa")
@example(".".join(["a" * 49] * 5) + ".aaaa")
@example("b\u00fccher.example")
def test_it_takes_and_refuses_what_oslo_config_does_in_its_words(value):
    assert judged(host_domain.accepted, value) == judged(types.HostDomain(), value)


def test_a_dot_at_the_end_is_taken_off():
    """The review: `host = compute2.`: nova-compute STARTS as compute2."""
    assert host_domain.accepted("compute2.") == "compute2"
    with pytest.raises(host_domain.HostDomainError, match=r"^compute 2 is not a valid host address$"):
        host_domain.accepted("compute 2")
