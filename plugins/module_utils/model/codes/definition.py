# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG6xx: the definition of a domain. See code.py."""

from __future__ import annotations

import typing as t

from .code import INFO, WARNING, Code, Remedy

_KNOW = Remedy(
    "Before the guest's next start, inform the owner that libvirt may give the guest's devices new addresses (for "
    "example new PCI addresses). To keep the guest's machine type, run nova-manage libvirt update_machine_type."
)

CODES: t.Tuple[Code, ...] = (
    Code(
        "SG601",
        "address-drift",
        WARNING,
        "The addresses of a guest's devices changed.",
        overridden_by="the libvirt domain's uuid",
        remedies={
            "devices-moved": _KNOW,
        },
    ),
    Code(
        "SG602",
        "disk-order-drift",
        WARNING,
        "The order of a guest's disks changed.",
        overridden_by="the libvirt domain's uuid",
        remedies={
            "disks-reordered": _KNOW,
        },
    ),
    Code(
        "SG603",
        "machine-type-unversioned",
        WARNING,
        "A guest's machine type is an alias without a version.",
        overridden_by="the libvirt domain's uuid",
        remedies={
            "machine-type-unversioned": Remedy(
                "Pin a versioned machine type (nova-manage libvirt update_machine_type), because a machine type "
                "without a "
                "version changes when QEMU is upgraded."
            ),
        },
    ),
    Code(
        "SG604",
        "machine-type-drift",
        WARNING,
        "A guest's machine type changed.",
        overridden_by="the libvirt domain's uuid",
        remedies={
            "machine-type-changed": _KNOW,
        },
    ),
    Code(
        "SG605",
        "cpu-model-drift",
        WARNING,
        "A guest's CPU model changed.",
        overridden_by="the libvirt domain's uuid",
        remedies={
            "cpu-changed": Remedy(
                "If the guest must keep the same CPU model, set cpu_models in nova.conf of every host in the zone to "
                "a CPU "
                "model that all these hosts support. Software in the guest that depends on the processor model may "
                "notice "
                "that the guest's CPU has changed."
            ),
        },
    ),
    Code(
        "SG606",
        "next-start-changes",
        WARNING,
        "The next start of a guest would change its libvirt definition.",
        overridden_by="the libvirt domain's uuid",
        remedies={
            "changes-at-next-start": _KNOW,
        },
    ),
    Code(
        "SG607",
        "never-recorded",
        INFO,
        "No audit has recorded the guest's libvirt definition.",
        overridden_by="the host's inventory name",
        remedies={
            "never-recorded": Remedy(
                "No action is needed. This run records the guests' definitions, and the next run compares the guests "
                "with "
                "this record."
            ),
        },
    ),
)
