//! What was said, turn by turn: what a person asked and answered, and with which words the model closed.
//! How much of it is written is `write`'s.

use super::answer::{self, asks_person};
use super::reading::Quote;
use crate::digest::MessageDigest;
use crate::facts::{self, Secrets, closing_question};
use crate::pattern::compile;
use crate::{Author, Call, CallId, EntryId, Message, Role};
use regex::Regex;
use std::collections::HashMap;
use std::sync::LazyLock;

/// One turn, as far as it leaves view.
#[derive(Default)]
pub(super) struct Turn {
    /// What a person asked for; none where a harness opened the turn.
    pub request: Option<Quote>,
    /// What they answered, or said to a call, on the way.
    pub answers: Vec<Quote>,
    /// The model's last words in it.
    pub closing: Option<Quote>,
    /// What a person asked for in it, where that stays in view.
    in_view: Option<ViewedRequest>,
}

/// What a person asked for, and is read where it was said.
enum ViewedRequest {
    /// It is older than something that leaves view: every path that has the summary has it.
    Covered(Quote),
    /// It stands behind all that leaves view.
    Behind,
}

/// What the person was after where a summary ends.
pub(super) struct Goal<'d> {
    /// Their words.
    pub request: &'d Quote,
    /// Whether these stay in view.
    pub is_in_view: bool,
    /// Whether they have asked for nothing since, as far as it is in view.
    pub is_open: bool,
}

impl Turn {
    /// Whether a person opened it.
    pub(super) fn is_persons(&self) -> bool {
        self.request.is_some() || self.in_view.is_some()
    }
}

/// The turns of what leaves view, oldest first.
#[derive(Default)]
pub(super) struct Dialogue {
    pub turns: Vec<Turn>,
    /// A question of the model nobody has answered.
    pub question: Option<Quote>,
    /// Calls whose results may hold a person's words.
    open: HashMap<CallId, Call>,
}

/// A command of the harness that a person typed, with what they wrote behind it.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?s)<command-name>\s*(/?\S+)\s*</command-name>.*?<command-args>\s*(\S.*?)\s*</command-args>")
});

impl Dialogue {
    /// A message that leaves view.
    pub(super) fn leave(&mut self, id: EntryId, digest: &MessageDigest, secrets: &Secrets) {
        let message = digest.message();
        for call in message.calls() {
            self.open.insert(call.id.clone(), call.clone());
        }
        for (result, ending) in message.results().zip(digest.endings()) {
            let Some(call) = self.open.remove(&result.call) else { continue };
            if !ending.may_be_refused && !asks_person(&call.name) {
                continue;
            }
            let said = answer::answers(&call, result).into_iter();
            let quotes = said.map(|text| Quote { id, text: secrets.screen(&text).into_owned() });
            self.turn().answers.extend(quotes);
        }
        let said = secrets.screen(&message.said()).into_owned();
        match (message.role, message.author) {
            (Role::User, Author::Person) => self.open_turn(request(id, spoken(&said))),
            (Role::User, Author::Harness) => {
                self.open_turn(command(&said).and_then(|text| request(id, text)))
            }
            (Role::Assistant, _) => {
                let is_calling = message.calls().next().is_some();
                let told = if is_calling { before_announcement(&said) } else { &said };
                if !told.trim().is_empty() {
                    self.close(id, told.to_owned());
                }
            }
            (Role::System | Role::User | Role::Tool, _) => {}
        }
    }

    /// A message that stays in view, older than something that leaves it or not.
    pub(super) fn stay(&mut self, id: EntryId, message: &Message, is_covered: bool, secrets: &Secrets) {
        if message.author == Author::Person {
            let in_view = if is_covered {
                let text = spoken(&secrets.screen(&message.said()));
                ViewedRequest::Covered(Quote { id, text: text.trim().to_owned() })
            } else {
                ViewedRequest::Behind
            };
            self.turns.push(Turn { in_view: Some(in_view), ..Turn::default() });
            self.question = None;
        }
    }

    /// The dialogue of an earlier summary of ours, as it stood there.
    pub(super) fn recall(&mut self, lines: Vec<Quote>) {
        lines.into_iter().for_each(|line| self.recall_line(line));
        // What is read again does not write over it.
        self.turns.push(Turn::default());
    }

    fn recall_line(&mut self, line: Quote) {
        let Quote { id, text } = line;
        let turn = |rest: &str| Quote { id, text: rest.to_owned() };
        if let Some(rest) = text.strip_prefix("user: ") {
            self.turns.push(Turn { request: Some(turn(rest)), ..Turn::default() });
        } else if let Some(rest) = text.strip_prefix("user, ") {
            self.turn().answers.push(turn(rest));
        } else if let Some(rest) = text.strip_prefix("model: ") {
            let is_open = self.turns.last().is_some_and(|turn| turn.closing.is_none());
            let closing = Some(turn(rest));
            match is_open {
                true => self.turn().closing = closing,
                false => self.turns.push(Turn { closing, ..Turn::default() }),
            }
        }
    }

    /// What people asked for, oldest first.
    pub(super) fn requests(&self) -> impl DoubleEndedIterator<Item = &Quote> {
        self.turns.iter().filter_map(|turn| turn.request.as_ref())
    }

    /// The newest request up to where the summary ends that is more than a word on the way; such a word where there is nothing else.
    pub(super) fn goal(&self) -> Option<Goal<'_>> {
        let is_behind = |turn: &Turn| matches!(turn.in_view, Some(ViewedRequest::Behind));
        let is_open = !self.turns.iter().any(is_behind);
        let asked = self.turns.iter().filter_map(move |turn| match (&turn.request, &turn.in_view) {
            (Some(request), _) => Some(Goal { request, is_in_view: false, is_open }),
            (None, Some(ViewedRequest::Covered(request))) => {
                Some(Goal { request, is_in_view: true, is_open })
            }
            (None, Some(ViewedRequest::Behind) | None) => None,
        });
        let mut newest = asked.rev().peekable();
        let last = newest.peek().map(|goal| Goal { ..*goal });
        newest.find(|goal| is_request(&goal.request.text)).or(last)
    }

    fn turn(&mut self) -> &mut Turn {
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        self.turns.last_mut().expect("one was pushed")
    }

    fn open_turn(&mut self, request: Option<Quote>) {
        if request.is_some() {
            self.question = None;
        }
        let is_blank = self.turns.last().is_some_and(|turn| !turn.is_persons() && turn.closing.is_none());
        match (is_blank, request) {
            (true, request @ Some(_)) => self.turn().request = request,
            (true, None) => {}
            (false, request) => self.turns.push(Turn { request, ..Turn::default() }),
        }
    }

    fn close(&mut self, id: EntryId, said: String) {
        self.question = closing_question(&said).map(|text| Quote { id, text: text.to_owned() });
        self.turn().closing = Some(Quote { id, text: said });
    }
}

/// What was said with a call, without the sentence that only leads up to it: "Let me look at the test:".
fn before_announcement(said: &str) -> &str {
    let said = said.trim_end();
    if !said.ends_with([':', '：']) {
        return said;
    }
    let mut ends = said.char_indices().filter(|(at, char)| match char {
        '\n' | '。' | '！' | '？' => true,
        '.' | '!' | '?' => said[at + 1..].starts_with(char::is_whitespace),
        _ => false,
    });
    ends.next_back().map_or("", |(at, char)| said[..at + char.len_utf8()].trim_end())
}

/// "go on" asks for nothing new.
pub(super) fn is_request(text: &str) -> bool {
    text.split_whitespace().count() >= 4 || text.chars().filter(|c| !c.is_ascii()).count() >= 8
}

fn request(id: EntryId, text: String) -> Option<Quote> {
    (!text.trim().is_empty()).then(|| Quote { id, text: text.trim().to_owned() })
}

/// What a person said, without what a harness put beside it.
pub(super) fn spoken(said: &str) -> String {
    match command(said) {
        Some(command) => command,
        None => facts::spoken(said).into_owned(),
    }
}

/// A command with its arguments, as it was typed.
fn command(said: &str) -> Option<String> {
    let found = COMMAND.captures(said)?;
    Some(format!("{} {}", &found[1], &found[2]))
}
