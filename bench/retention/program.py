"""The program under test, driven through its doors: `replay`, `compact`, `context`."""

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from view import View, blocks_of, count_blocks

# A window in which nothing is ever compacted: `replay` then shows whole histories.
WHOLE = 100_000_000
_RECORD = b'{"file":'
_HEADER = re.compile(rb'"conversation":(\d+),"call":(\d+),"message":(\d+),"tokens":(\d+)')


class ProgramError(Exception):
    """A run that failed, with what the program said."""


@dataclass
class Compaction:
    """A compaction that `replay` came to: when, and the context after it."""

    conversation: int
    call: int
    tokens_before: int
    tokens_after: int
    strategy: str
    view: View


@dataclass
class Run:
    """What `replay` showed of one transcript at one window."""

    compactions: list
    calls: int
    calls_over: int


class Program:
    def __init__(self, binary, settings=()):
        self.binary = str(binary)
        self.settings = list(settings)

    def replay(self, transcript, window):
        """Every compaction of a transcript at a window, with the contexts after them."""
        found, calls, over = [], 0, 0
        for header, raw in self._records(transcript, window, self.settings):
            calls += 1
            over += header["tokens"] > window
            if raw is not None:
                record = json.loads(raw)
                made = record["compaction"] or {}
                if made.get("outcome") in ("compacted", "pruned"):
                    found.append(_compaction(record, made))
        return Run(found, calls, over)

    def histories(self, transcript, calls):
        """How many blocks stand before each of the named calls, and the stretches that the transcript's own tool left
        uncompacted: {(conversation, call): count}, [(conversation, first call, count at first, last blocks)]."""
        at, stretches, last, open_ = {}, [], None, None
        for header, raw in self._records(transcript, WHOLE, (), every=True):
            place = (header["conversation"], header["call"])
            begins = open_ is None or open_[0] != place[0] or b'"compaction":null' not in raw[:400]
            if begins:
                if open_ is not None:
                    stretches.append((*open_, _blocks(last)))
                open_ = (*place, _count(raw))
            if place in calls:
                at[place] = _count(raw)
            last = raw
        if open_ is not None:
            stretches.append((*open_, _blocks(last)))
        return at, stretches

    def compact(self, transcript, window, target=None, settings=()):
        """The view after `compact` of a whole file."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            options = ["--window", str(window), "-o", str(out), "--to", "native", *self.settings, *settings]
            if target:
                options += ["--target", str(target)]
            self._run("compact", str(transcript), *options)
            body = json.loads(self._run("context", str(out if out.exists() else transcript)))
            return View(blocks_of(body))

    def context(self, transcript):
        """The blocks of a file as the model would see it."""
        return blocks_of(json.loads(self._run("context", str(transcript))))

    def inspect(self, transcript):
        """What `inspect` says of a file."""
        return json.loads(self._run("inspect", str(transcript), "--json"))

    def _run(self, *arguments):
        done = subprocess.run([self.binary, *arguments], capture_output=True)
        if done.returncode:
            raise ProgramError(f"{' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def _records(self, transcript, window, settings, every=False):
        """The records of a replay: header, and the raw record where it tells of a compaction (or always)."""
        command = [self.binary, "replay", str(transcript), "--window", str(window), "--json", "--contexts", *settings]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            for raw in _joined_lines(run.stdout):
                found = _HEADER.search(raw[:400])
                if not found:
                    continue
                names = ("conversation", "call", "message", "tokens")
                header = dict(zip(names, map(int, found.groups())))
                wanted = every or b'"compaction":null' not in raw[:400]
                yield header, raw if wanted else None
            error = run.stderr.read().decode(errors="replace")
        if run.returncode:
            raise ProgramError(f"{' '.join(command)}: {error.strip()}")


def _joined_lines(stream):
    """Records, one per line; where a transcript's own JSON was copied with its line breaks, its lines joined."""
    parts = []
    for line in stream:
        if line.startswith(_RECORD) and parts:
            yield b"".join(parts)
            parts = []
        parts.append(line)
    if parts:
        yield b"".join(parts)


def _blocks(raw):
    return blocks_of(json.loads(raw)["context"])


def _count(raw):
    return count_blocks(json.loads(raw)["context"])


def _compaction(record, made):
    return Compaction(
        record["conversation"],
        record["call"],
        made.get("tokens_before", 0),
        record["tokens"],
        made.get("strategy", ""),
        View(blocks_of(record["context"]), summary=made.get("summary") or None),
    )
