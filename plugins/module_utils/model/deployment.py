# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a compute host is deployed, as far as it was read, and what the collection takes from it. Never a guess. Pure.

One kind of evidence decides. Where two deployments have left traces of nova-compute, or none has, the answer is
"unknown" with all that was seen: the operator then says which unit or command is right.

Sources: kolla-ansible (C(kolla_systemd_worker.py), role nova-cell), edpm-ansible (role edpm_nova), OpenStack-Ansible
(role os_nova), the snap openstack-hypervisor, the charm nova-compute, openstack-helm.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .deployment_facts import (
    DOCKER,
    KUBERNETES,
    PODMAN,
    DeployedUnit,
    Deployment,
    ServiceProcess,
)
from .host_facts import HostFacts, Unit
from .requests import RenameRequest

KOLLA = "kolla-ansible"
EDPM = "EDPM"
OSA = "OpenStack-Ansible"
PACKAGES = "packages"
SNAP = "snap"
CHARM = "charm"
PODS = "Kubernetes"
UNKNOWN = "unknown"
#: All kinds; PACKAGES is every nova-compute that a unit of the host starts outside containers.
KINDS = (KOLLA, EDPM, OSA, PACKAGES, SNAP, CHARM, PODS, UNKNOWN)

#: Signs, and no more, of deployments that nothing tests: EDPM, OpenStack-Ansible, the snap, the charm, Kubernetes.
EDPM_CONFIG = "/var/lib/openstack"
SNAP_FOLDER = "/var/snap/openstack-hypervisor"
OSA_VENVS = "/openstack/venvs/nova-"
#: Where the containers of kolla's images find their configuration (kolla_set_configs).
KOLLA_MOUNT = "/var/lib/kolla/config_files"
KOLLA_CONFIG = "/etc/kolla/nova-compute"

_PACKAGED_UNITS = ("nova-compute.service", "openstack-nova-compute.service", "devstack@n-cpu.service")
_KOLLA_UNIT = "kolla-nova_compute-container.service"
_EDPM_UNIT = "edpm_nova_compute.service"
_SNAP_UNIT = "snap.openstack-hypervisor.nova-compute.service"
#: The unit of nova-compute by which a deployment is told; of all others those of packages.
_UNITS = {KOLLA: (_KOLLA_UNIT,), EDPM: (_EDPM_UNIT,), SNAP: (_SNAP_UNIT,), PODS: ()}
_JUJU = re.compile(r"jujud-machine-[\w-]+\.service")


@dataclasses.dataclass(frozen=True)
class Classified:
    """What a host is deployed by. ``seen``: the evidence, for people; ``why``: why it is unknown."""

    kind: str
    engine: t.Optional[str]
    seen: t.Tuple[str, ...]
    why: t.Optional[str] = None

    @property
    def text(self) -> str:
        """The same in one line."""
        kind = f"{self.kind} ({self.engine})" if self.engine else self.kind
        return f"{kind}: {'; '.join(self.seen) or 'nothing was seen'}"


@dataclasses.dataclass(frozen=True)
class Preset:
    """What the collection takes from a deployment where the operator says nothing. Empty: the units of packages."""

    compute_units: t.Tuple[str, ...] = ()
    agent_units: t.Tuple[str, ...] = ()


PRESETS: t.Dict[str, Preset] = {
    KOLLA: Preset(
        ("kolla-nova_compute-container",),
        (
            "kolla-neutron_openvswitch_agent-container",
            "kolla-neutron_sriov_agent-container",
            "kolla-neutron_ovn_metadata_agent-container",
            "kolla-neutron_ovn_agent-container",
        ),
    ),
    PACKAGES: Preset(),
}


def refusal(found: Classified) -> t.Optional[str]:
    """Return why the operator has to say how nova-compute is stopped and started; None: the collection knows it.

    Of a deployment that nothing tests, the collection knows the signs, and no unit, no file and no command.
    """
    if found.kind in PRESETS:
        return None
    if found.kind == UNKNOWN:
        return "The deployment of nova-compute on this host is not known."
    return f"No test covers a host that {found.kind} has deployed."


def classify(found: Deployment) -> Classified:
    """Return what the host is deployed by: one of :data:`KINDS`, and never a guess between two."""
    traces = _traces(found)
    seen = tuple(text for _kind, text in traces)
    kind = _only_kind({kind for kind, _text in traces})
    why = _doubt(found, kind, sorted({_NAMES.get(kind, kind) for kind, _text in traces}))
    if why is not None:
        return Classified(UNKNOWN, None, seen, why)
    return Classified(kind, next(iter(_engines(found)), None), seen)


#: What a trace is called that fits no known deployment.
_NAMES = {UNKNOWN: "a systemd unit or container that belongs to no known deployment"}


def _only_kind(kinds: t.Set[str]) -> str:
    """Return the one deployment that all traces fit, or unknown."""
    if kinds in ({PACKAGES, CHARM}, {SNAP, CHARM}):
        # The charm installs packages; Sunbeam installs its snap by a charm.
        return SNAP if SNAP in kinds else CHARM
    return next(iter(kinds)) if len(kinds) == 1 else UNKNOWN


def _doubt(found: Deployment, kind: str, traced: t.Sequence[str]) -> t.Optional[str]:
    """Return why the traces do not decide; None: they do."""
    if len({(entry.engine, entry.container_id, entry.unit) for entry in found.compute}) > 1:
        return "nova-compute runs in more than one container or systemd unit"
    if len(traced) > 1 and kind == UNKNOWN:
        return f"the host has traces of more than one kind of deployment: {', '.join(traced)}"
    if len(_engines(found)) > 1:
        return f"the host has two container engines: {', '.join(_engines(found))}"
    if not traced or (traced == [CHARM]):
        return "the host has no trace of nova-compute"
    if kind == UNKNOWN:
        return "nova-compute runs in a systemd unit or container that belongs to no known deployment"
    if kind not in (SNAP, PODS) or not found.compute:
        names = _UNITS.get(kind, _PACKAGED_UNITS)
        if not any(entry.name in names for entry in found.units):
            return "no unit starts the nova-compute process of this host" if found.compute else "only files were found"
    return None


def of_host(facts: HostFacts) -> t.Optional[Classified]:
    """Return what a host is deployed by; None: it was not read."""
    return None if facts.deployment is None else classify(facts.deployment)


def _engines(found: Deployment) -> t.List[str]:
    """Return the engines of nova-compute's container, by its process and by its unit."""
    found_engines = [entry.engine for entry in found.compute]
    found_engines += [entry.engine for entry in found.units if _of_unit(entry) in (KOLLA, EDPM)]
    return sorted({engine for engine in found_engines if engine in (PODMAN, DOCKER, KUBERNETES)})


# --- traces -----------------------------------------------------------------------------------------------------


def _traces(found: Deployment) -> t.List[t.Tuple[str, str]]:
    """Return each trace of nova-compute's deployment: the kind that leaves it, and what it is."""
    result = [(_of_process(found, entry), _process_text(entry)) for entry in found.compute]
    for unit in found.units:
        kind = _of_unit(unit)
        if kind is not None:
            result.append((kind, f"unit {unit.name}"))
    for sign in found.signs:
        kind = _of_sign(sign)
        if kind is not None:
            result.append((kind, sign))
    return list(dict.fromkeys(result))


def _of_process(found: Deployment, entry: ServiceProcess) -> str:
    if entry.engine == KUBERNETES:
        return PODS
    if entry.engine in (PODMAN, DOCKER):
        source = found.folders.get(KOLLA_MOUNT, "")
        if _below(source, KOLLA_CONFIG):
            return KOLLA
        if entry.unit == _EDPM_UNIT or _below(source, EDPM_CONFIG):
            return EDPM
        return UNKNOWN
    if entry.command.startswith("/snap/") or entry.unit == _SNAP_UNIT:
        # A snap has a root directory of its own.
        return SNAP
    if entry.engine is not None:
        return UNKNOWN
    if entry.command.startswith(OSA_VENVS):
        return OSA
    return PACKAGES if entry.unit is None or entry.unit in _PACKAGED_UNITS else UNKNOWN


def _process_text(entry: ServiceProcess) -> str:
    place = f"in a container of {entry.engine}" if entry.engine in (PODMAN, DOCKER, KUBERNETES) else "on the host"
    if entry.engine not in (None, PODMAN, DOCKER, KUBERNETES):
        place = f"in {entry.engine}"
    unit = f", unit {entry.unit}" if entry.unit else ""
    return f"process {entry.pid}: {entry.command} {place}{unit}"


def _of_unit(unit: DeployedUnit) -> t.Optional[str]:
    if unit.name == _KOLLA_UNIT:
        return KOLLA
    if unit.name == _EDPM_UNIT:
        return EDPM
    if unit.name == _SNAP_UNIT:
        return SNAP
    if _JUJU.fullmatch(unit.name):
        return CHARM
    if unit.name not in _PACKAGED_UNITS:
        return None
    if unit.engine is not None:
        # A packaged name that starts a container: somebody's own deployment.
        return UNKNOWN
    return OSA if (unit.command or "").startswith(OSA_VENVS) else PACKAGES


def _of_sign(sign: str) -> t.Optional[str]:
    if _below(sign, KOLLA_CONFIG):
        return KOLLA
    if _below(sign, EDPM_CONFIG):
        return EDPM
    if _below(sign, SNAP_FOLDER):
        return SNAP
    return OSA if sign.startswith(OSA_VENVS) else None


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


# --- what is taken from it --------------------------------------------------------------------------------------


def explicit(request: RenameRequest) -> bool:
    """Whether the operator says how nova-compute is stopped and started."""
    return request.commands.given or request.compute_units != RenameRequest.compute_units


def with_preset(request: RenameRequest, facts: t.Optional[HostFacts]) -> RenameRequest:
    """Return the request with the units of the detected deployment, where the operator names none."""
    classified = of_host(facts) if facts is not None else None
    preset = PRESETS.get(classified.kind, Preset()) if classified is not None else Preset()
    changes: t.Dict[str, t.Any] = {}
    if preset.compute_units and not explicit(request):
        changes["compute_units"] = preset.compute_units
    if preset.agent_units and request.agent_units == RenameRequest.agent_units:
        changes["agent_units"] = preset.agent_units
    return dataclasses.replace(request, **changes)


def may_outlive(facts: HostFacts, units: t.Sequence[Unit]) -> bool:
    """Whether nova-compute may run on when these units have stopped: in a container, or in an unknown deployment."""
    found = facts.deployment
    if found is None:
        return False
    engines = {entry.name: entry.engine for entry in found.units}
    contained = any(engines.get(unit.name) is not None for unit in units)
    return contained or any(entry.engine for entry in found.compute) or classify(found).kind == UNKNOWN


def on_host(facts: HostFacts, path: str) -> str:
    """Return the host's path of a file that nova-compute's container has in a volume, such as its log."""
    folders = facts.deployment.folders if facts.deployment else {}
    for inside in sorted(folders, key=len, reverse=True):
        if _below(path, inside):
            return f"{folders[inside]}{path[len(inside) :]}"
    return path


def program_of(unit: str) -> str:
    """Return the program that a unit is named after, as neutron calls its agents (their C(binary))."""
    stem = unit.split(".", 1)[0]
    head, tail = "kolla-", "-container"
    if stem.startswith(head) and stem.endswith(tail):
        name = stem[len(head) : len(stem) - len(tail)].replace("_", "-")
        return _BINARIES.get(name, name)
    return stem


#: Containers that are not called like the agent in them.
_BINARIES = {"neutron-sriov-agent": "neutron-sriov-nic-agent"}
