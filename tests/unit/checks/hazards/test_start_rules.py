# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether nova-compute starts, by nova.conf and by how guests are made: each rule refuses once, and lets pass once."""

from __future__ import annotations

import dataclasses
import importlib

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audits
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import forecast, start_rules, start_table
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, start_options
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.plugins.module_utils.reports import page
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy

ONE = guest(1, 1)
GUARDED = tuple(range(27, 35))
#: Nova looks at guests before it destroys any, and since 34 after it destroyed evacuated ones.
BEFORE, AFTER = tuple(range(27, 34)), (34,)


def named(options):
    """Options of a test: ``compute_cpu_shared_set`` is C([compute] cpu_shared_set)."""
    found = {f"{section}_{option}": (section, option) for section, option in start_options.WATCHED}
    return {
        start_options.key(*found[name]): list(value) if isinstance(value, (list, tuple)) else [value]
        for name, value in options.items()
    }


def cloud(release=34, policy="shared", guests=1, more=None, **options):
    """compute1 with these options, and guests whose CPUs are pinned like this."""
    some = healthy(guests=guests, release=release)
    domains = [dataclasses.replace(row, cpu_policy=policy, state="running") for row in some.rows("domains")]
    start = facts.StartFacts(named(options), **{"provider_configs": [], **(more or {})})
    return allocated(some.host("compute1", start=start, domains=domains))


def allocated(some, *classes):
    """Placement has allocations of these classes on every host."""
    return some.change("providers", allocations={"consumer": dict.fromkeys(classes, 1)} if classes else {})


def started(some):
    return forecast.start(Index(some.bundle), some.bundle.hosts["compute1"])


def outcome(some):
    """Whether it starts; what refuses it; and that what it destroys is known all the same."""
    found = started(some)
    assert found.destroys_known, found.told
    return found.outcome, found.refusal.rule if found.refusal else None


STARTS, UNKNOWN = (forecast.STARTS, None), (forecast.UNKNOWN, None)


def refuses(rule):
    return forecast.REFUSES, rule


# --- R09: CPU sets --------------------------------------------------------------------------------------------

PINNING = "_validate_pinning_configuration"
DEDICATED, SHARED = {"compute_cpu_dedicated_set": "2-3"}, {"compute_cpu_shared_set": "0-1"}


@pytest.mark.parametrize("release", GUARDED)
def test_cpus_for_one_kind_of_guests_and_a_guest_of_the_other(release):
    """R09: the forecast said "starts"; nova-compute 34 said "This host has unpinned instances but has no CPUs ..."."""
    for some in (cloud(release, "shared", **DEDICATED), cloud(release, "dedicated", **SHARED)):
        assert outcome(some) == refuses(PINNING)
        assert started(some).refusal.early is (release in BEFORE)
    assert "unpinned instances" in started(cloud(release, "shared", **DEDICATED)).refusal.text
    assert "has pinned instances" in started(cloud(release, "dedicated", **SHARED)).refusal.text
    assert outcome(cloud(release, "dedicated", **DEDICATED)) == STARTS
    assert outcome(cloud(release, "shared", **SHARED)) == STARTS


@pytest.mark.parametrize("release", GUARDED)
def test_guests_of_both_kinds_need_both_sets(release):
    for options in (DEDICATED, SHARED, {"DEFAULT_vcpu_pin_set": "0-3"}):
        assert outcome(cloud(release, "mixed", **options)) == refuses(PINNING)
    for policy in ("shared", "dedicated", "mixed", "", None):
        assert outcome(cloud(release, policy, **DEDICATED, **SHARED)) == STARTS
    # vcpu_pin_set is for both kinds.
    assert outcome(cloud(release, "dedicated", DEFAULT_vcpu_pin_set="0-3", **SHARED)) == STARTS


@pytest.mark.parametrize("options", [DEDICATED, SHARED])
@pytest.mark.parametrize("policy", ["", None])
def test_a_guest_whose_kind_is_not_known(policy, options):
    assert outcome(cloud(34, policy, **options)) == UNKNOWN
    assert outcome(cloud(34, None)) == STARTS


def test_a_guest_that_libvirt_does_not_have_may_be_of_any_kind():
    assert outcome(cloud(**SHARED).host(domains=[])) == UNKNOWN
    assert outcome(cloud().host(domains=[])) == STARTS


def test_only_guests_that_live_here_and_were_not_evacuated_count():
    some = cloud(**DEDICATED)
    moved = some.change("instances", {"uuid": ONE}, "compute1", 1, host="compute3", node="compute3")
    assert outcome(moved) == STARTS
    gone = some.change("instances", {"uuid": ONE}, "compute1", 1, deleted=7)
    assert outcome(gone) == STARTS
    assert outcome(some.migrate(ONE, "compute1", "compute3", "done", "evacuation")) == STARTS


@pytest.mark.parametrize(
    ("release", "lost"), [*((release, 0) for release in BEFORE), *((release, 1) for release in AFTER)]
)
def test_since_34_evacuated_guests_are_destroyed_before_the_refusal(release, lost):
    """870d3012: guests may be destroyed and the service not start all the same; nothing else happens to guests."""
    some = cloud(release, guests=3, **DEDICATED)
    first, second, _third = (row.uuid for row in some.rows("domains"))
    some = some.change("instances", {"uuid": first}, "compute1", 1, host="compute3", node="compute3")
    some = some.migrate(first, "compute1", "compute3", "done", "evacuation")
    some = some.change("instances", {"uuid": second}, "compute1", 1, task_state="deleting")
    assert outcome(some) == refuses(PINNING)
    found = started(some)
    assert [fate.domain.uuid for fate in found.destroys] == [first][:lost]
    assert (found.nodes, found.new_service) == ((), False)


def test_placement_keeps_no_inventory_away_that_is_allocated():
    """Seen on 34: "Failed to gather or report PCI resources to Placement: There was a conflict ..."."""
    pinned, shared = cloud(policy="dedicated", **DEDICATED), cloud(**SHARED)
    assert outcome(allocated(pinned, "PCPU", "MEMORY_MB")) == STARTS
    assert outcome(allocated(pinned, "VCPU", "PCPU")) == UNKNOWN
    assert outcome(allocated(shared, "VCPU")) == STARTS
    assert outcome(allocated(shared, "PCPU")) == UNKNOWN
    assert outcome(allocated(cloud(**DEDICATED, **SHARED), "VCPU", "PCPU")) == STARTS
    assert outcome(allocated(cloud(DEFAULT_vcpu_pin_set="0-3", **SHARED), "VCPU", "PCPU")) == STARTS
    # Only where there are no CPUs for VCPU is it asked for what an audit of all hosts does not read.
    assert outcome(pinned.change("providers", allocations=None)) == UNKNOWN
    assert outcome(shared.change("providers", allocations=None)) == STARTS
    assert outcome(pinned.cloud(providers=None)) == UNKNOWN


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"compute_cpu_dedicated_set": "0-3", "compute_cpu_shared_set": "3"}, "must be disjoint"),
        ({"compute_cpu_shared_set": "0-1", "DEFAULT_reserved_host_cpus": "1"}, "'reserved_host_cpus' config option"),
        ({"compute_cpu_dedicated_set": "2", "DEFAULT_vcpu_pin_set": "2-3"}, "'vcpu_pin_set' config option"),
        ({"compute_cpu_dedicated_set": "3-1"}, "Invalid range expression '3-1'"),
        ({"compute_cpu_shared_set": "a"}, "Invalid inclusion expression 'a'"),
        ({"compute_cpu_shared_set": "1,^a"}, "Invalid exclusion expression '^a'"),
        ({"compute_cpu_shared_set": "1,^1"}, "No CPUs available after parsing '[compute] cpu_shared_set' config"),
    ],
)
@pytest.mark.parametrize("release", GUARDED)
def test_sets_that_contradict_each_other(release, options, words):
    some = cloud(release, **options)
    assert outcome(some) == refuses("_check_cpu_set_configuration")
    assert words in started(some).refusal.text


def test_lists_of_cpus_are_read_as_nova_reads_them():
    assert start_options.cpu_set(" 1-4, ^3 ,,6") == {1, 2, 4, 6}
    assert start_options.cpu_set("^2-3,1-4") == {1, 4}
    assert start_options.cpu_set("") == frozenset()


# --- one option each ------------------------------------------------------------------------------------------

CPUS, MODELS, ALIAS = "validate_all_dedicated_cpus", "_check_cpu_compatibility", "get_alias_from_config"
POWER = {"libvirt_cpu_power_management": "true", "compute_cpu_dedicated_set": "2-3", "compute_cpu_shared_set": "0"}
GOVERNOR = {**POWER, "libvirt_cpu_power_management_strategy": "governor"}
TLS = {"libvirt_live_migration_tunnelled": "true", "libvirt_live_migration_with_native_tls": "true"}
PARALLEL = {"libvirt_live_migration_parallel_connections": "4", "libvirt_live_migration_permit_post_copy": "true"}
PLAIN_ALIAS = '{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8", "device_type": "type-PF"}'
KOLLA_SPEC = '[{"address": "0000:81:00.*", "physical_network": "sriov"}, {"vendor_id": "8086", "product_id": "10fb"}]'
VTPM = {"libvirt_swtpm_enabled": "true"}
ABLE = {"libvirt": True, "program": True, "user": True, "group": True}

#: What is set, what was read besides, and what becomes of the start; releases: all.
CASES = [
    ({"compute_max_disk_devices_to_attach": "0"}, {}, refuses("init_host")),
    ({"compute_max_disk_devices_to_attach": "-1"}, {}, STARTS),
    ({"compute_max_disk_devices_to_attach": "x"}, {}, UNKNOWN),
    ({"DEFAULT_force_raw_images": "False"}, {}, refuses("init_host")),
    ({"DEFAULT_force_raw_images": "True"}, {}, STARTS),
    (TLS, {}, refuses("init_host")),
    ({**TLS, "libvirt_live_migration_tunnelled": "off"}, {}, STARTS),
    ({**TLS, "libvirt_live_migration_tunnelled": "perhaps"}, {}, UNKNOWN),
    ({"libvirt_cpu_mode": "host-passthrough"}, {}, STARTS),
    ({"libvirt_cpu_mode": "host-model", "libvirt_cpu_models": "Cascadelake-Server"}, {}, refuses(MODELS)),
    ({"libvirt_cpu_mode": "custom"}, {}, refuses(MODELS)),
    ({"libvirt_cpu_mode": "costum"}, {}, UNKNOWN),
    ({"libvirt_cpu_mode": "custom", "libvirt_cpu_models": "Nehalem"}, {}, UNKNOWN),
    (
        {
            "libvirt_cpu_mode": "custom",
            "libvirt_cpu_models": "Nehalem",
            "workarounds_skip_cpu_compare_at_startup": "true",
        },
        {},
        STARTS,
    ),
    (GOVERNOR, {"cores": {"2": "performance", "3": "powersave"}}, STARTS),
    (GOVERNOR, {"cores": {"2": "performance", "3": "offline"}}, refuses(CPUS)),
    (GOVERNOR, {"cores": {"2": "performance", "3": ""}}, UNKNOWN),
    (GOVERNOR, {"cores": None}, UNKNOWN),
    (POWER, {"cores": {"2": "performance", "3": "performance"}}, STARTS),
    (POWER, {"cores": {"2": "performance", "3": "powersave"}}, refuses(CPUS)),
    (POWER, {"cores": {"2": "performance", "3": "missing"}}, UNKNOWN),
    ({**POWER, "libvirt_cpu_power_management": "false"}, {}, STARTS),
    ({"DEFAULT_reserved_huge_pages": ["node:0,size:2048,count:64", "node:1, size:1048576, count:2"]}, {}, STARTS),
    ({"DEFAULT_reserved_huge_pages": ["node:0,size:1GB,count:1"]}, {}, UNKNOWN),
    ({"libvirt_pmem_namespaces": "128G:ns0|ns1"}, {}, UNKNOWN),
    ({"devices_enabled_mdev_types": "nvidia-35"}, {}, UNKNOWN),
    ({"DEFAULT_log_config_append": "/etc/nova/logging.conf"}, {}, UNKNOWN),
    ({"pci_report_in_placement": "true"}, {}, UNKNOWN),
    ({"pci_report_in_placement": "False"}, {}, STARTS),
    ({"pci_device_spec": [KOLLA_SPEC]}, {}, STARTS),
    ({"pci_device_spec": ['{"vendor_id": "8086"}', '{"address": "*:0a:00.*"}']}, {}, STARTS),
    ({"pci_device_spec": ["{'vendor_id': '8086'}"]}, {}, refuses("Whitelist")),
    ({"pci_device_spec": ['"8086"']}, {}, refuses("Whitelist")),
    ({"pci_device_spec": ['[{"vendor_id": "8086"}, 7]']}, {}, refuses("Whitelist")),
    ({"pci_device_spec": ['{"devname": "eth0"}']}, {}, UNKNOWN),
    ({"pci_device_spec": ['{"address": {"bus": "["}}']}, {}, UNKNOWN),
    ({"pci_device_spec": ['{"vendor_id": "80867"}']}, {}, UNKNOWN),
    ({"pci_device_spec": []}, {}, UNKNOWN),
    (VTPM, {"vtpm": ABLE}, STARTS),
    (VTPM, {"vtpm": {**ABLE, "user": False}}, refuses("_check_vtpm_support")),
    (VTPM, {"vtpm": {**ABLE, "group": False}}, refuses("_check_vtpm_support")),
    (VTPM, {"vtpm": None}, UNKNOWN),
    ({}, {"provider_configs": ["/etc/nova/provider_config/a.yaml"]}, UNKNOWN),
    ({}, {"provider_configs": None}, UNKNOWN),
    ({}, {"brokers": {"192.0.2.1:5672": "timed out", "192.0.2.2:5672": "Connection refused"}}, UNKNOWN),
    ({}, {"brokers": {"192.0.2.1:5672": "timed out", "192.0.2.2:5672": ""}}, STARTS),
    ({}, {"brokers": None}, STARTS),
]


@pytest.mark.parametrize(("options", "more", "expected"), CASES)
@pytest.mark.parametrize("release", [30, 32, 33, 34])
def test_an_option_refuses_or_makes_it_unknown_or_does_nothing(release, options, more, expected):
    assert outcome(cloud(release, more=more, **options)) == expected


@pytest.mark.parametrize(
    ("first", "last", "options", "more", "inside"),
    [
        (32, 34, {"pci_alias": ["{"]}, {}, refuses(ALIAS)),
        (32, 34, {"pci_alias": ['{"name": "gpu", "resource_class": "CUSTOM_GPU"}']}, {}, UNKNOWN),
        (32, 34, {"pci_alias": [PLAIN_ALIAS, PLAIN_ALIAS]}, {}, UNKNOWN),
        (31, 34, {"libvirt_volume_enforce_multipath": "true"}, {}, refuses("_check_multipath")),
        (
            31,
            34,
            {"libvirt_volume_enforce_multipath": "true", "libvirt_volume_use_multipath": "true"},
            {},
            UNKNOWN,
        ),
        (33, 34, PARALLEL, {}, UNKNOWN),
        (27, 30, {"libvirt_file_backed_memory": "1024"}, {}, UNKNOWN),
        (30, 34, VTPM, {"vtpm": {**ABLE, "libvirt": False}}, refuses("_check_vtpm_support")),
        (27, 29, VTPM, {"vtpm": {**ABLE, "program": False}}, refuses("_check_vtpm_support")),
        (27, 29, POWER, {"cores": {"2": "performance", "3": "offline"}}, UNKNOWN),
    ],
)
def test_what_only_some_releases_ask(first, last, options, more, inside):
    for release in GUARDED:
        expected = inside if first <= release <= last else STARTS
        assert outcome(cloud(release, more=more, **options)) == expected, release


def test_live_migratable_devices_are_asked_for_versions():
    spec = {"pci_device_spec": ['{"vendor_id": "8086", "live_migratable": "yes"}']}
    assert outcome(cloud(34, **spec)) == UNKNOWN


def test_a_plain_alias_starts():
    assert outcome(cloud(34, pci_alias=[PLAIN_ALIAS, PLAIN_ALIAS.replace("gpu", "nic")])) == STARTS


def test_power_management_without_a_set():
    for release in GUARDED:
        some = cloud(release, libvirt_cpu_power_management="true")
        assert outcome(some) == (UNKNOWN if release < 30 else STARTS)


@pytest.mark.parametrize(
    ("release", "version", "expected"),
    [
        (27, "6.0.0", STARTS),
        (27, "5.10.0", refuses("init_host")),
        (30, "7.0.0", STARTS),
        (28, "6.10.0", refuses("init_host")),
        (31, "7.10.0", refuses("init_host")),
        (34, "8.0.0", STARTS),
        (34, "", UNKNOWN),
    ],
)
def test_the_least_version_of_libvirt(release, version, expected):
    assert outcome(cloud(release).part("libvirt", version=version)) == expected


def test_a_cache_that_only_newer_libvirts_know():
    def some(release, version):
        return (
            cloud(release, libvirt_tb_cache_size="64")
            .part("libvirt", version=version)
            .part("nova_conf", virt_type="qemu")
        )

    assert outcome(some(30, "7.5.0")) == refuses("_supports_tb_cache_size")
    assert outcome(some(30, "8.0.0")) == STARTS
    assert outcome(some(30, "7.5.0").part("nova_conf", virt_type="kvm")) == STARTS


def test_other_hypervisors_choose_no_cpu_and_emulate_no_tpm():
    lxc = {"virt_type": "lxc"}
    assert outcome(cloud(libvirt_cpu_mode="host-model").part("nova_conf", **lxc)) == refuses(MODELS)
    assert outcome(cloud(more={"vtpm": ABLE}, **VTPM).part("nova_conf", **lxc)) == refuses("_check_vtpm_support")


@pytest.mark.parametrize("release", GUARDED)
def test_a_guest_with_a_tpm_where_none_is_enabled(release):
    some = cloud(release).change("domains", {"uuid": ONE}, vtpm=True)
    assert outcome(some) == refuses("_validate_vtpm_configuration")
    assert started(some).refusal.early is (release in BEFORE)
    enabled = cloud(release, more={"vtpm": ABLE}, **VTPM).change("domains", {"uuid": ONE}, vtpm=True)
    assert outcome(enabled) == STARTS


def test_a_guest_with_encrypted_memory():
    some = cloud(34).change("domains", {"uuid": ONE}, encrypted=True)
    assert outcome(some) == UNKNOWN
    assert outcome(cloud(33).change("domains", {"uuid": ONE}, encrypted=True)) == STARTS


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        ("libvirt.LibvirtDriver", STARTS),
        (None, refuses("load_compute_driver")),
        ("", refuses("load_compute_driver")),
        ("ironic.IronicDriver", UNKNOWN),
    ],
)
def test_the_driver(driver, expected):
    assert outcome(cloud().part("nova_conf", compute_driver=driver)) == expected


# --- two questions --------------------------------------------------------------------------------------------


def evacuated(some):
    some = some.change("instances", {"uuid": ONE}, "compute1", 1, host="compute3", node="compute3")
    return some.migrate(ONE, "compute1", "compute3", "done", "evacuation")


@pytest.mark.parametrize(
    "options",
    [{"DEFAULT_log_config_append": "/x"}, {"libvirt_pmem_namespaces": "x"}, {"libvirt_swtpm_enabled": "maybe"}],
)
def test_an_option_in_doubt_hides_nothing_that_is_destroyed(options):
    found = started(evacuated(cloud(**options)))
    assert (found.outcome, [fate.domain.uuid for fate in found.destroys]) == (forecast.UNKNOWN, [ONE])
    assert found.destroys_known and found.doubts
    assert [fate.domain.uuid for fate in started(evacuated(cloud())).destroys] == [ONE]


def test_evidence_of_before_says_nothing_of_options_and_the_same_of_guests():
    some = evacuated(cloud()).host(start=None)
    found = started(some)
    assert (found.outcome, found.destroys_known, len(found.destroys)) == (forecast.UNKNOWN, True, 1)


def test_what_refuses_for_sure_is_told_although_something_else_is_in_doubt():
    some = cloud(libvirt_pmem_namespaces="x", compute_max_disk_devices_to_attach="0")
    assert outcome(some) == refuses("init_host")


def test_the_first_refusal_of_a_release_is_told():
    """Since 33 the driver is initialised before compute_id is looked for (manager.py, init_host)."""
    lost = {"exists": False, "uuid": None}
    for release in GUARDED:
        some = cloud(release, compute_max_disk_devices_to_attach="0")
        some = some.change("compute_id_files", lambda row: row.path.startswith("/var"), **lost)
        first = "_ensure_existing_node_identity" if release < 33 else "init_host"
        assert outcome(some) == refuses(first), release


def test_two_releases_in_one_cell_are_judged_each_by_its_own():
    some = cloud(34, **DEDICATED)
    old = some.host("compute2", nova_version="31.0.0", start=some.bundle.hosts["compute1"].start)
    index = Index(old.bundle)
    found = {name: forecast.start(index, old.bundle.hosts[name]) for name in ("compute1", "compute2")}
    assert {name: start.releases for name, start in found.items()} == {"compute1": (34,), "compute2": (31,)}
    assert {name: start.refusal.early for name, start in found.items()} == {"compute1": False, "compute2": True}


def test_two_releases_of_one_version_that_differ_hide_nothing_that_is_destroyed():
    """27 and 28 have one version of their service, and 28 wants a newer libvirt."""
    some = evacuated(cloud(27)).host(nova_version=None).part("libvirt", version="6.5.0")
    found = started(some)
    assert (found.releases, found.outcome, len(found.destroys)) == ((27, 28), forecast.UNKNOWN, 1)
    assert found.destroys_known
    assert outcome(some.part("libvirt", version="7.0.0")) == STARTS


def test_a_start_in_doubt_puts_no_remedy_off_and_one_that_destroys_does():
    unsure, sure = started(cloud(DEFAULT_log_config_append="/x")), started(cloud())
    lost = started(evacuated(cloud(DEFAULT_log_config_append="/x")))
    refused = started(cloud(compute_max_disk_devices_to_attach="0"))
    unread = started(cloud().host(domains=None))
    known = [audits._known_starts([start])["compute1"] is None for start in (unsure, sure, lost, refused, unread)]
    assert known == [True, True, False, False, False]
    plain = [audits._start_plain(start) for start in (unsure, unread)]
    assert [(entry["outcome"], entry["destroys_known"], bool(entry["doubts"])) for entry in plain] == [
        ("unknown", True, True),
        ("unknown", False, False),
    ]


def test_a_report_shows_what_is_known_of_a_start_in_doubt():
    def told(some):
        found = audits.audited(some.bundle)
        (entry,) = [entry["start"] for entry in found.report["fleet"] if entry["name"] == "compute1"]
        (host,) = [host for host in page.Fleet(found.report).listed() if host.name == "compute1"]
        counted = [line for line in audits.report_prom(found).splitlines() if "guests_destroyed{" in line]
        counted = [line.split()[-1] for line in counted if 'host="compute1"' in line]
        named = [line for line in audits.table(found).splitlines() if "nova-compute on compute1" in line]
        return entry["outcome"], entry["destroys_known"], host.outcome, counted, bool(named)

    unsure = cloud(DEFAULT_log_config_append="/x")
    assert told(cloud()) == ("starts", True, "starts", ["0"], False)
    assert told(unsure) == ("unknown", True, "may refuse", ["0"], True)
    assert told(evacuated(unsure)) == ("destroys", True, "destroys", ["1"], True)
    # What is destroyed is not known: no number stands for it.
    assert told(unsure.host(domains=None)) == ("unknown", False, "unknown", [], True)
    assert told(cloud().cell(1, migrations=None))[:4] == ("changes guests", False, "changes guests", [])


# --- configurations that must be judged -----------------------------------------------------------------------

#: Watched options that kolla-ansible's templates set (roles/nova-cell/templates, nova.conf.j2 and
#: nova.conf.d/libvirt.conf.j2 of unmaintained/2024.1, stable/2025.1, 2025.2 and 2026.1), at their most.
KOLLA = {
    "libvirt_cpu_mode": "host-passthrough",
    "libvirt_volume_use_multipath": "true",
    "pci_device_spec": [KOLLA_SPEC],
}
KOLLA_2026_1 = {**KOLLA, **VTPM, "libvirt_swtpm_user": "tss", "libvirt_swtpm_group": "tss"}


@pytest.mark.parametrize(
    ("release", "options"), [(29, KOLLA), (31, KOLLA), (32, KOLLA), (33, KOLLA_2026_1), (34, KOLLA_2026_1), (34, {})]
)
def test_the_configurations_of_kolla_and_of_the_lab_are_not_unknown(release, options):
    assert outcome(cloud(release, more={"vtpm": ABLE}, **options)) == STARTS


# --- the table ------------------------------------------------------------------------------------------------


def test_the_table_is_in_order_and_each_rule_is_judged_or_says_why_not():
    losses = [start_table.LOSSES.index(rule.loss) for rule in start_table.RULES]
    assert losses == sorted(losses)
    for rule in start_table.RULES:
        ways = [bool(rule.judge), bool(rule.judged), bool(rule.unjudged)]
        assert ways.count(True) == 1, rule
        if rule.judged:
            module, _dot, name = rule.judged.partition(".")
            assert callable(getattr(importlib.import_module(f"{forecast.__package__}.{module}"), name)), rule
        if rule.judge or rule.option:
            assert rule.at, rule
        if rule.option:
            assert rule.option in start_options.WATCHED and rule.unjudged, rule


def test_every_option_that_is_read_is_of_a_rule():
    """An option that nothing asks for is not read: nova.conf is somebody's."""
    asked = set()

    class Noted(start_rules.Situation):
        def values(self, section, option):
            asked.add((section, option))
            return super().values(section, option)

    for options, more, _expected in [*CASES, (VTPM, {"vtpm": ABLE}, None), (PARALLEL, {}, None)]:
        for release in GUARDED:
            facts_of = cloud(release, more=more, **options).part("nova_conf", virt_type="qemu").bundle.hosts["compute1"]
            start_table.judge(Noted(facts_of, facts_of.start, release, []))
    multipath = cloud(libvirt_volume_enforce_multipath="on").bundle.hosts["compute1"]
    start_table.judge(Noted(multipath, multipath.start, 34, []))
    # Only the reader on the host asks for it.
    assert asked == set(start_options.WATCHED) - {("compute", "provider_config_location")}
