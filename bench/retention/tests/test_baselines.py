import unittest

import tests  # noqa: F401
from baselines import BASELINES, MASK, baseline_views
from tests.talk import Talk


def long_talk():
    talk = Talk().user("Build the importer, and never touch the schema.")
    for number in range(40):
        talk.call("Read", f"line of file {number} " * 60, file_path=f"src/part{number}.rs")
        talk.agent(f"Part {number} is read and understood by now.")
    return talk.user("Now the last part.")


class Sizes(unittest.TestCase):
    def test_every_method_keeps_to_the_size_and_most_fill_it(self):
        blocks = long_talk().blocks
        sizes = {name: view.tokens for name, view in baseline_views(blocks, 2000).items()}
        self.assertEqual(sizes.keys(), BASELINES.keys())
        self.assertTrue(all(size <= 2050 for size in sizes.values()), sizes)
        self.assertGreater(sizes["first + tail"], 1900)
        self.assertGreater(sizes["masking"], 1900)


class Methods(unittest.TestCase):
    def setUp(self):
        self.views = baseline_views(long_talk().blocks, 2000)

    def test_masking_keeps_calls_whose_results_are_cleared(self):
        kept = [block.text for block in self.views["masking"].blocks]
        self.assertGreater(kept.count(MASK), 20)
        self.assertIn("file_path: src/part20.rs", kept)

    def test_the_first_message_stays_where_the_method_says_so(self):
        first = "Build the importer, and never touch the schema."
        has = {name: first in view.text for name, view in self.views.items()}
        self.assertTrue(has["first + tail"] and has["user messages + tail"], has)

    def test_the_file_list_is_a_summary(self):
        self.assertIn("read src/part20.rs", self.views["file list + tail"].summary)
        self.assertEqual(self.views["masking"].summary, "")

    def test_the_newest_block_is_in_every_view(self):
        self.assertTrue(all("Now the last part." in view.text for view in self.views.values()))


if __name__ == "__main__":
    unittest.main()
