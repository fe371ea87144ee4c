# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""libvirt on a compute host, through its Python binding and a read-only connection.

:func:`end_domain` writes; what libvirt tells only on a connection for writing is the firmware and how CPUs compare.

One call lists all domains, one fetches each domain's XML: nothing here starts a process.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
import typing as t
import xml.etree.ElementTree as ET

from ...model import domain_xml
from ...model.host_facts import Domain, GuestDefinition, Libvirt, LibvirtOffers
from . import processes
from .reading import HostError, Parts, within

#: Seconds for all that is asked of libvirt at once. A libvirtd that waits for a storage that is gone never answers.
PATIENCE = 60
#: virDomainState.
_STATES = ("nostate", "running", "blocked", "paused", "shutdown", "shutoff", "crashed", "pmsuspended")


class LibvirtError(HostError):
    """libvirt cannot be reached or refused: its own words."""


@contextlib.contextmanager
def connection(uri: str, write: bool = False) -> t.Iterator[t.Any]:
    """Open a connection (read-only unless ``write``), and close it.

    Raises :class:`LibvirtError`, also for what is asked within.
    """
    try:
        import libvirt
    except ImportError as error:
        raise LibvirtError(
            "install python3-libvirt: the Python binding of libvirt is missing on this host",
            problem="install-python3-libvirt",
        ) from error
    # Without a handler the binding prints every error to standard error.
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    opened = None
    try:
        opened = libvirt.open(uri) if write else libvirt.openReadOnly(uri)
        yield opened
    except libvirt.libvirtError as error:
        raise LibvirtError(f"{uri}: {error}") from error
    finally:
        if opened is not None:
            with contextlib.suppress(libvirt.libvirtError):
                opened.close()


def read_identity(uri: str) -> Libvirt:
    """Return who libvirt says it is. Raises :class:`LibvirtError`, or ReadError where it does not answer."""

    def read() -> Libvirt:
        with connection(uri) as opened:
            return identity(opened, uri)

    return within(PATIENCE, uri, read)


def identity(opened: t.Any, uri: str) -> Libvirt:
    """Return who an open connection says it is. ``hostname`` is what Nova takes for C(hypervisor_hostname)."""
    capabilities = ET.fromstring(opened.getCapabilities())  # noqa: S314 - libvirt's own output
    version = _version(opened.getLibVersion())
    return Libvirt(uri, version, opened.getHostname(), capabilities.findtext("host/uuid"))


def _version(number: int) -> str:
    return f"{number // 1000000}.{number // 1000 % 1000}.{number % 1000}"


def hostname(uri: str) -> str:
    """Return the host name that libvirt reports now. Raises as :func:`read_identity` does."""

    def read() -> str:
        with connection(uri) as opened:
            return str(opened.getHostname())

    return within(PATIENCE, uri, read)


def read_offers(uri: str, arches: t.Collection[str], parts: Parts, firmware: bool = False) -> LibvirtOffers:
    """Return what libvirt can run, of the host's own architecture and of these. Raises as :func:`read_identity` does.

    ``firmware``: whether that is asked for, too, on a connection for writing: see :func:`offers`. A part that libvirt
    refuses by itself is None, and noted in ``parts``.
    """

    def read() -> LibvirtOffers:
        with connection(uri) as opened:
            return offers(opened, uri, arches, parts, firmware)

    return within(PATIENCE, uri, read)


def emulates_tpm(uri: str) -> bool:
    """Return whether libvirt emulates TPMs here (nova/virt/libvirt/host.py, supports_vtpm). Raises as read_identity."""

    def read() -> bool:
        # Seen with 9.0.0: "operation forbidden" through a connection that is read-only. It changes nothing.
        with connection(uri, write=True) as opened:
            text = opened.getDomainCapabilities()
        tpm = ET.fromstring(text).find("devices/tpm")  # noqa: S314 - libvirt's own output
        if tpm is None or tpm.get("supported") != "yes":
            return False
        return "emulator" in [value.text for value in tpm.findall("enum[@name='backendModel']/value")]

    return within(PATIENCE, uri, read)


def offers(opened: t.Any, uri: str, arches: t.Collection[str], parts: Parts, firmware: bool = False) -> LibvirtOffers:
    """Return what the libvirt of an open connection can run.

    Firmware is asked for on a connection of its own: libvirt refuses this question on a read-only one, since it may
    name an emulator, which libvirt would start (libvirt.c, virConnectGetDomainCapabilities). None is named here.
    """
    import libvirt

    def part(name: str, ask: t.Callable[[], t.Any]) -> t.Any:
        try:
            return ask()
        except (libvirt.libvirtError, HostError) as error:
            parts.note(f"offers.{name}", str(error))
            return None

    root = ET.fromstring(opened.getCapabilities())  # noqa: S314 - libvirt's own output
    cpu = root.find("host/cpu")
    wanted = {*arches, root.findtext("host/cpu/arch") or ""}
    machines: t.Dict[str, t.List[str]] = {}
    aliases: t.List[t.Tuple[str, str]] = []
    for arch in root.findall("guest/arch"):
        name = arch.get("name", "")
        if name in wanted:
            found = {(entry.text or "").strip(): entry.get("canonical") for entry in arch.iter("machine")}
            machines[name] = sorted({*machines.get(name, []), *found})
            aliases += [(name, machine) for machine, canonical in found.items() if canonical]
    return LibvirtOffers(
        hypervisor=part("hypervisor", lambda: _version(opened.getVersion())),
        machines=machines,
        cpu=None if cpu is None else domain_xml.cpu_text(cpu),
        firmware=part("firmware", lambda: _firmware(uri, aliases)) if firmware else None,
        secrets=part("secrets", lambda: sorted(secret.UUIDString() for secret in opened.listAllSecrets(0))),
    )


def _firmware(uri: str, aliases: t.Iterable[t.Tuple[str, str]]) -> t.List[str]:
    """Ask for each machine type that has a name for its newest version: secure boot is for some of them only.

    libvirt lists the files that exist (qemu_capabilities.c, virQEMUCapsFillDomainLoaderCaps).
    """
    found: t.Set[str] = set()
    with connection(uri, write=True) as opened:
        for arch, machine in sorted(set(aliases)):
            root = ET.fromstring(opened.getDomainCapabilities(None, arch, machine, None, 0))  # noqa: S314 - as above
            found.update(value.text or "" for value in root.findall("os/loader/value"))
    return sorted(found)


#: virCPUCompareResult.
_COMPARED = {0: "incompatible", 1: "identical", 2: "superset"}


def compare_cpus(uri: str, targets: t.Sequence[t.Mapping[str, t.Any]]) -> t.List[t.Dict[str, t.Any]]:
    """Have libvirt compare CPUs with what its QEMU offers on this host, and return each with ``result`` or ``error``.

    As Nova does on the destination of a live migration (virt/libvirt/host.py, compare_hypervisor_cpu, 27 to 34).
    libvirt answers this on a connection for writing only; it changes nothing.
    """

    def compare() -> t.List[t.Dict[str, t.Any]]:
        with connection(uri, write=True) as opened:
            return [{**target, **_compared(opened, target)} for target in targets]

    if not targets:
        return []
    try:
        return within(PATIENCE, uri, compare)
    except HostError as error:
        return [{**target, "error": str(error)} for target in targets]


def _compared(opened: t.Any, target: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    import libvirt

    try:
        found = opened.compareHypervisorCPU(None, target["arch"], None, target["virt"], target["cpu"], 0)
    except libvirt.libvirtError as error:
        return {"error": str(error)}
    return {"result": _COMPARED[found]} if found in _COMPARED else {"error": f"libvirt answered {found}"}


def asked() -> bool:
    """Whether this process has the binding, so that a daemon may have been asked."""
    return "libvirt" in sys.modules


def read_domains(uri: str, proc: str = "/proc", cpus: t.Optional[t.Dict[str, str]] = None) -> t.List[Domain]:
    """Return every domain, active or not, sorted by uuid. Raises as :func:`read_identity` does.

    ``cpus``: takes the CPU of each, by its SHA-256.
    """

    def read() -> t.List[Domain]:
        with connection(uri) as opened:
            return domains(opened, proc, cpus)

    return within(PATIENCE, uri, read)


def domains(opened: t.Any, proc: str = "/proc", cpus: t.Optional[t.Dict[str, str]] = None) -> t.List[Domain]:
    """Return every domain of an open connection, sorted by uuid.

    A domain that vanishes between listing and reading is left out, as if it had been listed a moment later; any
    other error fails the whole list, since a list with holes would read as "there is none".
    """
    import libvirt

    guests = processes.qemu_by_uuid(proc)
    result = []
    for handle in opened.listAllDomains(0):
        try:
            result.append(_domain(handle, guests, proc, {} if cpus is None else cpus))
        except libvirt.libvirtError as error:
            if error.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN:
                raise
    return sorted(result, key=lambda domain: domain.uuid)


def read_definitions(uri: str, read_at: str) -> t.Tuple[t.List[GuestDefinition], t.Dict[str, str]]:
    """Return every guest's live and inactive definition, sorted by uuid, and each XML by its SHA-256.

    Raises as :func:`read_identity` does.
    """

    def read() -> t.Tuple[t.List[GuestDefinition], t.Dict[str, str]]:
        with connection(uri) as opened:
            return definitions(opened, read_at)

    return within(PATIENCE, uri, read)


def definitions(opened: t.Any, read_at: str) -> t.Tuple[t.List[GuestDefinition], t.Dict[str, str]]:
    """Return the definitions of an open connection. A domain that vanishes meanwhile is left out."""
    import libvirt

    texts: t.Dict[str, str] = {}
    found = []
    for handle in opened.listAllDomains(0):
        try:
            live = handle.XMLDesc(0) if handle.isActive() else None
            inactive = handle.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE) if handle.isPersistent() else None
            parts = [None if xml is None else domain_xml.definition(xml) for xml in (live, inactive)]
            for part, xml in zip(parts, (live, inactive)):
                if part is not None and xml is not None:
                    texts[part.sha256] = domain_xml.recorded(xml)
            found.append(GuestDefinition(handle.UUIDString(), handle.name(), read_at, *parts))
        except libvirt.libvirtError as error:
            if error.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN:
                raise
    return sorted(found, key=lambda entry: entry.uuid), texts


def end_domain(uri: str, uuid: str, managed_save: bool = False) -> None:
    """Destroy a domain where it is active, and undefine it where it is defined. Its disks, NVRAM and TPM state stay.

    ``managed_save``: whether a managed save image goes with it; libvirt refuses to undefine a domain that has one.
    One that is not there is no error. Raises as :func:`read_identity` does.
    """

    def end() -> None:
        import libvirt

        with connection(uri, write=True) as opened:
            try:
                handle = opened.lookupByUUIDString(uuid)
                persistent = handle.isPersistent()
                if handle.isActive():
                    handle.destroy()
                if persistent:
                    # Older libvirts know no flag for the TPM, and keep its state.
                    keep = libvirt.VIR_DOMAIN_UNDEFINE_KEEP_NVRAM | getattr(libvirt, "VIR_DOMAIN_UNDEFINE_KEEP_TPM", 0)
                    handle.undefineFlags(keep | (libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE if managed_save else 0))
            except libvirt.libvirtError as error:
                if error.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN:
                    raise

    within(PATIENCE, f"{uri}: end of {uuid}", end)


def _domain(handle: t.Any, guests: t.Mapping[str, t.Sequence[int]], proc: str, cpus: t.Dict[str, str]) -> Domain:
    uuid, name = handle.UUIDString(), handle.name()
    state, maximum, _memory, vcpus, _time = handle.info()
    xml = handle.XMLDesc(0)
    root = domain_xml.parse(xml)
    nova = domain_xml.nova_metadata(root)
    pid = _pid(uuid, name, guests) if handle.isActive() else None
    ties, cpu = domain_xml.ties(root), domain_xml.guest_cpu(root)
    if ties.cpu is not None and cpu is not None:
        cpus[ties.cpu] = cpu
    return Domain(
        uuid=uuid,
        name=name,
        state=_STATES[state] if state < len(_STATES) else f"state {state}",
        persistent=bool(handle.isPersistent()),
        pid=pid,
        pid_start=None if pid is None else processes.start_time(pid, proc),
        memory_mib=maximum // 1024,
        vcpus=vcpus,
        nova_name=nova.name,
        nova_flavor=nova.flavor,
        nova_project=nova.project,
        machine_type=domain_xml.machine_type(root),
        disks=domain_xml.disks(root),
        interfaces=domain_xml.interfaces(root),
        xml_digest=domain_xml.digest(xml),
        rss_mib=None if pid is None else processes.resident_mib(pid, proc),
        hugepage_kib=domain_xml.hugepage_kib(root),
        managed_save=bool(handle.hasManagedSaveImage(0)),
        autostart=bool(handle.autostart()),
        snapshots=_snapshots(handle),
        ties=ties,
        cpu_policy=domain_xml.cpu_policy(root),
        vtpm=root.find("devices/tpm") is not None,
        encrypted=root.find("launchSecurity") is not None,
        job=_has_job(handle) if handle.isActive() else None,
    )


def _has_job(handle: t.Any) -> t.Optional[bool]:
    """Return True while libvirt moves, saves or dumps a domain (virDomainJobType); None: it does not tell."""
    import libvirt

    try:
        return bool(handle.jobInfo()[0] != libvirt.VIR_DOMAIN_JOB_NONE)
    except libvirt.libvirtError:
        return None


def _snapshots(handle: t.Any) -> int:
    """Return the number of snapshots and checkpoints. Drivers and libvirts that know no checkpoints have none."""
    import libvirt

    found = int(handle.snapshotNum(0))
    try:
        return found + len(handle.listAllCheckpoints())
    except AttributeError:
        return found
    except libvirt.libvirtError as error:
        if error.get_error_code() != libvirt.VIR_ERR_NO_SUPPORT:
            raise
        return found


#: Where distributions keep the settings of libvirt-guests, shell assignments.
GUESTS_FILES = ("/etc/default/libvirt-guests", "/etc/sysconfig/libvirt-guests")


def guests_on_boot(files: t.Sequence[str] = GUESTS_FILES) -> str:
    """Return ON_BOOT of libvirt-guests; where no file sets it, its own default (tools/libvirt-guests.sh.in)."""
    found = "start"
    for path in files:
        with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as stream:
            for line in stream:
                name, sign, value = line.strip().partition("=")
                if sign and name == "ON_BOOT":
                    found = " ".join(shlex.split(value, comments=True))
    return found


def _pid(uuid: str, name: str, guests: t.Mapping[str, t.Sequence[int]]) -> t.Optional[int]:
    """Take the one QEMU whose arguments bear the uuid; where there are several, the one that libvirt noted."""
    found = guests.get(uuid, ())
    if len(found) == 1:
        return found[0]
    noted = processes.noted_pid(name)
    return noted if noted in found else None
