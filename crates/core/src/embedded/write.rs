//! The parts of a summary that are written whatever else is: what people demanded, said and decided, how the model
//! closed its turns, what is still to do, and the files. In this order, since what comes first is never crowded out.

use super::answer::{brief, choice};
use super::carried;
use super::dialogue::{Goal, Turn};
use super::excerpt::excerpt;
use super::files::{self, FileQuotas};
use super::own::COMMITTED;
use super::page::{Section, Spot, SummaryPage, WeighedText};
use super::reading::{Quote, Reading};
use super::statement::meaning;
use crate::facts::sentences;
use crate::ledger::{RequestItem, Todo, TodoState};
use crate::{EntryId, Tokens};
use std::cmp::Reverse;
use std::collections::HashSet;

/// Shares of the budget, in hundredths: what a part may take at most. An earlier summary is carried first, and the
/// others share what it leaves.
struct Shares;

impl Shares {
    const CARRIED: u64 = 50;
    /// Beyond it the newest rules are kept, and a note says so.
    const RULES: u64 = 15;
    /// What rules leave of their share is added to it; beyond it the newest are kept, and a note says so.
    const TODOS: u64 = 5;
    const DONE: u64 = 6;
    const GOAL: u64 = 5;
    const QUESTION: u64 = 3;
    const NEWEST_CLOSINGS: u64 = 22;
    /// The same beside somebody's prose, which says where the work stands.
    const NEWEST_CLOSINGS_BESIDE_PROSE: u64 = 6;
    const ANSWERS: u64 = 14;
    /// What people asked for comes before anything the machine picks out, and yet leaves the files theirs.
    const REQUESTS: u64 = 40;
    const OLDER_CLOSINGS: u64 = 8;
    const BLOCKED: u64 = 3;
    const CHANGED: u64 = 22;
    const READ: u64 = 4;
}

fn share(budget: Tokens, hundredths: u64) -> Tokens {
    budget.share(hundredths, 100)
}

/// Writes them; gives the notes on what did not fit. They have their shares of page and prose together: somebody's prose
/// says what the work came to, and stands for no rule, answer or file.
pub(super) fn fixed_parts(
    page: &mut SummaryPage<'_>,
    reading: &Reading,
    requests: &RequestLines,
    (budget, prose): (Tokens, Tokens),
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(text) = &reading.carried {
        carried::write(page, text, &mut share(budget, Shares::CARRIED));
    }
    let budget = page.room() + prose;
    let closings =
        if prose.is_zero() { Shares::NEWEST_CLOSINGS } else { Shares::NEWEST_CLOSINGS_BESIDE_PROSE };
    let mut quota = share(budget, Shares::RULES);
    write_rules(page, reading, &mut quota, &mut notes);
    write_todos(page, reading, &mut (quota + share(budget, Shares::TODOS)), &mut notes);
    write_goal(page, reading, share(budget, Shares::GOAL));
    write_question(page, reading, &mut share(budget, Shares::QUESTION));
    write_newest_closings(page, reading, share(budget, closings));
    write_answers(page, reading, &mut share(budget, Shares::ANSWERS));
    let behind = share(budget, Shares::BLOCKED + Shares::CHANGED + Shares::READ);
    requests.write(page, &mut share(budget, Shares::REQUESTS).min(page.room().less(behind)));
    write_older_closings(page, reading, &mut share(budget, Shares::OLDER_CLOSINGS));
    write_done(page, reading, &mut share(budget, Shares::DONE));
    write_blocked(page, reading, &mut share(budget, Shares::BLOCKED));
    let quotas = FileQuotas { changed: share(budget, Shares::CHANGED), read: share(budget, Shares::READ) };
    files::write(page, reading, quotas);
    notes
}

/// Spends what is left on what was cut short.
pub(super) fn second_helping(page: &mut SummaryPage<'_>, reading: &Reading, requests: &RequestLines) {
    write_answers(page, reading, &mut page.room());
    requests.write(page, &mut page.room());
    write_older_closings(page, reading, &mut page.room());
}

fn write_todos(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens, notes: &mut Vec<String>) {
    let mut left_out = 0;
    // What was done since, or replaced, in messages that stay in view is open no longer.
    let still_open: HashSet<&str> = reading.ledger.open_todos().map(|todo| &*todo.text).collect();
    let is_open = |todo: &Todo| todo.state.is_open() && still_open.contains(&*todo.text);
    let mut todos: Vec<_> =
        reading.covered().todos.iter().enumerate().filter(|(_, todo)| is_open(todo)).collect();
    // Of those written down together, the one being done comes first, then the order they are listed in.
    todos.sort_by_key(|(_, todo)| (Reverse(todo.entry), todo.state != TodoState::InProgress));
    for (order, todo) in todos {
        let section = match todo.state {
            TodoState::InProgress => Section::InProgress,
            TodoState::Open | TodoState::Done | TodoState::Dropped => Section::NextSteps,
        };
        let spot = Spot::new(section, order as u64, [todo.entry]);
        let is_written = page.add(&spot, &format!("- [ ] {}", todo.text.trim()), quota);
        left_out += u32::from(!is_written);
    }
    if left_out > 0 {
        notes.push(format!("{left_out} open todos did not fit the summary"));
    }
}

/// What was done of the todo list and of what the person listed, the newest first; and of a list that the model has
/// reported on, what it has not said to be done.
fn write_done(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    let done = |(_, todo): &(usize, &Todo)| todo.state == TodoState::Done;
    for (order, todo) in reading.covered().todos.iter().enumerate().filter(done).rev() {
        let spot = Spot::new(Section::Done, TODOS | order as u64, [todo.entry]);
        page.add(&spot, &format!("- [x] {}", one_line(&todo.text)), quota);
    }
    write_commits(page, reading, quota);
    let requests = &reading.covered().requests;
    let reported: HashSet<EntryId> =
        requests.iter().filter(|item| item.done.is_some()).map(|item| item.entry).collect();
    let told = |item: &RequestItem| reported.contains(&item.entry) && !is_done_since(reading, item);
    for (order, item) in requests.iter().enumerate().rev().filter(|(_, item)| told(item)) {
        let (order, text) = (LISTED | order as u64, one_line(&item.text));
        let (section, text) = match item.done {
            Some(said) => (Section::Done, format!("- [x] {text} ({said})")),
            None => (Section::NextSteps, format!("- not said to be done: {text} ({})", item.entry)),
        };
        page.add(&Spot::new(section, order, item.done.into_iter().chain([item.entry])), &text, quota);
    }
}

/// Whether messages that stay in view say that something listed is done.
fn is_done_since(reading: &Reading, item: &RequestItem) -> bool {
    let is_it = |known: &&RequestItem| known.entry == item.entry && known.text == item.text;
    let known = reading.ledger.requests.iter().find(is_it);
    item.done.is_none() && known.is_none_or(|known| known.done.is_some())
}

/// The todo list stands behind commits, and what a person listed behind both.
const TODOS: u64 = 1 << 31;
const LISTED: u64 = 1 << 32;

/// What was committed, the newest first. A commit that failed is told by the one that took its place.
fn write_commits(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    let failed: HashSet<EntryId> =
        reading.actions.iter().filter(|action| action.failed).map(|action| action.id).collect();
    let mut told = HashSet::new();
    for (order, commit) in reading.commits.iter().enumerate().rev() {
        if !failed.contains(&commit.id) && told.insert(commit.text.as_str()) {
            let spot = Spot::new(Section::Done, order as u64, [commit.id]);
            page.add(&spot, &format!("{}{COMMITTED}{}", commit.id, one_line(&commit.text)), quota);
        }
    }
}

/// The person's rules: those that hold everywhere first, and of each kind the newest.
fn write_rules(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens, notes: &mut Vec<String>) {
    let mut rules: Vec<_> = reading.rules.iter().enumerate().collect();
    rules.sort_by_key(|(order, rule)| Reverse((rule.reach, *order)));
    let written = rules.into_iter().map(|(order, rule)| {
        let spot = Spot::new(Section::Constraints, order as u64, rule.source);
        page.add(&spot, &format!("- {}", one_line(&rule.text)), quota)
    });
    let left_out = written.filter(|is_written| !is_written).count();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} of {} rules, the narrowest and oldest, did not fit the summary",
            reading.rules.len()
        ));
    }
}

/// What the person was after where what is summarised ends. Where that is kept in view, mostly in front of the summary, it is named so that
/// nobody takes it for history.
fn write_goal(page: &mut SummaryPage<'_>, reading: &Reading, mut quota: Tokens) {
    let Some(Goal { request, is_in_view, is_open }) = reading.dialogue.goal() else { return };
    let Quote { id, text } = request;
    let head = match (is_in_view, is_open) {
        (false, _) => format!("Asked ({id})"),
        // What is in view needs no pointer.
        (true, true) => "Being worked on, in view".into(),
        (true, false) => "Asked, in view".into(),
    };
    if is_in_view {
        quota = quota.min(VIEWED_GOAL_MAX);
    }
    page.add_ends(&Spot::new(Section::Goal, 0, [*id]), &format!("{head}: {}", one_line(text)), &mut quota);
}

/// So much is said of a request that can be read whole.
const VIEWED_GOAL_MAX: Tokens = Tokens(60);

fn write_question(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    if let Some(question) = &reading.dialogue.question {
        let text = format!("- unanswered ({}): {}", question.id, one_line(&question.text));
        page.add_head(&Spot::new(Section::NextSteps, u64::MAX, [question.id]), &text, quota);
    }
}

/// The last words of so many turns are told whole: of the one being worked on, and of three before it.
const NEWEST_CLOSINGS: usize = 4;

/// Where a line of the dialogue stands: by its message, and what was answered before what was said.
fn place(quote: &Quote, within: u64) -> Spot {
    Spot::new(Section::Dialogue, (u64::from(quote.id.0) << 16) | within, [quote.id])
}

/// The last words of each turn, and whether a person spoke next: what a harness answered in between was on the way.
fn closings(reading: &Reading) -> impl DoubleEndedIterator<Item = (&Quote, bool)> {
    let turns = &reading.dialogue.turns;
    let is_final = |at: usize| turns.get(at + 1).is_none_or(Turn::is_persons);
    turns.iter().enumerate().filter_map(move |(at, turn)| Some((turn.closing.as_ref()?, is_final(at))))
}

/// The newest turns' last words, whole as far as they fit: the newest may take half, each older half of the rest.
fn write_newest_closings(page: &mut SummaryPage<'_>, reading: &Reading, mut quota: Tokens) {
    let finals = closings(reading).rev().filter(|(_, is_final)| *is_final);
    for (at, (closing, _)) in finals.take(NEWEST_CLOSINGS).enumerate() {
        let most = if at + 1 == NEWEST_CLOSINGS { quota } else { quota.share(1, 2) };
        let mut own = most;
        write_closing(page, closing, &mut own);
        quota = quota.less(most.less(own));
    }
}

/// The last words of a turn, whole or by the sentences that say most.
fn write_closing(page: &mut SummaryPage<'_>, closing: &Quote, quota: &mut Tokens) {
    let (spot, said) = (place(closing, 1 << 15), lines(&closing.text));
    let line = |said: &str| format!("{} model: {said}", closing.id);
    if page.add(&spot, &line(&said), quota) {
        return;
    }
    let room = page.room().min(*quota);
    if let Some(told) = excerpt(&said, |told| page.tokens(Section::Dialogue, &line(told)) <= room) {
        page.add(&spot, &line(&told), quota);
    }
}

/// Of older turns, and of words on the way, what they conclude; those that a person answered first.
fn write_older_closings(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    for wanted in [true, false] {
        for (closing, _) in closings(reading).rev().filter(|(_, is_final)| *is_final == wanted) {
            let spot = place(closing, 1 << 15);
            let told = if page.holds(&spot) { String::new() } else { conclusions(&closing.text) };
            if !told.is_empty() {
                page.add(&spot, &format!("{} model: {told}", closing.id), quota);
            }
        }
    }
}

/// As many sentences of an older turn's last words are told.
const CONCLUSIONS_MAX: usize = 3;

/// A shorter text is told whole.
const CONCLUSION_BYTES_MAX: usize = 240;

/// The sentences of a text that say most, in their order.
fn conclusions(text: &str) -> String {
    if text.len() <= CONCLUSION_BYTES_MAX && !text.ends_with([':', '：']) {
        return lines(text);
    }
    let mut said: Vec<(&str, f64)> = Vec::new();
    let mut is_code = false;
    for line in text.lines().map(str::trim) {
        is_code ^= line.starts_with("```");
        if !is_code && !line.starts_with('#') {
            let found = sentences(line).map(|sentence| (sentence, meaning(sentence)));
            said.extend(found.filter(|(_, meaning)| *meaning > 0.0));
        }
    }
    let mut best: Vec<usize> = (0..said.len()).collect();
    best.sort_by(|a, b| said[*b].1.total_cmp(&said[*a].1));
    best.truncate(CONCLUSIONS_MAX);
    best.sort_unstable();
    best.iter().map(|&at| said[at].0).collect::<Vec<_>>().join(" ")
}

/// What people answered, newest first: whole in the first half of the room, in the next quarter what they chose without
/// what the option was said to mean, in the last with the beginning of the question alone, so that no decision is
/// crowded out by the words of another.
fn write_answers(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    let all = *quota;
    for turn in reading.dialogue.turns.iter().rev() {
        for (at, answer) in turn.answers.iter().enumerate().rev() {
            let spot = place(answer, at as u64);
            let line = |text: &str| format!("{} user, {}", answer.id, one_line(text));
            let mut add = |text: &str, reserved: Tokens| {
                let before = quota.less(reserved);
                let mut left = before;
                let is_added = page.add(&spot, &line(text), &mut left);
                *quota = quota.less(before.less(left));
                is_added
            };
            let _ = add(&answer.text, all.share(1, 2))
                || add(choice(&answer.text), all.share(1, 4))
                || add(&brief(&answer.text), Tokens::ZERO);
        }
    }
}

/// What people typed, the newest first, as it is told. A session holds many of these, and each is weighed once.
pub(super) struct RequestLines {
    all: Vec<(Spot, WeighedText)>,
}

impl RequestLines {
    pub(super) fn of(page: &SummaryPage<'_>, reading: &Reading) -> Self {
        let mut said = HashSet::new();
        // "go on" said twenty times, and what a tool that resumes a session says again, is told once, where it was said last.
        let lines = reading.dialogue.requests().rev().map(|asked| (asked, one_line(&asked.text)));
        let lines = lines.filter(|(_, line)| said.insert(line.to_lowercase()));
        let weigh = |text: String| page.weigh(Section::Dialogue, text);
        let all = lines.map(|(asked, line)| (place(asked, 0), weigh(format!("{} user: {line}", asked.id))));
        Self { all: all.collect() }
    }

    /// Writes them: each whole where all of it fits, else the longest by beginning and end, all cut to the same length.
    /// Where even that leaves too little for each, the newest are kept.
    fn write(&self, page: &mut SummaryPage<'_>, quota: &mut Tokens) {
        let sizes = self.all.iter().map(|(_, text)| page.weighed_tokens(Section::Dialogue, text)).collect();
        let each = even_share(sizes, *quota).max(REQUEST_TOKENS_MIN);
        for (spot, text) in &self.all {
            let mut own = each.min(*quota);
            let before = own;
            page.add_weighed_ends(spot, text, &mut own);
            *quota = quota.less(before.less(own));
        }
    }
}

/// Less of a request says nothing of what it asks for.
const REQUEST_TOKENS_MIN: Tokens = Tokens(40);

/// The length to which the longest of these have to be cut for all of them to fit.
fn even_share(mut sizes: Vec<Tokens>, quota: Tokens) -> Tokens {
    sizes.sort_unstable();
    let (mut room, mut others) = (quota, sizes.len() as u64);
    for size in sizes {
        let share = room.share(1, others);
        if size > share {
            return share;
        }
        room = room.less(size);
        others -= 1;
    }
    quota
}

/// Failures that nothing later overcame.
fn write_blocked(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    let standing: HashSet<EntryId> = reading.ledger.blocked().map(|command| command.entry).collect();
    let blocked = reading.covered().blocked().filter(|command| standing.contains(&command.entry));
    let blocked: Vec<_> = blocked.collect();
    for (order, command) in blocked.into_iter().enumerate().rev() {
        let code = command.exit.map_or("failed".to_owned(), |code| format!("exit {code}"));
        let text: String = one_line(&command.command).chars().take(120).collect();
        let spot = Spot::new(Section::Blocked, order as u64, [command.entry]);
        page.add(&spot, &format!("- {text} → {code}"), quota);
    }
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The lines of a text, without those that hold no word, and with headings that cannot pass for ours.
fn lines(text: &str) -> String {
    let is_told =
        |line: &&str| !line.trim_start().starts_with("```") && line.chars().any(char::is_alphanumeric);
    let lines = text.lines().map(str::trim_end).filter(is_told);
    let plain = lines.map(|line| match line.starts_with('#') {
        true => format!("**{}**", line.trim_start_matches('#').trim().trim_matches('*')),
        false => line.to_owned(),
    });
    plain.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::even_share;
    use crate::Tokens;

    #[test]
    fn what_is_short_leaves_its_share_to_what_is_long() {
        let share =
            |sizes: &[u64], quota| even_share(sizes.iter().copied().map(Tokens).collect(), Tokens(quota));
        assert_eq!(share(&[10, 20, 30], 60), Tokens(60));
        assert_eq!(share(&[500, 10, 20, 400], 230), Tokens(100));
        assert_eq!(share(&[500, 400], 100), Tokens(50));
    }
}
