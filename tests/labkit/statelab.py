# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes the states of labkit/hoststates.py on hosts of the lab, starts their nova-compute, and sees what it does.

Between two states every nova-compute is stopped, and all is put back by copies: the tables of the cell and of
placement, definitions of domains, disks in Ceph, files. So a state costs seconds, whatever the one before destroyed.
Nothing here imports the collection.
"""

from __future__ import annotations

import base64
import concurrent.futures
import io
import json
import re
import tarfile
import time
import uuid as uuids

from . import guests as guestkit
from . import waiting
from .hoststates import SLOTS, without
from .lab import ROOT

IDENTITY = "/var/lib/nova/compute_id"
SECOND = "/etc/nova/compute_id"
ADDED = "/etc/nova/forecast.conf"
PROVIDER = "/etc/nova/provider_config/forecast.yaml"
KEPT = {"nova_cell1": "forecast_cell1", "placement": "forecast_placement"}
#: Seconds for which nothing must change before it is taken for the end.
QUIET = 5
#: Seconds that a start may take, and what it does to guests after that.
STARTS, ENDS = 900, 90
#: Seconds for which a nova-compute without a broker is looked at: it waits for ever.
WAITS = 40

_HEAD = """
import glob, json, os, re, shutil, subprocess
import libvirt, rados, rbd
libvirt.registerErrorHandler(lambda *_: None, None)
JOB = json.loads(%r)
HOME = "/var/lib/forecast"
LOG = "/var/log/nova/nova-compute.log"
ERRORS = "/var/log/nova/nova-compute.stderr"

def sh(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout

def write(path, text):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
    if text is not None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as stream:
            stream.write(text)

def read(path):
    with open(path, errors="replace") as stream:
        return stream.read()

def pool():
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", rados_id="nova")
    cluster.connect()
    return cluster.open_ioctx("vms")
"""

_KEEP = """
conn = libvirt.open("qemu:///system")
os.makedirs(HOME, exist_ok=True)
for uuid in JOB["guests"]:
    text = conn.lookupByUUIDString(uuid).XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE)
    write(f"{HOME}/{uuid}.xml", text)
names = "|".join(JOB["dropped"])
lines = [line for line in read("/etc/nova/nova.conf").splitlines() if not re.match(rf"({names})\\s*=", line)]
write(f"{HOME}/nova.conf", "\\n".join(lines) + "\\n")
shutil.copy("/etc/nova/nova.conf", f"{HOME}/nova.conf.first")
print(json.dumps(True))
"""

_READ = """
import base64, io, sys, tarfile
place = f"{HOME}/read"
if JOB["code"]:
    shutil.rmtree(place, ignore_errors=True)
    tarfile.open(fileobj=io.BytesIO(base64.b64decode(JOB["code"]))).extractall(place)
sys.path.insert(0, place)
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import facts as host
print(json.dumps(facts.to_plain(host.read_host(host.HostOptions(inventory_name=JOB["name"])))))
"""

_PUT = """
sh("systemctl", "stop", "nova-compute")
sh("systemctl", "reset-failed", "nova-compute")
for path, content in JOB["files"].items():
    write(path, None)
    if content == ["directory"]:
        os.mkdir(path)
    elif content is not None:
        write(path, content)
added = "".join(f"{key} = {value}\\n" for key, value in JOB["options"].items())
conf = read(f"{HOME}/nova.conf").replace("[DEFAULT]\\n", "[DEFAULT]\\n" + added, 1)
conf = conf.replace("[libvirt]\\n", "[libvirt]\\nwait_soft_reboot_seconds = 2\\n", 1)
conf += "".join(f"[{section}]\\n{option} = {value}\\n" for section, option, value in JOB["settings"])
if JOB["broker"] == "gone":
    conf = re.sub(r"(?m)^transport_url *=.*$", "transport_url = rabbit://nobody:secret@127.0.0.1:1/", conf)
# Nova asks cinder about each guest that it reboots: with a token it hears that there is none, without one it fails.
token = re.search(r"\\[placement\\]\\n([^\\[]*)", conf).group(1)
write("/etc/nova/nova.conf", conf.replace("[cinder]\\nauth_type = none\\n", "[cinder]\\n" + token, 1))
write("/etc/default/nova-compute", JOB["default"])
started = re.search(r"(?m)^ExecStart=(.+)$", sh("systemctl", "cat", "nova-compute")).group(1)
command = f"ExecStart=\\nExecStart={started} {JOB['command']}\\n" if JOB["command"] else ""
write("/etc/systemd/system/nova-compute.service.d/forecast.conf", JOB["dropin"] + command)
sh("systemctl", "daemon-reload")
sh("hostname", JOB["kernel"])
disks, images = pool(), rbd.RBD()
there = set(images.list(disks))
conn = libvirt.open("qemu:///system")

def domain(uuid):
    try:
        return conn.lookupByUUIDString(uuid)
    except libvirt.libvirtError:
        return None

for uuid, (wanted, resize) in JOB["guests"].items():
    name = f"{uuid}_disk"
    if name not in there:
        images.create(disks, name, 1 << 30)
    with rbd.Image(disks, name) as image:
        snapshots = {entry["name"] for entry in image.list_snaps()}
        if resize and "nova-resize" not in snapshots:
            image.create_snap("nova-resize")
        elif not resize and "nova-resize" in snapshots:
            image.remove_snap("nova-resize")
    found = domain(uuid)
    if wanted == "none":
        if found is not None:
            if found.isActive():
                found.destroy()
            found.undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM)
        continue
    if found is None:
        os.makedirs(f"/var/lib/nova/instances/{uuid}", exist_ok=True)
        found = conn.defineXML(read(f"{HOME}/{uuid}.xml"))
    if wanted == "shutoff":
        if found.isActive():
            found.destroy()
        continue
    if not found.isActive():
        os.makedirs(f"/var/lib/nova/instances/{uuid}", exist_ok=True)
        found.create()
    paused = found.state()[0] == libvirt.VIR_DOMAIN_PAUSED
    if paused and wanted == "running":
        found.resume()
    elif not paused and wanted == "paused":
        found.suspend()
write(ERRORS, "")
write(LOG, "")
print(json.dumps(True))
"""

_LOOK = """
STATES = {1: "running", 2: "running", 3: "paused", 5: "shutoff", 4: "shutoff", 6: "shutoff", 7: "suspended"}
log = read(LOG) + read(ERRORS)
conn = libvirt.open("qemu:///system")
domains, starts = {}, {}
for one in conn.listAllDomains():
    pid = f"/run/libvirt/qemu/{one.name()}.pid"
    # Each start of its QEMU leaves a line: one that was started and ended between two looks is seen by that alone.
    starts[one.UUIDString()] = read(f"/var/log/libvirt/qemu/{one.name()}.log").count(": starting up libvirt version")
    domains[one.UUIDString()] = [STATES[one.state()[0]], read(pid).strip() if one.isActive() else None]
disks = pool()
names = rbd.RBD().list(disks)
snapshots = []
for uuid in JOB["resize"]:
    if f"{uuid}_disk" in names:
        with rbd.Image(disks, f"{uuid}_disk", read_only=True) as image:
            if any(entry["name"] == "nova-resize" for entry in image.list_snaps()):
                snapshots.append(uuid)
noted = [line for line in log.splitlines() if any(word in line for word in JOB["words"])]
print(json.dumps({
    "unit": sh("systemctl", "is-active", "nova-compute").strip(),
    "domains": domains,
    "starts": starts,
    "disks": sorted(name[:36] for name in names if name[36:] == "_disk" and name[:36] in JOB["guests"]),
    "snapshots": snapshots,
    "noted": noted[-400:],
    "size": len(log),
}))
"""

#: Lines of nova-compute's log by which its start is followed.
JOINED = "Join ServiceGroup membership"
#: The second: oslo.service with eventlet.
REFUSALS = ("Unhandled error", "Error starting thread")
#: Nova's own levels; and oslo.service with eventlet notes at TRACE only that a round of periodic tasks has ended.
LEVELS = ",".join(
    (
        *("amqp=WARN", "amqplib=WARN", "sqlalchemy=WARN", "oslo.messaging=INFO", "oslo_messaging=INFO", "iso8601=WARN"),
        *("urllib3.connectionpool=WARN", "requests.packages.urllib3.connectionpool=WARN", "stevedore=WARN"),
        *("keystoneauth=WARN", "oslo.cache=INFO", "oslo_policy=INFO", "glanceclient=WARN", "oslo.privsep.daemon=INFO"),
        *("oslo.service.loopingcall=TRACE", "oslo.service.backend._eventlet.loopingcall=TRACE"),
    )
)
NOT_VALID = "Value for option host "
WORDS = (
    *(JOINED, *REFUSALS, NOT_VALID, "periodic_tasks", "_cleanup_running_deleted_instances", "_sync_power_states"),
    *("Failed to soft reboot", "orphan compute node", "Undeleting compute node", "stop API", "Traceback"),
    *("Failed to power off", "Failed to", "Cannot reboot", "My node", "My compute node", "Invalid node identity"),
)


class Host:
    """One host of the lab whose guests are used up. ``guests``: uuids, by slot."""

    def __init__(self, lab, name, guests):
        self.lab = lab
        self.name = name
        self.guests = guests
        self.address = lab.info["hosts"][name]["address"]
        self.identity, self.neighbour = "", ""
        self.state = None

    def run(self, script, **job):
        return json.loads(
            self.lab.ssh(self.name, "/usr/bin/python3 -", stdin=_HEAD % json.dumps(job) + script, timeout=300)
        )

    def keep(self):
        dropped = (
            "default_log_levels",
            "resume_guests_state_on_host_boot",
            "shutdown_timeout",
            "periodic_fuzzy_delay",
            "host",
        )
        self.run(_KEEP, guests=self.guests, dropped=dropped)

    def learn(self):
        """Its node's uuid, and another host's."""
        text = "SELECT uuid FROM compute_nodes WHERE host {} %s AND deleted = 0 LIMIT 1"
        self.identity = self.lab.value("cell1", text.format("="), self.name)
        self.neighbour = self.lab.value("cell1", text.format("<>"), self.name)

    # --- names

    def word(self, word):
        """What a word of a description stands for on this host."""
        table = {
            "here": self.name,
            "right": self.name,
            "same": self.name,
            "capitals": self.name.upper(),
            "blank": f"{self.name} ",
            "dot": f"{self.name}.",
            "elsewhere": "elsewhere.example",
            "other": f"other-{self.name}.example",
            "address": self.address,
            "nowhere": None,
        }
        return table.get(word, word)

    def other(self, seed):
        """A uuid of nobody."""
        return str(uuids.uuid5(uuids.NAMESPACE_DNS, f"{self.name}.{seed}.example"))

    # --- making a state

    def put(self, state):
        """Make files, configuration, disks and domains as they are to be; nova-compute is stopped."""
        self.state = state
        options = {"periodic_fuzzy_delay": 0, "shutdown_timeout": 2, "resume_guests_state_on_host_boot": state.resume}
        options["default_log_levels"] = LEVELS
        if state.action is not None:
            options["running_deleted_instance_action"] = state.action
        if state.timeout:
            options["running_deleted_instance_timeout"] = state.timeout
        if state.host is not None:
            options["host"] = self.word(state.host)
        place, value = state.variable or (None, None)
        setting = f"OS_DEFAULT__HOST={self.word(value)}"
        if state.opts is not None:
            command, place, value = state.opts
            setting = f"NOVA_OPTS=--config-file={ADDED}"
        own = f"Environment={setting}\n" if place == "drop-in" else ""
        # Restarted, it would not be the start that was forecast; its own end is of no interest here.
        unit = "[Service]\nRestart=no\nTimeoutStopSec=1\nStandardError=append:/var/log/nova/nova-compute.stderr\n"
        files = {IDENTITY: self._file(state.file), SECOND: self._file(state.second), PROVIDER: state.provider}
        files[ADDED] = f"[DEFAULT]\nhost = {self.word(value)}\n" if state.opts else None
        self.run(
            _PUT,
            files=files,
            options=options,
            settings=state.settings,
            broker=state.broker,
            command=command if state.opts else "",
            default=f"{setting}\n" if place == "file" else "",
            dropin=unit + own,
            kernel=self.word(state.kernel),
            guests={uuid: [guest.domain, guest.resize] for uuid, guest in zip(self.guests, state.guests)},
        )

    def _file(self, word):
        right = self.identity
        table = {
            "right": right,
            "same": right,
            "missing": None,
            "none": None,
            "garbage": "no uuid at all",
            "empty": "",
            "directory": ["directory"],
            "braces": f"{{{right}}}",
            "capitals": right.upper(),
            "same in capitals": right.upper(),
            "no dashes": right.replace("-", ""),
            "line end": f"{right}\n",
            "other": self.other(self.state.seed),
        }
        if word == "neighbour":
            return self.neighbour
        return table[word]

    def rows(self):
        """Make the rows of its guests, its service and its nodes as they are to be."""
        sql = lambda text, *values: self.lab.sql("cell1", text, *values)  # noqa: E731
        sql("SET FOREIGN_KEY_CHECKS = 0")
        for uuid, guest in zip(self.guests, self.state.guests):
            self._guest_row(sql, uuid, guest)
        self._service(sql)
        self._nodes(sql)
        sql("SET FOREIGN_KEY_CHECKS = 1")

    def _guest_row(self, sql, uuid, guest):
        node = None if guest.lives == "nowhere" else self.name
        sql(
            "UPDATE instances SET vm_state = %s, task_state = %s, power_state = %s, host = %s, node = %s"
            " WHERE uuid = %s",
            *(guest.vm_state, guest.task_state, guest.power_state, self.word(guest.lives), node, uuid),
        )
        for record in guest.records:
            self._migration(sql, uuid, record.kind, record.status, self.word(record.source), record.deleted)
        if guest.resize:
            self._migration(sql, uuid, "resize", "migrating", self.name, False)
            number = sql("SELECT MAX(id) AS id FROM migrations WHERE instance_uuid = %s", uuid)[0]["id"]
            data = {"instance_uuid": uuid, "migration_id": number}
            data.update({f"{age}_{what}": None for age in ("old", "new") for what in _CONTEXT})
            context = {
                "nova_object.name": "MigrationContext",
                "nova_object.namespace": "nova",
                "nova_object.version": "1.2",
                "nova_object.data": data,
            }
            text = json.dumps(context)
            sql("UPDATE instance_extra SET migration_context = %s WHERE instance_uuid = %s", text, uuid)
        self._gone(sql, uuid, guest.row)

    def _gone(self, sql, uuid, row):
        """Soft-delete an instance and what belongs to it, as Nova does (instance_destroy); or purge it."""
        if row == "purged":
            sql("DELETE FROM instances WHERE uuid = %s", uuid)
        elif row != "live":
            then = f"deleted_at = utc_timestamp() - INTERVAL {3 if row == 'deleted' else 0} HOUR"
            sql(f"UPDATE instances SET deleted = id, {then} WHERE uuid = %s", uuid)
            for table in _BELONGS:
                sql(f"UPDATE {table} SET deleted = id, {then} WHERE instance_uuid = %s AND deleted = 0", uuid)

    def _migration(self, sql, uuid, kind, status, source, deleted):
        sql(
            "INSERT INTO migrations (created_at, updated_at, deleted, hidden, uuid, instance_uuid, status,"
            " migration_type, source_compute, source_node, dest_compute, dest_node)"
            " VALUES (utc_timestamp(), utc_timestamp(), %s, 0, %s, %s, %s, %s, %s, %s, %s, %s)",
            *(int(deleted), str(uuids.uuid4()), uuid, status, kind, source, self.name),
            *("elsewhere.example", "elsewhere.example"),
        )

    def _service(self, sql):
        own = "`binary` = 'nova-compute' AND host = %s AND deleted = 0"
        word = self.state.service
        if word == "gone":
            sql(f"UPDATE services SET deleted = id WHERE {own}", self.name)
        elif word == "old":
            sql(f"UPDATE services SET version = 64 WHERE {own}", self.name)
        elif word != "right":
            sql(f"UPDATE services SET host = %s WHERE {own}", self.word(word), self.name)

    def _nodes(self, sql):
        word, (own,) = self.state.node, sql("SELECT * FROM compute_nodes WHERE uuid = %s", self.identity)
        more = {"orphan": self.name, "orphan without a provider": self.name, "orphan in capitals": self.name.upper()}
        if self.state.more != "none":
            values = {name: value for name, value in own.items() if name != "id"}
            values.update(uuid=self.other("orphan"), hypervisor_hostname=f"orphan-{self.name}.example")
            values["host"] = more[self.state.more]
            names, places = ", ".join(f"`{name}`" for name in values), ", ".join(["%s"] * len(values))
            sql(f"INSERT INTO compute_nodes ({names}) VALUES ({places})", *values.values())
            if self.state.more != "orphan without a provider":
                self._provider(values["uuid"], values["hypervisor_hostname"])
        changes = {
            "deleted": "deleted = id",
            "other host": f"host = '{self.word('other')}'",
            "host in capitals": f"host = '{self.name.upper()}'",
            "host with a blank": f"host = '{self.name} '",
            "other name": f"hypervisor_hostname = '{self.word('other')}'",
            "name in capitals": f"hypervisor_hostname = '{self.name.upper()}'",
        }
        if word == "purged":
            sql("DELETE FROM compute_nodes WHERE id = %s", own["id"])
        elif word != "right":
            sql(f"UPDATE compute_nodes SET {changes[word]} WHERE id = {own['id']}")

    def _provider(self, uuid, name):
        self.lab.sql(
            "placement", "INSERT INTO resource_providers (uuid, name, generation) VALUES (%s, %s, 0)", uuid, name
        )
        self.lab.sql("placement", "UPDATE resource_providers SET root_provider_id = id WHERE uuid = %s", uuid)

    def facts(self, code=""):
        """This host's facts, plain, by the collection's own reader. ``code``: of :func:`packed`, the first time."""
        return self.run(_READ, name=self.name, code=code)

    # --- what happens

    def look(self):
        wanted = [uuid for uuid, guest in zip(self.guests, self.state.guests) if guest.resize]
        return self.run(_LOOK, guests=self.guests, resize=wanted, words=WORDS)

    def start(self):
        self.lab.ssh(self.name, "systemctl start --no-block nova-compute")


def packed():
    """What a module of the collection takes to a host, as text: base64 of a tar file."""
    memory, inside = io.BytesIO(), "plugins/module_utils"
    with tarfile.open(fileobj=memory, mode="w:gz") as tar:
        for path in sorted((ROOT / inside).rglob("*.py")):
            tar.add(path, f"ansible_collections/stackguard/nova/{path.relative_to(ROOT)}")
    return base64.b64encode(memory.getvalue()).decode()


_BELONGS = (
    *("security_group_instance_association", "instance_info_caches", "instance_metadata", "instance_faults"),
    *("instance_extra", "instance_system_metadata", "block_device_mapping", "migrations", "virtual_interfaces"),
)
_CONTEXT = ("numa_topology", "pci_devices", "pci_requests", "resources")


#: A row may have the number 0, which MariaDB takes for "the next one".
_ZERO = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')"


class Hosts:
    """The hosts of a lab, each with its guests, and the copies by which all is put back."""

    def __init__(self, lab):
        self.lab = lab
        self.hosts = {}
        self.pool = concurrent.futures.ThreadPoolExecutor(8)

    def prepare(self):
        """Boot the guests, and copy everything; where that was done before, take the copies."""
        schema = next(iter(KEPT.values()))
        again = self.lab.sql("api", "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", schema)
        known = self._copied(schema) if again else guests(self.lab)
        self.hosts = {
            name: Host(self.lab, name, [known[f"state-{name}-{slot}"] for slot in range(1, SLOTS + 1)])
            for name in self.lab.hosts
        }
        if not again:
            self.each(lambda host: host.keep())
        self.each(lambda host: self.lab.ssh(host.name, "systemctl stop nova-compute", timeout=300))
        if again:
            self.restore()
        else:
            self._copy()
        for host in self.hosts.values():
            host.learn()

    def _copied(self, schema):
        rows = self.lab.sql("api", f"SELECT display_name, uuid FROM {schema}.instances WHERE deleted = 0")
        return {row["display_name"]: row["uuid"] for row in rows}

    def _copy(self):
        self.lab.sql("api", _ZERO)
        for schema, kept in KEPT.items():
            self.lab.sql("api", f"CREATE DATABASE {kept}")
            for table in self._tables(schema):
                self.lab.sql("api", f"CREATE TABLE {kept}.`{table}` LIKE {schema}.`{table}`")
                self.lab.sql("api", f"INSERT INTO {kept}.`{table}` SELECT * FROM {schema}.`{table}`")

    def _tables(self, schema):
        rows = self.lab.sql(
            "api",
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = %s"
            " AND table_type = 'BASE TABLE'",
            schema,
        )
        return [row["name"] for row in rows if not row["name"].startswith(("shadow_", "alembic"))]

    def each(self, function, hosts=None):
        return list(self.pool.map(function, hosts or self.hosts.values()))

    def restore(self):
        """Put the rows of the cell and of placement back. No nova-compute runs."""
        for schema, kept in KEPT.items():
            with self.lab.database("api").cursor() as cursor:
                cursor.execute("SET FOREIGN_KEY_CHECKS = 0")
                cursor.execute(_ZERO)
                cursor.execute("BEGIN")
                for table in self._tables(schema):
                    # Conductor and scheduler go on to report.
                    only = "WHERE `binary` = 'nova-compute'" if (schema, table) == ("nova_cell1", "services") else ""
                    cursor.execute(f"DELETE FROM {schema}.`{table}` {only}")
                    cursor.execute(f"INSERT INTO {schema}.`{table}` SELECT * FROM {kept}.`{table}` {only}")
                cursor.execute("COMMIT")
                cursor.execute("SET FOREIGN_KEY_CHECKS = 1")

    def make(self, states):
        """Make each host's state; ``states``: by host."""
        hosts = [self.hosts[name] for name in states]
        self.each(lambda host: host.put(states[host.name]), hosts)
        # What a nova-compute that is gone had asked of the conductor ends.
        time.sleep(1)
        self.restore()
        for host in hosts:
            host.rows()

    def seen(self, names, expected):
        """Start nova-compute on these hosts; return for each what it did.

        ``expected``: by host, uuid to what is forecast for it: what has not come after the end is waited for.
        """
        hosts = [self.hosts[name] for name in names]
        before = {host.name: Before(host, host.look()) for host in hosts}
        self.each(lambda host: host.start(), hosts)
        return dict(zip(names, self.each(lambda host: self._followed(before[host.name], expected[host.name]), hosts)))

    def _followed(self, before, expected):
        """What one host's nova-compute did, once it has come to rest."""
        began, last, since = time.monotonic(), None, time.monotonic()
        while True:
            time.sleep(2)
            now = before.host.look()
            # Every look opens connections of its own.
            picture = {key: now[key] for key in ("unit", "domains", "disks", "snapshots")}
            if picture != last:
                last, since = picture, time.monotonic()
            over = _over(now)
            quiet = over and time.monotonic() - since > QUIET
            late = time.monotonic() - began
            if before.host.state.broker == "gone" and late > WAITS:
                return {"ended": over, **before.told(now)}
            if (quiet and (before.happened(now) == expected or time.monotonic() - since > ENDS / 3)) or late > STARTS:
                return {"ended": over, **before.told(now)}

    def close(self):
        self.pool.shutdown()


def _over(now):
    """Whether a start has come to its end: refused, or through the first round of its periodic tasks."""
    text = "\n".join(now["noted"])
    if any(word in text for word in REFUSALS) or now["unit"] in ("inactive", "failed"):
        return True
    tail = text.partition("_cleanup_running_deleted_instances")[2]
    return JOINED in text and "_sync_power_states" in text and "sleeping for" in tail


class Before:
    """A host before the start, and what is different after it."""

    def __init__(self, host, look):
        self.host = host
        self.look = look
        self.nodes = self._nodes()
        self.services = self._services()
        self.migrations = self._migrations()

    def _sql(self, text, *values):
        # Threads: each has its own connection.
        import pymysql

        info = self.host.lab.info
        connection = pymysql.connect(
            host=info["mysql_host"],
            port=info["mysql_port"],
            user="root",
            password=info["password"],
            database="nova_cell1",
            autocommit=True,
            cursorclass=pymysql.cursors.DictCursor,
        )
        try:
            with connection.cursor() as cursor:
                cursor.execute(text, values or None)
                return list(cursor.fetchall())
        finally:
            connection.close()

    def _nodes(self):
        rows = self._sql("SELECT uuid, host, hypervisor_hostname, deleted FROM compute_nodes")
        own = self.host.name.upper()
        return {
            row["uuid"]: [row["hypervisor_hostname"], bool(row["deleted"])]
            for row in rows
            if own in f"{row['host']} {row['hypervisor_hostname']}".upper()
        }

    def _services(self):
        rows = self._sql("SELECT host FROM services WHERE `binary` = 'nova-compute' AND deleted = 0")
        # The other hosts start beside it.
        own = (self.host.name.upper(), self.host.address)
        return sorted(row["host"] for row in rows if any(word in row["host"].upper() for word in own))

    def _migrations(self):
        text = "SELECT id, instance_uuid, status FROM migrations WHERE migration_type = 'live-migration'"
        return {row["id"]: (row["instance_uuid"], row["status"]) for row in self._sql(text)}

    def happened(self, now):
        """Uuid to what became of a guest, in the forecast's words; those that are as they were are not here."""
        aborted = self._aborted()
        result = {}
        for uuid in self.host.guests:
            action = self._action(uuid, now, aborted)
            if action is not None:
                result[uuid] = action
        return result

    def _aborted(self):
        after = self._migrations()
        return {uuid for key, (uuid, status) in self.migrations.items() if after.get(key, (uuid, None))[1] != status}

    def _action(self, uuid, now, aborted):
        was, pid = self.look["domains"].get(uuid, ["none", None])
        then, new = now["domains"].get(uuid, ["none", None])
        if uuid in self.look["disks"] and uuid not in now["disks"]:
            return "destroyed, and its disks deleted"
        if uuid in self.look["snapshots"] and uuid not in now["snapshots"]:
            return "returned to its state before the unfinished resize"
        if uuid in aborted and (was, pid) == (then, new):
            return "kept here, and its live migration is aborted"
        if then == "shutoff" and was in ("shutoff", "none") and self._starts(now, uuid) > self._starts(self.look, uuid):
            return "started, and powered off again"
        if (was, pid) == (then, new):
            return None
        if then == "none":
            return "destroyed"
        if then == "shutoff":
            return "powered off"
        if then == "running" and was == "running":
            soft = any("Failed to soft reboot" in line and uuid in line for line in now["noted"])
            return "rebooted" if soft else "rebooted hard"
        if then == "running":
            return "unpaused" if pid == new else "started"
        return f"{was} {pid}, then {then} {new}"

    @staticmethod
    def _starts(look, uuid):
        return look["starts"].get(uuid, 0)

    def told(self, now):
        """What a start did, for people and for a fixture: no host, no path, no time."""
        text = "\n".join(now["noted"])
        refused = [line for line in now["noted"] if any(word in line for word in (*REFUSALS, NOT_VALID))]
        after, services = self._nodes(), self._services()
        return {
            "outcome": "refuses" if refused else "starts" if JOINED in text else "unknown",
            "printed": [_words(line) for line in refused][:2],
            "guests": self.happened(now),
            "nodes": {
                uuid: [self.nodes.get(uuid, [None, None])[1], after.get(uuid, [None, None])[1]]
                for uuid in sorted({*self.nodes, *after})
            },
            "orphans": sorted({word for word in ("Deleting orphan", "Found orphan") if word in text}),
            "new_services": sorted(set(services) - set(self.services)),
        }


def _words(line):
    """What a line of the log says, without when and who."""
    return re.sub(r"^.*?(CRITICAL|ERROR) \S+ (\[[^\]]*\] )?", "", line)[:400]


def guests(lab):
    """Names of the guests of all hosts to their uuids; those that are missing are booted, without ports."""
    wanted = [(f"state-{host}-{slot}", host) for slot in range(1, SLOTS + 1) for host in lab.hosts]
    known = {row["name"]: row["id"] for row in guestkit.every(lab).values()}
    flavor = lab.cloud.compute.find_flavor("nano", ignore_missing=False).id
    image = lab.cloud.image.find_image("blank", ignore_missing=False).id

    # Nova's default is ten.
    project = lab.cloud.current_project_id
    lab.compute("PUT", f"/os-quota-sets/{project}", {"quota_set": {"instances": -1, "cores": -1, "ram": -1}})

    def boot(name, host):
        body = {"name": name, "flavorRef": flavor, "imageRef": image, "networks": "none", "host": host}
        return lab.compute("POST", "/servers", {"server": body})["server"]["id"]

    result = {name: known[name] if name in known else boot(name, host) for name, host in wanted}

    def active():
        rows = guestkit.every(lab)
        assert not [row for row in rows.values() if row["status"] == "ERROR"], rows
        return all(rows[uuid]["status"] == "ACTIVE" and rows[uuid]["task"] is None for uuid in result.values())

    waiting.until("the guests", active, 600, pause=3)
    return result


def unmet(host):
    """Guests for which what the forecast makes conditional does not come true, with the reason."""
    found = {uuid: without(guest, host.state) for uuid, guest in zip(host.guests, host.state.guests)}
    return {uuid: reason for uuid, reason in found.items() if reason}
