# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A domain's XML: what is compared and what is not, on a guest of Nova 34 as libvirt 9.0 showed it."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import domain_xml, facts

RECORDED = pathlib.Path(__file__).parents[1] / "systems" / "host" / "recorded"
LIVE = (RECORDED / "domain.xml").read_text()
RESTARTED = (RECORDED / "domain-after-libvirtd-restart.xml").read_text()


def test_a_restart_of_libvirtd_changes_the_text_and_not_the_digest():
    assert LIVE != RESTARTED
    assert domain_xml.digest(LIVE) == domain_xml.digest(RESTARTED)


def replaced(old, new):
    assert LIVE.count(old) >= 1, old
    return LIVE.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<domain type='qemu' id='3'>", "<domain id='17' type='qemu'>"),
        ("<alias name='virtio-disk0'/>", "<alias name='other'/>"),
        ("/dev/pts/2", "/dev/pts/77"),
        ("<nova:name>guest3</nova:name>", "<nova:name>renamed by its tenant</nova:name>"),
        ("<currentMemory unit='KiB'>65536</currentMemory>", "<currentMemory unit='KiB'>65000</currentMemory>"),
        ("index='1'", "index='2'"),
        ("<devices>", "<!-- a comment -->\n\n<devices>"),
        ("</devices>", "</devices><seclabel type='dynamic' model='dac'><label>+0:+0</label></seclabel>"),
        ("<target dev='vda' bus='virtio'/>", "<target bus='virtio' dev='vda'></target>"),
    ],
)
def test_what_the_guest_cannot_see_is_not_compared(old, new):
    assert domain_xml.digest(replaced(old, new)) == domain_xml.digest(LIVE)


CHANNEL = "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0' state='{}'/></channel>"
CDROM = "<disk type='file' device='cdrom'><target dev='sda' bus='sata' tray='{}'/></disk>"
DIMM = "<memory model='virtio-mem'><target><size unit='KiB'>1</size><current unit='KiB'>{}</current></target></memory>"
#: What stands there while a block job runs, and after it.
MIRROR = "<disk type='network'><target dev='vdz'/>{}</disk>"


@pytest.mark.parametrize(
    ("device", "before", "after"),
    [
        (CHANNEL, "disconnected", "connected"),
        (CDROM, "closed", "open"),
        (DIMM, "0", "1"),
        (MIRROR, "<mirror type='file' job='copy'/>", ""),
        (MIRROR, "<backingStore type='file'><format type='raw'/></backingStore>", "<backingStore/>"),
    ],
    ids=["agent", "tray", "memory", "mirror", "backing store"],
)
def test_what_changes_by_itself_while_a_guest_runs_on_is_no_change_of_the_guest(device, before, after):
    one, other = (replaced("</devices>", f"{device.format(value)}</devices>") for value in (before, after))
    assert domain_xml.digest(one) == domain_xml.digest(other)
    assert domain_xml.digest(one) != domain_xml.digest(LIVE)


def test_virtual_cpus_that_are_added_are_no_change_of_the_guest():
    one, other = (replaced("<vcpu", f"<vcpu current='{number}'") for number in (1, 2))
    assert domain_xml.digest(one) == domain_xml.digest(other)


def test_a_recorded_definition_has_the_digest_that_it_always_had():
    """Definitions are kept for years: what is left out of a live digest only is still in them."""
    shown = replaced("</devices>", f"{CHANNEL.format('connected')}</devices>")
    assert "connected" in domain_xml.recorded(shown)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slot='0x03'", "slot='0x06'"),
        ("machine='pc-i440fx-7.2'", "machine='pc-i440fx-7.1'"),
        ("fa:16:3e:04:2b:8c", "fa:16:3e:04:2b:8d"),
        ("<target dev='vda' bus='virtio'/>", "<target dev='vdb' bus='virtio'/>"),
        ("_disk' index", "_disk.other' index"),
        ("<model fallback='forbid'>EPYC</model>", "<model fallback='forbid'>Nehalem</model>"),
        ("<uuid>8961cf04", "<uuid>8961cf05"),
        ("<memory unit='KiB'>65536</memory>", "<memory unit='KiB'>65537</memory>"),
        ("<alias name='virtio-disk0'/>", "<alias name='ua-mine'/>"),
        ("<target dev='tapafb10afa-db' managed='no'/>", "<target dev='tapafb10afa-dc' managed='no'/>"),
    ],
)
def test_what_the_guest_sees_is_compared(old, new):
    assert domain_xml.digest(replaced(old, new)) != domain_xml.digest(LIVE)


@pytest.mark.parametrize(
    ("device", "same"),
    [
        ("<graphics type='vnc' port='{}' autoport='yes' listen='::'/>", True),
        ("<graphics type='vnc' port='{}' autoport='no' listen='::'/>", False),
        ("<channel type='unix'><source path='/var/lib/libvirt/qemu/channel/domain-{}-x/a'/></channel>", True),
        ("<channel type='unix'><source mode='bind' path='/srv/{}'/></channel>", False),
        ("<serial type='file'><source path='/var/log/{}'/></serial>", False),
        ("<serial type='tcp'><source mode='bind' host='::' service='1{}'/></serial>", False),
    ],
)
def test_what_libvirt_chooses_at_each_start(device, same):
    first, second = (domain_xml.digest(replaced("</devices>", device.format(n) + "</devices>")) for n in (5900, 5901))
    assert (first == second) is same


def test_an_empty_source_of_a_pty_is_none():
    shown = domain_xml.digest(replaced("<source path='/dev/pts/2'/>", "<source/>"))
    assert shown == domain_xml.digest(replaced("<source path='/dev/pts/2'/>", "")) == domain_xml.digest(LIVE)


@pytest.mark.parametrize("text", ["", "no xml", "<network/>", "<domain>"])
def test_what_is_no_domain_is_refused(text):
    with pytest.raises(domain_xml.DomainXMLError):
        domain_xml.normalise(text)


def test_facts_of_a_guest():
    root = domain_xml.parse(LIVE)
    assert domain_xml.nova_metadata(root) == ("guest3", "nano", "29c25c1b9dc64ea1a24bfc7d6b4e9a0c")
    assert domain_xml.machine_type(root) == "pc-i440fx-7.2"
    disk = facts.DomainDisk("vda", "vms/8961cf04-0ee7-44b1-9ed3-a4b18e535683_disk", "rbd")
    assert domain_xml.disks(root) == [disk]
    assert domain_xml.interfaces(root) == [facts.DomainInterface("fa:16:3e:04:2b:8c", "tapafb10afa-db", "ethernet")]


def test_older_metadata_and_none():
    older = LIVE.replace("libvirt/nova/1.1", "libvirt/nova/1.0").replace(' uuid="29c25c1b9dc64ea1a24bfc7d6b4e9a0c"', "")
    assert domain_xml.nova_metadata(domain_xml.parse(older)) == ("guest3", "nano", "admin")
    assert domain_xml.nova_metadata(domain_xml.parse("<domain/>")) == (None, None, None)


def test_devices_of_other_kinds():
    root = domain_xml.parse(
        """<domain><devices>
        <disk type='file'><source file='/a'/><target dev='vda'/><serial>s1</serial></disk>
        <disk type='block'><source dev='/dev/b'/><target dev='vdb' bus='scsi'/></disk>
        <disk type='file' device='cdrom'><target dev='sda' bus='sata'/></disk>
        <interface type='bridge'><source bridge='br-int'/></interface>
        <interface type='vhostuser'><source type='unix' path='/run/x' mode='client'/></interface>
        <interface type='hostdev'/>
        </devices></domain>"""
    )
    assert [(disk.target, disk.source, disk.serial) for disk in domain_xml.disks(root)] == [
        ("vda", "/a", "s1"),
        ("vdb", "/dev/b", None),
        ("sda", None, None),
    ]
    assert [(card.type, card.source) for card in domain_xml.interfaces(root)] == [
        ("bridge", "br-int"),
        ("vhostuser", "/run/x"),
        ("hostdev", None),
    ]
    assert domain_xml.machine_type(root) is None


@pytest.mark.parametrize(
    ("backing", "size"),
    [
        ("", None),
        ("<memoryBacking><locked/></memoryBacking>", None),
        ("<memoryBacking><hugepages/></memoryBacking>", 0),
        ("<memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages></memoryBacking>", 2048),
        (
            "<memoryBacking><hugepages><page size='1' unit='G'/><page size='2' unit='M'/></hugepages></memoryBacking>",
            1 << 20,
        ),
    ],
)
def test_huge_pages_behind_a_domain(backing, size):
    assert domain_xml.hugepage_kib(domain_xml.parse(f"<domain>{backing}</domain>")) == size


def test_an_unknown_unit_is_an_error_and_not_small_pages():
    text = "<domain><memoryBacking><hugepages><page size='1' unit='XB'/></hugepages></memoryBacking></domain>"
    with pytest.raises(domain_xml.DomainXMLError, match="XB"):
        domain_xml.hugepage_kib(domain_xml.parse(text))


# --- what ties it to a host -----------------------------------------------------------------------------------------

TIED = """<domain type='kvm'><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
  <loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE.fd</loader></os>
  <cpu mode='custom' match='exact' check='full'><model fallback='forbid'>EPYC</model>
    <topology sockets='2' cores='1' threads='1'/><numa><cell id='0' cpus='0' memory='1' unit='GiB'/></numa>
    <feature policy='require' name='ht'/></cpu>
  <devices>
    <disk type='network'><auth username='nova'><secret type='ceph' uuid='AAAA'/></auth>
      <source protocol='rbd' name='vms/u_disk'/></disk>
    <disk type='network'><source protocol='rbd' name='volumes/volume-1'><auth username='cinder'>
      <secret type='ceph' uuid='bbbb'/></auth></source></disk>
    <disk type='network'><source protocol='rbd' name='volumes/volume-2'/><auth username='cinder'>
      <secret type='ceph' uuid='bbbb'/></auth></disk>
    <disk type='block'><source dev='/dev/sda'/></disk>
    <hostdev mode='subsystem' type='pci'><source><address domain='0' bus='1' slot='0' function='0'/></source></hostdev>
    <hostdev mode='subsystem' type='usb'><source><address bus='1' device='2'/></source></hostdev>
    <filesystem type='mount'><target dir='share'/></filesystem>
  </devices></domain>"""


def test_what_ties_a_guest_to_a_host():
    root = domain_xml.parse(TIED)
    found = domain_xml.ties(root)
    assert (found.arch, found.virt, found.firmware) == ("x86_64", "kvm", "/usr/share/OVMF/OVMF_CODE.fd")
    assert found.ceph == [facts.CephAuth("aaaa", "nova", False), facts.CephAuth("bbbb", "cinder", True)]
    # PCI devices are Nova's, which chooses others on the destination.
    assert [device.partition(" ")[0] for device in found.devices] == ["hostdev", "filesystem"]
    cpu = domain_xml.guest_cpu(root)
    assert "topology" not in cpu and "numa" not in cpu and "EPYC" in cpu
    other = domain_xml.parse(TIED.replace("sockets='2'", "sockets='1'"))
    assert domain_xml.ties(other).cpu == found.cpu, "the flavor's topology is no question of the processor"
    assert domain_xml.ties(domain_xml.parse(TIED.replace("EPYC", "Opteron"))).cpu != found.cpu


def test_a_guest_with_the_cpu_of_its_host_has_none_of_its_own():
    plain = domain_xml.parse("<domain type='kvm'><cpu mode='host-passthrough' check='none'/></domain>")
    assert domain_xml.ties(plain) == facts.DomainTies(None, "kvm", None, None, [], [])
    assert domain_xml.ties(domain_xml.parse("<domain/>")).cpu is None
    assert domain_xml.ties(domain_xml.parse(LIVE)).cpu


@pytest.mark.parametrize(
    ("pins", "policy"),
    [
        ([], "shared"),
        (["0-3", "0-3"], "shared"),
        (["0,2", "1,3"], "shared"),
        (["4", "5"], "dedicated"),
        (["4", "0-3"], "mixed"),
        # One shared CPU in the NUMA node, or one CPU of its own: both look like this.
        (["4"], ""),
        (["0", "0"], ""),
        (["4", "0", "0"], ""),
    ],
)
def test_how_cpus_are_pinned(pins, policy):
    """nova/virt/libvirt/driver.py, _get_guest_numa_config."""
    found = "".join(f"<vcpupin vcpu='{number}' cpuset='{cpus}'/>" for number, cpus in enumerate(pins))
    root = domain_xml.parse(f"<domain><cputune>{found}<emulatorpin cpuset='0-9'/></cputune></domain>")
    assert domain_xml.cpu_policy(root) == policy
