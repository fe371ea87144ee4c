#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# galaxy-importer on the built artifact: what Galaxy itself would say. Errors and warnings both fail.
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
ansible_local_tmp = $work/tmp
CFG
cp "$build"/dist/*.tar.gz "$work/"
cd "$work" || exit
GALAXY_IMPORTER_CONFIG=$work/galaxy-importer.cfg python -m galaxy_importer.main ./*.tar.gz </dev/null 2>&1 | tee log
# It lints outside of any collections path, where examples/ finds no playbook of this collection. Those that ship are no complaint.
for playbook in "$root"/playbooks/*.yml; do
    echo "WARNING: ERROR    Failed to find stackguard.nova.$(basename "$playbook" .yml) playbook."
done >expected
if grep -vxFf expected log | grep -qE '(^|[[:space:]])(ERROR|WARNING|CRITICAL)([: ]|$)'; then
    echo "galaxy-importer had something to say"
    exit 1
fi
grep -q 'Importer processing completed successfully' log
