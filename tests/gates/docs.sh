#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The documentation as HTML, in .build/docs/html, with its pictures made anew in docs/pictures. Every page that ships is
# in it; a warning fails.
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"
tests/gates/build.sh
private_home
tests/gates/devlink.sh
python tests/gates/pictures.py
docs=$build/docs
rm -rf "$docs"
mkdir -p "$docs/rst/plugins" "$docs/collections/ansible_collections/stackguard/nova"
chmod g-w "$docs/rst/plugins"
rsync -a --exclude /MANIFEST.json --exclude /FILES.json "$build/shipped/" "$docs/collections/ansible_collections/stackguard/nova/"
cp galaxy.yml "$docs/collections/ansible_collections/stackguard/nova/"
ANSIBLE_COLLECTIONS_PATH=$docs/collections antsibull-docs collection --use-current --squash-hierarchy --fail-on-error \
    --dest-dir "$docs/rst/plugins" stackguard.nova
rsync -a --prune-empty-dirs --include '*/' --include '*.md' --include CHANGELOG.rst --include 'docs/pictures/*.png' --exclude '*' "$build/shipped/" "$docs/rst/"
cp docs/sphinx/*.md "$docs/rst/"
# its links are for the code host
sed -i -E 's|`([^`<]+) <(docs/[^>]+)\.md>`__|:doc:`\1 <\2>`|g' "$docs/rst/CHANGELOG.rst"
sphinx-build -q -W --keep-going -j 2 -c docs/sphinx -b html "$docs/rst" "$docs/html"
python - "$docs/html" <<'PY'
import pathlib, sys
html = pathlib.Path(sys.argv[1])
wanted = {"index.html"}
wanted |= {f"plugins/{path.stem}_module.html" for path in pathlib.Path("plugins/modules").glob("*.py")}
wanted |= {f"plugins/{path.stem}_callback.html" for path in pathlib.Path("plugins/callback").glob("*.py")}
wanted |= {f"plugins/{path.stem}_filter.html" for path in pathlib.Path("plugins/filter").glob("*.py")}
wanted |= {f"plugins/{path.name}_role.html" for path in pathlib.Path("roles").iterdir()}
# a playbook's variables are those of the role that bears its name
wanted |= {f"roles/{path.stem}/README.html" for path in pathlib.Path("playbooks").glob("*.yml")}
wanted |= {str(path.with_suffix(".html")) for path in pathlib.Path("docs").rglob("*.md") if "sphinx" not in path.parts}
missing = sorted(name for name in wanted if not (html / name).exists())
print("\n".join(f"no page: {name}" for name in missing), end="\n" if missing else "")
sys.exit(bool(missing))
PY
echo "Words of each page that no script makes whole:"
git ls-files '*.md' | grep -vE '^tests/|^docs/codes/SG|^roles/|^docs/reference/variables/' | xargs wc -w | sort -n
echo "Documentation: .build/docs/html/index.html"
