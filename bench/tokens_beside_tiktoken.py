#!/usr/bin/env python3
"""Counts every text of the corpus exactly (o200k) with epitome and with PyPI tiktoken, in one run, and compares.

  BENCH_BIN=<folder of the built benches> BENCH_PY_MAIN=<venv with tiktoken>/bin/python TIKTOKEN_RANKS=<folder> \\
  python3 tokens_beside_tiktoken.py [--rounds 3] [--documents FILE.json] [--out result.json]

Without --documents the texts are taken from corpus/. Both count each document once per pass, on one thread;
passes alternate, and each side's fastest is compared, by the clock and by the processor's time, which a busy machine
disturbs less. Exit code 1 where any count differs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def need(name):
    return os.environ.get(name) or sys.exit(f"{name} is not set; see README.md")


def run(cmd):
    done = subprocess.run(cmd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(cmd)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def ours(documents):
    return json.loads(run([os.path.join(need("BENCH_BIN"), "tokens"), "count", documents, "1"]))


def theirs(documents, folder):
    out = run([need("BENCH_PY_MAIN"), os.path.join(HERE, "peers", "tiktoken_count.py"), "--out", folder, documents])
    total = json.loads(out.strip().splitlines()[-1])
    with open(os.path.join(folder, os.path.basename(documents) + ".counts.json")) as file:
        return {**total, "counts": json.load(file)}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--documents", default="")
    ap.add_argument("--out", default="")
    a = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        documents = a.documents
        if not documents:
            documents = os.path.join(folder, "corpus.json")
            with open(documents, "w") as file:
                file.write(run([os.path.join(need("BENCH_BIN"), "tokens"), "extract", os.path.join(HERE, "..", "corpus")]))
        rounds = [(ours(documents), theirs(documents, folder)) for _ in range(a.rounds)]
    our, their = (min((r[side] for r in rounds), key=lambda r: r["count_ms"]) for side in (0, 1))
    for side, best in ((0, our), (1, their)):
        best["count_cpu_ms"] = min(r[side]["count_cpu_ms"] for r in rounds)
    differ = sum(x != y for x, y in zip(our["counts"], their["counts"])) + abs(len(our["counts"]) - len(their["counts"]))
    for side in (our, their):
        del side["counts"]
    result = {"epitome": our, "tiktoken": their, "times_faster": round(their["count_ms"] / our["count_ms"], 2),
              "times_faster_cpu": round(their["count_cpu_ms"] / our["count_cpu_ms"], 2), "counts_that_differ": differ}
    print("| | documents | MB | tokens | ms | CPU ms | MB/s |\n|---|---|---|---|---|---|---|")
    for side in (our, their):
        print(f"| {side['peer']} | {side['documents']} | {side['bytes'] / 1e6:.1f} | {side['tokens']} | {side['count_ms']:.0f} | {side['count_cpu_ms']:.0f} | {side['mb_per_s']:.1f} |")
    print(f"\n{result['times_faster']} times faster ({result['times_faster_cpu']} by CPU time); {differ} of {our['documents']} counts differ.")
    if a.out:
        with open(a.out, "w") as file:
            json.dump(result, file)
            file.write("\n")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
