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
        why="""
            With other addresses, Windows may need a new activation, and network interfaces may get other names. Devices
            are compared with the last record of the guest by user alias, MAC address, serial number, source or target.
        """,
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
        why="""
            A disk can get another drive letter or device name in the guest. Only disks that are also in the last record
            of the guest are compared.
        """,
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
        do="""
            The whole command is `nova-manage libvirt update_machine_type UUID TYPE`, while the server is stopped or
            shelved. Nova refuses an older version, and a change between `pc` and `q35`.
        """,
        why="""
            After an upgrade of QEMU, an alias such as `pc` or `q35` can stand for another machine type, and the guest
            gets other virtual hardware. libvirt writes the version into a definition itself, unless another tool
            created the domain, or QEMU has this type without a version only.
        """,
        remedies={
            "machine-type-unversioned": Remedy(
                "Pin a versioned machine type (nova-manage libvirt update_machine_type), because a machine type "
                "without a version changes when QEMU is upgraded."
            ),
        },
    ),
    Code(
        "SG604",
        "machine-type-drift",
        WARNING,
        "A guest's machine type changed.",
        overridden_by="the libvirt domain's uuid",
        do="""
            The whole command is `nova-manage libvirt update_machine_type UUID TYPE`, while the server is stopped or
            shelved. Nova refuses an older version, and a change between `pc` and `q35`.
        """,
        why="""
            The guest sees other virtual hardware than in its last record (`audit_definitions=true`).
        """,
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
        why="""
            Software in the guest that depends on the processor model may notice. Compared are mode, model and features
            with the last record: as it runs, if the guest ran then and runs now, otherwise as it would start.
        """,
        remedies={
            "cpu-changed": Remedy(
                "If the guest must keep the same CPU model, set cpu_models in nova.conf of every host in the zone to a "
                "CPU model that all these hosts support."
            ),
        },
    ),
    Code(
        "SG606",
        "next-start-changes",
        WARNING,
        "The next start of a guest would change its libvirt definition.",
        overridden_by="the libvirt domain's uuid",
        do="""
            Plan the next hard reboot of the server with its owner.
        """,
        why="""
            The guest gets other virtual hardware when its domain next starts: the evidence has which devices move, come
            or go, and whether the order of disks or the machine type changes. What Nova writes at a hard reboot is not
            predicted.
        """,
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
        why="""
            Without a record in `audit_definitions_dir`, an audit cannot see that a guest's definition changed. A host
            has one finding for all such guests.
        """,
        remedies={
            "never-recorded": Remedy(
                "No action is needed. This run records the guests' definitions, and the next run compares the guests "
                "with this record."
            ),
        },
    ),
)
