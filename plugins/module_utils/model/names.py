# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The three names of a compute host, before and after a rename, and the lines of files that bear them. Pure.

* C(CONF.host): services.host, compute_nodes.host, instances.host, RPC, neutron's binding:host_id.
* libvirt's host name: compute_nodes.hypervisor_hostname, instances.node, the resource provider's name.
* the kernel's host name (and the static one): what both of them fall back to.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from . import host_domain
from .deployment_facts import NOVA_COMPUTE
from .facts import HostFacts, HostsLine, Unit
from .host_facts import CONTAINER
from .problems import ProblemError


class NamesError(ProblemError, ValueError):
    """The new names cannot be told from the old ones: which, and what the operator can say to decide."""


@dataclasses.dataclass(frozen=True)
class Names:
    """One host's names. ``os`` is the kernel's and static host name; None: the rename leaves it alone."""

    host: str
    hypervisor_hostname: str
    os: t.Optional[str]


def short(name: str) -> str:
    """Return the part before the first dot."""
    return name.split(".", 1)[0]


def domain(name: str) -> str:
    """Return the part behind the first dot, or an empty string."""
    return name.partition(".")[2]


def conf_host(facts: HostFacts) -> t.Optional[str]:
    """Return C(CONF.host) as nova-compute takes it: configured, else its own host name (nova/conf/netconf.py).

    None: nova.conf was not read, oslo.config refuses the value, so that nova-compute has none, or the host name in
    nova-compute's container could not be read.
    """
    host = configured_host(facts)
    try:
        return None if facts.nova_conf is None or host is None else host_domain.accepted(host)
    except host_domain.HostDomainError:
        return None


def configured_host(facts: HostFacts) -> t.Optional[str]:
    """Return what oslo.config makes C(CONF.host) of: the configured value, or the host name that nova-compute sees.

    None: that is the name in its container, and it could not be read.
    """
    given = facts.nova_conf.host if facts.nova_conf else None
    return own_hostname(facts) if given is None else given


def own_hostname(facts: HostFacts) -> t.Optional[str]:
    """Return the host name that nova-compute sees at its next start; None: it could not be read in its container.

    A container keeps the name that it was created with (SG123), whatever the host is called by now.
    """
    if facts.deployment is None:
        return facts.kernel_hostname
    frozen = [entry.hostname for entry in facts.deployment.frozen if entry.program == NOVA_COMPUTE]
    if not facts.deployment.compute:
        # It does not run: then the engine says how its container was created.
        frozen = [
            entry.hostname
            for entry in facts.name_spaces or ()
            if entry.service == NOVA_COMPUTE and entry.own and entry.kind == CONTAINER
        ]
    return frozen[0] if frozen else facts.kernel_hostname


def refused_host(facts: HostFacts) -> t.Optional[str]:
    """Return oslo.config's words where nova-compute would refuse its own C(host); None: it takes it, or is unread."""
    host = configured_host(facts)
    if facts.nova_conf is None or host is None:
        return None
    try:
        host_domain.accepted(host)
    except host_domain.HostDomainError as error:
        return str(error)
    return None


def units_named(units: t.Sequence[Unit], names: t.Sequence[str]) -> t.List[Unit]:
    """Return the units that bear one of the names, each with or without C(.service)."""

    def full(name: str) -> str:
        return name if name.endswith(".service") else f"{name}.service"

    wanted = {full(name) for name in names}
    return [unit for unit in units if full(unit.name) in wanted]


def rename(
    facts: HostFacts, old_hypervisor_hostname: str, new_host: str, new_hypervisor_hostname: t.Optional[str] = None
) -> t.Tuple[Names, Names]:
    """Return the names before and after. Raises :class:`NamesError` where they cannot be told."""
    old_host = conf_host(facts)
    if old_host is None:
        why = refused_host(facts)
        unread = "nova.conf was not read, or the host name in nova-compute's container was not read"
        said = f"nova-compute refuses its configured host name: {why}" if why else unread
        raise NamesError(said, "refused-by-nova" if why else "unread")
    old_os = facts.static_hostname or facts.kernel_hostname
    new_os = own_name(old_os, old_host, new_host)
    configured = facts.nova_conf is not None and facts.nova_conf.host is not None
    if not configured and new_os != new_host:
        said = f"[DEFAULT] host is not set, so Nova would use the kernel's host name, not {new_host}"
        raise NamesError(said, "host-not-set")
    new_hypervisor = new_hypervisor_hostname or libvirt_name(
        old_hypervisor_hostname, old_host, old_os, new_host, new_os
    )
    before = Names(old_host, old_hypervisor_hostname, old_os if new_os is not None else None)
    return before, Names(new_host, new_hypervisor, new_os)


def own_name(old_os: str, old_host: str, new_host: str) -> t.Optional[str]:
    """Keep the style that the host has: the same name, its short form, or its full form."""
    if old_os == old_host:
        return new_host
    if old_os == short(old_host):
        return short(new_host)
    if short(old_os) == old_host:
        return new_host if "." in new_host else f"{new_host}.{domain(old_os)}"
    # The host's own name has nothing to do with what Nova calls it ([DEFAULT] host = node-17): not ours to change.
    return None


def libvirt_name(old_hypervisor: str, old_host: str, old_os: str, new_host: str, new_os: t.Optional[str]) -> str:
    """Predict libvirt's host name; the step that changes the host's name compares it with libvirt's own word."""
    if new_os is None:
        return old_hypervisor
    if "." in new_os or old_hypervisor == old_os:
        # virGetHostname() returns a name with a dot as it is.
        return new_os
    if old_hypervisor == old_host:
        return new_host
    if short(old_hypervisor) == short(old_os) and domain(old_hypervisor):
        return f"{new_os}.{domain(old_hypervisor)}"
    raise NamesError(
        f"the run cannot derive libvirt's host name {old_hypervisor} from {old_os} or {old_host}: set "
        "rename_hypervisor_hostname"
    )


def mapping(before: Names, after: Names) -> t.Dict[str, str]:
    """Return old name to new name, short forms included, for the lines of /etc/hosts."""
    pairs = [(before.host, after.host), (before.hypervisor_hostname, after.hypervisor_hostname)]
    if before.os is not None and after.os is not None:
        pairs.append((before.os, after.os))
    table: t.Dict[str, str] = {}
    for old, new in pairs:
        if old != new:
            table.setdefault(old, new)
    for old, new in pairs:
        if old != new and short(old) != short(new):
            table.setdefault(short(old), short(new))
    return table


def rename_in_hosts_line(line: HostsLine, table: t.Mapping[str, str]) -> t.Optional[str]:
    """Return the line of /etc/hosts with its names changed, or None where it bears none of the old names.

    White space and a trailing comment stay; a name that the change makes a repetition is left out.
    """
    if not any(name in table for name in line.names):
        return None
    body, mark, comment = line.text.partition("#")
    head = re.match(r"\s*\S+", body)
    if head is None:
        return None
    result, seen = head.group(0), set()
    for space, name in re.findall(r"(\s+)(\S+)", body[head.end() :]):
        new = table.get(name, name)
        if new not in seen:
            result += space + new
            seen.add(new)
    trailing = body[len(body.rstrip()) :]
    return result + trailing + mark + comment


def rename_in_option_line(text: str, old: str, new: str) -> str:
    """Return a C(host = OLD) line with the new value. Raises :class:`NamesError` where its value is not ``old``."""
    match = re.match(r"^(\s*host\s*[=:]\s*)(.*?)(\s*)$", text)
    value = match.group(2) if match else None
    if match is None or value is None or value.strip("\"'") != old:
        raise NamesError(
            f"the run cannot change the line {text.strip()!r}: first replace this line with the line host = {old}",
            "cannot-change-line",
        )
    quote = value[0] if value[:1] in ("'", '"') else ""
    return f"{match.group(1)}{quote}{new}{quote}{match.group(3)}"
