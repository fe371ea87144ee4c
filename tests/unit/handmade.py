# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that were renamed by hand in any subset of places, and a small world in which a plan can be carried out.

The oracle: what a complete rename is, told by substitution. Nothing here imports checks or plans.
"""

from __future__ import annotations

import copy
import dataclasses
import random

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.catalogue import declared
from ansible_collections.stackguard.nova.tests.unit import builders

INVENTORY = "compute1"
#: Styles of names with what compute1 becomes: host, libvirt's name, the host's own name.
GOALS = {
    "short": ("renamed1", "renamed1", "renamed1"),
    "full": ("renamed1.dc1.test", "renamed1.dc1.test", "renamed1.dc1.test"),
    "mixed": ("renamed1", "renamed1.dc1.test", "renamed1"),
    "configured": ("renamed1", "renamed1", "renamed1"),
    "own": ("renamed1", "rack7-u1", None),
}
SECOND_SERVICE, SECOND_NODE = 900, 901
MAPPING, MEMBER = 902, 903


@dataclasses.dataclass
class World:
    """Everything of one host that has a name, as plain values. Two worlds are compared with ``==``."""

    services: dict
    nodes: dict
    instances: dict
    #: Of the tables that a place declares: database, table and row to the name.
    declared: dict
    mappings: dict
    members: dict
    providers: dict
    agents: dict
    ports: dict
    static: str
    kernel: str
    conf: str | None
    neutron_conf: str | None
    hosts: str
    ovs: str
    compute_id: str | None

    def copy(self):
        return copy.deepcopy(self)

    def libvirt(self):
        """As virGetHostname() does: a name with a dot as it is, else the canonical name of the host's address."""
        canonical = self.hosts.split()[1]
        same = canonical.split(".")[0] == self.kernel
        return self.kernel if "." in self.kernel or not same else canonical


def begun(style, release=34, guests=2):
    """The world before anything was renamed, and the healthy cloud it is of."""
    cloud = builders.healthy(hosts=3, guests=guests, style=style, release=release, new=None)
    name = builders.STYLES[style](1)
    children = [builders.child_provider(1, f"{name.libvirt}_0000:81:00.0")]
    cloud = cloud.add("providers", *children)
    for new in {GOALS[style][0]}:
        cloud = cloud.resolve(new, builders.address(1))
    lines = f"host = {name.conf}" if name.conf else None
    world = World(
        services={101: name.host},
        nodes={201: (name.host, name.libvirt)},
        instances={1000 + number: (name.host, name.libvirt, name.host) for number in range(1, guests + 1)},
        declared={
            (kind, table, 1): name.host
            for kind in ("cell", "api")
            for table in builders.name_rows(kind, {1: name.host})
        },
        mappings={1: name.host},
        members={1: (name.host, 1)},
        providers={builders.node(1): name.libvirt, children[0].uuid: children[0].name},
        agents={builders.uid("agent", 1): name.host},
        ports={builders.uid("port", 1, number): name.host for number in range(1, guests + 1)},
        static=name.kernel,
        kernel=name.kernel,
        conf=lines,
        neutron_conf=lines,
        hosts=cloud.rows("etc_hosts")[0].text,
        ovs=name.kernel,
        compute_id=builders.node(1) if release >= 27 else None,
    )
    return cloud, world


def completed(world, style):
    """The oracle: the same world after a complete rename, by substitution."""
    old = builders.STYLES[style](1)
    host, node, own = GOALS[style]
    result = world.copy()
    result.services = dict.fromkeys(result.services, host)
    result.nodes = dict.fromkeys(result.nodes, (host, node))
    result.instances = dict.fromkeys(result.instances, (host, node, host))
    result.declared = dict.fromkeys(result.declared, host)
    result.mappings = dict.fromkeys(result.mappings, host)
    result.members = {key: (host, aggregate) for key, (_host, aggregate) in result.members.items()}
    result.providers = {key: node + name[len(old.libvirt) :] for key, name in result.providers.items()}
    result.agents = dict.fromkeys(result.agents, host)
    result.ports = dict.fromkeys(result.ports, host)
    if own is not None:
        result.static = result.kernel = own
        result.ovs = own
    pairs = {old.libvirt: node, old.host: host}
    if own is not None:
        pairs[old.kernel] = own
    address, *names = result.hosts.split()
    result.hosts = " ".join([address, *dict.fromkeys(pairs.get(name, name) for name in names)])
    if result.conf is not None:
        result.conf = result.neutron_conf = f"host = {host}"
    return result


#: What may have happened to each place by hand; each is told by a word, and changes a world.
def spoiled(world, goal, rng, style):
    """Return a world in which a random subset of places says the goal's names, and what was done, in words."""
    found, done = world.copy(), []
    share = rng.choice((0.1, 0.5, 0.9))

    def some():
        return rng.random() < share

    for name in ("services", "nodes", "instances", "declared", "mappings", "members", "providers", "ports"):
        rows, target = getattr(found, name), getattr(goal, name)
        # All of a table, or some of its rows: a script that was interrupted.
        whole = rng.random() < 0.7
        pick = some()
        for key in rows:
            if pick if whole else some():
                rows[key] = target[key]
                done.append(f"{name} {key}")
    if some():
        # Half of the SQL of a guide: the host of the instances, and nothing else of them.
        key = rng.choice(list(found.instances))
        found.instances[key] = (goal.instances[key][0], world.instances[key][1], world.instances[key][2])
        done.append(f"instances.host {key}")
    if some() and style != "mixed":
        key = 201
        found.nodes[key] = (rng.choice((world, goal)).nodes[key][0], rng.choice((world, goal)).nodes[key][1])
        done.append("one name of the node")
    for name in ("conf", "neutron_conf", "ovs"):
        if some() and getattr(world, name) is not None:
            setattr(found, name, getattr(goal, name))
            done.append(name)
    if some():
        found.static = found.kernel = goal.kernel
        done.append("hostnamectl")
    elif some():
        found.kernel = goal.kernel
        done.append("DHCP")
    if some():
        _address, _old = world.hosts.split()[:2]
        found.hosts = rng.choice((goal.hosts, goal.hosts, f"{goal.hosts} {' '.join(world.hosts.split()[1:])}"))
        done.append("/etc/hosts")
    if rng.random() < 0.1 and style in ("short", "configured") and found.kernel == world.kernel:
        found.hosts = f"{world.hosts.split()[0]} {world.kernel}.example.org {world.kernel}"
        done.append("libvirt has a domain")
    return found, done


def bundle_of(cloud, world, states=()):
    """The evidence of a world. ``states``: words of :data:`MORE` that say what else is so."""
    bundle = cloud.bundle
    node_uuid = builders.node(1)
    cell = bundle.databases.cells[0]
    services = [
        dataclasses.replace(row, host=world.services[row.id]) if row.id in world.services else row
        for row in cell.services
    ]
    if SECOND_SERVICE in world.services:
        services.append(
            dataclasses.replace(
                builders.service_row(1, world.services[SECOND_SERVICE]),
                id=SECOND_SERVICE,
                uuid=builders.uid("second service"),
            )
        )
    nodes = [
        dataclasses.replace(row, host=world.nodes[row.id][0], hypervisor_hostname=world.nodes[row.id][1])
        if row.id in world.nodes
        else row
        for row in cell.compute_nodes
    ]
    if SECOND_NODE in world.nodes:
        host, name = world.nodes[SECOND_NODE]
        nodes.append(
            dataclasses.replace(
                builders.node_row(1, host, name),
                id=SECOND_NODE,
                uuid=builders.uid("second node"),
                service_id=SECOND_SERVICE,
            )
        )
    instances = [
        dataclasses.replace(row, **dict(zip(("host", "node", "launched_on"), world.instances[row.id])))
        if row.id in world.instances
        else row
        for row in cell.instances
    ]
    api = bundle.databases.api
    cloud = cloud.cell(
        1,
        services=services,
        compute_nodes=nodes,
        instances=instances,
        name_rows=_declared("cell", cell, world),
    )
    template, member = api.host_mappings[0], api.aggregate_hosts[0]
    others = [row for row in api.host_mappings if row.id != 1]
    cloud = cloud.api_db(
        host_mappings=[
            *(dataclasses.replace(template, id=key, host=host) for key, host in world.mappings.items()),
            *others,
        ],
        aggregate_hosts=[
            *(
                dataclasses.replace(member, id=key, host=host, aggregate_id=aggregate)
                for key, (host, aggregate) in world.members.items()
            ),
            *(row for row in api.aggregate_hosts if row.id != 1),
        ],
        name_rows=_declared("api", api, world),
    )
    return _shown(cloud, world, states, node_uuid).bundle


def _declared(kind, owner, world):
    """The tables that a place declares, with the names of the world."""
    return {
        table: [
            dataclasses.replace(
                row,
                values={
                    **row.values,
                    **dict.fromkeys(
                        [column for column in declared(kind)[table].columns if (kind, table, row.id) in world.declared],
                        world.declared.get((kind, table, row.id)),
                    ),
                },
            )
            for row in rows
        ]
        for table, rows in owner.name_rows.items()
    }


def _shown(cloud, world, states, node_uuid):
    bundle = cloud.bundle
    up = "up" in states
    api = [
        dataclasses.replace(row, host=world.services[101], state="up" if up else "down")
        if row.id == builders.service(1)
        else row
        for row in bundle.cloud.services
    ]
    if SECOND_SERVICE in world.services:
        first = next(row for row in api if row.id == builders.service(1))
        second = world.services[SECOND_SERVICE]
        api.append(dataclasses.replace(first, id=builders.uid("second service"), host=second, state="down"))
    names = {row.uuid: row.host for row in bundle.databases.cells[0].instances}
    members = {host for host, _aggregate in world.members.values()}
    own = {builders.STYLES[style](1).host for style in builders.STYLES}
    aggregates = [
        dataclasses.replace(row, hosts=[*sorted(members), *(name for name in row.hosts if name not in own)])
        if row.id == 1
        else row
        for row in bundle.cloud.aggregates
    ]
    providers = [
        dataclasses.replace(row, name=world.providers[row.uuid]) if row.uuid in world.providers else row
        for row in bundle.cloud.providers
    ]
    second = builders.uid("second node")
    if second in world.providers:
        providers.append(facts.ResourceProvider(second, world.providers[second], 1, second, None, {}, []))
    template = next(row for row in bundle.cloud.agents if row.id == builders.uid("agent", 1))
    agents = [
        # One program reports under one name: of two records, the first has gone quiet.
        *(
            dataclasses.replace(template, id=key, host=host, alive=key != template.id or len(world.agents) == 1)
            for key, host in world.agents.items()
        ),
        *(row for row in bundle.cloud.agents if row.id != template.id),
    ]
    rows = bundle.databases.neutron.agents
    first = next(row for row in rows if row.id == template.id)
    cloud = cloud.neutron_db(
        agents=[
            *(dataclasses.replace(first, id=key, host=host) for key, host in world.agents.items()),
            *(row for row in rows if row.id != template.id),
        ]
    )
    cloud = cloud.cloud(
        services=api,
        aggregates=aggregates,
        providers=providers,
        agents=agents,
        servers=[dataclasses.replace(row, host=names[row.id]) for row in bundle.cloud.servers],
        hypervisors=[
            dataclasses.replace(row, hypervisor_hostname=world.nodes[201][1], service_host=world.services[101])
            if row.id == node_uuid
            else row
            for row in bundle.cloud.hypervisors
        ],
        ports=[
            dataclasses.replace(row, binding_host_id=world.ports[row.id]) if row.id in world.ports else row
            for row in bundle.cloud.ports
        ],
    )
    return _on_host(cloud, world, states)


def _on_host(cloud, world, states):
    host = cloud.bundle.hosts[INVENTORY]
    line = host.etc_hosts[0]
    etc = dataclasses.replace(line, names=world.hosts.split()[1:], text=world.hosts)
    conf = dataclasses.replace(
        host.nova_conf,
        host=_value(world.conf),
        host_lines=[dataclasses.replace(row, text=world.conf) for row in host.nova_conf.host_lines],
    )
    files = [
        dataclasses.replace(row, exists=world.compute_id is not None, uuid=world.compute_id)
        if row.path == "/var/lib/nova/compute_id"
        else row
        for row in host.compute_id_files
    ]
    cloud = cloud.host(
        INVENTORY,
        kernel_hostname=world.kernel,
        static_hostname=world.static,
        nova_conf=conf,
        neutron_host=_value(world.neutron_conf),
        neutron_host_lines=[dataclasses.replace(row, text=world.neutron_conf) for row in host.neutron_host_lines],
        etc_hosts=[etc, *host.etc_hosts[1:]],
        ovs_external_ids={**host.ovs_external_ids, "hostname": world.ovs},
        compute_id_files=files,
        libvirt=dataclasses.replace(host.libvirt, hostname=world.libvirt()),
    )
    compute = {"name": "nova-compute.service"}
    if "up" not in states:
        changes = {"active_state": "failed", "sub_state": "failed"}
        if "masked" in states:
            changes = {"active_state": "inactive", "sub_state": "dead", "load_state": "masked"}
        cloud = cloud.change("units", compute, **changes)
    return cloud


def _value(line):
    return line.partition("=")[2].strip() if line else None


# --- what else goes wrong -------------------------------------------------------------------------------------


def twice_or_missing(found, before, goal, rng):
    """Rows that are there twice, or not at all; return what was done, in words."""
    done = []
    other = goal.mappings[1]
    if rng.random() < 0.5 and "." not in other[:0]:
        found.mappings = {1: before.mappings[1], MAPPING: other}
        done.append("two host mappings")
    elif rng.random() < 0.5:
        found.mappings = {}
        done.append("no host mapping")
    if rng.random() < 0.5:
        found.members = {1: before.members[1], MEMBER: goal.members[1]}
        done.append("two memberships of one aggregate")
    if rng.random() < 0.5:
        first = builders.uid("agent", 1)
        found.agents = {first: before.agents[first], builders.uid("second agent"): goal.agents[first]}
        done.append("two records of the agent")
    if rng.random() < 0.3:
        found.compute_id = None
        done.append("compute_id is lost")
    elif rng.random() < 0.3:
        found.compute_id = builders.uid("made anew")
        done.append("compute_id was rewritten")
    if rng.random() < 0.4:
        # Nova finds a service by its name: there is a second one only where the first has the other name.
        found.services = {101: before.services[101], SECOND_SERVICE: goal.services[101]}
        done.append("a second service")
        if rng.random() < 0.6 and found.compute_id != builders.node(1) and before.nodes[201] != goal.nodes[201]:
            found.nodes = {201: before.nodes[201], SECOND_NODE: goal.nodes[201]}
            root = builders.node(1)
            suffixes = {key: name[len(before.providers[root]) :] for key, name in before.providers.items()}
            found.providers = {key: before.providers[root] + suffix for key, suffix in suffixes.items()}
            second = builders.uid("second node")
            if goal.nodes[201][1] != before.nodes[201][1]:
                found.providers[second] = goal.nodes[201][1]
            found.compute_id = second
            done.append("a second compute node")
    return done


def without_repeats(world):
    """What an end state is compared by: which of two rows that said the same is left does not matter."""
    same = world.copy()
    same.mappings = dict(enumerate(sorted(same.mappings.values())))
    same.members = dict(enumerate(sorted(same.members.values())))
    return same


# --- a plan is carried out ------------------------------------------------------------------------------------


class Executor:
    """Carries steps of a plan out in a world, guarded as the real ones are, and takes them back."""

    def __init__(self, world):
        self.world = world

    def forward(self, steps):
        for step in steps:
            self.apply(step)

    def backward(self, steps):
        for step in reversed(steps):
            self.undo(step)

    def apply(self, step):
        getattr(self, f"_{step.action}", self._nothing)(step.params, "before", "after")

    def undo(self, step):
        params = dict(step.params)
        if step.action == "found_neutron":
            params.update(
                agents=params["found_agents"], ports=params["found_ports"], old=params["new"], new=params["old"]
            )
        if step.action == "api_row_set":
            params.update(removed=params["added"], added=params["removed"])
        getattr(self, f"_{step.action}", self._nothing)(params, "after", "before")

    def _nothing(self, params, before, after):
        pass

    def _rows(self, params, before, after):
        for row in params["rows"]:
            old, _new = row[before], row[after]
            old = {**row["before"], **row["after"]} if before == "after" else old
            values = {key: row[after][key] for key in row["after"]}
            self._row(row["table"], row["key"], old, values)

    _cell_rows = _api_rows = _rows_aside = _rows

    def _row(self, table, key, guard, values):
        world = self.world
        if table == "services":
            self._guard(world.services, key, guard["host"], values["host"])
        elif table == "host_mappings":
            self._guard(world.mappings, key, guard["host"], values["host"])
            _unique(world.mappings.values())
        elif table == "aggregate_hosts":
            self._guard(
                world.members, key, (guard["host"], guard["aggregate_id"]), (values["host"], guard["aggregate_id"])
            )
            _unique(world.members.values())
        elif table == "compute_nodes":
            names = ("host", "hypervisor_hostname")
            self._guard(world.nodes, key, tuple(guard[name] for name in names), tuple(values[name] for name in names))
            _unique(world.nodes.values())
        elif table == "instances":
            host, node, launched = world.instances[key]
            assert (host, node) in ((guard["host"], guard["node"]), (values["host"], values["node"])), key
            world.instances[key] = (values["host"], values["node"], values.get("launched_on", launched))
        else:
            (place,) = [found for found in world.declared if found[1:] == (table, key)]
            self._guard(world.declared, place, *({*found.values()}.pop() for found in (guard, values)))
        if table == "services":
            _unique(world.services.values())

    @staticmethod
    def _guard(rows, key, before, after):
        assert rows[key] in (before, after), (rows[key], before, after)
        rows[key] = after

    def _providers(self, params, before, after):
        for row in params["providers"]:
            assert self.world.providers[row["uuid"]] in (row[before], row[after])
            self.world.providers[row["uuid"]] = row[after]
            _unique(self.world.providers.values())

    _providers_aside = _providers

    def _found_neutron(self, params, before, after):
        for agent in params["agents"]:
            assert self.world.agents[agent] in (params["old"], params["new"])
            self.world.agents[agent] = params["new"]
        _unique(self.world.agents.values())
        for port in params["ports"]:
            assert self.world.ports[port["id"]] in (params["old"], params["new"])
            assert params["new"] in self.world.agents.values(), "a port is bound to a name without an agent"
            self.world.ports[port["id"]] = params["new"]

    def _delete_agents(self, params, before, after):
        if before == "before":
            for agent in params["agents"]:
                del self.world.agents[agent["id"]]

    def _api_row_set(self, params, before, after):
        for row in params["removed"]:
            rows = self.world.mappings if row["table"] == "host_mappings" else self.world.members
            found = [
                key for key, value in rows.items() if row.get("id", key) == key and row["host"] in (value, value[0])
            ]
            assert len(found) == 1, (row, rows)
            del rows[found[0]]
        for row in params["added"]:
            if row["table"] == "host_mappings":
                self.world.mappings[row.get("id", 1)] = row["host"]
            else:
                self.world.members[row["id"]] = (row["host"], row["aggregate_id"])

    def _write_identity(self, params, before, after):
        assert self.world.compute_id in (params[before], params[after])
        self.world.compute_id = params[after]

    def _remove_second(self, params, before, after):
        if before != "before":
            return
        world, name = self.world, params["name"]
        assert world.services[params["service"]["id"]] == name
        # As Nova does: every node of that name, and nothing else may have it.
        del world.services[params["service"]["id"]]
        for key in [key for key, names in world.nodes.items() if names[0] == name]:
            assert key == params["node"]["id"]
            del world.nodes[key]
            # A node whose name was taken in placement has no provider.
            world.providers.pop(params["node"]["uuid"], None)
        world.mappings = {key: host for key, host in world.mappings.items() if host != name}
        world.members = {key: value for key, value in world.members.items() if value[0] != name}

    def _host_names(self, params, before, after):
        world, name = self.world, params["static_hostname"]
        if name:
            assert {world.static, world.kernel} <= {name["before"], name["after"], name.get("kernel_before")}
            world.static = name[after]
            world.kernel = name.get(f"kernel_{after}", name[after])
        for edit in params["line_edits"]:
            field = {"/etc/hosts": "hosts", "/etc/nova/nova.conf": "conf"}.get(edit["path"], "neutron_conf")
            assert getattr(world, field) in (edit[before], edit[after]), edit
            setattr(world, field, edit[after])
        for value in params["ovs_external_ids"].values():
            world.ovs = value[after]
        assert world.libvirt() == params["libvirt"][after], "libvirt reports another name"


def _unique(values):
    values = list(values)
    assert len(set(values)) == len(values), f"a unique key would refuse this: {values}"


def rng_of(seed):
    """Random numbers that are the same in every run."""
    return random.Random(seed)
