# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the page of an audit takes in a browser: ``make bench-page``, or ``tests/bench/page.py [FINDINGS ...]``.

Chromium's time is compared with that for a page of one line, on the same machine at the same time: the machine may be
busy. Each page is loaded nine times, and the best one counts. ``usable``: until it is parsed, its script has run and it
was painted once. ``search``: from a key in the search box until the rows are filtered and painted.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".build" / "dev"))

from ansible_collections.stackguard.nova.tests.unit.browser import Browser  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit.paged import page  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit.test_audit_page import judged  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit.troubled import many  # noqa: E402

TRIES = 9
TRIVIAL = "<!DOCTYPE html><html><head><title>x</title></head><body><p>One line.</p></body></html>"
USABLE = """
new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(Math.max(
  performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
  ...performance.getEntriesByType('paint').map((entry) => entry.startTime))), 0)))
"""
SEARCH = """
new Promise((done) => {
  const box = document.getElementById('search'), start = performance.now();
  box.value = 'compute7';
  document.querySelector('.tools input[value=info]').dispatchEvent(new Event('change'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
})
"""


def measured(browser, path):
    """The best of some loads: milliseconds, by what."""
    best = {}
    for _try in range(TRIES):
        browser.send("Page.navigate", url="about:blank")
        browser.open(path)
        found = {"usable": browser.run(USABLE)}
        if browser.run("!!document.getElementById('search')"):
            found["search"] = browser.run(SEARCH)
        best = {name: min(value, best.get(name, value)) for name, value in found.items()}
    best["elements"] = browser.run("document.querySelectorAll('*').length")
    best["KiB"] = path.stat().st_size // 1024
    return best


def main():
    numbers = [int(word) for word in sys.argv[1:]] or [30, 3000]
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        browser = Browser(place / "profile")
        try:
            browser.picture(place / "x.png")
            (place / "trivial.html").write_text(TRIVIAL)
            base = measured(browser, place / "trivial.html")
            shown = {"one line": base}
            for number in numbers:
                path = place / f"{number}.html"
                path.write_text(page(judged(many(number))), encoding="utf-8")
                shown[f"{number} findings"] = measured(browser, path)
        finally:
            browser.close()
    names = list(dict.fromkeys(name for found in shown.values() for name in found))
    print(f"{'':16}" + "".join(f"{name:>12}" for name in names) + f"{'usable / one line':>20}")
    for title, found in shown.items():
        row = "".join(f"{found[name]:12.0f}" if name in found else f"{'-':>12}" for name in names)
        print(f"{title:16}{row}{found['usable'] / base['usable']:20.1f}")


if __name__ == "__main__":
    main()
