#!/usr/bin/env python3
"""Makes docs/reference/conformance.md and lessons.md from the tests that bear a case's number.

A test `fn k35_…` stands for case K35, `fn l12_…` for lesson 12. The door that a case's test goes through
stands in the line above it, `// door: serve`; without one it is the library, which is all that a test outside
crates/epitome can reach.

What of a case is not held is named in the opening `//!` lines of a test file: `- k12: what, and why`, or
`- k12: waits for the agent: what`. A case with tests and no such line is held, one with both is held in part,
and one with the line alone waits. A case with neither is a mistake, and so is a lesson.

    tests/cases.py           writes both pages
    tests/cases.py --check   fails where a page is out of date or a case has neither test nor reason
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "reference"

# How many numbered cases each system has.
SYSTEMS = [
    ("a", "aura", "`aura`", 33),
    ("p", "pi", "`pi`", 35),
    ("c", "Claude Code", "`claude-code`", 28),
    ("k", "kaged", "`kaged`", 35),
    ("m", "oh-my-pi", "`omp@17`, `omp@18`, `omp@18.x`", 18),
    ("o", "Operator-Use", "`operator-use`", 25),
]
LESSONS = 130

DOORS = ["library", "compact", "replay", "serve"]

TEST = re.compile(
    r"(?:^[ ]*// door: (\w+)\n)?^[ ]*#\[(?:tokio::)?test[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:async\s+)?fn\s+([apckmol])(\d+)_(\w+)",
    re.M,
)
REASON = re.compile(r"^//! - ([apckmol])(\d+): (.+(?:\n//!   .+)*)", re.M)


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "crates/*.rs"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )
    return [ROOT / line for line in sorted(set(listed.stdout.split()))]


def door_of(named, letter, name, where):
    """The door of a test; tests of the program itself must name theirs."""
    if named in DOORS or (not named and not where.startswith("crates/epitome/")) or letter == "l":
        return named or "library"
    print(f"{where}: {name} names no door; write `// door: {' or '.join(DOORS[1:])}` above it")
    sys.exit(1)


def collect():
    tests, reasons = {}, {}
    for path in sources():
        if not path.exists():
            continue
        text = path.read_text()
        where = path.relative_to(ROOT).as_posix()
        # The overflow tests number providers' look-alikes, not lessons.
        is_other = where.startswith("crates/wire/tests/overflow/")
        for named, letter, number, rest in [] if is_other else TEST.findall(text):
            door = door_of(named, letter, f"{letter}{number}_{rest}", where)
            tests.setdefault((letter, int(number)), []).append((rest.replace("_", " "), door, where))
        for letter, number, reason in REASON.findall(text):
            reason = re.sub(r"\n//!\s+", " ", reason).strip()
            reasons.setdefault((letter, int(number)), []).append((reason, where))
    return tests, reasons


def state(key, tests, reasons):
    """Whether a case is held, held in part, or waits."""
    if key not in reasons:
        return "held"
    return "part" if key in tests else "waits"


def case_rows(letter, count, tests, reasons):
    for key in [(letter, number) for number in range(1, count + 1)]:
        name, told = f"{letter.upper()}{key[1]}", state(key, tests, reasons)
        for sentence, door, where in sorted(tests.get(key, []), key=lambda test: DOORS.index(test[1])):
            yield f"| {name} | {told} | {sentence} | {door} | `{where}` |"
        for reason, where in reasons.get(key, []):
            yield f"| {name} | {told} | *not held: {reason}* | | `{where}` |"


def lesson_rows(tests, reasons):
    for number in range(1, LESSONS + 1):
        for sentence, _, where in tests.get(("l", number), []):
            yield f"| {number} | {sentence} | `{where}` |"
        for reason, where in reasons.get(("l", number), []):
            yield f"| {number} | *pending: {reason}* | `{where}` |"


def tally(letter, count, tests, reasons):
    """How many cases are in which state, and how many of them a door of the program shows."""
    keys = [(letter, number) for number in range(1, count + 1)]
    states = [state(key, tests, reasons) for key in keys]
    shown = sum(any(door != "library" for _, door, _ in tests.get(key, [])) for key in keys)
    counts = ", ".join(f"{states.count(name)} {name}" for name in ["held", "part", "waits"])
    return f"{count} cases: {counts}. A door of the program shows {shown} of them."


def missing(letter, count, tests, reasons):
    keys = [(letter, number) for number in range(1, count + 1)]
    return [f"{letter}{number}" for letter, number in keys if (letter, number) not in tests and (letter, number) not in reasons]


def conformance(tests, reasons):
    out = [
        "# Conformance",
        "",
        "What the five systems epitome reproduces do, case by case, and the test that holds each preset to it.",
        "Made from the tests by `tests/cases.py`; do not edit.",
        "",
        "A case is `held` where tests show all of it, `part` where something of it is not held and that is said,",
        "and `waits` where a later part of epitome is needed. The door is how the test gets in: the `library`, or the",
        "program by `compact`, `replay` or `serve`.",
        "",
    ]
    for letter, name, presets, count in SYSTEMS:
        out += [f"## {name}", "", f"Presets: {presets}. {tally(letter, count, tests, reasons)}", "",
                "| case | state | what holds | door | test |", "| --- | --- | --- | --- | --- |"]
        out += case_rows(letter, count, tests, reasons)
        out.append("")
    return "\n".join(out)


def lessons(tests, reasons):
    held = sum(("l", number) in tests for number in range(1, LESSONS + 1))
    out = [
        "# Lessons",
        "",
        "What users of such systems have suffered elsewhere, as tests. The numbers are those of our list of lessons.",
        "Made from the tests by `tests/cases.py`; do not edit.",
        "",
        f"{held} of {LESSONS} have a test; what waits for a later part of epitome is marked pending, with what it waits for.",
        "",
        "| lesson | what holds | test |",
        "| --- | --- | --- |",
    ]
    out += lesson_rows(tests, reasons)
    return "\n".join(out) + "\n"


def main():
    tests, reasons = collect()
    pages = {DOCS / "conformance.md": conformance(tests, reasons), DOCS / "lessons.md": lessons(tests, reasons)}
    lacking = [case for letter, _, _, count in SYSTEMS for case in missing(letter, count, tests, reasons)]
    lacking += missing("l", LESSONS, tests, reasons)
    if "--check" not in sys.argv:
        for path, text in pages.items():
            path.write_text(text)
        print(f"written; {len(lacking)} cases have neither test nor reason: {' '.join(lacking)}")
        return 0
    stale = [path.name for path, text in pages.items() if not path.exists() or path.read_text() != text]
    for name in stale:
        print(f"docs/reference/{name} is out of date; run tests/cases.py")
    if lacking:
        print(f"cases with neither test nor reason: {' '.join(lacking)}")
    return 1 if stale or lacking else 0


if __name__ == "__main__":
    sys.exit(main())
