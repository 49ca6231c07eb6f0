import json
import tempfile
import unittest
from pathlib import Path

import tests  # noqa: F401
from baselines import extractive
from contexts import MODEL, OURS, contexts, filled, shown
from view import NOTE, Block, View


def text(role, said, name=None):
    return Block(role, "text", said, name)


class Shown(unittest.TestCase):
    def test_who_speaks_is_told_alike_and_no_method_names_itself(self):
        blocks = [
            text("user", '<epitome-summary covers="m1-m2" by="us">\nThe parser is done.\n</epitome-summary>'),
            text("user", "modified src/a.rs", NOTE),
            text("user", "Go on."),
            Block("assistant", "call", "command: make", "bash"),
            Block("user", "result", "no rule", failed=True),
        ]
        self.assertEqual(
            shown(blocks),
            "[about earlier messages]\nThe parser is done.\n\n[about earlier messages]\nmodified src/a.rs\n\n"
            "[user]\nGo on.\n\n[assistant calls bash]\ncommand: make\n\n[result of a call, failed]\nno rule",
        )


class Sizes(unittest.TestCase):
    def test_a_method_that_runs_out_of_lines_is_brought_to_the_size(self):
        history = [text("user", "Please mend the broken importer of the catalog today.")]
        history += [Block("user", "result", f"row {number} of the table\n" * 40) for number in range(60)]
        short, whole = View(extractive(history, 3000)).tokens, filled(extractive, history, 3000).tokens
        self.assertLess(short, 1500)
        self.assertTrue(2900 <= whole <= 3070, whole)


class StandIn:
    """A program that leaves the last message of a file, and sees three blocks in it."""

    def compact(self, transcript, window):
        return View([text("user", f"left for {window} of {len(transcript.read_text().splitlines())} lines " * 9)])

    def context(self, transcript):
        return [text("user", "Build it."), text("assistant", "It is built by now."), text("user", "Ship it.")]


class Methods(unittest.TestCase):
    def made(self, point):
        with tempfile.TemporaryDirectory() as folder:
            boundary = {"type": "system", "subtype": "compact_boundary"}
            summary = {"type": "user", "isCompactSummary": True, "message": {"content": "a model's words"}}
            records = [{"type": "user"}, {"type": "assistant"}, boundary, summary]
            (Path(folder) / "log.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
            needed = {"transcript": "log.jsonl", "point": {"line": point}, "needs": []}
            return {c.method: c.text for c in contexts(StandIn(), needed, folder, 64_000, ("first + tail",))}

    def test_a_summary_of_the_tools_own_model_counts_at_its_own_point_only(self):
        self.assertEqual(list(self.made(1)), [OURS, "first + tail"])
        made = self.made(2)
        self.assertEqual(list(made), [OURS, "first + tail", MODEL])
        self.assertTrue(made[OURS].startswith("[user]\nleft for 64000 of 2 lines"), made[OURS])
        self.assertTrue(made[MODEL].startswith("[about earlier messages]\na model's words\n\n"), made[MODEL])
        self.assertTrue(made[MODEL].endswith("[user]\nShip it."), made[MODEL])


if __name__ == "__main__":
    unittest.main()
