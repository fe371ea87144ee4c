# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the network agents of this host are told to call it."""

from __future__ import annotations

import glob
import os
import typing as t

from ...model.host_facts import FileLine
from . import nova_conf, processes, units
from .reading import ReadError

KOLLA_NEUTRON = "/etc/kolla/neutron-openvswitch-agent"


def agent_host(
    names: t.Sequence[str], systemctl: t.Optional[units.Systemctl] = None
) -> t.Tuple[t.Optional[str], t.List[FileLine]]:
    """Read the configuration of every network agent that is here.

    Raises ReadError where two of them are told different names: which one a rename must change is then not known.
    """
    hosts: t.Dict[str, t.Optional[str]] = {}
    lines: t.Dict[t.Tuple[str, int], FileLine] = {}
    for config in _agent_configs(names, systemctl or units.Systemctl()):
        value = config.get("DEFAULT", "host") if config.raw("DEFAULT", "host") is not None else None
        hosts[", ".join(config.files)] = value
        lines.update({(line.path, line.number): line for line in config.lines("DEFAULT", "host")})
    if len(set(hosts.values())) > 1:
        told = "; ".join(f"{files}: {host or 'unset'}" for files, host in sorted(hosts.items()))
        raise ReadError(f"the network agents of this host use different host names: {told}", problem="agents-differ")
    return next(iter(hosts.values()), None), list(lines.values())


def _agent_configs(names: t.Sequence[str], systemctl: units.Systemctl) -> t.List[nova_conf.Config]:
    result = []
    wanted = [units.full_name(name) for name in names]
    for name, shown in zip(wanted, systemctl.show(wanted)):
        if shown.get("LoadState") == "not-found":
            continue
        pid = int(shown.get("MainPID") or 0)
        program = name[: -len(".service")]
        arguments = nova_conf.parse_arguments(processes.argv(pid) if pid else units.command_of(name, shown))
        default = nova_conf.default_arguments("neutron", program)
        chosen = nova_conf.with_defaults(arguments, default)
        if chosen.has_files:
            result.append(nova_conf.Config.load(chosen))
    if not result and os.path.isdir(KOLLA_NEUTRON):
        files = sorted(
            glob.glob(os.path.join(KOLLA_NEUTRON, "*.conf")) + glob.glob(os.path.join(KOLLA_NEUTRON, "*.ini"))
        )
        if files:
            result.append(nova_conf.Config.load(nova_conf.Arguments(tuple(("file", path) for path in files))))
    return result
