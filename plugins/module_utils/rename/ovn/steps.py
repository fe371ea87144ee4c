# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of a rename with OVN do: ports, chassis and neutron's rows, through C(systems/) only.

Each can be carried out again and taken back, whether it was done wholly, partly or not at all: what a port names is
read, and is one of the old hostname, the chassis' name and the new hostname.
"""

from __future__ import annotations

import contextlib
import threading
import time
import typing as t

from ...engine.runner import Action, Done, StepError
from ...engine.systems import Memory, Params, Systems, as_step_error, noted
from ...model.codes.catalogue import remedy_text
from ...model.errors import Conflict, OvnError
from ...model.findings import (
    WARNING,
    Checked,
    Subject,
    blocking_findings,
    finding,
)
from ...model.ovn import OvnChassis
from ...model.wording import count
from ...reports.terminal import findings_text
from ...systems.db import neutron_bindings
from ...systems.ovn import northbound, reading, southbound
from ...systems.ovn.database import OvnAccess, OvnDatabase
from . import verify as after

#: How often the ports are looked at until none names the wrong host: owners update theirs at any time.
PASSES = 20
#: How often a transaction of neutron's that is in the way is waited for.
TRIES = 3
#: Seconds that a port may take until its chassis has it again.
CLAIM = 10
_AGAIN = (
    "While the run changed the ports, an update by a port's owner may have cut the port off from the network. "
    "Run the same command again"
)


class PortWatch:
    """Sees a port that names a wrong host in the moment it does, corrects it, and measures how long it was cut off.

    Neutron writes what its database holds whenever the owner of a port updates it. Where that is no name of the
    chassis, the chassis releases the port within milliseconds.
    """

    def __init__(
        self, ports: OvnDatabase, bindings: OvnDatabase, params: Params, fresh: t.Callable[[], None] = lambda: None
    ) -> None:
        self._ports, self._bindings, self._fresh = ports, bindings, fresh
        self._name, self._keep = str(params["chassis"]["name"]), _kept(params)
        self._moves: t.Dict[str, str] = {}
        self._changed, self._ended = threading.Event(), threading.Event()
        #: Held while ports are changed: what the operation itself is about to change is no owner's update.
        self.changing = threading.Lock()
        self._late: t.Set[str] = set()
        self._cut: t.Dict[str, float] = {}
        self._thread: t.Optional[threading.Thread] = None
        #: Ports that were corrected, how often, and the milliseconds that each was without a chassis.
        self.corrected: t.Dict[str, int] = {}
        self.outages: t.Dict[str, int] = {}
        #: How often the watch itself has changed something.
        self.turns = 0
        self._problem: t.Optional[Exception] = None

    def aim(self, moves: t.Mapping[str, str]) -> None:
        """Say which hosts are wrong from now on, and which is right instead of each."""
        self._moves = dict(moves)

    def note(self, ports: t.Iterable[str]) -> None:
        """Take note of ports that named a wrong host and were corrected."""
        for port in ports:
            self.corrected[port] = self.corrected.get(port, 0) + 1

    def start(self) -> None:
        """Begin to look. How long a port has been without a chassis by now is not known."""
        for binding in southbound.read_bindings(self._bindings):
            if binding.chassis is None:
                self._cut.setdefault(binding.logical_port, time.monotonic())
                self._late.add(binding.logical_port)
        self._ports.listen(self._port)
        self._bindings.listen(self._binding)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def told(self) -> Checked:
        """Return what to tell until now, once each port that was corrected is bound again. It is told once."""
        end = time.monotonic() + CLAIM
        while set(self._cut) & set(self.corrected) and time.monotonic() < end:
            time.sleep(0.01)
        with self.changing:
            found = Checked(tuple(self._finding(port) for port in sorted(self.corrected)))
            for port in self.corrected:
                self.outages.pop(port, None)
            self.corrected.clear()
        return found

    def stop(self) -> Checked:
        """End it, and return what to tell. Raises StepError where it did not watch to its end: that proves nothing."""
        died = self._thread is not None and not self._thread.is_alive()
        # The last look is the caller's own: what failed a moment ago and works again is no problem.
        self._look()
        told = self.told()
        hangs = self.end()
        if died or hangs:
            raise StepError(
                f"the thread that watches the ports {'ended unexpectedly' if died else 'does not end'}. {_AGAIN}",
                problem="watch-ended",
            )
        if self._problem is not None:
            raise StepError(
                f"the run could no longer watch the ports: {_reason(self._problem)}. {_AGAIN}",
                problem="watch-failed",
            )
        return told

    def end(self) -> bool:
        """End it at once; return whether it does not end."""
        self._ended.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join(self._ports.timeout + 1)
        self._ports.listen(None)
        self._bindings.listen(None)
        return self._thread is not None and self._thread.is_alive()

    def _finding(self, port: str) -> t.Any:
        lost: t.Union[int, str] = self.outages.get(port, 0)
        if port in self._cut:
            lost = f"more than {int((time.monotonic() - self._cut[port]) * 1000)}"
        elif port in self._late:
            lost = f"more than {lost}"
        evidence = {"corrected": self.corrected[port], "milliseconds without its chassis": lost}
        return finding("SG326", Subject("port", port), evidence, remedy_text("SG326", "corrected"), WARNING)

    # --- told by the connections' own threads: short, and without a transaction

    def _port(self, table: str, row: t.Any) -> None:
        if table == northbound.PORTS and (northbound.requested(row) in self._moves or str(row.uuid) in self._keep):
            self._changed.set()

    def _binding(self, table: str, row: t.Any) -> None:
        if table != southbound.BINDINGS:
            return
        port = str(row.logical_port)
        if southbound.bound_to(row) == self._name:
            since = self._cut.pop(port, None)
            if since is not None:
                self.outages[port] = self.outages.get(port, 0) + max(1, int((time.monotonic() - since) * 1000))
        elif not row.chassis:
            self._cut.setdefault(port, time.monotonic())

    def _work(self) -> None:
        while not self._ended.is_set():
            self._changed.wait(0.2)
            self._changed.clear()
            self._look()

    def _look(self) -> None:
        with self.changing:
            try:
                # Another run may have taken over while this one was asleep.
                self._fresh()
                changed = northbound.point(self._ports, self._moves, self._keep, sync=False)
                self._problem = None
            except Exception as error:  # noqa: BLE001 (whatever it is, the watch goes on, and its end says so)
                self._problem = error
                return
            self.turns += 1 if changed else 0
            self.note(changed)


def _kept(params: Params) -> t.Dict[str, str]:
    """Return the ports that named the chassis before the rename, by uuid, each with that name."""
    return {str(uuid): str(params["chassis"]["name"]) for uuid in params["keep"]}


def _reason(error: Exception) -> str:
    known = isinstance(error, (OvnError, StepError))
    return str(error) if known else f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"


class OvnSession:
    """Both databases and the watch, of one operation in one run. Opened when first needed."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems
        self._northbound: t.Optional[OvnDatabase] = None
        self._southbound: t.Optional[OvnDatabase] = None
        self._watch: t.Optional[PortWatch] = None
        systems.at_end.append(self.abandon)

    def ports(self, params: Params) -> OvnDatabase:
        """Return the northbound database, with the ports of the host."""
        if self._northbound is None:
            names = dict.fromkeys((params["old"], params["new"], params["chassis"]["name"]))
            self._northbound = northbound.of_hosts(OvnAccess.of(self.systems.options), list(names))
            self._northbound.open()
        return self._northbound

    def bindings(self, params: Params) -> OvnDatabase:
        """Return the southbound database, with the bindings of the host's chassis."""
        if self._southbound is None:
            name = params["chassis"]["name"]
            names = dict.fromkeys((params["old"], params["new"], name))
            access = OvnAccess.of(self.systems.options)
            # The row may have been made again since the plan, and may be again: ports are selected by the names too.
            with southbound.of_chassis(access) as database:
                uuids = [entry.uuid for entry in southbound.read_chassis(database) if entry.name == name]
            self._southbound = southbound.of_chassis(access, uuids, list(names))
            self._southbound.open()
        return self._southbound

    def watch(self, params: Params) -> PortWatch:
        """Return the watch over the ports of the host."""
        if self._watch is None:
            databases = self.ports(params), self.bindings(params)
            self._watch = PortWatch(*databases, params, self.systems.fresh)
            self._watch.start()
        return self._watch

    def watched(self) -> Checked:
        """Return what the watch has to tell until now. It goes on."""
        return self._watch.told() if self._watch is not None else Checked()

    def end_watch(self) -> Checked:
        """End it, and return what it has to tell."""
        watch, self._watch = self._watch, None
        return watch.stop() if watch is not None else Checked()

    def point(
        self,
        params: Params,
        right: str,
        expected: t.Collection[str] = (),
        labels: t.Optional[t.Mapping[str, str]] = None,
    ) -> int:
        """Let every port of the host name what is right, whoever updates it from now on; return how many were changed.

        ``expected``: what a port may name before. One that names anything else was updated by its owner since.
        """
        watch = self.watch(params)
        hosts = dict.fromkeys((params["old"], params["new"], params["chassis"]["name"]))
        moves = {host: right for host in hosts if host != right}
        names: t.Dict[str, t.Optional[str]] = {}
        carried_out: t.Optional[int] = None
        for _pass in range(PASSES):
            with watch.changing:
                self.systems.fresh()
                watch.aim(moves)
                changed = northbound.point(self.ports(params), moves, _kept(params), labels, sync=False)
                turns = watch.turns
                watch.note(port for port, named in changed.items() if named is not None and named not in expected)
            names.update(changed)
            if not changed and carried_out == turns:
                return len(names)
            # What neutron writes while ovn-northd is waited for is seen by the next pass.
            northbound.synchronise(self.ports(params))
            carried_out = turns
        raise StepError(
            f"other software keeps changing the requested chassis of these ports: {', '.join(sorted(names)[:5])}"
        )

    def now(self, params: Params) -> t.Optional[OvnChassis]:
        """Return the chassis of the host as it is now, by its name; None: there is none at this moment."""
        rows = southbound.read_chassis(self.bindings(params))
        return next((row for row in rows if row.name == params["chassis"]["name"]), None)

    def hostname(self, params: Params) -> str:
        """Return the hostname of the chassis. A restart of ovn-controller deletes its row: it is waited for."""
        found = self.bindings(params).wait(lambda: self.now(params), 2)
        if found is None:
            lacks = f"chassis {params['chassis']['name']} appears in OVN (ovn-controller must run on the host)"
            self.systems.wait(lambda: lacks, params["timeout"], lambda: "seen" if self.now(params) else None)
            found = self.now(params)
            if found is None:
                raise StepError(
                    f"OVN has no chassis {params['chassis']['name']}. Start ovn-controller on the host, then run the "
                    "same command again"
                )
        return found.hostname

    def released(self, params: Params, ports: t.Sequence[str]) -> t.List[str]:
        """Return those ports whose requested chassis is not the host's, as ovn-northd resolves it."""
        chassis, wanted = self.now(params), set(ports)
        mine = chassis.uuid if chassis is not None else None
        if mine is None:
            return sorted(wanted)
        found = southbound.read_bindings(self.bindings(params))
        return sorted(entry.logical_port for entry in found if entry.logical_port in wanted and entry.requested != mine)

    @contextlib.contextmanager
    def working(self) -> t.Iterator[None]:
        """Turn errors into StepErrors. A step that fails ends the watch: nothing works on behind the run's back."""
        try:
            with as_step_error():
                yield
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """End the watch without waiting for anything, and disconnect."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.end()
        self.close()

    def close(self) -> None:
        """Disconnect."""
        for database in (self._northbound, self._southbound):
            if database is not None:
                database.close()
        self._northbound = self._southbound = None


class PortsByChassis:
    """Every port that names the host names its chassis, whose name does not change."""

    def __init__(self, session: OvnSession) -> None:
        self.session = session

    def apply(self, params: Params, memory: Memory) -> Done:
        """Change them, see that the chassis keeps them, and watch from here on."""
        name = params["chassis"]["name"]
        with self.session.working():
            found = self.session.hostname(params)
            if found not in (params["old"], params["new"]):
                raise StepError(f"the hostname of the chassis is {found}, not {params['old']}", changed_meanwhile=True)
            changed = self.session.point(params, name, [params["old"]])
            self._keeps(params)
        return Done(f"{count(changed, 'port')} changed (requested-chassis: {name})")

    def _keeps(self, params: Params) -> None:
        lost: t.List[str] = []

        def seen() -> t.Optional[bool]:
            lost[:] = self.session.released(params, params["bound"])
            return None if lost else True

        if self.session.bindings(params).wait(seen) is None:
            raise StepError(
                "for these ports, ovn-northd did not find the host's chassis by the name in requested-chassis: "
                f"{', '.join(lost[:5])}"
            )

    def undo(self, params: Params) -> Done:
        """Let them name the old hostname, once the chassis has it."""
        with self.session.working():
            found = self.session.hostname(params)
            if found != params["old"]:
                raise StepError(
                    f"the hostname of the chassis is {found}, not {params['old']}. The run does not change the ports"
                )
            labels = {params["new"]: params["old"]}
            changed = self.session.point(params, params["old"], [params["chassis"]["name"]], labels)
            told = self.session.end_watch()
            self._nothing_left(params)
            self.session.close()
        done = f"{count(changed, 'port')} changed (requested-chassis: {params['old']}, labels: {params['old']})"
        return Done(done, _told(self.session.systems, told))

    def _nothing_left(self, params: Params) -> None:
        """No port names the new host, and no label: neutron wrote its own name as long as its rows had it."""
        new, kept = params["new"], _kept(params)
        left = [
            port.name
            for port in northbound.read_ports(self.session.ports(params))
            if new in (port.host_id, port.parent_hostname) or (port.requested == new and port.uuid not in kept)
        ]
        if left:
            raise StepError(f"these ports still have the name {new}: {', '.join(left[:5])}. Run the same command again")


class Hostname:
    """The hostname of the chassis: Open vSwitch says it, ovn-controller carries it on, with RBAC an administrator."""

    def __init__(self, session: OvnSession) -> None:
        self.session = session

    def apply(self, params: Params, memory: Memory) -> Done:
        """Give it the new one."""
        return Done(self._set(params, "apply", params["old"], params["new"]))

    def undo(self, params: Params) -> Done:
        """Give it the old one."""
        return Done(self._set(params, "undo", params["new"], params["old"]))

    def _set(self, params: Params, what: str, before: str, after_: str) -> str:
        session, systems = self.session, self.session.systems
        with self.session.working():
            # Nothing may name a hostname now: a run that was killed may have left a port that its owner updated.
            session.point(params, params["chassis"]["name"])
            found = session.hostname(params)
            if found not in (before, after_):
                raise StepError(f"the hostname of the chassis is {found}, not {before}")
            about = {"action": "ovs_hostname", "params": params["host"]}
            systems.host.call([{"op": what, **about}])
            if params["rbac"]:
                # Its controller may not write it, and fails at everything until the row says what Open vSwitch says.
                southbound.set_hostname(session.bindings(params), params["chassis"]["name"], before, after_)

            def seen() -> t.Optional[str]:
                chassis = session.now(params)
                return "seen" if chassis is not None and chassis.hostname == after_ else None

            name = params["chassis"]["name"]
            if session.bindings(params).wait(seen, 2) is None:
                systems.wait(lambda: f"chassis {name} has the hostname {after_}", params["timeout"], seen)
        return f"chassis {name}: hostname {after_}"


class Bindings:
    """Neutron's own rows of ports and segments: from then on it writes the other name itself."""

    def __init__(self, session: OvnSession) -> None:
        self.session = session

    def apply(self, params: Params, memory: Memory) -> Done:
        """Move them to the new name."""
        return Done(self._move(params, params["old"], params["new"]))

    def undo(self, params: Params) -> Done:
        """Move them to the old name."""
        return Done(self._move(params, params["new"], params["old"]))

    def _move(self, params: Params, before: str, after_: str) -> str:
        systems = self.session.systems
        planned = [(str(table), str(key)) for table, key in params["rows"]]
        with self.session.working():
            url = systems.url("neutron")
            for number in range(1, TRIES + 1):
                try:
                    moved = neutron_bindings.move_bindings(url, before, after_, planned, systems.fresh)
                    break
                except Conflict as error:
                    # Neutron updates a port in a moment; a row of both names is no such thing.
                    if number == TRIES or error.data.get("count"):
                        raise
                    systems.sleep(1)
        told = f"{count(moved.changed, 'row')} changed"
        told += f", {moved.already} already correct" if moved.already else ""
        told += (
            (f"; rows that appeared after the plan was made: {', '.join(moved.unplanned[:5])}")
            if moved.unplanned
            else ""
        )
        return told + (
            "; rows that the run did not change, because the owners deleted or moved the ports: "
            f"{', '.join(moved.gone[:5])}"
            if moved.gone
            else ""
        )


class PortsByHost:
    """Every port names the new hostname, as neutron would write it; neutron's labels too."""

    def __init__(self, session: OvnSession) -> None:
        self.session = session

    def apply(self, params: Params, memory: Memory) -> Done:
        """Change them. Noted: ports that their owners updated in between.

        The watch goes on until all of it is verified: what neutron had read before its rows changed, it may write now.
        """
        new = params["new"]
        with self.session.working():
            found = self.session.hostname(params)
            if found != new:
                raise StepError(f"the hostname of the chassis is {found}, not {new}. The run does not change the ports")
            changed = self.session.point(params, new, [params["chassis"]["name"], new], {params["old"]: new})
            told = self.session.watched()
        if told.findings:
            self.session.systems.remark(findings_text(told, self.session.systems.overrides))
        done = f"{count(changed, 'port')} changed (requested-chassis: {new}, labels: {new})"
        return Done(done, _told(self.session.systems, told))

    def undo(self, params: Params) -> Done:
        """Let them name the chassis, and give the labels the old name."""
        name = params["chassis"]["name"]
        with self.session.working():
            changed = self.session.point(params, name, [params["new"]], {params["new"]: params["old"]})
        return Done(f"{count(changed, 'port')} changed (requested-chassis: {name}, labels: {params['old']})")


class Verified:
    """All of it, read again: the same chassis, each port where it was, and a controller that can still write."""

    def __init__(self, session: OvnSession) -> None:
        self.session = session

    def apply(self, params: Params, memory: Memory) -> Done:
        """Compare, and refuse on any blocker and on what was not read."""
        session, systems = self.session, self.session.systems
        name, old, new = params["chassis"]["name"], params["old"], params["new"]
        with self.session.working():
            hostname = session.hostname(params)
            if hostname != new:
                raise StepError(
                    f"the hostname of the chassis is {hostname}, not {new}. The run does not change the ports"
                )
            session.point(params, new, (), {old: new})
            number, _milliseconds = northbound.synchronise(session.ports(params))

            def seen() -> t.Optional[str]:
                rows = southbound.read_chassis(session.bindings(params))
                done = [row.nb_cfg or 0 for row in rows if row.name == name]
                return "seen" if done and done[0] >= number else None

            # With RBAC, or with two chassis of one tunnel address, everything looks right and the controller is deaf.
            systems.wait(lambda: f"ovn-controller of {new} confirms changes in OVN again", params["timeout"], seen)
            told = session.end_watch()
            facts = reading.read_ovn(systems.options, [old, new, name])
            session.close()
        found = told + after.check(params, facts)
        if found.unchecked or blocking_findings(found.findings, []):
            raise StepError(f"findings in OVN after the rename:\n{findings_text(found)}", checked=found)
        if found.findings:
            systems.remark(findings_text(found, systems.overrides))
        ports = count(len(params["bindings"]), "port")
        text = f"chassis {name} and {ports} are correct, and ovn-controller confirms that it processes OVN's changes"
        return Done(text, noted(found, systems.overrides))

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


def _told(systems: Systems, found: Checked) -> t.Dict[str, t.Any]:
    return noted(found, systems.overrides)


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return every controller action of a rename with OVN, by the name that plans use."""
    session = OvnSession(systems)
    return {
        "ovn_ports_by_chassis": PortsByChassis(session),
        "ovn_hostname": Hostname(session),
        "neutron_bindings": Bindings(session),
        "ovn_ports_by_host": PortsByHost(session),
        "ovn_verified": Verified(session),
    }
