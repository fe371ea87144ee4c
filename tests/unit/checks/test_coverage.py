# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit of which a requested part was not read opens no gate, now or from saved evidence: every part, in turn.

The parts are the fields of the facts themselves. A field that is new is in the matrix by being there.
"""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audits
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.tests.unit import linked
from ansible_collections.stackguard.nova.tests.unit.builders import AT, domain, healthy
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import as_saved

REASON = "connection refused"
NAME_USERS = ("residents", "options", "cloud_init", "certificates")
#: What no check of an audit reads, and why.
START = ("provider_configs", "cores", "vtpm", "brokers")
NOT_OF_AN_AUDIT = {
    ("HostFacts", "ovs_external_ids"): "absent where there is no Open vSwitch; only a rename reads it",
    ("RbdFacts", "infrastructure"): "only a fence by the blocklist needs it; `profile rbd` may not read all of it",
    ("RbdFacts", "rights"): "only a fence by the blocklist needs them",
    ("RbdFacts", "volumes"): "an audit asks for none",
    **{("NameUsers", name): "only a rename looks for what else goes by the host's name" for name in NAME_USERS},
    **{("StartFacts", name): "without it, nothing is known of whether nova-compute starts" for name in START},
    ("Bundle", "recorded"): "records of definitions are the collection's own: None is that none was asked for",
}


def complete():
    """All that an audit reads, every optional part included; nothing is wrong with it."""
    whole = linked.healthy()
    bundle = dataclasses.replace(whole.bundle, requested=["api", "ceph", "databases", "hosts"], operations=[])
    hosts = {}
    for number, (name, host) in enumerate(sorted(bundle.hosts.items()), 1):
        disk = facts.RbdImage(f"{domain(number, 1).uuid}_disk", "1a", 1, [], [], [])
        rbd = facts.RbdFacts("library", "fsid", "vms", [], [disk], [], opened=number == 1)
        hosts[name] = dataclasses.replace(host, rbd=rbd)
    return dataclasses.replace(bundle, hosts=hosts)


def parts(value, path=()):
    """Where each optional field of each record that keeps reasons is: the path to its owner, its class and name."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from parts(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from parts(item, (*path, index))
    elif dataclasses.is_dataclass(value):
        cls = type(value)
        hints = t.get_type_hints(cls)
        keeps_reasons = hints.get("unread") == t.List[Unread] or cls is facts.Bundle
        for field in dataclasses.fields(cls):
            if keeps_reasons and type(None) in t.get_args(hints[field.name]):
                yield path, cls.__name__, field.name
            yield from parts(getattr(value, field.name), (*path, field.name))


def changed(value, path, **changes):
    """The same with fields of the record at the path replaced."""
    if not path:
        return dataclasses.replace(value, **changes)
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, step: changed(value[step], rest, **changes)}
    if isinstance(value, list):
        return [changed(item, rest, **changes) if index == step else item for index, item in enumerate(value)]
    return dataclasses.replace(value, **{step: changed(getattr(value, step), rest, **changes)})


def at(value, path):
    for step in path:
        value = value[step] if isinstance(value, (dict, list)) else getattr(value, step)
    return value


def fails(bundle, overrides=()):
    verdict = audits.audited(as_saved(bundle), overrides).verdict
    return audits.fails(verdict, "blocker")


def blockers(bundle):
    return {(item.code, item.object.id) for item in audit.check(bundle).findings if item.severity == "blocker"}


#: One of a kind: the first host, which opened the images, stands for the others.
PARTS = [entry for entry in parts(complete()) if entry[0][:1] != ("hosts",) or entry[0][1] == "compute1"]


def test_the_complete_audit_opens_the_gate():
    assert not fails(complete())
    assert {cls for _path, cls, _name in PARTS} == {
        *("Bundle", "HostFacts", "StartFacts", "NameUsers", "RbdFacts", "RbdImage", "CloudFacts"),
        *("DatabaseFacts", "ApiDbFacts", "CellFacts", "NeutronDbFacts", "LinkFacts", "CellLinks"),
    }


@pytest.mark.parametrize(
    ("path", "cls", "name"), PARTS, ids=[f"{cls}.{name}-{'.'.join(map(str, path))}" for path, cls, name in PARTS]
)
def test_no_gate_opens_on_a_part_that_was_not_read(path, cls, name):
    """`verdict warn`, exit 0: so it was with a database that refused every connection."""
    whole = complete()
    if (cls, name) == ("Bundle", "recorded"):
        spoiled = changed(whole, path, recorded=None)
    elif cls == "Bundle":
        source = {"cloud": "api", "links": "databases"}.get(name, name)
        spoiled = changed(whole, path, **{name: None}, failures={source: REASON})
    else:
        unread = [*at(whole, path).unread, Unread(name, REASON)]
        spoiled = changed(whole, path, **{name: None}, unread=unread)
    assert fails(spoiled) is ((cls, name) not in NOT_OF_AN_AUDIT), blockers(spoiled)


def test_the_exceptions_are_parts():
    assert set(NOT_OF_AN_AUDIT) <= {(cls, name) for _path, cls, name in PARTS}


#: What readers note that is no field, or a part of one.
NOTES = [
    (("cloud",), "services.compute1"),
    (("cloud",), "servers.unknown"),
    (("cloud",), "providers.aggregates"),
    (("databases", "cells", 0), "has_compute_id"),
    (("links", "cells", 0), "moving"),
    (("links", "cells", 0), "SG207"),
    (("hosts", "compute1"), "nova_conf.environment"),
    (("hosts", "compute1", "rbd", "images", 0), "image"),
]


@pytest.mark.parametrize(("path", "part"), NOTES)
def test_no_gate_opens_on_half_of_a_part(path, part):
    assert fails(changed(complete(), path, unread=[Unread(part, REASON)]))


@pytest.mark.parametrize(("source", "field"), [("api", "cloud"), ("databases", "databases"), ("databases", "links")])
def test_a_source_that_left_neither_evidence_nor_a_reason_opens_no_gate(source, field):
    without = dataclasses.replace(complete(), **{field: None})
    assert fails(without)
    # One that was not requested is undecided, and shown as that.
    others = [entry for entry in without.requested if entry != source]
    assert not fails(dataclasses.replace(without, requested=others))
    assert audits.audited(dataclasses.replace(without, requested=others)).verdict == "warn"


def test_no_host_at_all_opens_no_gate():
    assert ("SG709", "hosts") in blockers(dataclasses.replace(complete(), hosts={}))


def test_a_source_that_failed_half_way_is_not_repaired_by_its_own_half():
    half = dataclasses.replace(complete(), links=None, failures={"databases": REASON})
    assert fails(evidence.merge([half, dataclasses.replace(complete(), databases=None, links=None, cloud=None)]))
    assert not fails(evidence.merge([half, complete()]))


@pytest.mark.parametrize(
    ("path", "part", "told"),
    [
        (("databases",), "api", ("SG311", "databases:api")),
        (("cloud",), "servers", ("SG709", "api:servers")),
        (("databases", "cells", 0), "instances", ("SG311", "cell:cell1:instances")),
        (("hosts", "compute1"), "memory", ("SG114", "compute1:memory")),
    ],
)
def test_one_part_is_overridden_by_its_name_and_no_other_with_it(path, part, told):
    whole = complete()
    one = changed(whole, path, **{part: None}, unread=[Unread(part, REASON)])
    assert blockers(one) == {told}
    passed = [Override(*told, "known")]
    assert not fails(one, passed)
    other = next(name for owner, _cls, name in PARTS if owner == path and name not in (part, "revision"))
    both = [Unread(part, REASON), Unread(other, REASON)]
    assert fails(changed(one, path, **{other: None}, unread=both), passed)


# --- what was not asked for -----------------------------------------------------------------------------------


def test_cells_that_were_named_without_an_api_database_are_shown_as_such_and_do_not_fail():
    unread = [facts.left_out("api", facts.NO_API_DATABASE), facts.left_out("cells", facts.ONLY_NAMED_CELLS)]
    some = changed(complete(), ("databases",), api=None, unread=unread)
    assert not fails(some)
    shown = {(item.code, item.object) for item in audit.check(some).unchecked}
    assert {("SG311", "databases:api"), ("SG311", "databases:cells")} <= shown
    # With no URL at all nothing was read, and databases were requested.
    assert fails(changed(some, ("databases",), cells=None, unread=[facts.left_out("cells", facts.NO_API_DATABASE)]))


def test_parts_of_the_apis_that_were_not_asked_for_are_shown_as_such_and_do_not_fail():
    some = changed(complete(), ("cloud",), ports=None, unread=[facts.left_out("ports", facts.NOT_ASKED_FOR)])
    assert not fails(some)
    assert ("SG709", "api:ports") in {(item.code, item.object) for item in audit.check(some).unchecked}


def test_a_database_that_nothing_answers_for_is_one_blocker():
    unread = [Unread("api", REASON), Unread("cells", REASON)]
    some = changed(complete(), ("databases",), api=None, cells=None, unread=unread)
    some = changed(some, ("links",), cells=None, unread=[Unread("cells", REASON)])
    assert {entry for entry in blockers(some) if entry[0] == "SG311"} == {("SG311", "databases")}


def test_a_cell_that_does_not_answer_is_one_blocker():
    names = ("revision", "services", "compute_nodes", "instances", "migrations")
    some = changed(
        complete(),
        ("databases", "cells", 0),
        **dict.fromkeys(names),
        unread=[Unread(name, REASON) for name in names],
    )
    silent = {"services": None, "compute_nodes": None, "pci_devices": None, "unread": [Unread("cell", REASON)]}
    some = changed(some, ("links", "cells", 0), **silent)
    assert {entry for entry in blockers(some) if entry[0] == "SG311"} == {("SG311", "cell:cell1")}


# --- Ceph -----------------------------------------------------------------------------------------------------


def test_a_pool_that_no_host_looked_into_opens_no_gate():
    whole = complete()
    assert ("SG709", "ceph:fsid:vms") in blockers(changed(whole, ("hosts", "compute1", "rbd"), opened=False))
    other = changed(whole, ("hosts", "compute2", "rbd"), pool="other")
    assert ("SG709", "ceph:fsid:other") in blockers(other)
    for name in whole.hosts:
        whole = changed(whole, ("hosts", name), rbd=None)
    assert ("SG709", "ceph") in blockers(whole)
    assert not fails(dataclasses.replace(whole, requested=["api", "databases", "hosts"]))


def test_an_image_that_was_deleted_meanwhile_and_a_host_without_ceph_are_no_gaps():
    whole = complete()
    gone = changed(whole, ("hosts", "compute1", "rbd", "images", 0), unread=[Unread("gone", "No such file")])
    assert not fails(gone)
    local = changed(whole, ("hosts", "compute2"), rbd=None, unread=[Unread("rbd", "images_type is qcow2")])
    assert fails(local)
    assert not fails(changed(local, ("hosts", "compute2", "nova_conf"), images_type="qcow2"))


def test_evidence_of_an_operation_is_judged_without_what_it_never_asked_for():
    assert healthy().bundle.collected_at == AT
    assert blockers(healthy().bundle) == set()
