"""What a compaction keeps: drives the program over real transcripts and examines the contexts it leaves.

    python3 bench/retention                         the whole corpus at 32k, 64k and 128k, beside baselines
    python3 bench/retention --quick                 a sample at 64k, ours alone
    python3 bench/retention --only repiq --show answers

Standard library only, so nothing is shared with what is measured. Packed transcripts need the zstd program.
"""

import argparse
import json
import multiprocessing
import sys
import time
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import corpus  # noqa: E402
import difference  # noqa: E402
import labels  # noqa: E402
import report  # noqa: E402
from examine import Examination, control  # noqa: E402
from measures import MEASURES  # noqa: E402
from program import Program  # noqa: E402

# A sample for a tuning loop: six tools, answers to question tools, three languages, recorded summaries, needs.
QUICK = (
    "repiq-01c581",
    "oh-my-posh-d3cfdf",
    "chkit-98b664",
    "kimi-cli-28db10",
    "spotter-ae4a77/session",
    "claude-code-log",
    "copilot-cli",
    "entire-skills-d5c56b",
    "opencode/session-bridge",
    "pi-dev",
    "django-13265",
)


def options():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python3 bench/retention", description=__doc__, formatter_class=raw)
    root, either = HERE.parent.parent, argparse.BooleanOptionalAction
    parser.add_argument("--binary", default=str(root / "target/release/epitome"), help="the program to measure")
    parser.add_argument("--corpus", default=str(root / "corpus"), help="a folder of transcripts, .zst or plain")
    parser.add_argument("--needs", default=str(HERE.parent / "needs"), help="the lists of what a successor must know")
    parser.add_argument("--windows", default=None, help="windows in tokens; 32000,64000,128000 if left out")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="transcripts whose name holds this")
    parser.add_argument("--quick", action="store_true", help="a sample at 64k, without baselines")
    parser.add_argument("--baselines", action=either, default=None, help="simple methods beside ours")
    parser.add_argument("--recorded", action=either, default=True, help="ours beside recorded model summaries")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting, handed on")
    parser.add_argument("--preset", default=None, help="a preset of the program, handed on")
    parser.add_argument("--json", metavar="FILE", help="write every score and every miss there")
    parser.add_argument("--from-json", action="append", default=[], metavar="FILE", help="show an earlier run instead")
    parser.add_argument("--against", metavar="FILE", help="an earlier run to compare ours with, measure by measure")
    parser.add_argument("--show", action="append", default=[], metavar="MEASURE", help="print what a measure misses")
    parser.add_argument("--limit", type=int, default=10, help="how many misses to print for each compaction")
    parser.add_argument("--method", default="epitome", help="whose misses to print")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count(), help="transcripts at a time")
    parser.add_argument("--check-labels", action="store_true", help="compare ledgers with those made by hand")
    return parser.parse_args()


def examine(task):
    program, name, packed, chosen = task
    return name, Examination(program, name, packed, chosen).run()


def measure(arguments):
    """The results of a run, as plain data."""
    only = arguments.only or (QUICK if arguments.quick else ())
    windows = arguments.windows or ("64000" if arguments.quick else "32000,64000,128000")
    chosen = SimpleNamespace(
        windows=[int(w) for w in windows.split(",")],
        baselines=not arguments.quick if arguments.baselines is None else arguments.baselines,
        recorded=arguments.recorded,
        needs=arguments.needs,
    )
    settings = [part for pair in arguments.set for part in ("--set", pair)]
    settings += ["--preset", arguments.preset] if arguments.preset else []
    program = Program(arguments.binary, settings)
    found = {n: p for n, p in corpus.transcripts(arguments.corpus).items() if not only or any(o in n for o in only)}
    # Largest first, so that no core waits for one long transcript at the end.
    tasks = [(program, n, p, chosen) for n, p in sorted(found.items(), key=lambda i: -i[1].stat().st_size)]
    results = {}
    with multiprocessing.Pool(arguments.jobs) as pool:
        for done, (name, result) in enumerate(pool.imap_unordered(examine, tasks), 1):
            results[name] = result
            print(f"{done} of {len(tasks)}: {name}", file=sys.stderr)
    ordered = [results[name] for name in sorted(results)]
    literal, near = control(ordered)
    return {
        "rows": [row for result in ordered for row in result["rows"]],
        "problems": [p for result in ordered for p in result["problems"]],
        "over": {name: results[name]["over"] for name in sorted(results)},
        "control": [[literal.hits, literal.total], [near.hits, near.total]],
    }


def joined(runs):
    """Runs over different windows or transcripts as one."""
    over = {}
    for run in runs:
        for name, windows in run["over"].items():
            over.setdefault(name, {}).update(windows)
    control = [[sum(run["control"][i][j] for run in runs) for j in (0, 1)] for i in (0, 1)]
    rows, problems = ([item for run in runs for item in run[key]] for key in ("rows", "problems"))
    return {"rows": rows, "problems": problems, "over": over, "control": control}


def whole_report(results):
    """Every table of a run."""
    rows = results["rows"]
    parts = [report.chains_table(rows, w) for w in sorted({r["window"] for r in rows if r["kind"] == "chain"})]
    parts.append(difference.beside_best(rows, {name: is_better for name, _, is_better, _ in MEASURES}))
    parts += [report.recorded_table(rows), report.needs_table(rows), report.needs_by_transcript(rows)]
    parts += [report.nth_table(rows), report.control_text(results), report.over_table(results["over"])]
    return "\n\n".join(part for part in [*parts, report.problems_text(results)] if part)


def main():
    arguments = options()
    begun = time.monotonic()
    if arguments.check_labels:
        print(labels.check(Program(arguments.binary), HERE.parent / "labels", arguments.corpus))
        return
    if arguments.from_json:
        results = joined([json.loads(Path(file).read_text(encoding="utf-8")) for file in arguments.from_json])
    else:
        results = measure(arguments)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, ensure_ascii=False, indent=1), encoding="utf-8")
    for name in arguments.show:
        print(f"# missed: {name}\n{report.misses(results, name, arguments.limit, arguments.method)}\n")
    if arguments.against:
        before = json.loads(Path(arguments.against).read_text(encoding="utf-8"))
        print(difference.beside_run(results["rows"], before["rows"]))
    elif not arguments.show:
        print(whole_report(results))
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
