#!/usr/bin/env bash
# Agents written with the official SDKs work through `epitome serve` for hundreds of turns, against the
# scripted upstream with a small window: under the default preset, or under those named. Uses the binaries that are
# built: EPITOME and SCRIPTED_UPSTREAM name others.
set -euo pipefail
cd "$(dirname "$0")/../.."
built=${CARGO_TARGET_DIR:-target}/debug
export EPITOME=${EPITOME:-$built/epitome} SCRIPTED_UPSTREAM=${SCRIPTED_UPSTREAM:-$built/scripted-upstream}
for program in "$EPITOME" "$SCRIPTED_UPSTREAM"; do
    if [ ! -x "$program" ]; then
        echo "there is no $program; run: cargo build -p epitome -p epitome-upstream" >&2
        exit 1
    fi
done
venv=${SDK_VENV:-target/sdk-venv}
stamp=$venv/$(cksum <tests/sdk/requirements.txt | tr ' ' -)
if [ ! -e "$stamp" ]; then
    python3 -m venv "$venv"
    install() { "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/sdk/requirements.txt; }
    install || install # a registry may fail to answer once
    touch "$stamp"
fi
failed=0
for preset in "${@:-default}"; do
    # Each SDK on its own: most of the time is theirs, and there may be more than one processor.
    timeout 420 "$venv/bin/python" tests/sdk/main.py anthropic "$preset" &
    anthropic=$!
    timeout 420 "$venv/bin/python" tests/sdk/main.py openai "$preset" &
    openai=$!
    wait "$anthropic" || failed=1
    wait "$openai" || failed=1
    timeout 420 "$venv/bin/python" tests/sdk/main.py responses "$preset" || failed=1
done
exit "$failed"
