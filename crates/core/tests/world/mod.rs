//! A small world for properties: random histories, a gauge, and a session that answers a plan's questions.

mod acts;
mod axes;
mod oddities;
mod others;

pub(crate) use acts::{Act, Oddity, Order, histories, odd_histories};
pub(crate) use axes::{Axes, axes};
use epitome_core::{
    Archive, ArchiveError, Author, Block, Budget, Call, CallId, Compaction, Conclusion, Context, DigestCache,
    Effect, Entry, EntryId, Expressible, FarHistory, Form, Image, Item, Job, LogReader, Mark, Measure,
    MemoryArchive, Message, Next, Opaque, Plan, PlanDraft, Policy, Prompts, Record, ResultPart, Role,
    Settings, SizeTable, Slot, Strategy, Tokens, ToolResult, Trigger, embedded, ledger::Ledger,
    policy::Newest,
};
pub(crate) use others::{Others, others};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Counts a token for every four bytes begun.
pub(crate) struct Gauge;

impl Measure for Gauge {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len().div_ceil(4) as u64)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(50)
    }
    fn framing(&self) -> Tokens {
        Tokens(4)
    }
}

/// An archive that counts how often each message is read.
pub(crate) struct CountingArchive<'a> {
    archive: &'a MemoryArchive,
    pub(crate) reads: Mutex<HashMap<EntryId, u32>>,
}

impl<'a> CountingArchive<'a> {
    pub(crate) fn new(archive: &'a MemoryArchive) -> Self {
        Self { archive, reads: Mutex::default() }
    }
}

impl Archive for CountingArchive<'_> {
    fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        *self.reads.lock().expect("nobody panics while counting").entry(id).or_default() += 1;
        self.archive.message(id)
    }
}

/// What a compaction is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) strategy: Vec<Strategy>,
    pub(crate) window: u64,
    /// What system prompt and tools take of the window, in percent.
    pub(crate) fixed_percent: u64,
    /// What a sender adds that nobody sees.
    pub(crate) unrecorded: u64,
    pub(crate) tail_percent: u32,
    pub(crate) can: Expressible,
    pub(crate) trigger: Trigger,
    /// Messages pinned, by their place in the history; those beyond its end are left out.
    pub(crate) pins: Vec<usize>,
    /// Whether the older half is too far back to be read again.
    pub(crate) is_long: bool,
    /// Whether the policy names a target.
    pub(crate) has_target: bool,
    /// Who else has a say.
    pub(crate) others: Others,
    /// What else the policy and the moment say.
    pub(crate) axes: Axes,
}

impl Asked {
    /// What the default policy does with a window of so many tokens where only the embedded summariser is
    /// there.
    pub(crate) fn plainly(window: u64) -> Self {
        Self {
            strategy: vec![Strategy::Summarize, Strategy::Drop],
            window,
            fixed_percent: 0,
            unrecorded: 0,
            tail_percent: 40,
            can: Expressible::ALL,
            trigger: Trigger::Threshold,
            pins: Vec::new(),
            is_long: false,
            has_target: true,
            others: Others::nobody(),
            axes: Axes::default(),
        }
    }
}

/// More questions than any plan may ask: its calls are limited to a fraction of this.
const QUESTIONS_MAX: usize = 100;

/// A session in memory.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) log: epitome_core::Log,
    pub(crate) archive: MemoryArchive,
    pub(crate) sizes: SizeTable,
    pub(crate) context: Context,
    pub(crate) history: Vec<EntryId>,
    compactions: Vec<EntryId>,
    messages: Vec<Message>,
    called: usize,
    /// How many messages there were when the harness's own tool compacted last.
    summarized: usize,
}

impl Session {
    pub(crate) fn of(acts: &[Act]) -> Self {
        let mut session = Self::default();
        session.say(acts);
        session
    }

    pub(crate) fn say(&mut self, acts: &[Act]) {
        for act in acts {
            match act {
                Act::Says(len) => self.put(Message::text(
                    Role::User,
                    Author::Person,
                    words("ask", *len, self.history.len()),
                )),
                Act::Reminds(which) => self.put(Message::text(
                    Role::User,
                    Author::Harness,
                    words("remind", 200, usize::from(*which)),
                )),
                Act::Instructs(len) => {
                    let text = words("instruct", *len, self.history.len());
                    self.put(Message::text(Role::System, Author::Harness, text));
                }
                Act::Repeats(which) => {
                    let text = words("repeat", 400, usize::from(*which));
                    self.put(Message::text(Role::System, Author::Harness, text));
                }
                Act::Attaches(len) => self.attach(*len),
                Act::Hushes(how) => self.hush(*how),
                Act::Floods(sizes) => {
                    sizes.iter().for_each(|&size| self.call(&[Some(size)], Order::Straight));
                }
                Act::Shows => self.show(),
                Act::Summarizes => self.summarize(),
                Act::Answers(len, thinking) => self.answer(*len, *thinking),
                Act::Calls(results, order) => self.call(results, *order),
                Act::Odd(oddity, size) => self.odd(*oddity, *size),
            }
        }
    }

    fn show(&mut self) {
        let picture = Image { media_type: "image/png".into(), data: "AAAA".into(), is_url: false };
        let blocks = vec![Block::text("look"), Block::Image(picture)];
        self.put(Message { role: Role::User, author: Author::Person, blocks });
    }

    fn attach(&mut self, len: usize) {
        let json = format!("{{\"data\":\"{}\"}}", "x".repeat(len)).into();
        let document = Block::Opaque(Opaque { kind: "document".into(), json });
        let blocks = vec![Block::text(words("read", len, self.history.len())), document];
        self.put(Message { role: Role::User, author: Author::Person, blocks });
    }

    /// Says nothing: as a person with an empty text, as a person with no block, as the model, as a tool.
    fn hush(&mut self, how: u8) {
        let empty = vec![Block::text("")];
        match how {
            0 => self.put(Message { role: Role::User, author: Author::Person, blocks: empty }),
            1 => self.put(Message { role: Role::User, author: Author::Person, blocks: Vec::new() }),
            2 => self.put(Message { role: Role::Assistant, author: Author::Model, blocks: empty }),
            _ => {
                let call = self.next_call();
                let input = "".into();
                let made = Call { id: call.clone(), name: "run".into(), input, freeform: true };
                let blocks = vec![Block::Call(made)];
                self.put(Message { role: Role::Assistant, author: Author::Model, blocks });
                let answer = ToolResult { call, parts: Vec::new(), is_error: false };
                let blocks = vec![Block::Result(answer)];
                self.put(Message { role: Role::Tool, author: Author::Tool, blocks });
            }
        }
    }

    fn summarize(&mut self) {
        let summary = Some("what the tool made of it".into());
        let id = self.log.push(Entry::Recorded(Box::new(Compaction { summary, ..Compaction::default() })));
        self.take(id);
        self.compactions.push(id);
        self.summarized = self.messages.len();
    }

    fn answer(&mut self, len: usize, thinking: usize) {
        let thought = Block::Thinking {
            text: words("think", thinking, 0).into(),
            signature: Some("seal".into()),
            redacted: false,
        };
        let said = Block::text(words("answer", len, self.history.len()));
        self.put(Message { role: Role::Assistant, author: Author::Model, blocks: vec![thought, said] });
    }

    fn call(&mut self, results: &[Option<usize>], order: Order) {
        let ids: Vec<CallId> = results.iter().map(|_| self.next_call()).collect();
        let calls = ids.iter().map(|id| Call {
            id: id.clone(),
            name: "run".into(),
            input: "{\"command\":\"ls\"}".into(),
            freeform: false,
        });
        self.put(Message {
            role: Role::Assistant,
            author: Author::Model,
            blocks: calls.map(Block::Call).collect(),
        });
        let mut answers: Vec<(CallId, usize)> =
            ids.into_iter().zip(results).filter_map(|(id, size)| Some((id, (*size)?))).collect();
        if matches!(order, Order::Reversed) {
            answers.reverse();
        }
        if matches!(order, Order::Together) {
            let blocks = answers.drain(..).map(|(call, size)| result(call, size)).collect::<Vec<_>>();
            if !blocks.is_empty() {
                self.put(Message { role: Role::Tool, author: Author::Tool, blocks });
            }
        }
        for (call, size) in answers {
            if matches!(order, Order::Interrupted) {
                self.put(Message::text(Role::User, Author::Person, "wait"));
            }
            self.put(Message { role: Role::Tool, author: Author::Tool, blocks: vec![result(call, size)] });
            if matches!(order, Order::Noted) {
                self.put(Message::text(Role::User, Author::Harness, "[hook_success PostToolUse]"));
            }
        }
    }

    pub(super) fn next_call(&mut self) -> CallId {
        // Ids come back after a while, as some providers' do.
        self.called += 1;
        CallId::from(format!("call_{}", self.called % 40).as_str())
    }

    pub(super) fn put(&mut self, message: Message) {
        let id = self.log.push(Entry::Message(Item::of(&message)));
        self.sizes.set(id, Gauge.sizes(&message));
        self.archive.put(id, message.clone());
        self.messages.push(message);
        self.history.push(id);
        self.take(id);
    }

    pub(crate) fn reader(&self) -> LogReader<'_> {
        LogReader { log: &self.log, sizes: &self.sizes, measure: &Gauge, archive: &self.archive }
    }

    fn take(&mut self, id: EntryId) {
        let Self { log, sizes, archive, context, .. } = self;
        context.take(id, LogReader { log, sizes, measure: &Gauge, archive }).expect("all is in memory");
    }

    /// Anchors a mark at the newest entry.
    pub(crate) fn mark(&mut self, mark: Mark) -> EntryId {
        let id = self.log.mark(self.log.newest(), mark).expect("the machine makes sound marks");
        self.take(id);
        id
    }

    pub(crate) fn budget(&self, asked: &Asked) -> Budget {
        let fixed = Tokens(asked.window).share(asked.fixed_percent, 100) + Tokens(20);
        let budget = Budget::new(Tokens(asked.window), fixed, Tokens(asked.window / 10));
        budget.with_unrecorded(Tokens(asked.unrecorded))
    }

    /// What would come of a compaction.
    pub(crate) fn outcome(&self, asked: &Asked) -> Conclusion {
        self.outcome_from(asked, &self.archive)
    }

    /// What would come of a compaction whose originals are in `archive`.
    pub(crate) fn outcome_from(&self, asked: &Asked, archive: &dyn Archive) -> Conclusion {
        let (policy, prompts) = (policy(asked), Prompts::default());
        let in_view: Vec<EntryId> = self.context.message_slots().map(|(id, ..)| id).collect();
        let job = Job {
            log: &self.log,
            sizes: &self.sizes,
            history: &self.history,
            compactions: &self.compactions,
            earlier: FarHistory {
                count: if asked.is_long { self.history.len() / 2 } else { 0 },
                ledger: &Ledger::default(),
                answers: &embedded::AnswerIndex::default(),
            },
            context: &self.context,
            archive,
            digests: &DigestCache::default(),
            measure: &Gauge,
            count_method: &"a quarter of the bytes".into(),
            budget: self.budget(asked),
            policy: &policy,
            trigger: asked.axes.trigger.unwrap_or(asked.trigger),
            focus: None,
            recall: None,
            pins: &self.pins(asked),
            can: asked.can,
            available: asked.others.available(&prompts),
            range: asked.axes.range(&in_view),
            circumstances: asked.axes.circumstances(),
        };
        let plan = match Plan::draft(job).expect("all is in memory") {
            PlanDraft::Plan(plan) => plan,
            PlanDraft::Settled(conclusion) => return conclusion,
        };
        let mut next = plan.begin().expect("all is in memory");
        let (mut fates, mut calls) = (asked.others.fates(), 0);
        for _ in 0..QUESTIONS_MAX {
            next = match next {
                Next::Done(conclusion) => return conclusion,
                Next::Summarize(ask) => {
                    let draft = embedded::summarize(&ask.material(), ask.budget());
                    ask.answer(Ok(draft))
                }
                Next::Consult(consultation) => {
                    let verdicts = fates.verdicts(&consultation.event(), &self.history);
                    consultation.answer(verdicts)
                }
                Next::Call(question) => {
                    calls += question.requests().len();
                    assert!(calls <= policy.guard.calls_max as usize, "{calls} calls");
                    asked.others.check_sizes(question.requests(), &policy);
                    let called = question.requests().iter().map(|request| fates.call(request)).collect();
                    question.answer(called)
                }
                Next::Delegate(delegation) => {
                    let list = fates.list(&delegation.messages());
                    delegation.answer(list)
                }
                Next::Await(checkpoint) => checkpoint.answer(fates.decision()),
            }
            .expect("all is in memory");
        }
        panic!("a compaction asks without end");
    }

    /// Compacts; the record where anything was done.
    pub(crate) fn compact(&mut self, asked: &Asked) -> Option<Record> {
        let Conclusion { effect, record } = self.outcome(asked);
        let kept = record.clone().into();
        let mark = match effect {
            Effect::Compact(compaction) => Mark::Compaction { compaction, record: kept },
            Effect::Edit(edit) => Mark::Edit { edit, record: kept },
            Effect::Nothing => return None,
        };
        let id = self.mark(mark);
        self.compactions.push(id);
        Some(*record)
    }

    /// Our own compactions and edits, oldest first.
    pub(crate) fn passes(&self) -> Vec<EntryId> {
        self.compactions.iter().copied().filter(|&id| self.log.mark_of(id).is_some()).collect()
    }

    /// A person says a word below `parent`; the session itself stays where it is.
    pub(crate) fn branch(&mut self, parent: Option<EntryId>, word: &str) -> EntryId {
        let message = Message::text(Role::User, Author::Person, word);
        let entry = Entry::Message(Item::of(&message));
        let id = self.log.append(parent, entry).expect("the parent is on a path");
        self.sizes.set(id, Gauge.sizes(&message));
        self.archive.put(id, message);
        id
    }

    /// The context of the path that ends in `leaf`, from scratch.
    pub(crate) fn context_of(&self, leaf: Option<EntryId>) -> Context {
        Context::of(leaf, self.reader()).expect("all is in memory")
    }

    /// Everything in view on the path that ends in `leaf`, as text.
    pub(crate) fn text_of(&self, leaf: EntryId) -> String {
        self.text_in(&self.context_of(Some(leaf)))
    }

    /// What a context shows up to the summary that `pass` left, as text.
    pub(crate) fn head(&self, context: &Context, pass: EntryId) -> String {
        let summary = context.slots().iter().position(|slot| *slot == Slot::Summary { id: pass });
        let end = summary.expect("the summary is in view") + 1;
        let shown = context.shown(self.reader()).expect("all is in memory");
        shown[..end].iter().map(|shown| format!("{:?}\n", shown.message)).collect()
    }

    /// Everything in view, as text.
    pub(crate) fn text(&self) -> String {
        self.text_in(&self.context)
    }

    fn text_in(&self, context: &Context) -> String {
        let shown = context.shown(self.reader()).expect("all is in memory");
        shown.iter().map(|shown| format!("{:?}\n", shown.message)).collect()
    }

    /// Every call with its result, by entry; the nearest call of that id counts.
    pub(crate) fn pairs(&self) -> Vec<(EntryId, EntryId)> {
        let mut made: HashMap<CallId, EntryId> = HashMap::new();
        let mut pairs = Vec::new();
        for (&id, message) in self.history.iter().zip(&self.messages) {
            pairs.extend(message.results().filter_map(|result| Some((*made.get(&result.call)?, id))));
            made.extend(message.calls().map(|call| (call.id.clone(), id)));
        }
        pairs
    }

    /// Every message in view, with its form and as the model sees it.
    pub(crate) fn shown(&self) -> Vec<(EntryId, Form, Arc<Message>)> {
        let shown = self.context.shown(self.reader()).expect("all is in memory");
        let form =
            |id| self.context.message_slots().find(|(shown, ..)| *shown == id).map(|(_, form, _)| form);
        let messages = shown.into_iter().filter_map(|view| Some((view.id?, form(view.id?)?, view.message)));
        messages.collect()
    }

    /// A message as it was said.
    pub(crate) fn original(&self, id: EntryId) -> Arc<Message> {
        self.archive.message(id).expect("all is in memory")
    }

    /// What a message says.
    pub(crate) fn said(&self, id: EntryId) -> String {
        self.archive.message(id).expect("all is in memory").said()
    }

    /// The messages pinned.
    pub(crate) fn pins(&self, asked: &Asked) -> Vec<EntryId> {
        asked.pins.iter().filter_map(|&at| self.history.get(at).copied()).collect()
    }

    /// The first and the newest message of a person.
    pub(crate) fn always(&self) -> Vec<EntryId> {
        let said: Vec<EntryId> = self
            .history
            .iter()
            .zip(&self.messages)
            .filter(|(_, message)| message.author == Author::Person)
            .map(|(&id, _)| id)
            .collect();
        said.first().into_iter().chain(said.last()).copied().collect()
    }

    /// Instructions in the middle of the history, as far as they are in view.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = EntryId> + '_ {
        let in_view = self.context.message_slots().map(|(id, ..)| id);
        in_view.filter(|&id| self.log.item(id).is_some_and(|item| item.role == Role::System))
    }

    /// The model's newest exchange, unless a person has spoken since, and the newest thing it said.
    fn work(&self) -> Vec<EntryId> {
        let newest = |is: &dyn Fn(EntryId, &Message) -> bool| {
            let mut newest = self.history.iter().zip(&self.messages).skip(self.summarized).rev();
            newest.find(|(id, message)| is(**id, message)).map(|(id, _)| *id)
        };
        let said = newest(&|_, message| message.author == Author::Person);
        let pairs = self.pairs();
        let end = |id| pairs.iter().filter(|(call, _)| *call == id).map(|&(_, result)| result).max();
        let is_exchange =
            |id, message: &Message| message.calls().next().is_some() && end(id).max(Some(id)) > said;
        let reply = newest(&|_, message| message.role == Role::Assistant);
        reply.into_iter().chain(newest(&is_exchange)).collect()
    }

    /// Everything that is always kept: what people said first and last, the model's newest work,
    /// instructions, and pins with their exchanges.
    pub(crate) fn kept(&self, asked: &Asked) -> Vec<EntryId> {
        let text = |id| self.archive.message(id).expect("all is in memory");
        let is_newest =
            |&id: &EntryId| !self.instructions().any(|newer| newer > id && text(newer) == text(id));
        let instructions = self.instructions().filter(is_newest);
        let always = self.always().into_iter().chain(instructions).chain(self.work());
        let mut kept: Vec<EntryId> = always.chain(self.pins(asked)).collect();
        let pairs = self.pairs();
        // Twice: from a result to its call, and from there to the call's other results.
        for _ in 0..2 {
            let partners = pairs.iter().filter(|(call, result)| kept.contains(call) || kept.contains(result));
            kept.extend(partners.flat_map(|&(call, result)| [call, result]).collect::<Vec<_>>());
        }
        kept.extend(kept.iter().flat_map(|&id| self.around(id)).collect::<Vec<_>>());
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// An exchange in view, with all that stands between its call and its results, and what the harness
    /// appended to it.
    fn around(&self, id: EntryId) -> Vec<EntryId> {
        let in_view = || self.context.message_slots().map(|(id, ..)| id);
        let is_note = |id: &EntryId| self.log.item(*id).is_some_and(|item| item.is_appended());
        let Some(of) = in_view().filter(|shown| *shown <= id).rfind(|id| !is_note(id)) else { return vec![] };
        let pairs = self.pairs();
        let is_exchange = |&&(call, result): &&(EntryId, EntryId)| call == of || result == of;
        let call = pairs.iter().find(is_exchange).map_or(of, |&(call, _)| call);
        let makes_calls = self.log.item(call).is_some_and(|item| item.is_exchange());
        if !makes_calls || !in_view().any(|shown| shown == call) {
            return vec![];
        }
        let last = pairs.iter().rev().find(|(made, _)| *made == call).map_or(call, |&(_, last)| last);
        let notes = in_view().skip_while(|&id| id <= last).take_while(is_note);
        in_view().filter(|&id| id >= call && id <= last).chain(notes).collect()
    }

    /// The newest exchange, where it still waits for results.
    pub(crate) fn open_exchange(&self) -> Vec<EntryId> {
        let Some(from) = self.messages.iter().rposition(|message| message.role == Role::Assistant) else {
            return Vec::new();
        };
        let calls = self.messages[from].calls().count();
        let answered: usize = self.messages[from..].iter().map(|message| message.results().count()).sum();
        if answered < calls && from >= self.summarized { self.history[from..].to_vec() } else { Vec::new() }
    }
}

fn policy(asked: &Asked) -> Policy {
    let mut settings = Settings { strategy: asked.strategy.clone(), ..Settings::default() };
    settings.keep.newest = asked.others.newest.unwrap_or(Newest::Percent(asked.tail_percent));
    settings.trigger.target = settings.trigger.target.filter(|_| asked.has_target);
    settings.summary.short_max = asked.others.makes_short.then_some(Tokens(100));
    settings.prune.size_min = Tokens(20);
    asked.axes.turn(&mut settings);
    Policy::try_from(settings).expect("the settings are sound")
}

fn result(call: CallId, size: usize) -> Block {
    let parts = vec![ResultPart::Text { text: words("result", size, 0).into() }];
    Block::Result(ToolResult { call, parts, is_error: false })
}

fn words(kind: &str, len: usize, which: usize) -> String {
    let mut text = format!("{kind} number {which}: ");
    while text.len() < len {
        text.push_str("the quick brown fox jumps over ");
    }
    text
}
