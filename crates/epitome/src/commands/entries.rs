//! Entries of a stored session as lists tell of them: what kind each is, whose, how large, whether the model sees it.

use super::inspect::walk::{PathWalk, is_epitomes};
use crate::columns;
use crate::stored_session::LoadedSession;
use crate::transcript_file::TranscriptFile;
use anyhow::Result;
use epitome_core::{
    Archive as _, Author, Entry, EntryId, Form, Mark, Message, Outcome, Record, Role, Slot, TextDetail,
    Tokens,
};
use epitome_engine::{Session, is_branch_summary};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One entry of a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedEntry {
    pub id: EntryId,
    /// The parent of a message, the anchor of a mark.
    pub parent: Option<EntryId>,
    pub kind: &'static str,
    /// When it was stored, or said where the transcript records that; milliseconds since 1970.
    pub time_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// What a message takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Whether it lies on the path the session is on.
    pub on_path: bool,
    /// What became of it.
    pub standing: EntryStanding,
    /// Its first line, or what it does.
    pub text: String,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryStanding {
    /// The model sees it, or it counts.
    Live,
    /// The model sees a pointer or a part of it.
    Shortened,
    /// It is in the log and not in the context.
    Superseded,
    /// It was taken back.
    Undone,
    /// It is on another path than the one the session is on.
    Elsewhere,
}

/// Enough of a text for a list.
const TEXT_CHARS: usize = 400;

/// The entries of a session as rows; `session` is how the model sees it.
pub fn rows(stored: &LoadedSession, file: &TranscriptFile, session: &Session) -> Result<Vec<ListedEntry>> {
    let conversation = file.conversation(stored.number());
    let path: HashSet<EntryId> = session.log().path_of(session.leaf()).into_iter().collect();
    let (view, told) = (ContextView::of(session), sizes_told(file, stored.number())?);
    let since = stored.entries.len() - stored.added().len();
    let said = conversation.recorded_times();
    let mut rows = Vec::with_capacity(stored.entries.len());
    for one in &stored.entries {
        let is_message = matches!(one.entry, Entry::Message(_));
        let message = is_message.then(|| conversation.originals.message(one.id)).transpose()?;
        let mut kind = kind(&one.entry);
        let text = match &message {
            Some(message) => {
                if is_branch_summary(message) {
                    kind = "branch";
                }
                columns::cut(&message.plain_text(TextDetail::Spoken), TEXT_CHARS)
            }
            None => entry_text(&one.entry, told.get(&one.id).copied()),
        };
        let on_path = match &one.entry {
            Entry::Mark(_) => one.parent.is_none_or(|anchor| path.contains(&anchor)),
            Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => path.contains(&one.id),
        };
        rows.push(ListedEntry {
            id: one.id,
            parent: one.parent,
            kind,
            // When a file was imported says nothing of when it was said.
            time_ms: said.get(&one.id).copied().or(one.time_ms.filter(|_| one.id.index() >= since)),
            author: match &one.entry {
                Entry::Message(item) => Some(item.author),
                Entry::Recorded(_) | Entry::Note { .. } | Entry::Mark(_) => None,
            },
            tokens: is_message.then(|| conversation.sizes.total(one.id)),
            on_path,
            standing: match &message {
                _ if !on_path => EntryStanding::Elsewhere,
                Some(message) => view.message(one.id, message),
                None => view.standing(one.id, &one.entry),
            },
            text,
        });
    }
    Ok(rows)
}

/// What the request was before and after each compaction and edit on the path, as `inspect` tells it.
fn sizes_told(file: &TranscriptFile, number: usize) -> Result<HashMap<EntryId, [Tokens; 2]>> {
    let conversation = file.conversation(number);
    let assembly = file.assembly(&conversation.fixed);
    file.calibrate(number, &assembly)?;
    let path = conversation.log.path_of(conversation.leaf);
    let walk = PathWalk::along(file, number, &assembly, &conversation.sizes, &path)?;
    let compactions = walk.compactions.iter().map(|found| (found.id, found.requests()));
    Ok(compactions.chain(walk.edits.iter().copied()).collect())
}

/// What the model sees, by entry.
struct ContextView<'s> {
    session: &'s Session,
    messages: HashMap<EntryId, Form>,
    summaries: HashSet<EntryId>,
}

impl<'s> ContextView<'s> {
    fn of(session: &'s Session) -> Self {
        let (mut messages, mut summaries) = (HashMap::new(), HashSet::new());
        for slot in session.context().slots() {
            match slot {
                Slot::Message { id, form } => drop(messages.insert(*id, *form)),
                Slot::Summary { id } => drop(summaries.insert(*id)),
            }
        }
        Self { session, messages, summaries }
    }

    /// What became of a message. A form that changes nothing in it leaves it whole.
    fn message(&self, id: EntryId, message: &Arc<Message>) -> EntryStanding {
        let Some(form) = self.messages.get(&id).filter(|form| !form.left_out) else {
            return EntryStanding::Superseded;
        };
        let shown = form.apply(id, message, &**self.session.assembly().measure());
        if shown == *message { EntryStanding::Live } else { EntryStanding::Shortened }
    }

    /// What became of any other entry.
    fn standing(&self, id: EntryId, entry: &Entry) -> EntryStanding {
        match entry {
            Entry::Mark(Mark::Compaction { .. } | Mark::Edit { .. })
                if self.session.context().is_undone(id) =>
            {
                EntryStanding::Undone
            }
            Entry::Mark(Mark::Compaction { compaction, .. }) => {
                self.summary(id, compaction.summary.is_some())
            }
            Entry::Recorded(compaction) => self.summary(id, compaction.summary.is_some()),
            Entry::Message(_) | Entry::Mark(_) | Entry::Note { .. } => EntryStanding::Live,
        }
    }

    /// A compaction whose summary is out of view was followed by another.
    fn summary(&self, id: EntryId, has_summary: bool) -> EntryStanding {
        if has_summary && !self.summaries.contains(&id) {
            EntryStanding::Superseded
        } else {
            EntryStanding::Live
        }
    }
}

/// What kind of entry it is, in a word.
pub fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Message(item) => match item.role {
            Role::User => "user",
            Role::Assistant => "reply",
            Role::Tool => "result",
            Role::System => "instruction",
        },
        Entry::Recorded(_) => "recorded",
        Entry::Note { .. } => "note",
        Entry::Mark(mark) => mark_kind(mark),
    }
}

fn mark_kind(mark: &Mark) -> &'static str {
    match mark {
        Mark::Compaction { .. } => "compaction",
        Mark::Edit { .. } => "edit",
        Mark::Apply { .. } => "apply",
        Mark::Undo { .. } => "undo",
        Mark::Redo { .. } => "redo",
        Mark::Pin { .. } => "pin",
        Mark::Unpin { .. } => "unpin",
        Mark::Label { .. } => "label",
        Mark::Judgement { .. } => "judgement",
        Mark::Usage(_) => "usage",
        Mark::Failure => "failure",
        Mark::Floor { .. } => "floor",
        Mark::Refill => "refill",
        Mark::Hold { .. } => "hold",
        Mark::Reset => "reset",
        Mark::Request { .. } => "request",
        Mark::Observation { .. } => "observation",
    }
}

/// What an entry that is no message says, in a line; `told` is the request before and after it, where its own record has no
/// figures.
pub fn entry_text(entry: &Entry, told: Option<[Tokens; 2]>) -> String {
    match entry {
        Entry::Message(_) => String::new(),
        Entry::Recorded(compaction) => {
            let who = if is_epitomes(compaction) { "epitome" } else { "the session's own tool" };
            let sizes = told.map(|[before, after]| format!(", {before} → {after} tokens"));
            format!("{who} compacted here{}", sizes.unwrap_or_default())
        }
        Entry::Note { kind } => columns::cut(kind, TEXT_CHARS),
        Entry::Mark(mark) => mark_text(mark, told),
    }
}

fn mark_text(mark: &Mark, told: Option<[Tokens; 2]>) -> String {
    match mark {
        Mark::Compaction { record, .. } => pass_text(record),
        Mark::Edit { edit, record } => {
            // One that a file's own tool made has a record without figures.
            let sizes = match told.filter(|_| record.tokens_before.is_zero()) {
                Some([before, after]) => format!("{before} → {after} tokens"),
                None => pass_text(record),
            };
            format!("{sizes}; {}", crate::draw::counted(edit.forms.len(), "message"))
        }
        Mark::Apply { of }
        | Mark::Undo { of }
        | Mark::Redo { of }
        | Mark::Pin { of }
        | Mark::Unpin { of } => of.to_string(),
        Mark::Label { text } => columns::cut(text, TEXT_CHARS),
        Mark::Judgement { of, judgement } => {
            let flag = match judgement.flag {
                epitome_core::Flag::Good => "good",
                epitome_core::Flag::Bad => "bad",
                epitome_core::Flag::Neutral => "neutral",
            };
            columns::cut(format!("{of} is {flag}: {}", judgement.notes).trim_end_matches(": "), TEXT_CHARS)
        }
        Mark::Usage(usage) if usage.is_estimated => {
            format!("{} tokens by our own count; the provider said nothing", usage.tokens)
        }
        Mark::Usage(usage) => format!("{} tokens by the provider's count", usage.tokens),
        Mark::Failure => "a compaction was tried in vain".to_owned(),
        Mark::Floor { tokens } => format!("{tokens} tokens cannot be reduced"),
        Mark::Refill => "full again right after a compaction".to_owned(),
        Mark::Hold { why } => columns::cut(why, TEXT_CHARS),
        Mark::Reset => "automatic compaction may run again".to_owned(),
        Mark::Request { is_open: true } => "a compaction is wanted at the end of the turn".to_owned(),
        Mark::Request { is_open: false } => "no compaction is wanted any more".to_owned(),
        Mark::Observation { record, .. } => format!("not done, only observed: {}", pass_text(record)),
    }
}

fn pass_text(record: &Record) -> String {
    let what = match &record.outcome {
        Outcome::Compacted(change) | Outcome::Pruned(change) => format!("{}, ", change.strategy),
        Outcome::Applied { .. }
        | Outcome::Noop { .. }
        | Outcome::Recorded
        | Outcome::Vetoed { .. }
        | Outcome::Abandoned { .. }
        | Outcome::Impossible(_) => String::new(),
    };
    format!("{what}{} → {} tokens", record.tokens_before, record.tokens_after)
}

/// A time as people read it, in UTC; a dash where nobody looked at a calendar.
pub fn time_text(time_ms: Option<u64>) -> String {
    let time = time_ms.and_then(|time| jiff::Timestamp::from_millisecond(i64::try_from(time).ok()?).ok());
    time.map_or_else(|| "–".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
