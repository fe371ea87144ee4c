# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit's page in a real browser: renders, filters, sorts, opens, prints; no name can do anything.

STACKGUARD_TEST_PICTURES=DIRECTORY keeps pictures of both themes, of a phone and of paper, to be looked at.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import time

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import changes
from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.reports.evidence_words import host_of
from ansible_collections.stackguard.nova.tests.unit.browser import Browser
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy
from ansible_collections.stackguard.nova.tests.unit.paged import page
from ansible_collections.stackguard.nova.tests.unit.troubled import HOSTILE, many, troubled

ROWS = "#findings tr.finding"
FILLED = "document.querySelectorAll('details.host[open]:not([data-filled])').length === 0"
VISIBLE = f'Array.from(document.querySelectorAll("{ROWS}")).filter((item) => !item.hidden).length'
#: Elements that a browser makes of a page before anything is opened, however many findings and hosts there are. The
#: others cost time when they are opened. How much time that is: make bench-page.
ELEMENTS, FOR_EACH_HOST = 4000, 40
TITLE = "block: audit of nova, prod/r1, 2026-11-21T06:00:00+00:00"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    started = Browser(tmp_path_factory.mktemp("profile"))
    try:
        yield started
    finally:
        started.close()


def judged(some, **more):
    return audit.audited(dataclasses.replace(some.bundle, named=facts.CloudName("prod", "r1"), **more))


@pytest.fixture(scope="module")
def found():
    return judged(troubled())


@pytest.fixture
def shown(browser, found, tmp_path):
    return opened(browser, found, tmp_path, compared=True)


def against(found):
    """What changed since an audit of the day before, which had a host less in trouble and another guest lost."""
    before = troubled().drop("domains", {"uuid": guest(4, 2)}, "compute4").change("api_services", None, state="up")
    then = judged(before, collected_at="2026-11-20T06:00:00+00:00")
    compared = changes.changes(found.report, changes.Previous(then.report))
    return changes.changes_plain(compared, found.report["generated_at"])


def opened(browser, found, tmp_path, at="", compared=False):
    text = page(found, against(found) if compared else None)
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    browser.send("Emulation.clearDeviceMetricsOverride")
    # Another fragment of the same file would be no new page.
    browser.send("Page.navigate", url="about:blank")
    browser.calls.clear()
    browser.errors.clear()
    browser.open(f"{tmp_path / 'report.html'}{at}")
    return browser


def until(browser, script):
    """Wait until an expression is true: events come when the browser gets to them."""
    limit = time.monotonic() + 60
    while not browser.run(script):
        assert time.monotonic() < limit, script
        time.sleep(0.05)


def search(browser, words):
    browser.run("document.getElementById('told').textContent = ''")
    browser.run(f"(() => {{ const box = document.getElementById('search'); box.value = {words!r}; "
                "box.dispatchEvent(new Event('input')); })()")  # fmt: skip
    until(browser, "document.getElementById('told').textContent !== ''")
    return browser.run(VISIBLE)


def click(browser, selector):
    browser.run(f"document.querySelector({selector!r}).click()")


def of_host(found, name):
    return sum(1 for item in found.checked.findings if (host_of(item) or "").partition(":")[0] == name)


def test_it_renders_without_an_error_and_asks_nobody(shown, found):
    assert shown.run(VISIBLE) == len(found.checked.findings)
    assert shown.run("document.getElementById('verdict').className") == "verdict block"
    worst = "Array.from(document.querySelectorAll('.worst a'), (one) => one.hash)"
    assert shown.run(worst) == ["#code-SG507", "#code-SG109", "#code-SG113"]
    assert shown.run("document.querySelector('#do h4 a').textContent") == "SG507", "before all that can wait"
    assert shown.run("document.querySelector('.tools').hidden") is False
    assert shown.run("document.querySelectorAll('a.square').length") == 9
    assert [url for url in shown.calls if not url.startswith("file://")] == []
    assert shown.errors == []


def test_the_age_of_the_evidence_is_that_of_today(browser, found, tmp_path):
    age = "document.querySelector('time.age + b').textContent + document.querySelector('time.age + b').className"
    for hours, words in ((1, " (1 hour old)"), (47, " (47 hours old)bad"), (24 * 8, " (8 days old)bad")):
        script = f"Date.now = () => Date.parse('2026-11-21T06:00:00Z') + {hours} * 3600000"
        known = browser.send("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        assert opened(browser, found, tmp_path).run(age) == words
        browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=known)


def test_no_name_does_anything(shown):
    assert shown.run("document.title") == TITLE
    assert shown.run("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert shown.run("document.scripts.length") == 1
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    until(shown, FILLED)
    for name in HOSTILE[:5]:
        # What is seen is the very name, in the tables and in the rows of its host.
        assert shown.run(f"document.getElementById('findings').textContent.includes({name!r})")
        assert shown.run(f"document.getElementById('hosts').textContent.includes({name!r})")
    assert shown.run("document.title") == TITLE
    assert shown.run("document.querySelectorAll('img, #findings script, #hosts script').length") == 0
    assert shown.errors == []


def test_even_what_escaped_the_escaping_could_not_run(browser, found, tmp_path):
    text = page(found).replace(
        "</body>",
        "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
        "<p id=styled style='color: rgb(1, 2, 3)'>x</p></body>",
    )
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    browser.open(tmp_path / "report.html")
    time.sleep(0.3)
    assert browser.run("document.title") != "owned"
    assert browser.run("getComputedStyle(document.getElementById('styled')).color") != "rgb(1, 2, 3)"


def test_the_head_says_what_changed_and_what_is_new_is_marked(shown):
    text = shown.run("document.getElementById('changes').textContent")
    assert "Since the audit of 2026-11-20 06:00 UTC" in text
    assert "1 new" in text
    # compute3 was not read in either of them: what is missing may only be unread.
    assert "1 not seen" in text
    assert "did not read all sources" in text
    gone = shown.run("Array.from(document.querySelectorAll('#changes li'), (one) => one.textContent)")
    assert [words.split()[1:3] for words in gone] == [["missing-domain", "guest2"]] or "guest2" in gone[0]
    marked = "Array.from(document.querySelectorAll('#findings tr .badge.new'), (one) => one.closest('tr').id)"
    assert [name.split("-")[0] for name in shown.run(marked)] == ["SG704"]
    assert shown.run("document.querySelectorAll('#code-SG704 > summary .badge.new').length") == 1
    assert search(shown, "new sg704") == 1


def test_without_an_earlier_audit_nothing_is_new(browser, found, tmp_path):
    none = changes.changes_plain(changes.NOTHING, found.report["generated_at"])
    (tmp_path / "report.html").write_text(page(found, none), encoding="utf-8")
    browser.open(tmp_path / "report.html")
    assert "there is no earlier report" in browser.run("document.getElementById('changes').textContent")
    assert browser.run("document.querySelectorAll('.badge.new').length") == 0


def test_search_and_severities_filter(shown, found):
    missing = sum(1 for item in found.checked.findings if item.code == "SG109")
    assert search(shown, "sg109") == missing
    assert shown.run("document.getElementById('told').textContent").startswith(f"{missing} of ")
    assert "q=sg109" in shown.run("location.hash")
    assert search(shown, "sg109 no-such-word") == 0
    assert search(shown, "") == len(found.checked.findings)
    click(shown, ".tools input[value=blocker]")
    warnings = sum(1 for item in found.checked.findings if item.severity != "blocker")
    assert shown.run(VISIBLE) == warnings
    groups = "Array.from(document.querySelectorAll('#findings > details')).filter((one) => !one.hidden).length"
    assert shown.run(groups) == len({item.code for item in found.checked.findings if item.severity != "blocker"})


def test_a_click_on_a_square_filters_everything_below(shown, found):
    hosts = "Array.from(document.querySelectorAll('details.host')).filter((one) => !one.hidden)"
    click(shown, "a.square[data-name=compute6]")
    assert shown.run(VISIBLE) == of_host(found, "compute6")
    assert shown.run(f"{hosts}.map((one) => one.id)") == ["host-compute6"]
    assert shown.run("document.getElementById('host-compute6').open") is True
    cards = "Array.from(document.querySelectorAll('#do .card')).filter((one) => !one.hidden)"
    assert shown.run(f"{cards}.every((one) => one.textContent.includes('compute6'))")
    assert shown.run(f"{cards}.length") == 1
    assert shown.run(f"{hosts}[0].querySelector('.outcome').textContent") == "refuses"
    click(shown, "a.square[data-name=compute6]")
    assert shown.run(VISIBLE) == len(found.checked.findings)
    click(shown, "a.pick[data-name=az2]")
    assert sorted(shown.run(f"{hosts}.map((one) => one.id)")) == [f"host-compute{number}" for number in (2, 4, 6, 8)]
    click(shown, "#picked")
    assert len(shown.run(f"{hosts}.map((one) => one.id)")) > 8


def test_what_is_filtered_is_in_the_address(browser, found, tmp_path):
    shown = opened(browser, found, tmp_path)
    click(shown, "a.square[data-name=compute6]")
    at = shown.run("location.hash")
    again = opened(browser, found, tmp_path, at=at)
    assert again.run(VISIBLE) == of_host(found, "compute6")
    assert "compute6" in again.run("document.getElementById('picked').textContent")


def test_a_link_of_a_ticket_opens_its_finding(browser, found, tmp_path):
    shown = opened(browser, found, tmp_path, at=f"#SG113-{guest(5, 1)}")
    until(shown, "document.getElementById('code-SG113').open")
    top = shown.run(f"document.getElementById('SG113-{guest(5, 1)}').getBoundingClientRect().top")
    assert 0 < top < shown.run("innerHeight")
    assert shown.run("document.getElementById('code-SG113').open") is True


def test_hosts_are_worst_first_and_sort_naturally(browser, tmp_path):
    some = healthy(hosts=12, guests=1).drop("domains", {"uuid": guest(11, 1)}, "compute11")
    shown = opened(browser, judged(some), tmp_path)
    names = "Array.from(document.querySelectorAll('details.host'), (one) => one.id.slice(5))"
    others = [f"compute{number}" for number in range(1, 13) if number != 11]
    assert shown.run(names) == ["compute11", *others]
    click(shown, "[data-sort='1']")
    assert shown.run(names) == [f"compute{number}" for number in range(1, 13)]
    click(shown, "[data-sort='1']")
    assert shown.run(names) == [f"compute{number}" for number in range(12, 0, -1)]
    click(shown, "[data-sort='2']")
    assert shown.run(names)[:2] == ["compute1", "compute3"]


def test_a_host_opens_to_everything_about_it(shown, found):
    shown.run("document.getElementById('host-compute5').open = true")
    until(shown, "document.querySelector('#host-compute5 tr.finding') !== null")
    # What is not on the screen has no text yet (content-visibility).
    shown.run("document.getElementById('host-compute5').scrollIntoView()")
    until(shown, "document.getElementById('host-compute5').innerText.includes('destroyed')")
    text = " ".join(shown.run("document.getElementById('host-compute5').textContent").split())
    assert "guest1 is destroyed" in text
    assert "would move" in text
    assert "resolve SG509" not in text
    assert "Not yet: SG509" in text
    assert shown.run("document.querySelectorAll('#host-compute5 tr.finding').length") == of_host(found, "compute5")


def test_commands_can_be_copied(shown):
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    buttons = shown.run("Array.from(document.querySelectorAll('.copy')).filter((one) => !one.hidden).length")
    assert buttons > 0
    click(shown, ".copy")
    until(shown, "document.querySelector('.copy').textContent === 'copied'")
    assert shown.run("getSelection().toString().trim()") == "systemctl mask nova-compute"


def keep(tmp_path):
    return pathlib.Path(os.environ.get("STACKGUARD_TEST_PICTURES") or tmp_path)


def test_both_themes_are_readable(shown, tmp_path):
    seen = set()
    for name in ("light", "dark"):
        shown.theme(name)
        back, ink = (shown.run(f"getComputedStyle(document.body).{what}") for what in ("backgroundColor", "color"))
        assert contrast(back, ink) > 7
        for selector in (".badge.blocker", ".badge.warning", ".soft", "#do a"):
            assert contrast(back, shown.run(f"getComputedStyle(document.querySelector({selector!r})).color")) > 4.5
        seen.add(back)
        shown.run("document.querySelectorAll('#findings > details')[0].open = true")
        for part in ("verdict", "hosts", "findings", "unchecked"):
            shown.run(f"document.getElementById({part!r}).scrollIntoView({{block: 'start'}})")
            shown.picture(keep(tmp_path) / f"{name}-{part}.png")
    assert len(seen) == 2


def contrast(one, other):
    """The contrast ratio of two colours, as WCAG 2 defines it."""

    def luminance(colour):
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_phone_needs_no_scrolling_sideways(shown, tmp_path):
    shown.theme("light")
    shown.send("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    until(shown, FILLED)
    assert shown.run("document.documentElement.scrollWidth") <= 390
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = false; })")
    assert shown.run("document.querySelector('#hosts summary b').getBoundingClientRect().height") > 10
    shown.run("scrollTo(0, 0)")
    shown.picture(keep(tmp_path) / "phone.png", 390, 844)


def pages(pdf):
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_it_prints_whole_and_short(browser, tmp_path):
    shown = opened(browser, judged(many(400)), tmp_path)
    pdf = shown.pdf()
    (keep(tmp_path) / "paper.pdf").write_bytes(pdf)
    assert pages(pdf) <= 400 / 40
    # As it was before.
    assert shown.run("document.querySelectorAll('#findings > details[open]').length") == 0


def test_a_thousand_hosts_are_on_one_screen(browser, tmp_path):
    some = healthy(hosts=1000, guests=1)
    for number in (7, 77, 777):
        some = some.drop("domains", {"uuid": guest(number, 1)}, f"compute{number}")
    shown = opened(browser, judged(some.unreachable("compute500")), tmp_path)
    shown.send("Emulation.setDeviceMetricsOverride", width=1250, height=1000, deviceScaleFactor=1, mobile=False)
    assert shown.run("document.querySelectorAll('a.square').length") == 1000
    top, bottom = (
        shown.run(f"document.querySelector('.map').getBoundingClientRect().{side}") for side in ("top", "bottom")
    )
    assert bottom - top < 800
    assert shown.run("document.querySelectorAll('a.square.blocker').length") == 4
    assert shown.run("document.querySelectorAll('a.square.notread').length") == 1
    shown.picture(keep(tmp_path) / "thousand.png")
    assert shown.errors == []


def elements(browser):
    return browser.run("document.querySelectorAll('*').length")


def test_what_is_closed_costs_nothing_before_it_is_opened(browser, tmp_path):
    found = judged(many(3000))
    assert len(found.checked.findings) >= 3000
    shown = opened(browser, found, tmp_path)
    assert elements(shown) < ELEMENTS
    assert (tmp_path / "report.html").stat().st_size < 5_000_000
    # The first 50 of a code; the rest behind "more", as text.
    assert shown.run(VISIBLE) == 50
    assert shown.run("document.getElementById('told').textContent") == "3000 of 3000 findings"
    assert shown.run("document.querySelectorAll('#findings > details[open]').length") == 0
    # A search looks into all of them, and makes rows of those only that it shows.
    assert search(shown, "compute7") == 150
    assert shown.run("document.getElementById('told').textContent") == "150 of 3000 findings"
    assert elements(shown) < ELEMENTS + 150 * 20


def test_hosts_cost_a_line_each_before_they_are_opened(browser, tmp_path):
    some = healthy(hosts=1000, guests=1)
    for number in range(1, 301):
        some = some.drop("domains", {"uuid": guest(number, 1)}, f"compute{number}")
    shown = opened(browser, judged(some), tmp_path)
    assert elements(shown) < ELEMENTS + 1000 * FOR_EACH_HOST
    before = elements(shown)
    shown.run("document.getElementById('host-compute7').open = true")
    until(shown, FILLED)
    assert shown.run("document.querySelectorAll('#host-compute7 tr.finding').length") > 0
    assert 0 < elements(shown) - before < 500


def test_more_shows_its_rows_step_by_step_and_a_link_finds_its_own(browser, tmp_path):
    found = judged(many(1200))
    shown = opened(browser, found, tmp_path)
    rest = "document.querySelectorAll('#code-SG109 details.rest tr.finding').length"
    shown.run("document.getElementById('code-SG109').open = true")
    shown.run("document.querySelector('#code-SG109 details.rest').open = true")
    until(shown, f"{rest} === 500")
    click(shown, "#code-SG109 details.rest > button")
    assert shown.run(rest) == 1000
    click(shown, "#code-SG109 details.rest > button")
    assert shown.run(rest) == 1150
    assert shown.run("document.querySelector('#code-SG109 details.rest > button')") is None
    last = shown.run("Array.from(document.querySelectorAll('#code-SG109 tr.finding')).pop().id")
    again = opened(browser, found, tmp_path, at=f"#{last}")
    until(again, "document.querySelector('#code-SG109 details.rest').open")
    top = again.run(f"document.getElementById({last!r}).getBoundingClientRect().top")
    assert 0 < top < again.run("innerHeight")
    assert again.run(f"document.getElementById({last!r}).textContent").strip()
    assert again.errors == []


def test_without_scripts_everything_is_there(browser, tmp_path):
    found = judged(many(300))
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        (tmp_path / "report.html").write_text(page(found), encoding="utf-8")
        browser.send("Page.navigate", url=f"file://{tmp_path / 'report.html'}")
        limit = time.monotonic() + 60
        rows = 0
        while rows < len(found.checked.findings) and time.monotonic() < limit:
            # While the page is loaded, its root may be another one by the time of the question.
            with contextlib.suppress(AssertionError):
                root = browser.send("DOM.getDocument")["root"]["nodeId"]
                rows = len(browser.send("DOM.querySelectorAll", nodeId=root, selector=ROWS)["nodeIds"])
        assert rows == len(found.checked.findings)
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
