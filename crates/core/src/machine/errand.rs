//! Calls of a model for a summary: part by part, each answer through the gate, each new try different
//! from the last, and all of them together limited.

use super::ask::{Ask, NoSummary, Written};
use super::compose::{Prose, compose, todos};
use super::parts::{self, Part};
use super::{Next, gate};
use crate::embedded;
use crate::fence;
use crate::policy::{Input, Newest, Oversize, Previous, Split, SummaryRule};
use crate::record::{Outcome, Seen};
use crate::request::{Body, Called, Failure, Purpose, Request};
use crate::transcript::{Scribe, opened};
use crate::{ArchiveError, EntryId, Job, Opaque, Plan, Strategy, Summarizer, Tokens};
use std::collections::VecDeque;

/// One or several calls of a model, to be made before the plan goes on.
pub struct Errand<'a> {
    ask: Ask<'a>,
    strategy: Strategy,
    /// Parts still to be asked for; those of `requests` are the first of them.
    todo: VecDeque<Part>,
    requests: Vec<Request>,
    /// The summary of the history so far.
    history: Option<String>,
    /// The summary of a cut turn's beginning.
    prefix: Option<String>,
    short: Option<String>,
    native: Option<Opaque>,
    tune: Tune,
    seen: Seen,
}

/// How this try differs from the ones before.
#[derive(Clone, Debug, Default)]
struct Tune {
    /// Tries so far that only differed in what was said of the last answer.
    tries: u32,
    /// How many of the policy's shorter lengths for results were used.
    shrinks: usize,
    /// How many fewer messages are kept than the rule says.
    fewer: u32,
    /// How often the oldest exchanges were left out.
    drops: u32,
    /// A message larger than this is cut.
    message_max: Option<Tokens>,
    /// What was wrong with the last answer.
    complaint: Option<String>,
}

/// The part of a summariser's window that its input may take: its count and ours differ.
const INPUT_SHARE: (u64, u64) = (8, 10);
/// Prompt, frame and focus around the messages.
const INPUT_MARGIN: Tokens = Tokens(2_000);
/// However small the window, a part gets this share of it.
const INPUT_SHARE_MIN: (u64, u64) = (1, 8);
/// An answer's limit where the policy sets none: as long as a summary ever needs to be.
const OUTPUT_MAX: Tokens = Tokens(8_192);
/// Of the room for a summary, so much is for facts that the machine copies.
const FACTS_SHARE: (u64, u64) = (1, 3);
/// Where nobody says by how much a request is too long, this part of it is left out.
const UNKNOWN_GAP_SHARE: (u64, u64) = (1, 5);

impl<'a> Errand<'a> {
    pub(super) fn begin(plan: Plan<'a>, strategy: Strategy) -> Result<Next<'a>, ArchiveError> {
        Self::start(plan, strategy, Tune::default())
    }

    fn start(plan: Plan<'a>, strategy: Strategy, tune: Tune) -> Result<Next<'a>, ArchiveError> {
        let room = match plan.job.policy.summary.oversize {
            Oversize::Fold => input_room(&plan.job),
            Oversize::DropOldest(_) | Oversize::Send | Oversize::Fail => Tokens(u64::MAX),
        };
        let mut todo = match strategy {
            Strategy::Native => VecDeque::from([Part { purpose: Purpose::Native, ids: plan.leaving() }]),
            Strategy::Summarize
            | Strategy::Trim
            | Strategy::Prune
            | Strategy::Delegate
            | Strategy::Checkpoint
            | Strategy::Drop => parts::parts(&plan, room),
        };
        if plan.job.policy.summary.short_max.is_some() && strategy == Strategy::Summarize {
            todo.push_back(Part { purpose: Purpose::Short, ids: Vec::new() });
        }
        let of = todo.iter().map(|part| part.ids.len()).sum();
        let errand = Self {
            ask: Ask::of(plan, strategy)?,
            strategy,
            todo,
            requests: Vec::new(),
            history: None,
            prefix: None,
            short: None,
            native: None,
            tune,
            seen: Seen { messages: 0, of, cut: 0 },
        };
        errand.ask_next()
    }

    /// The calls to make, at once where there are several.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    fn job(&self) -> &Job<'a> {
        &self.ask.plan.job
    }

    /// Takes what came back, one for each request, and goes on.
    pub fn answer(mut self, called: Vec<Called>) -> Result<Next<'a>, ArchiveError> {
        let mut failed = None;
        let mut left = VecDeque::new();
        for called in called {
            self.ask.plan.trail.spent.add(&called.spent);
            let Some(part) = self.todo.pop_front() else { break };
            match self.judge(&part, called.result) {
                Ok(text) => self.keep(&part, text),
                Err(why) => {
                    failed = Some(why);
                    left.push_back(part);
                }
            }
        }
        left.append(&mut self.todo);
        self.todo = left;
        match failed {
            None => self.ask_next(),
            Some(Wrong::Stopped) => Ok(Next::Done(self.stopped())),
            Some(Wrong::TooLong(over)) => self.shorten(over),
            Some(Wrong::Refused(why)) => self.vary(why),
        }
    }

    fn judge(&mut self, part: &Part, result: Result<crate::Reply, Failure>) -> Result<String, Wrong> {
        let reply = result.map_err(|failure| match failure {
            Failure::TooLong { over } => Wrong::TooLong(over),
            Failure::Cancelled => Wrong::Stopped,
            Failure::Throttled(_)
            | Failure::Broken(_)
            | Failure::TimedOut
            | Failure::Refused(_)
            | Failure::Unavailable(_) => Wrong::Refused(failure.to_string()),
        })?;
        let source = self.size_of(&part.ids);
        if reply.native.is_some() {
            self.native = reply.native.clone();
        }
        if part.purpose == Purpose::Native && reply.text.trim().is_empty() && self.native.is_some() {
            // What cannot be read gets a twin that can.
            let draft = embedded::summarize(&self.ask.material(), self.ask.budget());
            return draft.map(|draft| draft.text).map_err(|error| Wrong::Refused(error.to_string()));
        }
        let (source, size_min) = match part.purpose {
            Purpose::Short => (Tokens(u64::MAX), None),
            Purpose::History
            | Purpose::TurnPrefix
            | Purpose::Part { .. }
            | Purpose::Branch
            | Purpose::Native => (source + self.carried_size(), self.job().policy.summary.size_min),
        };
        gate::judge(&reply, source, size_min, self.job().measure).map_err(Wrong::Refused)
    }

    fn size_of(&self, ids: &[EntryId]) -> Tokens {
        let (context, log) = (self.job().context, self.job().log);
        ids.iter().filter_map(|&id| context.form_of(log, id)).map(|(_, size)| size).sum()
    }

    fn carried_size(&self) -> Tokens {
        let carried = self.history.clone().or_else(|| self.previous());
        carried.map_or(Tokens::ZERO, |text| self.job().measure.text(&text))
    }

    fn keep(&mut self, part: &Part, text: String) {
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
    fn ask_next(mut self) -> Result<Next<'a>, ArchiveError> {
        let calls = self.ask.plan.trail.spent.calls;
        let at_once = if self.is_parallel() { self.todo.len() } else { 1 }.min(self.todo.len());
        if at_once == 0 {
            return self.finish();
        }
        if calls + at_once as u32 > self.job().policy.guard.calls_max {
            return self.give_up("its calls are used up".into());
        }
        let mut requests = Vec::with_capacity(at_once);
        for part in self.todo.iter().take(at_once).cloned().collect::<Vec<_>>() {
            requests.push(self.request(&part)?);
        }
        if self.job().policy.summary.oversize == Oversize::Fail && self.is_too_long(&requests) {
            return self.give_up("the messages do not fit the summariser's window".into());
        }
        self.requests = requests;
        Ok(Next::Call(Box::new(self)))
    }

    /// The two calls of a cut turn may run at once; parts that build on each other may not.
    fn is_parallel(&self) -> bool {
        let takes = self.job().means.summarizer.is_some_and(|summarizer| summarizer.takes_parallel);
        let [first, second] = self.todo.iter().collect::<Vec<_>>()[..] else { return false };
        takes
            && self.job().policy.summary.split == Split::Parallel
            && first.purpose == Purpose::History
            && second.purpose == Purpose::TurnPrefix
    }

    /// Whether a request is sure to be refused: even without an answer it is over the window.
    fn is_too_long(&self, requests: &[Request]) -> bool {
        let Some(Summarizer { window: room, .. }) = self.job().means.summarizer else { return false };
        requests.iter().any(|request| match &request.body {
            Body::Text(text) => self.job().measure.text(text) > room,
            Body::Messages { messages, .. } | Body::Prefix { messages, .. } => {
                messages.iter().map(|message| self.job().measure.sizes(message).total()).sum::<Tokens>()
                    > room
            }
        })
    }

    fn request(&mut self, part: &Part) -> Result<Request, ArchiveError> {
        let instruction = self.instruction(part)?;
        let body = match (part.purpose, self.job().policy.summary.input) {
            (Purpose::Short, _) => {
                let so_far = Prose { history: self.history.as_deref(), prefix: self.prefix.as_deref() };
                Body::Text(format!("<summary>\n{}\n</summary>\n\n{instruction}", so_far.joined()).into())
            }
            (Purpose::Native, _) | (_, Input::Prefix) if self.is_warm() && self.tune.drops == 0 => {
                let shown =
                    self.job().context.shown(self.job().log, self.job().measure, self.job().archive)?;
                let messages = shown.into_iter().map(|shown| shown.message).collect();
                Body::Prefix { messages, instruction: instruction.into() }
            }
            (_, Input::Text | Input::Prefix) => self.text_body(part, &instruction)?,
            (_, Input::Messages) => self.messages_body(part, &instruction)?,
        };
        let attempt = self.ask.plan.trail.spent.calls;
        let system = match body {
            Body::Prefix { .. } => "".into(),
            Body::Text(_) | Body::Messages { .. } => self.job().means.prompts.system.clone(),
        };
        Ok(Request {
            purpose: part.purpose,
            system,
            body,
            output_max: self.output_max(part.purpose),
            attempt,
        })
    }

    fn is_warm(&self) -> bool {
        self.job().means.summarizer.is_some_and(|summarizer| summarizer.is_warm)
            || self.strategy == Strategy::Native
    }

    /// What the model is told to do with the part.
    fn instruction(&self, part: &Part) -> Result<String, ArchiveError> {
        let (job, prompts) = (self.job(), self.job().means.prompts);
        let is_update = self.carried(part.purpose).is_some();
        let mut text = match part.purpose {
            Purpose::TurnPrefix => prompts.prefix.to_string(),
            Purpose::Branch => prompts.branch.to_string(),
            Purpose::Short => {
                "Say in one or two sentences what this session is about and where it stands.".into()
            }
            Purpose::History | Purpose::Part { .. } | Purpose::Native if is_update => {
                prompts.update.to_string()
            }
            Purpose::History | Purpose::Part { .. } | Purpose::Native => prompts.first.to_string(),
        };
        let hears_focus = !job.policy.compat.focus_history_only || part.purpose != Purpose::TurnPrefix;
        if let Some(focus) = job.focus.filter(|_| hears_focus) {
            text.push_str(&format!("\n\nAdditional focus: {focus}"));
        }
        for guidance in &self.ask.plan.wanted.guidance {
            text.push_str(&format!("\n\nAlso mind: {guidance}"));
        }
        if job.policy.rebuild.todos && self.is_last_of_history(part.purpose) {
            text.push_str(&todos(&embedded::ledger(&self.ask.material())?));
        }
        if let Some(complaint) = &self.tune.complaint {
            let number = self.ask.plan.trail.spent.calls + 1;
            text.push_str(&format!(
                "\n\nThis is try {number}; the last one was of no use: {complaint}. Answer with the summary alone, as text."
            ));
        }
        Ok(text)
    }

    fn is_last_of_history(&self, purpose: Purpose) -> bool {
        match purpose {
            Purpose::History => true,
            Purpose::Part { number, of } => number == of,
            Purpose::TurnPrefix | Purpose::Branch | Purpose::Short | Purpose::Native => false,
        }
    }

    /// The summary that a part builds on.
    fn carried(&self, purpose: Purpose) -> Option<String> {
        match purpose {
            Purpose::History | Purpose::Part { .. } => {
                let previous =
                    || self.previous().filter(|_| self.job().policy.summary.previous == Previous::Update);
                self.history.clone().or_else(previous)
            }
            Purpose::TurnPrefix | Purpose::Branch | Purpose::Short | Purpose::Native => None,
        }
    }

    /// The summary in view, without its frame.
    fn previous(&self) -> Option<String> {
        let (_, summary) = self.job().context.summary(self.job().log)?;
        Some(fence::body(&summary.text).to_owned())
    }

    fn text_body(&mut self, part: &Part, instruction: &str) -> Result<Body, ArchiveError> {
        let script = self.scribe(|scribe| scribe.text(&part.ids))?;
        self.seen.cut += script.cut;
        let mut text = format!("<conversation>\n{}\n</conversation>", script.made);
        let as_message = || {
            let is_first = self.history.is_none() && part.purpose != Purpose::TurnPrefix;
            self.previous().filter(|_| is_first && self.job().policy.summary.previous == Previous::Message)
        };
        if let Some(previous) = self.carried(part.purpose).or_else(as_message) {
            text.push_str(&format!("\n\n<previous-summary>\n{}\n</previous-summary>", opened(&previous)));
        }
        text.push_str(&format!("\n\n{instruction}"));
        Ok(Body::Text(text.into()))
    }

    fn messages_body(&mut self, part: &Part, instruction: &str) -> Result<Body, ArchiveError> {
        let script = self.scribe(|scribe| scribe.messages(&part.ids))?;
        self.seen.cut += script.cut;
        let mut messages = script.made;
        let carried = self.history.clone().or_else(|| self.previous());
        if let Some(previous) = carried.filter(|_| part.purpose != Purpose::TurnPrefix) {
            let text = format!("<previous-summary>\n{}\n</previous-summary>", opened(&previous));
            let first = crate::Message::text(crate::Role::User, crate::Author::Harness, text);
            messages.insert(0, first.into());
        }
        Ok(Body::Messages { messages, instruction: instruction.into() })
    }

    fn scribe<T>(
        &self,
        write: impl FnOnce(&Scribe<'_, 'a>) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let rule: &SummaryRule = &self.job().policy.summary;
        let harmless = embedded::harmless(&self.ask.material())?;
        let shrunk = self.tune.shrinks.checked_sub(1).map(|at| rule.shrink_results[at]);
        write(&Scribe {
            job: self.job(),
            rule,
            result_chars_max: shrunk.or(rule.result_chars_max),
            message_max: self.tune.message_max.or_else(|| self.message_max()),
            harmless: &harmless,
        })
    }

    /// Where parts must fit a window, one message may not be larger than it.
    fn message_max(&self) -> Option<Tokens> {
        (self.job().policy.summary.oversize == Oversize::Fold).then(|| input_room(self.job()))
    }

    fn output_max(&self, purpose: Purpose) -> Tokens {
        let rule = &self.job().policy.summary;
        let wanted = match purpose {
            Purpose::TurnPrefix => rule.prefix_output_max.or(rule.output_max),
            Purpose::Short => rule.short_max,
            Purpose::History | Purpose::Part { .. } | Purpose::Branch | Purpose::Native => rule.output_max,
        };
        let room = self.ask.budget().less(self.facts_room());
        let wanted = wanted.unwrap_or_else(|| OUTPUT_MAX.min(room));
        self.job().means.summarizer.map_or(wanted, |summarizer| wanted.min(summarizer.output_max))
    }

    fn facts_room(&self) -> Tokens {
        if !self.job().policy.rebuild.facts {
            return Tokens::ZERO;
        }
        self.ask.budget().share(FACTS_SHARE.0, FACTS_SHARE.1)
    }

    /// All parts are there: the machine adds its own, and the whole goes through the gate.
    fn finish(mut self) -> Result<Next<'a>, ArchiveError> {
        self.ask.plan.trail.shown = Some(self.seen);
        match self.written() {
            Ok(outcome) => Ok(Next::Done(outcome)),
            Err(NoSummary::Archive(error)) => Err(error),
            Err(NoSummary::Failed(why)) => self.vary(why),
        }
    }

    fn written(&self) -> Result<Outcome, NoSummary> {
        let (material, rebuild) = (self.ask.material(), &self.job().policy.rebuild);
        let kept_on = self.previous().filter(|_| !self.job().policy.compat.lose_previous_summary_on_split);
        let history = self.history.clone().or_else(|| kept_on.filter(|_| self.prefix.is_some()));
        let prose = Prose { history: history.as_deref(), prefix: self.prefix.as_deref() }.joined();
        let ledger = embedded::ledger(&material)?;
        let mut text = compose(&prose, rebuild, &ledger, &self.ask.plan.wanted.inject, &material)?;
        let mut notes = Vec::new();
        if rebuild.facts {
            let room = self.ask.budget().less(self.job().measure.text(&text));
            let facts = embedded::facts_page(&material, room.min(self.facts_room()))?;
            text.push_str(&format!("\n\n# From the log, word for word\n{}", facts.text));
            notes = facts.notes;
        }
        if self.seen.messages < self.seen.of {
            notes.push(format!(
                "the summariser was shown {} of {} messages; the rest is covered by what the machine copied",
                self.seen.messages, self.seen.of
            ));
        }
        let by = self.job().means.summarizer.map_or("a model", |summarizer| summarizer.name);
        let (short, native) = (self.short.clone(), self.native.clone());
        self.ask.accept(Written { text, ledger, notes, by, short, native })
    }

    /// The request was too long for the model.
    fn shorten(mut self, over: Option<Tokens>) -> Result<Next<'a>, ArchiveError> {
        match self.job().policy.summary.oversize {
            Oversize::Fold => self.halve(),
            Oversize::DropOldest(most) if self.tune.drops < most => {
                self.tune.drops += 1;
                self.drop_oldest(over);
                self.tune.complaint = Some("it was too long".into());
                self.ask_next()
            }
            Oversize::DropOldest(_) => self.give_up(Failure::TooLong { over }.to_string()),
            Oversize::Send | Oversize::Fail => self.vary(Failure::TooLong { over }.to_string()),
        }
    }

    fn halve(mut self) -> Result<Next<'a>, ArchiveError> {
        let Some(part) = self.todo.pop_front() else { return self.ask_next() };
        match parts::halves(&self.ask.plan, &part) {
            Some(halves) => halves.into_iter().rev().for_each(|half| self.todo.push_front(half)),
            None => {
                let now = self.tune.message_max.unwrap_or_else(|| self.size_of(&part.ids));
                self.tune.message_max = Some(now.share(1, 2));
                self.todo.push_front(part);
            }
        }
        self.tune.complaint = Some("it was too long".into());
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
        self.todo.push_front(Part { ids, ..part });
    }

    /// Tries once more, differently: with a word on what was wrong, with shorter results, with fewer
    /// messages kept. After that the next strategy.
    fn vary(mut self, why: String) -> Result<Next<'a>, ArchiveError> {
        let rule = &self.job().policy.summary;
        self.tune.complaint = Some(why.clone());
        if self.tune.tries < rule.retries {
            self.tune.tries += 1;
        } else if self.tune.shrinks < rule.shrink_results.len() {
            self.tune.shrinks += 1;
        } else if rule.shrink_keep && self.tune.fewer < keep_count(self.job()) {
            self.tune.fewer += 1;
            let (mut plan, strategy, tune) = (self.ask.plan, self.strategy, self.tune);
            plan.cut(strategy, tune.fewer)?;
            return Self::start(plan, strategy, tune);
        } else {
            return self.give_up(why);
        }
        if self.todo.is_empty() {
            // Every answer was good and the whole was not: from the beginning.
            let (plan, strategy, tune) = (self.ask.plan, self.strategy, self.tune);
            return Self::start(plan, strategy, tune);
        }
        self.ask_next()
    }

    fn give_up(self, why: String) -> Result<Next<'a>, ArchiveError> {
        let mut plan = self.ask.plan;
        plan.give_up(self.strategy, why);
        plan.climb()
    }

    /// Someone asked to stop: nothing is changed, and nothing else is tried.
    fn stopped(self) -> Outcome {
        let plan = self.ask.plan;
        Outcome::Abandoned {
            why: "it was cancelled; nothing was changed".into(),
            fallbacks: plan.fallbacks,
            trail: Box::new(plan.trail),
        }
    }
}

/// What was wrong with a call.
enum Wrong {
    Stopped,
    TooLong(Option<Tokens>),
    Refused(String),
}

/// What the messages of one request may take in the summariser's window.
fn input_room(job: &Job<'_>) -> Tokens {
    let Some(summarizer) = job.means.summarizer else { return Tokens(u64::MAX) };
    let output = job.policy.summary.output_max.unwrap_or(OUTPUT_MAX).min(summarizer.output_max);
    let room = summarizer.window.share(INPUT_SHARE.0, INPUT_SHARE.1).less(output + INPUT_MARGIN);
    room.max(summarizer.window.share(INPUT_SHARE_MIN.0, INPUT_SHARE_MIN.1))
}

/// How often the kept part can be made smaller.
fn keep_count(job: &Job<'_>) -> u32 {
    let count = match job.policy.keep.newest {
        Newest::Messages(count) | Newest::Turns(count) => count,
        Newest::TokensAtLeast(_) | Newest::TokensReached(_) | Newest::TokensAtMost(_) => 3,
        Newest::Percent(_) | Newest::Nothing => 0,
    };
    job.policy.summary.shrink_keep_max.map_or(count, |most| most.min(count))
}
