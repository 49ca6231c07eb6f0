#!/usr/bin/env bash
# Sees that PostgreSQL's programs are there, which tests of the store start themselves. On Debian as root it is installed.
set -euo pipefail
is_there() { command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; }
is_there && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # No cluster of Debian's own: tests make theirs.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    apt-get install -y --no-install-recommends postgresql || { apt-get update && apt-get install -y --no-install-recommends postgresql; }
fi
is_there || { echo "no PostgreSQL is installed, and tests of the store need one: apt-get install postgresql, or put initdb on the PATH" >&2; exit 1; }
