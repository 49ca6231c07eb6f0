"""Small conversations, written as the parts of a Messages body."""

import json
import random

from session import Session
from view import View, blocks_of


class Talk:
    """A conversation put together piece by piece."""

    def __init__(self):
        self.messages = []

    def user(self, text):
        return self._add("user", {"type": "text", "text": text})

    def agent(self, text):
        return self._add("assistant", {"type": "text", "text": text})

    def call(self, name, result, failed=False, **arguments):
        number = len(self.messages)
        self._add("assistant", {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments})
        part = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [{"type": "text", "text": result}]}
        return self._add("user", {**part, "is_error": True} if failed else part)

    def _add(self, role, part):
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"].append(part)
        else:
            self.messages.append({"role": role, "content": [part]})
        return self

    @property
    def body(self):
        return json.loads(json.dumps({"messages": self.messages}))

    @property
    def blocks(self):
        return blocks_of(self.body)

    @property
    def session(self):
        return Session(self.blocks)

    @property
    def view(self):
        return View(self.blocks)


def summary(text):
    """A view of a summary alone."""
    return View.of_text(text)


# Sentences without a word in common, each with a file; what is shuffled among them loses its sense.
FILED = (
    "Parser tables moved beneath src/north.rs yesterday morning.",
    "Retry deadlines doubled after src/south.rs timed out.",
    "Broken checksums appear whenever src/east.rs flushes buffers.",
    "Ticket prices round upwards inside src/west.rs calculations.",
    "Korean glyphs overflow narrow columns drawn through src/upper.rs today.",
    "Login cookies expire early unless src/lower.rs refreshes them.",
    "Nightly builds skip signing while src/inner.rs lacks keys.",
    "Search ranking prefers recent notes using src/outer.rs weights.",
)


def shuffled(lines, seed=7):
    """The same words in another order, as many to a line."""
    every = " ".join(lines).split()
    random.Random(seed).shuffle(every)
    size = len(every) // len(lines)
    return [" ".join(every[i : i + size]) for i in range(0, len(every), size)]
