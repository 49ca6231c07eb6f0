#!/bin/sh
# Prints the speed tables: how costs grow, planning beside peers, exact counting beside tiktoken, replay beside an older
# build, and which promises hold. Peers that are not installed are left out; README.md says how to set them up.
#
#   BENCH_SIZES=1,10,100   thousands of entries (100 needs 1.4 GB of generated files)
#   BENCH_ROUNDS=3         rounds, peers taking turns in each
#   BENCH_DATA=FOLDER      where generated sessions are kept
#   BENCH_OUT=FOLDER       where raw results go
#   BENCH_OLD=PROGRAM      the program of another commit, for the ratio of replays; left out where it is not set
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BENCH_BIN=${BENCH_BIN:-${CARGO_TARGET_DIR:-$here/../target}/release}
BENCH_DATA=${BENCH_DATA:-$here/../target/bench-data}
BENCH_OUT=${BENCH_OUT:-$here/../target/bench-results}
BENCH_FLOOR=${BENCH_FLOOR:-$BENCH_BIN/floor}
BENCH_PRODUCT_PLAN=${BENCH_PRODUCT_PLAN:-"'$BENCH_BIN/plan' {file}"}
export BENCH_BIN BENCH_DATA BENCH_FLOOR BENCH_PRODUCT_PLAN
for tool in growth plan floor tokens; do
    if [ ! -x "$BENCH_BIN/$tool" ]; then
        echo "$BENCH_BIN/$tool is missing; run: cargo build --release -p epitome-bench" >&2
        exit 1
    fi
done
mkdir -p "$BENCH_DATA" "$BENCH_OUT"
rm -f "$BENCH_OUT/growth.jsonl" "$BENCH_OUT/plan.jsonl" "$BENCH_OUT/tokens.json" "$BENCH_OUT/replay.md"

echo "growth" >&2
"$BENCH_BIN/growth" 5 > "$BENCH_OUT/growth.jsonl"

echo "planning" >&2
python3 "$here/peers/run_plan.py" --rounds "${BENCH_ROUNDS:-3}" --sizes "${BENCH_SIZES:-1,10}" \
    --skip "${BENCH_SKIP:-window}" --out "$BENCH_OUT/plan.jsonl" > "$BENCH_OUT/plan.log"

if [ -n "${BENCH_PY_MAIN:-}" ] && [ -n "${TIKTOKEN_RANKS:-}" ]; then
    echo "counting" >&2
    python3 "$here/tokens_beside_tiktoken.py" --rounds "${BENCH_ROUNDS:-3}" --out "$BENCH_OUT/tokens.json" >&2 || true
fi
if [ -n "${BENCH_OLD:-}" ] && [ -x "$BENCH_BIN/epitome" ]; then
    echo "replay" >&2
    python3 "$here/replay.py" --binary "$BENCH_BIN/epitome" > "$BENCH_OUT/replay.md"
else
    echo "replay is left out: it wants BENCH_OLD, and a release build of the program (cargo build --release -p epitome)" >&2
fi
python3 "$here/tables.py" "$BENCH_OUT"
[ ! -f "$BENCH_OUT/replay.md" ] || cat "$BENCH_OUT/replay.md"
