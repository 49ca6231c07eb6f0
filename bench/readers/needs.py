"""The lists of what a successor must know, and the records of a transcript that a need rests on."""

import json
import re
import tempfile
from pathlib import Path

import corpus

# Enough to see a need's words with what stands around them.
EXCERPT = 700
_UNREAD = re.compile(r"(?:^|_)id$|Id$|ID$|^(?:type|role|model|timestamp|usage|signature|encrypted_content)$")


def lists(folder):
    """The lists of a folder, by the name of their file."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("*.json"))}
    if not found:
        raise ValueError(f"{folder} holds no lists; give the folder of bench/needs")
    return found


def evidence(listed, root):
    """What the transcript says where each need was taken from: {id: [(record, excerpt)]}."""
    with tempfile.TemporaryDirectory() as folder:
        records = _records(corpus.unpack(Path(root) / listed["transcript"], folder))
    return {need["id"]: [(at, _excerpt(records[at], need)) for at in need["evidence"]] for need in listed["needs"]}


def _records(transcript):
    """The text of each record: lines of a log from 1, messages of a document from 0."""
    raw = transcript.read_bytes()
    if ".jsonl" in transcript.suffixes:
        return {number: _text(line) for number, line in enumerate(raw.split(b"\n"), 1)}
    return {number: "\n".join(_strings(message)) for number, message in enumerate(json.loads(raw)["messages"])}


def _text(line):
    try:
        record = json.loads(line)
    except ValueError:
        return line.decode(errors="replace")
    # The part the model saw; beside it tools keep larger copies for the screen.
    seen = (record.get(name) for name in ("message", "payload", "data"))
    return "\n".join(_strings(next((part for part in seen if isinstance(part, dict)), record)))


def _strings(value):
    """The strings of a JSON value, each once, without what nobody reads: ids, kinds, signatures, images."""
    if isinstance(value, str):
        return [value] if len(value) < 300 or any(c.isspace() for c in value) else []
    inner = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        inner = [part for name, part in value.items() if not _UNREAD.search(name)]
    return list(dict.fromkeys(text for part in inner for text in _strings(part)))


def _excerpt(text, need):
    """The part of a record around the first phrase by which the need is known, or its beginning."""
    phrases = (phrase for phrases in need["accept"] for phrase in phrases)
    places = (text.casefold().find(phrase.casefold()) for phrase in phrases)
    middle = next((at for at in places if at >= 0), 0)
    start = max(0, middle - EXCERPT // 2)
    return f"{'…' if start else ''}{text[start : start + EXCERPT]}{'…' if len(text) > start + EXCERPT else ''}"
