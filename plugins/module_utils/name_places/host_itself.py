# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names that a host has of itself: the kernel's, its files', Open vSwitch's, and libvirt's, which follows. Pure."""

from __future__ import annotations

import typing as t

from ..model import names as naming
from ..model.facts import HostFacts
from ..model.findings import Unchecked
from ..model.lookups import Index, Items, host_subject
from ..model.names import Names, conf_host
from ..model.ovn import hostname_keys
from .place import (
    NamePlace,
    StoredName,
    StoredNames,
    Text,
    WantedName,
    needed,
)

ETC_HOSTS = "/etc/hosts"
CONF_HOST, LIBVIRT = "CONF.host", "libvirt host name"


class HostItself(NamePlace):
    """What each host that was read calls itself."""

    text = Text(
        "the host name in the operating system, and lines of `/etc/hosts` (libvirt derives its host name from these "
        "two); `host` in the files of nova and neutron; `external_ids:hostname` of Open vSwitch",
        "the run reads these names and files on the host. Before a rename, a test in private namespaces on the host "
        "shows the name that libvirt will use (SG124)",
        "after the run has changed the databases, the run changes the host's names and files in one step, and verifies "
        "that libvirt reports the new name",
        "the run restores the host's old names, option values and file lines",
        "if the host name in the operating system differs from `host` in nova.conf before the rename, the operating "
        "system keeps its host name",
    )
    codes = ("SG310", "SG111", "SG123", "SG124")
    steps = ("host_names",)

    def stored(self, index: Index) -> StoredNames:
        """All four names of each host. The subject's id is the host's name in the inventory."""
        for name in sorted(index.bundle.hosts):
            facts = index.bundle.hosts[name]
            subject = host_subject(facts)
            yield StoredName(subject, CONF_HOST, conf_host(facts))
            yield StoredName(subject, "kernel host name", facts.kernel_hostname)
            yield StoredName(subject, "static host name", facts.static_hostname)
            yield StoredName(subject, LIBVIRT, facts.libvirt.hostname if facts.libvirt else None)

    def holds(self, entry: StoredName, names: t.Collection[str]) -> bool:
        """What Nova takes from the host. Its own name may be another one, and stay."""
        return entry.store in (CONF_HOST, LIBVIRT) and entry.name in names

    def is_own(self, entry: StoredName, wanted: WantedName) -> bool:
        """By its name in the inventory."""
        return entry.subject.id == wanted.inventory_name


class LineChange(t.TypedDict):
    """A line of a file before and after."""

    path: str
    number: int
    before: str
    after: str


def line_edits(host: HostFacts, old: Names, new: Names) -> t.List[LineChange]:
    """Return the lines of the host's files that a rename changes. Raises PlanError where a file was not read."""
    edits: t.List[LineChange] = []
    table = naming.mapping(old, new)
    own = set(needed(host.addresses, "addresses"))
    for line in needed(host.etc_hosts, "/etc/hosts"):
        text = naming.rename_in_hosts_line(line, table) if is_own_address(line.address, own) else None
        if text is not None:
            edits.append(LineChange(path=ETC_HOSTS, number=line.number, before=line.text, after=text))
    for entry in needed(host.nova_conf, "nova.conf").host_lines:
        text = naming.rename_in_option_line(entry.text, old.host, new.host)
        edits.append(LineChange(path=entry.path, number=entry.number, before=entry.text, after=text))
    for entry in host.neutron_host_lines:
        text = naming.rename_in_option_line(entry.text, host.neutron_host or "", new.host)
        edits.append(LineChange(path=entry.path, number=entry.number, before=entry.text, after=text))
    return [edit for edit in edits if edit["before"] != edit["after"]]


def is_own_address(address: str, own: t.Container[str]) -> bool:
    # Debian's installer puts a host's name on 127.0.1.1; such a line is the host's own too.
    return address in own or address.startswith("127.") or address == "::1"


def external_ids(host: HostFacts, old: Names, new: Names) -> t.Dict[str, t.Dict[str, str]]:
    """Return what Open vSwitch's external_ids say of the host's name, before and after."""
    table = naming.mapping(old, new)
    ids = host.ovs_external_ids or {}
    named = {key: ids[key] for key in hostname_keys(ids) if ids[key] in table}
    return {key: {"before": name, "after": table[name]} for key, name in named.items()}


def unasked(index: Index, inventory_name: str) -> Items:
    """Hosts of the inventory whose own names are not known: one may have the new name and no store says so."""
    for name in sorted(set(index.bundle.unreachable) - {inventory_name}):
        yield Unchecked(
            "SG310",
            name,
            (
                "the run could not compare the names that are stored on the host, because the run could not read the "
                f"host: {index.bundle.unreachable[name]}"
            ),
        )
    for name in sorted(set(index.bundle.hosts) - {inventory_name}):
        facts = index.bundle.hosts[name]
        unread = [
            *(["CONF.host"] if conf_host(facts) is None else []),
            *(["libvirt's host name"] if facts.libvirt is None else []),
        ]
        if unread:
            yield Unchecked(
                "SG310", name, f"these names of the host were not read, so they were not compared: {', '.join(unread)}"
            )


PLACE = HostItself()
