//! No waiting: two thousand turns with an agent and a summariser on sockets, summaries written in the
//! background and swapped in. Time stands still and jumps to whatever is waited for, so that a wait of
//! nothing is exactly nothing.

use epitome_core::policy::Threshold;
use epitome_core::{
    Archive, Author, Budget, CallResult, EntryId, Message, Outcome, Policy, Record, Role, SummaryRequest,
    Tokens,
};
use epitome_engine::{
    Assembly, Background, BoxFuture, BranchExit, Driver, Event, FrozenClock, Model, ModelMeasure, Ports,
    Session, Spawn, SummaryModel,
};
use epitome_provider::{Aliases, Provider, World};
use epitome_settings::{preset, prompts};
use epitome_tokens::{Catalog, Counter};
use epitome_upstream::{Handle, Script, Upstream};
use epitome_wire::{Protocol, encode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The agent's window; a request past it would be refused.
const WINDOW: u64 = 6_000;
/// The agent takes five seconds to answer.
const AGENT: &str = "chat:*=slow=5000";
/// The summariser takes a moment before each piece of its answer: some twelve seconds in all.
const SUMMARISER: &str = "summary:*=slow=100";
/// What every summary request of ours says in its system prompt.
const MARKER: &str = "You write summaries of work";

/// Runs background work as a task of its own.
struct Tasks;

/// Ends a task when nobody waits for it any more.
struct Abort(tokio::task::AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Spawn for Tasks {
    fn spawn(&self, work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        let task = tokio::spawn(work);
        let abort = Abort(task.abort_handle());
        Box::pin(async move {
            let _until_dropped = abort;
            task.await.unwrap_or_default();
        })
    }
}

/// A provider whose calls are timed.
struct Timed {
    provider: Provider,
    took: Mutex<Vec<Duration>>,
}

impl Model for Timed {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn window(&self) -> Tokens {
        self.provider.window()
    }

    fn output_max(&self) -> Tokens {
        self.provider.output_max()
    }

    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let began = Instant::now();
            let called = self.provider.summarize(request).await;
            self.took.lock().unwrap_or_else(PoisonError::into_inner).push(began.elapsed());
            called
        })
    }
}

/// A conversation under way.
struct Road {
    session: Session,
    driver: Driver,
    background: Background,
    model: Arc<Timed>,
    client: reqwest::Client,
    agent: Handle,
    summariser: Handle,
    /// What was said and is still on the branch, oldest first.
    said: Vec<(EntryId, String)>,
    /// How long each compaction kept the agent from being asked.
    waits: Vec<Duration>,
    fates: BTreeMap<String, usize>,
}

async fn upstream(plan: &str, window_tokens: Option<u64>) -> Handle {
    let (plan, summary_markers) = (plan.parse().expect("a plan"), vec![MARKER.to_owned()]);
    let script = Script { plan, summary_markers, window_tokens, reply_tokens: 50, ..Script::default() };
    Upstream::start(script).await.expect("a port is free")
}

fn provider(base_url: &str) -> Provider {
    let table = format!(
        "[m]\nprovider = \"compatible\"\nprotocol = \"anthropic\"\nbase_url = \"{base_url}\"\nmodel = \"claude-haiku-4-5\"\n"
    );
    let aliases: Aliases = toml::from_str(&table).expect("the test wrote it");
    let world = World::new(Arc::new(FrozenClock)).expect("a client can be made");
    aliases.provider("m", Catalog::built_in(), &|_| None, &world).expect("it is in the table")
}

fn policy(is_speculative: bool) -> Policy {
    let mut settings = preset::settings("default").expect("it is built in");
    settings.speculate.enabled = is_speculative;
    // In so small a window a turn takes half of what the default's target leaves to grow.
    settings.trigger.target = Some(Threshold::Share(3_300));
    // One compaction, one call: a cut turn would take two.
    settings.keep.within_turn = false;
    Policy::try_from(settings).expect("the settings are sound")
}

impl Road {
    async fn start(is_speculative: bool) -> Self {
        let (agent, summariser) = (upstream(AGENT, Some(WINDOW)).await, upstream(SUMMARISER, None).await);
        let model = Arc::new(Timed { provider: provider(&summariser.base_url), took: Mutex::default() });
        let measure = ModelMeasure(Counter::for_model(&Catalog::built_in().find("claude-haiku-4-5")));
        let prompts = Arc::new(prompts::built_in("default").expect("it is built in"));
        let (policy, measure) = (Arc::new(policy(is_speculative)), Arc::new(measure));
        let budget = Budget::new(Tokens(WINDOW), Tokens::ZERO, Tokens(300));
        let assembly = Assembly::of_parts(policy, measure, "as the agent's model counts", budget);
        let summary_model = Some(SummaryModel::apart(model.clone()));
        let mut ports = Ports::default();
        (ports.model, ports.prompts) = (summary_model, prompts);
        Self {
            session: Session::empty(assembly),
            driver: Driver::new(ports),
            background: Background::default(),
            model,
            client: reqwest::Client::builder().no_proxy().build().expect("a client can be made"),
            agent,
            summariser,
            said: Vec::new(),
            waits: Vec::new(),
            fates: BTreeMap::new(),
        }
    }

    fn say(&mut self, role: Role, author: Author, text: &str) {
        let message = Message::text(role, author, text);
        let id = self.session.append(message).expect("all is in memory");
        self.said.push((id, text.to_owned()));
    }

    /// A person speaks and the agent answers, with whatever compaction that takes before it is asked.
    async fn turn(&mut self, number: usize) {
        self.say(Role::User, Author::Person, &wish(number));
        let began = Instant::now();
        let step = self.background.prepare(&self.driver, &mut self.session, &Tasks).await;
        let step = step.expect("it completes");
        if let Some(record) = step.record {
            self.waits.push(began.elapsed());
            self.check_partition(&record);
        }
        let answer = self.ask().await;
        self.say(Role::Assistant, Author::Model, &answer);
        self.background.tend(&self.driver, &mut self.session, &Tasks);
        for event in step.events.into_iter().chain(self.session.take_events()) {
            if let Event::Speculated { fate } = event {
                *self.fates.entry(fate).or_default() += 1;
            }
        }
    }

    /// Asks the agent over its socket; it refuses what is not valid or does not fit.
    async fn ask(&self) -> String {
        let parts = encode::RequestParts {
            system: &[],
            tools: &[],
            model: Some("claude-haiku-4-5"),
            max_tokens: Some(200),
        };
        let shown = self.session.shown().expect("all is in memory");
        let body = encode::body(Protocol::Anthropic, &parts, &shown).expect("it can be written");
        let url = format!("{}/v1/messages", self.agent.base_url);
        let reply = self.client.post(url).header("content-type", "application/json").body(body).send().await;
        let reply = reply.expect("the agent is there");
        let status = reply.status().as_u16();
        let text = reply.text().await.expect("it answers in text");
        assert_eq!(status, 200, "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        value["content"][0]["text"].as_str().expect("it answers in words").to_owned()
    }

    /// Each message of the branch is in exactly one place: in view, or covered by the summary.
    fn check_partition(&self, record: &Record) {
        // Back on an older branch, a compaction made beyond it may be used again as it stands.
        if matches!(record.outcome, Outcome::Applied { .. }) {
            return;
        }
        let made = record.change().expect("something was done");
        let (kept, left): (BTreeSet<_>, BTreeSet<_>) =
            (made.kept.iter().copied().collect(), made.superseded.iter().copied().collect());
        let all: BTreeSet<EntryId> = self.session.history().iter().copied().collect();
        assert_eq!((kept.union(&left).copied().collect::<BTreeSet<_>>(), &made.dropped), (all, &vec![]));
        assert!(kept.is_disjoint(&left), "a message is in view and covered as well");
    }

    /// Goes back `turns` turns, and on from there.
    async fn go_back(&mut self, turns: usize) {
        self.said.truncate(self.said.len() - 2 * turns);
        let (target, _) = *self.said.last().expect("something was said");
        self.driver.navigate(&mut self.session, target, BranchExit::Silent).await.expect("it is in the log");
    }

    fn check_nothing_lost(&self) {
        let originals = self.session.history().iter().map(|&id| {
            let message = self.session.archive().message(id).expect("it is kept");
            (id, message.said())
        });
        assert_eq!(originals.collect::<Vec<_>>(), self.said);
    }

    fn calls(&self) -> Vec<Duration> {
        self.model.took.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fate(&self, fate: &str) -> usize {
        self.fates.get(fate).copied().unwrap_or_default()
    }
}

/// What a person says: some hundred words, and now and then a long paste.
fn wish(number: usize) -> String {
    let lines = if number % 97 == 96 { 150 } else { 3 };
    let line = |at: usize| format!("in src/part_{number}.rs line {at} must say {}, please", number * 7 + at);
    let lines: Vec<String> = (0..lines).map(line).collect();
    format!("wish {number}: never touch config_{number}.toml\n{}", lines.join("\n"))
}

fn median(waits: &[Duration]) -> Duration {
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn longest(times: &[Duration]) -> Duration {
    times.iter().copied().max().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn over_two_thousand_turns_nobody_waits_for_a_summary() {
    let mut road = Road::start(true).await;
    let mut moves = 0;
    for number in 0..2_000 {
        road.turn(number).await;
        if number % 250 == 249 {
            road.go_back(3).await;
            moves += 1;
        }
    }
    road.check_nothing_lost();
    let (waits, calls) = (road.waits.clone(), road.calls());
    let waited = waits.iter().filter(|wait| !wait.is_zero()).count();
    eprintln!(
        "with speculation: {} compactions, {waited} waited for, median {:?}, longest {:?}; {} calls, longest {:?}; {:?}",
        waits.len(),
        median(&waits),
        longest(&waits),
        calls.len(),
        longest(&calls),
        road.fates
    );
    assert!(waits.len() > 60, "there is something to compact: {}", waits.len());
    assert_eq!(median(&waits), Duration::ZERO);
    assert!(longest(&waits) <= longest(&calls), "{:?} is more than one call", longest(&waits));
    let wasted: usize = road.fates.iter().filter(|(fate, _)| *fate != "swapped in").map(|(_, n)| n).sum();
    assert!(wasted <= waits.len() / 10 + moves, "{:?}", road.fates);
    // Nine calls of ten and more end in a compaction; the others were outgrown, left behind or asked again.
    assert!(calls.len() * 9 <= waits.len() * 10, "{} calls for {} compactions", calls.len(), waits.len());
    for upstream in [&road.agent, &road.summariser] {
        let report = upstream.report();
        assert_eq!((report.refused, report.overflows, report.violations), (0, 0, vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn without_it_every_compaction_is_waited_for() {
    let mut road = Road::start(false).await;
    for number in 0..200 {
        road.turn(number).await;
    }
    let (waits, calls) = (road.waits.clone(), road.calls());
    eprintln!(
        "without: {} compactions, median {:?}, longest {:?}",
        waits.len(),
        median(&waits),
        longest(&waits)
    );
    assert!(!waits.is_empty() && waits.iter().all(|wait| !wait.is_zero()));
    assert_eq!((calls.len(), road.fates), (waits.len(), BTreeMap::new()));
}

/// A road with a summary under way in the background.
async fn with_one_running() -> Road {
    let mut road = Road::start(true).await;
    for number in 0..95 {
        if road.background.is_running() {
            return road;
        }
        road.turn(number).await;
    }
    panic!("no summary was begun");
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_a_branch_that_was_left_is_thrown_away() {
    let mut road = with_one_running().await;
    road.go_back(2).await;
    road.turn(500).await;
    assert_eq!(road.fate("thrown away: the branch has moved"), 1, "{:?}", road.fates);
    assert!(road.waits.is_empty(), "nothing was swapped in");
}

#[tokio::test(start_paused = true)]
async fn a_summary_made_before_an_undo_is_thrown_away() {
    let mut road = with_one_running().await;
    for number in 0..95 {
        if road.background.is_running() && !road.waits.is_empty() {
            break;
        }
        road.turn(number).await;
    }
    let newest = *road.session.compactions().last().expect("one was made");
    road.session.undo(newest).expect("it is in the log");
    road.turn(500).await;
    assert_eq!(road.fate("thrown away: the branch has moved"), 1, "{:?}", road.fates);
    road.check_nothing_lost();
}

#[tokio::test(start_paused = true)]
async fn where_the_trigger_fires_first_the_one_call_under_way_is_waited_for() {
    let mut road = with_one_running().await;
    road.turn(96).await;
    let calls = road.calls();
    assert_eq!((road.waits.len(), calls.len(), road.fate("swapped in")), (1, 1, 1), "{:?}", road.fates);
    assert!(road.waits[0] <= calls[0], "{:?} of {:?}", road.waits, calls);
}
