"""The contexts that are compared: what each method leaves of a session where somebody takes over, at one size."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import corpus
from baselines import BASELINES, tail
from view import NOTE, Block, View, is_summary

OURS = "epitome"
# A model's summary is far shorter than what we leave; it gets the newest messages beside it, up to our size.
MODEL = "model summary + tail"
# A method that asks for more than it uses closes its gap by two fifths a time: after eight it is within a fiftieth.
FILL_TRIES_MAX = 8
FILL_NEAR = 0.98
_FRAME = re.compile(r"</?epitome-summary[^>]*>\n?")


@dataclass
class Context:
    """A context as a reader sees it, and who made it."""

    method: str
    text: str
    tokens: int


def contexts(program, listed, root, window, baselines):
    """Ours at the point of a list, the baselines at its size, and a model's summary where one was written there."""
    with tempfile.TemporaryDirectory() as folder:
        file = corpus.unpack(Path(root) / listed["transcript"], folder)
        at = listed["point"]["line"]
        point = corpus.cut(file, at, Path(folder) / f"point{file.suffix}")
        ours, history = program.compact(point, window), program.context(point)
        summaries = [summary.text for summary in corpus.model_summaries(file) if summary.line == at]
    views = {OURS: ours, **{name: filled(BASELINES[name], history, ours.tokens) for name in baselines}}
    for text in summaries:
        note = Block("user", "text", text, NOTE)
        views[MODEL] = View([note, *tail(history, ours.tokens - note.tokens)])
    return [Context(method, shown(view.blocks), view.tokens) for method, view in views.items()]


def filled(make, history, size):
    """What a method leaves at a size; one that comes out short, having run out of old lines, is asked for more."""
    budget, view = size, View(make(history, size))
    for _ in range(FILL_TRIES_MAX):
        if view.tokens >= FILL_NEAR * size:
            break
        budget += size - view.tokens
        larger = View(make(history, budget))
        if larger.tokens > size / FILL_NEAR:
            break
        view = larger
    return view


def shown(blocks):
    """Blocks as text, the same for every method: who speaks, and what; no method names itself."""
    return "\n\n".join(f"[{_speaker(block)}]\n{_FRAME.sub('', block.text).strip()}" for block in blocks)


def _speaker(block):
    if block.kind == "call":
        return f"assistant calls {block.name}"
    if block.kind == "result":
        return "result of a call, failed" if block.failed else "result of a call"
    return "about earlier messages" if block.name == NOTE or is_summary(block.text) else block.role
