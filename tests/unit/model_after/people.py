# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Somebody at 3 a.m., who does what a remedy says: its acts, to the letter, and nothing else.

A sentence that forbids, that has a condition, or that only looks is not an act. Of a finding that says which machine
its act is for, the act is done there.
"""

from __future__ import annotations

import re

from ansible_collections.stackguard.nova.plugins.module_utils.model.codes import code as codes
from ansible_collections.stackguard.nova.plugins.module_utils.model.codes.catalogue import CATALOGUE

#: Acts on guests, on nova-compute and on whose a host is: what this model can do.
KINDS = (codes.REBOOT, codes.START, codes.STOP, codes.RESET, codes.ADOPTION)

#: Sentences that order nothing now. A literal reader does what comes "then", but not what comes "if".
_NOT_NOW = re.compile(
    r"^(If|Until|Where|For|With|No action|Leave|Keep|Do not|Never|Without|Nova |At its|At the)\b|\bdo not\b"
)
_OFF_FIRST = re.compile(r"verify that the domain is off|no process")
_ON = re.compile(r"\b[Oo]n (compute\d)\b")
_NAME = re.compile(r"\bunder the name (compute\d)\b|\bnova-compute(?: once)? on (compute\d)\b")


def acts_of(finding):
    """Return the acts that the remedy of a finding orders: the state for which it is chosen, and its guard."""
    found = CATALOGUE[finding.code].remedies.items()
    return [(state, act) for state, entry in found if _has(finding.remedy, entry.text) for act in entry.acts]


def _has(remedy, template):
    parts = [re.escape(part) for part in re.split(r"\{[^}]*\}", template)]
    return re.search(".*".join(parts), remedy) is not None


def is_left_to_people(act):
    """Whether an act is done only after somebody has found out what no run can read."""
    return codes.PEOPLE in act.read or not set(KINDS) & set(act.kinds)


def sentences(remedy):
    """Return what a remedy says, sentence by sentence."""
    return re.split(r"(?<=\.)\s+", remedy)


def follow(world, finding):
    """Do all that the remedy of a finding orders; return what was done."""
    done = []
    for sentence in sentences(finding.remedy):
        if not _NOT_NOW.search(sentence):
            done += [act for act in ACTS if act(world, finding, sentence)]
    return [act.__name__ for act in done]


def _guest(world, finding, sentence):
    """Return the server that a finding is about."""
    subject = finding.object
    words = (*re.findall(r"[0-9a-f-]{36}", f"{sentence} {subject.id} {subject.name}"), finding.evidence.get("device"))
    return next((world.guests[word] for word in words if word in world.guests), None)


def _host(finding, sentence):
    found = _ON.search(sentence)
    return found.group(1) if found else finding.object.host


def destroy(world, finding, sentence):
    """C(virsh destroy): of a domain, or of a process that libvirt does not show."""
    one = _guest(world, finding, sentence)
    ends = re.search(
        r"virsh destroy|[Ee]nd th(e|is) (process|domain|QEMU)|[Ss]top the (other )?(domain|QEMU)", sentence
    )
    if one is None or not ends:
        return False
    world.end(one, _host(finding, sentence))
    return True


def undefine(world, finding, sentence):
    """C(virsh undefine)."""
    one = _guest(world, finding, sentence)
    if one is None or "virsh undefine" not in sentence:
        return False
    host = _host(finding, sentence)
    if not _OFF_FIRST.search(sentence) and one.copies.get(host) not in (None, "shutoff"):
        world.end(one, host)
    world.undefine(one, host)
    return True


def start(world, finding, sentence):
    """A hard reboot, or a start."""
    one = _guest(world, finding, sentence)
    if one is None or not re.search(r"reboot --hard|[Hh]ard[- ]reboot|openstack server start", sentence):
        return False
    world.start(one)
    return True


def stop(world, finding, sentence):
    """C(openstack server stop)."""
    one = _guest(world, finding, sentence)
    if one is None or "openstack server stop" not in sentence:
        return False
    world.stop(one)
    return True


def reset(world, finding, sentence):
    """C(openstack server set --state active)."""
    one = _guest(world, finding, sentence)
    if one is None or not re.search(r"--state active|[Rr]eset the (server's )?state", sentence):
        return False
    world.reset(one)
    return True


def start_compute(world, finding, sentence):
    """nova-compute is to start."""
    if not re.search(r"[Ss]tart nova-compute|systemctl start", sentence):
        return False
    named = _NAME.search(sentence)
    host = next((name for name in named.groups() if name), None) if named else finding.object.host
    if host is None:
        return False
    world.start_compute(host)
    return True


def adopt(world, finding, sentence):
    """C(rename_action=adopt) on the machine that a finding is about."""
    if "rename_action=adopt" not in sentence:
        return False
    world.adopt(finding.object.id if finding.object.kind == "host" else finding.object.host)
    return True


ACTS = (destroy, undefine, start, stop, reset, start_compute, adopt)
