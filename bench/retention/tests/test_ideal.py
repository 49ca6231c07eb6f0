import unittest

import tests  # noqa: F401
from ideal import CLOSING, ON_THE_WAY, RESULTS, IdealChoice, pieces, speakers
from measures import is_paraphrased
from tests.talk import Talk
from view import View


def talk():
    return (
        Talk()
        .user("Please mend the login of the shop.")
        .agent("The cookie is set after the redirect, so the login fails. I look at the tests.")
        .call("Read", "a long listing of files that nobody asked for " * 20, file_path="src/login.rs")
        .agent("Mended: the cookie now comes before the redirect. All forty tests pass.")
        .user("Thanks.")
    )


CAUSE = "Login failed because the cookie was set after the redirect"
FIX = "The cookie comes before the redirect now"
MENDED = "Mended: the cookie now comes before the redirect."
FOREIGN = "The weather on the northern island turned stormy yesterday"


class Choice(unittest.TestCase):
    def test_the_cheapest_sentences_that_hold_a_statement_are_taken(self):
        best = IdealChoice(talk().blocks, [("errors", CAUSE), ("errors", FIX), ("errors", FOREIGN)], 60)
        self.assertEqual(
            best.view().text,
            f"The cookie is set after the redirect, so the login fails.\n{MENDED}",
        )
        self.assertTrue(is_paraphrased(CAUSE, best.view()))

    def test_it_keeps_to_its_size(self):
        said = [("errors", CAUSE), ("errors", FIX)]
        self.assertEqual(IdealChoice(talk().blocks, said, 12).view().text, MENDED)
        self.assertEqual(IdealChoice(talk().blocks, said, 3).view().text, "")

    def test_what_another_view_has_of_it_is_told_by_speaker(self):
        best = IdealChoice(talk().blocks, [("errors", CAUSE), ("errors", FIX)], 60)
        other = View.of_text("The cookie is set after the redirect, so the login fails.")
        found = {name: score.share for name, score in best.taken(other).items()}
        self.assertEqual(found, {f"ideal: {ON_THE_WAY}": 1.0, f"ideal: {CLOSING}": 0.0})


class Parts(unittest.TestCase):
    def test_lines_are_cut_at_the_ends_of_sentences_and_not_inside_names(self):
        line = "Version 1.2.3 of the parser is out by now. It reads every kind of file."
        self.assertEqual(list(pieces(line)), ["Version 1.2.3 of the parser is out by now.", "It reads every kind of file."])

    def test_the_last_words_of_a_turn_are_told_from_those_on_the_way(self):
        found = speakers(talk().blocks)
        self.assertEqual(found[1], ON_THE_WAY)
        self.assertEqual(found[3], RESULTS)
        self.assertEqual(found[4], CLOSING)


if __name__ == "__main__":
    unittest.main()
