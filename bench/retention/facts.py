"""Facts: names and values in text that a later action may need; where each stood, and which were used again."""

import re
from bisect import bisect_left

from deeds import commands_of
from words import is_ordinary, words

_EXTENSION = (
    r"(?:[jt]sx?|mjs|cjs|py|rs|go|md|mdx|json[cl5]?|ya?ml|toml|txt|sh|bash|ps1|css|s[ac]ss|html?|exs?|erl|nix|lock|"
    r"sql|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|vue|svelte|svg|png|cfg|ini|conf|env|xml|csv|log|proto|tf|pony|snap)"
)
_TOKEN = re.compile(
    r"(?P<url>\bhttps?://[^\s\"'<>`)\]}|\\]+)"
    r"|(?P<uuid>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"
    r"|(?P<path>(?<![\w/.])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\]?[\w.@+-]+[/\\])+[\w.@+-]*\w"
    rf"|(?<![\w/.\\])[\w-][\w.-]*\.{_EXTENSION}\b)"
    r"|(?P<version>\bv?\d+\.\d+\.\d+(?:-[\w.]+)?\b)"
    r"|(?P<id>(?<![\w-])#\d{1,6}\b|\b(?=[0-9a-f]*\d)(?=[0-9]*[a-f])[0-9a-f]{7,40}\b)"
    r"|(?P<name>\b(?:[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|"
    r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|\w+(?:::\w+)+)\b)"
)
_NUMBER = re.compile(
    r"\b([A-Za-z][\w-]{2,30})\"?[ \t]*[:=][ \t]*(\d+(?:\.\d+)*(?:[ \t]?(?:ms|s|%|MB|KB|GB|k)\b)?)(?![\w.])"
)
_LINE_SUFFIX = re.compile(r"(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?)$")

# Names that stand everywhere and tell nothing.
_COMMON = frozenset(
    "GitHub JavaScript TypeScript README.md file_path old_string new_string replace_all tool_use package.json "
    "OpenAI macOS node_modules endsWith startsWith toString indexOf forEach".split()
)
VALUE_MIN = 4

# Which classes count as used when the agent says them; the others only as arguments of a call.
_SAID = frozenset(["id", "uuid", "version", "number"])

# What may stand around a word of prose; what has other signs inside is a name, a path or code.
_AROUND = ".,;:!?()[]{}<>\"'`*#|→-"

# A fact and its words belong together on a line; lines longer than this are read around the fact.
BESIDE = 200


def facts_in(text):
    """The facts of a text, as (class, value)."""
    found = set()
    for match in _TOKEN.finditer(text):
        kind, value = match.lastgroup, match.group()
        if kind in ("url", "path"):
            value = _LINE_SUFFIX.sub("", value).rstrip(".,:;/\\")
            value = value[2:] if value.startswith("./") else value
        if len(value) >= VALUE_MIN and value not in _COMMON and (kind != "path" or _is_path(value)):
            found.add((kind, value))
    for key, value in _NUMBER.findall(text):
        found.add(("number", f"{key}={value.strip()}"))
    return found


def _is_path(value):
    bare = re.fullmatch(r"(?:index|main|mod|lib|package|README|CHANGELOG|setup|config|types|utils|test)\.\w+", value)
    # "before/after": two words with a stroke between them.
    words_only = re.fullmatch(r"[A-Za-z]+/[A-Za-z]+", value)
    return not bare and not words_only and not re.fullmatch(r"[\d./\\-]+", value) and any(c.isalpha() for c in value)


def facts_of(block):
    """The facts of a block, found once; shell calls also have their commands."""
    if block.facts is None:
        block.facts = _facts_of(block)
    return block.facts


def _facts_of(block):
    if block.kind != "call":
        return facts_in(block.text)
    # The names of arguments are the tool's, not the session's.
    found = facts_in("\n".join(_strings(block.args)))
    found.update(("command", command) for command in map(_command, commands_of(block)) if command)
    return found


def _strings(value):
    """The strings inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


_EVERYDAY = re.compile(
    r"(?:cd|ls|cat|echo|head|tail|grep|rg|wc|sort|sed|awk|for|do|done|if|then|fi|while|sleep|pwd|mkdir|rm|find|tee|"
    r"xargs|nl|tr|cut|git (?:status|log|diff|show|add|commit|branch))\b"
)


def _command(command):
    """A command worth knowing again: no everyday one, no half of a quotation, without what its output went to."""
    command = re.sub(r"\s*\d?>{1,2}&?\s*\S+", "", command).strip()
    whole = command.count('"') % 2 == 0 and command.count("'") % 2 == 0 and "$(" not in command
    return command if whole and " " in command and len(command) <= 160 and not _EVERYDAY.match(command) else None


class FactBook:
    """Every fact of a session with the blocks where it stands, made once; asked at each compaction."""

    def __init__(self, blocks):
        self.blocks = blocks
        self.places = {}
        self.told = {}
        self.uses = {}
        self._beside = {}
        for number, block in enumerate(blocks):
            for fact in facts_of(block):
                self.places.setdefault(fact, []).append(number)
                if self._is_use(block, fact[0]):
                    self.uses.setdefault(fact, []).append(number)
                elif block.role == "user":
                    self.told.setdefault(fact, []).append(number)

    @staticmethod
    def _is_use(block, kind):
        return block.role == "assistant" and (block.kind == "call" or kind in _SAID)

    def used_later(self, past_end, now):
        """Facts that stood before `past_end` and not again before `now`, and that the agent used after `now`
        before anyone had told it again."""
        newest_numbers = self._newest_numbers(past_end)
        for fact, uses in self.uses.items():
            places = self.places[fact]
            if places[0] >= past_end or _any_between(places, past_end, now):
                continue
            i = bisect_left(uses, now)
            if i == len(uses) or _any_between(self.told.get(fact, ()), now, uses[i]):
                continue
            if fact[0] == "number" and newest_numbers.get(fact[1].split("=")[0]) != fact[1]:
                continue
            yield fact

    def _newest_numbers(self, past_end):
        """The newest value of each key: older ones are outdated, and nobody needs to keep them."""
        newest = {}
        for (kind, value), places in self.places.items():
            if kind == "number" and places[0] < past_end:
                key = value.split("=")[0]
                last = places[bisect_left(places, past_end) - 1]
                if last >= newest.get(key, (-1, ""))[0]:
                    newest[key] = (last, value)
        return {key: value for key, (_, value) in newest.items()}

    def beside(self, fact, past_end):
        """The ordinary words on each line where a fact stood in the past; lines with fewer than two are left out."""
        out = []
        for number in self.places[fact]:
            if number >= past_end or len(out) >= 60:
                break
            key = (fact, number)
            if key not in self._beside:
                self._beside[key] = _lines_beside(fact, self.blocks[number].text)
            out.extend(self._beside[key])
        return out


def _any_between(places, low, high):
    i = bisect_left(places, low)
    return i < len(places) and places[i] < high


def _lines_beside(fact, text):
    out = []
    needle = fact[1].split("=")[0] if fact[0] == "number" else fact[1]
    at = text.find(needle)
    while at >= 0 and len(out) < 20:
        start, stop = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        line = text[start : stop if stop >= 0 else len(text)]
        found = ordinary_beside(line, at - start, needle)
        if len(found) >= 2:
            out.append(found)
        at = text.find(needle, at + len(needle))
    return out


def ordinary_beside(line, column, value):
    """The ordinary words of a line around a value, without those of the value itself."""
    near = line[max(0, column - BESIDE) : column] + " \0 " + line[column + len(value) : column + len(value) + BESIDE]
    out = set()
    for token in near.split():
        token = token.strip(_AROUND)
        if token.isascii():
            if is_ordinary(token):
                out.add(token.lower())
        else:
            out.update(words(token))
    return out


def is_present(fact, view):
    """Whether a fact stands in a view: its value, or its number on a line with its key."""
    kind, value = fact
    if kind != "number":
        return next(view.lines_with(value), None) is not None
    key, number = value.split("=", 1)
    form = re.compile(rf"(?<![\w.]){re.escape(number)}(?![\w.]*\d)")
    return any(form.search(line[column : column + 60]) for line, column in view.lines_with(key))


def is_linked(fact, sources, view):
    """Whether a fact stands in a view on a line with two ordinary words it stood beside in one of its sources."""
    value = fact[1].split("=")[0] if fact[0] == "number" else fact[1]
    return any(
        any(len(source & found) >= 2 for source in sources)
        for found in (ordinary_beside(line, column, value) for line, column in view.lines_with(value))
    )


def past_end(blocks, now, keep_tokens):
    """Where the past ends: what stands in the newest `keep_tokens` before `now` is not past yet."""
    left, at = keep_tokens, now
    while at > 0 and left > 0:
        at -= 1
        left -= blocks[at].tokens
    return at
