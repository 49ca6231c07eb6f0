import unittest

import tests  # noqa: F401
import measures
from exam import Exam, newest_exchange, section_of, summary_statements
from tests.talk import FILED, Talk, shuffled, summary
from view import View
from words import squeeze

WINDOW = 64_000


def exam(talk):
    """An exam at the end of a talk, everything of which is past."""
    return Exam(talk.session, len(talk.blocks), WINDOW, recent_tokens=0)


def found(measure, talk, view):
    score = measure(exam(talk), view)
    return score.hits, score.total


class Answers(unittest.TestCase):
    QUESTION = "Where should the catalog of segments live?"
    OPTIONS = [{"label": "Standalone page"}, {"label": "Sidebar category"}]
    RESULT = f'User has answered your questions: "{QUESTION}"="Standalone page". You can now continue.'
    ASKED = [{"question": QUESTION, "options": OPTIONS}]
    TALK = Talk().user("Plan the catalog.").call("AskUserQuestion", RESULT, questions=ASKED)

    def test_question_and_answer_are_read(self):
        self.assertEqual(exam(self.TALK).answers, [(self.QUESTION, "Standalone page")])

    def test_both_must_be_in_view_together(self):
        asked = lambda text: found(measures.answers, self.TALK, summary(text))  # noqa: E731
        self.assertEqual(asked("Where the catalog of segments should live: Standalone page"), (1, 1))
        self.assertEqual(asked("Where should the catalog of segments live?"), (0, 1))
        self.assertEqual(asked("Standalone page " + "and more " * 60 + self.QUESTION), (0, 1))

    def test_options_of_the_question_are_no_answer(self):
        masked = View(self.TALK.blocks[:-1])
        self.assertEqual(found(measures.answers, self.TALK, masked), (0, 1))
        self.assertEqual(found(measures.answers, self.TALK, self.TALK.view), (1, 1))

    def test_an_answer_swapped_with_another_is_lost(self):
        view = summary("Where should the catalog of segments live? Sidebar category")
        self.assertEqual(found(measures.answers, self.TALK, view), (0, 1))

    def test_free_text_and_answers_in_the_next_message(self):
        design, language = "How far should I simplify the design?", "Which language should the report use?"
        talk = Talk().user("go").call("ask_user", "User responded: use the merge queue instead", question=design)
        talk.call("ask_clarification", "shown", question=language).user("German please")
        expected = [(design, "use the merge queue instead"), (language, "German please")]
        self.assertEqual(exam(talk).answers, expected)


class Closing(unittest.TestCase):
    TALK = (
        Talk()
        .user("Fix the parser.")
        .call("Bash", "ok", command="cargo test")
        .agent("The parser skipped empty lines because the loop ended early.")
        .user("And the docs?")
        .agent("Let me look at the pages first of all.")
        .call("Read", "# Docs", file_path="docs/a.md")
        .user("Go on.")
    )
    SENTENCE = "The parser skipped empty lines because the loop ended early."

    def test_only_last_words_after_the_last_call_count(self):
        self.assertEqual(exam(self.TALK).closings, [self.SENTENCE])

    def test_literal_and_paraphrase(self):
        literal = lambda text: found(measures.closing, self.TALK, summary(text))  # noqa: E731
        near = lambda text: found(measures.closing_paraphrase, self.TALK, summary(text))  # noqa: E731
        self.assertEqual(literal(f"Done: {self.SENTENCE}"), (1, 1))
        told = "Empty lines were skipped by the parser, as its loop ended too soon"
        self.assertEqual((literal(told), near(told)), ((0, 1), (1, 1)))
        self.assertEqual(near("The renderer draws boxes; the parser is fine."), (0, 1))

    def test_shuffled_words_score_lower(self):
        talk = Talk().user("What happened?").agent("\n".join(FILED)).user("Go on.")
        others = tuple(" ".join(f"other{line}x{word}" for word in range(8)) for line in range(80))
        score = lambda lines: found(measures.closing_paraphrase, talk, summary("\n".join(lines)))  # noqa: E731
        self.assertEqual(score(FILED + others), (8, 8))
        self.assertEqual(score(shuffled(FILED + others)), (0, 8))


class Current(unittest.TestCase):
    def test_notes_of_the_harness_are_neither_newest_message_nor_exchange(self):
        talk = Talk().user("Fix it.").call("Bash", "all 12 tests pass", command="cargo test")
        talk.user("[hook_success PostToolUse:Bash]\nok")
        asked = exam(talk)
        self.assertEqual(asked.newest, "Fix it.")
        self.assertEqual([b.kind for b in newest_exchange(talk.blocks)], ["call", "result"])
        self.assertEqual(found(measures.current, talk, talk.view), (3, 3))
        clipped = Talk().user("Fix it.").call("Bash", "all 12 tests", command="cargo test")
        self.assertEqual(found(measures.current, talk, clipped.view), (2, 3))

    def test_slash_commands_and_skills_are_not_the_person(self):
        talk = Talk().user("<command-name>/plan</command-name>").user("# Plan\nYou must always plan.")
        talk.agent("Planned.").user("Now build it.").call("Skill", "loaded", skill="x").user("Approach this as a lead.")
        self.assertEqual([b.said for b in talk.blocks if b.by_person], ["Now build it."])

    def test_behind_a_command_that_ran_here_the_person_speaks(self):
        talk = Talk().user("<command-name>/context</command-name>")
        talk.user("<local-command-stdout>\n42k</local-command-stdout>").user("Streaming broke.")
        self.assertEqual([b.said for b in talk.blocks if b.by_person], ["Streaming broke."])

    def test_a_message_with_tags_of_its_own_is_found_whole(self):
        talk = Talk().user('Its template is "<b>{{ .Name }}</b> x".').agent("I see.")
        self.assertEqual(found(measures.current, talk, talk.view), (2, 2))

    def test_tags_around_the_persons_words_are_taken_off(self):
        before, after = "<current_datetime>2026</current_datetime>", "<system_reminder>x</system_reminder>"
        talk = Talk().user(f"{before}\n\nUse update instead.\n{after}")
        self.assertEqual(exam(talk).newest, "Use update instead.")

    def test_tags_in_pasted_code_are_the_persons(self):
        said = "Wrap it so:\n```tsx\n<Tooltip>\n  <Button/>\n</Tooltip>\n```\nand test it."
        self.assertEqual(exam(Talk().user(f"<note>x</note>\n{said}")).newest, said)
        around = "<rules>\n```\n<b>bold</b>\n```\n</rules>"
        self.assertEqual(exam(Talk().user(f"{around}\nGo on.")).newest, "Go on.")


class Messages(unittest.TestCase):
    def test_ends_of_long_messages(self):
        paste = "This guide explains how the service is deployed in every region. " * 10
        request = "Please translate the guide into Korean. Keep the tables as they are."
        talk = Talk().user(f"{paste}\n{request}").agent("ok")
        self.assertEqual(exam(talk).ends, ["Please translate the guide into Korean.", "Keep the tables as they are."])
        self.assertEqual(found(measures.ends, talk, summary(paste)), (0, 2))

    def test_rules_are_the_persons_short_sentences(self):
        talk = Talk().user("Never push to main. Thanks for the nice summary. Should we wait?")
        talk.agent("You must always test this.")
        self.assertEqual(exam(talk).rules, ["Never push to main."])

    def test_open_todos_of_the_newest_list(self):
        item = lambda text, state: {"content": text, "status": state}  # noqa: E731
        talk = Talk().user("go").call("TodoWrite", "ok", todos=[item("write the parser tests", "pending")])
        newest = [item("write the parser tests", "completed"), item("publish the crate", "in_progress")]
        talk.call("TodoWrite", "ok", todos=newest)
        self.assertEqual(exam(talk).todos, ["publish the crate"])


class Files(unittest.TestCase):
    TALK = (
        Talk()
        .user("go")
        .call("Write", "created", file_path="/repo/src/new.rs", content="fn a() {}")
        .call("Read", "fn a() {}", file_path="/repo/src/new.rs")
        .call("Read", "fn b() {}", file_path="/repo/src/seen.rs")
        .call("Edit", "old_string not found", failed=True, file_path="/repo/src/failed.rs")
        .call("Bash", "ok", command="cd /repo && sed -i s/a/b/ src/sed.rs && cat > notes.md <<'EOF'\nx > y.rs\nEOF")
    )

    def test_what_was_done(self):
        changed = dict.fromkeys(("/repo/src/new.rs", "src/sed.rs", "notes.md"), "changed")
        self.assertEqual(exam(self.TALK).files, {**changed, "/repo/src/seen.rs": "read"})

    def test_a_changed_file_must_be_called_changed(self):
        called = lambda text: found(measures.files, self.TALK, summary(text))  # noqa: E731
        self.assertEqual(called("modified src/sed.rs\ncreated /repo/src/new.rs\ncreated notes.md"), (3, 3))
        self.assertEqual(called("modified src/sed.rs\nread /repo/src/new.rs\ncreated notes.md"), (2, 3))
        self.assertEqual(called("**Modified files:**\n- src/sed.rs\n- `src/new.rs`\n- notes.md"), (3, 3))

    def test_a_ledger_outweighs_quoted_lines(self):
        text = "read /repo/src/seen.rs\n### 2. Update registry (`src/seen.rs`)"
        self.assertEqual(found(measures.files_wrong, self.TALK, summary(text)), (0, 1))
        self.assertEqual(found(measures.files_wrong, self.TALK, summary("modified /repo/src/seen.rs")), (1, 1))

    def test_a_name_that_a_changed_file_has_too_speaks_of_that_one(self):
        talk = Talk().user("go").call("Read", "x", file_path="/repo/a/SKILL.md")
        talk.call("Edit", "ok", file_path="/repo/b/SKILL.md", old_string="x", new_string="y")
        wrong = lambda text: found(measures.files_wrong, talk, summary(text))  # noqa: E731
        self.assertEqual(wrong("modified SKILL.md"), (0, 1))
        self.assertEqual(wrong("modified /repo/b/SKILL.md\nmodified a/SKILL.md"), (1, 1))

    def test_a_file_changed_just_before_the_compaction_is_a_changed_one(self):
        talk = Talk().user("go").call("Read", "x " * 400, file_path="/repo/a.rs").agent("Read it.")
        talk.call("Edit", "ok", file_path="/repo/a.rs", old_string="x", new_string="y")
        late = Exam(talk.session, len(talk.blocks), WINDOW, recent_tokens=20)
        self.assertEqual(late.files, {"/repo/a.rs": "read"})
        self.assertEqual(measures.files_wrong(late, summary("modified /repo/a.rs")).total, 0)


class Blocked(unittest.TestCase):
    def test_an_entry_that_was_overcome_is_false(self):
        talk = Talk().user("commit").call("Bash", "hook failed", failed=True, command="git add . && git commit -m x")
        text = "## Progress: Blocked\n- git add . && git commit -m x → exit 1\n\n## Files\nmodified a.rs"
        self.assertEqual(found(measures.blocked_false, talk, summary(text)), (0, 1))
        talk.call("Bash", "[main 1234567] x", command="git commit -m x")
        self.assertEqual(found(measures.blocked_false, talk, summary(text)), (1, 1))

    def test_what_runs_programs_is_not_what_was_run(self):
        talk = Talk().user("test it").call("Bash", "3 failed", failed=True, command="uv run pytest test/a.py -v")
        text = "## Progress: Blocked\n- uv run pytest test/a.py -v → failed"
        talk.call("Bash", "ok", command="uv run python -c 'print(1)'")
        self.assertEqual(found(measures.blocked_false, talk, summary(text)), (0, 1))
        talk.call("Bash", "6 passed", command="uv run pytest test/a.py")
        self.assertEqual(found(measures.blocked_false, talk, summary(text)), (1, 1))


class Noise(unittest.TestCase):
    def test_code_wordless_and_repeated_lines_are_noise(self):
        talk = Talk().user("go")
        clean = "The parser was fixed for empty lines.\nmodified src/a.rs"
        self.assertEqual(found(measures.noise, talk, summary(clean))[0], 0)
        noisy = clean + "\nm0012: import { cn } from './x';\ntrue ->\nThe parser was fixed for empty lines."
        expected = ["import { cn } from './x';", "true ->", "twice: The parser was fixed for empty lines."]
        self.assertEqual(measures.noise(exam(talk), summary(noisy)).misses, expected)


class ModelSummaries(unittest.TestCase):
    TEXT = (
        "This session is being continued from a previous conversation that ran out of context.\n"
        "4. Errors and fixes:\n   - The build broke because the lock file was stale.\n"
        "7. Pending Tasks:\n   - Publish the second crate after the review."
    )

    def test_statements_by_section(self):
        errors = ("errors", "The build broke because the lock file was stale.")
        pending = ("pending", "Publish the second crate after the review.")
        self.assertEqual(summary_statements(self.TEXT), [errors, pending])
        self.assertEqual([section_of("## Next Steps"), section_of("- next step is done")], ["next step", None])

    def test_lines_of_an_earlier_summary_that_survive(self):
        talk = Talk().user(self.TEXT).agent("ok").user("go on")
        kept = summary("Publish the second crate after the review.")
        self.assertEqual(found(measures.summaries, talk, kept), (1, 2))
        self.assertIsNone(exam(talk).first, "the first stands before what the summary covers")

    def test_statements_carried(self):
        view = summary("the lock file was stale, so the build broke")
        carried = measures.statements(summary_statements(self.TEXT), view)
        shares = {name: score.share for name, score in carried.items()}
        self.assertEqual(shares, {"statements": 0.5, "statements: errors": 1.0, "statements: pending": 0.0})


class Squeezing(unittest.TestCase):
    def test_emphasis_and_space_do_not_matter(self):
        self.assertEqual(squeeze("**Done:**  the\n`parser`"), "done: the parser")


if __name__ == "__main__":
    unittest.main()
