#!/usr/bin/env python3
"""Counts o200k tokens of every document with PyPI tiktoken, offline.

  python3 tiktoken_count.py [--encoding o200k_base] [--out DIR] [--repeat N] [--threads] FILE.json...

Each FILE is one JSON array of strings, a document each. The counts go to FILE.json.counts.json (or DIR/<name>.counts.json)
as an array of integers in the same order. One JSON line per file on stdout, then one for the total.
Only encode_ordinary is timed: special-token spellings in a text count as ordinary text. `bytes` are UTF-8 bytes.
The rank file is $TIKTOKEN_RANKS/<encoding>.tiktoken (default: ranks/ beside this script) and must have the SHA-256 that
PyPI tiktoken itself expects. Lone surrogates are replaced as tiktoken does.
"""
import argparse
import base64
import hashlib
import json
import os
import time

import tiktoken
from tiktoken_ext import openai_public as op

RANKS = os.environ.get("TIKTOKEN_RANKS") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "ranks")


def load(url, expected_hash=None):
    path = os.path.join(RANKS, url.rsplit("/", 1)[1])
    raw = open(path, "rb").read()
    got = hashlib.sha256(raw).hexdigest()
    if got != expected_hash:
        raise SystemExit(f"{path}: SHA-256 {got}, tiktoken expects {expected_hash}")
    return {base64.b64decode(t): int(r) for t, r in (line.split() for line in raw.splitlines() if line)}


op.load_tiktoken_bpe = load


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="+")
    ap.add_argument("--encoding", default="o200k_base")
    ap.add_argument("--out", default="", help="folder for the counts (default: beside each file)")
    ap.add_argument("--repeat", type=int, default=1, help="count N times, report the fastest pass")
    ap.add_argument("--threads", type=int, default=0, help="use encode_ordinary_batch with N threads instead of one thread")
    a = ap.parse_args()
    t = time.perf_counter()
    enc = tiktoken.Encoding(**getattr(op, a.encoding)())
    enc.encode_ordinary("warm up")
    load_ms = (time.perf_counter() - t) * 1000
    tot = dict(documents=0, bytes=0, tokens=0, count_ms=0.0, count_cpu_ms=0.0)
    for f in a.files:
        with open(f, encoding="utf-8") as h:
            docs = json.load(h)
        if not isinstance(docs, list) or not all(isinstance(d, str) for d in docs):
            raise SystemExit(f"{f}: not a JSON array of strings")
        n_bytes = sum(len(d.encode("utf-8", "surrogatepass")) for d in docs)
        best = None
        for _ in range(max(1, a.repeat)):
            w, c = time.perf_counter(), time.process_time()
            if a.threads:
                counts = [len(x) for x in enc.encode_ordinary_batch(docs, num_threads=a.threads)]
            else:
                counts = [len(enc.encode_ordinary(d)) for d in docs]
            w, c = (time.perf_counter() - w) * 1000, (time.process_time() - c) * 1000
            if best is None or w < best[0]:
                best = (w, c)
        name = os.path.basename(f) + ".counts.json"
        dst = os.path.join(a.out or os.path.dirname(os.path.abspath(f)), name)
        with open(dst, "w") as h:
            json.dump(counts, h)
            h.write("\n")
        row = dict(documents=len(docs), bytes=n_bytes, tokens=sum(counts), count_ms=round(best[0], 3), count_cpu_ms=round(best[1], 3))
        for k in tot:
            tot[k] += row[k]
        print(json.dumps({"file": f, **row, "mb_per_s": round(n_bytes / 1e3 / best[0], 2) if best[0] else None, "counts": dst}), flush=True)
    print(json.dumps({"peer": f"tiktoken {tiktoken.__version__} {a.encoding}", "files": len(a.files), **{k: round(v, 3) for k, v in tot.items()},
                      "mb_per_s": round(tot["bytes"] / 1e3 / tot["count_ms"], 2) if tot["count_ms"] else None, "load_ms": round(load_ms, 1)}))


if __name__ == "__main__":
    main()
