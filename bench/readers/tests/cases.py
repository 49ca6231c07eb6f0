"""Lists and contexts for tests."""

from contexts import OURS, Context


def need(number, recent=False):
    """A need whose texts name it."""
    texts = {name: f"{name} {number}" for name in ("need", "question", "answer")}
    fixed = {"id": f"n{number}", "kind": "state", "recent": recent, "evidence": [number]}
    return {**fixed, "accept": [[f"word {number}"]], **texts}


def listed(needs, transcript="tool/log.jsonl"):
    return {"transcript": transcript, "point": {"line": 3}, "needs": needs}


LISTS = {name: listed([need(1, recent=True), need(2), need(3)]) for name in ("first", "second", "third")}
METHODS = (OURS, "masking", "extractive")
CONTEXTS = {
    name: [Context(method, f"{name} left {at}", 100 + at) for at, method in enumerate(METHODS)] for name in LISTS
}
