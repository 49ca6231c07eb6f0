//! The words of a summary call: what the model is shown of the messages, and what it is told to do.

use super::compose::{Prose, todos};
use super::model_question::ModelQuestion;
use super::parts::MaterialPart;
use crate::policy::{Input, Oversize, Parts, Previous, SummaryRule};
use crate::request::{Purpose, SummaryInput, SummaryRequest};
use crate::transcript::{TranscriptWriter, opened};
use crate::{ArchiveError, Job, Strategy, Summarizer, Tokens, fence};

/// The part of a summariser's window that its input may take: its count and ours differ.
const INPUT_SHARE: (u64, u64) = (8, 10);
/// Prompt, frame and focus around the messages.
const INPUT_MARGIN: Tokens = Tokens(2_000);
/// However small the window, a part gets this share of it.
const INPUT_SHARE_MIN: (u64, u64) = (1, 8);
/// An answer's limit where the policy sets none: as long as a summary ever needs to be.
const OUTPUT_MAX: Tokens = Tokens(8_192);
/// Such an answer takes at most this part of a small window: the rest is for what it is made from.
const OUTPUT_SHARE: (u64, u64) = (1, 4);
/// A model's prose is asked for within this: what a machine cannot write of a long session takes about a thousand tokens,
/// and half as much again is left for models that count otherwise.
const PROSE_MAX: Tokens = Tokens(1_500);
/// Of a small summary it takes at most this part, so that the machine's own has room.
const PROSE_SHARE: (u64, u64) = (1, 2);
/// Prose of so many words for each token of the limit stays well below it.
const PROSE_WORDS: (u64, u64) = (2, 5);
/// Of the room for a summary, so much is for facts that the machine copies.
const FACTS_SHARE: (u64, u64) = (1, 3);

impl<'a> ModelQuestion<'a> {
    /// The call for a part, and how many of its messages were cut for it.
    pub(super) fn request(&self, part: &MaterialPart) -> Result<(SummaryRequest, usize), ArchiveError> {
        let instruction = self.instruction(part);
        let (body, cut) = match (part.purpose, self.job().policy.summary.input) {
            (Purpose::Short, _) => {
                let so_far = Prose { history: self.history.as_deref(), prefix: self.prefix.as_deref() };
                let text = format!("<summary>\n{}\n</summary>\n\n{instruction}", so_far.joined());
                (SummaryInput::Text(text.into()), 0)
            }
            (Purpose::Native, _) | (_, Input::Prefix) if self.may_extend() => {
                (self.prefix_body(&instruction)?, 0)
            }
            (_, Input::Text | Input::Prefix) => self.text_body(part, &instruction)?,
            (_, Input::Cheaper) => self.cheaper_body(part, &instruction)?,
            (_, Input::Messages) => self.messages_body(part, &instruction)?,
        };
        let attempt = self.ask.plan.progress.requests;
        let system = match body {
            SummaryInput::Prefix { .. } => "".into(),
            SummaryInput::Text(_) | SummaryInput::Messages { .. } => {
                self.job().available.prompts.system.clone()
            }
        };
        let output_max = self.output_max(part.purpose);
        Ok((SummaryRequest { purpose: part.purpose, system, body, output_max, attempt }, cut))
    }

    pub(super) fn is_warm(&self) -> bool {
        self.job().available.summarizer.is_some_and(|summarizer| summarizer.is_warm)
            || self.strategy == Strategy::Native
    }

    /// Whether the session's own last request can be gone on with.
    fn may_extend(&self) -> bool {
        self.is_warm() && self.retry.drops == 0
    }

    fn prefix_body(&self, instruction: &str) -> Result<SummaryInput, ArchiveError> {
        let shown = self.job().context.shown(self.ask.plan.reader())?;
        let messages = shown.into_iter().map(|shown| shown.message).collect();
        Ok(SummaryInput::Prefix { messages, instruction: instruction.into() })
    }

    /// The session's own last request where reading it from the cache costs less than the text anew.
    fn cheaper_body(
        &self,
        part: &MaterialPart,
        instruction: &str,
    ) -> Result<(SummaryInput, usize), ArchiveError> {
        let (text, cut) = self.text_body(part, instruction)?;
        let job = self.job();
        let cached_percent = job.available.summarizer.map_or(100, |summarizer| summarizer.cached_percent);
        let cached = job.budget.request(job.context.tokens()).share(u64::from(cached_percent), 100);
        // Parts are there because the whole does not fit the summariser.
        let is_whole = part.purpose == Purpose::History;
        if is_whole && self.may_extend() && cached < text.tokens(job.measure) {
            return Ok((self.prefix_body(instruction)?, 0));
        }
        Ok((text, cut))
    }

    /// What the model is told to do with the part.
    pub(super) fn instruction(&self, part: &MaterialPart) -> String {
        let job = self.job();
        let mut text = self.prompt(part.purpose).to_owned();
        if let Some(focus) = job.focus {
            text.push_str(&format!("\n\nAdditional focus: {focus}"));
        }
        for guidance in &self.ask.plan.changes.guidance {
            text.push_str(&format!("\n\nAlso mind: {guidance}"));
        }
        let is_whole = self.parts() == Parts::All;
        if !is_whole && part.purpose != Purpose::Short {
            let words = self.output_max(part.purpose).share(PROSE_WORDS.0, PROSE_WORDS.1);
            text.push_str(&format!("\n\nUse at most {words} words."));
        }
        if is_whole && job.policy.rebuild.todos && self.is_last_of_history(part.purpose) {
            text.push_str(&(self.harmless)(&todos(&self.ledger)));
        }
        if let Some(complaint) = &self.retry.complaint {
            text.push_str(&format!(
                "\n\nThe last try was of no use: {}. Answer with the summary alone, as text.",
                complaint.told()
            ));
        }
        text
    }

    /// The prompt that is the beginning of what it is told.
    pub(super) fn prompt(&self, purpose: Purpose) -> &'a str {
        let prompts = self.job().available.prompts;
        let is_update = self.carried(purpose).is_some();
        let (first, update) = match self.parts() {
            Parts::All => (&prompts.first, &prompts.update),
            Parts::Prose => (&prompts.prose, &prompts.prose_update),
        };
        match purpose {
            Purpose::TurnPrefix => &prompts.prefix,
            Purpose::Branch => &prompts.branch,
            Purpose::Short => "Say in one or two sentences what this session is about and where it stands.",
            Purpose::History | Purpose::Part { .. } | Purpose::Native if is_update => update,
            Purpose::History | Purpose::Part { .. } | Purpose::Native => first,
        }
    }

    pub(super) fn is_last_of_history(&self, purpose: Purpose) -> bool {
        match purpose {
            Purpose::History => true,
            Purpose::Part { number, of } => number == of,
            Purpose::TurnPrefix | Purpose::Branch | Purpose::Short | Purpose::Native => false,
        }
    }

    /// The summary that a part builds on.
    pub(super) fn carried(&self, purpose: Purpose) -> Option<String> {
        match purpose {
            Purpose::History | Purpose::Part { .. } => {
                let previous =
                    || self.previous().filter(|_| self.job().policy.summary.previous == Previous::Update);
                self.history.clone().or_else(previous)
            }
            Purpose::TurnPrefix | Purpose::Branch | Purpose::Short | Purpose::Native => None,
        }
    }

    /// The summary in view, without its frame; where prose is asked for, its prose alone, since what the machine wrote
    /// is written anew.
    pub(super) fn previous(&self) -> Option<String> {
        let (_, text) = self.job().context.summary(self.job().log)?;
        let prose = fence::prose(text).filter(|_| self.parts() == Parts::Prose);
        Some(prose.unwrap_or_else(|| fence::body(text)).to_owned())
    }

    fn text_body(
        &self,
        part: &MaterialPart,
        instruction: &str,
    ) -> Result<(SummaryInput, usize), ArchiveError> {
        let script = self.writer(|writer| writer.text(&part.ids))?;
        let mut text = format!("<conversation>\n{}\n</conversation>", script.made);
        let as_message = || {
            let is_first = self.history.is_none() && part.purpose != Purpose::TurnPrefix;
            self.previous().filter(|_| is_first && self.job().policy.summary.previous == Previous::Message)
        };
        if let Some(previous) = self.carried(part.purpose).or_else(as_message) {
            text.push_str(&format!("\n\n{}", self.enclosed(&previous)));
        }
        text.push_str(&format!("\n\n{instruction}"));
        Ok((SummaryInput::Text(text.into()), script.cut))
    }

    fn messages_body(
        &self,
        part: &MaterialPart,
        instruction: &str,
    ) -> Result<(SummaryInput, usize), ArchiveError> {
        let script = self.writer(|writer| writer.messages(&part.ids))?;
        let mut messages = script.made;
        let carried = self.history.clone().or_else(|| self.previous());
        if let Some(previous) = carried.filter(|_| part.purpose != Purpose::TurnPrefix) {
            let text = self.enclosed(&previous);
            let first = crate::Message::text(crate::Role::User, crate::Author::Harness, text);
            messages.insert(0, first.into());
        }
        Ok((SummaryInput::Messages { messages, instruction: instruction.into() }, script.cut))
    }

    /// A summary to build on, in its frame. Who wrote it may have screened nothing.
    fn enclosed(&self, previous: &str) -> String {
        let text = opened(&(self.harmless)(previous));
        format!("<previous-summary>\n{text}\n</previous-summary>")
    }

    pub(super) fn writer<T>(
        &self,
        write: impl FnOnce(&TranscriptWriter<'_, 'a>) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let rule: &SummaryRule = &self.job().policy.summary;
        let shrunk = self.retry.shrinks.checked_sub(1).map(|at| rule.shrink_results[at]);
        write(&TranscriptWriter {
            job: self.job(),
            originals: &self.ask.plan.originals,
            rule,
            result_chars_max: shrunk.or(rule.result_chars_max),
            message_max: self.retry.message_max.or_else(|| self.message_max()),
            harmless: &*self.harmless,
        })
    }

    /// Where parts must fit a window, one message may not be larger than it.
    pub(super) fn message_max(&self) -> Option<Tokens> {
        (self.job().policy.summary.oversize == Oversize::Fold).then(|| input_room(self.job()))
    }

    pub(super) fn output_max(&self, purpose: Purpose) -> Tokens {
        let rule = &self.job().policy.summary;
        let wanted = match purpose {
            Purpose::TurnPrefix => rule.prefix_output_max.or(rule.output_max),
            Purpose::Short => rule.short_max,
            Purpose::History | Purpose::Part { .. } | Purpose::Branch | Purpose::Native => rule.output_max,
        };
        let summarizer = self.job().available.summarizer;
        let unset = summarizer.map_or(OUTPUT_MAX, |summarizer| output_unset(&summarizer));
        let limit = match (self.parts(), purpose) {
            (Parts::All, _) | (Parts::Prose, Purpose::Short) => {
                wanted.unwrap_or_else(|| unset.min(self.ask.model_budget().less(self.facts_room())))
            }
            (Parts::Prose, _) => {
                let room = self.ask.budget().share(PROSE_SHARE.0, PROSE_SHARE.1);
                wanted.unwrap_or(unset.min(PROSE_MAX)).min(room)
            }
        };
        summarizer.map_or(limit, |summarizer| limit.min(summarizer.output_max))
    }

    pub(super) fn facts_room(&self) -> Tokens {
        if !self.job().policy.rebuild.facts {
            return Tokens::ZERO;
        }
        self.ask.model_budget().share(FACTS_SHARE.0, FACTS_SHARE.1)
    }
}

/// What the messages of one request may take in the summariser's window.
pub(super) fn input_room(job: &Job<'_>) -> Tokens {
    let Some(summarizer) = job.available.summarizer else { return Tokens(u64::MAX) };
    let unset = || match job.policy.summary.parts {
        Parts::All => output_unset(&summarizer),
        Parts::Prose => output_unset(&summarizer).min(PROSE_MAX),
    };
    let output = job.policy.summary.output_max.unwrap_or_else(unset);
    let output = output.min(summarizer.output_max);
    let room = summarizer.window.share(INPUT_SHARE.0, INPUT_SHARE.1).less(output + INPUT_MARGIN);
    room.max(summarizer.window.share(INPUT_SHARE_MIN.0, INPUT_SHARE_MIN.1))
}

/// An answer's limit where the policy sets none.
fn output_unset(summarizer: &Summarizer<'_>) -> Tokens {
    OUTPUT_MAX.min(summarizer.window.share(OUTPUT_SHARE.0, OUTPUT_SHARE.1))
}
