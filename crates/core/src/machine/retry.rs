//! The retries of a summary call, each different from the one before: shorter results, smaller
//! parts, fewer messages, the oldest exchanges left out, or giving the strategy up. Every one uses
//! something up, so they end.

use super::complaint::Complaint;
use super::model_question::ModelQuestion;
use super::parts::{self, MaterialPart};
use super::{EmbeddedQuestion, Next};
use crate::policy::{Newest, Oversize, Writer};
use crate::record::{Conclusion, Outcome};
use crate::request::Failure;
use crate::{ArchiveError, EntryId, Job, Strategy, Tokens};
use std::collections::VecDeque;

/// Where nobody says by how much a request is too long, this part of it is left out.
const UNKNOWN_GAP_SHARE: (u64, u64) = (1, 5);

impl<'a> ModelQuestion<'a> {
    /// The request was too long for the model.
    pub(super) fn shorten(mut self, over: Option<Tokens>) -> Result<Next<'a>, ArchiveError> {
        match self.job().policy.summary.oversize {
            Oversize::Fold => self.halve(),
            Oversize::DropOldest(most) if self.retry.drops < most => {
                self.retry.drops += 1;
                self.drop_oldest(over);
                self.retry.complaint = Some(Complaint::Answer("it was too long".into()));
                self.ask_next()
            }
            Oversize::DropOldest(_) => self.give_up(Failure::TooLong { over }.to_string()),
            Oversize::Send | Oversize::Fail => {
                self.vary(Complaint::NoAnswer(Failure::TooLong { over }.to_string()))
            }
        }
    }

    fn halve(mut self) -> Result<Next<'a>, ArchiveError> {
        let Some(part) = self.todo.pop_front() else { return self.ask_next() };
        match parts::halves(&self.ask.plan, &part) {
            Some(halves) => halves.into_iter().rev().for_each(|half| self.todo.push_front(half)),
            None => {
                let now = self.retry.message_max.unwrap_or_else(|| self.size_of(&part.ids));
                self.retry.message_max = Some(now.share(1, 2));
                self.todo.push_front(part);
            }
        }
        self.retry.complaint = Some(Complaint::Answer("it was too long".into()));
        self.ask_next()
    }

    fn drop_oldest(&mut self, over: Option<Tokens>) {
        let Some(part) = self.todo.pop_front() else { return };
        let all = self.size_of(&part.ids);
        let most = all.less(over.unwrap_or_else(|| all.share(UNKNOWN_GAP_SHARE.0, UNKNOWN_GAP_SHARE.1)));
        let mut units: VecDeque<Vec<EntryId>> = parts::exchanges(&self.ask.plan, &part.ids).into();
        let mut left = all;
        while left > most && units.len() > 1 {
            let Some(oldest) = units.pop_front() else { break };
            left = left.less(self.size_of(&oldest));
        }
        let ids = units.into_iter().flatten().collect();
        self.todo.push_front(MaterialPart { ids, ..part });
    }

    /// Tries once more, differently: with a word on what was wrong, with shorter results, with fewer
    /// messages kept. After that the next strategy.
    pub(super) fn vary(mut self, complaint: Complaint) -> Result<Next<'a>, ArchiveError> {
        let rule = &self.job().policy.summary;
        let why = complaint.why().to_owned();
        self.retry.complaint = Some(complaint);
        if self.retry.tries < rule.retries {
            self.retry.tries += 1;
        } else if self.retry.shrinks < rule.shrink_results.len() {
            self.retry.shrinks += 1;
        } else if rule.shrink_keep && self.retry.fewer < keep_count(self.job()) {
            self.retry.fewer += 1;
            let (mut plan, strategy, retry) = (self.ask.plan, self.strategy, self.retry);
            plan.cut(strategy, retry.fewer)?;
            return Self::start(plan, strategy, retry);
        } else {
            return self.give_up(why);
        }
        if self.todo.is_empty() {
            // Every answer was good and the whole was not: from the beginning.
            let (plan, strategy, retry) = (self.ask.plan, self.strategy, self.retry);
            return Self::start(plan, strategy, retry);
        }
        self.ask_next()
    }

    /// Takes down why the model is asked again, each reason once: one that fails alike ten times is no news.
    pub(super) fn note_refusal(&mut self) {
        let refusals = &mut self.ask.plan.progress.refusals;
        let why = self.retry.complaint.as_ref().map(|complaint| complaint.why().to_owned());
        refusals.extend(why.filter(|why| !refusals.contains(why)));
    }

    pub(super) fn give_up(self, why: String) -> Result<Next<'a>, ArchiveError> {
        let mut plan = self.ask.plan;
        plan.give_up(self.strategy, why);
        if self.strategy == Strategy::Summarize && plan.job.policy.summary.else_embedded {
            plan.cut(Strategy::Summarize, 0)?;
            return Ok(Next::Summarize(Box::new(EmbeddedQuestion::new(plan)?)));
        }
        plan.try_next()
    }

    /// Nobody can be asked, however it is put. A person who named the model learns that and keeps what they have; a
    /// session that goes on by itself takes the next strategy.
    pub(super) fn despair(self, why: String) -> Result<Next<'a>, ArchiveError> {
        let Job { trigger, policy, .. } = self.job();
        if trigger.is_manual() && matches!(policy.summary.by, Writer::Alias(_)) {
            return Ok(Next::Done(self.ask.plan.conclude(Outcome::Abandoned { why })));
        }
        self.give_up(why)
    }

    /// Someone asked to stop: nothing is changed, and nothing else is tried.
    pub(super) fn stopped(self) -> Conclusion {
        self.ask.plan.conclude(Outcome::Abandoned { why: "it was cancelled; nothing was changed".into() })
    }
}

/// A rule in tokens is halved at each step: after this many an eighth is left, and less keeps next to nothing.
const TOKEN_STEPS_MAX: u32 = 3;

/// How often the kept part can be made smaller.
fn keep_count(job: &Job<'_>) -> u32 {
    let count = match job.policy.keep.newest {
        Newest::Messages(count) | Newest::Turns(count) => count,
        Newest::TokensAtLeast(_) | Newest::TokensReached(_) | Newest::TokensAtMost(_) => TOKEN_STEPS_MAX,
        Newest::Percent(_) | Newest::Nothing => 0,
    };
    job.policy.summary.shrink_keep_max.map_or(count, |most| most.min(count))
}
