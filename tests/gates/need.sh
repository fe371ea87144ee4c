#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Install the Debian packages the gates need, if they are missing and we may; otherwise say which.
#   need.sh [databases]      those of the database tests, too
set -euo pipefail
missing=()
command -v git >/dev/null || missing+=(git)
command -v rsync >/dev/null || missing+=(rsync)
command -v shellcheck >/dev/null || missing+=(shellcheck)
# the queries of the guide are made
command -v jq >/dev/null || missing+=(jq)
# the audit's page is opened in a browser
command -v chromium >/dev/null || missing+=(chromium)
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
if [ "${1:-}" = databases ]; then
    command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || missing+=(mariadb-server)
    compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
    [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || missing+=(rabbitmq-server)
    command -v openssl >/dev/null || missing+=(openssl)
    command -v ovsdb-server >/dev/null || [ -x /usr/sbin/ovsdb-server ] || missing+=(openvswitch-switch)
    command -v ovn-northd >/dev/null || missing+=(ovn-central ovn-common)
fi
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # The tests start servers of their own: those of the packages are not to run.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
        trap 'rm -f "$policy"' EXIT
    fi
    apt=(apt-get -o DPkg::Lock::Timeout=300)
    "${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 && exit 0
    "${apt[@]}" update -qq
    "${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
    echo "Please install these packages first: ${missing[*]}" >&2
    exit 1
fi
