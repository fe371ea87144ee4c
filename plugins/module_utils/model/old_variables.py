# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables of earlier versions: what took the place of each, or what its value is now. Pure data.

Whoever sets one is refused with its successor (:func:`.input_rules.unknown_variables`), and the page about upgrades is
made of this table.
"""

from __future__ import annotations

import typing as t

#: Old name to new name. Facts of the cloud are one variable for all playbooks.
SUCCESSORS: t.Dict[str, str] = {
    "rename_rabbit_url": "stackguard_rabbit_urls",
    "doctor_hosts": "stackguard_compute_hosts",
    "audit_ceph_hosts": "stackguard_ceph_host",
    "evacuate_ceph_host": "stackguard_ceph_host",
    "return_ceph_host": "stackguard_ceph_host",
    "evacuate_ceph_infrastructure": "stackguard_ceph_infrastructure",
    "evacuate_never_blocklist": "stackguard_never_blocklist",
    "evacuate_volume_pools": "stackguard_volume_pools",
    **{
        f"{playbook}_peers": "stackguard_compute_hosts"
        for playbook in ("drain", "evacuate", "migrate", "rename", "repair", "return")
    },
    **{
        f"{playbook}_{name}": f"stackguard_{name}"
        for playbook in ("audit", "doctor", "drain", "evacuate", "migrate", "rename", "return")
        for name in ("nova_conf_files", "libvirt_uri", "ceph_user", "ceph_conf", "ceph_command")
        if not name.startswith("ceph") or playbook not in ("drain", "migrate", "rename")
    },
    **{
        f"{playbook}_take_over": "stackguard_take_over"
        for playbook in ("drain", "evacuate", "migrate", "pin", "rename", "resize", "return")
    },
}

#: Old name to the value that took its place.
CONSTANTS: t.Dict[str, str] = {
    "audit_links_listed": "1000",
    "doctor_clock_tolerance": "10 seconds",
    "doctor_free_mb": "100 MiB",
    "evacuate_death_timeout": "120 seconds",
    "evacuate_guest_overhead_mb": "128 MiB",
    "evacuate_max_rounds": "200",
    "evacuate_max_share": "0.1",
    "evacuate_measured_for": "120 seconds",
    "evacuate_power_delay": "none: the power state is read for up to two minutes until the machine is off",
    "evacuate_server_timeout": "1800 seconds",
    "rename_agent_timeout": "180 seconds",
    "rename_discover_timeout": "120 seconds",
    "rename_settle_timeout": "300 seconds",
    "rename_stop_timeout": "400 seconds",
    **{
        f"{playbook}_{name}": value
        for playbook in ("drain", "migrate")
        for name, value in (
            ("guest_overhead_mb", "128 MiB"),
            ("max_parallel_per_destination", "2"),
            ("max_parallel_per_source", "2"),
            ("max_rounds", "200"),
            ("measured_for", "300 seconds"),
        )
    },
}

#: Old name to what became of it, of what is gone.
GONE: t.Dict[str, str] = {
    "audit_history": "an audit compares with the one before, audit_previous_report",
    "audit_history_dir": "an audit compares with the one before, audit_previous_report",
    **{
        f"findings_{name}": "the playbook findings is gone: report.json is JSON, and jq reads it"
        for name in (
            *("codes", "fail_if", "format", "hosts", "job", "max_age_minutes", "query", "report", "severities"),
        )
    },
}

#: Variables that are meant for one run: in an inventory they would be forgotten, and meant for every run.
ONE_RUN = ("stackguard_take_over",)
