//! Conversations of one file compacted by hand, one after the other: planned, carried out by the engine, and handed
//! over to be written.

use super::summary_page::seen_first;
use super::target::{CompactedConversation, Target};
use super::{PricedPlan, RequestSizes};
use crate::cli::CompactArgs;
use crate::commands::FileCommand;
use crate::commands::inspect::walk::PathWalk;
use crate::restorer::Project;
use crate::session_ports::SessionPorts;
use crate::shell_word::shell_word;
use crate::terminal_operator::TerminalOperator;
use crate::transcript_file::{OpenConversation, TranscriptFile};
use anyhow::{Context as _, Result, bail};
use epitome_core::{Archive as _, EntryId, Outcome, Policy, Range, Record, Strategy, Tokens, Trigger, fence};
use epitome_engine::store::EventPosition;
use epitome_engine::{
    AppendedEntry, AskScope, CompactOptions, Event, Restorer, Session, SessionOptions, Step,
};
use epitome_settings::ResolvedPolicy;
use indicatif::ProgressBar;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// What is worked on, and with what.
pub(super) struct CompactRun<'a> {
    args: &'a CompactArgs,
    command: &'a FileCommand,
    file: &'a TranscriptFile,
    out: Option<&'a Path>,
    target: Target,
    pub ports: SessionPorts,
    policy: Arc<Policy>,
    bar: &'a ProgressBar,
}

/// One conversation after its compaction, with what a person is told beside the record.
pub(super) struct CompactedRun {
    pub one: CompactedConversation,
    /// What was planned; in a dry run.
    pub plan: Option<PricedPlan>,
    pub view: ViewReport,
}

/// What became of the context.
pub(super) struct ViewReport {
    pub sizes: RequestSizes,
    /// What its agent adds to it that the file does not record, where that is known.
    pub unrecorded: Option<Tokens>,
    /// How many messages left it.
    pub left: usize,
    pub seen_first: String,
}

impl<'a> CompactRun<'a> {
    pub(super) fn new(
        args: &'a CompactArgs,
        command: &'a FileCommand,
        file: &'a TranscriptFile,
        out: Option<&'a Path>,
        target: Target,
        resolved: &ResolvedPolicy,
        bar: &'a ProgressBar,
    ) -> Result<Self> {
        let mut ports = command.ports.ports(resolved)?;
        ports.ports.restorer = restorer(&resolved.policy, args, file)?;
        let policy = by_hand(&resolved.policy)?;
        Ok(Self { args, command, file, out, target, ports, policy, bar })
    }

    /// Compacts conversation `number`; in a dry run with nobody asked and nothing kept.
    pub(super) fn run(&self, number: usize) -> Result<CompactedRun> {
        let unrecorded = self.unrecorded(number)?;
        let mut open = self.open(number, unrecorded)?;
        self.command.waiting.to_the_end(self.pin(&open))?;
        let before = self.look(&open)?;
        self.check_ends(&before)?;
        let mut done = None;
        let (record, plan) = if self.args.dry_run {
            (self.preview(&open)?, self.plan(&open)?)
        } else {
            self.ask_at_terminal(&mut open)?;
            let step = self.compact(&open)?;
            let record = step.record.clone().context("a compaction leaves a record")?;
            done = Some(step);
            (record, None)
        };
        if let Outcome::Impossible(_) | Outcome::Abandoned { .. } = record.outcome {
            bail!("{}", record.outcome.why().unwrap_or_default());
        }
        let session = self.look(&open)?;
        let (appended, events) = self.effects(&open, done)?;
        let view = ViewReport { unrecorded, ..self.view(number, &before, &session, &record)? };
        Ok(CompactedRun {
            one: CompactedConversation { number, record, appended, events, session },
            plan,
            view,
        })
    }

    /// What was appended, and what happened: in a file all of it since it was read, in a store what this compaction did.
    fn effects(
        &self,
        open: &OpenConversation,
        done: Option<Step>,
    ) -> Result<(Vec<AppendedEntry>, Vec<Event>)> {
        let Some(store) = &open.store else {
            self.command.waiting.to_the_end(async {
                open.engine.close(open.opening.session).await;
                Ok(())
            })?;
            return Ok(done.map(|step| (step.appended, step.events)).unwrap_or_default());
        };
        let events = async { Ok(open.engine.events(EventPosition::default()).await?) };
        let events = self.command.waiting.to_the_end(events)?;
        Ok((store.appended(), events.into_iter().map(|stored| stored.event).collect()))
    }

    /// What a person is told of the context before and after.
    fn view(&self, number: usize, before: &Session, after: &Session, record: &Record) -> Result<ViewReport> {
        let count = self.file.model_count(number, &self.file.conversation(number).fixed, None)?;
        // A preset that counts as the model does has these figures already, from the same tables.
        let is_same = record.count_method.to_string() == count.method();
        let tokens_before = if is_same { record.tokens_before } else { count.context(before)? };
        let tokens_after = if is_same {
            record.tokens_after
        } else if self.args.dry_run {
            // Nothing was kept that could be counted.
            tokens_before.share(record.tokens_after.0, record.tokens_before.0.max(1))
        } else {
            count.context(after)?
        };
        let gone: HashSet<EntryId> = record
            .change()
            .into_iter()
            .flat_map(|change| change.superseded.iter().chain(&change.dropped))
            .copied()
            .collect();
        let left = before.context().message_slots().filter(|(id, ..)| gone.contains(id)).count();
        let text = |id| before.archive().message(id).ok().map(|message| message.said());
        let seen_first = record.change().map_or_else(String::new, |change| seen_first(change, text));
        let sizes = RequestSizes { tokens_before, tokens_after, count_method: count.method() };
        Ok(ViewReport { sizes, unrecorded: None, left, seen_first })
    }

    /// What calls hold beside what the file does, as `inspect` finds it.
    fn unrecorded(&self, number: usize) -> Result<Option<Tokens>> {
        let conversation = self.file.conversation(number);
        // In the model's own tokens: how a preset counts changes nothing about what an agent adds.
        let count = self.file.model_count(number, &conversation.fixed, None)?;
        let path = conversation.log.path_of(conversation.leaf);
        let walk = PathWalk::along(self.file, number, count.assembly(), count.sizes(), &path)?;
        Ok(walk.unrecorded(&count.assembly().budget()).filter(|tokens| *tokens > Tokens::ZERO))
    }

    fn open(&self, number: usize, unrecorded: Option<Tokens>) -> Result<OpenConversation> {
        let keeps_pins = self.target.keeps_pins();
        let options = SessionOptions {
            can: self.target.can(),
            focus: self.args.focus.as_deref().map(Into::into),
            recall: self.recall(number).map(Into::into),
            // Our own form keeps pins; elsewhere they hold for this compaction.
            pins: if keeps_pins { Vec::new() } else { self.args.pins.clone() },
        };
        let mut open = match self.file.stored() {
            Some(place) => self.file.open_stored(place, options, self.ports.driver()),
            None => self.file.open_conversation(number, options, self.ports.driver()),
        };
        open.opening.assembly.set_policy(self.policy.clone())?;
        open.opening.assembly.state_unrecorded(unrecorded.unwrap_or_default());
        self.file.calibrate(number, &open.opening.assembly)?;
        Ok(open)
    }

    /// The command that shows an original, where the file that keeps them has a name.
    pub(super) fn recall(&self, number: usize) -> Option<String> {
        if let Target::Stored { session, .. } = self.target {
            return Some(format!(
                "epitome recall --session {session} m0123{}",
                self.args.stored.store.flag()
            ));
        }
        let keeper = match self.target {
            Target::Body(_) => Some(self.file.path.as_path()).filter(|path| path.is_file()),
            Target::Resumable(_) | Target::Native | Target::Stored { .. } => self.out,
        };
        // What is written to a pipe or a device is not to be found there again.
        let file = keeper.filter(|path| path.is_file() || !path.exists())?;
        let file = std::path::absolute(file).ok()?;
        let is_one = self.file.transcript.conversations.len() == 1;
        let which = if is_one { String::new() } else { format!(" --conversation {number}") };
        Some(format!("epitome recall {} m0123{which}", shell_word(&file.display().to_string())))
    }

    async fn pin(&self, open: &OpenConversation) -> Result<()> {
        // A dry run leaves a store as it is.
        let is_trial = self.args.dry_run && self.file.stored().is_some();
        if !self.target.keeps_pins() || is_trial {
            return Ok(());
        }
        for &id in &self.args.pins {
            open.engine.pin(&open.opening, id).await?;
        }
        Ok(())
    }

    fn look(&self, open: &OpenConversation) -> Result<Session> {
        self.command.waiting.to_the_end(async { Ok(open.engine.look(&open.opening).await?) })
    }

    fn options(&self) -> CompactOptions {
        let range = match (self.args.up_to, self.args.from_message) {
            (Some(id), _) => Range::UpTo(id),
            (None, Some(id)) => Range::From(id),
            (None, None) => Range::All,
        };
        CompactOptions { range, ..CompactOptions::default() }
    }

    fn compact(&self, open: &OpenConversation) -> Result<Step> {
        let work = open.engine.compact(&open.opening, Trigger::Manual, self.options());
        let work = async { Ok(work.await?.step) };
        self.command.waiting.run(&open.opening.driver, self.bar, work)
    }

    /// What it would come to, with nobody asked.
    fn preview(&self, open: &OpenConversation) -> Result<Arc<Record>> {
        let options = CompactOptions { asking: AskScope::Nobody, ..self.options() };
        let work = async { Ok(open.engine.preview(&open.opening, Trigger::Manual, options).await?) };
        self.command.waiting.to_the_end(work)
    }

    fn plan(&self, open: &OpenConversation) -> Result<Option<PricedPlan>> {
        let work = async { Ok(open.engine.sketch(&open.opening, Trigger::Manual, self.options()).await?) };
        let Some(sketch) = self.command.waiting.to_the_end(work)? else { return Ok(None) };
        let cost_max = sketch.calls.as_ref().and_then(|calls| self.ports.cost_max(calls));
        Ok(Some(PricedPlan { sketch, cost_max }))
    }

    /// Makes the person at the terminal the operator, where the policy has a checkpoint and there is one. What they
    /// may edit begins as what the embedded summariser would write.
    fn ask_at_terminal(&self, open: &mut OpenConversation) -> Result<()> {
        if !self.policy.strategy.contains(&Strategy::Checkpoint) || !TerminalOperator::is_there() {
            return Ok(());
        }
        let record = self.preview(open)?;
        let summary = record.change().and_then(|change| change.summary.clone());
        let draft = summary.as_deref().map(fence::body).unwrap_or_default().to_owned();
        open.opening.driver.ports_mut().operator = Some(Arc::new(TerminalOperator::new(draft)));
        Ok(())
    }

    /// Refuses a range that ends at a message which is not in view.
    fn check_ends(&self, session: &Session) -> Result<()> {
        let is_in_view = |id: &EntryId| session.context().message_slots().any(|(shown, ..)| shown == *id);
        let ends = self.args.up_to.iter().chain(&self.args.from_message);
        match ends.copied().find(|id| !is_in_view(id)) {
            Some(id) => bail!("{id} is no message in view; `epitome context` shows those that are"),
            None => Ok(()),
        }
    }
}

/// The policy of a compaction by hand: a person who asks for a summary gets one, where a policy might rather leave a
/// running session as it is.
fn by_hand(policy: &Policy) -> Result<Arc<Policy>> {
    let mut settings = policy.settings().clone();
    settings.summary.else_embedded = true;
    Ok(Arc::new(Policy::try_from(settings)?))
}

/// Refuses to compact a range where that cannot be told apart or written.
pub(super) fn check_range(args: &CompactArgs, file: &TranscriptFile, can_keep_front: bool) -> Result<()> {
    let Some(id) = args.up_to.or(args.from_message) else { return Ok(()) };
    let count = file.transcript.conversations.len();
    if count > 1 {
        bail!("{id} could be of any of {count} conversations; a range can be compacted where there is one");
    }
    if args.from_message.is_some() && !can_keep_front {
        bail!(
            "{} files cannot say that messages stay in front of a summary; use --to native",
            file.transcript.format
        );
    }
    Ok(())
}

/// What brings files back, where the policy wants some and a project is known.
fn restorer(policy: &Policy, args: &CompactArgs, file: &TranscriptFile) -> Result<Option<Arc<dyn Restorer>>> {
    if policy.restore.files == 0 {
        return Ok(None);
    }
    Ok(project(args, file)?.map(|project| Arc::new(project) as Arc<dyn Restorer>))
}

/// The project whose files may be read again.
fn project(args: &CompactArgs, file: &TranscriptFile) -> Result<Option<Project>> {
    let used = std::fs::metadata(&file.path).and_then(|about| about.modified()).ok();
    match &args.project {
        Some(folder) => Project::at(folder, used).map(Some),
        None => crate::hint::folder(&*file.source)
            .map(|folder| Project::at(&folder, used))
            .transpose()
            .context("cannot read the folder the transcript records; name another with --project"),
    }
}
