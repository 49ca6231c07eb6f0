#!/bin/sh
# Builds one file that runs on any Linux of this machine's kind: no shared library, not even the C library.
#   packaging/static.sh            a release build, in target/<triple>/release/epitome
#   packaging/static.sh dev        a debug build, for trying this out
set -eu
cd "$(dirname "$0")/.."
profile=${1:-release}
triple=$(rustc -vV | sed -n 's/^host: //p' | sed 's/-linux-gnu$/-linux-musl/')
case $triple in
*-linux-musl) ;;
*) echo "static.sh: $triple is no Linux; use cargo install --path crates/epitome" >&2; exit 1 ;;
esac
# SQLite, zstd and the cryptography of TLS are C.
if ! command -v musl-gcc >/dev/null; then
    echo "static.sh: there is no musl-gcc; install it (Debian, Ubuntu: apt-get install musl-tools) and run again" >&2
    exit 1
fi
if ! rustc --print sysroot --target "$triple" >/dev/null 2>&1 || ! [ -d "$(rustc --print sysroot)/lib/rustlib/$triple" ]; then
    command -v rustup >/dev/null || { echo "static.sh: there is no Rust for $triple and no rustup to fetch it with" >&2; exit 1; }
    rustup target add "$triple"
fi
cargo build --locked --profile "$profile" --target "$triple" -p epitome
folder=$profile
[ "$profile" = dev ] && folder=debug
file=${CARGO_TARGET_DIR:-target}/$triple/$folder/epitome
# A file that still wants a library of the system is none of those that run anywhere.
if ldd "$file" 2>/dev/null | grep -q '=>'; then
    echo "static.sh: $file is not static:" >&2
    ldd "$file" >&2
    exit 1
fi
"$file" version --verbose | sed -n 1,4p
ls -l "$file"
