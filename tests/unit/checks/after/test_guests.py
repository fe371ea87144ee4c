# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a resume makes of guests that changed while the operation was open: a finished rename, or a refusal by name."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import BLOCKER, WARNING
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import verify_guests as guests
from ansible_collections.stackguard.nova.tests.unit import builders

BOOT = "boot-1"
HOST = dataclasses.replace(builders.healthy().bundle.hosts["compute1"], boot_id=BOOT, qemu_processes={})
ONE, TWO = HOST.domains[:2]
BEFORE = guests.as_before(HOST.domains)
OFF = {"state": "shutoff", "pid": None, "pid_start": None, "xml_digest": "of the inactive definition"}


def found(*domains, boot_id=BOOT, strict=True, before=BEFORE, qemu=None):
    now = dataclasses.replace(HOST, domains=list(domains), boot_id=boot_id, qemu_processes=qemu or {})
    return list(guests.changed(before, now, BOOT, strict))


def told(*domains, **given):
    return [(item.object.id, item.severity) for item in found(*domains, **given)]


def changed(domain, **values):
    return dataclasses.replace(domain, **values)


def test_guests_that_are_what_they_were():
    assert found(ONE, TWO) == []


def test_after_a_reboot_in_mid_run_every_guest_is_off_and_the_rename_goes_on():
    items = found(changed(ONE, **OFF), changed(TWO, **OFF), boot_id="boot-2")
    assert [item.severity for item in items] == [WARNING, WARNING]
    assert all(f"openstack server start {item.object.id}" in item.remedy for item in items)
    assert all(item.evidence["why"] == "the host rebooted" for item in items)


def test_a_guest_that_shut_itself_down_does_not_close_the_way_forward():
    (item,) = found(changed(ONE, **OFF), TWO)
    assert (item.object.id, item.severity) == (ONE.uuid, WARNING)
    assert "the guest shut down" in item.evidence["why"]


@pytest.mark.parametrize(
    "change",
    [{"pid": 4711}, {"pid_start": 4711}, {"xml_digest": "another"}, {"name": "another"}],
    ids=lambda change: next(iter(change)),
)
def test_what_only_a_person_can_have_done_is_refused_guest_by_guest(change):
    assert told(changed(ONE, **change), TWO) == [(ONE.uuid, BLOCKER)]
    assert told(changed(ONE, **change), TWO, strict=False) == [(ONE.uuid, WARNING)]


def test_a_guest_that_a_person_started_is_refused():
    before = guests.as_before([changed(ONE, **OFF), TWO])
    assert told(ONE, TWO, before=before) == [(ONE.uuid, BLOCKER)]


def test_a_guest_that_libvirt_started_after_a_reboot_is_reported():
    assert told(changed(ONE, pid=4711, pid_start=1), TWO, boot_id="boot-2") == [(ONE.uuid, WARNING)]


def test_a_reboot_that_cannot_be_told_is_none():
    another = changed(ONE, pid=4711)
    assert told(another, TWO, boot_id=None) == [(ONE.uuid, BLOCKER)]
    now = dataclasses.replace(HOST, domains=[another, TWO], boot_id="boot-2")
    (item,) = guests.changed(BEFORE, now, None, True)
    assert item.severity == BLOCKER


def test_domains_that_came_or_went_are_refused():
    new = changed(ONE, uuid="9d2ad3c4-0000-4000-8000-000000000000", name="new", nova_name=None)
    assert told(ONE, TWO, new) == [(new.uuid, BLOCKER)]
    assert told(ONE) == [(TWO.uuid, BLOCKER)]


def test_a_paused_guest_is_reported_and_not_refused():
    assert told(changed(ONE, state="paused"), TWO) == [(ONE.uuid, WARNING)]


def test_guests_that_cannot_be_read_are_not_unchanged():
    now = dataclasses.replace(HOST, domains=None, unread=[facts.Unread("domains", "no socket")])
    (item,) = guests.changed(BEFORE, now, BOOT, False)
    assert (item.code, item.severity) == ("SG709", BLOCKER)
    assert item.evidence["reason"] == "no socket"


@pytest.mark.parametrize("strict", [True, False])
def test_a_guest_that_libvirt_shows_as_off_while_its_qemu_writes_is_not_off(strict):
    """Nova would start it a second time, on the disk that the first QEMU writes."""
    (item,) = found(changed(ONE, **OFF), TWO, qemu={ONE.uuid: 4711, TWO.uuid: TWO.pid}, strict=strict)
    assert (item.object.id, item.severity) == (ONE.uuid, BLOCKER)
    assert item.evidence == {"libvirt": "shutoff", "QEMU process": 4711}
    assert "openstack server start" not in item.remedy
    (item,) = found(TWO, qemu={ONE.uuid: 4711}, strict=strict)
    assert (item.severity, item.evidence["libvirt"]) == (BLOCKER, "no such domain")


def test_where_qemu_processes_cannot_be_read_no_guest_is_said_to_be_off():
    now = dataclasses.replace(
        HOST, domains=[changed(ONE, **OFF)], qemu_processes=None, unread=[facts.Unread("qemu_processes", "not root")]
    )
    (item,) = guests.changed(BEFORE, now, BOOT, True)
    assert (item.code, item.severity, item.evidence["reason"]) == ("SG709", BLOCKER, "not root")


def test_a_running_guest_whose_process_is_not_known_has_not_ended():
    (item,) = found(changed(ONE, pid=None, pid_start=None), TWO)
    assert (item.code, item.severity, item.evidence["state"]) == ("SG709", BLOCKER, ONE.state)
