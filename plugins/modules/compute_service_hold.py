#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_service_hold
short_description: Force a compute service down and disable it for an operation, or end the forced-down state
version_added: 0.1.0
description:
  - Internal, no stability promise. The roles P(stackguard.nova.evacuate_host#role) and
    P(stackguard.nova.return_host#role) do not use this module.
  - Forces a compute service down and disables the service with a reason, in one request. When the service is forced
    down, Nova can evacuate the servers of the host. While the disabled reason contains the id of one operation, no
    other operation of this collection uses the host. The module fails if the disabled reason of the compute service
    contains the id of another operation of this collection. With O(state=held), the module replaces the disabled reason
    of an administrator with O(reason).
  - Fence the host first. The module marks the host as dead in Nova, but does not power the host off.
  - Runs on the Ansible controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.actiongroup_openstack
  - stackguard.nova.openstack
attributes:
  check_mode:
    support: full
    description: Reports the change, but does not make the change.
  diff_mode:
    support: full
    description: Shows the status, the disabled reason and the forced_down flag before and after the change.
  idempotent:
    support: full
    description: The module does not change a compute service that already has the requested state and O(reason).
options:
  host:
    type: str
    required: true
    description: Name of the host in Nova.
  state:
    type: str
    default: held
    choices: [held, released]
    description: V(held) forces the compute service down and disables the service. V(released) ends the forced-down
      state of the compute service, and sets the service to O(status).
  reason:
    type: str
    required: true
    description: Disabled reason that contains the id of the operation, such as C(stackguard:evacuate:5f0a6f0f7a11).
  status:
    type: str
    default: enabled
    choices: [enabled, disabled]
    description: Status that the module gives the compute service with O(state=released).
  disabled_reason:
    type: str
    description: Disabled reason that the module sets with O(state=released) and O(status=disabled).
  ended_reasons:
    type: list
    elements: str
    aliases: [takes_over]
    default: []
    description: Disabled reasons that contain the id of an operation that has ended. With O(state=held), the module
      fails if another operation has disabled the compute service. If the disabled reason of the compute service is in
      O(ended_reasons), the module does not fail, and replaces the disabled reason with O(reason).
seealso:
  - module: stackguard.nova.server_evacuate
"""

EXAMPLES = r"""
- name: Mark compute1 as dead in Nova
  stackguard.nova.compute_service_hold:
    cloud: production
    host: compute1
    reason: stackguard:evacuate:5f0a6f0f7a11
"""

RETURN = r"""
before:
  description: Status, disabled reason and forced_down flag of the compute service before the change.
  returned: success
  type: dict
  contains:
    status:
      description: V(enabled) or V(disabled).
      type: str
    disabled_reason:
      description: Disabled reason of the service.
      type: str
    forced_down:
      description: Whether the service is forced down.
      type: bool
  sample: {status: enabled, disabled_reason: null, forced_down: false}
after:
  description: Status, disabled reason and forced_down flag of the compute service after the change.
  returned: success
  type: dict
  contains:
    status:
      description: V(enabled) or V(disabled).
      type: str
    disabled_reason:
      description: Disabled reason of the service.
      type: str
    forced_down:
      description: Whether the service is forced down.
      type: bool
  sample: {status: disabled, disabled_reason: "stackguard:evacuate:5f0a6f0f7a11", forced_down: true}
"""

import json
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import compute_services, connection

OURS = "stackguard:"


def shown(service: facts.ApiService) -> t.Dict[str, t.Any]:
    """Return what this module changes of a service."""
    return {
        "status": service.status,
        "disabled_reason": service.disabled_reason,
        "forced_down": service.forced_down,
    }


def wanted(params: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """Return what the service shall be like."""
    if params["state"] == "held":
        return {"status": "disabled", "disabled_reason": params["reason"], "forced_down": True}
    reason = params["disabled_reason"] if params["status"] == "disabled" else None
    return {"status": params["status"], "disabled_reason": reason, "forced_down": False}


def work(cloud: t.Any, params: t.Mapping[str, t.Any], check: bool) -> t.Dict[str, t.Any]:
    """Hold or release. Raises :class:`ApiError`, also where another operation holds the service."""
    service = compute_services.find_service(cloud, params["host"])
    if service is None:
        raise ApiError(f"Nova has no compute service of {params['host']}")
    found = service.disabled_reason or ""
    before, after = shown(service), wanted(params)
    if before != after and found.startswith(OURS) and found not in (params["reason"], *params["ended_reasons"]):
        raise ApiError(
            f"SG707 lock-held: another operation has disabled the compute service of {params['host']}: {found}"
        )
    if before != after and params["state"] == "released" and found != params["reason"]:
        raise ApiError(
            f"the module does not change the compute service of {params['host']}, because its disabled reason is "
            f"{found or '(none)'} instead of {params['reason']}"
        )
    if before != after and not check:
        if params["state"] == "held":
            compute_services.hold_down(cloud, params["host"], params["reason"])
        else:
            compute_services.give_back(cloud, params["host"], {**after, "reason": after["disabled_reason"]})
    texts = {key: json.dumps(value, sort_keys=True) + "\n" for key, value in (("before", before), ("after", after))}
    return {"changed": before != after, "before": before, "after": after, "diff": texts}


def main() -> None:
    """Hold or release."""
    module = AnsibleModule(
        argument_spec=connection.openstack_spec(
            host={"type": "str", "required": True},
            state={"type": "str", "default": "held", "choices": ["held", "released"]},
            reason={"type": "str", "required": True},
            status={"type": "str", "default": "enabled", "choices": ["enabled", "disabled"]},
            disabled_reason={"type": "str"},
            ended_reasons={"type": "list", "elements": "str", "default": [], "aliases": ["takes_over"]},
        ),
        supports_check_mode=True,
    )
    if connection.OPENSTACK_ERROR is not None:
        module.fail_json(msg=missing_required_lib("openstacksdk"), exception=connection.OPENSTACK_ERROR)
    try:
        result = work(connection.connect(module.params), module.params, module.check_mode)
    except StackguardError as error:
        module.fail_json(msg=error.message)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
