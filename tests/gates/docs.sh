#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The documentation as HTML, in .build/docs/html.
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"
tests/gates/build.sh
private_home
docs=$build/docs
rm -rf "$docs"
mkdir -p "$docs/rst" "$docs/collections/ansible_collections/stackguard/nova"
chmod g-w "$docs/rst"
rsync -a --exclude /MANIFEST.json --exclude /FILES.json "$build/shipped/" "$docs/collections/ansible_collections/stackguard/nova/"
cp galaxy.yml "$docs/collections/ansible_collections/stackguard/nova/"
ANSIBLE_COLLECTIONS_PATH=$docs/collections antsibull-docs collection --use-current --squash-hierarchy --fail-on-error \
    --dest-dir "$docs/rst" stackguard.nova
sphinx-build -q -c docs/sphinx -b html "$docs/rst" "$docs/html"
echo "Documentation: .build/docs/html/index.html"
