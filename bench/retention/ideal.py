"""A control, no method: the choice of the log's own sentences that carries most of what a model said, made knowing it.

For each statement the cheapest run of sentences that holds it is looked for, and the cheapest statements are bought
first; a sentence that was bought for one is free for the next. So it tells what selection alone could reach at a size,
and whose sentences that takes.
"""

import re
from bisect import bisect_left, bisect_right

from exam import turns
from measures import PARAPHRASE_SHARE, PARAPHRASE_SPAN, Score, is_literal
from view import View
from words import WordIndex, content_words, tokens, words

# So many of the places where a statement stands are looked at; a dear one is seldom the best.
PLACES_MAX = 60
# A line is cut at the ends of sentences; what is longer still is data, and is cut anywhere.
_PIECE = re.compile(r".{1,300}?(?:[.!?。！？](?=\s|$)|$|(?<=.{299}))", re.S)

PERSON, CLOSING, ON_THE_WAY, CALLS, RESULTS, OTHERS = (
    "the person",
    "the agent's last words of a turn",
    "the agent on the way",
    "arguments of calls",
    "results",
    "harness and earlier summaries",
)


class Log:
    """A history cut into sentences, each with its speaker, and an index of the words in them."""

    def __init__(self, blocks):
        self.texts, self.speakers, self.sizes, self.ends = [], [], [], []
        self.unit_at, self.blocks_words = {}, []
        at = 0
        for block, speaker in zip(blocks, speakers(blocks)):
            found = []
            for piece in pieces(block.text):
                for word in words(piece):
                    at += 1
                    self.unit_at[at] = len(self.texts)
                    found.append(word)
                self.texts.append(piece)
                self.speakers.append(speaker)
                self.sizes.append(tokens(piece) + 1)
            self.blocks_words.append(found)
            at += WordIndex.BLOCK_GAP
        self.index = WordIndex(self.blocks_words)

    def places(self, statement):
        """The runs of sentences that hold a statement, the cheapest first: the numbers of those with a word of it."""
        wanted = content_words(statement)
        spans = self.index.close(wanted, PARAPHRASE_SHARE, max(PARAPHRASE_SPAN, len(wanted)))
        marks = {word: self.index.places.get(word, ()) for word in wanted}
        found = set()
        for first, last in spans:
            at = (place for places in marks.values() for place in _between(places, first, last))
            found.add(tuple(sorted({self.unit_at[place] for place in at})))
        return sorted(found, key=self.cost)[:PLACES_MAX]

    def cost(self, units, chosen=frozenset()):
        return sum(self.sizes[unit] for unit in units if unit not in chosen)


def _between(places, low, high):
    return places[bisect_left(places, low) : bisect_right(places, high)]


def pieces(text):
    """The sentences of a text, line by line."""
    for line in text.split("\n"):
        if len(line) <= 60:
            parts = [line]
        else:
            parts = [found.group() for found in _PIECE.finditer(line)]
        yield from (part.strip() for part in parts if part.strip())


def speakers(blocks):
    """Who speaks in each block."""
    out = []
    for turn in turns(blocks):
        last_call = max((n for n, b in enumerate(turn) if b.kind in ("call", "result")), default=-1)
        for number, block in enumerate(turn):
            if block.kind == "call":
                out.append(CALLS)
            elif block.kind == "result":
                out.append(RESULTS)
            elif block.role == "assistant":
                out.append(CLOSING if number > last_call else ON_THE_WAY)
            else:
                out.append(PERSON if block.by_person else OTHERS)
    return out


class IdealChoice:
    """The best choice for the statements `said`, within a budget."""

    def __init__(self, blocks, said, budget):
        self.log = Log(blocks)
        self.units = sorted(_choose(self.log, [sentence for _, sentence in said], budget))

    def view(self):
        return View.of_text("\n".join(self.log.texts[unit] for unit in self.units))

    def taken(self, view):
        """How many tokens of the choice stand in a view, by whose they are."""
        out = {}
        for unit in self.units:
            score = out.setdefault(f"ideal: {self.log.speakers[unit]}", Score())
            score.total += self.log.sizes[unit]
            score.hits += self.log.sizes[unit] * is_literal(self.log.texts[unit], view)
        return out


def _choose(log, statements, budget):
    wanted = [found for found in map(log.places, statements) if found]
    chosen, spent = set(), 0
    while wanted:
        # What was bought since may have made any of them cheaper.
        cost, units = min(min((log.cost(units, chosen), units) for units in found) for found in wanted)
        if spent + cost > budget:
            break
        chosen.update(units)
        spent += cost
        wanted = [found for found in wanted if all(log.cost(units, chosen) for units in found)]
    return chosen
