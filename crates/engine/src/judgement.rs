//! What people think of a compaction: kept in the log beside it, the newest word counts.

use crate::event::Event;
use crate::session::{EngineError, Session};
use epitome_core::{Entry, EntryId};
use serde::{Deserialize, Serialize};

/// What a person thinks of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// In a word.
    pub flag: Flag,
    /// In their own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// A compaction, judged in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flag {
    /// It kept what matters.
    Good,
    /// It did not.
    Bad,
    /// Neither.
    #[default]
    Neutral,
}

/// Opens the note that holds a judgement; followed by the compaction's number and the judgement as JSON.
const JUDGED: &str = "epitome.judged ";

impl Session {
    /// Keeps what a person thinks of the compaction `of`, in place of what was thought before.
    pub fn judge(&mut self, of: EntryId, judgement: Judgement) -> Result<(), EngineError> {
        if !matches!(self.log().get(of), Some(Entry::Compaction(_))) {
            return Err(EngineError::NoEntry(of));
        }
        let told = serde_json::to_string(&judgement).expect("a judgement is words, which JSON can say");
        self.append(Entry::Note { kind: format!("{JUDGED}{} {told}", of.0).into() })?;
        self.state.events.push(Event::Flagged { of, judgement });
        Ok(())
    }

    /// What a person thinks of the compaction `of`, where one said so on this branch.
    pub fn judgement(&self, of: EntryId) -> Option<Judgement> {
        let opening = format!("{JUDGED}{} ", of.0);
        let branch = self.log().branch(self.leaf()?);
        branch.into_iter().rev().find_map(|id| match self.log().get(id)? {
            Entry::Note { kind } => serde_json::from_str(kind.strip_prefix(&opening)?).ok(),
            Entry::Message(_) | Entry::Compaction(_) | Entry::Edit(_) | Entry::Undo { .. } => None,
        })
    }
}
