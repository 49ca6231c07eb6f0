"""Where values stand in JSON text: slices of it, byte for byte."""

import json
import re
from functools import cache

DECODER = json.JSONDecoder()
SPACE = re.compile(r"[ \t\r\n]*")


def skip(text, at):
    return SPACE.match(text, at).end()


def fields(text, at=0):
    """The fields of the object at a place: key -> (start, end) of its value."""
    found, at = {}, skip(text, at) + 1
    while text[skip(text, at)] != "}":
        key, at = DECODER.raw_decode(text, skip(text, at))
        start = skip(text, skip(text, at) + 1)
        _, at = DECODER.raw_decode(text, start)
        found[key] = (start, at)
        at = skip(text, at)
        at += text[at] == ","
    return found


def elements(text):
    """The elements of the array that is all of a text, as text."""
    found, at = [], skip(text, 0) + 1
    while text[skip(text, at)] != "]":
        start = skip(text, at)
        _, at = DECODER.raw_decode(text, start)
        found.append(text[start:at])
        at = skip(text, at)
        at += text[at] == ","
    return found


class Body:
    """A request body: its messages, and the text around them."""

    def __init__(self, text):
        found = fields(text)
        start, end = found["messages"] if "messages" in found else found["input"]
        self.around = (text[:start], text[end:])
        self.messages = elements(text[start:end])


@cache
def has_content(message):
    """Whether it is a message, and not an item of another kind."""
    return "content" in fields(message)


@cache
def blocks(message):
    """The content blocks of a message; none where its content is a text."""
    start, end = fields(message)["content"]
    return elements(message[start:end]) if message[start] == "[" else None


@cache
def content(message):
    """The content of a message, as it stands there."""
    start, end = fields(message)["content"]
    return message[start:end]
