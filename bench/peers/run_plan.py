#!/usr/bin/env python3
"""Runs the planning benches of all peers round-robin, so that each round compares like with like.

  BENCH_DATA=<folder for generated sessions> [BENCH_NODE=node] [PI_DIRS=<pi folder>[:<another>...]] \\
  [BENCH_PY_MAIN=<venv with langchain, strands-agents, semantic-kernel, litellm>/bin/python] \\
  [BENCH_PY_OPENHANDS=<venv with openhands-sdk>/bin/python] [BENCH_PY_HEADROOM=<venv with headroom-ai>/bin/python] [BENCH_FLOOR=<the floor binary>] \\
  [BENCH_PRODUCT_PLAN='plan {file}'] \\
  python3 run_plan.py [--rounds 5] [--sizes 1,10,100] [--out results.jsonl]

Sizes are in thousands of entries. The product's command must print one JSON object
{"peer":..., "file":..., "ms": {phase: milliseconds}} as the peers' scripts do; the phase names
load, build_context, prepare_compaction, step_request_path line up with pi's.
Files: s<N>k (no compaction yet), sc<N>k (a compaction about every 180k tokens, as a real long
session has), on<N>k.json (an OpenAI body of N thousand messages), o720k.json (one full 200k window).
"""
import argparse
import json
import os
import shlex
import statistics as st
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
E = os.environ.get


def gen(path, *args):
    if not os.path.exists(path):
        subprocess.run([sys.executable, os.path.join(HERE, "gen_sessions.py"), *args, "--out", path], check=True)
    return path


def spin():
    t, x = time.perf_counter(), 0
    for i in range(1_000_000):
        x = (x * 31 + i) & 0xFFFFFFFF
    return (time.perf_counter() - t) * 1000


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--sizes", default="1,10,100")
    ap.add_argument("--out", default="")
    ap.add_argument("--skip", default="", help="comma-separated: pi,main,openhands,litellm,window,floor")
    a = ap.parse_args()
    data = E("BENCH_DATA") or sys.exit("BENCH_DATA is not set")
    sizes = [int(s) for s in a.sizes.split(",")]
    skip = a.skip.split(",")
    jobs = []
    for n in sizes:
        r = "5" if n < 100 else "3"
        files = [gen(f"{data}/s{n}k.jsonl", "--format", "pi", "--entries", str(n * 1000)),
                 gen(f"{data}/sc{n}k.jsonl", "--format", "pi", "--entries", str(n * 1000), "--compact-every", "180000")]
        for f in files:
            if E("PI_DIRS") and "pi" not in skip:
                for d in E("PI_DIRS").split(":"):
                    jobs.append(([E("BENCH_NODE", "node"), "--expose-gc", "--max-old-space-size=8192", f"{HERE}/plan_pi.mjs", f, r], {"PI_DIR": d}))
            if E("BENCH_FLOOR") and "floor" not in skip:
                jobs.append(([E("BENCH_FLOOR"), f, r], {}))
            if E("BENCH_PRODUCT_PLAN"):
                jobs.append((shlex.split(E("BENCH_PRODUCT_PLAN").format(file=f)), {}))
        if "main" in skip:
            continue
        body = gen(f"{data}/on{n}k.json", "--format", "openai", "--entries", str(n * 1000))
        if E("BENCH_FLOOR") and "floor" not in skip:
            jobs.append(([E("BENCH_FLOOR"), body, "3"], {}))
        if E("BENCH_PY_MAIN"):
            for p in ("langchain", "strands", "semantic-kernel"):
                jobs.append(([E("BENCH_PY_MAIN"), f"{HERE}/plan_py.py", p, body, "3" if n < 100 else "1"], {}))
        if E("BENCH_PRODUCT_PLAN_BODY"):
            jobs.append((shlex.split(E("BENCH_PRODUCT_PLAN_BODY").format(file=body)), {}))
    if "window" not in skip:
        w = gen(f"{data}/o720k.json", "--format", "openai", "--bytes", "720000")
        for var, ps in (("BENCH_PY_MAIN", ("langchain", "strands", "semantic-kernel", "litellm")), ("BENCH_PY_OPENHANDS", ("openhands",)), ("BENCH_PY_HEADROOM", ("headroom",))):
            for p in ps:
                if E(var) and p not in skip:
                    jobs.append(([E(var), f"{HERE}/plan_py.py", p, w, "3"], {}))
        if E("BENCH_PRODUCT_PLAN_BODY"):
            jobs.append((shlex.split(E("BENCH_PRODUCT_PLAN_BODY").format(file=w)), {}))
    rows, out = [], open(a.out, "a") if a.out else None
    for rnd in range(a.rounds):
        for cmd, env in jobs:
            s = spin()
            r = subprocess.run(cmd, env={**os.environ, **env}, capture_output=True, text=True)
            try:
                o = json.loads(r.stdout.strip().splitlines()[-1])
            except Exception:
                print("failed:", " ".join(cmd)[-100:], r.stderr[-300:], file=sys.stderr)
                continue
            o["round"], o["spin_ms"] = rnd, round(s, 1)
            rows.append(o)
            if out:
                out.write(json.dumps(o) + "\n")
                out.flush()
            print(rnd, o["peer"], o["file"], {k: v for k, v in o["ms"].items()}, flush=True)
    print(summary(rows))


def summary(rows):
    res, keys = [], []
    for r in rows:
        k = (r["file"], r["peer"])
        if k not in keys:
            keys.append(k)
    res.append("| file | peer | phase | median ms | range | x read floor (same process) | peak MB |\n|---|---|---|---|---|---|---|")
    for k in sorted(keys):
        rs = [r for r in rows if (r["file"], r["peer"]) == k]
        floor = next((x for x in ("floor_read", "floor_json_parse") if x in rs[0]["ms"]), next(iter(rs[0]["ms"])))
        for ph in rs[0]["ms"]:
            v = [r["ms"].get(ph) for r in rs]
            num = [x for x in v if isinstance(x, (int, float))]
            if not num:
                res.append(f"| {k[0]} | {k[1]} | {ph} | {v[0]} | | | |")
                continue
            x = [r["ms"][ph] / r["ms"][floor] for r in rs if isinstance(r["ms"].get(ph), (int, float)) and isinstance(r["ms"].get(floor), (int, float))]
            res.append(f"| {k[0]} | {k[1]} | {ph} | {st.median(num):.3g} | {min(num):.3g}-{max(num):.3g} | {st.median(x):.3g} | {st.median([r.get('peak_rss_mb', 0) for r in rs]):.0f} |")
    sp = [r["spin_ms"] for r in rows]
    if sp:
        res.append(f"\nFixed CPU work before each run: median {st.median(sp):.0f} ms, range {min(sp):.0f}-{max(sp):.0f} ms.")
    return "\n".join(res)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--summary":
        print(summary([json.loads(line) for line in open(sys.argv[2])]))
    else:
        main()
