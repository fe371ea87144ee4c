# SPDX-License-Identifier: GPL-3.0-or-later
"""After the unit tests: every code of the catalogue was raised by the collection in one of them, or is called reserved.

That none is raised without a reason is what the tests of healthy clouds, hosts and servers say.
"""

from __future__ import annotations

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".build" / "dev"))

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings  # noqa: E402


def main(directory: str) -> int:
    """Return 1 where a code was never raised."""
    raised: set[str] = set()
    for path in pathlib.Path(directory).glob("*.json"):
        raised |= set(json.loads(path.read_text()))
    reserved = {code for code, entry in findings.CATALOGUE.items() if entry.reserved}
    missing, wrong = sorted(set(findings.CATALOGUE) - raised - reserved), sorted(reserved & raised)
    if missing:
        print(f"no unit test has these codes raised: {', '.join(missing)}", file=sys.stderr)
    if wrong:
        print(f"raised, though they are called reserved: {', '.join(wrong)}", file=sys.stderr)
    if not missing and not wrong:
        print(f"each of {len(findings.CATALOGUE)} codes was raised, but {len(reserved)} that are reserved")
    return 1 if missing or wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
