#!/usr/bin/env bash
# Runs each fuzz target for a while: fuzz/run.sh [SECONDS] [TARGET...], by default all, 60 seconds each.
# Needs cargo-fuzz (cargo install cargo-fuzz). Coverage and the address sanitizer are unstable options of
# the compiler; RUSTC_BOOTSTRAP=1 lets the stable one take them, so no nightly is needed.
set -euo pipefail
cd "$(dirname "$0")"
seconds="${1:-60}"
[ $# -gt 0 ] && shift
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "cargo-fuzz is not installed; run: cargo install cargo-fuzz" >&2
    exit 1
fi
export RUSTC_BOOTSTRAP=1
cargo run --quiet --release --bin write_seeds
if [ $# -gt 0 ]; then targets=("$@"); else mapfile -t targets < <(cargo fuzz list --fuzz-dir . | grep -v write_seeds); fi
for target in "${targets[@]}"; do
    echo "== $target, ${seconds} s"
    cargo fuzz run --fuzz-dir . "$target" -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=262144
done
