# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of a series of maintained hosts do. Servers are moved by the mover of all operations.

What only Ansible can do, to read hosts and to work on them, a step asks for with :class:`NeedError`: the role does it,
and calls again with the answers. Nothing is remembered between two calls but the journal.
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ..engine.runner import Action, Done, StepError, TimedOutError
from ..engine.service_status import ServiceStatus
from ..engine.systems import Memory, Params, Systems, as_step_error
from ..hazards import osds
from ..model import findings
from ..model.facts import ApiAgent, Bundle, FactsError
from ..model.findings import Checked, blocking_findings
from ..model.lookups import OURS
from ..model.names import conf_host
from ..model.requests import MigrationRequest
from ..model.times import moment
from ..model.wording import count
from ..moves import mover
from ..moves.steps import Hold
from ..records import evidence
from ..reports.terminal import findings_text
from ..systems.api import compute_services, network, server_records, trial_servers
from . import preflight as checks
from . import verify
from .plan import Work
from .preflight import SeriesRequest

Json = t.Dict[str, t.Any]

READ_HOSTS, READ_CLOUD, WORK, PROBE = "read_hosts", "read_cloud", "work", "probe"
#: Actions of steps; the first one is what the role is asked for, too.
NOOUT, NOOUT_OFF = "noout", "noout_off"
#: Seconds in which a test server starts, moves, and is deleted, each.
TEST = 600
#: Seconds in which an agent that lives has reported itself twice: they report every 30 s, and OVN's answer a ping that
#: neutron sends after half of agent_down_time (75 s), when somebody asks.
HEARD = 120
#: Codes that say nothing without the databases, whose URL an operator need not give.
_OF_DATABASES = "SG2"


class NeedError(StepError):
    """The role has to do something first. ``needs``: one mapping for each thing, with its C(kind)."""

    def __init__(self, message: str, needs: t.Sequence[Json]) -> None:
        super().__init__(message)
        self.needs = tuple(needs)


@dataclasses.dataclass
class Answers:
    """What the role has done since the last call, each good for one step."""

    given: t.List[t.Mapping[str, t.Any]]
    #: Whether all hosts were measured just now.
    measured: bool = False

    @classmethod
    def of(cls, given: t.Sequence[t.Mapping[str, t.Any]]) -> Answers:
        """Take the answers of a call. Who was asked whether a destination can be reached was measured before that."""
        return cls(list(given), any(entry.get("kind") in (READ_HOSTS, PROBE) for entry in given))

    def take(self, kind: str, hosts: t.Sequence[str]) -> t.Optional[t.Mapping[str, t.Any]]:
        """Return the answer about these hosts, once; None: nothing was done for them in this call."""
        for entry in self.given:
            if entry.get("kind") == kind and list(entry.get("hosts") or ()) == list(hosts):
                self.given.remove(entry)
                return entry
        return None


@dataclasses.dataclass(frozen=True)
class SeriesContext:
    """What the steps are given."""

    request: SeriesRequest
    context: mover.MoveContext
    answers: Answers
    directory: str
    operation_id: str
    #: Notes in the journal what a step has learnt.
    keep: t.Callable[[str, Json], None]
    now: t.Callable[[], str]
    has_databases: bool
    #: What this run does on hosts: a run that resumes may name other work than the one before.
    work: Work
    #: Who this run is, for people.
    who: str = ""

    def bundle(self) -> Bundle:
        """Return what was read into the evidence directory. Raises StepError."""
        try:
            return evidence.load_dir(self.directory)
        except FactsError as error:
            raise StepError(str(error)) from error

    def read(
        self, hosts: t.Sequence[str], write: bool = False, with_osds: bool = False, first: t.Sequence[Json] = ()
    ) -> Bundle:
        """Return what was read in this call, of all hosts and of what Nova says of ``hosts``. Raises NeedError.

        ``first``: what the role does before it reads.
        """
        if self.answers.measured and self.answers.take(READ_CLOUD, hosts) is not None:
            return self.bundle()
        names = inventory_names(self.bundle(), hosts)
        raise NeedError(
            f"the run reads all compute hosts, and what Nova and the databases have of {', '.join(hosts)}",
            [
                *first,
                {"kind": READ_HOSTS, "hosts": [names[host] for host in hosts], "write": write, "osds": with_osds},
                {"kind": READ_CLOUD, "hosts": list(hosts)},
            ],
        )

    def require_measurement(self) -> None:
        """Raise NeedError where the hosts are to be measured first: memory is good for one step."""
        if not self.answers.measured:
            raise NeedError("the run measures all compute hosts before it moves servers", [{"kind": READ_HOSTS}])
        self.answers.measured = False

    def mover(self, systems: Systems, step: str, request: MigrationRequest) -> mover.MoveServers:
        """Return the mover of one step."""

        def keep(past: mover.RoundHistory) -> None:
            self.keep(step, dataclasses.asdict(past))

        context = dataclasses.replace(self.context, request=request, keep=keep)
        return mover.MoveServers(systems, context, step)

    def stop_unless(self, checked: Checked, what: str, unread_too: bool) -> None:
        """Raise StepError where something stands against a step. ``unread_too``: what was not read does, too."""
        unread = [
            entry
            for entry in checked.unchecked
            if unread_too and (self.has_databases or not entry.code.startswith(_OF_DATABASES))
        ]
        standing = blocking_findings(checked.findings, self.context.overrides)
        if standing or unread:
            told = Checked(tuple(standing), tuple(unread))
            raise StepError(f"{what}:\n{findings_text(told)}", checked=checked)


def inventory_names(bundle: Bundle, hosts: t.Sequence[str]) -> t.Dict[str, str]:
    """Return the inventory's name by Nova's. Raises StepError for a host that was not read."""
    named = {conf_host(facts): facts.inventory_name for facts in bundle.hosts.values()}
    missing = [host for host in hosts if host not in named]
    if missing:
        why = "; ".join(f"{name}: {reason}" for name, reason in sorted(bundle.unreachable.items()))
        raise StepError(f"the run has not read {', '.join(missing)}" + (f" ({why})" if why else ""))
    return {host: named[host] for host in hosts}


def actions(systems: Systems, context: SeriesContext) -> t.Dict[str, Action]:
    """Return what carries out each step of the plan."""
    return {
        "room": FindRoom(systems, context),
        "hold_host": HoldHost(systems),
        "drain": EmptyHost(systems, context),
        NOOUT: SetNoout(context),
        "work": WorkOnHosts(systems, context),
        NOOUT_OFF: RemoveNoout(context),
        "prove": ProveHosts(systems, context),
        "enable": ServiceStatus(systems),
        "refill": Refill(systems, context),
        "test": TestServer(systems, context),
    }


class FindRoom:
    """Judge the next hosts once more, before they are touched, and write down how they are."""

    def __init__(self, systems: Systems, context: SeriesContext) -> None:
        self.systems = systems
        self.context = context

    def apply(self, params: Params, memory: Memory) -> Done:
        """Read, judge, and note what the proof compares with. Changes nothing."""
        hosts = params["hosts"]
        noout = params.get("noout")
        bundle = self.context.read(hosts, with_osds=noout is not None)
        with as_step_error():
            found = self.context.context.collect(hosts, None)
            deleted = {host: server_records.soft_deleted(self.systems.cloud, host) for host in hosts}
        alone = dataclasses.replace(self.context.request, noout=noout is not None)
        request = dataclasses.replace(alone, hosts=tuple(hosts), serial=len(hosts))
        decision = checks.judge(found, request, deleted, self.context.context.overrides)
        self.context.stop_unless(decision.checked, f"{', '.join(hosts)}: the series stops here", unread_too=False)
        if [batch.hosts for batch in decision.batches] != [tuple(hosts)]:
            raise StepError(f"the zone has no room any more to empty {', '.join(hosts)} at the same time")
        new = sorted(set(decision.osds) - set(noout or ()))
        if new:
            raise StepError(f"{', '.join(new)}: has OSDs now, and had none when the series was planned. End the series")
        servers = {
            host: sorted(server.id for server in found.zones.servers or [] if server.host == host) for host in hosts
        }
        return Done(
            f"{count(len(decision.batches[0].assigned), 'server')} to move, {decision.batches[0].moved_mib} MiB"
            f"{self._left(params, memory)}",
            {
                "before": {host: self._before(bundle, host) for host in hosts},
                "boots": self._boots(bundle, hosts),
                "servers": servers,
                "osds": {host: _known_osds(told) for host, told in decision.osds.items()},
                "moving_mib": decision.batches[0].moved_mib,
                "at": self.context.now(),
            },
        )

    def _left(self, params: Params, memory: Memory) -> str:
        """Say how long the rest takes, by what the hosts before took."""
        begun = [str(entry["at"]) for name, entry in memory.items() if name.startswith("room:") and "at" in entry]
        done = params["total"] - len(params["rest"])
        if not begun or not done:
            return ""
        now, first = moment(self.context.now()), moment(min(begun))
        if now is None or first is None:
            return ""
        minutes = (now - first).total_seconds() / done * len(params["rest"]) / 60
        left = f"{minutes / 60:.1f} hours" if minutes >= 120 else f"{max(1, round(minutes))} min"
        return f"; about {left} left for {count(len(params['rest']), 'host')}"

    def _before(self, bundle: Bundle, host: str) -> Json:
        return verify.state_before(bundle, proof_request(self.context, bundle, host, "", None))

    @staticmethod
    def _boots(bundle: Bundle, hosts: t.Sequence[str]) -> t.Dict[str, t.Optional[str]]:
        return {str(conf_host(facts)): facts.boot_id for facts in bundle.hosts.values() if conf_host(facts) in hosts}

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


class HoldHost(Hold):
    """The host disabled in the name of the series. Undone by what became of it: see :meth:`undo`."""

    def __init__(self, systems: Systems) -> None:
        super().__init__(systems)
        self._memory: Memory = {}

    def recall(self, memory: Memory) -> None:
        """Take note of what the steps have done."""
        self._memory = memory

    def undo(self, params: Params) -> t.Optional[Done]:
        """Give the host back what it had; one that was worked on and not proven stays disabled, with another reason."""
        host = params["host"]
        with as_step_error():
            service = compute_services.find_service(self.systems.cloud, host)
        if service is None or service.disabled_reason != params["after"]["reason"]:
            # It is enabled again, or somebody else has disabled it.
            return Done(f"the compute service of {host} is left as it is")
        worked = any(
            isinstance(entry, t.Mapping) and host in (entry.get("worked_on") or ()) for entry in self._memory.values()
        )
        if not worked:
            super().undo(params)
            return None
        reason = f"not proven after its maintenance ({params['after']['reason'][len(OURS) :]})"
        self._put(params, {"status": "disabled", "reason": reason}, params["after"])
        return Done(f"{host} stays disabled: {reason}. To prove and enable it, run enable_host")


class EmptyHost:
    """All servers of a host moved within their zones."""

    def __init__(self, systems: Systems, context: SeriesContext) -> None:
        self.systems = systems
        self.context = context

    def apply(self, params: Params, memory: Memory) -> Done:
        """Move them: whoever is there by now."""
        self.context.require_measurement()
        return self._mover(params).apply(params, memory)

    def undo(self, params: Params) -> None:
        """End unfinished moves. Servers that have moved stay."""
        self._mover(params).undo(params)

    def _mover(self, params: Params) -> mover.MoveServers:
        host = params["host"]
        return self.context.mover(self.systems, f"move:{host}", self.context.request.of_host(host))


def _known_osds(told: osds.HostOsds) -> Json:
    """Return what the steps need of a host's OSDs. One that is down is not the maintenance's: Ceph goes on with it."""
    up = [osd.id for osd in told.osds if osd.up]
    return {"osds": up, "fsid": told.fsid, "pool": told.pool, "readers": list(told.readers)}


def noout_need(act: str, host: str, told: Json, tried: t.Sequence[str], seconds: int = 0) -> Json:
    """Return what the role is asked to do with OSDs. ``tried``: hosts that have not reached the cluster."""
    named = {name: told[name] for name in ("osds", "fsid", "pool", "readers")}
    return {**named, "kind": NOOUT, "act": act, "hosts": [host], "tried": list(tried), "seconds": seconds}


def noout_told(memory: Json) -> Json:
    """Return what a report says of noout: which OSDs, who has set it and when, and when it was removed."""
    return {key: memory[key] for key in ("osds", "by", "at", "removed_at") if key in memory}


class Noout:
    """noout of the OSDs of a host, by whichever host reaches its cluster."""

    def __init__(self, context: SeriesContext) -> None:
        self.context = context

    def have_done(self, act: str, host: str, told: Json) -> t.List[Json]:
        """Return the OSDs as they are after it was done in this call. Raises NeedError, and StepError."""
        answer = self.context.answers.take(f"{NOOUT}_{act}", [host]) or {}
        result = answer.get("result") or {}
        if answer and not result.get("failed") and not result.get("unreachable"):
            return list(result["osds"])
        if not answer or (answer.get("more") and not result.get("reached")):
            need = noout_need(act, host, told, answer.get("tried") or [])
            raise NeedError(f"noout of the OSDs of {host}: {act}", [need])
        tried = ", ".join(answer.get("tried") or ())
        raise StepError(
            f"noout of {', '.join(osds.named(told['osds']))} of {host} ({act}, asked on {tried}): "
            f"{result.get('msg') or 'no answer'}",
            problem="noout-failed",
        )

    def remove(self, host: str, memory: Memory) -> t.Optional[Done]:
        """Remove what this series has set, and nothing else."""
        mine = memory.get(f"noout:{host}") or {}
        if not mine.get("osds"):
            return None
        found = self.have_done("absent", host, mine)
        down = osds.named(entry["id"] for entry in found if not entry["up"])
        more = f". {', '.join(down)}: down, so Ceph soon copies their data to others" if down else ""
        told = {**mine, "removed_at": self.context.now()}
        return Done(f"{', '.join(osds.named(mine['osds']))}: noout is removed{more}", told)


class SetNoout(Noout):
    """noout set of the OSDs of a host that are up and have it in no other way."""

    def __init__(self, context: SeriesContext) -> None:
        super().__init__(context)
        self._memory: Memory = {}

    def recall(self, memory: Memory) -> None:
        """Take note of what the steps have done."""
        self._memory = memory

    def apply(self, params: Params, memory: Memory) -> Done:
        """Look which have none, write these down, and only then set it: a run that resumes knows its own."""
        host = params["host"]
        mine = memory.get(f"noout:{host}")
        if mine is None:
            told = ((memory.get(f"room:{params['number']}") or {}).get("osds") or {}).get(host)
            if not told or not told["osds"]:
                return Done("no OSD is up")
            found = self.have_done("listed", host, told)
            free = [entry["id"] for entry in found if entry["up"] and not entry["noout"]]
            mine = {**told, "osds": free, "by": self.context.who, "at": self.context.now()}
            self.context.keep(f"noout:{host}", mine)
        if not mine["osds"]:
            return Done("each OSD that is up has noout already")
        self.have_done("present", host, mine)
        return Done(f"{', '.join(osds.named(mine['osds']))}: noout is set, by {mine['by']}")

    def undo(self, params: Params) -> t.Optional[Done]:
        """Remove it, unless that was done: what is set since then is somebody else's."""
        host = params["host"]
        if (self._memory.get(f"noout-off:{host}") or {}).get("removed_at"):
            return None
        return self.remove(host, self._memory)


class RemoveNoout(Noout):
    """noout removed again, once the host is proven, of those OSDs of which the series has set it."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Remove it."""
        return self.remove(params["host"], memory) or Done("the series has set none")

    def undo(self, params: Params) -> None:
        """It stays removed."""


class WorkOnHosts:
    """The operator's work, on hosts that are empty and disabled."""

    def __init__(self, systems: Systems, context: SeriesContext) -> None:
        self.systems = systems
        self.context = context

    def apply(self, params: Params, memory: Memory) -> Done:
        """Look once more whether the hosts are empty and held; then have the role work on them."""
        hosts, step = params["hosts"], f"work:{params['number']}"
        answer = self.context.answers.take(WORK, hosts)
        if answer is None:
            self._require_empty(hosts)
            names = inventory_names(self.context.bundle(), hosts)
            boots = (memory.get(f"room:{params['number']}") or {}).get("boots") or {}
            self.context.keep(step, {"worked_on": list(hosts)})
            need = dataclasses.asdict(self.context.work)
            raise NeedError(
                f"the work on {', '.join(hosts)} begins",
                [
                    {
                        **need,
                        "kind": WORK,
                        "hosts": list(hosts),
                        "inventory_hosts": [names[host] for host in hosts],
                        "boots": {names[host]: boots.get(host) for host in hosts},
                    }
                ],
            )
        results = answer.get("results") or {}
        failed = [f"{host}: {entry.get('msg') or 'failed'}" for host, entry in results.items() if entry.get("failed")]
        if failed or len(results) != len(hosts):
            raise StepError(
                f"the work has failed: {'; '.join(failed) or 'a host has not answered'}. {', '.join(hosts)}: the "
                "compute service stays disabled",
                problem="work-failed",
            )
        return Done("done", {"worked_on": list(hosts), "reboot": self.context.work.reboot})

    def _require_empty(self, hosts: t.Sequence[str]) -> None:
        for host in hosts:
            with as_step_error():
                there = server_records.servers_on(self.systems.cloud, host)
                service = compute_services.find_service(self.systems.cloud, host)
            if there:
                names = ", ".join(server.name for server in there)
                raise StepError(f"{host} is not empty any more: {names}. To move them, run the same command again")
            held = checks.held_as(self.context.operation_id)
            if service is None or service.disabled_reason != held:
                raise StepError(f"SG707 lock-held: the compute service of {host} is not disabled by this series")

    def undo(self, params: Params) -> None:
        """The work stays as it is."""


class ProveHosts:
    """The hosts proven: as they were before, and able to take guests."""

    def __init__(self, systems: Systems, context: SeriesContext) -> None:
        self.systems = systems
        self.context = context

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait until nova-compute reports, read all, and judge. Changes nothing."""
        hosts = params["hosts"]
        if not self.context.answers.measured:
            for host in hosts:
                self._wait(host, self.context.work.seconds)
        kept = (memory.get(f"room:{params['number']}") or {}).get("osds") or {}
        waits = [self._up(host, told) for host, told in sorted(kept.items()) if told["osds"]]
        bundle = self.context.read(hosts, write=True, with_osds=bool(kept), first=waits)
        self.context.answers.measured = False
        before = (memory.get(f"room:{params['number']}") or {}).get("before") or {}
        rebooted = bool((memory.get(f"work:{params['number']}") or {}).get("reboot"))
        wanted = {(host, str(kind)) for host in hosts for kind in (before.get(host) or {}).get("agents") or ()}
        bundle, heard = hear_agents(self.systems, bundle, hosts, wanted)
        found = Checked()
        for host in hosts:
            state = dict(before.get(host) or {})
            request = proof_request(self.context, bundle, host, params["held_as"], state, rebooted)
            request = dataclasses.replace(request, heard=heard, osds=tuple((kept.get(host) or {}).get("osds") or ()))
            found += verify.unproven(bundle, request)
        what = f"{', '.join(hosts)}: not proven, so the series stops, and no other host is touched"
        self.context.stop_unless(found, what, unread_too=True)
        return Done(f"{', '.join(hosts)}: as before, and able to take guests")

    def _up(self, host: str, told: Json) -> Json:
        """Return what the role waits for before it reads: what it then reads decides."""
        return noout_need("up", host, told, [], self.context.work.seconds)

    def _wait(self, host: str, seconds: int) -> None:
        first: t.List[t.Optional[str]] = []

        def seen() -> t.Optional[str]:
            with as_step_error():
                service = compute_services.find_service(self.systems.cloud, host)
            if service is None:
                return None
            first.append(service.updated_at)
            # A new heartbeat: the state is up for a minute after nova-compute has died.
            return "up" if service.state == "up" and service.updated_at != first[0] else None

        self.systems.wait(lambda: f"nova-compute of {host} reports to Nova again", seconds, seen)

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


def hear_agents(
    systems: Systems, bundle: Bundle, hosts: t.Sequence[str], wanted: t.Optional[t.Collection[t.Tuple[str, str]]] = None
) -> t.Tuple[Bundle, t.Optional[t.Dict[str, t.Optional[str]]]]:
    """Wait until the agents of the hosts have reported themselves since they were read, or had the time to.

    ``wanted``: each host with a kind that is waited for; None: all that neutron shows, or has shown. Returns the bundle
    with the agents as they are now, and the heartbeats that were read before. Raises StepError.
    """
    if bundle.cloud is None or bundle.cloud.agents is None:
        return bundle, None
    known = [row for row in bundle.cloud.agents if row.host in hosts]
    heard = {row.id: row.heartbeat_timestamp for row in known}
    now: t.List[ApiAgent] = []

    def all_heard() -> t.Optional[str]:
        with as_step_error():
            now[:] = [row for host in hosts for row in network.agents_now(systems.cloud, host)]
        # One that neutron shows no more is not "none": with OVN, the record goes with a chassis that is stopped.
        there = {row.id for row in now}
        now.extend(dataclasses.replace(row, alive=False) for row in known if row.id not in there)
        reported = {(row.host, verify.agent_kind(row)) for row in now if verify.has_reported(row, heard)}
        awaited = {(row.host, verify.agent_kind(row)) for row in now} if wanted is None else set(wanted)
        return "all" if awaited <= reported else None

    with contextlib.suppress(TimedOutError):
        systems.wait(lambda: f"each network agent of {', '.join(hosts)} reports itself", HEARD, all_heard)
    return dataclasses.replace(bundle, cloud=dataclasses.replace(bundle.cloud, agents=now)), heard


def proof_request(
    context: SeriesContext,
    bundle: Bundle,
    host: str,
    held_as: str,
    before: t.Optional[Json],
    rebooted: bool = False,
) -> verify.ProofRequest:
    """Return what is to be proven of a host. ``held_as``: why it is disabled now."""
    return verify.ProofRequest(
        host=host,
        inventory_name=inventory_names(bundle, [host])[host],
        operation_id=context.operation_id,
        held_as=held_as if held_as.startswith(OURS) else "",
        before=before,
        rebooted=rebooted,
    )


class TestServer:
    """A server of our own started on the host, live-migrated away, and deleted."""

    def __init__(self, systems: Systems, context: SeriesContext) -> None:
        self.systems = systems
        self.context = context

    def apply(self, params: Params, memory: Memory) -> Done:
        """Try the host. If that fails, the host is disabled again with the reason."""
        host, test = params["host"], params["test"]
        self._enable(params)
        try:
            with as_step_error():
                servers = trial_servers.TrialServers(self.systems.cloud, test.get("project"))
            uuid = self._started(servers, host, test)
            moved = self._moved(uuid, host, params, memory)
            self._delete(servers, uuid)
        except (NeedError, mover.AgainError):
            raise
        except StepError as error:
            self._disable(params)
            raise StepError(
                f"{host}: its test server has failed, and its compute service is disabled again: {error}",
                checked=error.checked,
                problem="test-failed",
            ) from error
        return Done(f"the test server ran on {host}, moved live to {moved}, and is deleted")

    def undo(self, params: Params) -> None:
        """Delete what is left of it."""
        with as_step_error():
            servers = trial_servers.TrialServers(self.systems.cloud, params["test"].get("project"))
            found = servers.find(self._name(params["host"]))
        if found is not None:
            self._delete(servers, found["id"])

    def _name(self, host: str) -> str:
        return f"stackguard-test-{self.context.operation_id}-{host}"

    def _started(self, servers: trial_servers.TrialServers, host: str, test: Json) -> str:
        name = self._name(host)
        with as_step_error():
            found = servers.find(name)
            uuid = str(found["id"]) if found is not None else servers.create(name, host, test)
            if found is None:
                # What was read of the host is older than the server: its move would find no guest there.
                self.context.answers.measured = False

        def runs() -> t.Optional[str]:
            with as_step_error():
                server = server_records.raw_server(self.systems.cloud, uuid)
            if server is None or server["status"] == "ERROR":
                fault = ((server or {}).get("fault") or {}).get("message") or "it is gone"
                self._delete(servers, uuid)
                raise StepError(f"the test server {uuid} did not start on {host}: {fault}")
            return "ACTIVE" if server["status"] == "ACTIVE" and not server.get("OS-EXT-STS:task_state") else None

        self.systems.wait(lambda: f"the test server {uuid} runs on {host}", TEST, runs)
        return uuid

    def _moved(self, uuid: str, host: str, params: Params, memory: Memory) -> str:
        with as_step_error():
            server = server_records.raw_server(self.systems.cloud, uuid) or {}
            zone = compute_services.zone_of_host(self.systems.cloud, host)
        there = str(server.get("OS-EXT-SRV-ATTR:host"))
        if there != host:
            # It has moved already, in an earlier call.
            return there
        self.context.require_measurement()
        request = dataclasses.replace(self.context.request.moves, drain_host=None, within="", servers=(uuid,))
        entry = {"uuid": uuid, "name": server["name"], "status": server["status"], "host": host, "zone": zone}
        made = self.context.mover(self.systems, f"test:{host}", request)
        done = made.apply({"host": None, "servers": [entry], "timeout": TEST}, memory)
        return str((done.memory or {}).get("moved", {}).get(uuid))

    def _delete(self, servers: trial_servers.TrialServers, uuid: str) -> None:
        with as_step_error():
            servers.delete(uuid)

        def gone() -> t.Optional[str]:
            with as_step_error():
                return "gone" if server_records.raw_server(self.systems.cloud, uuid) is None else None

        self.systems.wait(lambda: f"the test server {uuid} is deleted", TEST, gone)

    def _enable(self, params: Params) -> None:
        """Enable a host that an earlier run has disabled again: a disabled host takes no test server."""
        status = params["enable"]
        with as_step_error():
            service = compute_services.find_service(self.systems.cloud, params["host"])
        if service is not None and (service.status, service.disabled_reason) == _status(status["before"]):
            ServiceStatus(self.systems).apply(status, {})

    def _disable(self, params: Params) -> None:
        before = _status(params["enable"]["before"])
        self.systems.still_ours()
        with as_step_error():
            compute_services.set_service_status(
                self.systems.cloud, params["enable"]["service_id"], before[0], before[1], ("enabled", None)
            )


def _status(entry: Json) -> t.Tuple[str, t.Optional[str]]:
    return str(entry["status"]), entry["reason"]


class Refill:
    """The servers that a host had before moved back to it: those that exist and are elsewhere in its zone."""

    def __init__(self, systems: Systems, context: SeriesContext) -> None:
        self.systems = systems
        self.context = context

    def apply(self, params: Params, memory: Memory) -> Done:
        """Move them back."""
        self.context.require_measurement()
        host = params["host"]
        uuids = ((memory.get(f"room:{params['number']}") or {}).get("servers") or {}).get(host) or []
        request = dataclasses.replace(self.context.request.moves, drain_host=None, destination=host, within="")
        servers = self._now(host, uuids)
        if not servers:
            return Done("no server to move back")
        made = self.context.mover(self.systems, f"refill:{host}", request)
        return made.apply({"host": None, "servers": servers, "timeout": params["timeout"]}, memory)

    def _now(self, host: str, uuids: t.Sequence[str]) -> t.List[Json]:
        found = []
        with as_step_error():
            zones = compute_services.zones_of_hosts(self.systems.cloud)
            for uuid in uuids:
                server = server_records.raw_server(self.systems.cloud, uuid)
                there = (server or {}).get("OS-EXT-SRV-ATTR:host")
                if server is None or there is None or there == host or zones.get(there) != zones.get(host):
                    continue
                entry = {"uuid": uuid, "name": server["name"], "status": server["status"], "host": there}
                found.append({**entry, "zone": zones.get(host)})
        return found

    def undo(self, params: Params) -> None:
        """Servers stay where they are."""


def report_of(checked: Checked, at: str, hosts: int, overrides: t.Sequence[findings.Override]) -> Json:
    """Return the report of what a step or the preflight has found."""
    return findings.report(checked, at, hosts, 0, overrides)
