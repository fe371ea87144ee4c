# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for the get-pip script that ansible-test would download: pip comes from ensurepip and PyPI instead."""

from __future__ import annotations

import subprocess
import sys

pins = [arg for arg in sys.argv[1:] if not arg.startswith("-")]
subprocess.check_call([sys.executable, "-m", "ensurepip", "--upgrade", "--default-pip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins])
