//! Calls of a model for a summary: part by part, each answer through the gate, each new try different
//! from the last, and all of them together limited.

use super::Next;
use super::complaint::{CallProblem, Complaint};
use super::compose::{Prose, compose, with_injected};
use super::embedded_question::{CandidateSummary, EmbeddedQuestion, NoSummary};
use super::gate::{self, Bounds};
use super::grounds;
use super::parts::{self, MaterialPart};
use super::wording::input_room;
use crate::embedded;
use crate::ledger::Ledger;
use crate::policy::{Oversize, Parts, RebuildRule, Split};
use crate::record::{Conclusion, Coverage};
use crate::request::{CallCost, CallResult, Failure, Purpose, SummaryInput, SummaryRequest};
use crate::{ArchiveError, EntryId, Job, Opaque, Plan, Strategy, Summarizer, Tokens, fence};
use std::collections::VecDeque;

/// One or several calls of a model, to be made before the plan goes on.
pub struct ModelQuestion<'a> {
    pub(super) ask: EmbeddedQuestion<'a>,
    pub(super) strategy: Strategy,
    /// Parts still to be asked for; those of `requests` are the first of them.
    pub(super) todo: VecDeque<MaterialPart>,
    pub(super) requests: Vec<SummaryRequest>,
    /// How many messages were cut for each of them.
    cuts: Vec<usize>,
    /// The summary of the history so far.
    pub(super) history: Option<String>,
    /// The summary of a cut turn's beginning.
    pub(super) prefix: Option<String>,
    pub(super) short: Option<String>,
    pub(super) native: Option<Opaque>,
    pub(super) retry: RetryState,
    pub(super) seen: Coverage,
    /// Files, commands and todos of the whole history.
    pub(super) ledger: Ledger,
    /// Screens out secrets and opens look-alike fences.
    pub(super) harmless: Box<dyn Fn(&str) -> String + Send + Sync>,
}

/// Two counts of one text differ by less than this: ours by rule of thumb, in a script whose letters take a token each
/// for one model and a third of one for another.
const COUNT_SLACK: (u64, u64) = (2, 1);

/// How this try differs from the ones before.
#[derive(Clone, Debug, Default)]
pub(super) struct RetryState {
    /// Tries so far that only differed in what was said of the last answer.
    pub(super) tries: u32,
    /// How many of the policy's shorter lengths for results were used.
    pub(super) shrinks: usize,
    /// How many fewer messages are kept than the rule says.
    pub(super) fewer: u32,
    /// How often the oldest exchanges were left out.
    pub(super) drops: u32,
    /// A message larger than this is cut.
    pub(super) message_max: Option<Tokens>,
    /// What was wrong with the last answer.
    pub(super) complaint: Option<Complaint>,
    /// What was asked last.
    asked: Vec<SummaryRequest>,
}

impl<'a> ModelQuestion<'a> {
    pub(super) fn begin(plan: Plan<'a>, strategy: Strategy) -> Result<Next<'a>, ArchiveError> {
        Self::start(plan, strategy, RetryState::default())
    }

    pub(super) fn start(
        plan: Plan<'a>,
        strategy: Strategy,
        retry: RetryState,
    ) -> Result<Next<'a>, ArchiveError> {
        let room = match plan.job.policy.summary.oversize {
            Oversize::Fold => input_room(&plan.job),
            Oversize::DropOldest(_) | Oversize::Send | Oversize::Fail => Tokens(u64::MAX),
        };
        let mut todo = match strategy {
            Strategy::Native => {
                VecDeque::from([MaterialPart { purpose: Purpose::Native, ids: plan.leaving() }])
            }
            Strategy::Summarize
            | Strategy::Trim
            | Strategy::Prune
            | Strategy::Delegate
            | Strategy::Checkpoint
            | Strategy::Drop => parts::parts(&plan, room),
        };
        if plan.job.policy.summary.short_max.is_some() && strategy == Strategy::Summarize {
            todo.push_back(MaterialPart { purpose: Purpose::Short, ids: Vec::new() });
        }
        let of = todo.iter().map(|part| part.ids.len()).sum();
        let ask = EmbeddedQuestion::of(plan, strategy)?;
        let ledger = embedded::ledger(&ask.material());
        let harmless = Box::new(embedded::harmless(&ask.material()));
        let question = Self {
            ask,
            ledger,
            harmless,
            strategy,
            todo,
            requests: Vec::new(),
            cuts: Vec::new(),
            history: None,
            prefix: None,
            short: None,
            native: None,
            retry,
            seen: Coverage { messages: 0, of, cut: 0 },
        };
        question.ask_next()
    }

    /// The calls to make, at once where there are several.
    pub fn requests(&self) -> &[SummaryRequest] {
        &self.requests
    }

    /// How many calls it takes from here on where all goes well, those to make now included.
    pub fn calls_left(&self) -> usize {
        self.todo.len()
    }

    pub(super) fn job(&self) -> &Job<'a> {
        &self.ask.plan.job
    }

    /// Takes what came back, one for each request, and goes on.
    ///
    /// A request without a reply counts as one that failed.
    pub fn answer(mut self, called: Vec<CallResult>) -> Result<Next<'a>, ArchiveError> {
        let mut failed = None;
        let mut left = VecDeque::new();
        let lost = || CallResult {
            result: Err(Failure::Broken("no reply came to this request".into())),
            spent: CallCost::default(),
        };
        let called = called.into_iter().chain(std::iter::repeat_with(lost));
        for (cut, called) in std::mem::take(&mut self.cuts).into_iter().zip(called) {
            self.ask.plan.progress.spent.add(&called.spent);
            let Some(part) = self.todo.pop_front() else { break };
            match self.judge(&part, called) {
                Ok(text) => {
                    self.seen.cut += cut;
                    self.keep(&part, text);
                }
                Err(why) => {
                    failed = Some(why);
                    left.push_back(part);
                }
            }
        }
        left.append(&mut self.todo);
        self.todo = left;
        match failed {
            None => {
                self.retry.complaint = None;
                self.ask_next()
            }
            Some(CallProblem::Stopped) => Ok(Next::Done(self.stopped())),
            Some(CallProblem::TooLong(over)) => self.shorten(over),
            Some(CallProblem::Failed(complaint)) => self.vary(complaint),
            Some(CallProblem::Hopeless(why)) => self.despair(why),
        }
    }

    fn judge(&mut self, part: &MaterialPart, called: CallResult) -> Result<String, CallProblem> {
        let written = called.spent.output;
        let reply = called.result.map_err(|failure| match failure {
            Failure::TooLong { over } => CallProblem::TooLong(over),
            Failure::Cancelled => CallProblem::Stopped,
            Failure::Throttled(_)
            | Failure::Broken(_)
            | Failure::TimedOut
            | Failure::Refused(_)
            | Failure::Unavailable(_) => CallProblem::Failed(Complaint::NoAnswer(failure.to_string())),
            Failure::Denied(_) | Failure::Unreachable(_) | Failure::Late { .. } => {
                CallProblem::Hopeless(failure.to_string())
            }
        })?;
        let source = self.size_of(&part.ids);
        if reply.native.is_some() {
            self.native = reply.native.clone();
        }
        if part.purpose == Purpose::Native && reply.text.trim().is_empty() && self.native.is_some() {
            // What cannot be read gets a twin that can.
            return Ok(embedded::summarize(&self.ask.material(), self.ask.budget()).text);
        }
        let bounds = match part.purpose {
            Purpose::Short => {
                Bounds { source: Tokens(u64::MAX), size_min: None, size_max: None, in_sections: false }
            }
            Purpose::History
            | Purpose::TurnPrefix
            | Purpose::Part { .. }
            | Purpose::Branch
            | Purpose::Native => Bounds {
                source: source + self.carried_size(),
                size_min: self.job().policy.summary.size_min,
                size_max: Some(self.size_max(part.purpose, written)),
                in_sections: self.parts() == Parts::Prose,
            },
        };
        gate::judge(&reply, self.prompt(part.purpose), bounds, self.job().measure)
            .map_err(|why| CallProblem::Failed(Complaint::Answer(why)))
    }

    /// The most an answer may take by our count. Where the provider says that it held the answer to its limit, its count
    /// decides, as far as the two can differ: a figure is no proof that a text is short.
    fn size_max(&self, purpose: Purpose, written: Tokens) -> Tokens {
        let limit = self.output_max(purpose);
        let is_held = written > Tokens::ZERO && written <= limit;
        if is_held { limit.share(COUNT_SLACK.0, COUNT_SLACK.1) } else { limit }
    }

    pub(super) fn size_of(&self, ids: &[EntryId]) -> Tokens {
        let Job { context, sizes, .. } = *self.job();
        ids.iter().map(|&id| context.form_of(id, sizes).1).sum()
    }

    fn carried_size(&self) -> Tokens {
        let carried = self.history.clone().or_else(|| self.previous());
        carried.map_or(Tokens::ZERO, |text| self.job().measure.text(&text))
    }

    fn keep(&mut self, part: &MaterialPart, text: String) {
        self.seen.messages += part.ids.len();
        match part.purpose {
            Purpose::TurnPrefix => self.prefix = Some(text),
            Purpose::Short => self.short = Some(text),
            Purpose::History | Purpose::Part { .. } | Purpose::Branch | Purpose::Native => {
                self.history = Some(text);
            }
        }
    }

    /// Writes the next calls, or ends where all parts are there.
    pub(super) fn ask_next(mut self) -> Result<Next<'a>, ArchiveError> {
        let at_once = if self.is_parallel() { self.todo.len() } else { 1 }.min(self.todo.len());
        if at_once == 0 {
            return self.finish();
        }
        if self.ask.plan.progress.requests + at_once as u32 > self.job().policy.guard.calls_max {
            return self.give_up("its calls are used up".into());
        }
        let calls = self.todo.iter().take(at_once).map(|part| self.request(part));
        let calls = calls.collect::<Result<Vec<_>, _>>()?;
        let (requests, cuts): (Vec<SummaryRequest>, Vec<usize>) = calls.into_iter().unzip();
        if are_alike(&requests, &self.retry.asked) {
            // What was of no use once is not asked again: on to the next way of asking.
            let complaint = self.retry.complaint.take();
            return self.vary(complaint.unwrap_or(Complaint::Answer(String::new())));
        }
        if self.job().policy.summary.oversize == Oversize::Fail && self.is_too_long(&requests) {
            return self.give_up("the messages do not fit the summariser's window".into());
        }
        if requests.iter().any(|request| request.output_max.is_zero()) {
            return self.give_up("what is kept leaves no room for a model's words".into());
        }
        self.note_refusal();
        self.retry.asked.clone_from(&requests);
        self.ask.plan.progress.requests += at_once as u32;
        Ok(Next::Call(Box::new(Self { requests, cuts, ..self })))
    }

    /// The two calls of a cut turn may run at once; parts that build on each other may not.
    fn is_parallel(&self) -> bool {
        let takes = self.job().available.summarizer.is_some_and(|summarizer| summarizer.takes_parallel);
        let [first, second] = self.todo.iter().collect::<Vec<_>>()[..] else { return false };
        takes
            && self.job().policy.summary.split == Split::Parallel
            && first.purpose == Purpose::History
            && second.purpose == Purpose::TurnPrefix
    }

    /// Whether a request is sure to be refused: even without an answer it is over the window.
    fn is_too_long(&self, requests: &[SummaryRequest]) -> bool {
        let Some(Summarizer { window: room, .. }) = self.job().available.summarizer else { return false };
        requests.iter().any(|request| match &request.body {
            SummaryInput::Text(text) => self.job().measure.text(text) > room,
            SummaryInput::Messages { messages, .. } | SummaryInput::Prefix { messages, .. } => {
                messages.iter().map(|message| self.job().measure.sizes(message).total()).sum::<Tokens>()
                    > room
            }
        })
    }

    /// All parts are there: the machine adds its own, and the whole goes through the gate.
    fn finish(mut self) -> Result<Next<'a>, ArchiveError> {
        self.ask.plan.progress.shown = Some(self.seen);
        match self.written() {
            Ok(conclusion) => Ok(Next::Done(conclusion)),
            Err(NoSummary::Archive(error)) => Err(error),
            Err(NoSummary::Failed(why)) => self.vary(Complaint::Answer(why)),
        }
    }

    /// What stands for the history where only a turn's beginning was asked for: the summary made before.
    fn kept_on(&self) -> Option<String> {
        self.prefix.as_ref()?;
        self.previous()
    }

    fn written(&self) -> Result<Conclusion, NoSummary> {
        let mut written = match self.parts() {
            Parts::All => self.with_facts(),
            Parts::Prose => self.with_machine_parts()?,
        };
        if self.seen.messages < self.seen.of {
            written.notes.push(format!(
                "the summariser was shown {} of {} messages; the rest is covered by what the machine copied",
                self.seen.messages, self.seen.of
            ));
        }
        self.ask.accept(written)
    }

    /// What the model was asked for. The provider's own compaction is always the whole.
    pub(super) fn parts(&self) -> Parts {
        match self.strategy {
            Strategy::Native => Parts::All,
            Strategy::Summarize
            | Strategy::Trim
            | Strategy::Prune
            | Strategy::Delegate
            | Strategy::Checkpoint
            | Strategy::Drop => self.job().policy.summary.parts,
        }
    }

    /// A whole summary by the model, and the facts that `rebuild` puts behind it.
    fn with_facts(&self) -> CandidateSummary<'_> {
        let (material, rebuild) = (self.ask.material(), &self.job().policy.rebuild);
        let history = self.history.clone().or_else(|| self.kept_on());
        let prose = Prose { history: history.as_deref(), prefix: self.prefix.as_deref() }.joined();
        let text = compose(&prose, rebuild, &self.ledger, &material, &*self.harmless);
        let text = with_injected(text, &self.ask.plan.changes.inject);
        if !rebuild.facts {
            return self.candidate(text, Vec::new(), self.ask.room());
        }
        // All that the prose has left, and their own share in any case: a model that wrote at length must not cost
        // the person's rules, which stand first among the facts.
        let room = self.ask.model_budget().less(self.job().measure.text(&text));
        let facts = embedded::facts_page(&material, room.max(self.facts_room()));
        let text = fence::join_copied(&text, &facts.text);
        CandidateSummary {
            statements: facts.statements,
            ..self.candidate(text, facts.notes, self.ask.room())
        }
    }

    /// The model's prose, and all else by the embedded summariser, within what a summary of its own would take.
    fn with_machine_parts(&self) -> Result<CandidateSummary<'_>, NoSummary> {
        let (material, measure) = (self.ask.beside_prose(), self.job().measure);
        // Open todos stand among the machine's own parts.
        let rebuild = RebuildRule { todos: false, ..self.job().policy.rebuild.clone() };
        let prose = self.history.as_deref().unwrap_or_default();
        if let Some(why) = grounds::invented(prose, &self.ask.material()) {
            return Err(NoSummary::Failed(why));
        }
        let prose = compose(prose, &rebuild, &self.ledger, &material, &*self.harmless);
        let headings = measure.text(&fence::join_prose("", ""));
        let room = self.ask.budget().less(measure.text(&prose) + headings);
        let copied = embedded::summarize_beside(&material, &prose, room);
        let text = fence::join_prose(&prose, &copied.text);
        self.check_facts(&text)?;
        let text = with_injected(text, &self.ask.plan.changes.inject);
        let candidate = self.candidate(text, copied.notes, self.ask.embedded_room());
        Ok(CandidateSummary { statements: copied.statements, ..candidate })
    }

    /// Refuses a summary that holds less than half of the facts which the machine alone would have kept in its room.
    fn check_facts(&self, text: &str) -> Result<(), NoSummary> {
        let alone = embedded::summarize(&self.ask.material(), self.ask.budget()).text;
        let facts_in = |text: &str| self.ask.facts_in(text, &self.ledger);
        let (held, could) = (facts_in(text), facts_in(&alone));
        if held * 2 >= could {
            return Ok(());
        }
        Err(NoSummary::Failed(format!(
            "most facts are missing: the summary holds {held} of what went, one by the machine alone {could}"
        )))
    }

    fn candidate(&self, text: String, notes: Vec<String>, room: Tokens) -> CandidateSummary<'_> {
        let by = self.job().available.summarizer.map_or("a model", |summarizer| summarizer.name);
        let (ledger, short, native) = (self.ledger.clone(), self.short.clone(), self.native.clone());
        CandidateSummary { text, ledger, notes, statements: Vec::new(), by, short, native, room }
    }
}

/// Whether these calls ask for the same in the same words, their numbers apart.
fn are_alike(calls: &[SummaryRequest], others: &[SummaryRequest]) -> bool {
    let is_alike = |(one, other): (&SummaryRequest, &SummaryRequest)| {
        (one.purpose, &one.body, one.output_max) == (other.purpose, &other.body, other.output_max)
    };
    calls.len() == others.len() && calls.iter().zip(others).all(is_alike)
}
