#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Everything that reads the code without running it, except ansible-test. All checks run, then the verdict.
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"
tests/gates/build.sh
tests/gates/devlink.sh
private_home
ns=ansible_collections/stackguard/nova

have() { [ -n "$(find "$1" -name "$2" -print -quit 2>/dev/null)" ]; }
types() { mypy --cache-dir "$build/mypy" -p ansible_collections.stackguard.nova.plugins; }
oldest_python() { vermin --target=3.9- --violations --no-tips --no-eval-annotations plugins; }
scripts() {
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' f; do
            if [ -f "$f" ] && [ ! -L "$f" ] && head -c 64 "$f" | head -n 1 | grep -qaE '^#!.*[/ ](ba|da)?sh( |$)'; then printf '%s\0' "$f"; fi
        done | xargs -0r shellcheck -x -P SCRIPTDIR -S warning
}
# on a copy of what ships, since it leaves a cache and linking aids behind
playbooks() {
    local copy=$build/lint/$ns
    mkdir -p "$copy"
    rsync -a --delete --exclude /.ansible --exclude /.git --exclude /MANIFEST.json --exclude /FILES.json "$build/shipped/" "$copy/"
    cp galaxy.yml .ansible-lint "$copy/"
    [ -d "$copy/.git" ] || git -C "$copy" init -q
    cd "$copy" && ANSIBLE_COLLECTIONS_PATH=$build/lint ansible-lint --offline --profile production --strict --nocolor -q
}
# the tool walks the tree itself, so it gets a clean copy too
documentation() {
    local copy=$build/docs-lint/$ns
    mkdir -p "$copy"
    rsync -a --delete --exclude /.git --exclude /MANIFEST.json --exclude /FILES.json "$build/shipped/" "$copy/"
    cp galaxy.yml "$copy/"
    [ -d "$copy/.git" ] || git -C "$copy" init -q
    cd "$copy" && ANSIBLE_COLLECTIONS_PATH=$build/docs-lint antsibull-docs lint-collection-docs \
        --plugin-docs --validate-collection-refs self --disallow-unknown-collection-refs --skip-rstcheck .
}

run "ruff check" ruff check --no-cache --output-format concise .
run "ruff format" ruff format --no-cache --check --output-format concise .
if have plugins '*.py'; then
    run "mypy --strict" types
    run "python 3.9" oldest_python
fi
run "shellcheck" scripts
run "consistency" python tests/gates/consistency.py
run "generated tables" python tests/gates/generated.py
run "reuse" reuse lint --lines
run "changelog" antsibull-changelog lint
run "ansible-lint" playbooks
run "antsibull-docs" documentation
finish
