"""What must hold between what a client sent and what reached the provider."""

import json
from functools import cache

from rawjson import Body, blocks, content, has_content

MARK = ',"cache_control":{"type":"ephemeral"}'
SUMMARY = "<epitome-summary"


def unmarked(message):
    """A message without the marks a client moves from turn to turn."""
    return message.replace(MARK, "")


def is_thinking(block):
    return json.loads(block)["type"] in ("thinking", "redacted_thinking")


@cache
def without_thinking(message):
    """A message from which thinking was left out whole, and nothing else was changed."""
    if '"thinking"' not in message:
        return message
    parts = blocks(message)
    kept = ",".join(part for part in parts if not is_thinking(part))
    return message.replace(",".join(parts), kept)


class Seen:
    """The requests of one conversation, checked one after the other."""

    def __init__(self, name, covers_newest=False):
        self.name, self.before = name, []
        # Whether a summary may take the place of the newest message too.
        self.covers_newest = covers_newest
        self.rebuilt = self.kept = self.unthought = self.requests = 0

    def check(self, sent, got):
        """One request as the client sent it, and as it reached the provider."""
        sent, got = Body(sent), Body(got)
        where = f"{self.name}, request {self.requests}"
        assert got.around == sent.around, f"{where}: something beside the messages was changed"
        self.check_kept(sent.messages, got.messages, where)
        now = [unmarked(message) for message in got.messages]
        if now[: len(self.before)] != self.before:
            self.rebuilt += 1
        self.before = now
        self.requests += 1

    def check_kept(self, sent, got, where):
        """Every message is the client's, byte for byte, or holds the summary; in the client's order."""
        places = {message: at for at, message in enumerate(sent)}
        places |= {without_thinking(message): at for at, message in enumerate(sent)}
        before = -1
        for message in got:
            if SUMMARY in message:
                self.check_joined(sent, message, where)
                continue
            assert message in places, f"{where}: nobody sent {message[:200]}"
            assert places[message] > before, f"{where}: messages changed their order"
            before = places[message]
            self.kept += 1
            self.unthought += message != sent[before]
        is_covered = self.covers_newest and SUMMARY in got[-1]
        assert is_covered or got[-1] == sent[-1], f"{where}: the newest message is not the client's"

    def check_joined(self, sent, message, where):
        """The summary, and what stands beside it in the user's role: the client's blocks, or texts."""
        assert json.loads(message)["role"] == "user", f"{where}: the summary is not in the user's role"
        own, sent = blocks(message), [one for one in sent if has_content(one)]
        if own is None:
            begins = (content(message).startswith(content(one)[:-1]) for one in sent if content(one).startswith('"'))
            is_first = content(message).startswith(f'"{SUMMARY}')
            assert is_first or any(begins), f"{where}: beside the summary stands something nobody sent"
            return
        theirs = {part for one in sent for part in (blocks(one) or [f'{{"type":"text","text":{content(one)}}}'])}
        for block in own:
            assert SUMMARY in block or block in theirs, f"{where}: nobody sent {block[:200]}"


def check_report(report):
    """Nothing the strict validator would refuse, and nothing too long."""
    assert report["violations"] == [] and report["refused"] == 0, report["violations"][:3]
