"""The measures: each puts one part of an exam to a view and says how much of it is there, and what is not."""

import re
from dataclasses import dataclass, field

import exam as exams
from facts import facts_in, is_linked, is_present
from deeds import answers_given, files_touched, purposes, shell_text
from words import content_words, is_code, is_wordless, squeeze, tokens, words

# Literal: this share of the words, in a span hardly longer than the sentence. Paraphrase: as published for the
# outside evaluation, 60 % of the content words within 30.
LITERAL_SHARE, PARAPHRASE_SHARE, PARAPHRASE_SPAN = 0.9, 0.6, 30
# A question is recognised by fewer of its words than a statement, since its answer stands beside it; this far away at
# most, in words.
QUESTION_SHARE, ANSWER_DISTANCE = 0.4, 30


@dataclass
class Score:
    """How many of how many, and what was missed."""

    hits: float = 0
    total: float = 0
    misses: list = field(default_factory=list)

    def count(self, hit, what):
        self.total += 1
        self.hits += bool(hit)
        if not hit:
            self.misses.append(what)

    @property
    def share(self):
        return self.hits / self.total if self.total else None


def is_literal(sentence, view):
    """Whether a sentence stands in a view word for word, or with nine of ten words close together."""
    if squeeze(sentence) in view.squeezed:
        return True
    wanted = words(sentence)
    return len(wanted) >= 4 and bool(view.words.close(wanted, LITERAL_SHARE, int(len(wanted) * 1.3) + 2))


def is_paraphrased(sentence, view):
    """Whether most content words of a sentence stand close together in a view."""
    wanted = content_words(sentence)
    return bool(view.words.close(wanted, PARAPHRASE_SHARE, max(PARAPHRASE_SPAN, len(wanted))))


def recall(exam, view):
    score = Score()
    for fact, _ in exam.facts:
        score.count(is_present(fact, view), f"{fact[0]} {fact[1]}")
    return score


def linked(exam, view):
    score = Score()
    for fact, sources in exam.facts:
        if sources:
            score.count(is_linked(fact, sources, view), f"{fact[0]} {fact[1]}")
    return score


def rules(exam, view):
    return _literal(exam.rules, view)


def ends(exam, view):
    return _literal(exam.ends, view)


def todos(exam, view):
    return _literal(exam.todos, view)


def closing(exam, view):
    return _literal(exam.closings, view)


def closing_paraphrase(exam, view):
    score = Score()
    for sentence in exam.closings:
        score.count(is_literal(sentence, view) or is_paraphrased(sentence, view), sentence)
    return score


def _literal(sentences, view):
    score = Score()
    for sentence in sentences:
        score.count(is_literal(sentence, view), sentence)
    return score


def answers(exam, view):
    score, shown = Score(), {(q, a) for q, a, _ in answers_given(view.blocks)}
    for question, answer in exam.answers:
        hit = (question, answer) in shown or is_answered(question, answer, view)
        score.count(hit, f"{question} = {answer}")
    return score


def is_answered(question, answer, view):
    """Whether an answer stands in a view beside words of its question. A short answer is recognised by much of its
    question, one of several words by two words of it: "sponsor bar: retire it, footer only"."""
    asked, said, index = content_words(question), words(answer), view.words_told
    if not asked or not said:
        return False
    key = content_words(answer) or said
    need = 2 if len(said) >= 3 else max(2, QUESTION_SHARE * len(asked))
    places = index.close(key, 1.0 if len(key) <= 3 else PARAPHRASE_SHARE, max(8, int(len(said) * 1.3)))
    beside = (index.count(asked, first - ANSWER_DISTANCE, last + ANSWER_DISTANCE) for first, last in places)
    return any(count >= min(need, len(asked)) for count in beside)


def summaries(exam, view):
    """Statements of model-written summaries already in the session that are still there."""
    score = Score()
    for text in exam.summaries:
        for section, sentence in exams.summary_statements(text):
            score.count(is_literal(sentence, view), f"[{section}] {sentence}")
    return score


def current(exam, view):
    """The newest exchange and the newest and the first message of the person, verbatim, where under half the window."""
    score = Score()
    flat = " ".join(view.text.split())
    said = {" ".join(block.said.split()) for block in view.blocks}
    for name, text in (("newest message", exam.newest), ("first message", exam.first)):
        if text and exams.is_short(text, exam.window):
            wanted = " ".join(text.split())
            score.count(wanted in flat or wanted in said, f"{name}: {text}")
    parts = [block.text for block in exam.exchange if block.text.strip()]
    if parts and exams.is_short("\n".join(parts), exam.window):
        lost = [part for part in parts if " ".join(part.split()) not in flat]
        score.count(not lost, f"newest exchange ({tokens(chr(10).join(parts))} tokens): {' / '.join(lost)}")
    return score


# --- files ---

_SAYS_CHANGE = re.compile(
    r"\b(?:creat\w*|new|add(?:ed|s)?|wr(?:ote|itten|ite)|modif\w*|chang\w*|edit\w*|updat\w*|delet\w*|remov\w*|renam\w*|"
    r"moved|rewr\w*|fix\w*|implement\w*|refactor\w*|extend\w*)|作成|更新|修正|変更|削除|追加|新增|修改|删除|创建|생성|수정|삭제|추가",
    re.I,
)
_SAYS_READ = re.compile(r"\b(?:read|viewed|examined|inspected|looked at)\b|読|阅读|查看|읽", re.I)
# A line with a path and no more other words than these is an entry of a list.
LIST_WORDS = 4
_HEADING = re.compile(r"^\s*(?:#{1,4}\s|\*\*|<[\w-]+>|\d{1,2}\.\s)|:\s*\**$")


def files(exam, view):
    """Changed files that the view calls changed: by a call still shown, in a list, or, where no list says otherwise,
    in prose."""
    called = files_called(view)
    score = Score()
    for path, deed in exam.files.items():
        if deed == "changed":
            says = called_as(path, called)
            score.count(says == "changed", f"{path} ({'not named' if says is None else 'called ' + says})")
    return score


def files_wrong(exam, view):
    """Files that were only read, up to the compaction, and are listed as changed; each hit is an error. A name or the end
    of a path that a changed file has too speaks of that one: "modified SKILL.md" says nothing of another folder's."""
    called = files_called(view)
    score = Score()
    changed = [path.replace("\\", "/") for path, deed in exam.files_now.items() if deed == "changed"]
    for path, deed in exam.files.items():
        if deed == "read" and _only_read(path, exam.files_now):
            wrong = called_as(path, _speaking_of(path, called, changed), ("ledger", "list")) == "changed"
            score.total += 1
            score.hits += wrong
            if wrong:
                score.misses.append(path)
    return score


def _only_read(path, files):
    """Whether nothing was done to a file but reading, under whichever of its paths."""
    tail = "/" + path.replace("\\", "/").lstrip("/")
    same = (deed for other, deed in files.items() if ("/" + other.replace("\\", "/").lstrip("/")).endswith(tail))
    return "changed" not in same


def _speaking_of(path, called, changed):
    """What is said of a file by its name, without what may be said of a changed file that ends the same way."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    is_theirs = lambda said: any(other == said or other.endswith("/" + said) for other in changed)  # noqa: E731
    return {name: [one for one in called.get(name, ()) if not is_theirs(one[0])]}


def called_as(path, called, ranks=("call", "ledger", "list", "prose")):
    """What a view calls a file: "changed", "read", "named", or nothing. A change still shown outweighs all; then an
    entry of a ledger ("modified PATH"), a line of a list, and prose."""
    path = path.replace("\\", "/")
    sayings = {}
    for other, rank, deed in called.get(path.rsplit("/", 1)[-1], ()):
        if path == other or path.endswith("/" + other) or other.endswith("/" + path):
            sayings.setdefault(rank, set()).add(deed)
    if "changed" in sayings.get("call", ()) and "call" in ranks:
        return "changed"
    for rank in ranks:
        for deed in ("changed", "read"):
            if deed in sayings.get(rank, ()) and rank != "call":
                return deed
    return "named" if sayings else None


def files_called(view):
    """What a view says of each file, by file name: [(path, call or ledger or list or prose, deed)]; found once."""
    if view.files is None:
        view.files = _files_called(view)
    return view.files


def _files_called(view):
    out = {}

    def put(path, rank, deed):
        path = path.replace("\\", "/")
        path = path[2:] if path.startswith("./") else path
        out.setdefault(path.rsplit("/", 1)[-1], []).append((path, rank, deed))

    for path, deed in files_touched(view.blocks).items():
        put(path, "call", deed)
    told = [view.summary, *(b.text for b in view.blocks if b.role == "assistant" and b.kind == "text")]
    for number, text in enumerate(told):
        for path, rank, deed in _files_in_text(text):
            put(path, rank if number == 0 else "prose", deed)
    return out


def _files_in_text(text):
    heading = ""
    for line in text.split("\n"):
        if "/" not in line and "." not in line and "\\" not in line:
            heading = line if _HEADING.search(line) else heading
            continue
        found = [value for kind, value in facts_in(line) if kind == "path"]
        if _HEADING.search(line) and not found:
            heading = line
        bare = line
        for value in found:
            bare = bare.replace(value, " ")
        said, others = _deed_said(bare), len(words(bare))
        for value in found:
            if others <= 1 and (said is None or _deed_said(line[: line.find(value)])):
                yield value, "ledger", said or _deed_said(heading) or "named"
            else:
                yield value, "list" if others <= LIST_WORDS else "prose", said or "named"


def _deed_said(text):
    change, read = _SAYS_CHANGE.search(text), _SAYS_READ.search(text)
    if change and (not read or change.start() < read.start()):
        return "changed"
    return "read" if read else None


# --- what a summary says itself ---


def blocked_false(exam, view):
    """Entries that a summary calls blocked though the same was done later; each hit is an error."""
    score = Score()
    for entry in blocked_entries(view.summary):
        failed = _failure_of(entry, exam)
        if failed is None:
            continue
        number, overcome = failed
        score.total += 1
        score.hits += overcome
        if overcome:
            score.misses.append(entry)
    return score


def blocked_entries(summary):
    out, inside = [], False
    for line in summary.split("\n"):
        if re.match(r"^\s*#{1,4}\s", line):
            inside = bool(re.search(r"block", line, re.I))
        elif inside and line.strip() and "(none)" not in line:
            out.append(line.strip())
    return out


def _failure_of(entry, exam):
    """The failed call an entry speaks of: the newest whose command it repeats, or else whose file, as a command may
    name a file that another call failed at."""
    said = squeeze(entry)
    for is_shell in (True, False):
        for number, overcome in reversed(exam.failures):
            block = exam.history[number]
            command = shell_text(block)
            text = command if is_shell or command else next((aim[-1] for aim in purposes(block)), "")
            start = squeeze(text or "")[:40]
            if len(start) >= 4 and start in said:
                return number, overcome
    return None


def noise(exam, view):
    """Tokens of the summary in lines that are code, wordless, or said before; each hit is noise."""
    score, seen = Score(), set()
    lines = view.summary.split("\n")
    fenced = fenced_lines(lines)
    for number, line in enumerate(lines):
        bare = re.sub(r"^(?:m\d{4,}:?\s|[-*]\s)+", "", line.strip())
        if not bare or bare.startswith(("<epitome-summary", "</epitome-summary", "#")):
            continue
        size, again = tokens(line), squeeze(bare) in seen
        seen.add(squeeze(bare))
        score.total += size
        if again or number in fenced or is_wordless(bare) or is_code(bare):
            score.hits += size
            score.misses.append(("twice: " if again else "") + bare)
    return score


def fenced_lines(lines):
    """The numbers of the lines inside code fences. A fence that a heading comes before its end is a quoted line."""
    out, opened = set(), None
    for number, line in enumerate(lines):
        if line.startswith("## "):
            opened = None
        elif line.strip().startswith("```"):
            if opened is not None:
                out.update(range(opened, number + 1))
            opened = number if opened is None else None
    return out


def statements(said, view):
    """The statements of a model's summary that a view carries: all of them, and by section."""
    out = {"statements": Score()}
    for section, sentence in said:
        hit = is_literal(sentence, view) or is_paraphrased(sentence, view)
        out["statements"].count(hit, f"[{section}] {sentence}")
        part = out.setdefault(f"statements: {section}", Score())
        part.total += 1
        part.hits += hit
    return out


# Name, function, whether more is better, one line for the reader of a table.
MEASURES = (
    ("recall", recall, True, "facts that later actions used, in view"),
    ("linked", linked, True, "... on a line with two ordinary words from a line where they stood"),
    ("rules", rules, True, "sentences by which the person set rules"),
    ("todos", todos, True, "open items of the todo list"),
    ("answers", answers, True, "answers to question tools, with their questions"),
    ("closing", closing, True, "sentences of the last replies of the newest three turns, literally"),
    ("closing~", closing_paraphrase, True, "... paraphrase allowed"),
    ("summaries", summaries, True, "statements of model-written summaries already in the session"),
    ("ends", ends, True, "last two sentences of the person's long messages"),
    ("current", current, True, "newest exchange, newest and first message, verbatim"),
    ("files", files, True, "changed files that are called changed"),
    ("files!", files_wrong, False, "read files that are called changed"),
    ("blocked!", blocked_false, False, "entries called blocked that were overcome"),
    ("noise!", noise, False, "summary tokens in lines that are code, wordless or said twice"),
)


def measure(exam, view, only=None):
    """Every measure of a view, by name."""
    return {name: function(exam, view) for name, function, _, _ in MEASURES if only is None or name in only}

