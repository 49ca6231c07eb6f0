"""What must hold between what a client sent and what reached the provider."""

import json

from rawjson import Body, blocks, content

MARK = ',"cache_control":{"type":"ephemeral"}'
SUMMARY = "<epitome-summary"


def unmarked(message):
    """A message without the marks a client moves from turn to turn."""
    return message.replace(MARK, "")


def is_thinking(block):
    return json.loads(block)["type"] in ("thinking", "redacted_thinking")


class Seen:
    """The requests of one conversation, checked one after the other."""

    def __init__(self, name):
        self.name, self.before = name, []
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
        at = 0
        for message in got:
            if SUMMARY in message:
                self.check_joined(sent, message, where)
                continue
            place = next((n for n in range(at, len(sent)) if self.is_same(sent[n], message)), None)
            assert place is not None, f"{where}: nobody sent {message[:200]}"
            self.kept += 1
            at = place + 1
        assert self.is_same(sent[-1], got[-1]), f"{where}: the newest message is not the client's"

    def is_same(self, sent, got):
        if sent == got:
            return True
        old, new = blocks(sent), blocks(got)
        if old is None or new is None or json.loads(sent)["role"] != json.loads(got)["role"]:
            return False
        without = [block for block in old if not is_thinking(block)]
        if len(without) < len(old) and new == without:
            self.unthought += 1
            return True
        return False

    def check_joined(self, sent, message, where):
        """The summary, and what stands beside it in the user's role: the client's blocks, or texts."""
        assert json.loads(message)["role"] == "user", f"{where}: the summary is not in the user's role"
        own = blocks(message)
        if own is None:
            texts = [content(one)[1:-1] for one in sent if content(one).startswith('"')]
            first = next((text for text in texts if content(message)[1:].startswith(text)), None)
            assert first is not None, f"{where}: beside the summary stands something nobody sent"
            return
        theirs = {part for one in sent for part in (blocks(one) or [f'{{"type":"text","text":{content(one)}}}'])}
        for block in own:
            assert SUMMARY in block or block in theirs, f"{where}: nobody sent {block[:200]}"


def check_report(report):
    """Nothing the strict validator would refuse, and nothing too long."""
    assert report["violations"] == [] and report["refused"] == 0, report["violations"][:3]
