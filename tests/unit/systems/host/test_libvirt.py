# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""libvirt through its binding: a stand-in for the binding here, the real one against the lab."""

from __future__ import annotations

import pathlib
import sys
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import domain_xml
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import libvirt, processes, reading
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

LIVE = (pathlib.Path(__file__).parent / "recorded" / "domain.xml").read_text()
UUID = "8961cf04-0ee7-44b1-9ed3-a4b18e535683"
CAPABILITIES = "<capabilities><host><uuid>7fe11cd1-4525-5ffa-817c-991f06c17f73</uuid></host></capabilities>"


class BindingError(Exception):
    code = 38

    def get_error_code(self):
        return self.code


class Gone(BindingError):
    code = 42


class Unsupported(BindingError):
    code = 3


class Handle:
    """One domain of the stand-in."""

    def __init__(self, uuid=UUID, state=1, xml=LIVE, error=None, saved=0, auto=0, snapshots=0):
        self.uuid, self.state, self.xml, self.error = uuid, state, xml, error
        self.job = 0
        self.hasManagedSaveImage = lambda flags: saved + flags
        self.autostart = lambda: auto
        self.snapshotNum = lambda flags: snapshots + flags

    def name(self):
        return "instance-00000001"

    def UUIDString(self):  # noqa: N802
        return self.uuid

    def info(self):
        return [self.state, 65536, 65000, 1, 123456789]

    def XMLDesc(self, flags):  # noqa: N802
        assert flags == 0
        if self.error:
            raise self.error
        return self.xml

    def isActive(self):  # noqa: N802
        return self.state != 5

    def jobInfo(self):  # noqa: N802
        if self.job is None:
            raise BindingError("domain is not running")
        return [self.job, 0, 0]

    def isPersistent(self):  # noqa: N802
        return 1


@pytest.fixture
def binding(monkeypatch):
    """A libvirt module whose connections hold ``binding.domains``."""
    module = types.ModuleType("libvirt")
    module.domains, module.closed, module.refuses = [Handle()], 0, None
    module.libvirtError, module.VIR_ERR_NO_DOMAIN, module.VIR_ERR_NO_SUPPORT = BindingError, 42, 3
    module.VIR_DOMAIN_JOB_NONE = 0
    module.registerErrorHandler = lambda handler, context: handler(context, "an error")

    class Connection:
        getLibVersion = staticmethod(lambda: 9000001)  # noqa: N815
        getHostname = staticmethod(lambda: "compute1")  # noqa: N815
        getCapabilities = staticmethod(lambda: CAPABILITIES)  # noqa: N815
        listAllDomains = staticmethod(lambda _flags: module.domains)  # noqa: N815

        def close(self):
            module.closed += 1

    def open_read_only(uri):
        if module.refuses:
            raise module.refuses
        assert uri == "qemu:///system"
        return Connection()

    module.openReadOnly = open_read_only
    monkeypatch.setitem(sys.modules, "libvirt", module)
    return module


@pytest.fixture
def proc(tmp_path):
    """A /proc with one QEMU of the domain, a kernel thread and a shell."""
    add_process(tmp_path, 1234, ["/usr/bin/qemu-system-x86_64", "-name", "guest=x", "-uuid", UUID, "-m", "64"])
    add_process(tmp_path, 2, [])
    add_process(tmp_path, 99, ["bash", "-c", f"echo -uuid {UUID}"])
    (tmp_path / "meminfo").touch()
    return tmp_path


def add_process(proc, pid, argv):
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
    (folder / "stat").write_text(f"{pid} (CPU 0/KVM) a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 {pid}00 20 21\n")
    (folder / "status").write_text("Name:\tqemu\nVmRSS:\t  73728 kB\n")


# --- what libvirt can run -----------------------------------------------------------------------------------------

OFFERED = """<capabilities>
  <host><uuid>7fe11cd1-4525-5ffa-817c-991f06c17f73</uuid>
    <cpu><arch>x86_64</arch><model>EPYC</model><vendor>AMD</vendor><microcode version='1'/>
      <counter name='tsc' frequency='2450000000'/><topology sockets='1' cores='2' threads='1'/>
      <feature name='ht'/><pages unit='KiB' size='4'/></cpu></host>
  <guest><os_type>hvm</os_type><arch name='i686'><machine>pc</machine></arch></guest>
  <guest><os_type>hvm</os_type><arch name='x86_64'>
    <machine maxCpus='255' canonical='pc-i440fx-7.2'>pc</machine><machine>pc-i440fx-7.2</machine>
    <machine canonical='pc-q35-7.2'>q35</machine><machine>pc-q35-7.2</machine>
    <domain type='qemu'/><domain type='kvm'><machine>pc-q35-7.2</machine></domain></arch></guest>
</capabilities>"""
LOADER = "<domainCapabilities><os supported='yes'><loader supported='yes'>{}</loader></os></domainCapabilities>"


class Secret:
    def UUIDString(self):  # noqa: N802
        return "457eb676-33da-42ec-9a8c-9293d545c337"


class Offering:
    """A connection that answers what libvirt can run. ``fails``: what it refuses."""

    def __init__(self, fails=()):
        self.fails, self.asked = fails, []

    def _answer(self, name, value):
        if name in self.fails:
            raise BindingError(f"{name} is not supported")
        return value

    def getCapabilities(self):  # noqa: N802
        return OFFERED

    def getVersion(self):  # noqa: N802
        return self._answer("version", 7002000)

    def getDomainCapabilities(self, _emulator, arch, machine, _virt, _flags):  # noqa: N802
        self.asked.append((arch, machine))
        return self._answer("firmware", LOADER.format(f"<value>/usr/share/OVMF/{machine}.fd</value>"))

    def listAllSecrets(self, _flags):  # noqa: N802
        return self._answer("secrets", [Secret()])

    def compareHypervisorCPU(self, _emulator, arch, _machine, virt, cpu, _flags):  # noqa: N802
        assert (arch, virt) == ("x86_64", "kvm")
        return self._answer(cpu, {"same": 1, "more": 2, "less": 0}.get(cpu, -1))

    def close(self):
        self.closed = True


def test_what_libvirt_can_run(binding):
    parts, opened, writing = reading.Parts(), Offering(), Offering()
    opened.getDomainCapabilities = None  # libvirt refuses it on a read-only connection
    binding.open = lambda _uri: writing
    found = libvirt.offers(opened, "qemu:///system", (), parts, firmware=True)
    assert found.machines == {"x86_64": ["pc", "pc-i440fx-7.2", "pc-q35-7.2", "q35"]}
    assert found.cpu == (
        '<cpu><arch>x86_64</arch><model>EPYC</model><vendor>AMD</vendor><feature name="ht"></feature></cpu>'
    )
    assert (found.hypervisor, found.secrets) == ("7.2.0", ["457eb676-33da-42ec-9a8c-9293d545c337"])
    assert found.firmware == ["/usr/share/OVMF/pc.fd", "/usr/share/OVMF/q35.fd"]
    assert writing.asked == [("x86_64", "pc"), ("x86_64", "q35")], "one question for each name, not for each version"
    assert parts.unread == []
    binding.open = None  # an audit opens no connection for writing
    assert libvirt.offers(opened, "qemu:///system", (), parts).firmware is None
    assert sorted(libvirt.offers(opened, "qemu:///system", ("i686",), parts).machines) == ["i686", "x86_64"]


def test_what_libvirt_refuses_is_unread_by_itself(binding):
    parts, refusing = reading.Parts(), Offering(("version", "firmware", "secrets"))
    binding.open = lambda _uri: refusing
    found = libvirt.offers(refusing, "qemu:///system", (), parts, firmware=True)
    assert (found.hypervisor, found.firmware, found.secrets) == (None, None, None)
    assert found.machines
    assert [item.part for item in parts.unread] == ["offers.hypervisor", "offers.firmware", "offers.secrets"]


def test_cpus_are_compared(binding):
    binding.open = lambda _uri: Offering(("broken",))
    targets = [{"cpu": cpu, "arch": "x86_64", "virt": "kvm"} for cpu in ("same", "more", "less", "broken", "odd")]
    found = libvirt.compare_cpus("qemu:///system", targets)
    assert [entry.get("result") for entry in found] == ["identical", "superset", "incompatible", None, None]
    assert [bool(entry.get("error")) for entry in found] == [False, False, False, True, True]
    assert [entry["cpu"] for entry in found] == [entry["cpu"] for entry in targets]
    assert libvirt.compare_cpus("nowhere:///", []) == []

    def refuse(_uri):
        raise BindingError("no access")

    binding.open = refuse
    assert all("no access" in entry["error"] for entry in libvirt.compare_cpus("qemu:///system", targets))


def test_identity(binding):
    with libvirt.connection("qemu:///system") as opened:
        about = libvirt.identity(opened, "qemu:///system")
    assert (about.version, about.hostname, about.host_uuid) == (
        "9.0.1", "compute1", "7fe11cd1-4525-5ffa-817c-991f06c17f73",
    )  # fmt: skip
    assert libvirt.hostname("qemu:///system") == "compute1"
    assert binding.closed == 2


def test_domains(binding, proc):
    binding.domains.append(Handle("00000000-0000-4000-8000-000000000000", state=5, xml="<domain/>"))
    off, on = libvirt.read_domains("qemu:///system", str(proc))
    assert (on.uuid, on.state, on.pid, on.pid_start, on.rss_mib) == (UUID, "running", 1234, 123400, 72)
    assert (on.memory_mib, on.vcpus, on.nova_name, on.machine_type) == (64, 1, "guest3", "pc-i440fx-7.2")
    assert on.xml_digest == domain_xml.digest(LIVE)
    assert (off.state, off.pid, off.pid_start, off.rss_mib, off.disks) == ("shutoff", None, None, None, [])


def test_what_starts_a_domain_and_what_keeps_it(binding, proc):
    """An evacuated SUSPENDED server left a managed save image, and libvirt refused to undefine its domain."""
    (plain,) = libvirt.read_domains("qemu:///system", str(proc))
    assert (plain.managed_save, plain.autostart, plain.snapshots) == (False, False, 0)
    binding.domains[:] = [Handle(saved=1, auto=1, snapshots=2)]
    (kept,) = libvirt.read_domains("qemu:///system", str(proc))
    assert (kept.managed_save, kept.autostart, kept.snapshots) == (True, True, 2)
    binding.domains[0].listAllCheckpoints = lambda: ["one"]
    assert libvirt.read_domains("qemu:///system", str(proc))[0].snapshots == 3

    def unsupported():
        raise Unsupported("this function is not supported")

    binding.domains[0].listAllCheckpoints = unsupported
    assert libvirt.read_domains("qemu:///system", str(proc))[0].snapshots == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "start"),
        ("#ON_BOOT=ignore\n", "start"),
        ("ON_BOOT=ignore\n", "ignore"),
        ("ON_BOOT='ignore' # ours\nON_SHUTDOWN=shutdown\n", "ignore"),
        ("ON_BOOT=ignore\nON_BOOT=start\n", "start"),
    ],
)
def test_what_libvirt_guests_does_at_boot(tmp_path, text, found):
    (tmp_path / "guests").write_text(text)
    assert libvirt.guests_on_boot([str(tmp_path / "guests"), str(tmp_path / "none")]) == found


@pytest.mark.parametrize(("state", "job", "told"), [(1, 0, False), (1, 2, True), (1, None, None), (5, 0, None)])
def test_whether_a_job_is_in_progress(binding, state, job, told):
    binding.domains = [Handle(state=state)]
    binding.domains[0].job = job
    (found,) = libvirt.read_domains("qemu:///system")
    assert found.job is told


def test_a_domain_that_vanishes_is_left_out(binding, proc):
    binding.domains.insert(0, Handle(error=Gone()))
    assert len(libvirt.read_domains("qemu:///system", str(proc))) == 1


def test_any_other_error_fails_the_whole_list(binding, proc):
    binding.domains.append(Handle(error=BindingError("broken")))
    with pytest.raises(libvirt.LibvirtError, match="qemu:///system: broken"):
        libvirt.read_domains("qemu:///system", str(proc))
    assert binding.closed == 1


class Defined(Handle):
    """One with a definition for its next start."""

    def __init__(self, *args, inactive=LIVE, persistent=1, **options):
        super().__init__(*args, **options)
        self.inactive, self.persistent = inactive, persistent

    def XMLDesc(self, flags):  # noqa: N802
        if self.error:
            raise self.error
        return self.inactive if flags == 2 else self.xml

    def isPersistent(self):  # noqa: N802
        return self.persistent


def test_definitions(binding):
    other = LIVE.replace("slot='0x02'", "slot='0x09'")
    binding.VIR_DOMAIN_XML_INACTIVE = 2
    binding.domains = [
        Defined(inactive=other),
        Defined("00000000-0000-4000-8000-000000000000", state=5),
        Defined("11111111-0000-4000-8000-000000000000", persistent=0),
        Defined("22222222-0000-4000-8000-000000000000", error=Gone()),
    ]
    found, texts = libvirt.read_definitions("qemu:///system", "now")
    assert [(guest.uuid[:2], guest.live is None, guest.inactive is None) for guest in found] == [
        ("00", True, False),
        ("11", False, True),
        ("89", False, False),
    ]
    assert found[2].live == domain_xml.definition(LIVE)
    assert found[2].inactive == domain_xml.definition(other)
    assert set(texts) == {domain_xml.definition(LIVE).sha256, domain_xml.definition(other).sha256}
    assert texts[found[2].inactive.sha256] == domain_xml.recorded(other)


def test_definitions_with_holes_are_none(binding):
    binding.VIR_DOMAIN_XML_INACTIVE = 2
    binding.domains = [Defined(), Defined(error=BindingError("broken"))]
    with pytest.raises(libvirt.LibvirtError, match="broken"):
        libvirt.read_definitions("qemu:///system", "now")


def test_libvirt_that_does_not_answer(binding):
    binding.refuses = BindingError("Failed to connect socket")
    with pytest.raises(libvirt.LibvirtError, match="qemu:///system: Failed to connect socket"):
        libvirt.hostname("qemu:///system")


def test_without_the_binding(monkeypatch):
    monkeypatch.setitem(sys.modules, "libvirt", None)
    with pytest.raises(libvirt.LibvirtError, match=r"python3-libvirt", check=problem_is("install-python3-libvirt")):
        libvirt.hostname("qemu:///system")


def test_two_processes_of_one_uuid_are_told_apart_by_libvirts_note(binding, proc, monkeypatch):
    """An incoming migration, or a split brain: without libvirt's note neither is taken."""
    add_process(proc, 4321, ["qemu", "-uuid", UUID])
    assert libvirt.read_domains("qemu:///system", str(proc))[0].pid is None
    monkeypatch.setattr(processes, "noted_pid", lambda name: 4321 if name == "instance-00000001" else None)
    assert libvirt.read_domains("qemu:///system", str(proc))[0].pid == 4321
    monkeypatch.setattr(processes, "noted_pid", lambda _name: 5)
    assert libvirt.read_domains("qemu:///system", str(proc))[0].pid is None


def test_a_state_of_a_later_libvirt(binding, proc):
    binding.domains[:] = [Handle(state=8)]
    assert libvirt.read_domains("qemu:///system", str(proc))[0].state == "state 8"


DEBIAN = pathlib.Path("/usr/lib/python3/dist-packages")


def test_the_real_binding(tmp_path, monkeypatch):
    """libvirt's own test driver, where Debian's binding fits this interpreter."""
    if not list(DEBIAN.glob(f"libvirtmod.cpython-{sys.version_info[0]}{sys.version_info[1]}-*.so")):
        pytest.skip("python3-libvirt is not installed for this interpreter; the lab tests the binding")
    monkeypatch.syspath_prepend(str(DEBIAN))
    monkeypatch.delitem(sys.modules, "libvirt", raising=False)
    (domain,) = libvirt.read_domains("test:///default", str(tmp_path))
    assert (domain.name, domain.state, domain.pid) == ("test", "running", None)
    assert libvirt.hostname("test:///default")
    with libvirt.connection("test:///default") as opened:
        assert libvirt.identity(opened, "test:///default").uri == "test:///default"
    with pytest.raises(libvirt.LibvirtError, match="nowhere"):
        libvirt.hostname("nowhere:///")


class Ending:
    """A domain that can be ended. ``told``: what was asked of it, in order."""

    def __init__(self, active=True, persistent=True, error=None):
        self.active, self.persistent, self.error, self.told = active, persistent, error, []

    def isActive(self):  # noqa: N802
        return self.active

    def isPersistent(self):  # noqa: N802
        return self.persistent

    def destroy(self):
        if self.error:
            raise self.error
        self.told.append("destroy")

    def undefineFlags(self, flags):  # noqa: N802
        self.told.append(("undefine", flags))


def writable(binding, found):
    """Let the binding open for writing, and find this domain."""
    opened = binding.openReadOnly("qemu:///system")

    def look_up(uuid):
        assert uuid == UUID
        if isinstance(found, Exception):
            raise found
        return found

    opened.lookupByUUIDString = look_up
    binding.VIR_DOMAIN_UNDEFINE_KEEP_NVRAM = 8
    binding.open = lambda _uri: opened


@pytest.mark.parametrize(
    ("domain", "told"),
    [
        (Ending(), ["destroy", ("undefine", 8)]),
        (Ending(active=False), [("undefine", 8)]),
        (Ending(persistent=False), ["destroy"]),
    ],
)
def test_a_domain_is_ended(binding, domain, told):
    writable(binding, domain)
    libvirt.end_domain("qemu:///system", UUID)
    assert domain.told == told
    assert binding.closed == 1


def test_a_managed_save_image_goes_only_where_it_is_planned(binding):
    domain = Ending(active=False)
    writable(binding, domain)
    binding.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE = 1
    libvirt.end_domain("qemu:///system", UUID)
    libvirt.end_domain("qemu:///system", UUID, True)
    assert domain.told == [("undefine", 8), ("undefine", 9)]


def test_a_domain_that_is_gone_is_ended(binding):
    writable(binding, Gone())
    libvirt.end_domain("qemu:///system", UUID)


def test_a_domain_that_cannot_be_destroyed_stays_defined(binding):
    domain = Ending(error=BindingError("device busy"))
    writable(binding, domain)
    with pytest.raises(libvirt.LibvirtError, match="device busy"):
        libvirt.end_domain("qemu:///system", UUID)
    assert domain.told == []
