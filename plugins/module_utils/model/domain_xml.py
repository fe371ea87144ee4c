# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A libvirt domain's XML as a comparable text, and the facts that are read from it. Pure.

Two texts of :func:`normalise` are equal where the guest sees the same machine. Left out is what libvirt makes up
anew while the guest runs on, or what a guest cannot see:

* C(domain/@id), and every C(alias) that is not the user's own (C(ua-...)): a restart of libvirtd changes one;
* C(seclabel) and C(metadata): labels, and Nova's notes about the instance;
* C(currentMemory): the balloon's reading, which changes by itself;
* pseudo terminals and the sockets below libvirt's own run-time directories (their names hold the domain's id);
* ports that libvirt chose (C(autoport)), and C(index) of sources, which numbers block nodes;
* the XML declaration, comments, white space between elements, and the order of attributes.

Kept is all else: machine, CPU, features, clock, addresses, targets, MACs, sources, serials, models, order of devices.

Python 3.9, standard library only: this file travels to compute hosts.
"""

from __future__ import annotations

import hashlib
import typing as t
import xml.etree.ElementTree as ET

from .host_facts import (
    CephAuth,
    Definition,
    Device,
    DomainDisk,
    DomainInterface,
    DomainTies,
)
from .start_options import cpu_set

_CHARACTER_DEVICES = ("serial", "console", "parallel", "channel")
_RUN_TIME_PLACES = ("/run/libvirt/", "/var/run/libvirt/", "/var/lib/libvirt/qemu/")
_NOVA = ("http://openstack.org/xmlns/libvirt/nova/1.1", "http://openstack.org/xmlns/libvirt/nova/1.0")


class DomainXMLError(ValueError):
    """What libvirt returned is not XML, or not a domain."""


class NovaMetadata(t.NamedTuple):
    """What Nova noted in the domain: all None where Nova did not make it."""

    name: t.Optional[str]
    flavor: t.Optional[str]
    project: t.Optional[str]


def parse(text: str) -> ET.Element:
    """Return the domain element. Raises :class:`DomainXMLError`."""
    try:
        root = ET.fromstring(text)  # noqa: S314 - libvirt's own output
    except ET.ParseError as error:
        raise DomainXMLError(f"not XML: {error}") from error
    if root.tag != "domain":
        raise DomainXMLError(f"expected the XML of a domain, found the element {root.tag}")
    return root


def normalise(xml: str) -> str:
    """Return the comparable text of a domain's XML. Raises :class:`DomainXMLError`."""
    root = parse(xml)
    root.attrib.pop("id", None)
    for name in ("seclabel", "metadata", "currentMemory"):
        _drop(root, name)
    for element in root.iter():
        _drop_aliases(element)
        if element.tag == "source":
            element.attrib.pop("index", None)
        if element.tag == "graphics" and element.get("autoport") == "yes":
            for key in ("port", "tlsPort", "websocket"):
                element.attrib.pop(key, None)
        if element.tag in _CHARACTER_DEVICES:
            _drop_run_time_paths(element)
    return ET.canonicalize(ET.tostring(root, encoding="unicode"), strip_text=True)


def digest(xml: str) -> str:
    """Return the SHA-256 of the normalised XML, hexadecimal: of what stays the same while the guest runs on.

    Besides what :func:`normalise` leaves out, what changes by itself or by the guest's own doing: whether its agent is
    connected, whether its tray is open, virtual CPUs and memory that it took or gave back, block jobs that end.
    """
    root = parse(normalise(xml))
    for disk in root.iter("disk"):
        _drop(disk, "mirror")
        _drop(disk, "backingStore")
        for target in disk.findall("target"):
            target.attrib.pop("tray", None)
    for channel in root.iter("channel"):
        for target in channel.findall("target"):
            target.attrib.pop("state", None)
    for vcpu in root.findall("vcpu"):
        vcpu.attrib.pop("current", None)
    for device in root.iter("memory"):
        for target in device.findall("target"):
            _drop(target, "current")
            _drop(target, "requested")
    return hashlib.sha256(ET.canonicalize(ET.tostring(root, encoding="unicode"), strip_text=True).encode()).hexdigest()


def _drop(parent: ET.Element, name: str) -> None:
    for child in parent.findall(name):
        parent.remove(child)


def _drop_aliases(element: ET.Element) -> None:
    for alias in element.findall("alias"):
        if not (alias.get("name") or "").startswith("ua-"):
            element.remove(alias)
    _drop(element, "seclabel")


def _drop_run_time_paths(device: ET.Element) -> None:
    device.attrib.pop("tty", None)
    for source in device.findall("source"):
        path = source.get("path", "")
        if device.get("type") == "pty" or path.startswith(_RUN_TIME_PLACES):
            source.attrib.pop("path", None)
            # libvirt shows an empty source where it would choose the path, or none at all.
            if not source.attrib and not len(source):
                device.remove(source)


def nova_metadata(root: ET.Element) -> NovaMetadata:
    """Return what C(nova:instance) says: display name, flavor's name, project's uuid (or name)."""
    for namespace in _NOVA:
        instance = root.find(f"metadata/{{{namespace}}}instance")
        if instance is None:
            continue
        name = instance.findtext(f"{{{namespace}}}name")
        flavor = instance.find(f"{{{namespace}}}flavor")
        project = instance.find(f"{{{namespace}}}owner/{{{namespace}}}project")
        return NovaMetadata(
            name,
            None if flavor is None else flavor.get("name"),
            None if project is None else project.get("uuid") or project.text,
        )
    return NovaMetadata(None, None, None)


def machine_type(root: ET.Element) -> t.Optional[str]:
    """Return the machine type, such as C(pc-q35-7.2)."""
    element = root.find("os/type")
    return None if element is None else element.get("machine")


#: libvirt's units of memory (C(virScaleInteger)) in KiB; without a unit a number is KiB.
_KIB = {"": 1, "k": 1, "kib": 1, "m": 1024, "mib": 1024, "g": 1024**2, "gib": 1024**2, "t": 1024**3, "tib": 1024**3}


def hugepage_kib(root: ET.Element) -> t.Optional[int]:
    """Return the size of the huge pages behind a domain's memory, KiB; 0: the host's default size; None: small pages.

    A domain whose NUMA cells have pages of several sizes is told by the largest. Raises :class:`DomainXMLError` for a
    unit that libvirt does not write.
    """
    element = root.find("memoryBacking/hugepages")
    if element is None:
        return None
    sizes = []
    for page in element.findall("page"):
        unit = (page.get("unit") or "").casefold()
        if unit not in _KIB:
            raise DomainXMLError(f"huge pages in {page.get('unit')}")
        sizes.append(int(page.get("size", "0")) * _KIB[unit])
    return max(sizes, default=0)


def cpu_policy(root: ET.Element) -> str:
    """Return how a domain's CPUs are pinned, in Nova's words; empty: its XML fits more than one.

    nova/virt/libvirt/driver.py, C(_get_guest_numa_config): of a guest without NUMA topology no CPU is pinned. Of one
    with it each is: a dedicated one to one CPU of its own, a shared one to all shared CPUs of its node, maybe one.
    """
    pins = [cpu_set(element.get("cpuset", "")) for element in root.findall("cputune/vcpupin")]
    single = [pin for pin in pins if len(pin) == 1]
    if not single:
        return "shared"
    if len(single) < len(pins):
        return "mixed"
    return "dedicated" if len(single) > 1 and len(set(single)) == len(single) else ""


def disks(root: ET.Element) -> t.List[DomainDisk]:
    """Return disks and CD-ROM drives, in the order of the XML."""
    return [_disk(element) for element in root.findall("devices/disk")]


def _disk(element: ET.Element) -> DomainDisk:
    target, source = element.find("target"), element.find("source")
    place = None
    if source is not None:
        place = next((source.get(key) for key in ("file", "dev", "name", "dir", "volume") if source.get(key)), None)
    return DomainDisk(
        target="" if target is None else target.get("dev", ""),
        source=place,
        protocol=None if source is None else source.get("protocol"),
        serial=element.findtext("serial"),
    )


def interfaces(root: ET.Element) -> t.List[DomainInterface]:
    """Return network interfaces, in the order of the XML."""
    return [_interface(element) for element in root.findall("devices/interface")]


def _interface(element: ET.Element) -> DomainInterface:
    mac, target, source = element.find("mac"), element.find("target"), element.find("source")
    place = None
    if source is not None:
        place = next((source.get(key) for key in ("bridge", "network", "dev", "path") if source.get(key)), None)
    return DomainInterface(
        mac=None if mac is None else mac.get("address"),
        target=None if target is None else target.get("dev"),
        type=element.get("type", ""),
        source=place,
    )


# --- what ties it to a host -----------------------------------------------------------------------------------

#: Of a CPU, what is of the one machine or of the flavor, and no question of what the processor can do.
_NO_CPU_FEATURE = ("topology", "numa", "cache", "microcode", "counter", "signature", "pages")
#: Devices of the host that libvirt migrates with no guest, and that Nova gives to none: others attached them. PCI and
#: mediated devices are Nova's (virt/libvirt/migration.py, _update_pci_dev_xml and _update_mdev_xml).
_HOST_DEVICES = ("usb", "scsi", "scsi_host")


def cpu_text(element: ET.Element) -> str:
    """Return a CPU of a domain or of a host as the text by which it is compared, and that libvirt compares."""
    kept = ET.Element("cpu", dict(element.attrib))
    kept.extend(child for child in element if child.tag not in _NO_CPU_FEATURE)
    return ET.canonicalize(ET.tostring(kept, encoding="unicode"), strip_text=True)


def guest_cpu(root: ET.Element) -> t.Optional[str]:
    """Return the CPU of a domain; None where it names no model, so that the host's own is what it has."""
    element = root.find("cpu")
    return None if element is None or element.find("model") is None else cpu_text(element)


def ties(root: ET.Element) -> DomainTies:
    """Return what a domain needs of any host on which it runs."""
    kind, cpu = root.find("os/type"), guest_cpu(root)
    auths = [(_ceph_auth(disk), disk) for disk in root.findall("devices/disk")]
    found: t.Dict[t.Tuple[str, t.Optional[str]], bool] = {}
    for auth, disk in auths:
        if auth is not None:
            found[auth] = found.get(auth, False) or _is_volume(disk)
    return DomainTies(
        arch=None if kind is None else kind.get("arch"),
        virt=root.get("type", ""),
        cpu=None if cpu is None else hashlib.sha256(cpu.encode()).hexdigest(),
        firmware=(root.findtext("os/loader") or "").strip() or None,
        ceph=[CephAuth(secret, user, volume) for (secret, user), volume in sorted(found.items(), key=repr)],
        devices=[_host_device(device) for device in root.findall("devices/*") if _is_foreign(device)],
    )


def _ceph_auth(disk: ET.Element) -> t.Optional[t.Tuple[str, t.Optional[str]]]:
    # libvirt writes it below the disk, or below its source where that was asked for.
    for auth in (disk.find("auth"), disk.find("source/auth")):
        secret = None if auth is None else auth.find("secret")
        if auth is not None and secret is not None and secret.get("type") == "ceph" and secret.get("uuid"):
            return str(secret.get("uuid")).lower(), auth.get("username")
    return None


def _is_volume(disk: ET.Element) -> bool:
    source = disk.find("source")
    return source is not None and (source.get("name") or "").rpartition("/")[2].startswith("volume-")


def _is_foreign(device: ET.Element) -> bool:
    return device.tag == "filesystem" or (device.tag == "hostdev" and device.get("type") in _HOST_DEVICES)


def _host_device(device: ET.Element) -> str:
    return " ".join(filter(None, (device.tag, device.get("type"), _identity(device))))


# --- definitions ----------------------------------------------------------------------------------------------

_QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
#: Elements below C(devices) that are told apart; all others are no device that a guest finds at an address.
_DEVICES = (
    *("disk", "controller", "interface", "hostdev", "video", "sound", "input", "memballoon", "rng", "watchdog"),
    *("vsock", "filesystem", "tpm", "memory", "serial", "channel", "redirdev", "shmem", "panic", "iommu"),
)


def recorded(xml: str) -> str:
    """Return the normalised XML without anything that may be a secret: what is kept. Raises DomainXMLError.

    libvirt itself leaves passwords out of what a read-only connection gets.
    """
    root = parse(normalise(xml))
    for element in root.iter():
        for name in [name for name in element.attrib if "passwd" in name.casefold()]:
            del element.attrib[name]
    for line in root.findall(f"{{{_QEMU}}}commandline"):
        root.remove(line)
    return ET.canonicalize(ET.tostring(root, encoding="unicode"), strip_text=True)


def definition(xml: str) -> Definition:
    """Return what a guest is made of. Raises :class:`DomainXMLError`."""
    text = recorded(xml)
    root = parse(text)
    return Definition(
        hashlib.sha256(text.encode()).hexdigest(), machine_type(root), _cpu(root), _numbered(root.find("devices"))
    )


def _cpu(root: ET.Element) -> str:
    element = root.find("cpu")
    if element is None:
        return "libvirt's default"
    features = sorted(f"{entry.get('policy', 'require')} {entry.get('name')}" for entry in element.findall("feature"))
    words = [element.get("mode", "custom"), element.findtext("model") or "", ", ".join(features)]
    return "; ".join(word for word in words if word)


def _numbered(devices: t.Optional[ET.Element]) -> t.List[Device]:
    """Devices by identity. Several of one identity are told apart by their number."""
    seen: t.Dict[t.Tuple[str, str], int] = {}
    found = []
    for element in devices if devices is not None else ():
        if element.tag not in _DEVICES:
            continue
        identity = _identity(element)
        number = seen.setdefault((element.tag, identity), 0)
        seen[element.tag, identity] += 1
        name = f"{identity} #{number + 1}" if number else identity
        found.append(Device(element.tag, name, _address(element.find("address")), _what(element)))
    return found


def _identity(element: ET.Element) -> str:
    """The user's own alias, a MAC, a serial, a source or a target: what stays when its place does not."""
    alias = element.find("alias")
    if alias is not None:
        return alias.get("name", "")
    for path, keys in _IDENTITIES.get(element.tag, ()):
        found = element.find(path) if path else element
        words = [found.get(key) or "" for key in keys] if found is not None else []
        if found is not None and not keys:
            words = [found.text or ""]
        if any(words):
            return " ".join(words).strip()
    return element.get("model") or element.get("type") or element.tag


_IDENTITIES: t.Mapping[str, t.Sequence[t.Tuple[str, t.Sequence[str]]]] = {
    "disk": (("serial", ()), ("source", ("name", "file", "dev", "dir", "volume")), ("target", ("bus", "dev"))),
    "interface": (("mac", ("address",)),),
    "controller": (("", ("type", "index")),),
    "hostdev": (("source/address", ("domain", "bus", "slot", "function", "uuid", "device")),),
    "channel": (("target", ("type", "name")),),
    "serial": (("target", ("type", "port")),),
    "input": (("", ("type", "bus")),),
    "filesystem": (("target", ("dir",)),),
}


def _address(element: t.Optional[ET.Element]) -> t.Optional[str]:
    if element is None:
        return None
    kind, values = element.get("type", ""), dict(element.attrib)
    if kind == "pci":
        number = {key: int(values.get(key, "0"), 0) for key in ("domain", "bus", "slot", "function")}
        return "pci {domain:04x}:{bus:02x}:{slot:02x}.{function:x}".format(**number)
    rest = " ".join(f"{key}={values[key]}" for key in sorted(values) if key != "type")
    return f"{kind} {rest}".strip()


def _what(element: ET.Element) -> t.Optional[str]:
    if element.tag == "disk":
        target = element.find("target")
        return None if target is None else f"{target.get('dev')} on {target.get('bus')}"
    model = element.find("model")
    return (model.get("type") if model is not None else None) or element.get("model")
