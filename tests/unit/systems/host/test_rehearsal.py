# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What libvirt would call a host: tried in real namespaces of this machine, whose own name and files stay the same."""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import pathlib
import socket
import subprocess
import sys
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import (
    private_names,
    processes,
    rehearsal,
    steps,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.line_edits import LineEdit


def first_line_becomes(text):
    with open("/etc/hosts", encoding="utf-8") as stream:
        return [LineEdit("/etc/hosts", 1, stream.readline().rstrip("\n"), text)]


def state():
    paths = ("/etc/hosts", "/etc/hostname", "/proc/self/mounts")
    return socket.gethostname(), [pathlib.Path(path).read_bytes() for path in paths]


@pytest.fixture(autouse=True)
def libvirt(monkeypatch):
    """No libvirt runs in a container, whatever runs on this machine; a test may name the processes of one that does."""
    found = []
    monkeypatch.setattr(processes, "running", lambda program: found if program == "libvirtd" else [])
    monkeypatch.setattr(processes, "same_root", lambda _pid: False)
    return found


@pytest.fixture
def untouched():
    before = state()
    yield
    assert state() == before


@pytest.fixture
def files_first(monkeypatch, tmp_path):
    path = tmp_path / "nsswitch.conf"
    path.write_text("passwd: files\nhosts: files dns\n")
    monkeypatch.setattr(rehearsal, "NSSWITCH", str(path))
    return path


@pytest.mark.parametrize(
    ("line", "hostname"),
    [
        ("192.0.2.9 cn-rack7 cn-rack7.dc1.test", "cn-rack7"),
        ("192.0.2.9 cn-rack7.dc1.test cn-rack7", "cn-rack7.dc1.test"),
        # A canonical name of the local host is no name: libvirt keeps the kernel's.
        ("127.0.0.1 localhost cn-rack7", "cn-rack7"),
    ],
)
def test_libvirts_name_is_what_the_planned_hosts_file_makes_of_it(untouched, files_first, tmp_path, line, hostname):
    """The review, A9: the prediction was renamed1.dc1.test whatever the file said, and four stores had it by then."""
    tried = rehearsal.rehearse("cn-rack7", first_line_becomes(line), str(tmp_path))
    assert (tried.hostname, tried.reason, tried.undecided) == (hostname, None, [])
    assert tried.unresolved is None


def test_a_name_with_a_dot_is_taken_as_it_is(untouched, tmp_path):
    tried = rehearsal.rehearse("cn-rack7.nowhere.invalid", [], str(tmp_path))
    assert (tried.hostname, tried.undecided) == ("cn-rack7.nowhere.invalid", [])


def test_the_control_is_what_libvirt_says_now(untouched, files_first, tmp_path):
    asked = subprocess.run(
        [sys.executable, "-c", inspect.getsource(private_names), json.dumps({"name": None})],
        capture_output=True,
        check=True,
    )
    tried = rehearsal.rehearse("cn-rack7", first_line_becomes("192.0.2.9 cn-rack7"), str(tmp_path))
    assert tried.now == json.loads(asked.stdout)["hostname"]


def test_the_host_carries_it_out_as_a_request_in_check_mode_too(untouched, files_first, tmp_path):
    (line,) = first_line_becomes("192.0.2.9 cn-rack7.dc1.test cn-rack7")
    edit = {"path": line.path, "number": line.number, "before": line.before, "after": line.after}
    request = {"op": "rehearse", "name": "cn-rack7", "line_edits": [edit]}
    outcome = steps.HostRunner(str(tmp_path), check_mode=True).run([request])
    assert (outcome.error, outcome.changed) == (None, False)
    assert outcome.results[0]["rehearsal"]["hostname"] == "cn-rack7.dc1.test"


# --- libvirt in a container -----------------------------------------------------------------------------------


def test_the_order_of_sources_is_that_of_libvirts_container(monkeypatch, untouched, libvirt, tmp_path):
    """The host would ask systemd-resolved first; the container does not know it."""
    libvirt.append(4711)
    monkeypatch.setattr(rehearsal, "RESOLVED", str(tmp_path))
    asked = []
    ask = rehearsal._ask

    def asking(name, binds):
        asked.append((name, {path: pathlib.Path(source).read_bytes() for source, path in binds}))
        return ask(name, binds)

    monkeypatch.setattr(rehearsal, "_ask", asking)
    monkeypatch.setattr(rehearsal, "_of_container", lambda: b"hosts: files dns\n")
    tried = rehearsal.rehearse("cn-rack7", first_line_becomes("192.0.2.9 cn-rack7.dc1.test cn-rack7"), str(tmp_path))
    assert (tried.hostname, tried.reason, tried.undecided) == ("cn-rack7.dc1.test", None, [])
    (new, planned), (now, present) = asked
    assert (new, now) == ("cn-rack7", socket.gethostname())
    assert set(planned) >= {"/etc/hosts", "/etc/nsswitch.conf"}
    assert present == {"/etc/nsswitch.conf": b"hosts: files dns\n"}
    monkeypatch.setattr(rehearsal, "_of_container", lambda: b"hosts: resolve files\n")
    (why,) = rehearsal.rehearse("cn-rack7", [], str(tmp_path)).undecided
    assert "nsswitch.conf of the libvirt container lists systemd-resolved" in why


def test_the_containers_file_is_read_where_its_process_has_it(monkeypatch, libvirt, tmp_path):
    assert rehearsal._of_container() is None, "libvirt runs on the host"
    # This process stands for libvirt's: it has the host's root.
    libvirt.append(os.getpid())
    path = tmp_path / "nsswitch.conf"
    monkeypatch.setattr(rehearsal, "NSSWITCH", str(path))
    assert rehearsal._of_container() is None, "neither has the file"
    path.write_text("hosts: files\n")
    assert rehearsal._of_container() == b"hosts: files\n"
    path.unlink()
    path.mkdir()
    tried = rehearsal.rehearse("cn-rack7", [], str(tmp_path))
    assert (tried.hostname, str(tried.reason)) == (None, f"{path} in the container of libvirtd: Is a directory")


# --- a rehearsal that cannot be -------------------------------------------------------------------------------


def test_a_line_that_was_changed_meanwhile_is_not_rehearsed(untouched, tmp_path):
    tried = rehearsal.rehearse("cn-rack7", [LineEdit("/etc/hosts", 1, "not this", "that")], str(tmp_path))
    assert tried.hostname is None
    assert "has changed since it was read" in str(tried.reason)


def test_without_the_right_to_make_namespaces_nothing_is_known(untouched, monkeypatch, tmp_path):
    def as_nobody(argv, _timeout):
        return subprocess.run(
            [
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                "--inh-caps=-all",
                "/usr/bin/python3",
                *argv[1:],
            ],
            capture_output=True,
            check=False,
        )

    monkeypatch.setattr(rehearsal.commands, "run", as_nobody)
    tried = rehearsal.rehearse("cn-rack7", [], str(tmp_path))
    assert (tried.hostname, tried.reason) == (None, "unshare: Operation not permitted")


@pytest.mark.parametrize(("said", "reason"), [(b"", "Killed"), (b"[", "Killed"), (b'"x"', "Killed")])
def test_an_answer_that_is_none_is_not_a_name(monkeypatch, tmp_path, said, reason):
    run = lambda argv, _timeout: subprocess.CompletedProcess(argv, 137, said, b"oops\nKilled\n")  # noqa: E731
    monkeypatch.setattr(rehearsal.commands, "run", run)
    assert str(rehearsal.rehearse("cn-rack7", [], str(tmp_path)).reason).endswith(reason)


def test_a_name_server_that_does_not_answer_is_told(monkeypatch, tmp_path):
    def run(argv, timeout):
        raise subprocess.TimeoutExpired(argv, timeout)

    monkeypatch.setattr(rehearsal.commands, "run", run)
    assert rehearsal.rehearse("cn-rack7", [], str(tmp_path)).reason == "the resolver did not answer within 60 s"


def test_without_a_namespace_of_its_own_no_name_is_set(monkeypatch):
    """A kernel that says yes and does nothing must not have the host renamed."""
    calls, names = [], []
    libc = types.SimpleNamespace(
        unshare=lambda flags: calls.append(flags) or 0, mount=lambda *given: calls.append(given) or 0
    )
    monkeypatch.setattr(ctypes, "CDLL", lambda *_args, **_kwargs: libc)
    monkeypatch.setattr(socket, "sethostname", names.append)
    with pytest.raises(OSError, match="still uses the UTS namespace of the host"):
        private_names.enter("cn-rack7", [])
    assert calls[0] == 0x04020000
    assert names == []


# --- what lives outside ---------------------------------------------------------------------------------------

KNOWN = {"/etc/hosts": b"192.0.2.9 cn-rack7.dc1.test CN-rack7 # the host\n"}
OTHER = {"/etc/hosts": b"192.0.2.9 other # cn-rack7\n"}


@pytest.mark.parametrize(
    ("hosts", "files", "decided"),
    [
        ("files dns", OTHER, True),
        ("files resolve [!UNAVAIL=return] dns", KNOWN, True),
        ("files resolve [!UNAVAIL=return] dns", OTHER, False),
        ("resolve [!UNAVAIL=return] files dns", KNOWN, False),
        ("mymachines myhostname resolve files", OTHER, True),
        ("files mdns4_minimal [NOTFOUND=return] resolve # dns", OTHER, False),
    ],
)
def test_what_systemd_resolved_would_answer_is_not_decided(monkeypatch, files_first, tmp_path, hosts, files, decided):
    files_first.write_text(f"hosts: {hosts}\n")
    monkeypatch.setattr(rehearsal, "RESOLVED", str(tmp_path))
    found = rehearsal.undecided("cn-rack7", files)
    assert [("systemd-resolved" in text) for text in found] == ([] if decided else [True])
    assert rehearsal.undecided("cn-rack7.dc1.test", files) == []
    # Configured, and not there: as if it were not configured.
    monkeypatch.setattr(rehearsal, "RESOLVED", str(tmp_path / "nowhere"))
    assert rehearsal.undecided("cn-rack7", files) == []


def test_nscd_is_kept_out_and_told(monkeypatch, files_first, tmp_path, untouched):
    nscd = tmp_path / "nscd"
    nscd.mkdir()
    (nscd / "socket").write_text("")
    monkeypatch.setattr(rehearsal, "NSCD", str(nscd))
    tried = rehearsal.rehearse("cn-rack7", first_line_becomes("192.0.2.9 cn-rack7"), str(tmp_path))
    assert tried.hostname == "cn-rack7"
    (why,) = tried.undecided
    assert "nscd" in why
    assert os.listdir(nscd) == ["socket"]


def test_without_nsswitch_glibc_asks_dns_first(monkeypatch, tmp_path):
    monkeypatch.setattr(rehearsal, "NSSWITCH", str(tmp_path / "nowhere"))
    assert rehearsal._services() == ["dns", "files"]
