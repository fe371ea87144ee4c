#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_host_step
short_description: Execute steps of a plan on a compute host
version_added: 0.1.0
description:
  - Internal, no stability promise. The operations of this collection call this module.
  - Executes the steps of a plan of M(stackguard.nova.compute_host_rename) on the compute host, and stores the journal
    on the same host.
  - The module does not check whether a step makes sense. Do not call this module from a playbook.
  - You can safely send the same request again. A request fails if a host name, a systemd unit, or a line of a file
    differs from the plan. If a request fails, the module does not execute the requests that follow in O(requests).
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
attributes:
  check_mode:
    support: full
    description: In check mode, the module skips requests that would change something.
  diff_mode:
    support: none
    description: M(stackguard.nova.compute_host_rename) makes the plan, and shows the differences.
  idempotent:
    support: full
    description: If you send the same request twice, the second request changes nothing.
requirements:
  - Python 3.9 or newer on the compute host
  - C(python3-libvirt) on the compute host (for C(host_names), C(end_domains) and C(move_aside))
options:
  requests:
    type: list
    elements: dict
    required: true
    description:
      - Requests that the module executes, in this order. Each request contains C(op) and the parameters of this C(op).
      - C(journal_open), C(journal_put) and C(journal_close) take C(journal); C(journal_read) takes C(kind);
        C(journal_mark) takes C(kind), C(operation_id) and C(note), and optionally C(run); C(journal_list) takes no
        parameters. If the module does not understand a journal in O(state_dir), C(journal_read) and C(journal_list)
        fail (SG706). With the parameter C(unknown=true), both requests return such journals in C(unknown), and do not
        fail. The module replaces the journal of an open operation only if C(run) in the new journal is the run
        that owns the operation. A C(journal_mark) request with the parameter C(run) fails if another run owns the
        operation.
      - C(journal_claim) makes a run the owner of an open operation. C(journal_claim) fails if another run has become
        the owner first. C(journal_release) ends the ownership.
      - A request can contain C(holder), with the keys C(kind), C(operation_id) and C(token). The module executes such a
        request only while the run with this C(token) owns the operation. While a request with C(holder) runs, no other
        run can take over the operation. The request C(still_ours) fails if the run in C(holder) does not own the
        operation.
      - C(pins_read) takes no parameters, and returns the path and the content of the file with old availability zone
        pins. C(pins_begin) takes C(about), C(rows) and C(previous), and adds rows to the file. C(pins_ours) takes
        C(run), and fails if the file belongs to another run. C(pins_end) takes C(run), C(finished), C(settled) and
        C(not_made).
      - C(is_done), C(apply), C(verify) and C(undo) take C(action) and the C(params) of this action. C(action) is one of
        C(stop_units), C(start_units), C(host_names), C(ovs_hostname), C(restart_units), C(identity_file),
        C(end_domains).
      - To stop units, send C(stop_begin), and repeat C(stop_poll) until all units have stopped. Both requests take the
        C(params) of the action C(stop_units). Do not send C(apply) with the action C(stop_units), because a unit can
        need minutes to stop.
      - C(log_mark) takes C(log_file) or C(unit); C(log_find) takes C(mark) and C(needles).
      - C(rehearse) takes two keys. C(name) is the new host name. C(line_edits) contains the lines of files that a
        rename would change. C(rehearse) returns the name that libvirt would use for the host after the rename.
        C(rehearse) runs in private UTS and mount namespaces, and changes nothing.
      - C(guests_inside) takes C(params) with the keys C(engine), C(containers) and C(known). C(guests_inside) returns
        the guests that run in the control groups of the containers. C(containers) lists these containers.
        C(guests_inside) does not return the guests in C(known).
      - C(probe_tcp) takes C(timeout) and C(targets). Each entry of C(targets) has the keys C(address) and C(port).
        C(probe_tcp) opens each connection and sends no data.
      - C(compare_cpu) takes C(uri) and C(targets). Each entry of C(targets) has the keys C(cpu) (the XML of a CPU),
        C(arch) and C(virt) (C(kvm) or C(qemu)). libvirt compares each CPU with the CPUs that it can provide on this
        host. C(compare_cpu) opens libvirt with write access, because libvirt requires this, but changes nothing.
  state_dir:
    type: path
    default: /var/lib/stackguard
    description:
      - Directory for journals, and for the marker files that prevent systemd from starting units.
seealso:
  - module: stackguard.nova.compute_host_rename
"""

EXAMPLES = r"""
- name: List the journals of operations on this host
  stackguard.nova.compute_host_step:
    requests:
      - op: journal_list
"""

RETURN = r"""
results:
  description: Results of the executed requests, in order, each with C(ok) and the values that the request returns.
  returned: always
  type: list
  elements: dict
  contains:
    ok:
      description: Whether the request was executed.
      type: bool
    journals:
      description: The journals on the host, for a request with C(op=journal_list). Each journal has C(kind),
        C(operation_id) and C(state).
      type: list
      elements: dict
    unknown:
      description: The journals on the host that this version of the collection does not understand, for a request with
        C(op=journal_list) or C(op=journal_read). Each entry has C(path), C(reason), C(finish_with), C(kind),
        C(operation_id), C(schema), C(version) and C(host).
      type: list
      elements: dict
  sample: [{ok: true, journals: []}]
changed_meanwhile:
  description: Whether the request failed because values on the host differ from the plan. A request that fails for this
    reason changes nothing.
  returned: failure
  type: bool
  sample: false
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.systems.host.steps import HostRunner


def main() -> None:
    """Carry out the requests."""
    module = AnsibleModule(
        argument_spec={
            "requests": {"type": "list", "elements": "dict", "required": True},
            "state_dir": {"type": "path", "default": "/var/lib/stackguard"},
        },
        supports_check_mode=True,
        # A plan names every guest of the host: the system's log and the result need not repeat it with each call.
        no_log=True,
    )
    state_dir = module.params["state_dir"]
    outcome = HostRunner(state_dir, module.check_mode).run(module.params["requests"])
    result = {
        "changed": outcome.changed,
        "results": outcome.results,
        "invocation": {"module_args": {"state_dir": state_dir}},
    }
    if outcome.error is not None:
        module.fail_json(msg=outcome.error, changed_meanwhile=outcome.changed_meanwhile, **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
