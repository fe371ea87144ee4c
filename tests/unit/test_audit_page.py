# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit's page in a real browser: renders, filters, searches, groups, prints; no name can do anything.

STACKGUARD_TEST_PICTURES=DIRECTORY keeps pictures of both themes, to be looked at.
"""

from __future__ import annotations

import os
import pathlib
import time

import pytest

from ansible_collections.stackguard.nova.plugins.action.audit import page
from ansible_collections.stackguard.nova.plugins.module_utils.reports import audit
from ansible_collections.stackguard.nova.tests.unit.browser import Browser
from ansible_collections.stackguard.nova.tests.unit.troubled import HOSTILE, many, troubled

VISIBLE = 'Array.from(document.querySelectorAll("#findings article")).filter((item) => !item.hidden).length'


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    started = Browser(tmp_path_factory.mktemp("profile"))
    try:
        yield started
    finally:
        started.close()


@pytest.fixture(scope="module")
def found():
    return audit.audited(troubled().bundle)


@pytest.fixture
def shown(browser, found, tmp_path):
    return opened(browser, found, tmp_path)


def opened(browser, found, tmp_path):
    (tmp_path / "report.html").write_text(page(found), encoding="utf-8")
    browser.calls.clear()
    browser.errors.clear()
    browser.open(tmp_path / "report.html")
    return browser


def search(browser, words):
    browser.run(f"(() => {{ const box = document.getElementById('search'); box.value = {words!r}; "
                "box.dispatchEvent(new Event('input')); })()")  # fmt: skip
    time.sleep(0.4)
    return browser.run(VISIBLE)


def click(browser, selector):
    browser.run(f"document.querySelector({selector!r}).click()")


def test_it_renders_without_an_error_and_asks_nobody(shown, found):
    assert shown.run(VISIBLE) == len(found.checked.findings)
    assert shown.run("document.querySelector('#verdict strong').textContent") == "block"
    assert shown.run("document.querySelector('.tools').hidden") is False
    assert shown.run("document.querySelectorAll('svg g').length") == 9
    assert [url for url in shown.calls if not url.startswith("file://")] == []
    assert shown.errors == []


def test_no_name_does_anything(shown):
    assert shown.run("document.title") == "block: audit of 2026-11-21T06:00:00+00:00"
    assert shown.run("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert shown.run("document.scripts.length") == 1
    click(shown, "button[data-group=host]")
    for name in HOSTILE[:5]:
        # What is seen is the very name.
        assert shown.run(f"document.getElementById('findings').textContent.includes({name!r})")
    assert shown.run("document.title") == "block: audit of 2026-11-21T06:00:00+00:00"
    assert shown.run("document.querySelectorAll('#findings img, #findings script, #findings i').length") == 0


def test_even_what_escaped_the_escaping_could_not_run(browser, found, tmp_path):
    text = page(found).replace(
        "</body>", "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script></body>"
    )
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    browser.open(tmp_path / "report.html")
    time.sleep(0.3)
    assert browser.run("document.title") != "owned"


def test_search_and_severities_filter(shown, found):
    missing = sum(1 for item in found.checked.findings if item.code == "SG109")
    assert search(shown, "sg109") == missing
    assert shown.run("document.getElementById('told').textContent").startswith(f"{missing} of ")
    assert search(shown, "sg109 no-such-word") == 0
    assert search(shown, "") == len(found.checked.findings)
    click(shown, ".tools input[value=blocker]")
    warnings = sum(1 for item in found.checked.findings if item.severity != "blocker")
    assert shown.run(VISIBLE) == warnings
    open_groups = "Array.from(document.querySelectorAll('#findings > details')).filter((one) => !one.hidden).length"
    assert shown.run(open_groups) == len({item.code for item in found.checked.findings if item.severity != "blocker"})


def test_grouped_by_host_and_back(shown, found):
    click(shown, "button[data-group=host]")
    hosts = {
        item.object.host or (item.object.id if item.object.kind == "host" else "no host")
        for item in found.checked.findings
    }
    assert shown.run(
        "Array.from(document.querySelectorAll('#findings > details > summary > b'), (one) => one.textContent)"
    ) == sorted(hosts)
    assert shown.run(VISIBLE) == len(found.checked.findings)
    click(shown, "button[data-group=code]")
    codes = {item.code for item in found.checked.findings}
    assert shown.run("document.querySelectorAll('#findings > details').length") == len(codes)
    assert shown.run(VISIBLE) == len(found.checked.findings)


def test_both_themes_are_readable(shown, tmp_path):
    seen = set()
    keep = pathlib.Path(os.environ.get("STACKGUARD_TEST_PICTURES") or tmp_path)
    for name in ("light", "dark"):
        shown.theme(name)
        back, ink = (shown.run(f"getComputedStyle(document.body).{what}") for what in ("backgroundColor", "color"))
        assert contrast(back, ink) > 7
        for selector in (".badge.blocker", ".badge.warning", ".soft"):
            assert contrast(back, shown.run(f"getComputedStyle(document.querySelector({selector!r})).color")) > 4.5
        seen.add(back)
        shown.run("document.querySelectorAll('#findings > details')[0].open = true")
        for part in ("verdict", "memory", "search"):
            shown.run(f"document.getElementById({part!r}).scrollIntoView({{block: 'start'}})")
            shown.picture(keep / f"{name}-{part}.png")
    assert len(seen) == 2


def contrast(one, other):
    """The contrast ratio of two colours, as WCAG 2 defines it."""

    def luminance(colour):
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_it_prints_whole(shown):
    closed = len(shown.pdf())
    assert closed > 20_000
    assert shown.run("document.querySelectorAll('#findings > details[open]').length") == 0


def test_thousands_of_findings_stay_usable(browser, tmp_path):
    found = audit.audited(many(6000).bundle)
    assert len(found.checked.findings) >= 6000
    start = time.monotonic()
    shown = opened(browser, found, tmp_path)
    assert shown.run(VISIBLE) == len(found.checked.findings)
    assert time.monotonic() - start < 30
    assert (tmp_path / "report.html").stat().st_size < 15_000_000
    assert shown.run("document.querySelectorAll('#findings > details[open]').length") == 0
    took = shown.run(
        "(() => { document.getElementById('search').value = 'compute7'; const start = performance.now(); "
        "document.querySelector('.tools input[value=info]').dispatchEvent(new Event('change')); "
        "return performance.now() - start; })()"
    )
    assert took < 5000
