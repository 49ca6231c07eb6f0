//! The parts of a summary that are written whatever else is: rules, todos, goal, files, decisions.

use super::page::{Section, SummaryPage};
use super::reading::{Quote, Reading};
use crate::Tokens;
use crate::ledger::{Operation, TodoState};
use std::cmp::Reverse;

/// Shares of the budget, in hundredths: what a part may take at most.
struct Shares;

impl Shares {
    /// Beyond it the newest rules are kept, and a note says so.
    const RULES: u64 = 25;
    /// What rules leave of their share is added to it; beyond it the newest are kept, and a note says so.
    const TODOS: u64 = 5;
    const GOAL: u64 = 6;
    const ASKED: u64 = 8;
    const CHANGED: u64 = 12;
    const READ: u64 = 7;
    const DECISIONS: u64 = 3;
    const REPORTS: u64 = 4;
}

fn share(budget: Tokens, hundredths: u64) -> Tokens {
    budget.share(hundredths, 100)
}

/// Writes them; gives the notes on what did not fit.
pub(super) fn fixed_parts(page: &mut SummaryPage<'_>, reading: &Reading, budget: Tokens) -> Vec<String> {
    let mut notes = Vec::new();
    let mut quota = share(budget, Shares::RULES);
    write_rules(page, reading, &mut quota, &mut notes);
    write_todos(page, reading, &mut (quota + share(budget, Shares::TODOS)), &mut notes);
    write_goal(page, reading, &mut share(budget, Shares::GOAL));
    write_question(page, reading, &mut share(budget, Shares::DECISIONS));
    write_files(page, reading, budget);
    write_blocked(page, reading, &mut share(budget, Shares::DECISIONS));
    write_newest(page, Section::Decisions, &reading.decisions, &mut share(budget, Shares::DECISIONS));
    write_reports(page, reading, &mut share(budget, Shares::REPORTS));
    write_asked(page, reading, &mut share(budget, Shares::ASKED));
    notes
}

/// Spends what is left on what was cut short: decisions, reports and messages.
pub(super) fn second_helping(page: &mut SummaryPage<'_>, reading: &Reading) {
    write_newest(page, Section::Decisions, &reading.decisions, &mut page.room());
    write_asked(page, reading, &mut page.room());
    write_reports(page, reading, &mut page.room());
}

fn write_todos(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens, notes: &mut Vec<String>) {
    let mut left_out = 0;
    let mut todos: Vec<_> =
        reading.ledger.todos.iter().enumerate().filter(|(_, todo)| todo.state.is_open()).collect();
    // Of those written down together, the one being done comes first, then the order they are listed in.
    todos.sort_by_key(|(_, todo)| (Reverse(todo.entry), todo.state != TodoState::InProgress));
    for (order, todo) in todos {
        let section = match todo.state {
            TodoState::InProgress => Section::InProgress,
            TodoState::Open | TodoState::Done | TodoState::Dropped => Section::NextSteps,
        };
        let is_written = page.add(section, &format!("- [ ] {}", todo.text.trim()), order as u64, quota);
        left_out += u32::from(!is_written);
    }
    if left_out > 0 {
        notes.push(format!("{left_out} open todos did not fit the summary"));
    }
}

fn write_rules(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens, notes: &mut Vec<String>) {
    let mut left_out = 0;
    for (order, rule) in reading.rules.iter().enumerate().rev() {
        let is_written =
            page.add(Section::Constraints, &format!("- {}", one_line(&rule.text)), order as u64, quota);
        left_out += u32::from(!is_written);
    }
    if left_out > 0 {
        notes.push(format!(
            "{left_out} of {} rules, the oldest, did not fit the summary",
            reading.rules.len()
        ));
    }
}

/// The oldest and the newest request among what leaves view; the session's first and those after
/// the cut stay in view themselves.
fn write_goal(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    let ends = match reading.asked.as_slice() {
        [] => vec![],
        [only] => vec![only],
        [first, .., last] => vec![first, last],
    };
    for (order, asked) in ends.into_iter().enumerate() {
        let text = format!("Asked ({}): {}", asked.id, one_line(&asked.text));
        page.add_head(Section::Goal, &text, order as u64, &mut quota.share(1, 2));
    }
}

fn write_question(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    if let Some(question) = &reading.question {
        let text = format!("- unanswered ({}): {}", question.id, one_line(&question.text));
        page.add_head(Section::NextSteps, &text, u64::MAX, quota);
    }
}

/// Changed files newest first; then those only read.
fn write_files(page: &mut SummaryPage<'_>, reading: &Reading, budget: Tokens) {
    let (mut changed, mut read) = (share(budget, Shares::CHANGED), share(budget, Shares::READ));
    let mut files: Vec<_> = reading.ledger.files.iter().collect();
    files.sort_by_key(|file| Reverse((file.changed, file.entry)));
    for (order, file) in files.into_iter().enumerate() {
        let quota = if file.changed.is_some() { &mut changed } else { &mut read };
        let group = match file.standing() {
            Operation::Modified => 0,
            Operation::Created => 1,
            Operation::Deleted => 2,
            Operation::Read => 3,
        };
        let text = format!("{} {}", file.standing().name(), file.path);
        page.add(Section::Files, &text, (group << 32) | order as u64, quota);
    }
}

/// Programs whose failure says "no" rather than "blocked".
const LOOKS: [&str; 8] = ["grep", "rg", "diff", "test", "ls", "find", "sleep", "which"];

/// Failures nothing like them has succeeded after.
fn write_blocked(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    let mut settled = std::collections::HashSet::new();
    for (order, command) in reading.ledger.commands.iter().enumerate().rev() {
        let program: Vec<&str> = command.command.split_whitespace().take(2).collect();
        let is_look = program.first().is_some_and(|name| LOOKS.contains(name));
        let is_newest = settled.insert(program);
        if is_newest && command.failed && !is_look {
            let code = command.exit.map_or("failed".to_owned(), |code| format!("exit {code}"));
            let text: String = one_line(&command.command).chars().take(120).collect();
            page.add(Section::Blocked, &format!("- {text} → {code}"), order as u64, quota);
        }
    }
}

fn write_newest(page: &mut SummaryPage<'_>, section: Section, quotes: &[Quote], quota: &mut Tokens) {
    for (order, quote) in quotes.iter().enumerate().rev() {
        page.add(section, &format!("- {} ({})", one_line(&quote.text), quote.id), order as u64, quota);
    }
}

/// The end of each turn is where the model says what it has done.
fn write_reports(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    let last_before = |asked: &Quote| reading.reports.iter().rev().find(|report| report.id < asked.id);
    let mut reports: Vec<&Quote> = reading.asked.iter().skip(1).filter_map(last_before).collect();
    reports.extend(reading.reports.last());
    reports.dedup_by_key(|report| report.id);
    for report in reports.iter().rev() {
        // Short openings ("Done.", "Good question.") say nothing.
        let first = report.text.lines().map(str::trim).find(|line| line.len() >= 40);
        if let Some(first) = first {
            let text: String = first.chars().take(200).collect();
            page.add(Section::Done, &format!("- {text} ({})", report.id), u64::from(report.id.0), quota);
        }
    }
}

/// What people typed, newest first, long ones by their beginning.
fn write_asked(page: &mut SummaryPage<'_>, reading: &Reading, quota: &mut Tokens) {
    let each = quota.share(1, 4);
    // The first and the last stand under the goal already.
    let between = reading.asked.iter().skip(1).rev().skip(1);
    for asked in between {
        // A short message fits whole; of a long one its beginning says what was wanted.
        let mut own = each.min(*quota);
        let before = own;
        page.add_head(
            Section::Asked,
            &format!("{}: {}", asked.id, one_line(&asked.text)),
            u64::from(asked.id.0),
            &mut own,
        );
        *quota = quota.less(before.less(own));
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
