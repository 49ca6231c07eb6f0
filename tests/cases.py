#!/usr/bin/env python3
"""Makes docs/reference/conformance.md and lessons.md from the tests that bear a case's number.

A test `fn k35_…` stands for case K35, `fn l12_…` for lesson 12. A case without a test must be named,
with its reason, in the opening `//!` lines of a test file: `- k12: reason` below a line that says
"Cases that cannot hold" or "Pending".

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

TEST = re.compile(
    r"#\[(?:tokio::)?test[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:async\s+)?fn\s+([apckmol])(\d+)_(\w+)"
)
REASON = re.compile(r"^//! - ([apckmol])(\d+): (.+(?:\n//!   .+)*)", re.M)


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "crates/*.rs"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )
    return [ROOT / line for line in sorted(set(listed.stdout.split()))]


def collect():
    tests, reasons = {}, {}
    for path in sources():
        if not path.exists():
            continue
        text = path.read_text()
        where = path.relative_to(ROOT).as_posix()
        # The overflow tests number providers' look-alikes, not lessons.
        is_other = where.startswith("crates/wire/tests/overflow/")
        for letter, number, rest in [] if is_other else TEST.findall(text):
            tests.setdefault((letter, int(number)), []).append((rest.replace("_", " "), where))
        for letter, number, reason in REASON.findall(text):
            reason = re.sub(r"\n//!\s+", " ", reason).strip()
            reasons.setdefault((letter, int(number)), []).append((reason, where))
    return tests, reasons


def rows(letter, count, tests, reasons):
    for number in range(1, count + 1):
        key = (letter, number)
        name = f"{letter.upper()}{number}" if letter != "l" else str(number)
        for sentence, where in tests.get(key, []):
            yield f"| {name} | {sentence} | `{where}` |"
        for reason, where in reasons.get(key, []):
            yield f"| {name} | *not held: {reason}* | `{where}` |" if letter != "l" else f"| {name} | *pending: {reason}* | `{where}` |"


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
    ]
    for letter, name, presets, count in SYSTEMS:
        held = sum((letter, number) in tests for number in range(1, count + 1))
        out += [f"## {name}", "", f"Presets: {presets}. {held} of {count} cases have a test.", "",
                "| case | what holds | test |", "| --- | --- | --- |"]
        out += rows(letter, count, tests, reasons)
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
    out += rows("l", LESSONS, tests, reasons)
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
