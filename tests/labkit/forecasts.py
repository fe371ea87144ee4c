# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit forecast for a host, beside what its nova-compute then did; and both as a record to keep. Pure.

A forecast is a host's entry of C(forecast.json), an observation what labkit/statelab.py tells. A record has the facts
that the forecast was made from, as far as it reads them: any later forecast can be compared with what really happened.
"""

from __future__ import annotations

#: What the forecast reads, by what it reads it of. Everything else is left out of a record.
READ = {
    "host": ("inventory_name", "kernel_hostname", "nova_version"),
    "nova_conf": (
        *("host", "images_type", "running_deleted_instance_action", "running_deleted_instance_timeout"),
        *("resume_guests_state_on_host_boot", "sync_power_state_interval", "environment"),
        *("compute_driver", "virt_type"),
    ),
    "compute_id_files": ("path", "read_by_nova", "exists", "uuid", "error", "os_error", "unread"),
    "domains": ("uuid", "name", "state", "cpu_policy", "vtpm", "encrypted"),
    "start": ("options", "provider_configs", "cores", "vtpm", "brokers"),
    "cell": ("name", "uuid", "dialect", "collations", "scope"),
    "services": ("id", "uuid", "host", "binary", "version", "deleted"),
    "compute_nodes": ("id", "uuid", "host", "hypervisor_hostname", "deleted"),
    "instances": ("uuid", "display_name", "host", "vm_state", "task_state", "power_state", "deleted"),
    "migrations": ("id", "migration_type", "status", "instance_uuid", "source_compute", "dest_compute", "deleted"),
    "providers": ("uuid", "name"),
}


def record(evidence, name, host, seen, about):
    """Return what is kept of one state: facts, what happened, and what it was about.

    ``evidence``: the audit's; ``name``: of the host in the inventory; ``host``: what Nova calls it.
    """
    facts = evidence["hosts"][name]
    (cell,) = evidence["databases"]["cells"]
    uuids = {row["uuid"] for row in facts["domains"]}
    own = host.strip().casefold()
    instances = [
        row for row in cell["instances"] if row["uuid"] in uuids or (row["host"] or "").strip().casefold() == own
    ]
    known = {row["uuid"] for row in instances} | uuids
    migrations = [row for row in cell["migrations"] if row["instance_uuid"] in known]
    return {
        **about,
        "facts": {
            "host": _kept("host", facts),
            "libvirt": facts["libvirt"]["hostname"],
            "libvirt_version": facts["libvirt"]["version"],
            "start": _kept("start", facts["start"]) if facts["start"] else None,
            "nova_conf": _kept("nova_conf", facts["nova_conf"]) if facts["nova_conf"] else None,
            "compute_id_files": [_kept("compute_id_files", row) for row in facts["compute_id_files"] or []],
            "domains": [_kept("domains", row) for row in facts["domains"]],
            "cell": _kept("cell", cell),
            "services": [_kept("services", row) for row in cell["services"] if row["binary"] == "nova-compute"],
            "compute_nodes": [_kept("compute_nodes", row) for row in cell["compute_nodes"]],
            "instances": [_kept("instances", row) for row in instances],
            "migrations": [_kept("migrations", row) for row in migrations],
            "providers": [_kept("providers", row) for row in evidence["cloud"]["providers"]],
        },
        "seen": seen,
    }


def _kept(what, row):
    return {name: row[name] for name in READ[what] if row.get(name) is not None}


def expected(told, unmet):
    """Uuid to what a forecast says becomes of a guest. ``unmet``: guests whose condition does not come true."""
    return {
        guest["uuid"]: guest["action"] for guest in told["guests"] if not (guest["note"] and guest["uuid"] in unmet)
    }


def differences(told, seen, unmet):
    """Each difference between a forecast and what happened, as text: in both directions, and nothing is passed over."""
    if told["outcome"] == "unknown" and told["destroys_known"]:
        # Whatever it did, nothing that was not told may have happened to a guest.
        return [entry for entry in _guests(told, seen, unmet) if not entry.endswith("it was left as it is")]
    if not seen["ended"]:
        return ["its start did not come to an end: nothing is known"]
    return [*_outcome(told, seen), *_guests(told, seen, unmet), *_nodes(told, seen)]


def _outcome(told, seen):
    if told["outcome"] != seen["outcome"]:
        return [f"told {told['told']}; it {seen['outcome']}: {seen['printed']}"]
    if told["outcome"] == "refuses" and not any(told["refusal"]["text"] in line for line in seen["printed"]):
        return [f"told that it prints {told['refusal']['text']!r}; it printed {seen['printed']}"]
    return []


def _guests(told, seen, unmet):
    wanted, happened = expected(told, unmet), seen["guests"]
    return [
        f"guest {uuid}: told {wanted.get(uuid, 'nothing')}; it was {happened.get(uuid, 'left as it is')}"
        for uuid in sorted({*wanted, *happened})
        if wanted.get(uuid) != happened.get(uuid)
    ]


#: What became of a node, by whether its row was deleted before and after; None: there was none.
_NODES = {
    (None, False): "created",
    (True, False): "undeleted",
    (False, True): "destroyed with all its allocations",
    (False, False): "kept",
}
_ORPHANS = {
    "destroyed with all its allocations": "Deleting orphan",
    "kept, with a warning in nova-compute's log": "Found orphan",
}


def _nodes(told, seen):
    """Compute nodes and services. An early refusal leaves both as they are."""
    result = []
    changed = {uuid: _NODES.get(tuple(pair)) for uuid, pair in seen["nodes"].items() if pair[0] != pair[1]}
    wanted = {node["uuid"]: node["action"] for node in told["nodes"]}
    for uuid, action in wanted.items():
        quiet = action in ("kept", "kept, with a warning in nova-compute's log")
        found = changed.get(uuid) if not quiet else changed.get(uuid, action)
        if found != action:
            result.append(f"node {uuid}: told {action}; it was {found}")
    result += [
        f"node {uuid} was {action}, and that was not told" for uuid, action in changed.items() if uuid not in wanted
    ]
    orphans = sorted({_ORPHANS[action] for action in wanted.values() if action in _ORPHANS})
    if orphans != seen["orphans"]:
        result.append(f"told of orphans {orphans}; the log has {seen['orphans']}")
    new = [told["host"]] if _makes_service(told) else []
    if new != seen["new_services"]:
        result.append(f"told of new services {new}; there are {seen['new_services']}")
    return result


def outcomes(told):
    """What a forecast is made of, for counting: the refusal, each fate with its rule, each node's, the new service."""
    found = [f"refuses: {told['refusal']['rule']}" if told["refusal"] else told["outcome"]]
    found += [f"guest: {guest['rule']}: {guest['action']}" for guest in told["guests"]]
    found += [f"node: {node['action']}" for node in told["nodes"]]
    found += ["a new service"] if _makes_service(told) else []
    return found


def _makes_service(told):
    return told["new_service"] and (told["refusal"] is None or not told["refusal"]["early"])
