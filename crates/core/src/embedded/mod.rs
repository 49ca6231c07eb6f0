//! The embedded summariser: needs no model, gives the same text for the same material, fits any budget.
//!
//! Facts are copied, not rephrased. What the person demanded and what is still to do comes first;
//! then what the ledger knows; the rest of the budget buys the lines most likely to be needed again.

mod action;
mod answer;
mod carried;
mod code;
mod common_words;
mod concept;
mod cover;
mod dialogue;
mod escape;
mod excerpt;
mod file_note;
mod files;
mod gloss;
mod gloss_lines;
mod line_piece;
mod lines_by_word;
mod link;
mod material_message;
mod names;
mod opening;
mod own;
mod page;
mod piece_filter;
mod quoted_line;
mod reading;
mod select;
mod stated_rule;
mod statement;
mod table;
mod weight;
mod write;
mod written;

use crate::facts::Secrets;
use crate::ledger::Ledger;
use crate::statement_source::SourcedText;
use crate::{EntryId, Material, Original, Tokens};
pub(crate) use action::main_argument;
pub use answer::AnswerIndex;
pub(crate) use answer::may_be_refused;
pub(crate) use code::is_mute;
pub(crate) use concept::{WordPairs, word_pairs};
use escape::Escape;
pub(crate) use opening::opening_of;
use page::SummaryPage;
pub(crate) use quoted_line::{LineTraits, line_traits};
use reading::Reading;
use select::LineChoices;
pub(crate) use stated_rule::{StatedRule, rules_in};
pub(crate) use statement::{StatedSentence, sentences_in};
use write::RequestLines;
pub(crate) use written::{WrittenNote, file_written, notes_in, purpose};

/// A summary without its fence, and what it was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddedSummary {
    /// The text, in sections; empty where there is nothing to say or no room to say it.
    pub text: String,
    /// Files, commands and todos of the whole history.
    pub ledger: Ledger,
    /// What had to be left out that a reader should know of.
    pub notes: Vec<String>,
    /// Its statements, in their order, with the entries they were made from.
    pub statements: Vec<SourcedText>,
}

/// Summarises what leaves view, within `budget` by the material's own measure.
pub fn summarize(material: &Material<'_>, budget: Tokens) -> EmbeddedSummary {
    summarize_beside(material, "", budget)
}

/// The same for a summary whose prose somebody else wrote: what `prose` names need not be bought again.
pub fn summarize_beside(material: &Material<'_>, prose: &str, budget: Tokens) -> EmbeddedSummary {
    let mut reading = Reading::of(material);
    let secrets: Secrets = std::mem::take(&mut reading.secrets);
    let escape = Escape { pointers: material.addressable, secrets: &secrets };
    let mut page = SummaryPage::new(material.measure, escape, budget);
    let requests = RequestLines::of(&page, &reading);
    let notes = write::fixed_parts(&mut page, &reading, &requests, (budget, material.measure.text(prose)));
    let choices = LineChoices::of(&reading, material.focus);
    select::fill(&mut page, &reading, choices, prose);
    write::second_helping(&mut page, &reading, &requests);
    let (text, statements) = page.finish();
    EmbeddedSummary { text, ledger: reading.ledger, notes, statements }
}

/// Only what must be copied word for word: rules, todos, the ends of what was asked, files, decisions.
/// For a summary whose prose somebody else wrote.
pub fn facts_page(material: &Material<'_>, budget: Tokens) -> EmbeddedSummary {
    let mut reading = Reading::of(material);
    let secrets: Secrets = std::mem::take(&mut reading.secrets);
    let escape = Escape { pointers: material.addressable, secrets: &secrets };
    let mut page = SummaryPage::new(material.measure, escape, budget);
    let requests = RequestLines::of(&page, &reading);
    let notes = write::fixed_parts(&mut page, &reading, &requests, (budget, Tokens::ZERO));
    let (text, statements) = page.finish();
    EmbeddedSummary { text, ledger: reading.ledger, notes, statements }
}

/// Files, commands and todos of the whole history.
pub fn ledger(material: &Material<'_>) -> Ledger {
    let mut ledger = material.earlier.cloned().unwrap_or_default();
    let mut all: Vec<&Original> = material.superseded.iter().chain(material.visible).collect();
    // Of what is shown cut the original comes first, and counts.
    all.sort_by_key(|(id, _)| *id);
    all.dedup_by_key(|(id, _)| *id);
    all.into_iter().for_each(|(id, message)| ledger.update(*id, message));
    ledger
}

/// Makes a text of the material fit to be shown: secrets screened out, look-alike fences opened,
/// pointers to nowhere broken.
pub(crate) fn harmless(material: &Material<'_>) -> impl Fn(&str) -> String + use<> {
    let mut secrets = Secrets::default();
    for text in material.previous {
        material.digests.secrets_of(text).iter().for_each(|secret| secrets.remember(secret));
    }
    for original in material.superseded {
        let digest = material.digests.digest(original);
        // Nothing is quoted from what is carried, and yet a summariser may be handed it as it is.
        digest.secrets().iter().chain(digest.carried_secrets()).for_each(|secret| secrets.remember(secret));
    }
    let pointers: Vec<EntryId> = material.addressable.to_vec();
    move |text: &str| Escape { pointers: &pointers, secrets: &secrets }.apply(text)
}

#[cfg(test)]
mod tests;
