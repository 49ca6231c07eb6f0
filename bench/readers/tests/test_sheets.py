import json
import tempfile
import unittest
from pathlib import Path

import needs
import sheets
import tests  # noqa: F401
from tests.cases import listed, need

KEY = {"BCDF": {"session": "talk", "method": "masking", "tokens": 1}}


class Evidence(unittest.TestCase):
    def found(self, file, text, needed):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / file).write_text(text, encoding="utf-8")
            return needs.evidence(listed([needed], file), folder)

    def test_a_record_is_shown_around_the_words_of_the_need(self):
        record = {"toolUseResult": "a copy with word 2", "message": {"content": "a " * 600 + "word 2" + " b" * 600}}
        log = json.dumps({"message": {"content": "other"}}) + "\n" + json.dumps(record)
        ((at, text),) = self.found("log.jsonl", log, need(2))["n2"]
        self.assertEqual((at, text[0], text[-1], len(text)), (2, "…", "…", needs.EXCERPT + 2))
        self.assertIn("word 2", text)
        self.assertNotIn("a copy", text)

    def test_messages_of_a_document_count_from_zero_and_what_nobody_reads_is_left_out(self):
        message = {"role": "user", "callID": "c", "content": ["one", "A" * 400, "one"]}
        document = {"messages": [{"content": "zero"}, message]}
        self.assertEqual(self.found("d.json", json.dumps(document), need(1)), {"n1": [(1, "one")]})


class Sheets(unittest.TestCase):
    def test_a_sheet_has_what_is_right_and_every_answer_and_names_no_method(self):
        answers = {"BCDF": {"n1": "yes"}, "GHJK": {"n1": "not in the context"}}
        text = sheets.sheet(listed([need(1)]), answers, {"n1": [(1, "said\n\nso")]})
        head, told = text.split("Answers:\n\n")
        self.assertEqual(
            head,
            "# Answers to grade\n\nPackets: BCDF, GHJK\n\n## n1: question 1\n\nRight: answer 1\n\nThe need: need 1\n\n"
            "Record 1 of the log:\n\n> said\n> so\n\n",
        )
        self.assertEqual(sorted(told.strip().split("\n")), ["- BCDF: yes", "- GHJK: not in the context"])

    def test_a_question_left_out_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            lists = {"talk": listed([need(1), need(2)])}
            with self.assertRaisesRegex(ValueError, "no answer to BCDF n2;"):
                sheets.write(Path(folder), KEY, lists, {"BCDF": {"n1": "yes"}}, folder)


if __name__ == "__main__":
    unittest.main()
