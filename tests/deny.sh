#!/usr/bin/env bash
# Checks licences, bans and sources of dependencies with cargo-deny where it is installed, and the
# licences alone, from `cargo metadata`, everywhere.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 tests/licences.py
if cargo deny --version >/dev/null 2>&1; then
    cargo deny check licenses bans sources
else
    echo "cargo-deny is not installed: bans and sources were not checked (cargo install cargo-deny)"
fi
