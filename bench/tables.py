#!/usr/bin/env python3
"""Prints the tables of one run of run.sh, and which promises hold.

  python3 tables.py FOLDER      (growth.jsonl, plan.jsonl and tokens.json as run.sh leaves them)

Ratios are taken within a round, peers having run one after the other, and the median round is told.
"""
import json
import os
import statistics as st
import sys

OURS, PI, FLOOR = "epitome", "pi", "rust floor"


def lines(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def figure(ms):
    return f"{ms * 1e3:.3g} µs" if ms < 0.1 else f"{ms:,.3g} ms" if ms < 1000 else f"{ms / 1000:.3g} s"


def growth_table(rows):
    sizes = [r for r in rows if "entries" in r]
    if not sizes:
        return []
    out = ["## How costs grow with the session", "", "| | " + " | ".join(f"{r['entries']:,} entries" for r in sizes) + " | last over first |",
           "|---|" + "---|" * (len(sizes) + 1)]
    for phase in sizes[0]["ms"]:
        times = [r["ms"][phase] for r in sizes]
        out.append(f"| {phase} | " + " | ".join(map(figure, times)) + f" | {times[-1] / times[0]:.2f} |")
    return out + [""]


def plan_table(rows):
    if not rows:
        return []
    spins = [r["spin_ms"] for r in rows]
    out = ["## Planning beside peers", "", "| file | phase | " + " | ".join(peers := sorted({r["peer"] for r in rows})) + " |",
           "|---|---|" + "---|" * len(peers)]
    phases = list(dict.fromkeys(p for r in rows for p in r["ms"]))
    for file in sorted({r["file"] for r in rows}):
        here = [r for r in rows if r["file"] == file]
        for phase in phases + ["peak MB"]:
            cells = [cell(here, peer, phase) for peer in peers]
            if any(cells):
                out.append(f"| {file} | {phase} | " + " | ".join(cells) + " |")
    noise = f"Fixed CPU work before each run took {min(spins):.0f} to {max(spins):.0f} ms, median {st.median(spins):.0f}: where that varies, so does everything."
    return out + ["", noise, ""]


def cell(rows, peer, phase):
    rows = [r for r in rows if r["peer"] == peer]
    values = [r.get("peak_rss_mb") if phase == "peak MB" else r["ms"].get(phase) for r in rows]
    values = [v for v in values if isinstance(v, (int, float))]
    if not values:
        return ""
    return f"{st.median(values):.0f}" if phase == "peak MB" else figure(st.median(values))


def tokens_table(tokens):
    if not tokens:
        return []
    out = ["## Exact counting (o200k), every text of the corpus", "", "| | documents | MB | tokens | time | CPU time | MB/s |", "|---|---|---|---|---|---|---|"]
    for side in (tokens["epitome"], tokens["tiktoken"]):
        out.append(f"| {side['peer']} | {side['documents']} | {side['bytes'] / 1e6:.1f} | {side['tokens']:,} | {figure(side['count_ms'])} | {figure(side['count_cpu_ms'])} | {side['mb_per_s']:.1f} |")
    return out + [""]


def ratios(rows, file, ours, peer, theirs):
    """Of each round: what their phases took together over what ours did."""
    found = []
    for number in {r["round"] for r in rows}:
        pick = lambda name: next((r for r in rows if r["round"] == number and r["file"] == file and r["peer"].startswith(name)), None)
        us, them = pick(OURS), pick(peer)
        if us and them and all(p in them["ms"] for p in theirs):
            found.append(sum(them["ms"][p] for p in theirs) / sum(us["ms"][p] for p in ours))
    return found


def promises(growth, plan, tokens, data):
    steps = {r["entries"]: r["ms"] for r in growth if "entries" in r}
    if steps:
        small, large = steps[min(steps)], steps[max(steps)]
        ratio = large["step"] / small["step"]
        yield ("a check before a call costs the same at 1,000 and 100,000 entries, within 1.5x", ratio <= 1.5, f"{ratio:.2f}x; {large['check'] / small['check']:.2f}x without the new messages")
        yield ("and under 50 µs", large["step"] < 0.05, figure(large["step"]))
    ours = ["check", "prepare_compaction", "rebuild_after_compaction"]
    theirs = ["decide_with_usage", "prepare_compaction", "rebuild_after_compaction"]
    if found := ratios(plan, "s10k.jsonl", ours, PI, theirs):
        yield ("decide, plan and rebuild of 10,000 entries at least 20x faster than pi", st.median(found) >= 20, spread(found))
    if found := ratios(plan, "s100k.jsonl", ["load"], PI, ["load"]):
        yield ("100,000 entries loaded at least 5x faster than pi", st.median(found) >= 5, spread(found))
    if found := [1 / r for r in ratios(plan, "s100k.jsonl", ["load"], FLOOR, ["floor_read", "parse_typed"])]:
        yield ("and within 2x of reading and parsing those bytes once", st.median(found) <= 2, spread(found))
    sizes = [r for r in plan if r["peer"].startswith(OURS) and r["file"] == "s100k.jsonl"]
    if sizes and os.path.exists(path := os.path.join(data, "s100k.jsonl")):
        file, peak = os.path.getsize(path) / 1048576, max(r["peak_rss_mb"] for r in sizes)
        yield ("in less than half the file's size of memory", peak < file / 2, f"{peak:.0f} MB for a file of {file:.0f} MB")
    if tokens:
        yield ("exact counts at least 4x faster than tiktoken", tokens["times_faster"] >= 4, f"{tokens['times_faster']}x; {tokens['times_faster_cpu']}x by CPU time")
        yield ("and equal on every document", tokens["counts_that_differ"] == 0, f"{tokens['counts_that_differ']} of {tokens['epitome']['documents']} differ")


def spread(found):
    return f"{st.median(found):.3g}x (rounds {min(found):.3g} to {max(found):.3g})"


def main():
    folder = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    growth, plan = lines(os.path.join(folder, "growth.jsonl")), lines(os.path.join(folder, "plan.jsonl"))
    tokens = next(iter(lines(os.path.join(folder, "tokens.json"))), None)
    out = ["## Promises", "", "| promise | holds | seen |", "|---|---|---|"]
    for promise, holds, seen in promises(growth, plan, tokens, os.environ.get("BENCH_DATA", "")):
        out.append(f"| {promise} | {'yes' if holds else '**no**'} | {seen} |")
    print("\n".join(out + [""] + growth_table(growth) + plan_table(plan) + tokens_table(tokens)))


if __name__ == "__main__":
    main()
