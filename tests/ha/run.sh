#!/usr/bin/env bash
# Kills the primary of a PostgreSQL pair under Patroni while replicas write, and sees that nothing acknowledged is lost: etcd and two
# nodes with synchronous replication on this machine, Debian's packages. Needs root, to install them and to run them as `postgres`.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "run it as root: PostgreSQL's packages are installed, and run as the user postgres" >&2; exit 1; }
for program in patroni etcd; do
    command -v $program >/dev/null && continue
    apt-get install -y --no-install-recommends postgresql patroni etcd-server
    break
done
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
work=$(mktemp -d)
chmod 755 "$work"
chown postgres "$work"

# A process of ours, as the user postgres; its number is in $work/NAME.pid.
start() {
    local name=$1
    shift
    runuser -u postgres -- bash -c 'echo $$ >"$0"; exec "$@"' "$work/$name.pid" "$@" >"$work/$name.log" 2>&1 &
}
# Ends a process by its number, where it is there still.
end() { kill "-$1" "$2" 2>/dev/null || true; }
clean_up() {
    status=$?
    for name in one two; do
        end KILL "$(cat "$work/$name.pid" 2>/dev/null)"
        end QUIT "$(head -1 "$work/$name/postmaster.pid" 2>/dev/null)"
    done
    end KILL "$(cat "$work/etcd.pid" 2>/dev/null)"
    [ $status = 0 ] || tail -n 20 "$work"/*.log
    sleep 1
    rm -rf "$work"
    exit $status
}
trap clean_up EXIT

read -r -a ports < <(python3 - <<'PY'
import socket

sockets = [socket.socket() for _ in range(6)]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))
PY
)
etcd=http://127.0.0.1:${ports[0]} peer=http://127.0.0.1:${ports[1]}
start etcd etcd --data-dir "$work/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" --unsafe-no-fsync

node() {
    local name=$1 rest=$2 port=$3
    cat >"$work/$name.yml" <<YML
scope: epitome
name: $name
restapi: {listen: "127.0.0.1:$rest", connect_address: "127.0.0.1:$rest"}
etcd3: {hosts: "127.0.0.1:${ports[0]}"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    postgresql: {parameters: {max_connections: 100}}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}]
  pg_hba: ["host replication all 127.0.0.1/32 trust", "host all all 127.0.0.1/32 trust"]
postgresql:
  listen: "127.0.0.1:$port"
  connect_address: "127.0.0.1:$port"
  data_dir: $work/$name
  bin_dir: $bin
  pgpass: $work/$name.pgpass
  authentication: {superuser: {username: postgres}, replication: {username: replicator}}
  parameters: {unix_socket_directories: "$work"}
  pg_hba: ["host replication all 127.0.0.1/32 trust", "host all all 127.0.0.1/32 trust"]
YML
    start "$name" patroni "$work/$name.yml"
}
node one "${ports[2]}" "${ports[3]}"
node two "${ports[4]}" "${ports[5]}"

# Waits until one node leads and the other has every commit before it is acknowledged.
for _ in $(seq 120); do
    curl -fs "http://127.0.0.1:${ports[2]}/cluster" 2>/dev/null | grep -q sync_standby && break
    sleep 1
done
curl -fs "http://127.0.0.1:${ports[2]}/cluster" | grep -q sync_standby || { echo "the pair does not come up" >&2; exit 1; }

cat >"$work/kill-primary" <<KILL
#!/usr/bin/env bash
# Kills the node that leads: Patroni first, which would start its PostgreSQL again.
set -euo pipefail
name=two
curl -fs "http://127.0.0.1:${ports[2]}/primary" >/dev/null && name=one
kill -KILL "\$(cat "$work/\$name.pid")"
kill -KILL "\$(head -1 "$work/\$name/postmaster.pid")"
echo "killed \$name"
KILL
chmod +x "$work/kill-primary"
EPITOME_HA="postgres://postgres@127.0.0.1:${ports[3]},127.0.0.1:${ports[5]}/postgres?target_session_attrs=read-write" \
    EPITOME_HA_KILL=$work/kill-primary cargo test -q -p epitome-store --test ha -- --ignored --nocapture
