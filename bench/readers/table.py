"""The table of graded answers: the mean grade of each session and method, and what readers of a method did not know."""

from dataclasses import dataclass

from contexts import OURS

GRADES = (0, 0.5, 1)
# What the embedded summariser is to reach: in the mean, and in its worst session.
MEAN_LEAST, SESSION_LEAST = 0.85, 0.6
UNKNOWN = "not in the context"


@dataclass
class Result:
    """One need, as the reader of one packet answered it."""

    session: str
    method: str
    tokens: int
    need: dict
    answer: str
    grade: float

    @property
    def is_wrong(self):
        """Whether the reader said something, and none of it was right: worse than to know that one does not know."""
        return self.grade == 0 and not self.answer.casefold().strip().startswith(UNKNOWN)


def results(key, lists, answers, grades):
    """Every graded answer; whatever is missing or no grade is named, all of it at once."""
    faults = [f"{name}: no such packet" for name in sorted({*answers, *grades} - key.keys())]
    out = []
    for name, held in key.items():
        for need in lists[held["session"]]["needs"]:
            answer, grade = (replies.get(name, {}).get(need["id"]) for replies in (answers, grades))
            if not isinstance(answer, str) or not answer.strip():
                faults.append(f"{name} {need['id']}: no answer")
            elif isinstance(grade, bool) or grade not in GRADES:
                faults.append(f"{name} {need['id']}: the grade is {grade!r}; give 0, 0.5 or 1")
            else:
                out.append(Result(held["session"], held["method"], held["tokens"], need, answer, grade))
    if faults:
        raise ValueError("\n".join(["the replies are incomplete:", *faults]))
    return out


def report(found):
    """Sessions by methods, the means, and whether ours is where it is to be."""
    methods, sessions = (list(dict.fromkeys(getattr(r, name) for r in found)) for name in ("method", "session"))
    methods.sort(key=lambda method: (method != OURS, method))
    rows = [["session", *methods]]
    for session in sorted(sessions):
        rows.append([session, *(_cell(_of(found, method, session)) for method in methods)])
    rows.append(["**mean of sessions**", *(_figure(mean(found, method)) for method in methods)])
    older = [r for r in found if not r.need["recent"]]
    rows.append(["mean, not recent", *(_figure(mean(older, method)) for method in methods)])
    rows.append(["lowest session", *(_figure(min(session_means(found, m).values())) for m in methods)])
    rows.append(["sessions", *(str(len(session_means(found, method))) for method in methods)])
    rows.append(["wrong answers", *(str(sum(r.is_wrong for r in _of(found, m))) for m in methods)])
    rows.append(["tokens, mean", *(_size(_of(found, method)) for method in methods)])
    return _table(rows) + "\n\n" + verdict(found)


def verdict(found):
    """Whether the embedded summariser reaches its marks."""
    means = session_means(found, OURS)
    if not means:
        return f"{OURS}: no answers"
    worst = min(means, key=means.get)
    whole, least = mean(found, OURS), means[worst]
    reached = "yes" if whole >= MEAN_LEAST and least >= SESSION_LEAST else "no"
    told = f"{OURS}: mean {whole:.2f} (at least {MEAN_LEAST}), lowest {least:.2f} in {worst} (at least {SESSION_LEAST})"
    return f"{told}: {reached}"


def misses(found, method):
    """What readers of a method knew in part, not at all, or wrongly."""
    missed = [r for r in found if r.method == method and r.grade < 1]
    return "\n".join(map(_miss, missed)) if missed else f"nothing was missed of {method}"


def _miss(result):
    known = "wrong" if result.is_wrong else "in part" if result.grade else "missing"
    need = result.need
    return f"{result.session} {need['id']} [{need['kind']}] {known}: {need['need']}\n    {result.answer}"


def session_means(found, method):
    """The mean grade of each session under a method."""
    grades = {}
    for result in _of(found, method):
        grades.setdefault(result.session, []).append(result.grade)
    return {session: sum(given) / len(given) for session, given in grades.items()}


def mean(found, method):
    """The mean of a method's sessions, each counted once."""
    means = session_means(found, method).values()
    return sum(means) / len(means) if means else None


def _of(found, method, session=None):
    return [r for r in found if r.method == method and session in (None, r.session)]


def _cell(found):
    return _figure(sum(r.grade for r in found) / len(found) if found else None)


def _figure(value):
    return "–" if value is None else f"{value:.2f}"


def _size(found):
    sizes = {(r.session, r.tokens) for r in found}
    return f"{sum(tokens for _, tokens in sizes) / len(sizes):,.0f}"


def _table(rows):
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "| --- |" + " --: |" * (len(rows[0]) - 1), *body])
