#!/usr/bin/env python3
"""Times `epitome replay` of sessions that differ in length alone, and prints a table.

  BENCH_OLD=PROGRAM bench/replay.py [--sizes 5,10,20] [--rounds 1] [--data FOLDER] [--binary PROGRAM] [ARGUMENT...]

Sizes are in thousands of entries: each is the beginning of one generated session. Arguments go to `replay` as they are.
`BENCH_OLD` is the program of another commit, run in turn with ours; without it its columns are left out. Times are CPU
time, user and system, of all threads, so that a busy machine tells less, and beside it what a person waits; ratios are taken
within a round, and the median round is told.
"""
import argparse
import os
import statistics as st
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# Enough for the longest session at any size: they are written a little past their number.
SPARE = 1.05


def beginnings(data, sizes):
    """The first entries of one session, a file for each size."""
    os.makedirs(data, exist_ok=True)
    whole = f"{data}/s{max(sizes)}k.jsonl"
    if not os.path.exists(whole):
        entries = str(int(max(sizes) * 1000 * SPARE))
        generator = [sys.executable, f"{HERE}/peers/gen_sessions.py", "--format", "pi", "--entries", entries]
        subprocess.run([*generator, "--out", whole], check=True)
    for size in sizes:
        path = f"{data}/first{size}k.jsonl"
        with open(whole) as source, open(path, "w") as target:
            target.writelines(line for line, _ in zip(source, range(size * 1000)))
        yield size, path


def run(program, path, arguments):
    """CPU seconds, seconds waited, and the most memory in MB."""
    began = time.monotonic()
    with open(os.devnull, "w") as nowhere:
        child = subprocess.Popen([program, "replay", path, *arguments], stdout=nowhere)
        _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{program} replay {path} failed")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="5,10,20")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--data", default=os.environ.get("BENCH_DATA", f"{ROOT}/target/bench-data"))
    parser.add_argument("--binary", default=os.environ.get("EPITOME_BIN", f"{ROOT}/target/release/epitome"))
    options, arguments = parser.parse_known_args()
    old = os.environ.get("BENCH_OLD")
    if not old:
        print("BENCH_OLD is not set: nothing to compare with", file=sys.stderr)
    older = "older build | its wait | older over ours | by wait |" if old else ""
    print("| entries | CPU time | for each 1,000 | wait | peak MB | " + older)
    print("|---|---|---|---|---|" + ("---|---|---|---|" if old else ""))
    for size, path in beginnings(options.data, sorted(int(size) for size in options.sizes.split(","))):
        ours, olds = [], []
        for _ in range(options.rounds):
            ours.append(run(options.binary, path, arguments))
            olds += [run(old, path, arguments)] if old else []
        seconds, wait, memory = (st.median(column) for column in zip(*ours))
        row = f"| {size * 1000:,} | {seconds:.2f} s | {seconds / size:.3f} s | {wait:.2f} s | {memory:.0f} |"
        if old:
            medians = [st.median(column) for column in zip(*olds)]
            ratios = [st.median(before[at] / now[at] for before, now in zip(olds, ours)) for at in (0, 1)]
            row += f" {medians[0]:.2f} s | {medians[1]:.2f} s | {ratios[0]:.2f}x | {ratios[1]:.2f}x |"
        print(row, flush=True)


if __name__ == "__main__":
    main()
