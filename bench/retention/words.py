"""Words, sentences and sizes of text, in any script; no meaning and no agents."""

import re
from bisect import bisect_left

# One word: a run of letters and digits; Han, Kana and Hangul are cut into pairs by `words`, for want of spaces.
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])")
_LINE_MARK = re.compile(r"^(?:[\s>*•·-]+|#{1,6}\s|\d{1,2}[.)]\s|\[[ xX~]\]\s|m\d{4,}:\s)+")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]+|_+|\n\s*")

# Words that say nothing about a sentence. English alone: in other scripts pairs of characters are specific enough.
STOP_WORDS = frozenset(
    """a an and are as at be been but by can could did do does for from had has have he her his i if in into is it its
    just let me my no not now of on or our out she should so some such than that the their them then there these they
    this those to too up us was we were what when which while who will with would you your also all any because before
    after about more most other over under only very how why where here both each few own same via per""".split()
)


def words(text):
    """The words of a text in order, folded; unspaced scripts as overlapping pairs of characters."""
    out = []
    for match in _WORD.finditer(text.casefold()):
        word = match.group()
        if _UNSPACED.search(word):
            out.extend(_unspaced(word))
        else:
            out.append(word)
    return out


def _unspaced(word):
    for part in re.split(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)", word):
        if not part:
            continue
        if not _UNSPACED.match(part) or len(part) == 1:
            yield part
        else:
            yield from (part[i : i + 2] for i in range(len(part) - 1))


def content_words(text):
    """The words of a text that carry its meaning, each once, in order of their first place."""
    seen = {}
    for word in words(text):
        if word not in STOP_WORDS and (len(word) > 1 or word.isdigit()):
            seen.setdefault(word)
    return list(seen)


def is_ordinary(token):
    """Whether a token is a word that tells something rather than a name in code: letters alone, no capital inside."""
    return len(token) >= 3 and token.isalpha() and token[1:] == token[1:].lower() and token.lower() not in STOP_WORDS


def plain_lines(text):
    """The lines of a text outside code fences, without the marks of lists and headings."""
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield _LINE_MARK.sub("", line).strip()


def sentences(text, words_min=4):
    """The sentences of prose; table rows and lines of code are no sentences."""
    out = []
    for line in plain_lines(text):
        if is_code(line):
            continue
        for part in _SENTENCE_END.split(line):
            part = part.replace("**", "").strip().strip("*_|").strip()
            if len(content_words(part)) >= words_min:
                out.append(part)
    return out


_CODE_START = re.compile(
    r"^(?:import |from \S+ import |export |const |let |var |func |fn |def |class |return\b|if \(|for \(|while \(|"
    r"type \w+ |package |#include|use \w+::|pub |async |await |else\b|end$|try\b|catch\b|\}|\{|</?\w+[ >]|//|/\*|\* |@\w+|"
    r"[+-]\s*\w+.*[;{}]$)"
)
_CODE_END = re.compile(r"(?:[{};]|\(|=>|->|\)\s*,|\],?|\},?|/>|\\)$")
_SYMBOLS = re.compile(r"[{}()\[\]<>=;:&$\"'\\/+%^_@]")
_QUIET = re.compile(r"`[^`]*`|https?://\S+|[\w.~@+-]*/[\w.~@+/-]*")


def is_code(line):
    """Whether a line reads as code or data rather than as something said."""
    line = line.strip()
    if not line:
        return False
    if _UNSPACED.search(line) and not _CODE_END.search(line):
        return False
    said = _QUIET.sub(" x ", line)
    ordinary = [w for w in re.findall(r"[^\W\d_]+", said) if len(w) > 1]
    symbols = len(_SYMBOLS.findall(said))
    if _CODE_START.match(line) or _CODE_END.search(line):
        return len(ordinary) < 8 or symbols * 3 > len(ordinary)
    return symbols >= 3 and symbols > len(ordinary)


def is_wordless(line):
    """Whether a line has at most one word."""
    return len(re.findall(r"[^\W\d_]{2,}", line)) <= 1 and not _UNSPACED.search(line)


def squeeze(text):
    """A text folded, with white space and the marks of emphasis taken away, for literal comparison."""
    return " ".join(re.sub(r"[*`_]+", "", text.casefold()).split())


def tokens(text):
    """About how many tokens a text takes; the same estimate for every method, and close to common tokenizers."""
    total = 0
    for piece in _PIECE.findall(text):
        if piece[0].isalpha():
            if _UNSPACED.match(piece):
                total += len(piece)
            else:
                total += 1 if len(piece) <= 8 else -(-len(piece) // 5)
        elif piece[0] == "\n" or piece[0].isdigit():
            total += 1
        else:
            total += -(-len(piece) // 3)
    return total


class WordIndex:
    """Where each word of a text stands; answers whether words stand close together somewhere."""

    # Words of different blocks are never close: so much lies between them.
    BLOCK_GAP = 1000

    def __init__(self, blocks):
        """`blocks`: the words of each block, in order."""
        self.places = {}
        at = 0
        for block in blocks:
            for at, word in enumerate(block, at + 1):
                self.places.setdefault(word, []).append(at)
            at += self.BLOCK_GAP

    def close(self, wanted, share, span):
        """The places where at least `share` of the `wanted` words stand within `span` words, as (first, last)."""
        wanted = list(dict.fromkeys(wanted))
        need = max(1, -(-int(share * 1000) * len(wanted) // 1000))
        if sum(word in self.places for word in wanted) < need:
            return []
        marks = sorted((place, word) for word in wanted for place in self.places.get(word, ()))
        found, count, distinct, low = [], {}, 0, 0
        for place, word in marks:
            count[word] = count.get(word, 0) + 1
            distinct += count[word] == 1
            while place - marks[low][0] >= span:
                count[marks[low][1]] -= 1
                distinct -= count[marks[low][1]] == 0
                low += 1
            if distinct >= need:
                found.append((marks[low][0], place))
        return found

    def count(self, wanted, low, high):
        """How many of the `wanted` words stand between two places."""
        return sum(1 for word in dict.fromkeys(wanted) if self._between(word, low, high))

    def _between(self, word, low, high):
        places = self.places.get(word, ())
        i = bisect_left(places, low)
        return i < len(places) and places[i] <= high
