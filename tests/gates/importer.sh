#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# galaxy-importer on the built artifact: what Galaxy itself would say. Errors and warnings both fail. ansible-lint is left to
# `make lint`, which runs it on exactly this build, more strictly: here it has a time limit that a busy machine exceeds.
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"
tests/gates/build.sh
private_home
work=$build/importer
rm -rf "$work"
mkdir -p "$work"
cat >"$work/galaxy-importer.cfg" <<CFG
[galaxy-importer]
check_required_tags = True
run_ansible_lint = False
ansible_local_tmp = $work/tmp
CFG
cp "$build"/dist/*.tar.gz "$work/"
cd "$work" || exit
GALAXY_IMPORTER_CONFIG=$work/galaxy-importer.cfg python -m galaxy_importer.main ./*.tar.gz </dev/null 2>&1 | tee log
if grep -qE '(^|[[:space:]])(ERROR|WARNING|CRITICAL)([: ]|$)' log; then
    echo "galaxy-importer had something to say"
    exit 1
fi
grep -q 'Importer processing completed successfully' log
