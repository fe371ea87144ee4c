# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a module's main() in this process, as Ansible would call it."""

from __future__ import annotations

import contextlib
import io
import json

from ansible.module_utils import basic
from ansible.module_utils.common.parameters import PASS_VARS
from ansible.module_utils.testing import patch_module_args


def run(main, options, check=False):
    """Return what the module printed. Every module must end by itself."""
    out = io.StringIO()
    basic._load_params.__globals__["_ANSIBLE_ARGS"] = None
    given = {
        **options,
        "_ansible_check_mode": check,
        "_ansible_remote_tmp": "/tmp",
        "_ansible_keep_remote_files": False,
    }
    # ansible-core 2.21 returns the invocation only where it is asked for; older ones know no such question.
    if "inject_invocation" in PASS_VARS:
        given["_ansible_inject_invocation"] = True
    with patch_module_args(given), contextlib.redirect_stdout(out):
        try:
            main()
        except SystemExit:
            return json.loads(out.getvalue())
    raise AssertionError("the module did not end")
