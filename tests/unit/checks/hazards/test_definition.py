# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Definitions of guests: what is read of them, and what is told of a change, on a guest of Nova 34."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import definition
from ansible_collections.stackguard.nova.plugins.module_utils.model import domain_xml, facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.tests.unit.builders import AT, healthy
from ansible_collections.stackguard.nova.tests.unit.model.test_domain_xml import LIVE, RESTARTED
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import as_saved

UUID = "8961cf04-0ee7-44b1-9ed3-a4b18e535683"
DISK = "vms/8961cf04-0ee7-44b1-9ed3-a4b18e535683_disk"
LATER = "2026-11-22T06:00:00+00:00"
MOVED = LIVE.replace("slot='0x02'", "slot='0x09'")
SECOND = (
    "<disk type='network' device='disk'><source protocol='rbd' name='volumes/two'/><target dev='vdb' bus='virtio'/>"
    "<serial>0d1a</serial><address type='pci' domain='0x0000' bus='0x00' slot='0x06' function='0x0'/></disk>"
)


def with_second(xml=LIVE, first=False):
    place = xml.index("<disk") if first else xml.index("<controller")
    return xml[:place] + SECOND + xml[place:]


def recorded(live=LIVE, inactive=LIVE, at=AT, uuid=UUID):
    parts = [None if xml is None else domain_xml.definition(xml) for xml in (live, inactive)]
    return facts.GuestDefinition(uuid, "instance-00000001", at, *parts)


def cloud(now, before=None):
    some = healthy().host(definitions=[now])
    records = {} if before is None else {before.uuid: before}
    return dataclasses.replace(some.bundle, recorded=records)


def told(now, before=None):
    return {item.code: item for item in definition.check(cloud(now, before)).findings}


def since(live, inactive=None):
    """What is told of a guest that is now like this, and was recorded as it was."""
    return told(recorded(live, inactive or live, LATER), recorded())


# --- what is read ---------------------------------------------------------------------------------------------


def test_devices_are_known_by_what_stays():
    found = domain_xml.definition(with_second())
    devices = {(device.kind, device.identity): (device.address, device.what) for device in found.devices}
    assert devices["disk", DISK] == ("pci 0000:00:03.0", "vda on virtio")
    assert devices["disk", "0d1a"] == ("pci 0000:00:06.0", "vdb on virtio")
    assert devices["interface", "fa:16:3e:04:2b:8c"] == ("pci 0000:00:02.0", "virtio")
    assert devices["controller", "pci 0"][0] is None
    assert found.machine_type == "pc-i440fx-7.2"
    assert found.cpu.startswith("custom; EPYC; ")


def test_two_of_one_kind_are_told_apart():
    rng = "<rng model='virtio'><backend model='random'>/dev/random</backend></rng>"
    found = domain_xml.definition(LIVE.replace("</devices>", rng + "</devices>"))
    assert [device.identity for device in found.devices if device.kind == "rng"] == ["virtio", "virtio #2"]


def test_a_restart_of_libvirtd_is_the_same_definition():
    assert domain_xml.definition(LIVE) == domain_xml.definition(RESTARTED)


def test_no_secret_is_kept():
    graphics = "<graphics type='vnc' port='5900' autoport='yes' passwd='s3cret-1'/>"
    line = (
        "<q:commandline xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'><q:arg value='s3cret-2'/></q:commandline>"
    )
    xml = LIVE.replace("</devices>", graphics + "</devices>" + line)
    assert "s3cret" not in domain_xml.recorded(xml)
    assert "commandline" not in domain_xml.recorded(xml)
    # The rest stays.
    assert DISK in domain_xml.recorded(xml)


# --- what is told ---------------------------------------------------------------------------------------------


def test_what_did_not_change_is_not_told():
    assert since(LIVE) == {}
    assert since(RESTARTED) == {}
    renamed = LIVE.replace("<nova:name>guest3</nova:name>", "<nova:name>other</nova:name>")
    assert since(renamed) == {}


def test_a_device_at_another_address_is_named_and_no_other():
    found = since(LIVE.replace("slot='0x02'", "slot='0x09'"))
    assert set(found) == {"SG601"}
    assert found["SG601"].evidence["devices"] == {
        "interface fa:16:3e:04:2b:8c": ["pci 0000:00:02.0", "pci 0000:00:09.0"]
    }
    assert found["SG601"].object.kind == "domain"


def test_a_device_that_came_moves_nothing():
    assert since(with_second()) == {}
    assert since(with_second(first=True)) == {}
    assert told(recorded(LIVE, LIVE, LATER), recorded(with_second(), with_second())) == {}


def test_what_came_is_told_with_what_it_moved():
    found = since(with_second(LIVE.replace("slot='0x03'", "slot='0x08'"), first=True))
    assert found["SG601"].evidence["added"] == ["disk 0d1a"]
    assert list(found["SG601"].evidence["devices"]) == [f"disk {DISK}"]


def test_disks_in_another_order():
    before = recorded(with_second(), with_second())
    found = told(recorded(with_second(first=True), with_second(first=True), LATER), before)
    assert set(found) == {"SG602"}
    assert found["SG602"].evidence["order of disks before"] == [DISK, "0d1a"]
    assert found["SG602"].evidence["order of disks after"] == ["0d1a", DISK]


def test_another_target_of_a_disk():
    found = since(LIVE.replace("dev='vda' bus='virtio'", "dev='sda' bus='scsi'"))
    assert found["SG601"].evidence["devices"] == {f"disk {DISK}": ["vda on virtio", "sda on scsi"]}


def test_another_machine_type():
    assert set(since(LIVE.replace("pc-i440fx-7.2", "pc-i440fx-8.0"))) == {"SG604"}


def test_another_cpu():
    assert set(since(LIVE.replace(">EPYC<", ">Nehalem<"))) == {"SG605"}


def test_like_is_compared_with_like():
    stopped = LIVE.replace(">EPYC<", ">Nehalem<")
    # It ran then and does not now: what would start is compared with what would have.
    assert told(recorded(None, stopped, LATER), recorded(LIVE, stopped)) == {}
    assert set(told(recorded(None, LIVE, LATER), recorded(None, stopped))) == {"SG605"}


@pytest.mark.parametrize(("machine", "codes"), [("pc", {"SG603"}), ("q35", {"SG603"}), ("pc-q35-rhel9.2.0", set())])
def test_a_machine_type_without_a_version(machine, codes):
    xml = LIVE.replace("pc-i440fx-7.2", machine)
    assert set(told(recorded(xml, xml), recorded(xml, xml))) == codes


def test_a_next_start_that_changes_something():
    found = told(recorded(LIVE, LIVE.replace("slot='0x02'", "slot='0x09'")), recorded())
    assert set(found) == {"SG606"}
    assert "interface fa:16:3e:04:2b:8c" in found["SG606"].evidence["changes at the next start"]["devices"]
    # A transient guest, and one that does not run, have nothing to differ from.
    assert told(recorded(LIVE, None), recorded()) == {}
    assert told(recorded(None, LIVE), recorded()) == {}


def test_a_device_that_only_the_running_one_has():
    found = told(recorded(with_second(), LIVE), recorded(with_second(), LIVE))
    assert found["SG606"].evidence["changes at the next start"] == {"removed": ["disk 0d1a"]}


def test_guests_that_were_never_recorded_are_one_finding_for_each_host():
    more = [recorded(uuid=f"{number}") for number in range(30)]
    bundle = dataclasses.replace(healthy().host(definitions=more).bundle, recorded={})
    (item,) = definition.check(bundle).findings
    assert (item.code, item.object.kind, item.evidence["guests"]) == ("SG607", "host", 30)
    assert len(item.evidence["named"]) == 20
    assert told(recorded(), recorded()) == {}


def test_what_was_not_read_is_undecided():
    whole = {item.code for item in definition.check(healthy().bundle).unchecked}
    assert whole == set(definition.CODES)
    unread = healthy().host(unread=[facts.Unread("definitions", "no libvirt")]).host("compute2", definitions=[])
    objects = {(item.code, item.object) for item in definition.check(unread.bundle).unchecked}
    assert ("SG606", "compute1") in objects
    bundle = healthy().host(definitions=[recorded()]).bundle
    assert {"SG601", "SG607"} <= {item.code for item in definition.check(bundle).unchecked}
    assert definition.check(bundle).findings == ()


# --- records --------------------------------------------------------------------------------------------------


def test_records_last_and_are_part_of_the_evidence(tmp_path):
    source, lasting = str(tmp_path / "evidence"), str(tmp_path / "records")
    evidence.save_texts(source, {domain_xml.definition(LIVE).sha256: domain_xml.recorded(LIVE)})
    first = evidence.with_recorded_definitions(healthy().host(definitions=[recorded()]).bundle, lasting)
    assert [item.code for item in definition.check(first).findings] == ["SG607"]
    evidence.record_definitions(lasting, first, source)
    moved = recorded(MOVED, None, LATER)
    second = evidence.with_recorded_definitions(healthy().host(definitions=[moved]).bundle, lasting)
    assert [item.code for item in audit.check(second).findings] == ["SG601"]
    # Offline, from the one file.
    again = as_saved(second)
    assert audit.check(again) == audit.check(second)
    kept = tmp_path / "records" / "definitions" / f"{domain_xml.definition(LIVE).sha256}.xml"
    assert domain_xml.definition(kept.read_text()) == domain_xml.definition(LIVE)
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_change_is_told_once(tmp_path):
    for live, codes in ((LIVE, ["SG607"]), (MOVED, ["SG601"]), (MOVED, [])):
        source, lasting = str(tmp_path / "evidence"), str(tmp_path / "records")
        evidence.save_texts(source, {domain_xml.definition(live).sha256: domain_xml.recorded(live)})
        now = evidence.with_recorded_definitions(healthy().host(definitions=[recorded(live, None)]).bundle, lasting)
        assert [item.code for item in definition.check(now).findings] == codes
        evidence.record_definitions(lasting, now, source)
    assert len(list((tmp_path / "records" / "definitions").iterdir())) == 2


def test_a_record_that_cannot_be_understood_is_refused(tmp_path):
    now = healthy().host(definitions=[recorded()]).bundle
    evidence.record_definitions(str(tmp_path), now, str(tmp_path / "evidence"))
    (tmp_path / "guests" / f"{UUID}.json").write_text("torn")
    with pytest.raises(facts.FactsError, match="not JSON"):
        evidence.with_recorded_definitions(now, str(tmp_path))


def test_a_text_under_another_name_is_refused(tmp_path):
    with pytest.raises(facts.FactsError, match="SHA-256"):
        evidence.save_texts(str(tmp_path), {"../../escape": "x"})
    assert list(tmp_path.iterdir()) == []
