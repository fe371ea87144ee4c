# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which release bears which signs, and what is said of signs that nobody knows."""

from __future__ import annotations

import pathlib
import re

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import releases

SCHEMA = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "schema"


@pytest.mark.parametrize(
    "table", [releases.MAIN_REVISIONS, releases.API_REVISIONS, releases.SERVICE_VERSIONS, releases.MICROVERSIONS]
)
def test_every_release_bears_one_of_each_sign(table: dict[object, releases.Releases]) -> None:
    assert sorted(release for found in table.values() for release in found) == list(releases.KNOWN)


@pytest.mark.parametrize(
    "path", sorted(SCHEMA.glob("*/[0-9]*.sql")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_recorded_schemas(path: pathlib.Path) -> None:
    """The revisions that nova-manage of these releases wrote."""
    release, kind = path.stem.split("-")
    (revision,) = re.findall(r"INSERT INTO \S*alembic_version\S* VALUES\s*\('(\w+)'\)", path.read_text())
    find = releases.of_main_revision if kind == "cell" else releases.of_api_revision
    assert int(release) in (find(revision) or ())


def test_unknown_signs() -> None:
    assert releases.of_main_revision("ffffffffffff") is None
    assert releases.of_main_revision(None) is None
    assert releases.of_api_revision("") is None
    assert releases.of_service_version(65) is None
    assert releases.of_service_version(None) is None
    assert releases.of_microversion("2.105") is None
    assert releases.of_microversion(None) is None


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("34.0.0", 34),
        ("3:26.2.2-1~deb12u3", 26),
        ("27.1.0.dev12", 27),
        ("25.3.0", None),
        ("35.0.0", None),
        ("", None),
        (None, None),
    ],
)
def test_packages(version: str | None, release: int | None) -> None:
    assert releases.of_package(version) == release


def test_microversions_are_numbers() -> None:
    assert releases.lower_microversion("2.96", "2.104") == "2.96"
    assert releases.lower_microversion("2.96", "2.95") == "2.95"
    assert releases.microversion_tuple("2.100") > releases.microversion_tuple("2.96")
