# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""States of hosts that were recorded on the lab: facts as an audit read them, and what nova-compute then did.

``tests/fixtures/forecast/RELEASE.jsonl`` has one record (labkit/forecasts.py) a line.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import types
import typing

from labkit import forecasts

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import forecast
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, lookups

PLACE = pathlib.Path(__file__).parents[1] / "fixtures" / "forecast"


def releases():
    """The releases that were recorded."""
    return sorted(path.stem for path in PLACE.glob("*.jsonl"))


def records(release):
    """The records of a release."""
    return [json.loads(line) for line in (PLACE / f"{release}.jsonl").read_text().splitlines()]


def _empty(hint):
    """What stands for a field that the forecast does not read."""
    origin = typing.get_origin(hint)
    if origin is typing.Union:
        return None
    return {str: "", int: 0, bool: False, list: [], dict: {}}[origin or hint]


def _filled(cls, **values):
    hints = typing.get_type_hints(cls)
    missing = {
        field.name: _empty(hints[field.name])
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    return cls(**{**missing, **values})


#: What records of before the forecast read it have: nova.conf of the lab sets none of these options, and its guests
#: are plain ones.
STARTED = {"options": {}, "provider_configs": []}
DRIVEN = {"compute_driver": "libvirt.LibvirtDriver"}
PLAIN = {"cpu_policy": "shared", "vtpm": False, "encrypted": False}


def bundle(record):
    """The evidence of a record, as far as the forecast reads it."""
    kept = record["facts"]
    conf = _filled(facts.NovaConf, **{**DRIVEN, **kept["nova_conf"]}) if kept["nova_conf"] else None
    host = _filled(
        facts.HostFacts,
        **kept["host"],
        libvirt=_filled(facts.Libvirt, hostname=kept["libvirt"], version=kept.get("libvirt_version", "9.0.0")),
        start=_filled(facts.StartFacts, **kept.get("start", STARTED)),
        nova_conf=conf,
        compute_id_files=[_filled(facts.ComputeIdFile, **row) for row in kept["compute_id_files"]],
        domains=[_filled(facts.Domain, **{**PLAIN, **row}) for row in kept["domains"]],
    )
    rows = {
        "services": facts.ServiceRow,
        "compute_nodes": facts.ComputeNodeRow,
        "instances": facts.InstanceRow,
        "migrations": facts.MigrationRow,
    }
    tables = {name: [_filled(cls, **row) for row in kept[name]] for name, cls in rows.items()}
    cell = _filled(facts.CellFacts, **kept["cell"], **tables)
    providers = [_filled(facts.ResourceProvider, **row) for row in kept["providers"]]
    return facts.Bundle(
        schema=facts.SCHEMA,
        collected_at="",
        hosts={host.inventory_name: host},
        unreachable={},
        cloud=_filled(facts.CloudFacts, providers=providers),
        databases=_filled(facts.DatabaseFacts, cells=[cell]),
    )


class Case:
    """One record, with its evidence looked up once: rows do not change, rules may."""

    def __init__(self, entry):
        self.entry = entry
        some = bundle(entry)
        (self.host,) = some.hosts.values()
        self.index = lookups.Index(some)

    def told(self, by=forecast):
        """What a forecast says of the host, as in forecast.json. ``by``: the module that forecasts."""
        start = by.start(self.index, self.host)
        plain = json.loads(audit.forecast_json(types.SimpleNamespace(starts=[start])))
        return plain["hosts"][self.host.inventory_name]

    def differences(self, by=forecast):
        """Each difference between what is told now and what happened."""
        return forecasts.differences(self.told(by), self.entry["seen"], self.entry["unmet"])


def cases(release):
    """The records of a release, ready to be forecast again."""
    return [Case(entry) for entry in records(release)]
