"""Sheets for graders: each question with what is right, what the log says, and the answers of every packet, mixed."""

import random

import needs


def write(out, key, lists, answers, corpus):
    """A sheet for every session that has answers."""
    out.mkdir(parents=True, exist_ok=True)
    for session, listed in lists.items():
        names = [name for name, held in key.items() if held["session"] == session and name in answers]
        if names:
            given = {name: answers[name] for name in names}
            _check(listed, given)
            text = sheet(listed, given, needs.evidence(listed, corpus))
            (out / f"{session}.md").write_text(text, encoding="utf-8")


def sheet(listed, answers, logged):
    """The text of a sheet; answers stand in another order at each question."""
    # By the packets' names, which tell nothing: the same answers give the same sheet.
    dice = random.Random(" ".join(sorted(answers)))
    parts = [f"# Answers to grade\n\nPackets: {', '.join(sorted(answers))}"]
    for need in listed["needs"]:
        parts.append(f"## {need['id']}: {need['question']}\n\nRight: {need['answer']}\n\nThe need: {need['need']}")
        parts += [f"Record {at} of the log:\n\n{_quoted(text)}" for at, text in logged[need["id"]]]
        told = [f"- {name}: {answers[name][need['id']]}" for name in dice.sample(sorted(answers), len(answers))]
        parts.append("Answers:\n\n" + "\n".join(told))
    return "\n\n".join(parts) + "\n"


def _check(listed, answers):
    """Refuses answers that leave out a question, before somebody grades them."""
    asked = [need["id"] for need in listed["needs"]]
    missing = [f"{name} {need}" for name, given in answers.items() for need in asked if need not in given]
    if missing:
        raise ValueError(f"no answer to {', '.join(missing)}; a reader who does not know says so")


def _quoted(text):
    return "\n".join(f"> {line}" for line in text.splitlines() if line.strip())
