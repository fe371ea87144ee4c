#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Install the built collection below .build/collections. What is installed already is left alone: a playbook may be
# running from it (`make test` has several parts at work).
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"
private_home
exec 9>"$build/build.lock"
flock 9
for other in "$real_home/.ansible/collections" /usr/share/ansible/collections; do
    if [ -e "$other/ansible_collections/stackguard/nova" ]; then
        echo "Note: $other has a stackguard.nova as well. By hand, ansible-playbook takes that one in this checkout, too." >&2
        echo "      ANSIBLE_COLLECTIONS_PATH=$build/collections takes what was built here." >&2
    fi
done
installed="$build/collections/ansible_collections/stackguard/nova"
if [ ! -L "$installed" ] && cmp -s "$build/shipped/FILES.json" "$installed/FILES.json"; then
    exit 0
fi
rm -rf "$build/collections/ansible_collections/stackguard"
ansible-galaxy collection install --offline --no-deps --force -p "$build/collections" \
    "$build"/dist/stackguard-nova-*.tar.gz >/dev/null
