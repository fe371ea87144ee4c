# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the documentation, made anew in docs/pictures: the page of a report in a browser, as it is today.

make docs runs it. A picture that shows the same is not written.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".build" / "dev"))

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts  # noqa: E402
from ansible_collections.stackguard.nova.plugins.module_utils.reports.typed_command import TypedCommand  # noqa: E402
from ansible_collections.stackguard.nova.plugins.plugin_utils import operation_pages  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit.browser import Browser  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest, healthy  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit.paged import page  # noqa: E402
from ansible_collections.stackguard.nova.tests.unit.pictured import evacuated  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
#: The evidence is an hour old, whenever the pictures are made.
CLOCK = "Date.now = () => Date.parse('2026-11-21T07:00:00Z')"
FILES = {"evacuate_host": "evacuate_host.yml"}
TYPED = TypedCommand(
    "evacuate_host.yml", ("-e", "@cloud.yml"), {"evacuate_host": "compute1", "evacuate_fence": "power"}
)


def fleet(hosts: int) -> str:
    """The page of an audit of hosts of which some are in trouble."""
    some = healthy(hosts=hosts, guests=1)
    for number in (7, 77, 776):
        some = some.drop("domains", {"uuid": guest(number, 1)}, f"compute{number}")
    for number in (12, 300, 301, 640):
        some = some.change("api_services", {"host": f"compute{number}"}, state="down")
    some = some.migrate(guest(5, 1), "compute5", "compute6", "done", "evacuation")
    some = some.part("libvirt", "compute8", hostname="cn8.example")
    some = some.unreachable("compute500", "timed out")
    watchers = [facts.RbdWatcher(f"{address(host)}:0/{host}", "client.1") for host in (1, 2)]
    image = facts.RbdImage(f"{guest(2, 1)}_disk", "1a", 1, [], watchers, [])
    some = some.host("compute9", rbd=facts.RbdFacts("library", "fsid", "vms", [], [image], None))
    found = audit.audited(dataclasses.replace(some.bundle, named=facts.CloudName("prod", "r1")))
    return page(found)


def shoot(browser: Browser, text: str, name: str, width: int, height: int, at: str = "scrollTo(0, 0)") -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "report.html"
        file.write_text(text, encoding="utf-8")
        browser.send("Page.navigate", url="about:blank")
        browser.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        browser.open(file)
        browser.run(at)
        picture = pathlib.Path(directory) / "picture.png"
        browser.picture(picture, width, height)
        known = PICTURES / f"{name}.png"
        if not known.exists() or known.read_bytes() != picture.read_bytes():
            known.write_bytes(picture.read_bytes())
            print(f"docs/pictures/{name}.png is new")


def main() -> None:
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        try:
            browser.send("Page.addScriptToEvaluateOnNewDocument", source=CLOCK)
            browser.theme("light")
            text = fleet(1000)
            shoot(browser, text, "report-fleet", 1100, 760)
            shoot(browser, text, "report-do", 1100, 760, "document.getElementById('do').scrollIntoView()")
            shoot(browser, text, "report-phone", 390, 760)
            run = dataclasses.replace(evacuated(), typed=TYPED)
            shoot(browser, operation_pages.html(run), "report-evacuation", 1100, 1000)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
