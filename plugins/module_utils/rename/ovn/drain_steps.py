# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What verifies OVN's chassis at the end of a rename by draining, through C(systems/) only."""

from __future__ import annotations

import typing as t

from ...engine.runner import Action, Done, StepError
from ...engine.systems import Memory, Params, Systems, noted
from ...model.findings import Checked, blocking_findings
from ...model.ovn import OvnFacts
from ...model.wording import count
from ...reports.terminal import findings_text
from ...systems.ovn import northbound, reading, southbound
from . import drain_verify as after
from .steps import OvnSession


class ChassisRenamed:
    """The chassis of an emptied host: ovn-controller has carried the new hostname on, with RBAC the run writes it."""

    def __init__(self, session: OvnSession) -> None:
        self.session = session

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for the hostname, read all of it, and refuse on any blocker and on what was not read."""
        session, systems = self.session, self.session.systems
        name, old, new = params["chassis"]["name"], params["old"], params["new"]
        with session.working():
            if params["rbac"] and session.hostname(params) == old:
                # Its controller may not write it, and fails at everything until the row says what Open vSwitch says.
                southbound.set_hostname(session.bindings(params), name, old, new)
            self._wait_for_hostname(params)
            self._wait_for_controller(params)
            facts = reading.read_ovn(systems.options, [old, new, name])
            session.close()
        found = _compared(systems, params, facts)
        ports = count(len(facts.switch_ports or []), "port")
        told = (
            f"chassis {name} has the hostname {new} and the same tunnel endpoints as before the rename. The run read "
            f"{ports} in OVN, and no port has the old hostname {old} in requested-chassis"
        )
        return Done(told, noted(found, systems.overrides))

    def _wait_for_hostname(self, params: Params) -> None:
        session, new = self.session, params["new"]

        def seen() -> t.Optional[str]:
            return "seen" if session.hostname(params) == new else None

        def lacking() -> str:
            chassis = session.now(params)
            return (
                f"chassis {params['chassis']['name']} has the hostname {new} from external_ids:hostname of Open "
                f"vSwitch (hostname of the chassis now: {chassis.hostname if chassis else 'no such chassis'})"
            )

        session.systems.wait(lacking, params["timeout"], seen)

    def _wait_for_controller(self, params: Params) -> None:
        """With RBAC, or two chassis of one tunnel address, all looks right and the controller is deaf."""
        session, name = self.session, params["chassis"]["name"]
        number, _milliseconds = northbound.synchronise(session.ports(params))

        def seen() -> t.Optional[str]:
            rows = southbound.read_chassis(session.bindings(params))
            done = [row.nb_cfg or 0 for row in rows if row.name == name]
            return "seen" if done and done[0] >= number else None

        session.systems.wait(
            lambda: f"ovn-controller of {params['new']} confirms changes in OVN again", params["timeout"], seen
        )

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""


def read_again(systems: Systems, params: t.Optional[Params]) -> None:
    """Prove the chassis once more: a run that resumes does not carry out again what was verified before.

    ``params``: those of the step that verified it; None: the plan has none. Raises :class:`StepError`.
    """
    if params is not None:
        names = [params["old"], params["new"], params["chassis"]["name"]]
        _compared(systems, params, reading.read_ovn(systems.options, names))


def _compared(systems: Systems, params: Params, facts: OvnFacts) -> Checked:
    found = after.check(params, facts, systems.host.facts(systems.info_arguments))
    if found.unchecked or blocking_findings(found.findings, []):
        raise StepError(f"OVN after the drain:\n{findings_text(found)}", checked=found)
    return found


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return what verifies the chassis after a drain, by the name that plans use."""
    return {"ovn_chassis": ChassisRenamed(OvnSession(systems))}
