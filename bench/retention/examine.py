"""Examines one transcript: its compactions as they follow each other, beside baselines; the points where a model
summarised it; the needs of whoever takes over."""

import json
import tempfile
from pathlib import Path

import corpus
import measures
from baselines import baseline_views
from exam import Exam, summary_statements
from ideal import IdealChoice
from program import ProgramError
from recorded_model import ALIAS, RecordedModel
from report import OURS
from session import Session, session_at, sessions
from view import View
from words import tokens

MODEL = "recorded model"
# The prose of the recorded summary, given to the program as a model's answer, and the program's own parts.
HYBRID = "hybrid"
# Measures that also make sense where a model wrote the summary and nothing else is in view.
BESIDE_MODEL = tuple(
    "recall linked rules todos answers closing closing~ ends files files! noise!".split()
)
# Recorded points are compacted in a window no history of the corpus fills, so that only the target counts.
POINT_WINDOW = 1_000_000
# So often a target is corrected, by so much: the program counts up to a third more than the evaluator. It takes no target
# below the least.
TARGETS_MAX, TARGET_STEP, TARGET_MIN = 4, 1.2, 1_000


def row(kind, transcript, window, nth, place, method, scores, size):
    """One line of the results: a method at a compaction."""
    return {
        "kind": kind,
        "transcript": transcript,
        "window": window,
        "nth": nth,
        "place": place,
        "method": method,
        "size": size,
        "scores": {name: [score.hits, score.total] for name, score in scores.items()},
        "misses": {name: score.misses for name, score in scores.items() if score.misses},
    }


class Examination:
    """What is asked of the program about one transcript."""

    def __init__(self, program, name, packed, options):
        self.program, self.name, self.packed, self.options = program, name, packed, options
        self.rows, self.problems, self.samples = [], [], []
        self.calls_over = {}

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            self.file = corpus.unpack(self.packed, folder)
            self.summaries = corpus.model_summaries(self.file)
            for part in (self.chains, self.recorded, self.needs):
                try:
                    part()
                except ProgramError as error:
                    self.problems.append(f"{self.name}: {error}")
        return {"rows": self.rows, "problems": self.problems, "samples": self.samples, "over": self.calls_over}

    def chains(self):
        """Every compaction of a replay at each window."""
        runs = {window: self.program.replay(self.file, window) for window in self.options.windows}
        calls = {(c.conversation, c.call) for run in runs.values() for c in run.compactions}
        self.calls_over = {str(w): [run.calls_over, run.calls] for w, run in runs.items()}
        if not calls and not self.summaries:
            return
        before, self.stretches = self.program.histories(self.file, calls)
        found = sessions(self.stretches, [s.text for s in self.summaries])
        for window, run in runs.items():
            nth = {}
            for compaction in run.compactions:
                session = session_at(found, compaction.conversation, compaction.call)
                nth[id(session)] = nth.get(id(session), 0) + 1
                now = before[compaction.conversation, compaction.call]
                self.compaction(session, now, window, nth[id(session)], compaction)

    def compaction(self, session, now, window, nth, compaction):
        exam, place = Exam(session, now, window), f"call {compaction.call}"
        scores = measures.measure(exam, compaction.view)
        self.rows.append(row("chain", self.name, window, nth, place, OURS, scores, compaction.view.tokens))
        if nth == 1:
            sample = {"project": project(self.name), "text": compaction.view.text, "closings": exam.closings}
            self.samples.append(sample)
        if self.options.baselines:
            for name, view in baseline_views(session.blocks[:now], compaction.view.tokens).items():
                scores = measures.measure(exam, view)
                self.rows.append(row("chain", self.name, window, nth, place, name, scores, view.tokens))

    def recorded(self):
        """Where a model wrote a summary for the session's own tool: ours there, at the same size."""
        if not self.options.recorded:
            return
        for number, summary in enumerate(self.summaries, 1):
            point = corpus.cut(self.file, summary.line, self.folder / f"point{number}{self.file.suffix}")
            history = self.program.context(point)
            if len(history) < 20:
                continue
            session = Session([*history, *self._after(number)], [s.text for s in self.summaries])
            self.point(session, len(history), number, summary, point)

    def _after(self, number):
        """The blocks that follow the nth summary of the transcript's own tool."""
        later = self.stretches[len(self.stretches) - len(self.summaries) + number - 1 :]
        return [block for _, _, first, last in later for block in last[first:]]

    def point(self, session, now, number, summary, point):
        exam, place = Exam(session, now, POINT_WINDOW, recent_tokens=0), f"line {summary.line}"
        size, said = tokens(summary.text), summary_statements(summary.text)
        ours = self._at(point, size)
        if ours.tokens > 1.25 * size:
            told = f"ours takes {ours.tokens} tokens where the model took {size}; left out"
            self.problems.append(f"{self.name} {place}: {told}")
            return
        views = {MODEL: View.of_text(summary.text), OURS: ours}
        with RecordedModel(summary.text) as model:
            hybrid = self._at(point, size, model.settings)
            prose = View.of_text(model.answers[-1] if model.answers else "")
        if f'by="{ALIAS}"' in hybrid.text:
            views.update({HYBRID: hybrid, "(its prose alone)": prose})
        else:
            self.problems.append(f"{self.name} {place}: the recorded prose was refused; no hybrid here")
        views[f"{OURS}, twice the size"] = self._at(point, 2 * size)
        if self.options.baselines:
            views.update(baseline_views(session.blocks[:now], size))
        best = IdealChoice(session.blocks[:now], said, size)
        views.update({"(ideal sentences)": best.view(), "(whole history)": View(session.blocks[:now])})
        for method, view in views.items():
            scores = measures.measure(exam, view, BESIDE_MODEL)
            scores.update(measures.statements(said, view))
            scores.update(best.taken(view))
            self.rows.append(row("recorded", self.name, 0, number, place, method, scores, view.tokens))

    def _at(self, point, size, settings=()):
        """Ours at a size by the evaluator's own count. The person's first and newest message and the newest exchange stand
        outside a target and go by the window; so the window is one of which the size is a quarter, and the target is
        corrected by what was too much or too little, since the program counts otherwise. Where that does not do, no window
        that a history of the corpus fills, so that the target alone counts."""
        best = None
        for window, targets in ((4 * size, TARGETS_MAX), (POINT_WINDOW, 2)):
            target = size
            for _ in range(targets):
                if best is not None and 0.93 <= best.tokens / size <= 1.07:
                    return best
                try:
                    view = self.program.compact(point, window, max(TARGET_MIN, target), settings)
                except ProgramError:
                    break
                if best is None or abs(view.tokens - size) < abs(best.tokens - size):
                    best = view
                target -= int(TARGET_STEP * (view.tokens - size))
        return best

    def needs(self):
        """The needs of a successor, where somebody has listed them for this transcript."""
        listed = [n for n in _needs(self.options.needs) if n["transcript"].removesuffix(".zst") == self.name]
        for needs in listed:
            point = corpus.cut(self.file, needs["point"]["line"], self.folder / f"needs{self.file.suffix}")
            whole = View(self.program.context(point))
            for window in self.options.windows:
                view = self.program.compact(point, window)
                self._needs_row(needs, window, OURS, view)
                if self.options.baselines:
                    for name, other in baseline_views(whole.blocks, view.tokens).items():
                        self._needs_row(needs, window, name, other)

    def _needs_row(self, needs, window, method, view):
        scores = {"needs": measures.Score(), "needs, not recent": measures.Score()}
        text = " ".join(view.text.casefold().split())
        for need in needs["needs"]:
            hit = any(all(" ".join(p.casefold().split()) in text for p in phrases) for phrases in need["accept"])
            scores["needs"].count(hit, f"[{need['kind']}] {need['need']}")
            if not need["recent"]:
                scores["needs, not recent"].count(hit, f"[{need['kind']}] {need['need']}")
        place = f"record {needs['point']['line']}"
        self.rows.append(row("needs", self.name, window, 1, place, method, scores, view.tokens))


def _needs(folder):
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("*.json"))]


def project(name):
    """What a transcript is about, by its name: those of one project share sentences."""
    stem = name.removesuffix("/session.jsonl").rsplit("/", 1)[-1]
    return stem.split("-")[0]


def control(results):
    """How often closing sentences of another project seem to be in a view: what matching finds by chance."""
    samples = [sample for result in results for sample in result["samples"]]
    literal, near = measures.Score(), measures.Score()
    for number, one in enumerate(samples):
        others = (s for s in samples[number:] + samples[:number] if s["project"] != one["project"] and s["closings"])
        other, view = next(others, None), View.of_text(one["text"])
        for sentence in other["closings"] if other else ():
            literal.count(measures.is_literal(sentence, view), sentence)
            near.count(measures.is_paraphrased(sentence, view), sentence)
    return literal, near
