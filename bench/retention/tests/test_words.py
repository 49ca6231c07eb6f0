import unittest

import tests  # noqa: F401
from words import WordIndex, content_words, is_code, is_wordless, sentences, tokens, words


class Words(unittest.TestCase):
    def test_unspaced_scripts_are_cut_into_pairs(self):
        self.assertEqual(words("CI で検証"), ["ci", "で検", "検証"])
        self.assertEqual(words("修正해줘 v2"), ["修正", "正해", "해줘", "v2"])

    def test_content_words_leave_out_what_stands_everywhere(self):
        self.assertEqual(content_words("The cache is now in the cache folder"), ["cache", "folder"])

    def test_sentences_leave_out_code_and_marks(self):
        said = ["Fixed the parser for empty lines.", "Tests pass on every platform now!"]
        text = f"## Result\n- {said[0]} {said[1]}\n```\nlet x = 1;\n```\nconst a = {{b: 1}};"
        self.assertEqual(sentences(text), said)

    def test_code_and_wordless_lines(self):
        for line in ("const a = {", "import { cn } from './utils';", "}, [x]);", "return foo(bar);"):
            self.assertTrue(is_code(line), line)
        told = ("The parser (new) is done: see `a.b()`.", "modified /a/b/c.rs", "| 4 | Extract it | Done |", "レビューみて")
        for line in told:
            self.assertFalse(is_code(line), line)
        self.assertTrue(is_wordless("true ->"))
        self.assertFalse(is_wordless("git status"))

    def test_sizes_are_about_a_token_per_short_word(self):
        self.assertEqual(tokens("fix the parser"), 3)
        self.assertEqual(tokens("検証"), 2)


class Closeness(unittest.TestCase):
    def test_words_far_apart_are_not_close(self):
        index = WordIndex([["alpha", *["x"] * 40, "beta", "gamma"]])
        self.assertFalse(index.close(["alpha", "beta", "gamma"], 1.0, 30))
        self.assertTrue(index.close(["alpha", "beta", "gamma"], 0.6, 30))

    def test_blocks_are_far_apart(self):
        self.assertFalse(WordIndex([["alpha"], ["beta"]]).close(["alpha", "beta"], 1.0, 30))
        self.assertTrue(WordIndex([["alpha", "beta"]]).close(["alpha", "beta"], 1.0, 30))


if __name__ == "__main__":
    unittest.main()
