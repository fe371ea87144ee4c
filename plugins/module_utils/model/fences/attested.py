# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A person's word instead of a fence: nothing acts, and nothing is read back. Pure."""

from __future__ import annotations

from .fence import MACHINE, FenceKind, FenceText


class Attested(FenceKind):
    """A named person states that the host is dead. Never a proof: C(model/fence_proof.py) has its Attestation."""

    name = "attested"
    text = FenceText(
        "no technical proof: a person states that the host is dead, and the run records the person's name and the "
        "reason",
        "the whole machine, if the person's statement is correct",
        "you know that the machine is off, because you unplugged or scrapped it",
    )
    covers = MACHINE
    readings = 0


FENCE = Attested()
