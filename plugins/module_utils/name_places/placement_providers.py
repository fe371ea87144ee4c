# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of resource providers in placement: the node's own, and its children's, which begin with it. Pure."""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import ResourceProvider
from ..model.findings import Subject, Unchecked, finding
from ..model.lookups import Index, Items, uuid_key
from ..model.plan import Change
from .place import (
    NamePlace,
    Renaming,
    StoredName,
    StoredNames,
    Text,
    WantedName,
    needed,
)

#: Nova and neutron name children C(<node>_<device>) and C(<node>:<agent>...).
SEPARATORS = ("_", ":")


class RenamedProvider(t.NamedTuple):
    """A provider whose name a rename changes."""

    uuid: str
    before: str
    after: str


class PlacementProviders(NamePlace):
    """Resource providers."""

    text = Text(
        "placement: the names of the resource provider and of its child providers",
        "placement API",
        "the run makes one API call for each provider that still has the old name, and begins with the root provider",
        "for each renamed provider, the run makes one API call that restores the old name",
    )
    codes = ("SG304", "SG310")
    steps = ("placement",)
    noun = "resource provider"

    def stored(self, index: Index) -> StoredNames:
        """Every provider."""
        for row in index.providers or []:
            yield StoredName(Subject("resource_provider", row.uuid, row.name), "placement", row.name)

    def taken(self, index: Index, wanted: WantedName) -> StoredNames:
        """Providers of other trees: a child of a tree that is gone would collide as well."""
        own = uuid_key(wanted.node_uuid or "")
        for row in index.providers or []:
            root = _root_part(row.name, wanted)
            if wanted.wants(root) and own not in (uuid_key(row.uuid), uuid_key(row.root_provider_uuid or "")):
                yield StoredName(Subject("resource_provider", row.uuid, row.name), "placement", root)

    def unread(self, index: Index) -> Items:
        """The providers were not read."""
        if index.providers is None:
            yield Unchecked("SG304", "all", "the resource providers were not read")

    def stale(self, index: Index) -> Items:
        """SG304: a child that does not begin with its node's name: it is looked up by that."""
        for node in index.nodes or []:
            begins = tuple(f"{node.hypervisor_hostname}{separator}" for separator in SEPARATORS)
            for child in index.children.get(uuid_key(node.uuid), []) if node.uuid else []:
                if not child.name.startswith(begins):
                    yield finding(
                        "SG304",
                        Subject("resource_provider", child.uuid, child.name, node.host),
                        {"child": child.name, "compute node": node.hypervisor_hostname},
                        remedy_text("SG304", "child-misnamed"),
                    )

    def renamed(self, renaming: Renaming) -> t.List[RenamedProvider]:
        """Return the providers of the host's tree with their names before and after, the root first."""
        old, new = renaming.before.hypervisor_hostname, renaming.after.hypervisor_hostname
        named = [(row, _renamed(row.name, old, new)) for row in (renaming.provider, *children(renaming))]
        return [RenamedProvider(row.uuid, row.name, name) for row, name in named if name != row.name]

    def changes(self, renaming: Renaming) -> t.List[Change]:
        """The name of each."""
        return [
            Change(f"resource provider {row.uuid}", "name", row.before, row.after) for row in self.renamed(renaming)
        ]


def children(renaming: Renaming) -> t.List[ResourceProvider]:
    """Return the providers below the node's, by name. Raises PlanError where they were not read."""
    root = renaming.provider
    found = [
        provider
        for provider in needed(renaming.cloud.providers, "resource providers")
        if provider.root_provider_uuid == root.uuid and provider.uuid != root.uuid
    ]
    return sorted(found, key=lambda provider: provider.name)


def _renamed(name: str, old: str, new: str) -> str:
    if name == old or name.startswith(tuple(f"{old}{separator}" for separator in SEPARATORS)):
        return new + name[len(old) :]
    return name


def _root_part(name: str, wanted: WantedName) -> str:
    for new in wanted.new:
        if name.casefold().startswith(tuple(f"{new}{separator}" for separator in SEPARATORS)):
            return name[: len(new)]
    return name


PLACE = PlacementProviders()
