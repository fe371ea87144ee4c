#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Build the collection from what git knows (nothing else can slip in):
#   .build/dist/*.tar.gz   the artifact
#   .build/shipped/        its content, which the gates test
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"
private_home
exec 9>"$build/build.lock"
flock 9
mkdir -p "$build/src" "$build/dist"
# a deleted file is still listed by git until that is committed
git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
    LC_ALL=C sort -z >"$build/src.list"
[ -s "$build/src.list" ]
# Parts of `make test` work at the same time from what is built: as long as no file has changed, it is left alone.
built_from=$({ xargs -0 sha256sum; xargs -0 stat -c '%a %n' <"$build/src.list"; } <"$build/src.list" | sha256sum)
if [ -e "$build/shipped/FILES.json" ] && [ "$(cat "$build/built-from" 2>/dev/null)" = "$built_from" ]; then exit 0; fi
rm -f "$build/built-from"
rm -rf "$build/src" "$build/dist" "$build/shipped"
mkdir -p "$build/src" "$build/dist" "$build/shipped"
rsync -a --no-owner --no-group --from0 --files-from="$build/src.list" ./ "$build/src/"
ansible-galaxy collection build --force --output-path "$build/dist" "$build/src" >"$build/build.log" 2>&1 || {
    cat "$build/build.log"
    exit 1
}
tar --no-same-owner -xzf "$build"/dist/stackguard-nova-*.tar.gz -C "$build/shipped"
echo "$built_from" >"$build/built-from"
