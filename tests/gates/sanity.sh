#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# ansible-test sanity, without containers, on a copy of what ships. Its virtual environments are kept between runs.
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"
tests/gates/build.sh
private_home
copy=$build/sanity/ansible_collections/stackguard/nova
mkdir -p "$copy"
rsync -a --delete --exclude /tests --exclude /.git --exclude /MANIFEST.json --exclude /FILES.json "$build/shipped/" "$copy/"
cp galaxy.yml .gitignore "$copy/"
mkdir -p "$copy/tests"
rm -rf "$copy/tests/sanity"
cp tests/config.yml "$copy/tests/"
if [ -d tests/sanity ]; then rsync -a tests/sanity "$copy/tests/"; fi
# a repository of its own: inside the checkout ansible-test would find an ignored directory, thus no files
[ -d "$copy/.git" ] || git -C "$copy" init -q

# The script ansible-test would fetch, under the name it looks for.
mkdir -p "$HOME/.ansible/test/cache"
python - <<'PY' | while IFS= read -r name; do cp tests/gates/get_pip.py "$HOME/.ansible/test/cache/$name"; done
import pathlib, re
import ansible_test
texts = [p.read_text() for p in pathlib.Path(ansible_test.__path__[0]).rglob("*.py") if "pip_version" in p.read_text()]
for version in sorted({v for t in texts for v in re.findall(r"['\"](2[0-9]\.[0-9.]+)['\"]", t)}):
    print(f"get_pip_{version.replace('.', '_')}.py")
PY
cd "$copy" || exit
exec ansible-test sanity --local --python "$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')" --color no "$@" </dev/null
