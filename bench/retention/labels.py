"""Ledgers made by hand (`bench/labels`): the program's file ledger beside them, and the evaluator's own reading of
calls, which says how far `files` can be trusted."""

import json
import tempfile
from pathlib import Path

import corpus
from deeds import files_touched, is_file
from report import table

_OPERATIONS = ("read", "created", "modified", "deleted")


def check(program, folder, root):
    """Both, transcript by transcript."""
    lines, differences = [], []
    for path in sorted(Path(folder).glob("*.json")):
        label = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as place:
            file = corpus.unpack(Path(root) / (label["transcript"].removesuffix(".zst") + ".zst"), place)
            ledger = program.inspect(file)["ledger"]["files"]
            _, stretches = program.histories(file, set())
        blocks = [b for n, (_, _, first, last) in enumerate(stretches) for b in (last[first:] if n else last)]
        ours, wrong = _of_program(label, ledger)
        lines.append([label["transcript"], *ours, _of_evaluator(label, files_touched(blocks))])
        differences += [f"- {label['transcript']}: {what}" for what in wrong]
    head = ["transcript", "program: operations F1", "program: last operation F1", "evaluator: changed files"]
    return "\n".join([table(head, lines), *differences])


def _left_out(label):
    return {f["path"] for f in label["files"] if f.get("doubt")} | set(label.get("ignore", ()))


def _of_program(label, ledger):
    """F1 of the program's ledger over pairs of path and operation, and of path and last operation."""
    doubtful = _left_out(label)
    truth, found = (
        [f for f in files if f["path"] not in doubtful] for files in (label["files"], ledger)
    )
    pairs = lambda files: {(f["path"], o) for f in files for o in _OPERATIONS if f.get(o)}  # noqa: E731
    last = lambda files: {(f["path"], f["last"]) for f in files}  # noqa: E731
    wrong = [f"missing: {o} {p}" for p, o in sorted(pairs(truth) - pairs(found))]
    wrong += [f"too much: {o} {p}" for p, o in sorted(pairs(found) - pairs(truth))]
    return [_f1(pairs(truth), pairs(found)), _f1(last(truth), last(found))], wrong


def _f1(truth, found):
    return f"{2 * len(truth & found) / max(1, len(truth) + len(found)):.3f}"


def _of_evaluator(label, found):
    """How many of the changed files the evaluator sees as changed, and how many others it does."""
    doubtful = _left_out(label)
    sure = [f for f in label["files"] if f["path"] not in doubtful and is_file(f["path"])]
    changed = [f["path"] for f in sure if any(f.get(o) for o in _OPERATIONS[1:])]
    mine = [path for path, deed in found.items() if deed == "changed"]
    hits = sum(any(_is_same(path, other) for other in mine) for path in changed)
    others = sum(not any(_is_same(path, other) for other in [*changed, *doubtful]) for path in mine)
    return f"{hits} of {len(changed)}, {others} others"


def _is_same(one, other):
    one, other = (p.replace("\\", "/").lower() for p in (one, other))
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)
