#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The collection awx.awx below .build/awx/collections, out of the package named in requirements/awx.txt. Galaxy is not needed.
# shellcheck source=env.sh
source "$(dirname "$0")/env.sh"
mkdir -p "$build/awx"
exec 9>"$build/awx/lock"
flock 9
cmp -s requirements/awx.txt "$build/awx/from" && exit 0
rm -rf "$build/awx/wheel" "$build/awx/collections"
python -m pip --disable-pip-version-check download -q --no-deps --only-binary :all: -r requirements/awx.txt -d "$build/awx/wheel"
python - "$build/awx" <<'PY'
import pathlib, sys, zipfile
build = pathlib.Path(sys.argv[1])
(wheel,) = (build / "wheel").glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    names = [name for name in archive.namelist() if name.startswith("ansible_collections/awx/awx/")]
    assert names, f"{wheel.name} carries no awx.awx"
    archive.extractall(build / "collections", names)
PY
rm -rf "$build/awx/wheel"
cp requirements/awx.txt "$build/awx/from"
