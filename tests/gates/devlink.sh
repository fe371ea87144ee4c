#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# DIR/ansible_collections/stackguard/nova -> the checkout: tests and type checks see the files being edited.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:-.build/dev}/ansible_collections/stackguard
mkdir -p "$dir"
[ -L "$dir/nova" ] || rm -rf "$dir/nova"
ln -sfn "$PWD" "$dir/nova"
