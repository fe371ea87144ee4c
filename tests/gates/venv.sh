#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# .venv/: every tool and library of requirements/dev.txt, at its pinned version. Done again when that file changes.
set -euo pipefail
cd "$(dirname "$0")/../.."
lock=requirements/dev.txt
stamp=.venv/.installed-from
cmp -s "$lock" "$stamp" && .venv/bin/python -c '' 2>/dev/null && exit 0
tests/gates/need.sh
python=python3
for candidate in python3.13 python3.12 python3.11; do
    command -v "$candidate" >/dev/null && "$candidate" -c 'import ensurepip' 2>/dev/null && python=$candidate
done
# the system's own, where there are several
/usr/bin/python3 -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && python=/usr/bin/python3
"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || {
    echo "Python 3.11, 3.12 or 3.13 is needed, $("$python" --version) was found" >&2
    exit 1
}
echo "Making .venv with $("$python" --version)"
"$python" -m venv --clear .venv
pip=(.venv/bin/python -m pip --disable-pip-version-check --no-input)
if "${pip[@]}" install -q "$(grep '^uv==' "$lock")" &&
    .venv/bin/uv pip install -q --compile-bytecode --python .venv/bin/python -r "$lock"; then :; else
    echo "uv could not, trying pip"
    "${pip[@]}" install -q -r "$lock"
fi
cp "$lock" "$stamp"
