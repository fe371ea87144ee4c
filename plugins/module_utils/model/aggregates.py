# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which hosts the scheduler may refuse a server for what their aggregates say. Pure.

Nova has filters that compare a server with the metadata of a host's aggregates: AggregateInstanceExtraSpecsFilter,
AggregateMultiTenancyIsolation, AggregateImagePropertiesIsolation, and the isolation of aggregates by traits
(26 to 34). No API shows which of them a cloud enables. Two kinds of rules follow from that:

* A flavor that names aggregates (C(aggregate_instance_extra_specs:)) binds its servers: no other host is chosen. Where
  not even the server's own host satisfies it, the cloud does not enforce it, and it is a preference only.
* All else is a preference: a host that one of these filters would refuse is taken only where no other is left.
"""

from __future__ import annotations

import operator
import typing as t

from .facts import ApiAggregate, ApiServer

SCOPE = "aggregate_instance_extra_specs"
TENANT = "filter_tenant_id"
TRAIT = "trait:"

#: Key to the values that a host's aggregates have for it. A value may be a list with commas.
Metadata = t.Mapping[str, t.FrozenSet[str]]
#: Host to why the scheduler may refuse it.
Against = t.Dict[str, str]

_NUMBERS: t.Mapping[str, t.Callable[[float, float], bool]] = {
    "=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}
_WORDS: t.Mapping[str, t.Callable[[str, str], bool]] = {
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
}


def satisfies(value: str, wanted: str) -> bool:
    """Return whether one value of an aggregate is what a flavor wants of it, by the operators of extra specs.

    A number that is none satisfies nothing: Nova's filter would fail on it.
    """
    sign, *words = wanted.split() or [""]
    if sign == "<or>":
        # Every second word is <or> again.
        return value in words[::2]
    if sign == "<in>":
        return bool(words) and words[0] in value
    if sign == "<all-in>":
        return bool(words) and all(word in value for word in words)
    if sign in _WORDS:
        return bool(words) and _WORDS[sign](value, words[0])
    if sign in _NUMBERS:
        return bool(words) and _numbers(sign, value, words[0])
    return value == wanted


def _numbers(sign: str, value: str, word: str) -> bool:
    try:
        return _NUMBERS[sign](float(value), float(word))
    except ValueError:
        return False


class Rules:
    """The metadata of all hosts, looked up once for many servers. ``aggregates`` None: unread, nothing is known."""

    def __init__(self, aggregates: t.Optional[t.Iterable[ApiAggregate]]) -> None:
        values: t.Dict[str, t.Dict[str, t.Set[str]]] = {}
        for aggregate in aggregates or ():
            for host in aggregate.hosts:
                held = values.setdefault(host, {})
                for key, value in (aggregate.metadata or {}).items():
                    held.setdefault(key, set()).update(word.strip() for word in value.split(","))
        self._hosts = {host: {key: frozenset(words) for key, words in held.items()} for host, held in values.items()}
        self._tenants = {host: _tenants(metadata) for host, metadata in self._hosts.items()}
        #: By what a server is for these rules; servers of one flavor and project share an answer.
        self._known: t.Dict[t.Any, t.Tuple[Against, Against]] = {}

    def against(
        self, server: ApiServer, hosts: t.Iterable[str], properties: t.Optional[t.Mapping[str, str]] = None
    ) -> t.Tuple[Against, Against]:
        """Return the hosts to which a server must not go, and those that it should not go to, with the reasons."""
        specs = (server.flavor.extra_specs if server.flavor else None) or {}
        key = (tuple(sorted(specs.items())), server.project_id, tuple(sorted((properties or {}).items())), server.host)
        if key not in self._known:
            self._known[key] = self._judged(server, specs, properties or {}, list(hosts))
        return self._known[key]

    def _judged(
        self,
        server: ApiServer,
        specs: t.Mapping[str, str],
        properties: t.Mapping[str, str],
        hosts: t.Sequence[str],
    ) -> t.Tuple[Against, Against]:
        scoped = {key.partition(":")[2]: value for key, value in specs.items() if key.partition(":")[0] == SCOPE}
        plain = {key: value for key, value in specs.items() if ":" not in key}
        own = self._hosts.get(server.host or "", {})
        enforced = all(_has(own, key, value) for key, value in scoped.items())
        barred, avoided = {}, {}
        for host in hosts:
            metadata = self._hosts.get(host, {})
            named = _lacking(metadata, scoped)
            soft = [] if enforced or not named else [named]
            soft += [text for text in (_lacking(metadata, plain) if scoped else "", self._tenant(server, host)) if text]
            soft += [*_image(metadata, properties), *_isolated(metadata, specs, properties)]
            if enforced and named:
                barred[host] = named
            elif soft:
                avoided[host] = "; ".join(soft)
        return barred, avoided

    def _tenant(self, server: ApiServer, host: str) -> str:
        tenants = self._tenants.get(host)
        if not tenants or server.project_id in tenants:
            return ""
        return "the host's aggregate is reserved for projects other than the server's project (filter_tenant_id)"


def _tenants(metadata: Metadata) -> t.FrozenSet[str]:
    return frozenset(word for key, words in metadata.items() if key.startswith(TENANT) for word in words)


def _has(metadata: Metadata, key: str, wanted: str) -> bool:
    return any(satisfies(value, wanted) for value in metadata.get(key, ()))


def _lacking(metadata: Metadata, wanted: t.Mapping[str, str]) -> str:
    missing = [f"{key} {value}" for key, value in sorted(wanted.items()) if not _has(metadata, key, value)]
    return (
        f"none of the host's aggregates has the properties that the flavor requires: {', '.join(missing)}"
        if missing
        else ""
    )


def _image(metadata: Metadata, properties: t.Mapping[str, str]) -> t.Iterator[str]:
    """AggregateImagePropertiesIsolation: only a property that both have can differ."""
    for key in sorted(set(metadata) & set(properties)):
        if properties[key] and properties[key] not in metadata[key]:
            wanted = ", ".join(sorted(metadata[key]))
            yield f"the host's aggregate requires images whose property {key} is one of: {wanted}"


def _isolated(metadata: Metadata, specs: t.Mapping[str, str], properties: t.Mapping[str, str]) -> t.Iterator[str]:
    """Aggregates that are kept for servers which require a trait."""
    for key in sorted(metadata):
        kept = key.startswith(TRAIT) and "required" in metadata[key]
        if kept and "required" not in (specs.get(key), properties.get(key)):
            yield f"the host's aggregate is reserved for servers that require {key}"
