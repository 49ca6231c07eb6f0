"""Tables of results: shares averaged over transcripts, counts summed."""

from measures import MEASURES

OURS = "epitome"
_ORDER = [name for name, _, _, _ in MEASURES]
_STEPS = ((1, 1, "1st"), (2, 2, "2nd"), (3, 4, "3–4"), (5, 8, "5–8"), (9, 10**6, "9+"))


def average(rows, measure):
    """The mean over transcripts of the share of a measure, with the sums; nothing where nothing was asked."""
    by_transcript = {}
    for row in rows:
        hits, total = row["scores"].get(measure, (0, 0))
        sums = by_transcript.setdefault(row["transcript"], [0, 0])
        sums[0] += hits
        sums[1] += total
    shares = [hits / total for hits, total in by_transcript.values() if total]
    if not shares:
        return None
    hits = sum(h for h, _ in by_transcript.values())
    total = sum(t for _, t in by_transcript.values())
    return sum(shares) / len(shares), hits, total


def table(head, lines):
    """A Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)


def cell(found):
    return "–" if found is None else f"{found[0]:.2f}"


def methods_of(rows):
    return list(dict.fromkeys(row["method"] for row in rows))


def names_of(rows):
    """The measures under which something was asked, in their order, then those of other tables."""
    others = sorted({name for row in rows for name in row["scores"]} - set(_ORDER))
    return [name for name in [*_ORDER, *others] if average(rows, name)]


def size_of(rows):
    return f"{sum(row['size'] for row in rows) / max(1, len(rows)):,.0f}"


def density(rows):
    """Facts that were used later, for each thousand tokens of the contexts that keep them."""
    return f"{1000 * sum(r['scores']['recall'][0] for r in rows) / max(1, sum(r['size'] for r in rows)):.2f}"


def chains_table(rows, window):
    rows = [r for r in rows if r["kind"] == "chain" and r["window"] == window]
    if not rows:
        return ""
    methods = methods_of(rows)
    ours = [r for r in rows if r["method"] == methods[0]]
    lines = []
    for name in names_of(ours):
        cells = [cell(average([r for r in rows if r["method"] == m], name)) for m in methods]
        _, hits, total = average(ours, name)
        lines.append([name, *cells, f"{hits:,.0f} of {total:,.0f}"])
    lines.append(["facts per 1,000 tokens", *(density([r for r in rows if r["method"] == m]) for m in methods), ""])
    lines.append(["size after", *(size_of([r for r in rows if r["method"] == m]) for m in methods), ""])
    sessions = len({r["transcript"] for r in ours})
    head = f"## {window // 1000}k window ({sessions} transcripts, {len(ours)} compactions)\n\n"
    return head + table(["measure", *methods, "ours, summed"], lines)


def nth_table(rows, methods=(OURS, "masking")):
    lines = []
    chain = [r for r in rows if r["kind"] == "chain"]
    for window in sorted({r["window"] for r in chain}):
        for method in methods:
            mine = [r for r in chain if r["window"] == window and r["method"] == method]
            if not mine:
                continue
            for name in ("recall", "linked", "answers", "closing~", "files"):
                cells = []
                for low, high, _ in _STEPS:
                    step = [r for r in mine if low <= r["nth"] <= high]
                    cells.append(f"{cell(average(step, name))} ({len(step)})" if step else "–")
                lines.append([f"{window // 1000}k", method, name, *cells])
    head = ["window", "method", "measure", *(step[2] for step in _STEPS)]
    return "## Chains: at the nth compaction\n\n" + table(head, lines) if lines else ""


def recorded_table(rows):
    rows = [r for r in rows if r["kind"] == "recorded"]
    if not rows:
        return ""
    methods = methods_of(rows)
    lines = []
    for name in names_of(rows):
        _, _, asked = average([r for r in rows if r["method"] == methods[0]], name)
        cells = (cell(average([r for r in rows if r["method"] == m], name)) for m in methods)
        lines.append([name, *cells, f"{asked:,.0f}"])
    lines.append(["size", *(size_of([r for r in rows if r["method"] == m]) for m in methods), ""])
    points = len({(r["transcript"], r["place"]) for r in rows})
    head = f"## Beside recorded model summaries, same point and size ({points} points)\n\n"
    return head + table(["measure", *methods, "asked"], lines)


def needs_table(rows):
    rows = [r for r in rows if r["kind"] == "needs"]
    if not rows:
        return ""
    methods, lines = methods_of(rows), []
    for window in sorted({r["window"] for r in rows}):
        for name in ("needs", "needs, not recent"):
            mine = [[r for r in rows if r["window"] == window and r["method"] == m] for m in methods]
            lines.append([f"{window // 1000}k", name, *(cell(average(part, name)) for part in mine)])
    head = "## Needs of a successor (literal phrases: a rough guide)\n\n"
    return head + table(["window", "measure", *methods], lines)


def needs_by_transcript(rows):
    rows = [r for r in rows if r["kind"] == "needs" and r["method"] == OURS]
    windows = sorted({r["window"] for r in rows})
    lines = []
    for name in dict.fromkeys(r["transcript"] for r in rows):
        cells = []
        for window in windows:
            scores = [r["scores"]["needs"] for r in rows if r["transcript"] == name and r["window"] == window]
            cells.append(", ".join(f"{h:.0f}/{t:.0f}" for h, t in scores))
        lines.append([name, *cells])
    return table(["transcript", *(f"{w // 1000}k" for w in windows)], lines) if lines else ""


def over_table(over):
    lines = []
    for window in sorted({w for found in over.values() for w in found}, key=int):
        bad = {name: found[window] for name, found in over.items() if found.get(window, [0])[0]}
        told = ", ".join(f"{name} ({n} of {calls} calls)" for name, (n, calls) in bad.items()) or "none"
        lines.append(f"- {int(window) // 1000}k: {told}")
    return "Calls over the window:\n\n" + "\n".join(lines)


def control_text(results):
    (literal, total), (near, _) = results["control"]
    if not total:
        return ""
    shares = f"{literal / total:.3f} (literal) and {near / total:.3f} (paraphrase)"
    return f"Control: other sessions' closing sentences seem present in {shares} of {total} cases."


def problems_text(results):
    return "Problems:\n\n" + "\n".join(f"- {p}" for p in results["problems"]) if results["problems"] else ""


def misses(results, measure, limit, method=OURS):
    """What was missed under a measure, where."""
    out = []
    for row in results["rows"]:
        found = row["misses"].get(measure, ())
        if row["method"] == method and found:
            window = f"{row['window'] // 1000}k " if row["window"] else ""
            place = f"{row['kind']} {window}{row['transcript']} {row['place']} (nth {row['nth']})"
            out.append(f"{place}: {len(found)} missed")
            out.extend("    " + " ".join(str(miss).split())[:300] for miss in found[:limit])
    return "\n".join(out)
