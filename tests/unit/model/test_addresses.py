# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses on the controller; compute hosts, which have no netaddr, read the same text as the same address."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import addresses
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import addresses as on_hosts

V4 = st.ip_addresses(v=4)
V6 = st.ip_addresses(v=6)
#: Addresses whose leading 80 to 96 bits are nothing: libraries write these in different ways.
LOW = st.integers(0, 2**48 - 1).map(ipaddress.IPv6Address)
MAPPED = V4.map(lambda one: ipaddress.IPv6Address(int(one) + (0xFFFF << 32)))
ANY = st.one_of(V4, V6, LOW, MAPPED)


@st.composite
def forms(draw):
    """An address in one of the forms that people and programs write."""
    one = draw(ANY)
    text = draw(st.sampled_from([str(one), one.exploded, str(one).upper()]))
    if one.version == 6 and one.ipv4_mapped and draw(st.booleans()):
        text = f"::ffff:{one.ipv4_mapped}"
    return text


def by_host(text):
    try:
        return on_hosts.normal(text)
    except ValueError:
        return None


@given(forms())
def test_both_libraries_write_an_address_alike(text):
    assert addresses.plain(text) == by_host(text)


@given(st.one_of(st.text("0123456789abcf.:/x ", max_size=20), st.from_regex(r"\A\d{1,4}(\.\d{1,4}){0,4}\Z")))
def test_both_take_the_same_texts_for_addresses(text):
    text = text.strip()
    assert addresses.plain(text) == by_host(text)


@given(ANY, ANY, st.integers(0, 128))
def test_both_see_the_same_addresses_in_a_range(start, other, bits):
    bits = min(bits, start.max_prefixlen)
    span = addresses.network(f"{start}/{bits}")
    known = ipaddress.ip_network(f"{start}/{bits}", strict=False)
    assert (str(span.network), span.size) == (addresses_text(known.network_address), known.num_addresses)
    one = ipaddress.ip_address(by_host(str(other)))
    assert addresses.within(str(other), span) == (one in known)
    if start.version == 4 or not start.ipv4_mapped:
        assert addresses.within(str(start), span)


def addresses_text(one):
    """As netaddr writes it, which for IPv6 need not be as the standard library does."""
    return str(addresses.network(f"{one}/{one.max_prefixlen}").network)


@given(ANY)
def test_loopback_is_what_the_standard_library_says(one):
    plain = one.ipv4_mapped if one.version == 6 and one.ipv4_mapped else one
    assert addresses.is_loopback(str(one)) == (plain.is_loopback or plain.is_unspecified)


@pytest.mark.parametrize("text", ["127.0.1.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "::1%lo"])
def test_loopback(text):
    assert addresses.is_loopback(text)


@pytest.mark.parametrize(
    "text", ["", "1", "10.1", "010.0.0.1", "192.0.2.1/24", "compute1", "192.0.2.256", "0x7f.0.0.1"]
)
def test_no_address(text):
    assert addresses.plain(text) is None
    assert not addresses.is_address(text)
    assert not addresses.same(text, text)


@pytest.mark.parametrize("text", ["192.0.2.0", "192.0.2.0/33", "192.0.2.0/255.255.255.0", "/24", "x/8", "192.0.2.0/"])
def test_no_network(text):
    assert addresses.network(text) is None


def test_without_the_library_nothing_is_decided(monkeypatch):
    monkeypatch.setattr(addresses, "NETADDR_ERROR", "no such library")
    addresses._parsed.cache_clear()
    with pytest.raises(StackguardError, match="netaddr"):
        addresses.plain("192.0.2.1")
