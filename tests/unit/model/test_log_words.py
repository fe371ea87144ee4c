# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a log says is found, however the line was copied, and the most specific words come first."""

from __future__ import annotations

import itertools
import pathlib

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import CATALOGUE
from ansible_collections.stackguard.nova.plugins.module_utils.model.log_words import ANY, ROWS
from ansible_collections.stackguard.nova.plugins.module_utils.reports import codes
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

UUID = "2caa2542-7c88-5549-bca5-b06fe08e69e0"
BEFORE = (
    "2026-11-29 03:12:44.917 7 ERROR nova.compute.manager [None req-5d9b1f0a-6f0e-4f0c-9d53-1c2b3c4d5e6f - - - - - -] "
    f"[instance: {UUID}] "
)
#: What stands where words differ: a name, a uuid, a number, a tuple in quotes.
VALUES = ("compute1.example.org", UUID, "'cn-rack7'", "12")


def line(words: str) -> str:
    parts = words.split(ANY)
    values = itertools.cycle(VALUES)
    return BEFORE + "".join(f"{part}{next(values)}" for part in parts[:-1]) + parts[-1]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.words[:40])
def test_a_line_of_each_row_is_found_as_this_row_first(row):
    printed = line(row.words)
    terminal = "\n".join(printed[at : at + 61] for at in range(0, len(printed), 61))
    coloured = f"\x1b[01;31m{printed[:99]}\x1b[00m{printed[99:]}"
    as_json = printed.replace('"', '\\"')
    for given in (printed, terminal, coloured, as_json, printed.upper(), f"Traceback\n{printed}\nmore of it"):
        assert codes.log_rows(given)[:1] == [row], given


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.words[:40])
def test_a_row_names_codes_and_pages_that_exist_and_says_one_thing(row):
    assert row.codes
    assert [code for code in row.codes if code not in CATALOGUE or CATALOGUE[code].reserved] == []
    assert row.means.endswith(".")
    assert "\n" not in row.words
    assert not row.words.startswith(ANY)
    # What is left without names and numbers is enough to be found by.
    assert len(row.words.replace(ANY, "").replace(" ", "")) >= 12
    folder, _slash, name = row.page.partition("/")
    assert not row.page or (folder in ("guides", "reference") and name.endswith(".md"))


def test_no_words_are_there_twice():
    assert len({row.words.casefold() for row in ROWS}) == len(ROWS)


#: As operators have posted them.
POSTED = {
    f"nova.exception.InvalidConfiguration: My node {UUID} has host 'compute1' but my host is "
    "'compute1.example.org'; Possible rename detected, refusing to start!": ("SG106", "SG131"),
    "libvirt.libvirtError: Secret not found: no secret with matching uuid '457eb676-33da-42ec-9a8c-9294d0c9c337'": (
        "SG523",
    ),
    "libvirtError: unsupported configuration: Emulator '/usr/libexec/qemu-kvm' does not support machine type "
    "'pc-q35-rhel8.6.0'": ("SG523", "SG603"),
    "internal error: Attempt to migrate guest to the same host 03000200-0400-0500-0006-000700080009": (
        "SG107",
        "SG523",
    ),
    "2017-03-13 14:21:35.958280 7fce9702b7c0 -1 librbd: image has watchers - not removing": ("SG507",),
    '{"conflictingRequest": {"code": 409, "message": "Cannot \'os-migrateLive\' instance '
    f'{UUID} while it is in task_state migrating"}}}}': ("SG701", "SG710"),
    'qemu-system-x86_64: -drive file=/x: Failed to get "write" lock\nIs another process using the image [/x]?': (
        "SG507",
    ),
    "oslo_messaging.exceptions.MessagingTimeout: Timed out waiting for a reply to message ID 7e1c4c0e3a": (
        "SG329",
        "SG704",
    ),
    f"DestinationDiskExists: The supplied disk path (/var/lib/nova/instances/{UUID}) already exists, it is expected "
    "not to exist.": ("SG713",),
    "(pymysql.err.IntegrityError) (1062, \"Duplicate entry 'compute1-compute1-0' for key "
    "'compute_nodes.uniq_compute_nodes0host0hypervisor_hostname0deleted'\")": ("SG205", "SG310"),
    '[req-1] Failed to create resource provider record in placement API for UUID 1d5f2f7e. Got 409: {"errors": [{'
    '"detail": "There was a conflict when trying to complete your request. Conflicting resource provider name: '
    'compute1 already exists."}]}.': ("SG112",),
    "RBD image already exists (error creating snapshot b'nova-resize' from b'2caa2542_disk')": ("SG713",),
    "2026-11-29T03:12:44Z|00042|northd|WARN|Unknown chassis 'compute1' set in options:requested-chassis on LSP 'a'.": (
        "SG322",
    ),
}


@pytest.mark.parametrize(("posted", "expected"), POSTED.items(), ids=[text[:40] for text in POSTED])
def test_lines_that_operators_post_are_found(posted, expected):
    assert codes.log_rows(posted)[0].codes == expected


def test_a_part_of_a_message_is_enough_and_a_short_word_is_not():
    assert codes.log_rows("refusing to start after potentially") == []
    assert {row.codes[0] for row in codes.log_rows("not our first startup")} == {"SG101"}
    assert codes.log_rows("compute node") == []
    assert codes.log_rows("") == []


def test_what_no_row_has_is_told_with_what_is_similar():
    told = codes.no_row("Binding for a port on some host already exists?")
    assert "proves nothing" in told
    assert "(SG713)" in told
    assert "Similar" not in codes.no_row("the moon is full")


def test_the_answer_has_each_code_with_its_name_and_how_to_see_a_page():
    told = codes.log_answer(codes.log_rows("My node a has host b but my host is c"))
    assert "\n  SG106 service-host-changed: " in told
    assert "\n  SG131 already-renamed: " in told
    assert "docs/guides/already-renamed.md" in told
    assert told.endswith("explain -e code=SG106")


def test_the_page_has_the_words_unbroken():
    page = pathlib.Path(ROOT / "docs" / "reference" / "log-words.md").read_text()
    assert [row.words for row in ROWS if f"| `{row.words}` |" not in page] == []
