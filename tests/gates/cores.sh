#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# ansible-test sanity and the unit tests on each release of requirements/cores.txt, in a virtual environment of its own.
#   cores.sh [VERSION...]      such as 2.21; all without one
#   CORES_ONLY=sanity|unit     only one of them; CORES_TESTS: which unit tests; XDIST as in the Makefile
# Debian 12 has Python 3.11 alone. Another one is taken from PATH, from pyenv, from what uv finds, or from the variable
# PYTHON_3_12 (3_13). Without it the release was not tested, which is a failure; with CORES_MISSING=told it is only said.
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"

runs() { "$1" -c "import sys, ensurepip; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null; }
interpreter() {
    local version=$1 name candidate
    name=PYTHON_${version/./_}
    for candidate in "${!name:-}" "python$version" "${PYENV_ROOT:-$real_home/.pyenv}"/versions/"$version".*/bin/python \
        "$("$root/.venv/bin/uv" python find --no-python-downloads "$version" 2>/dev/null || true)"; do
        if [ -n "$candidate" ] && runs "$candidate" "$version"; then
            echo "$candidate"
            return
        fi
    done
    return 1
}
environment() { # PYTHON PIN DIRECTORY
    cat "$root/requirements/dev.txt" - <<<"$2 $1" | cmp -s - "$3/installed-from" && return
    rm -rf "$3/venv"
    "$1" -m venv "$3/venv"
    "$root/.venv/bin/uv" pip install -q --python "$3/venv/bin/python" -r "$root/requirements/dev.txt" --override <(echo "$2")
    cat "$root/requirements/dev.txt" - <<<"$2 $1" >"$3/installed-from"
}
unit() { # DIRECTORY
    tests/gates/devlink.sh
    # shellcheck disable=SC2086
    PYTHONPATH="" "$1/venv/bin/python" -m pytest ${CORES_TESTS:-tests/unit} ${XDIST:--n auto} -q \
        --junitxml="$1/unit.xml" 2>&1 | tail -n 60
    return "${PIPESTATUS[0]}"
}

while read -r version pin; do
    case $version in '' | '#'*) continue ;; esac
    core=${pin#*==}
    core=${core%.*}
    if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qx "$core"; then continue; fi
    dir=$build/cores/$core
    mkdir -p "$dir"
    if ! python=$(interpreter "$version"); then
        if [ "${CORES_MISSING:-}" = told ]; then
            echo "NOT TESTED: ansible-core $core, no Python $version here"
            continue
        fi
        echo "ansible-core $core needs Python $version, which is not on this machine: install it, or name it with PYTHON_${version/./_}"
        failed+=("$core")
        continue
    fi
    run "$core: environment" environment "$python" "$pin" "$dir"
    if [ "${CORES_ONLY:-sanity}" = sanity ]; then
        run "$core: sanity" env GATES_BUILD="$dir" GATES_VENV="$dir/venv" tests/gates/sanity.sh
    fi
    if [ "${CORES_ONLY:-unit}" = unit ]; then run "$core: unit" unit "$dir"; fi
done <requirements/cores.txt
finish
