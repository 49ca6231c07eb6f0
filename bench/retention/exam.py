"""The exam: what whoever goes on after a compaction should still find, taken from the history before it."""

import re

import deeds
from facts import past_end
from view import is_summary
from words import sentences, tokens, words

# Sentences by which a person sets a rule; other languages by their commonest forms.
_RULE = re.compile(
    r"\b(?:must|never|always|only|don'?t|do not|should|shouldn'?t|required?|unless|make sure|instead of|avoid|prefer|"
    r"nur|nie|immer|muss|nicht|doit|jamais|toujours|siempre|nunca|debe)\b|必须|不要|不能|只|应该|务必|禁止|ください|しないで|べき|必ず|"
    r"해야|하지 ?마|반드시|금지|말고",
    re.I,
)
TURNS = 3
LONG_MESSAGE_WORDS = 60


class Exam:
    """Everything that is asked at one compaction, made once and put to every view."""

    def __init__(self, session, now, window, recent_tokens=None):
        self.window, self.now = window, now
        self.blocks = session.blocks
        self.history = session.blocks[:now]
        recent_tokens = window // 10 if recent_tokens is None else recent_tokens
        self.past_end = past_end(session.blocks, now, recent_tokens)
        past = session.blocks[: self.past_end]
        book = session.facts
        used = sorted(book.used_later(self.past_end, now))
        self.facts = [(fact, book.beside(fact, self.past_end)) for fact in used]
        self.answers = [(q, a) for q, a, at in deeds.answers_given(self.history) if at < self.past_end]
        self.closings = closing_sentences(self.history)
        self.rules = rules(past)
        self.ends = message_ends(past)
        self.todos = deeds.open_todos(self.history)
        self.files = deeds.files_touched(past)
        # A file that was read long ago and changed just now is a changed one by the time of the compaction.
        self.files_now = deeds.files_touched(self.history)
        self.failures = deeds.failures(self.history, turn_ends(self.history))
        self.summaries = [b.text for b in past if session.is_model_summary(b)]
        self.first = first_message(self.history)
        self.newest = newest_message(self.history)
        self.exchange = newest_exchange(self.history)


def person_messages(blocks):
    return [b for b in blocks if b.by_person]


def first_message(blocks):
    """The person's first message; none where what is at hand begins with a summary, and the first is not in it."""
    first = next((b for b in blocks if b.role == "user" and b.kind == "text"), None)
    if first is not None and first.harness and is_summary(first.text):
        return None
    return next((b.said for b in blocks if b.by_person), None)


def newest_message(blocks):
    return next((b.said for b in reversed(blocks) if b.by_person), None)


def newest_exchange(blocks):
    """The newest calls of one reply with their results; notes of the harness behind them do not count."""
    last = next((i for i in range(len(blocks) - 1, -1, -1) if blocks[i].kind == "result"), None)
    if last is None or any(b.by_person for b in blocks[last:]):
        return []
    ids = set()
    start = last
    while start >= 0 and blocks[start].kind == "result":
        ids.add(blocks[start].id)
        start -= 1
    calls = [b for b in blocks[: start + 1] if b.kind == "call" and b.id in ids]
    results = [b for b in blocks[start + 1 : last + 1]]
    return calls[-len(ids) :] + results


def turns(blocks):
    """The blocks of each turn: from a message of the person to the next one."""
    out = []
    for block in blocks:
        if block.by_person or not out:
            out.append([])
        out[-1].append(block)
    return out


def closing_reply(turn):
    """The agent's last words in a turn: the text after its last call, and nothing where it ended in a call."""
    text = []
    for block in reversed(turn):
        if block.kind in ("call", "result"):
            break
        if block.role == "assistant" and block.kind == "text":
            text.append(block.text)
    return "\n".join(reversed(text))


def turn_ends(blocks):
    """Where each finished turn ends, with the agent's last words in it."""
    out, at = [], 0
    for turn in turns(blocks)[:-1]:
        at += len(turn)
        out.append((at, closing_reply(turn)))
    return out


def closing_sentences(blocks):
    """The sentences of the last reply of each of the newest finished turns."""
    finished = [closing_reply(turn) for turn in turns(blocks)[:-1]]
    newest = [text for text in finished if text.strip()][-TURNS:]
    return list(dict.fromkeys(s for text in newest for s in sentences(text)))


def rules(blocks):
    """The sentences by which the person set rules; pasted documents are no rules of the person's."""
    found = []
    for block in person_messages(blocks):
        if len(words(block.said)) <= 250:
            said = sentences(block.said, words_min=3)
            found.extend(s for s in said if _RULE.search(s) and not s.endswith(("?", "？")))
    return list(dict.fromkeys(found))


def message_ends(blocks):
    """The last two sentences of each long message of the person."""
    out = []
    for block in person_messages(blocks):
        if len(words(block.said)) > LONG_MESSAGE_WORDS:
            out.extend(sentences(block.said, words_min=2)[-2:])
    return list(dict.fromkeys(out))


# What Claude Code wraps around every summary.
_FRAME = re.compile(
    r"The summary below covers|If you need specific details from before|Please continue the conversation from|"
    r"Continue with the last task|Continue the conversation from|Resume directly|Pick up the last task as if"
)


def summary_statements(text):
    """The statements of a model-written summary, with the section each stands in."""
    out, section = [], "other"
    for line in text.split("\n"):
        section = section_of(line) or section
        for sentence in sentences(line):
            if not is_summary(sentence) and not _FRAME.match(sentence):
                out.append((section, sentence))
    return out


_SECTIONS = (
    ("request", r"primary request|request and intent|^goal|instructions|constraints"),
    ("files", r"files and code|relevant files|read-files|modified-files|file operations"),
    ("errors", r"errors? and fix"),
    ("concepts", r"key technical|concepts"),
    ("problem solving", r"problem solving|discoveries|key decisions|key insights"),
    ("user messages", r"all user messages|user messages"),
    ("done", r"^done|accomplished|^progress|completed"),
    ("pending", r"pending|remaining|in progress|blocked"),
    ("current work", r"current work|critical context|current state"),
    ("next step", r"next step"),
    ("draft", r"^analysis|chronological"),
)


def section_of(line):
    """The section a heading of a summary opens, by the names that agents give them; nothing for other lines."""
    head = re.sub(r"^[\s#*<>\d.)-]+|[:*\s>]+$", "", line)
    is_heading = re.match(r"^\s*(?:#{1,4}\s|\d{1,2}\.\s|\*\*|<\w|Analysis:)", line) and len(head.split()) <= 6
    if not is_heading:
        return None
    return next((name for name, form in _SECTIONS if re.search(form, head, re.I)), None)


def is_short(text, window):
    """Whether a message is one that every compaction can keep verbatim."""
    return tokens(text) < window // 2

