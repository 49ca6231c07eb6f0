"""Judges what a proxy did to an agent's requests, by what came to it and what left it.

A request is held against the one before it: of the same session and path, the earlier request whose list begins most alike on the
client's side. Where nothing was compacted, what left the proxy must repeat as much of what left it before as the client repeated of its own.
"""

import json
from dataclasses import dataclass, field

LISTS = {"/messages": "messages", "/chat/completions": "messages", "/responses": "input"}


def list_key(path: str) -> str | None:
    """Where a conversation's list is, by the path it is posted to."""
    path = path.split("?")[0]
    return next((key for end, key in LISTS.items() if path.endswith(end)), None)


def without_marks(value):
    """A value without cache marks, which move from request to request; a text that a mark made a list of is a text."""
    if isinstance(value, dict):
        kept = {key: without_marks(part) for key, part in value.items() if key != "cache_control"}
        content = kept.get("content")
        if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and set(content[0]) == {"type", "text"}:
            kept["content"] = content[0]["text"]
        return kept
    if isinstance(value, list):
        return [without_marks(part) for part in value]
    return value


def parts(body: dict, key: str) -> list[str]:
    """What a provider reads, in the order it reads it: tools, system prompt, then each message."""
    elements = body.get(key)
    elements = [elements] if isinstance(elements, str) else elements or []
    front = [body.get("tools"), body.get("system") or body.get("instructions")]
    return [json.dumps(without_marks(part), ensure_ascii=False) for part in [*front, *elements]]


def common(one: list[str], other: list[str]) -> int:
    """How many parts two lists begin with alike."""
    at = 0
    while at < min(len(one), len(other)) and one[at] == other[at]:
        at += 1
    return at


def size(elements: list[str]) -> int:
    return sum(len(element.encode()) for element in elements)


@dataclass
class Request:
    """One conversation's request as it came and as it left."""

    path: str
    session: str
    compaction: str
    came: list[str]
    left: list[str]


@dataclass
class Verdict:
    """What came of all requests of a run."""

    requests: int = 0
    others: int = 0
    made: list[str] = field(default_factory=list)
    applied: int = 0
    sessions: dict = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    hung_up: int = 0
    refused: list[str] = field(default_factory=list)
    client_breaks: int = 0
    compaction_breaks: int = 0
    faults: list[str] = field(default_factory=list)
    common_bytes: int = 0
    held_bytes: int = 0


def judge(front, back) -> Verdict:
    """Holds what came (`front`) against what left (`back`), request by request."""
    verdict, earlier = Verdict(), []
    behind: dict[str, list] = {}
    for passed in back:
        behind.setdefault(passed.tag, []).append(passed)
    for passed in front:
        sent = behind.get(passed.tag, [])
        verdict.refused += [f"{one.status}: {one.error[:200]}" for one in sent if one.status >= 400]
        key = list_key(passed.path)
        if passed.method != "POST" or not key:
            verdict.others += 1
            continue
        verdict.requests += 1
        verdict.hung_up += passed.has_hung_up
        if passed.status >= 400 or passed.error:
            verdict.errors.append(f"{passed.status}: {passed.error[:200]}")
        if not sent:
            continue
        said = passed.headers
        request = Request(passed.path, said.get("x-epitome-session", ""), said.get("x-epitome-compaction", ""),
                          parts(passed.json(), key), parts(sent[-1].json(), key))
        verdict.sessions[request.session] = verdict.sessions.get(request.session, 0) + 1
        note_compaction(verdict, request)
        compare(verdict, request, earlier)
        earlier.append(request)
    return verdict


def note_compaction(verdict: Verdict, request: Request):
    if request.compaction.startswith("made"):
        verdict.made.append(request.compaction[6:])
    verdict.applied += request.compaction.startswith("applied")


def compare(verdict: Verdict, request: Request, earlier: list[Request]):
    """Notes what of the forward before this one is repeated, and whose doing it is where that is not all of it."""
    kin = [one for one in earlier if one.session == request.session and one.path == request.path]
    before = max(reversed(kin), key=lambda one: common(one.came, request.came), default=None)
    if before is None:
        return
    here, there = common(before.left, request.left), common(before.came, request.came)
    verdict.held_bytes += size(before.left)
    verdict.common_bytes += size(before.left[:here])
    lost = size(before.left[here:])
    if not lost:
        return
    if lost <= size(before.came[there:]):
        verdict.client_breaks += 1
    elif request.compaction.startswith(("made", "applied")):
        verdict.compaction_breaks += 1
    else:
        verdict.faults.append(f"{request.session} {request.compaction or 'no compaction'}: {lost:,} bytes of {size(before.left):,} are not repeated "
                              f"(part {here} of {len(before.left)}), the client repeats all but {size(before.came[there:]):,}")
