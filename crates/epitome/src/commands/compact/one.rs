//! One conversation compacted: planned, asked for, and, where the model let a person down who asked by hand,
//! written by the embedded summariser.

use super::writing::Added;
use crate::asking::Summarizer;
use crate::cli::CompactArgs;
use crate::commands::Work;
use crate::opened::Opened;
use crate::waiting::Waiting;
use anyhow::{Context as _, Result, bail};
use epitome_core::{EntryId, Fallback, Moment, Strategy, Trigger};
use epitome_engine::{Asks, Happened, Report, Session, Sketch, Wish};
use indicatif::ProgressBar;
use serde::Serialize;

/// What is worked on, and with what.
pub(super) struct Task<'a> {
    pub args: &'a CompactArgs,
    pub waiting: &'a Waiting,
    pub opened: &'a Opened,
    pub work: Work,
    pub who: Summarizer,
    pub bar: &'a ProgressBar,
}

/// What would be done, for a dry run.
#[derive(Serialize)]
pub(super) struct Planned {
    #[serde(flatten)]
    pub sketch: Sketch,
    /// The most its calls would cost, in dollars, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_max: Option<f64>,
}

impl Task<'_> {
    /// Compacts conversation `number`; in a dry run with nobody asked.
    pub(super) fn run(&self, number: usize) -> Result<(Added, Option<Planned>)> {
        let mut session = self.work.open(self.opened, number)?;
        self.check_ends(&session)?;
        let known = session.log().len();
        let planned = self.plan(&session)?;
        if self.args.dry_run {
            self.without_model(&mut session);
        }
        let mut report = self.compact(&mut session)?;
        if self.who.model.is_some() && !self.args.dry_run && has_no_summary(&report) {
            (session, report) = self.embedded_instead(number, report)?;
        }
        if report.outcome == Happened::Abandoned {
            bail!("{}", report.why.as_deref().unwrap_or("nothing made room"));
        }
        self.who.annotate(&mut report);
        Ok((Added { number, known, report, session }, planned))
    }

    fn wish(&self) -> Wish {
        let moment = Moment { up_to: self.args.up_to, from: self.args.from_message, ..Moment::default() };
        Wish { moment, ..Wish::default() }
    }

    fn compact(&self, session: &mut Session) -> Result<Report> {
        let work = async { Ok(session.compact_as(Trigger::Manual, self.wish()).await?) };
        match self.who.model {
            Some(_) => self.waiting.until_done(self.bar, work),
            None => Waiting::none(work),
        }
    }

    fn plan(&self, session: &Session) -> Result<Option<Planned>> {
        if !self.args.dry_run {
            return Ok(None);
        }
        let Some(sketch) = session.sketch(Trigger::Manual, &self.wish())? else { return Ok(None) };
        let cost_max = sketch.calls.as_ref().and_then(|calls| self.who.cost_max(calls));
        Ok(Some(Planned { sketch, cost_max }))
    }

    fn without_model(&self, session: &mut Session) {
        let asks = session.setup().asks.clone();
        session.set_asks(Asks { model: None, ..asks });
    }

    /// The same by the embedded summariser. Without its model a policy may rather leave a running session
    /// as it is, or drop its oldest part; a person who asks for a summary gets one.
    fn embedded_instead(&self, number: usize, failed: Report) -> Result<(Session, Report)> {
        let mut session = self.work.open(self.opened, number)?;
        self.without_model(&mut session);
        let mut report = self.compact(&mut session)?;
        report.spent.add(&failed.spent);
        report.cost += failed.cost;
        report.duration_ms += failed.duration_ms;
        if let Some(made) = &mut report.record {
            let tried = failed.record.map_or(failed.tried, |made| made.fallbacks);
            made.fallbacks.splice(0..0, tried);
            made.notes.push("the model wrote no summary that would do; the embedded summariser did".into());
        }
        Ok((session, report))
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

/// Whether a summary was tried and none came of it.
fn has_no_summary(report: &Report) -> bool {
    let is_tried = |tried: &[Fallback]| tried.iter().any(|one| one.strategy == Strategy::Summarize);
    match &report.record {
        Some(made) => made.strategy == Strategy::Drop && is_tried(&made.fallbacks),
        None => report.outcome == Happened::Abandoned,
    }
}

/// Refuses to compact a range where that cannot be told apart or written.
pub(super) fn check_range(args: &CompactArgs, opened: &Opened, can_keep_front: bool) -> Result<()> {
    let Some(id) = args.up_to.or(args.from_message) else { return Ok(()) };
    let count = opened.transcript.conversations.len();
    if count > 1 {
        bail!("{id} could be of any of {count} conversations; a range can be compacted where there is one");
    }
    if args.from_message.is_some() && !can_keep_front {
        bail!(
            "{} files cannot say that messages stay in front of a summary; use --to native",
            opened.transcript.format
        );
    }
    Ok(())
}

/// The project whose files may be read again, where the policy wants some.
pub(super) fn project(args: &CompactArgs, opened: &Opened) -> Result<Option<crate::restorer::Project>> {
    use crate::restorer::Project;
    let used = std::fs::metadata(&opened.path).and_then(|about| about.modified()).ok();
    match &args.project {
        Some(folder) => Project::at(folder, used).map(Some),
        None => crate::hint::folder(&*opened.source)
            .map(|folder| Project::at(&folder, used))
            .transpose()
            .context("cannot read the folder the transcript records; name another with --project"),
    }
}
