#!/usr/bin/env bash
# Shows that pi itself goes on from a session we compacted: each pi transcript of the corpus is
# compacted, opened by pi's own session manager, and compared with what we say the model sees. A session with
# edits of earlier entries is compared as it is.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build -q -p epitome
epitome=${EPITOME:-${CARGO_TARGET_DIR:-target}/debug/epitome}
pi=target/pi-0.87.1
if [ ! -d "$pi/node_modules/@earendil-works/pi-coding-agent" ] || [ ! -x "$pi/node_modules/.bin/node" ]; then
    mkdir -p "$pi"
    echo '{"private":true}' >"$pi/package.json"
    # pi wants Node 22; the npm package of that name carries it.
    install() { npm install --prefix "$pi" --no-audit --no-fund --loglevel=error node@22 @earendil-works/pi-coding-agent@0.87.1; }
    install || install # a registry may fail to answer once
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
for packed in corpus/pi/*.zst; do
    out=$work/$(basename "${packed%.zst}")
    "$epitome" compact "$packed" --window 64000 --json -o "$out" >"$work/record.json"
    cp "$out" "$work/opened.jsonl" # pi rewrites old versions when it opens them
    PI_DIR=$PWD/$pi/node_modules/@earendil-works/pi-coding-agent "$pi/node_modules/.bin/node" tests/pi/load.mjs "$work/opened.jsonl" >"$work/seen.json"
    python3 - "$work/record.json" "$work/seen.json" "$out" <<'PY'
import json, sys

record, seen = (json.load(open(path)) for path in sys.argv[1:3])
assert record["outcome"] == "compacted", record["outcome"]
assert seen["roles"][0] == "compactionSummary", seen["roles"][:3]
assert seen["summary"] == record["summary"], "pi shows another summary"
assert seen["orphans"] == 0, f"{seen['orphans']} results without their calls"
print(f"pi resumes {sys.argv[3].rsplit('/', 1)[1]}: a summary and {len(seen['roles']) - 1} messages")
PY
    passed=$((passed + 1))
done
# What was edited later is shown as pi shows it.
cp tests/pi/edited.jsonl "$work/edited.jsonl"
PI_DIR=$PWD/$pi/node_modules/@earendil-works/pi-coding-agent "$pi/node_modules/.bin/node" tests/pi/load.mjs "$work/edited.jsonl" >"$work/seen.json"
"$epitome" context "$work/edited.jsonl" --to openai-chat >"$work/body.json"
python3 - "$work/body.json" "$work/seen.json" <<'PY'
import json, sys

body, seen = (json.load(open(path)) for path in sys.argv[1:3])
ours = [message["content"] or "" for message in body["messages"]]
assert ours == seen["texts"], (ours, seen["texts"])
print(f"pi and we see the same of a session with edits: {len(ours)} messages")
PY
passed=$((passed + 1))
echo "$passed passed, 0 failed"
