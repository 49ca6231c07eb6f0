"""The corpus on disk: transcripts unpacked, cut at a line, and the summaries that models wrote into them."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path


def unpack(packed, folder):
    """A transcript as its tool wrote it, in `folder`; packed ones need the zstd program."""
    packed = Path(packed)
    if packed.suffix != ".zst":
        return packed
    out = Path(folder) / packed.stem
    if not out.exists():
        with open(out, "wb") as file:
            subprocess.run(["zstd", "-dcq", str(packed)], stdout=file, check=True)
    return out


def transcripts(root):
    """The transcripts below a folder, by name, without those of many short conversations and
    of a summariser's own run."""
    root = Path(root)
    found = [p for p in sorted(root.rglob("*")) if ".json" in p.suffixes or ".jsonl" in p.suffixes]
    left_out = ("tau-bench", "acompact")
    named = {str(p.relative_to(root)).removesuffix(".zst"): p for p in found}
    return {name: path for name, path in named.items() if not any(part in path.name for part in left_out)}


def cut(transcript, line, out):
    """A transcript up to a record: lines of a log from 1, inclusive; messages of a document from 0, inclusive."""
    raw = Path(transcript).read_bytes()
    if _is_log(transcript):
        Path(out).write_bytes(b"\n".join(raw.split(b"\n")[:line]) + b"\n")
    else:
        document = json.loads(raw)
        document["messages"] = document["messages"][: line + 1]
        Path(out).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return Path(out)


def _is_log(transcript):
    return ".jsonl" in Path(transcript).suffixes


@dataclass
class ModelSummary:
    """A summary that a model wrote for the session's own tool, and the last record before it."""

    line: int
    text: str


def model_summaries(transcript):
    """The readable summaries a transcript holds, in order."""
    if not _is_log(transcript):
        return _document_summaries(transcript)
    out, boundary = [], None
    lines = Path(transcript).read_bytes().split(b"\n")
    for number, raw in enumerate(lines, 1):
        if b"ompact" not in raw:
            continue
        try:
            record = json.loads(raw)
        except ValueError:
            continue
        if record.get("subtype") == "compact_boundary":
            boundary = number - 1
        elif record.get("isCompactSummary") and boundary is not None:
            out.append(ModelSummary(boundary, _text(record["message"]["content"])))
        elif record.get("type") == "compaction" and isinstance(record.get("summary"), str):
            out.append(ModelSummary(_last_summarised(record, lines, number), record["summary"]))
    return out


def _last_summarised(record, lines, number):
    """The last line that a compaction of pi stands for: it keeps entries before itself, named by position or id."""
    if isinstance(record.get("firstKeptEntryIndex"), int):
        return record["firstKeptEntryIndex"]
    kept = str(record.get("firstKeptEntryId")).encode()
    return next((i for i, raw in enumerate(lines[:number]) if b'"id":"' + kept + b'"' in raw), number - 1)


def _document_summaries(transcript):
    document = json.loads(Path(transcript).read_bytes())
    messages = document.get("messages") if isinstance(document, dict) else None
    out = []
    for number, message in enumerate(messages or ()):
        info = message.get("info") if isinstance(message, dict) else None
        if isinstance(info, dict) and info.get("summary") is True:
            text = "\n".join(part.get("text", "") for part in message["parts"] if part.get("type") == "text")
            out.append(ModelSummary(number - 2, text))
    return out


def _text(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
