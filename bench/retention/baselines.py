"""Simple ways of making room, each brought to the size of the context it stands beside."""

import math
import re
from collections import Counter

from deeds import files_touched
from facts import facts_of
from view import NOTE, Block, View
from words import content_words, plain_lines, tokens

MASK = "[old tool result cleared]"
MASK_TOKENS = tokens(MASK)
# Whole results get this part of the size under masking, even where older messages must go for them.
RESULTS_SHARE = 3


def tail(blocks, budget):
    """The newest blocks that fit; of the one that does not, as much of its end as does."""
    out = []
    for block in reversed(blocks):
        if block.tokens > budget:
            out.append(_clipped(block, budget))
            break
        budget -= block.tokens
        out.append(block)
    return out[::-1]


def _clipped(block, budget):
    keep = len(block.text) * budget // max(1, block.tokens)
    return Block(block.role, block.kind, block.text[len(block.text) - keep :], block.name, {}, block.id)


def first_and_tail(blocks, budget):
    first = next((b for b in blocks if b.by_person), None)
    if first is None or first.tokens > budget // 2:
        return tail(blocks, budget)
    rest = tail(blocks, budget - first.tokens)
    return rest if first in rest else [first, *rest]


def masking(blocks, budget):
    """Every message, with tool results cleared but for the newest that still fit; the oldest messages dropped where the
    rest alone is too much."""
    cleared = sum(MASK_TOKENS if b.kind == "result" else b.tokens for b in blocks)
    left, out = max(budget - cleared, budget // RESULTS_SHARE), []
    for block in reversed(blocks):
        if block.kind == "result":
            left -= block.tokens - MASK_TOKENS
            if left < 0:
                left += block.tokens - MASK_TOKENS
                block = Block(block.role, "result", MASK, id=block.id, failed=block.failed)
        out.append(block)
    return tail(out[::-1], budget)


def user_messages_and_tail(blocks, budget):
    """As Codex does without its summary: the person's messages, newest first, then the newest blocks."""
    mine, left = [], budget // 2
    for block in reversed(blocks):
        if block.by_person:
            left -= block.tokens
            if left < 0:
                break
            mine.append(block)
    rest = tail(blocks, budget - sum(b.tokens for b in mine))
    shown = set(map(id, rest))
    return [b for b in reversed(mine) if id(b) not in shown] + rest


def file_list_and_tail(blocks, budget):
    """As pi's lists without its summary."""
    lines, left = [], budget // 3
    for path, deed in reversed(files_touched(blocks).items()):
        line = f"{'modified' if deed == 'changed' else 'read'} {path}"
        left -= tokens(line) + 1
        if left < 0:
            break
        lines.append(line)
    note = Block("user", "text", "\n".join(lines), NOTE)
    return [note, *tail(blocks, budget - note.tokens)]


def extractive(blocks, budget):
    """Lines of messages by the mean rarity of their words, and a tail."""
    rest = tail(blocks, budget * 2 // 5)
    old = blocks[: len(blocks) - len(rest)]
    lines = {line: found for b in old if b.kind == "text" for line, found in _lines(b)}
    seen = Counter(word for found in lines.values() for word in found)
    count = max(1, len(lines))

    def weight(line):
        found = lines[line]
        return sum(math.log(count / seen[w]) for w in found) / (len(found) + 4) if found else 0

    left, chosen = budget - sum(b.tokens for b in rest), set()
    for line in sorted(lines, key=weight, reverse=True):
        left -= tokens(line) + 1
        if left < 0:
            break
        chosen.add(line)
    return [Block("user", "text", "\n".join(line for line in lines if line in chosen), NOTE), *rest]


def _lines(block):
    """The lines of a block with their content words, found once."""
    if block.lines is None:
        block.lines = [(line, content_words(line)) for line in plain_lines(block.text) if len(line) >= 20]
    return block.lines


def bare_facts(blocks, budget):
    """A control, no method: the commonest facts of the past as a list of words."""
    rest = tail(blocks, budget // 3)
    seen = Counter(value for b in blocks[: len(blocks) - len(rest)] for _, value in facts_of(b))
    left, chosen = budget - sum(b.tokens for b in rest), []
    for value, _ in seen.most_common():
        left -= tokens(value) + 1
        if left < 0:
            break
        chosen.append(re.sub(r"\s+", " ", value))
    return [Block("user", "text", ", ".join(chosen), NOTE), *rest]


BASELINES = {
    "masking": masking,
    "first + tail": first_and_tail,
    "user messages + tail": user_messages_and_tail,
    "file list + tail": file_list_and_tail,
    "extractive": extractive,
    "(bare facts)": bare_facts,
}


def baseline_views(blocks, budget, names=None):
    """The view each baseline gives of a history at a size."""
    return {name: View(make(blocks, budget)) for name, make in BASELINES.items() if names is None or name in names}
