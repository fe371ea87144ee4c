# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the gates: the checkout's root, the tools of .venv, and a home of their own, so that neither the
# user's ~/.ansible nor the checkout is written to.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
real_home=${HOME:-/root}
# GATES_BUILD, GATES_VENV: another place to build, other tools (cores.sh, tests)
build=${GATES_BUILD:-$root/.build}
venv=${GATES_VENV:-$root/.venv}
unset PYTHONDONTWRITEBYTECODE ANSIBLE_CONFIG ANSIBLE_COLLECTIONS_PATH PYTHONPATH
export PATH="$venv/bin:$PATH" VIRTUAL_ENV="$venv" NO_COLOR=1 ANSIBLE_NOCOLOR=1 LC_ALL=C.UTF-8
# the checkout may belong to someone else than root, who runs this
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="*"
mkdir -p "$build"

# ansible-test puts virtual environments below the home directory, and their scripts' first lines may not exceed 127
# characters: with a long checkout path the home is a temporary directory instead, remembered for the next run.
private_home() {
    HOME=$build/h
    if [ ${#build} -gt 47 ]; then
        HOME=$(cat "$build/home-path" 2>/dev/null || true)
        if [ -z "$HOME" ] || [ ! -O "$HOME" ]; then
            HOME=$(mktemp -d "${TMPDIR:-/tmp}/sgXXXXXX")
            echo "$HOME" >"$build/home-path"
        fi
    fi
    export HOME
    mkdir -p "$HOME/.config" "$HOME/.pip"
    unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME
    # pip's own settings still count: those in files, and those in variables, which ansible-test does not pass on
    [ -d "$real_home/.config/pip" ] && ln -sfn "$real_home/.config/pip" "$HOME/.config/pip"
    (
        umask 077
        { cat "$real_home/.pip/pip.conf" 2>/dev/null || true; echo; echo "[install]"
          env | sed -n -E 's/^PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|TRUSTED_HOST|FIND_LINKS|NO_INDEX)=/\1 = /p' |
              while IFS= read -r line; do
                  key=${line%% = *}
                  key=${key,,}
                  echo "${key//_/-} = ${line#* = }"
              done
        } >"$HOME/.pip/pip.conf.$$"
        # at once: another gate may read it now
        mv -f "$HOME/.pip/pip.conf.$$" "$HOME/.pip/pip.conf"
    )
}

# run NAME COMMAND...: run one check, print its output if it fails, remember the failure
failed=()
run() {
    local name=$1 start=$SECONDS output
    shift
    if output=$("$@" 2>&1 </dev/null); then
        printf '%-24s ok      %4d s\n' "$name" $((SECONDS - start))
    else
        printf '%-24s FAILED  %4d s\n%s\n\n' "$name" $((SECONDS - start)) "$output"
        failed+=("$name")
    fi
}
finish() {
    if [ ${#failed[@]} -gt 0 ]; then
        echo "failed: ${failed[*]}"
        exit 1
    fi
}
