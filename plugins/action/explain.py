# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of explain: prints a page of docs/codes, which is beside the plugins wherever the collection is."""

from __future__ import annotations

import os
import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.reports import codes
from ..plugin_utils import screen

PAGES = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "codes")


class ActionModule(ActionBase):
    """Print a page, or the list."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Return what was printed."""
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec({"code": {"type": "str", "default": ""}})
        try:
            code = codes.code_of(args["code"]) if args["code"].strip() else None
            text = _page(code) if code else codes.listing()
        except codes.NoCodeError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        except OSError as error:
            return {"failed": True, "changed": False, "msg": f"{error.filename}: {error.strerror}"}
        screen.say(text)
        return {"changed": False, "code": code, "text": text, "msg": text.splitlines()[0].lstrip("# ") if code else ALL}


ALL = "listed all codes"


def _page(code: str) -> str:
    with open(os.path.join(PAGES, f"{code}.md"), encoding="utf-8") as stream:
        return stream.read().rstrip()
