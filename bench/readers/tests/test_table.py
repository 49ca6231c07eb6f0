import unittest

import table
import tests  # noqa: F401
from tests.cases import LISTS

UNKNOWN = "Not in the context."
KEY = {
    "BCDF": {"session": "first", "method": "epitome", "tokens": 100},
    "GHJK": {"session": "first", "method": "masking", "tokens": 110},
    "LMNP": {"session": "second", "method": "epitome", "tokens": 200},
}
ANSWERS = {name: {"n1": "known", "n2": UNKNOWN, "n3": "said"} for name in KEY}
GRADES = {
    "BCDF": {"n1": 1, "n2": 0, "n3": 0.5},
    "GHJK": {"n1": 1, "n2": 0, "n3": 0},
    "LMNP": {"n1": 1, "n2": 0, "n3": 1},
}


def results(answers=ANSWERS, grades=GRADES):
    return table.results(KEY, LISTS, answers, grades)


class Table(unittest.TestCase):
    def test_the_table_of_sessions_and_methods(self):
        self.assertEqual(
            table.report(results()),
            "| session | epitome | masking |\n| --- | --: | --: |\n"
            "| first | 0.50 | 0.33 |\n| second | 0.67 | – |\n"
            "| **mean of sessions** | 0.58 | 0.33 |\n| mean, not recent | 0.38 | 0.00 |\n"
            "| lowest session | 0.50 | 0.33 |\n"
            "| sessions | 2 | 1 |\n| wrong answers | 0 | 1 |\n| tokens, mean | 150 | 110 |\n\n"
            "epitome: mean 0.58 (at least 0.85), lowest 0.50 in first (at least 0.6): no",
        )

    def test_the_marks_are_of_the_mean_and_of_the_worst_session(self):
        right = {name: dict.fromkeys(given, 1) for name, given in GRADES.items()}
        self.assertRegex(table.verdict(results(grades=right)), "mean 1.00 .* lowest 1.00 .*: yes$")
        one_low = {**right, "BCDF": {"n1": 0.5, "n2": 0.5, "n3": 0.5}}
        self.assertRegex(table.verdict(results(grades=one_low)), "lowest 0.50 in first .*: no$")

    def test_misses_say_how_far_a_need_was_known(self):
        grades = {**GRADES, "LMNP": {"n1": 0, "n2": 0, "n3": 1}}
        self.assertEqual(
            table.misses(results(grades=grades), "epitome"),
            f"first n2 [state] missing: need 2\n    {UNKNOWN}\nfirst n3 [state] in part: need 3\n    said\n"
            f"second n1 [state] wrong: need 1\n    known\nsecond n2 [state] missing: need 2\n    {UNKNOWN}",
        )


class Faults(unittest.TestCase):
    def test_all_that_is_missing_or_no_grade_is_named_at_once(self):
        answers = {"BCDF": ANSWERS["BCDF"], "GHJK": {"n1": "a", "n2": " "}, "LMNP": ANSWERS["LMNP"], "QRST": {}}
        grades = {**GRADES, "BCDF": {"n1": 2, "n2": True}}
        with self.assertRaises(ValueError) as caught:
            results(answers, grades)
        self.assertEqual(
            str(caught.exception).split("\n"),
            [
                "the replies are incomplete:",
                "QRST: no such packet",
                "BCDF n1: the grade is 2; give 0, 0.5 or 1",
                "BCDF n2: the grade is True; give 0, 0.5 or 1",
                "BCDF n3: the grade is None; give 0, 0.5 or 1",
                "GHJK n2: no answer",
                "GHJK n3: no answer",
            ],
        )


if __name__ == "__main__":
    unittest.main()
