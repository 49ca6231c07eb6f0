import json
import tempfile
import unittest
from pathlib import Path

import tests  # noqa: F401
from corpus import ModelSummary, cut, model_summaries
from difference import interval


class Cuts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return Path(self.folder.name) / name

    def log(self, *records):
        self.path("s.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        return self.path("s.jsonl")

    def test_a_log_is_cut_after_a_line_and_a_document_after_a_message(self):
        log = self.log({"n": 1}, {"n": 2}, {"n": 3})
        self.assertEqual(cut(log, 2, self.path("out.jsonl")).read_text(), '{"n": 1}\n{"n": 2}\n')
        self.path("d.json").write_text(json.dumps({"info": {}, "messages": [1, 2, 3]}), encoding="utf-8")
        document = json.loads(cut(self.path("d.json"), 1, self.path("out.json")).read_text())
        self.assertEqual(document, {"info": {}, "messages": [1, 2]})

    def test_summaries_of_claude_code(self):
        boundary = {"type": "system", "subtype": "compact_boundary"}
        summary = {"type": "user", "isCompactSummary": True, "message": {"content": "what was done"}}
        found = model_summaries(self.log({"type": "user"}, {"type": "assistant"}, boundary, summary))
        self.assertEqual(found, [ModelSummary(2, "what was done")])

    def test_summaries_of_pi_stand_for_what_lies_before_the_first_kept_entry(self):
        entries = [{"type": "message", "id": name} for name in "abc"]
        kept = {"type": "compaction", "summary": "done", "firstKeptEntryId": "c"}
        lines = [json.dumps(r, separators=(",", ":")) for r in [{"type": "session", "id": "s"}, *entries, kept]]
        self.path("p.jsonl").write_text("\n".join(lines), encoding="utf-8")
        self.assertEqual(model_summaries(self.path("p.jsonl")), [ModelSummary(3, "done")])

    def test_summaries_of_opencode(self):
        text = {"type": "text", "text": "the goal"}
        messages = [{"info": {}, "parts": []}] * 3 + [{"info": {"summary": True}, "parts": [text]}]
        self.path("o.json").write_text(json.dumps({"messages": messages}), encoding="utf-8")
        self.assertEqual(model_summaries(self.path("o.json")), [ModelSummary(1, "the goal")])


class Intervals(unittest.TestCase):
    def test_an_interval_holds_the_mean_and_comes_out_the_same_again(self):
        differences = [0.1, 0.3, -0.1, 0.2, 0.2, 0.0]
        mean, low, high = interval(differences)
        self.assertTrue(low < mean < high)
        self.assertEqual(interval(differences), (mean, low, high))
        self.assertEqual(interval([0.5, 0.5]), (0.5, 0.5, 0.5))


if __name__ == "__main__":
    unittest.main()
