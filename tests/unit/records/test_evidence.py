# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence directory: what is saved is loaded, and what is not whole is refused."""

from __future__ import annotations

import dataclasses
import json
import os
import stat

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.systems import killing


@pytest.fixture
def bundle():
    return builders.healthy().bundle


def save(bundle, directory):
    for name, host in bundle.hosts.items():
        evidence.save_host(directory, name, host)
    for name, reason in bundle.unreachable.items():
        evidence.save_unreachable(directory, name, reason)
    evidence.save_part(directory, evidence.CLOUD, bundle.cloud)
    evidence.save_part(directory, evidence.DATABASES, facts.to_plain(bundle.databases))


def test_the_whole_in_one_file_is_the_same_evidence_and_no_part_of_it(bundle, tmp_path):
    directory = str(tmp_path / "evidence")
    save(bundle, directory)
    path = evidence.save_whole(directory, bundle)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert evidence.load(path) == bundle
    evidence.save_whole(directory, dataclasses.replace(bundle, hosts={}, cloud=None))
    assert evidence.load_dir(directory, bundle.collected_at) == bundle, "decisions are made by the parts"


def test_there_and_back(bundle, tmp_path):
    directory = str(tmp_path / "evidence")
    bundle = dataclasses.replace(bundle, unreachable={"compute9": "unreachable: no route"})
    save(bundle, directory)
    loaded = evidence.load_dir(directory, bundle.collected_at)
    assert loaded == bundle
    modes = {
        stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)
        for folder, _, names in os.walk(directory)
        for name in names
    }
    folders = {stat.S_IMODE(os.stat(folder).st_mode) for folder, _, _names in os.walk(directory)}
    assert (modes, folders) == ({0o600}, {0o700})


def test_collected_at_is_the_earliest_reading(bundle, tmp_path):
    name, host = next(iter(bundle.hosts.items()))
    evidence.save_host(str(tmp_path), name, dataclasses.replace(host, read_at="2026-01-02T00:00:00Z"))
    evidence.save_part(str(tmp_path), evidence.CLOUD, dataclasses.replace(bundle.cloud, read_at="2026-01-01T00:00:00Z"))
    loaded = evidence.load_dir(str(tmp_path))
    assert loaded.collected_at == "2026-01-01T00:00:00Z"
    assert (loaded.databases, list(loaded.hosts)) == (None, [name])


def test_a_host_is_reachable_or_not_never_both(bundle, tmp_path):
    name, host = next(iter(bundle.hosts.items()))
    evidence.save_host(str(tmp_path), name, host)
    evidence.save_unreachable(str(tmp_path), name, "gone")
    loaded = evidence.load_dir(str(tmp_path))
    assert (loaded.hosts, loaded.unreachable) == ({}, {name: "gone"})
    evidence.save_host(str(tmp_path), name, host)
    assert evidence.load_dir(str(tmp_path)).unreachable == {}


def test_killed_while_saving(bundle, tmp_path, monkeypatch):
    """The old part or the new one, never a torn one; and no facts of a host whose state is in doubt."""
    name, host = next(iter(bundle.hosts.items()))

    def prepare(_fuse):
        evidence.save_host(str(tmp_path), name, host)
        return str(tmp_path)

    for directory in killing.each_kill(monkeypatch, prepare, lambda to: evidence.save_unreachable(to, name, "gone")):
        try:
            loaded = evidence.load_dir(directory)
        except facts.FactsError as error:
            assert "in hosts and in unreachable" in str(error)
        else:
            assert (loaded.hosts, loaded.unreachable) in (({name: host}, {}), ({}, {name: "gone"}))
        evidence.save_host(directory, name, host)
        assert evidence.load_dir(directory).hosts == {name: host}


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "100%", "a%2Fb", "x y", "[::1]", "ü"])
def test_any_inventory_name(bundle, tmp_path, name):
    host = dataclasses.replace(next(iter(bundle.hosts.values())), inventory_name=name)
    path = evidence.save_host(str(tmp_path), name, host)
    assert os.path.dirname(path) == str(tmp_path / "hosts")
    assert evidence.load_dir(str(tmp_path)).hosts == {name: host}


def test_a_file_of_another_host_is_refused(bundle, tmp_path):
    host = next(iter(bundle.hosts.values()))
    evidence.save_part(str(tmp_path), "hosts/other.json", host)
    with pytest.raises(facts.FactsError) as caught:
        evidence.load_dir(str(tmp_path))
    assert (caught.value.problem, caught.value.place) == ("other-host", host.inventory_name)


@pytest.mark.parametrize(
    ("relative", "content", "problem"),
    [
        ("cloud.json", "{", "json"),
        ("cloud.json", "{}", "missing"),
        ("databases.json", "[]", "type"),
        ("hosts/a.json", "null", "type"),
        ("unreachable/a.json", "{}", "type"),
        ("unreachable/a.json", '{"reason": 1}', "type"),
    ],
)
def test_what_cannot_be_understood_is_refused(tmp_path, relative, content, problem):
    path = tmp_path / relative
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    with pytest.raises(facts.FactsError) as caught:
        evidence.load_dir(str(tmp_path))
    assert caught.value.problem == problem
    assert str(path) in str(caught.value)


def test_an_empty_directory_is_no_evidence(tmp_path):
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(evidence.NoEvidenceError):
            evidence.load_dir(str(directory))


def test_what_a_killed_run_left_is_no_part(tmp_path):
    evidence.save_unreachable(str(tmp_path), "a", "x")
    (tmp_path / "unreachable" / ".part-x.tmp").write_text("torn")
    (tmp_path / "unreachable" / ".b.json").write_text("torn")
    assert evidence.load_dir(str(tmp_path)).unreachable == {"a": "x"}


def test_what_cannot_be_saved_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        evidence.save_part(str(tmp_path), "cloud.json", {"a": object()})
    assert list(tmp_path.iterdir()) == []
    assert json.loads("1") == 1


def test_a_host_that_left_no_trace_was_not_read():
    bundle = builders.healthy(hosts=2).unreachable("compute2", "timed out").bundle
    seen = evidence.with_unread(bundle, ["compute1", "compute2", "compute3"])
    assert sorted(seen.hosts) == ["compute1"]
    assert sorted(seen.unreachable) == ["compute2", "compute3"]
    assert seen.unreachable["compute2"] == "timed out"
    assert evidence.with_unread(bundle, ["compute1", "compute2"]) == bundle


def test_slices_are_of_one_cloud_or_of_none():
    def named(*names):
        bundle = builders.healthy(hosts=2).bundle
        return evidence.merge([dataclasses.replace(bundle, named=name) for name in names]).named

    prod = facts.CloudName("prod", "r1")
    assert named(None, None) is None
    assert named(prod, None, facts.CloudName("prod")) == prod
    assert named(prod, facts.CloudName("test", "r1")) is None
    assert named(prod, facts.CloudName("prod", "r2")) is None


def test_the_name_of_the_cloud_is_kept_with_the_evidence(tmp_path):
    evidence.save_unreachable(str(tmp_path), "a", "x")
    assert evidence.load_dir(str(tmp_path)).named is None
    evidence.save_part(str(tmp_path), evidence.NAMED, facts.CloudName("prod", None))
    assert evidence.load_dir(str(tmp_path)).named == facts.CloudName("prod", None)


def test_journals_that_are_not_understood_are_kept_and_put_together(bundle, tmp_path):
    one, two = (facts.UnknownJournal(f"/j/{name}.json", "?", "version 0.1", name) for name in ("rename", "evacuate"))
    evidence.save_part(str(tmp_path), evidence.CLOUD, bundle.cloud)
    assert evidence.load_dir(str(tmp_path)).unknown_journals == []
    evidence.save_part(str(tmp_path), evidence.UNKNOWN_JOURNALS, [one])
    found = evidence.load_dir(str(tmp_path))
    assert found.unknown_journals == [one]
    evidence.save_whole(str(tmp_path / "whole"), found)
    assert evidence.load(str(tmp_path / "whole")).unknown_journals == [one]
    slices = [dataclasses.replace(bundle, unknown_journals=entries) for entries in ([one], [], [two, one])]
    assert evidence.merge(slices).unknown_journals == evidence.merge(slices[::-1]).unknown_journals == [two, one]
