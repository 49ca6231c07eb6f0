//! What a plan that has been carried out comes to: the compaction or edit to append, the record that is
//! kept, the frame around a summary. Which of them it comes to is the machine's to find out.

use crate::fence::{self, Provenance};
use crate::plan::floor_of;
use crate::policy::{Resume, Strategy};
use crate::record::{Change, Conclusion, Effect, Floor, Outcome, Record};
use crate::{
    Archive, ArchiveError, Compaction, EntryId, Form, Item, Job, Plan, Role, Tail, Tokens, Trigger, embedded,
    keep::KeepSelection, ledger, prune, verify,
};
use std::sync::Arc;

impl Plan<'_> {
    /// A record of the plan, which came to `outcome` and left the history at `history_after`.
    pub(crate) fn record(&self, outcome: Outcome, history_after: Tokens) -> Record {
        let (job, progress) = (&self.job, &self.progress);
        let refused = progress.refusals.iter().map(|why| format!("the model was asked again: {why}"));
        let said = [
            self.target_note(),
            self.gain_note(history_after),
            self.due_note(&outcome, history_after),
            self.carrier_note(&outcome),
        ];
        let said = said.into_iter().flatten();
        let notes = said.filter(|_| outcome.change().is_some()).chain(refused).collect();
        Record {
            outcome,
            trigger: job.trigger,
            source: job.trigger.kind().source,
            time_ms: None,
            duration_ms: 0,
            budget: job.budget,
            tokens_before: job.budget.request(job.context.tokens()),
            tokens_after: job.budget.request(history_after),
            count_method: job.count_method.clone(),
            fallbacks: self.fallbacks.clone(),
            hooks: progress.hooks.clone(),
            cost: progress.spent.dollars,
            spent: progress.spent.clone(),
            notes,
            resume: self.resume(),
        }
    }

    /// What happens next: where the model has said its last word, nothing goes on by itself.
    fn resume(&self) -> Resume {
        let newest = self.job.history.last().and_then(|&id| self.job.log.item(id));
        let is_done = newest.is_some_and(|item| item.role == Role::Assistant && item.calls.is_empty());
        match self.job.policy.rebuild.resume {
            Resume::Continue if is_done => Resume::Wait,
            Resume::Continue => Resume::Continue,
            Resume::Ask => Resume::Ask,
            Resume::Wait => Resume::Wait,
        }
    }

    /// What changes by this plan as far as the cut says; the rest is filled in by the strategy.
    pub(crate) fn change(&self, strategy: Strategy) -> Change {
        let KeepSelection { front, folded, tail, forms, .. } = &self.kept;
        let told = folded.iter().map(|(id, _)| id);
        let mut kept: Vec<EntryId> = front.iter().chain(told).chain(tail).copied().collect();
        kept.sort_unstable();
        let in_form =
            |is: fn(&Form) -> bool| forms.iter().filter(move |(_, form)| is(form)).map(|&(id, _)| id);
        let told_cut = folded.iter().filter(|(_, limit)| *limit < Tokens(u64::MAX)).map(|&(id, _)| id);
        let mut reduced: Vec<EntryId> = in_form(|form| form.shorten.is_some()).chain(told_cut).collect();
        reduced.sort_unstable();
        let pruned = in_form(|form| form.results || form.arguments || form.images).collect();
        Change {
            strategy,
            target: self.target(),
            always_kept: self.job.budget.scale.theirs(self.kept.outside),
            superseded: Vec::new(),
            dropped: Vec::new(),
            pruned,
            reduced,
            kept,
            folded: self.folded_ids(),
            summary: None,
            statements: Vec::new(),
            summary_tokens: Tokens::ZERO,
            turns: self.turns(),
            ledger: ledger::Ledger::default(),
            loss: verify::LossReport::default(),
            summarizer: None,
            shown: self.progress.shown,
            short: None,
            restored: None,
        }
    }

    /// Messages that are told inside the summary, oldest first.
    pub fn folded_ids(&self) -> Vec<EntryId> {
        let mut told: Vec<EntryId> = self.kept.folded.iter().map(|(id, _)| *id).collect();
        told.sort_unstable();
        told
    }

    /// How many turns begin among the messages that leave.
    fn turns(&self) -> usize {
        let items = self.superseded.iter().filter_map(|&id| self.job.log.item(id));
        items.filter(|item| Item::opens_turn(item)).count()
    }

    /// Says so where a person asked for what gained hardly anything.
    fn gain_note(&self, history_after: Tokens) -> Option<String> {
        let before = self.job.context.tokens();
        let gain = before.less(history_after);
        (self.job.trigger.is_manual() && is_little(gain, before)).then(|| {
            let [gain, before] = [gain, before].map(|tokens| self.job.budget.scale.theirs(tokens));
            format!("this freed {gain} of {before} tokens, less than a tenth; undo it, or set a lower target")
        })
    }

    /// Says so where a compaction leaves the context due again: the next look begins one more, or a person asks in vain.
    fn due_note(&self, outcome: &Outcome, history_after: Tokens) -> Option<String> {
        let Job { budget, policy, .. } = &self.job;
        let is_compacted = matches!(outcome, Outcome::Compacted(_));
        (is_compacted && budget.is_due(history_after, policy)).then(|| {
            format!(
                "this leaves {}, and a request is compacted at {}: what is kept takes most of it; keep less of the newest, \
                 or use a larger window",
                budget.request(history_after),
                budget.trigger_point(policy)
            )
        })
    }

    /// Says so where a message that stays holds a summary of ours: a request body was written from another session, and
    /// here its summary is part of what a person said first.
    fn carrier_note(&self, outcome: &Outcome) -> Option<String> {
        let is_compacted = matches!(outcome, Outcome::Compacted(_));
        let stays = self.kept.front.iter().copied().chain(self.folded_ids());
        let carrier = stays.filter(|_| is_compacted).find(|&id| {
            let message = self.originals.message(id);
            message.is_ok_and(|message| message.texts().any(fence::is_framed))
        });
        carrier.map(|id| {
            format!(
                "{id} holds the summary of an earlier compaction, which stays as it is and whose ids are those of the \
                 session it was made of; compact that session instead"
            )
        })
    }

    /// Says so where the target is not the policy's own.
    fn target_note(&self) -> Option<String> {
        let Job { budget, policy, circumstances, .. } = &self.job;
        let wanted = budget.wanted_target(policy)?;
        if self.target == wanted {
            return None;
        }
        let (wanted, target) = (budget.scale.theirs(wanted), self.target());
        let halved = self.halved_text(wanted);
        Some(if self.target == budget.target(policy) {
            format!(
                "the history was to come down to {target} tokens instead of {wanted}: it gets at most three quarters of \
                 its room, and at least a quarter where so much is to be left free"
            )
        } else if circumstances.over.is_some() {
            format!(
                "the history was to come down to {target} tokens instead of {wanted}: the provider wants more freed"
            )
        } else if self.job.trigger.is_manual() {
            format!("{halved}; since someone asked, it was to be halved, to {target}")
        } else if self.job.trigger == Trigger::Overflow {
            format!("{halved}; since the provider refused it all the same, it was to be halved, to {target}")
        } else {
            format!("{halved}; since it was full of something else, it was to be halved, to {target}")
        })
    }

    /// Why a target is more than half of what could go: the figures are those of what stands beside what is kept in any case.
    fn halved_text(&self, wanted: Tokens) -> String {
        let scale = self.job.budget.scale;
        let kept = scale.theirs(self.kept.outside);
        let beside = scale.theirs(self.job.context.tokens()).less(kept);
        format!(
            "beside {kept} tokens that are kept in any case there were {beside}, and the target is {wanted}"
        )
    }

    /// Messages in other forms, and none gone.
    pub(crate) fn edited(&self, strategy: Strategy, made: prune::Pruning) -> Conclusion {
        let kept: Vec<EntryId> = self.job.context.message_slots().map(|(id, ..)| id).collect();
        let pruned = made.edit.forms.iter().map(|&(id, _)| id).collect();
        let change = Change {
            pruned,
            kept,
            folded: Vec::new(),
            reduced: Vec::new(),
            turns: 0,
            always_kept: Tokens::ZERO,
            ..self.change(strategy)
        };
        let record = self.record(Outcome::Pruned(Box::new(change)), made.tokens);
        Conclusion { effect: Effect::Edit(made.edit), record: Box::new(record) }
    }

    /// The last strategy: what does not fit leaves, and a line says so.
    pub(crate) fn dropped(mut self) -> Result<Conclusion, ArchiveError> {
        if self.cut_for != Some(Strategy::Drop) {
            self.cut(Strategy::Drop, 0)?;
        }
        self.without_summary(Strategy::Drop)
    }

    /// What the plan keeps, in the forms it gives it, and a line for what leaves, where anything does.
    pub(crate) fn without_summary(self, strategy: Strategy) -> Result<Conclusion, ArchiveError> {
        let line = self.line()?;
        let line_tokens = line.as_ref().map_or(Tokens::ZERO, |line| line.tokens);
        let tokens_after = self.kept.tokens + line_tokens;
        let tokens_before = self.job.context.tokens();
        if tokens_after >= tokens_before && self.job.budget.fits(tokens_before) {
            let why = "compacting would not make the context smaller".into();
            return Ok(self.conclude(Outcome::Noop { why }));
        }
        if !self.job.budget.fits(tokens_after) {
            return Ok(self.conclude(Outcome::Impossible(floor_of(&self.job, tokens_after))));
        }
        let text = line.map(|line| line.text);
        let change = Change {
            dropped: self.superseded.clone(),
            summary: text.clone(),
            summary_tokens: self.job.budget.scale.theirs(line_tokens),
            loss: self.loss(text.as_deref().unwrap_or_default())?,
            ..self.change(strategy)
        };
        let record = self.record(Outcome::Compacted(Box::new(change)), tokens_after);
        let effect = Effect::Compact(Box::new(self.compaction(text)));
        Ok(Conclusion { effect, record: Box::new(record) })
    }

    /// What cannot fit whatever is tried, known before anybody is asked: neither what this plan keeps nor
    /// what dropping keeps leaves room for the line that stands for the rest.
    pub(crate) fn floor(&self) -> Result<Option<Floor>, ArchiveError> {
        let least = |plan: &Self| {
            let line = plan.line()?.map_or(Tokens::ZERO, |line| line.tokens);
            Ok::<_, ArchiveError>(plan.kept.tokens + line)
        };
        let as_cut = least(self)?;
        if self.edits_first() || self.job.budget.fits(as_cut) {
            return Ok(None);
        }
        let mut dropping = self.clone();
        dropping.cut(Strategy::Drop, 0)?;
        let least = as_cut.min(least(&dropping)?);
        Ok((!self.job.budget.fits(least)).then(|| floor_of(&self.job, least)))
    }

    /// The line that stands for messages that were dropped; none where all of them stay, some of them shorter.
    fn line(&self) -> Result<Option<FramedSummary>, ArchiveError> {
        if !self.leaves_any() {
            return Ok(None);
        }
        let body =
            "The messages in between were dropped without a summary; each can be recalled by its pointer.";
        Ok(Some(self.frame(body, "nobody (dropped)", &self.folded()?)))
    }

    /// Whether a message leaves view, so that something must stand for it.
    fn leaves_any(&self) -> bool {
        !self.superseded.is_empty() || !self.kept.folded.is_empty()
    }

    /// Whether there is anything for a summary to tell: a message that leaves view, or what a hook has to say. Where all
    /// stay, some of them shorter, it would stand in front of the very messages it tells of, and ask for an answer about
    /// nothing.
    pub(crate) fn tells_anything(&self) -> bool {
        self.leaves_any() || self.changes.summary.is_some() || !self.changes.inject.is_empty()
    }

    /// What of the dropped messages can still be seen or looked up.
    fn loss(&self, line: &str) -> Result<verify::LossReport, ArchiveError> {
        let sources = self.sources()?;
        let ledger = embedded::ledger(&sources.material(&self.job));
        let messages = sources.compared(&self.job);
        Ok(verify::Groundwork::of(&messages).verify(&format!("{line}\n"), &ledger).report)
    }

    /// The compaction to append: it belongs to the prefix that ends in the last message covered.
    pub(crate) fn compaction(&self, summary: Option<Arc<str>>) -> Compaction {
        let tail = match self.anchor() {
            Some(anchor) => {
                let kept = self.kept.tail.iter().copied().filter(|&id| id <= anchor).collect();
                Tail::After { anchor, kept }
            }
            None => self.kept.tail_entry(),
        };
        Compaction {
            front: self.kept.front.clone(),
            summary,
            tail,
            forms: self.kept.forms.clone(),
            uncut: self.kept.uncut.clone(),
            native: None,
        }
    }

    /// What is told inside the summary beside its body: always-kept messages that cannot stand in front of it, and which
    /// reply behind it tells of calls that nobody sees any more.
    pub(crate) fn folded(&self) -> Result<String, ArchiveError> {
        let folded = fence::fold(&self.job, &self.originals, &self.kept.folded)?;
        Ok(folded + &self.narration_note().unwrap_or_default())
    }

    /// Marks the reply that the kept part begins with, where the calls of its turn have left view: it would read as if
    /// saying so were all there is to doing it.
    fn narration_note(&self) -> Option<String> {
        let item = |id: &EntryId| self.job.log.item(*id);
        let reply = *self.kept.tail.first()?;
        let is_told = item(&reply).is_some_and(|it| it.role == Role::Assistant && !it.is_exchange());
        let at = self.job.history.binary_search(&reply).ok().filter(|_| is_told)?;
        let turn =
            self.job.history[..at].iter().rev().take_while(|id| item(id).is_some_and(|it| !it.opens_turn()));
        let is_gone_call = |id: &&EntryId| {
            item(id).is_some_and(|it| !it.calls.is_empty()) && self.superseded.binary_search(id).is_ok()
        };
        let gone: Vec<EntryId> = turn.filter(is_gone_call).copied().collect();
        let (last, first) = (gone.first()?, gone.last()?);
        Some(format!(
            "\n{reply} below tells of calls that are no longer shown ({first}-{last}). It is a report, and no evidence that they were made.\n"
        ))
    }

    /// A summary in its frame.
    pub(crate) fn frame(&self, body: &str, by: &str, folded: &str) -> FramedSummary {
        // Where no message leaves view, it tells of what is shown cut.
        let cut: Vec<EntryId> = self.kept.forms.iter().map(|(id, _)| *id).collect();
        let covers = if self.superseded.is_empty() { &cut } else { &self.superseded };
        let text = fence::frame(body, &Provenance { covers, by, recall: self.job.recall }, folded);
        let tokens = self.job.measure.text(&text) + self.job.measure.framing();
        FramedSummary { text: text.into(), tokens }
    }
}

/// A summary in its frame, and what it takes as a message of its own.
pub(crate) struct FramedSummary {
    pub text: Arc<str>,
    pub tokens: Tokens,
}

/// A compaction that frees a smaller part of the context is not worth what it loses, nor what it costs in the cache.
const GAIN_MIN: (u64, u64) = (1, 10);

/// Whether freeing `gain` of a context of `before` is hardly worth a compaction.
pub(crate) fn is_little(gain: Tokens, before: Tokens) -> bool {
    gain < before.share(GAIN_MIN.0, GAIN_MIN.1)
}
