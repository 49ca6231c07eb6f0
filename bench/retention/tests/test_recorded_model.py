"""What a stand-in for a model gives of a recorded summary."""

import json
import unittest
import urllib.request
from pathlib import Path

import tests  # noqa: F401
from recorded_model import RecordedModel, prose_of

RECORDED = """1. Primary Request and Intent:
   The person wants a parser.
2. Key Technical Concepts:
   - Rust
4. Errors and fixes:
   - It failed at byte 3.
   - It failed at byte 9, and a check of the length put it right.
8. Current Work:
   Reading src/parse.rs.
"""


class Prose(unittest.TestCase):
    def test_the_sections_that_are_asked_for_and_no_others(self):
        want = """## Intent
   The person wants a parser.

## Errors and fixes
   - It failed at byte 3.
   - It failed at byte 9, and a check of the length put it right.

## Current work
   Reading src/parse.rs."""
        self.assertEqual(prose_of(RECORDED, 1_000), want)

    def test_the_longest_section_is_shortened_from_its_end(self):
        self.assertEqual(
            prose_of(RECORDED, 40),
            "## Intent\n   The person wants a parser.\n\n"
            "## Errors and fixes\n   - It failed at byte 3.\n\n"
            "## Current work\n   Reading src/parse.rs.",
        )

    def test_it_answers_as_a_compatible_service_does(self):
        with RecordedModel(RECORDED) as model:
            config = Path(model.settings[1]).read_text(encoding="utf-8")
            address = config.split('base_url = "')[1].split('"')[0]
            body = json.dumps({"max_tokens": 40, "messages": []}).encode()
            headers = {"content-type": "application/json"}
            request = urllib.request.Request(f"{address}/chat/completions", body, headers)
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            events = opener.open(request).read().decode().split("\n\n")
        said = json.loads(events[0].removeprefix("data: "))["choices"][0]["delta"]["content"]
        self.assertEqual((said, events[-2]), (prose_of(RECORDED, 40), "data: [DONE]"))


if __name__ == "__main__":
    unittest.main()
