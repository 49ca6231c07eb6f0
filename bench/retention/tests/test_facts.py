import unittest

import tests  # noqa: F401
from facts import FactBook, facts_in, is_linked, is_present
from tests.talk import FILED, Talk, shuffled, summary


class Extraction(unittest.TestCase):
    def test_each_class_by_its_form(self):
        text = "See https://x.dev/a?b=1, src/cut.rs:12 and find_cut in 4f5510a (#123), serde 1.0.219, timeout: 30 s"
        self.assertEqual(
            facts_in(text),
            {
                ("url", "https://x.dev/a?b=1"),
                ("path", "src/cut.rs"),
                ("name", "find_cut"),
                ("id", "4f5510a"),
                ("id", "#123"),
                ("version", "1.0.219"),
                ("number", "timeout=30 s"),
            },
        )

    def test_names_of_arguments_are_no_facts(self):
        block = Talk().call("Edit", "done", old_string="a", file_path="/src/find_cut.rs").blocks[0]
        self.assertEqual(FactBook([block]).places.keys(), {("path", "/src/find_cut.rs")})

    def test_ordinary_words_are_no_facts(self):
        self.assertEqual(facts_in("Either this or that works, e.g. on Monday at 12:30."), set())


class Use(unittest.TestCase):
    def setUp(self):
        talk = Talk().user("Please look at src/old.rs, src/told.rs and src/unused.rs.").agent("I will.")
        self.now = len(talk.blocks)
        talk.user("Now src/told.rs again.").call("Read", "fn main", file_path="src/told.rs")
        talk.call("Read", "fn main", file_path="src/old.rs").agent("About src/unused.rs I said nothing.")
        self.book = FactBook(talk.blocks)

    def test_only_what_an_action_used_before_it_was_told_again_counts(self):
        self.assertEqual(list(self.book.used_later(self.now, self.now)), [("path", "src/old.rs")])

    def test_an_outdated_number_does_not_count(self):
        talk = Talk().user("retries: 3 at first").user("retries: 5 now")
        now = len(talk.blocks)
        talk.agent("So retries: 3 it was, and retries: 5 it is.")
        self.assertEqual(list(FactBook(talk.blocks).used_later(now, now)), [("number", "retries=5")])


class Presence(unittest.TestCase):
    SOURCE = "The scheduler keeps its pending queue in src/queue.rs since yesterday."

    def setUp(self):
        talk = Talk().user(self.SOURCE)
        now = len(talk.blocks)
        talk.call("Read", "...", file_path="src/queue.rs")
        book = FactBook(talk.blocks)
        (self.fact,) = book.used_later(now, now)
        self.sources = book.beside(self.fact, now)

    def linked(self, text):
        return is_linked(self.fact, self.sources, summary(text))

    def test_a_fact_needs_its_words_on_the_same_line(self):
        self.assertTrue(self.linked("pending queue of the scheduler: src/queue.rs"))
        self.assertFalse(self.linked("scheduler, pending queue\nsrc/queue.rs"))

    def test_a_bare_list_has_facts_and_no_links(self):
        view = summary("src/a.rs, src/queue.rs, find_cut, 4f5510a")
        self.assertTrue(is_present(self.fact, view))
        self.assertFalse(is_linked(self.fact, self.sources, view))

    def test_part_of_a_longer_word_is_no_presence(self):
        self.assertFalse(is_present(("name", "find_cut"), summary("call find_cuts")))
        self.assertTrue(is_present(("path", "src/queue.rs"), summary("in /home/x/src/queue.rs")))

    def test_shuffled_words_lose_links(self):
        self.assertEqual(share_linked(FILED), 1.0)
        self.assertLess(share_linked(shuffled(FILED)), 0.3)

    def test_swapped_values_lose_numbers(self):
        view = summary("retries: 5\ntimeout: 3")
        self.assertFalse(is_present(("number", "retries=3"), view))
        self.assertTrue(is_present(("number", "retries=3"), summary("timeout: 5\nretries: 3")))


def share_linked(lines):
    """How many files of `FILED` stand in a view of `lines` with their words."""
    talk = Talk().user("\n".join(FILED))
    now = len(talk.blocks)
    for line in FILED:
        talk.call("Read", "...", file_path=next(word for word in line.split() if "/" in word))
    book, view = FactBook(talk.blocks), summary("\n".join(lines))
    facts = list(book.used_later(now, now))
    return sum(is_linked(fact, book.beside(fact, now), view) for fact in facts) / len(facts)


if __name__ == "__main__":
    unittest.main()
