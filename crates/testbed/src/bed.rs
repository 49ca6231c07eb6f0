//! A session under a preset, and the means to fill it.

use crate::clock::TestClock;
use crate::gauge::Quarter;
use crate::model::TestModel;
use epitome_core::{
    Archive, Author, Block, Budget, Call, Context, Entry, EntryId, Expressible, Log, Message, Policy, Record,
    ResultPart, Role, Settings, SizeTable, Tokens, ToolResult, Trigger,
};
use epitome_engine::{
    AppendedEntry, Assembly, CompactOptions, Driver, EngineError, Event, Hook, Ports, Recovery, Session,
    SessionOptions, Step, SummaryModel, TurnEnd,
};
use epitome_settings::{preset, prompts};
use futures_util::FutureExt as _;
use std::future::Future;
use std::sync::Arc;

/// A session in a test.
pub struct Bed {
    /// The session.
    pub session: Session,
    /// Who asks for it.
    pub driver: Driver,
    /// Its summariser.
    pub model: Arc<TestModel>,
    /// Its time.
    pub clock: Arc<TestClock>,
    /// Number of messages said, for texts that differ.
    said: usize,
    /// What the steps told that nobody has asked for yet.
    events: Vec<Event>,
}

/// What a bed is made with.
pub struct Maker {
    settings: Settings,
    budget: Budget,
    clock: Arc<TestClock>,
    model: Option<TestModel>,
    hooks: Vec<Arc<dyn Hook>>,
    ports: Ports,
    can: Expressible,
    is_warm: bool,
    is_native: bool,
}

impl Maker {
    /// The settings of a preset, in a window of so many tokens and no answer's reserve.
    pub fn new(preset_name: &str, window: u64) -> Self {
        let settings = preset::settings(preset_name).expect("the preset is in order");
        let clock = Arc::new(TestClock::default());
        let mut ports = Ports::at(clock.clone());
        ports.prompts = Arc::new(prompts::built_in(&settings.summary.prompt).unwrap_or_default());
        Self {
            settings,
            budget: Budget::new(Tokens(window), Tokens::ZERO, Tokens::ZERO),
            model: Some(TestModel::new(clock.clone())),
            clock,
            hooks: Vec::new(),
            ports,
            can: Expressible::ALL,
            is_warm: false,
            is_native: false,
        }
    }

    /// With other settings.
    #[must_use]
    pub fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// With another budget.
    #[must_use]
    pub fn budget(self, change: impl FnOnce(&mut Budget)) -> Self {
        let mut budget = self.budget;
        change(&mut budget);
        Self { budget, ..self }
    }

    /// With another model.
    #[must_use]
    pub fn model(self, change: impl FnOnce(TestModel) -> TestModel) -> Self {
        let model = change(TestModel::new(self.clock.clone()));
        Self { model: Some(model), ..self }
    }

    /// With nobody to write summaries but the embedded summariser.
    #[must_use]
    pub fn no_model(self) -> Self {
        Self { model: None, ..self }
    }

    /// With a hook.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Written to a place that can say only so much.
    #[must_use]
    pub fn can(self, can: Expressible) -> Self {
        Self { can, ..self }
    }

    /// With others to ask.
    #[must_use]
    pub fn ports(mut self, change: impl FnOnce(&mut Ports)) -> Self {
        change(&mut self.ports);
        self
    }

    /// With a model that is the session's own and has its prompt in its cache.
    #[must_use]
    pub fn warm(self) -> Self {
        Self { is_warm: true, ..self }
    }

    /// With a provider that compacts by itself.
    #[must_use]
    pub fn native(self) -> Self {
        Self { is_native: true, ..self }
    }

    /// The bed.
    pub fn bed(self) -> Bed {
        let Self { settings, budget, clock, model, hooks, mut ports, can, is_warm, is_native } = self;
        let has_model = model.is_some();
        let model = Arc::new(model.unwrap_or_else(|| TestModel::new(clock.clone())));
        if has_model {
            ports.model = Some(SummaryModel { model: model.clone(), is_warm, is_native });
        }
        for hook in hooks {
            ports.add_hook(hook).expect("a test has one compactor at most");
        }
        let policy = Arc::new(Policy::try_from(settings).expect("the settings are sound"));
        let assembly = Assembly::of_parts(policy, Arc::new(Quarter), "a quarter of the bytes", budget);
        let options = SessionOptions { can, ..SessionOptions::default() };
        let session = Session::empty(assembly).with_options(options);
        Bed { session, driver: Driver::new(ports), model, clock, said: 0, events: Vec::new() }
    }
}

/// What comes of work that waits for nobody: the test's model, hooks and clock answer at once.
pub fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nobody in a test takes time")
}

impl Bed {
    /// A session under a preset in a window of so many tokens.
    pub fn new(preset: &str, window: u64) -> Self {
        Maker::new(preset, window).bed()
    }

    /// Says a message.
    pub fn say(&mut self, message: Message) -> EntryId {
        self.said += 1;
        self.session.append(message).expect("all is in memory")
    }

    /// A person speaks.
    pub fn user(&mut self, text: &str) -> EntryId {
        self.say(Message::text(Role::User, Author::Person, text))
    }

    /// The model answers.
    pub fn assistant(&mut self, text: &str) -> EntryId {
        self.say(Message::text(Role::Assistant, Author::Model, text))
    }

    /// The harness puts something in.
    pub fn harness(&mut self, text: &str) -> EntryId {
        self.say(Message::text(Role::User, Author::Harness, text))
    }

    /// A text of exactly so many tokens, unlike any other of this bed.
    pub fn filler(&self, tokens: u64) -> String {
        let bytes = tokens as usize * 4;
        let mut text = format!("{:06} ", self.said);
        while text.len() < bytes {
            text.push_str("lorem ipsum dolor sit amet ");
        }
        text.truncate(bytes);
        text
    }

    /// So many messages of so many tokens, a person and the model in turn.
    pub fn talk(&mut self, messages: usize, tokens: u64) -> Vec<EntryId> {
        let mut ids = Vec::new();
        for number in 0..messages {
            let text = self.filler(tokens);
            ids.push(if number % 2 == 0 { self.user(&text) } else { self.assistant(&text) });
        }
        ids
    }

    /// The model calls a tool: the ids of the call and of its result.
    pub fn exchange(&mut self, tool: &str, input: &str, result: &str) -> (EntryId, EntryId) {
        let call = self.call(&[(tool, input)]);
        (call, self.results(&[result]))
    }

    /// The model calls tools, which have not answered yet.
    pub fn call(&mut self, calls: &[(&str, &str)]) -> EntryId {
        let number = self.said;
        let blocks = calls.iter().enumerate().map(|(at, (tool, input))| {
            let (name, input) = ((*tool).into(), (*input).into());
            Block::Call(Call {
                id: format!("call-{number}-{at}").as_str().into(),
                name,
                input,
                freeform: false,
            })
        });
        self.say(Message { role: Role::Assistant, author: Author::Model, blocks: blocks.collect() })
    }

    /// The tools of the newest call answer, in one message.
    pub fn results(&mut self, results: &[&str]) -> EntryId {
        let number = self.said - 1;
        let blocks = results.iter().enumerate().map(|(at, text)| {
            let parts = vec![ResultPart::Text { text: (*text).into() }];
            let call = format!("call-{number}-{at}").as_str().into();
            Block::Result(ToolResult { call, parts, is_error: false })
        });
        self.say(Message { role: Role::Tool, author: Author::Tool, blocks: blocks.collect() })
    }

    /// Compacts.
    pub fn compact(&mut self, trigger: Trigger) -> Arc<Record> {
        let step = self.try_compact(trigger).expect("the compaction completes");
        step.record.expect("a compaction that was asked for has a record")
    }

    /// Compacts, or fails.
    pub fn try_compact(&mut self, trigger: Trigger) -> Result<Step, EngineError> {
        let step = now(self.driver.compact(&mut self.session, trigger))?;
        Ok(self.heard(step))
    }

    /// Compacts a copy of the session while it goes on by `meanwhile`, and takes up what came of it after that.
    pub fn compact_while(&mut self, trigger: Trigger, meanwhile: impl FnOnce(&mut Self)) -> Arc<Record> {
        let mut copy = self.session.clone();
        copy.step(None);
        let step = now(self.driver.compact(&mut copy, trigger)).expect("the compaction completes");
        meanwhile(self);
        let (leaf, mut log) = (self.session.leaf(), self.session.log().clone());
        for AppendedEntry { parent, entry, .. } in step.appended {
            let Entry::Mark(mark) = entry else { panic!("a compaction appends marks, not {entry:?}") };
            log.mark(parent, mark).expect("its place is still there");
        }
        self.session = self.reopened_over(log);
        self.session.move_to(leaf).expect("all is in memory");
        step.record.expect("a compaction that was asked for has a record")
    }

    /// The session taken up anew over a later state of its log; it stands nowhere yet.
    pub fn reopened_over(&self, log: Log) -> Session {
        let (sizes, archive) = (self.session.timeline().sizes().clone(), self.session.archive().clone());
        Session::new(Arc::new(log), sizes, archive, self.session.assembly().clone())
            .with_options(self.session.options().clone())
    }

    /// Goes on in another room.
    pub fn use_budget(&mut self, budget: Budget) {
        let now = self.session.assembly();
        let (policy, measure) = (now.policy().clone(), now.measure().clone());
        let assembly = Assembly::of_parts(policy, measure, now.count_method(), budget);
        self.session.set_assembly(assembly).expect("all is in memory");
    }

    /// What each slot of a context takes, oldest first.
    pub fn slot_tokens(context: &Context) -> Vec<Tokens> {
        (0..context.slots().len()).map(|at| context.tokens_between(at, at + 1)).collect()
    }

    /// What a compaction would come to.
    pub fn preview(&self, trigger: Trigger) -> Arc<Record> {
        let tried = now(self.driver.preview(&self.session, trigger, CompactOptions::default()));
        tried.expect("all is in memory")
    }

    /// What is done before a call; its record, where anything was.
    pub fn prepare(&mut self) -> Option<Arc<Record>> {
        self.step().record
    }

    /// What is done before a call.
    pub fn step(&mut self) -> Step {
        let step = now(self.driver.prepare(&mut self.session)).expect("all is in memory");
        self.heard(step)
    }

    /// What is done when a turn has ended; its record, where anything was.
    pub fn end_turn(&mut self, end: TurnEnd) -> Option<Arc<Record>> {
        let step = now(self.driver.end_turn(&mut self.session, end)).expect("all is in memory");
        self.heard(step).record
    }

    /// What is done after an overflow.
    pub fn recover(&mut self, over: Option<u64>) -> Recovery {
        let recovery = now(self.driver.recover(&mut self.session, over.map(Tokens)));
        let recovery = recovery.expect("all is in memory");
        let (Recovery::Retry(step) | Recovery::Surface { step, .. }) = &recovery;
        self.events.extend(step.events.iter().cloned());
        recovery
    }

    fn heard(&mut self, step: Step) -> Step {
        self.events.extend(step.events.iter().cloned());
        step
    }

    /// Everything that happened since this was last asked.
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.events);
        events.extend(self.session.take_events());
        events
    }

    /// The session as another process finds it: opened from its log and originals, everything counted anew.
    pub fn reopened(&self) -> Session {
        let session = &self.session;
        let (log, archive) = (session.timeline().log().clone(), session.archive().clone());
        let measure = session.assembly().measure();
        let mut sizes = SizeTable::default();
        for (id, _) in log.iter().filter(|(_, entry)| matches!(entry, Entry::Message(_))) {
            sizes.set(id, measure.sizes(&archive.message(id).expect("all is in memory")));
        }
        let mut opened = Session::new(log, Arc::new(sizes), archive, session.assembly().clone())
            .with_options(session.options().clone());
        opened.move_to(session.leaf()).expect("all is in memory");
        opened
    }

    /// A message as it was said.
    pub fn original(&self, id: EntryId) -> Arc<Message> {
        self.session.archive().message(id).expect("it was said")
    }

    /// What the model sees, one text for each message.
    pub fn shown(&self) -> Vec<String> {
        let shown = self.session.shown().expect("all is in memory");
        shown.iter().map(|shown| told(&shown.message)).collect()
    }

    /// The ids of the messages in view.
    pub fn in_view(&self) -> Vec<EntryId> {
        self.session.context().message_slots().map(|(id, ..)| id).collect()
    }
}

/// A message as text: what was said, calls and results.
fn told(message: &Message) -> String {
    let pieces = message.blocks.iter().map(|block| match block {
        Block::Text { text } => text.to_string(),
        Block::Thinking { text, .. } => format!("(thinking {text})"),
        Block::Call(call) => format!("(call {} {})", call.name, call.input),
        Block::Result(result) => format!("(result {})", result.text()),
        Block::Image(image) => format!("(image {})", image.media_type),
        Block::Opaque(opaque) => format!("({})", opaque.kind),
    });
    pieces.collect::<Vec<_>>().join("\n")
}
