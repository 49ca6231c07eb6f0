import json
import re
import tempfile
import unittest
from pathlib import Path

import packets
import tests  # noqa: F401
from tests.cases import CONTEXTS, LISTS, METHODS


class Packets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def made(self, seed, part):
        out = self.out / part
        packets.write(out, seed, 64_000, CONTEXTS, LISTS)
        return {str(path.relative_to(out)): path.read_text(encoding="utf-8") for path in out.rglob("*.*")}

    def test_the_key_alone_tells_whose_a_context_is(self):
        made = self.made(7, "a")
        held = packets.key(self.out / "a")
        told = sorted((h["session"], h["method"], h["tokens"]) for h in held.values())
        self.assertEqual(told, sorted((s, c.method, c.tokens) for s, of in CONTEXTS.items() for c in of))
        self.assertEqual({"key.json", "rounds.json", *(f"packets/{name}.md" for name in held)}, made.keys())
        self.assertTrue(all(re.fullmatch("[B-Z]{4}", name) for name in held), held)
        del made["key.json"]
        shown = "\n".join([*made.keys(), *made.values()])
        self.assertEqual([method for method in METHODS if method in shown], [])

    def test_a_packet_has_its_context_and_every_question_but_no_answer(self):
        made = self.made(7, "a")
        for name, held in packets.key(self.out / "a").items():
            text = made[f"packets/{name}.md"]
            context = next(c for c in CONTEXTS[held["session"]] if c.method == held["method"])
            self.assertIn(f"{packets.BORDER}\n{context.text}\n{packets.BORDER}", text)
            asked = re.findall(r"^- (n\d): question (\d)$", text, re.M)
            self.assertEqual(sorted(asked), [("n1", "1"), ("n2", "2"), ("n3", "3")])
            self.assertNotRegex(text, r"answer \d|need \d")

    def test_questions_stand_in_mixed_order(self):
        made = [text for file, text in self.made(7, "a").items() if file.startswith("packets")]
        orders = {tuple(re.findall(r"^- (n\d)", text, re.M)) for text in made}
        self.assertGreater(len(orders), 1)

    def test_a_round_has_no_session_twice_and_every_packet_one_round(self):
        rounds = json.loads(self.made(7, "a")["rounds.json"])
        held = packets.key(self.out / "a")
        self.assertEqual(sorted(name for turn in rounds for name in turn), sorted(held))
        for turn in rounds:
            sessions = [held[name]["session"] for name in turn]
            self.assertEqual(len(sessions), len(set(sessions)), turn)

    def test_a_seed_gives_the_same_again_and_another_something_else(self):
        first = self.made(7, "a")
        self.assertEqual(first, self.made(7, "b"))
        self.assertNotEqual(first, self.made(8, "c"))


    def test_a_folder_of_another_draw_is_refused(self):
        self.made(7, "a")
        with self.assertRaisesRegex(ValueError, "a holds packets already"):
            self.made(8, "a")


class Replies(unittest.TestCase):
    def test_replies_are_read_by_packet_and_what_is_none_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "BCDF.json").write_text('{"n1": "yes"}', encoding="utf-8")
            self.assertEqual(packets.replies(folder), {"BCDF": {"n1": "yes"}})
            (Path(folder) / "GHJK.json").write_text('["yes"]', encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "GHJK.json is no object of replies"):
                packets.replies(folder)
            (Path(folder) / "GHJK.json").write_text("yes", encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "GHJK.json is no JSON"):
                packets.replies(folder)


if __name__ == "__main__":
    unittest.main()
