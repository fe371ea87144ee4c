# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What libvirt will call this host after a rename: tried beforehand, in private UTS and mount namespaces.

Nova takes libvirt's host name for C(hypervisor_hostname). libvirt makes it of the kernel's name and of what the
resolver answers for that. A fresh process gets the new name and the planned F(/etc/hosts) for itself alone, and asks
as libvirt does. The host's own name is never touched.

What answers from outside these namespaces still knows the old name: it is named, and what it would say then is not
known.

Where libvirt runs in a container, its order of the sources of names is the container's, and is put in place of the
host's. Its F(/etc/hosts) is a copy that the engine makes of the host's at each start.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import typing as t

from ...model.host_facts import Rehearsal
from . import (
    commands,
    line_edits,
    names,
    private_names,
    processes,
)
from .reading import HostError, ReadError

HOSTS = "/etc/hosts"
#: glibc asks the daemon behind this before it asks anything else (nscd/nscd-client.h).
NSCD = "/var/run/nscd"
NSSWITCH = "/etc/nsswitch.conf"
#: nss-resolve asks here; without it, it is as if it were not configured.
RESOLVED = "/run/systemd/resolve/io.systemd.Resolve"
#: Seconds. A name server that does not answer is asked several times.
_PATIENCE = 60


def rehearse(name: str, lines: t.Sequence[line_edits.LineEdit], state_dir: str) -> Rehearsal:
    """Return what libvirt would call this host under a name and with these lines changed. Never raises."""
    try:
        files = line_edits.planned(lines, state_dir)
        order = _of_container()
        more = {} if order is None else {NSSWITCH: order}
        with tempfile.TemporaryDirectory(prefix="stackguard-") as folder:
            answer = _ask(name, [*_binds({**files, **_static(name), **more}, folder), *_without_nscd(folder)])
            # The host as it is. Only with another file in place of its own there is something to go into.
            now = _ask(names.kernel_name() if more else None, _binds(more, folder))
        return Rehearsal(
            name=name,
            hostname=str(answer["hostname"]),
            unresolved=answer["unresolved"],
            now=str(now["hostname"]),
            undecided=undecided(name, files, order),
        )
    except (HostError, OSError) as error:
        return Rehearsal(name=name, hostname=None, reason=str(error))


def _static(name: str) -> t.Dict[str, bytes]:
    return {names.STATIC: f"{name}\n".encode()} if os.path.exists(names.STATIC) else {}


def _of_container() -> t.Optional[bytes]:
    """Return the container's nsswitch.conf where libvirt runs in one; None: libvirt takes the host's own.

    Raises :class:`ReadError` where it cannot be told.
    """
    for program in ("libvirtd", "virtqemud"):
        for pid in processes.running(program):
            if processes.same_root(pid):
                continue
            try:
                with open(f"/proc/{pid}/root{NSSWITCH}", "rb") as stream:
                    order = stream.read()
            except FileNotFoundError:
                order = b""  # glibc's defaults, as with a file that says nothing
            except OSError as error:
                raise ReadError(f"{NSSWITCH} in the container of {program}: {error.strerror}") from None
            if not os.path.exists(NSSWITCH):
                # A file can only be put in the place of another one.
                if order.strip():
                    raise ReadError(
                        f"the run cannot test the new name, because {NSSWITCH} exists only in libvirt's container and "
                        "not on the host"
                    )
                return None
            return order
    return None


def _binds(planned: t.Mapping[str, bytes], folder: str) -> t.List[t.Tuple[str, str]]:
    """Write what takes the place of the host's files, and return it with what it replaces."""
    binds = []
    for path, content in sorted(planned.items()):
        source = os.path.join(folder, path.replace("/", "-"))
        with open(source, "wb") as stream:
            stream.write(content)
        os.chmod(source, 0o644)
        binds.append((source, path))
    return binds


def _without_nscd(folder: str) -> t.List[t.Tuple[str, str]]:
    if not os.path.isdir(NSCD):
        return []
    empty = os.path.join(folder, "nothing")
    os.mkdir(empty)
    return [(empty, NSCD)]


def _ask(name: t.Optional[str], binds: t.Sequence[t.Tuple[str, str]]) -> t.Mapping[str, t.Any]:
    """Run private_names as a process of its own. Raises :class:`ReadError`."""
    request = json.dumps({"name": name, "binds": [list(pair) for pair in binds]})
    try:
        done = commands.run([sys.executable, "-I", "-c", inspect.getsource(private_names), request], _PATIENCE)
    except subprocess.TimeoutExpired:
        raise ReadError(f"the resolver did not answer within {_PATIENCE} s") from None
    try:
        answer = dict(json.loads(done.stdout))
    except (ValueError, TypeError):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ReadError(
            f"the test that resolves the host name returned no result: {said[-1] if said else done.returncode}"
        ) from None
    if "error" in answer:
        raise ReadError(str(answer["error"]))
    return answer


# --- what lives outside ---------------------------------------------------------------------------------------


def undecided(name: str, files: t.Mapping[str, bytes], order: t.Optional[bytes] = None) -> t.List[str]:
    """Return what may answer otherwise once the host has its new name: why, one sentence each.

    ``order``: the nsswitch.conf of libvirt's container.
    """
    if "." in name:
        return []  # libvirt asks nobody
    found = []
    if os.path.exists(os.path.join(NSCD, "socket")):
        found.append(
            "nscd runs on this host, and may return cached answers for the old name for some time after the rename"
        )
    if _asks_resolved(name, _services(order), files.get(HOSTS)):
        place = f"{NSSWITCH} of the libvirt container" if order is not None else NSSWITCH
        found.append(
            f"the test of the new name is inconclusive, because {place} lists systemd-resolved before {HOSTS}. The "
            "answer of systemd-resolved can change with the rename: until the rename, systemd-resolved uses the old "
            "name of the host"
        )
    return found


def _services(order: t.Optional[bytes] = None) -> t.List[str]:
    """Return the sources of host names in their order (nsswitch.conf(5))."""
    try:
        if order is None:
            with open(NSSWITCH, "rb") as stream:
                order = stream.read()
    except FileNotFoundError:
        return ["dns", "files"]
    lines = order.decode("utf-8", "replace").splitlines()
    given = [line.partition("#")[0] for line in lines if re.match(r"\s*hosts\s*:", line)]
    return re.sub(r"\[[^]]*\]", " ", given[-1].partition(":")[2]).split() if given else ["dns", "files"]


def _asks_resolved(name: str, services: t.Sequence[str], planned: t.Optional[bytes]) -> bool:
    for service in services:
        # myhostname answers for the name that its own process sees, which is the new one.
        if service == "myhostname" or (service == "files" and _in_hosts(name, planned)):
            return False
        if service == "resolve" and os.path.exists(RESOLVED):
            return True
    return False


def _in_hosts(name: str, planned: t.Optional[bytes]) -> bool:
    if planned is None:
        try:
            with open(HOSTS, "rb") as stream:
                planned = stream.read()
        except FileNotFoundError:
            return False
    lines = planned.decode("utf-8", "replace").splitlines()
    return any(name.casefold() in line.partition("#")[0].casefold().split()[1:] for line in lines)
