"""A context as a list of blocks, read from a request body; and who speaks in each."""

import json
import re

from words import WordIndex, squeeze, tokens, words

# What harnesses put into user messages beside the person's words.
_HARNESS_START = re.compile(
    r"^\s*(?:\[[a-z]+(?:_[a-z]+)+[ \]]|\[system note\]|\[no user message|\[Request interrupted|\[image |\[file |"
    r"\[result of call|\[compaction |\[note|<task-notification>|Base directory for this skill|# AGENTS\.md|# CLAUDE\.md|Caveat: |"
    r"Your task is to create a detailed summary|<EXTREMELY|Stop hook feedback|\(no content\)|"
    r"Called the \w+ tool with the following input|Continue if you have next steps, or stop)"
)
_SUMMARY_START = re.compile(
    r"^\s*(?:<epitome-summary|This session is being continued from a previous|"
    r"The conversation history before this point was compacted|Another language model started to solve this problem)"
)
_QUESTION_TOOL = re.compile(
    r"(?:askuserquestion|ask_user|ask_clarification|ask_followup_question|request_user_input|question)$", re.I
)
_TAG_BLOCK = re.compile(r"<([a-zA-Z][\w-]*)(?: [^<>]*)?>.*?</\1>", re.S)
_CODE = re.compile(r"^```.*?^```", re.S | re.M)
_COMMAND_ECHO = re.compile(r"^\s*<command-(?:name|message)>")
_LOCAL_OUTPUT = re.compile(r"^\s*<local-command-std(?:out|err)>")


# The name of a text block that stands for earlier messages, where a method of ours made it.
NOTE = "note"


class Block:
    """One piece of a message: text, a call, or the result of one."""

    __slots__ = tuple("role kind text name args id failed message harness said facts lines _tokens _words".split())

    def __init__(self, role, kind, text, name=None, args=None, id=None, failed=False, message=0):
        self.role, self.kind, self.text, self.name = role, kind, text, name
        self.args, self.id, self.failed, self.message = args, id, failed, message
        self.harness = False
        self.facts = self.lines = self._tokens = self._words = None
        self.said = person_words(text) if role == "user" and kind == "text" else ""

    @property
    def tokens(self):
        if self._tokens is None:
            self._tokens = tokens(self.text)
        return self._tokens

    @property
    def words(self):
        if self._words is None:
            self._words = words(self.text)
        return self._words

    @property
    def by_person(self):
        return bool(self.said) and not self.harness

    def key(self):
        return (self.role, self.kind, self.id, self.text)


def person_words(text):
    """What the person said in a user text, without what a harness wrapped around it; empty where nothing remains."""
    if _HARNESS_START.match(text) or _SUMMARY_START.match(text):
        return ""
    if "<" not in text:
        return text.strip()
    # Tags in code that a person pasted are the person's; a tag around the code goes with it.
    code = []
    masked = _CODE.sub(lambda found: code.append(found.group()) or f"\0{len(code) - 1}\0", text)
    said = _TAG_BLOCK.sub("", masked)
    return re.sub(r"\0(\d+)\0", lambda found: code[int(found.group(1))], said).strip()


def is_question(call):
    """Whether a call asks the person something."""
    return bool(_QUESTION_TOOL.match(call.name or ""))


def is_summary(text):
    """Whether a text stands for earlier messages."""
    return bool(_SUMMARY_START.match(text))


def render(args):
    """The arguments of a call as lines `key: value`, strings as they are."""
    if not isinstance(args, dict):
        return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    return "\n".join(f"{key}: {_plain(value)}" for key, value in args.items())


def _plain(value):
    if isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, indent=0)
    return json.dumps(value)


def blocks_of(body):
    """The blocks of an Anthropic Messages body; system prompt and tools are no part of a history."""
    out, names = [], {}
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        made = [block for block in (_block(message["role"], raw, number) for raw in content) if block]
        names.update((block.id, block.name) for block in made if block.kind == "call")
        for block in _expansions(made, names):
            block.harness = True
        out.extend(made)
    return out


def count_blocks(body):
    """How many blocks a body has, without making them."""
    kinds = ("text", "tool_use", "tool_result")
    contents = (message["content"] for message in body["messages"])
    return sum(1 if isinstance(c, str) else sum(part.get("type") in kinds for part in c) for c in contents)


def _expansions(blocks, names):
    """The blocks of a message that are the expansion of one in it: of a slash command that was echoed, or of a skill. A
    command that ran here is followed by its output and has none."""
    texts = [block for block in blocks if block.kind == "text"]
    for number, block in enumerate(texts):
        ran_here = number + 1 < len(texts) and _LOCAL_OUTPUT.match(texts[number + 1].text)
        if _COMMAND_ECHO.match(block.text) and not ran_here:
            return texts[number:]
    is_skill = any(block.kind == "result" and names.get(block.id) == "Skill" for block in blocks)
    return blocks if is_skill else []


def _block(role, raw, number):
    kind = raw.get("type")
    if kind == "text":
        return Block(role, "text", raw["text"], message=number)
    if kind == "tool_use":
        return Block(role, "call", render(raw["input"]), raw["name"], raw["input"], raw["id"], message=number)
    if kind == "tool_result":
        text = _result_text(raw.get("content"))
        return Block(role, "result", text, id=raw["tool_use_id"], failed=bool(raw.get("is_error")), message=number)
    return None


def _result_text(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or () if part.get("type") == "text")


class View:
    """What a model sees: blocks with the indexes that measures ask."""

    def __init__(self, blocks, summary=None):
        self.blocks = blocks
        self.summary = summary if summary is not None else _summaries(blocks)
        self.text = "\n".join(block.text for block in blocks)
        self._words = self._words_told = self._squeezed = self.files = None

    @classmethod
    def of_text(cls, text):
        return cls([Block("user", "text", text)], summary=text)

    @property
    def words(self):
        if self._words is None:
            self._words = WordIndex(block.words for block in self.blocks)
        return self._words

    @property
    def words_told(self):
        """The words of all but the questions that tools asked: these offer every option, chosen or not."""
        if self._words_told is None:
            asked = [b for b in self.blocks if b.kind == "call" and is_question(b)]
            told = [b for b in self.blocks if b not in asked]
            self._words_told = WordIndex(b.words for b in told) if asked else self.words
        return self._words_told

    @property
    def squeezed(self):
        if self._squeezed is None:
            self._squeezed = squeeze(self.text)
        return self._squeezed

    @property
    def tokens(self):
        return sum(block.tokens for block in self.blocks)

    def lines_with(self, value):
        """Each place of a value that is no part of a longer word, as (line, column)."""
        at = self.text.find(value)
        while at >= 0:
            end = at + len(value)
            if not _joined(self.text, at - 1, at) and not _joined(self.text, end, end - 1):
                start = self.text.rfind("\n", 0, at) + 1
                stop = self.text.find("\n", end)
                yield self.text[start : stop if stop >= 0 else len(self.text)], at - start
            at = self.text.find(value, end)


def _joined(text, outside, inside):
    """Whether the characters on both sides of a border belong to one word."""
    if outside < 0 or outside >= len(text):
        return False
    outer, inner = text[outside], text[inside]
    return (outer.isalnum() or outer == "_") and outer.isascii() and (inner.isalnum() or inner == "_")


def _summaries(blocks):
    texts = (b for b in blocks if b.role == "user" and b.kind == "text")
    return "\n".join(b.text for b in texts if b.name == NOTE or is_summary(b.text))
