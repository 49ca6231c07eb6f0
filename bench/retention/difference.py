"""Paired differences over transcripts, with bootstrap intervals."""

import random

from report import OURS, average, cell, methods_of, names_of, table

# Every interval from the same dice, so that a run can be repeated.
SEED, DRAWS = 20261116, 2000


def interval(differences):
    """The mean of paired differences, and where it lies in 95 of 100 samples drawn with replacement."""
    dice = random.Random(SEED)
    means = sorted(_mean(dice.choices(differences, k=len(differences))) for _ in range(DRAWS))
    return _mean(differences), means[DRAWS // 40], means[-DRAWS // 40]


def _mean(values):
    return sum(values) / len(values)


def told(differences):
    if not differences:
        return "–"
    mean, low, high = interval(differences)
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def shares(rows, measure):
    """The share of a measure in each transcript."""
    found = {row["transcript"] for row in rows}
    by_name = {name: average([r for r in rows if r["transcript"] == name], measure) for name in found}
    return {name: share[0] for name, share in by_name.items() if share}


def paired(ours, others):
    return [ours[name] - others[name] for name in sorted(ours) if name in others]


def beside_best(rows, higher_is_better):
    """Ours against the best simple method, measure by measure; controls in brackets are no methods."""
    lines = []
    chain = [r for r in rows if r["kind"] == "chain"]
    for window in sorted({r["window"] for r in chain}):
        here = [r for r in chain if r["window"] == window]
        mine = [r for r in here if r["method"] == OURS]
        others = [m for m in methods_of(here) if m != OURS and not m.startswith("(")]
        for name in names_of(mine):
            found = {m: average([r for r in here if r["method"] == m], name) for m in others}
            found = {m: share[0] for m, share in found.items() if share}
            if not found or name not in higher_is_better:
                continue
            best = (max if higher_is_better[name] else min)(found, key=found.get)
            theirs = shares([r for r in here if r["method"] == best], name)
            differences = paired(shares(mine, name), theirs)
            lines.append([f"{window // 1000}k", name, f"{best} {found[best]:.2f}", told(differences)])
    head = "## Ours against the best simple method (paired over transcripts, 95 % bootstrap)\n\n"
    return head + table(["window", "measure", "best", "difference"], lines) if lines else ""


def beside_run(rows, before):
    """Ours in two runs, measure by measure."""
    lines = []
    mine, theirs = ([r for r in part if r["method"] == OURS] for part in (rows, before))
    places = sorted({(r["kind"], r["window"]) for r in mine} & {(r["kind"], r["window"]) for r in theirs})
    for kind, window in places:
        now, then = ([r for r in part if (r["kind"], r["window"]) == (kind, window)] for part in (mine, theirs))
        # Points that are no work of the program's own are compared where both have them.
        if kind != "chain":
            both = {(r["transcript"], r["place"]) for r in now} & {(r["transcript"], r["place"]) for r in then}
            now, then = ([r for r in part if (r["transcript"], r["place"]) in both] for part in (now, then))
        for name in names_of(now):
            change = paired(shares(now, name), shares(then, name))
            place = f"{kind} {window // 1000}k" if window else kind
            lines.append([place, name, cell(average(then, name)), cell(average(now, name)), told(change)])
    return table(["", "measure", "before", "now", "difference, paired"], lines)
