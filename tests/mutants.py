#!/usr/bin/env python3
"""Mutation testing of a seeded sample: for each module so many mutants, drawn with a seed, are built and tested.

Needs cargo-mutants (`cargo install cargo-mutants`). Prints a table for docs/reference/mutants.md: caught, missed,
unviable (does not build) and timed out for each module, and what was missed, by name.

    tests/mutants.py                            three of each module of every group
    tests/mutants.py --group core --sample 10   ten of each of the core's
    tests/mutants.py --seed 7 --shard 0/4       a quarter of another sample, for one machine of four
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# For each group: its package, whose tests must catch its mutants, and its modules with their files.
GROUPS = {
    "core": ("epitome-core", ["epitome-core"], {
        "cut": ["cut.rs"],
        "keep": ["keep/"],
        "context": ["context.rs"],
        "plan": ["plan.rs"],
        "machine": ["machine/"],
        "budget": ["budget.rs"],
        "prune": ["prune.rs"],
    }),
    "engine": ("epitome-engine", ["epitome-engine"], {
        "check": ["check.rs"],
        "driver": ["driver.rs", "driver/"],
        "session": ["session.rs", "session/"],
        "timeline": ["timeline.rs", "far_ledger.rs", "view_tally.rs"],
        "engine": ["engine.rs", "engine/"],
        "speculation": ["speculation.rs", "speculation/"],
        "replay": ["replay.rs"],
    }),
    "wire": ("epitome-wire", ["epitome-wire"], {
        "boundary": ["boundary.rs", "boundary/"],
        "edits": ["protocol/splice/", "pi/edit.rs"],
        "native": ["native/"],
    }),
    "server": ("epitome-server", ["epitome-server"], {
        "walk": ["walk.rs"],
        "view": ["view.rs", "element.rs", "body.rs"],
        "reply": ["reply.rs", "tally.rs"],
        "books": ["books.rs", "chain.rs"],
    }),
}
# A mutant that hangs is told by this; on two busy processors a sound run takes half of it.
TIMEOUT_SECONDS = 600
# Histories in all properties of a test: fewer than an ordinary run's, since each mutant is tested by all of them.
CASES = "1600"


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--group", action="append", choices=GROUPS, help="only this group; may be given again")
    parser.add_argument("--module", action="append", help="only modules of this name")
    parser.add_argument("--sample", type=int, default=3, help="mutants of each module (3)")
    parser.add_argument("--seed", type=int, default=2026, help="another seed, another sample (2026)")
    parser.add_argument("--shard", default="0/1", help="K/N: the Kth of N parts of the sample")
    parser.add_argument("--out", default=None, help="folder for cargo-mutants' own report")
    return parser.parse_args()


def mutants(package):
    """The names of all mutants of a package, in order."""
    command = ["cargo", "mutants", "--list", "-p", package]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def draw(package, every, modules, asked):
    """So many mutants of each module, by name, and how many there are; the same ones for the same seed."""
    folder = f"crates/{package.removeprefix('epitome-')}/src"
    drawn = {}
    for module, files in modules.items():
        starts = tuple(f"{folder}/{name}" for name in files)
        own = [name for name in every if name.startswith(starts) and "/tests.rs" not in name]
        dice = random.Random(f"{asked.seed} {package} {module}")
        drawn[module] = (sorted(dice.sample(own, min(asked.sample, len(own)))), len(own))
    return drawn


def run(package, tests, every, names, out):
    """What became of each mutant."""
    # Patterns of names do not reach every kind of mutant (27.1 passes them by for struct fields), so those that were
    # not drawn are told to it as caught before.
    before = Path(out) / "mutants.out"
    before.mkdir(parents=True, exist_ok=True)
    (before / "caught.txt").write_text("".join(f"{name}\n" for name in every if name not in names))
    command = ["cargo", "mutants", "-p", package, "-o", out, "--iterate", "--colors", "never"]
    command += ["--timeout", str(TIMEOUT_SECONDS), f"--test-package={','.join(tests)}"]
    # Without debugging symbols a build is half as long.
    quick = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_TEST_DEBUG": "0", "EPITOME_CASES": CASES}
    environment = {**quick, **os.environ}
    subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=False)
    outcomes = json.loads((before / "outcomes.json").read_text())["outcomes"]
    return {one["scenario"]["Mutant"]["name"]: one["summary"] for one in outcomes if one["scenario"] != "Baseline"}


def main():
    asked = options()
    part, parts = (int(number) for number in asked.shard.split("/"))
    rows, missed = [], []
    for group in asked.group or GROUPS:
        package, tests, modules = GROUPS[group]
        wanted = {name: files for name, files in modules.items() if not asked.module or name in asked.module}
        every = mutants(package)
        drawn = draw(package, every, wanted, asked)
        names = [name for sample, _ in drawn.values() for name in sample][part::parts]
        if not names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            became = run(package, tests, every, names, asked.out or folder)
        for module, (sample, of) in drawn.items():
            told = [became[name] for name in sample if name in became]
            count = [told.count(kind) for kind in ("CaughtMutant", "MissedMutant", "Unviable", "Timeout")]
            rows.append(f"| {group}: {module} | {of} | {len(told)} | " + " | ".join(map(str, count)) + " |")
            missed += [name for name in sample if became.get(name) == "MissedMutant"]
    print("| module | mutants | tried | caught | missed | unviable | timed out |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    print("\nMissed:\n" + "\n".join(f"- `{name}`" for name in missed) if missed else "\nNone was missed.")


if __name__ == "__main__":
    main()
