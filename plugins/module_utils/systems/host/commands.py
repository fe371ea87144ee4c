# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commands of this host: without a shell, with nothing to read, and never for longer than said."""

from __future__ import annotations

import os
import subprocess
import typing as t


def run(
    argv: t.Sequence[str],
    timeout: float,
    *,
    variables: t.Optional[t.Mapping[str, str]] = None,
    merged: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command and return how it ended. Raises OSError, ValueError and :class:`subprocess.TimeoutExpired`.

    ``variables`` are set besides our own; ``merged``: what it says on standard error is part of its output.
    """
    # AnsibleModule.run_command(), which sanity asks for, knows no timeout, and a command that hangs must not hold
    # a fence or a rename for ever. pylint: disable-next=ansible-bad-function
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merged else subprocess.PIPE,
        timeout=timeout,
        check=False,
        env={**os.environ, **variables} if variables else None,
    )
