# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of explain: prints a page of docs/codes, which is beside the plugins wherever the collection is.

A text may hold a secret: it is compared, and neither printed nor written.
"""

from __future__ import annotations

import os
import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.reports import codes
from ..plugin_utils import screen

PAGES = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "codes")


class ActionModule(ActionBase):
    """Print a page, what a text of a log means, or the list."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Return what was printed."""
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(
            {"code": {"type": "str", "default": ""}, "text": {"type": "str", "default": "", "no_log": True}}
        )
        if args["code"].strip() and args["text"].strip():
            return {"failed": True, "changed": False, "msg": "explain takes code or text, and not both."}
        try:
            code, found, text = _answer(args["code"].strip(), args["text"].strip())
        except codes.NoCodeError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        except OSError as error:
            return {"failed": True, "changed": False, "msg": f"{error.filename}: {error.strerror}"}
        screen.say(text)
        said = text.splitlines()[0].lstrip("# ") if found else ALL
        return {"changed": False, "code": code, "codes": found, "text": text, "msg": said}


ALL = "listed all codes"


def _answer(typed: str, line: str) -> t.Tuple[t.Optional[str], t.List[str], str]:
    """Return the code whose page it is, all codes that are meant, and what to print."""
    if line:
        rows = codes.log_rows(line)
        if not rows:
            raise codes.NoCodeError(codes.no_row(line))
        return None, list(dict.fromkeys(code for row in rows for code in row.codes)), codes.log_answer(rows)
    if not typed:
        return None, [], codes.listing()
    code = codes.code_of(typed)
    return code, [code], _page(code)


def _page(code: str) -> str:
    with open(os.path.join(PAGES, f"{code}.md"), encoding="utf-8") as stream:
        return stream.read().rstrip()
