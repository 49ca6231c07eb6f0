"""A session as it went: the history at each call, and what came after, across the compactions of its own tool."""

from facts import FactBook
from view import is_summary


class Session:
    """One stretch of a session between compactions of its own tool, with all that came after it."""

    def __init__(self, blocks, summary_texts=()):
        self.blocks = blocks
        self.summary_texts = [" ".join(text.split())[:200] for text in summary_texts if text]
        self._facts = None
        for block in blocks:
            if self.is_model_summary(block):
                block.harness = True

    @property
    def facts(self):
        if self._facts is None:
            self._facts = FactBook(self.blocks)
        return self._facts

    def is_model_summary(self, block):
        """Whether a block holds a summary that a model wrote for the session's own tool."""
        if block.role != "user" or block.kind != "text":
            return False
        if is_summary(block.text) and "<epitome-summary" not in block.text[:200]:
            return True
        flat = " ".join(block.text[:2000].split())
        return any(text in flat for text in self.summary_texts)


def sessions(stretches, summary_texts=()):
    """A session per stretch, as {(conversation, first call): session}; what follows a compaction of the session's own
    tool is future to what came before, but its summary and what it showed again are not."""
    out = {}
    for number, (conversation, call, _, blocks) in enumerate(stretches):
        later = [s for s in stretches[number + 1 :] if s[0] == conversation]
        future = [block for _, _, first, last in later for block in last[first:]]
        out[conversation, call] = Session([*blocks, *future], summary_texts)
    return out


def session_at(found, conversation, call):
    """The session a call belongs to."""
    starts = [key for key in found if key[0] == conversation and key[1] <= call]
    return found[max(starts)]
