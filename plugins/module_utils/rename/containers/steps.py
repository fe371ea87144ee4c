# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Containers in a rename, as far as the controller has a part in it: the operator's tool creates them again."""

from __future__ import annotations

import typing as t

from ...engine.runner import Action, Done, StepError, plan_of
from ...engine.systems import Memory, Params, Systems
from ...records import journal as journals


class RecreateError(StepError):
    """Containers are put aside: the operator's command has to create them again."""

    needs = "recreate_containers"

    def __init__(self, message: str, containers: t.Sequence[str], problem: str = "") -> None:
        super().__init__(message, problem=problem)
        self.containers = list(containers)


class RecreateContainers:
    """Let units start, stop for the operator's command, and see every container with the new name afterwards."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """See the containers, or ask for them."""
        self._ask("apply", params)
        shown = self._ask("verify", params)
        if shown["missing"]:
            raise RecreateError(
                f"these containers do not exist or do not run now: {', '.join(shown['missing'])}. Create these "
                "containers with your deployment tool (kolla-ansible deploy-containers), then run the same command "
                "again",
                shown["missing"],
                problem="containers-not-found",
            )
        names = [str(item["name"]) for item in params["containers"]]
        late: t.List[str] = list(shown["waiting"])

        def seen() -> t.Optional[str]:
            now = self._ask("verify", params)
            if now["wrong"]:
                # nova-compute with another name than the databases have may write that name into them.
                self._ask("apply", params, "hold_containers")
                raise StepError(
                    f"{'; '.join(now['wrong'])}. The run has stopped nova-compute again. Remove each container with a "
                    "wrong name, then run the same command again",
                    problem="nova-compute-in-another-container",
                )
            late[:] = [*now["missing"], *now["waiting"]]
            return None if late else f"{', '.join(names)}: host name {params['name']}"

        return Done(
            self.systems.wait(lambda: f"these containers or services run: {', '.join(late)}", params["timeout"], seen)
        )

    def undo(self, params: Params) -> None:
        """Remove what was created, and hold the units again: what was put aside comes back next."""
        self._ask("undo", params)

    def _ask(self, what: str, params: Params, action: str = "new_containers") -> t.Dict[str, t.Any]:
        (answer,) = self.systems.host.call([{"op": what, "action": action, "params": dict(params)}])
        return answer


#: The step that removes the old containers, which a rollback needs.
POINT_OF_NO_RETURN = "forget_containers"
RECREATE = "recreate_containers"


def only_forward(journal: t.Mapping[str, t.Any]) -> bool:
    """Whether the removal of the old containers has begun: nothing has the old name that a rollback could start."""
    return journal["steps"].get(POINT_OF_NO_RETURN) in (journals.APPLYING, journals.DONE)


def refuse_rollback(journal: t.Mapping[str, t.Any], systems: Systems) -> None:
    """Raise StepError where a rollback cannot or must not begin, before anything of the journal is touched.

    Old containers may be removed already. And a guest that started since in the new libvirt container would end with
    it: nova-compute still runs now, and can move the guest away.
    """
    if only_forward(journal):
        raise StepError(
            "a rollback is no longer possible, because the run has begun to remove the old containers. Run the same "
            "command with rename_action=resume to complete the rename",
            problem="rollback-no-longer",
        )
    if journal["steps"].get(RECREATE, journals.PENDING) == journals.PENDING:
        return
    params = next(step for step in plan_of(journal).steps if step.name == RECREATE).params
    names = [str(item["name"]) for item in params["containers"]]
    asked = {"engine": params["engine"], "containers": names, "known": params.get("known_inside", [])}
    (answer,) = systems.host.call([{"op": "guests_inside", "params": asked}])
    if answer["guests"]:
        raise StepError(
            "each of these guests runs in the control group of a new container, so a rollback would kill the "
            f"guests: {', '.join(answer['guests'])}. Move these guests to another host, then run the rollback again. "
            "As an alternative, run the same command with rename_action=resume to complete the rename",
            problem="guests-in-new-containers",
        )


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return what carries out the steps of C(rename/containers/plan.py)."""
    return {RECREATE: RecreateContainers(systems)}
