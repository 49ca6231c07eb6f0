//! Summaries made beforehand for stored sessions: for which request they are kept, when they are used, and how many
//! there are at most.

use epitome_core::policy::Settings;
use epitome_core::{Author, EntryId, Message, Policy, Role, Tokens, Trigger};
use epitome_engine::store::{MemoryStore, SessionId, TenantId};
use epitome_engine::{
    Assembly, BoxFuture, Checkout, Clock, CompactOptions, Driver, Engine, Event, FileNow, HashedMessages,
    LookPoint, PreparedSession, RefusalFigures, RequestWaiter, Restorer, SessionOptions, Spawn, TurnEnd,
    Waiter, WindowFacts,
};
use epitome_tokens::Catalog;
use futures_util::FutureExt as _;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nobody is asked who takes time")
}

/// Counts what is begun. Work is done when somebody asks whether it is, unless it is held up.
#[derive(Default)]
struct Counted {
    begun: AtomicUsize,
    is_held_up: Arc<AtomicBool>,
}

impl Spawn for Counted {
    fn spawn(&self, mut work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let is_held_up = self.is_held_up.clone();
        Box::pin(poll_fn(move |context| match is_held_up.load(Ordering::Relaxed) {
            true => Poll::Pending,
            false => work.as_mut().poll(context),
        }))
    }
}

/// A stored session whose summaries are made beforehand.
struct Desk {
    engine: Engine,
    session: SessionId,
    spawned: Arc<Counted>,
    policy: Arc<Policy>,
    driver: Driver,
}

const WINDOW: Tokens = Tokens(8_000);
/// With so many messages a summary is begun, and none is due.
const PAST_THE_MARK: usize = 27;
/// With so many more it is due.
const TO_THE_TRIGGER: usize = 8;

impl Desk {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let spawned = Arc::new(Counted::default());
        let engine = Engine::new(Arc::new(MemoryStore::default())).with_spawn(spawned.clone());
        let session = now(engine.create(TenantId::LOCAL)).expect("a session");
        let mut settings = Policy::default().settings().clone();
        (settings.speculate.enabled, settings.speculate.lead_min) = (true, Tokens(2_000));
        // What a summary frees that was made beforehand follows from its target: this one has room for a turn more.
        settings.trigger.target = Some("40%".parse().expect("a threshold"));
        change(&mut settings);
        let policy = Arc::new(Policy::try_from(settings).expect("the settings are sound"));
        Self { engine, session, spawned, policy, driver: Driver::default() }
    }

    fn checkout(&self, leaf: EntryId) -> Checkout {
        let stated = WindowFacts { stated: Some(WINDOW), ..WindowFacts::default() };
        let model = Catalog::built_in().find("gpt-5");
        let mut assembly = Assembly::new(self.policy.clone(), model, stated).expect("it is stated");
        assembly.set_request(Tokens::ZERO, Some(Tokens(500)));
        let (options, driver) = (SessionOptions::default(), self.driver.clone());
        Checkout { session: self.session, leaf: Some(leaf), assembly, options, driver, idle: None }
    }

    fn append(&self, parent: Option<EntryId>, messages: Vec<Message>) -> EntryId {
        let messages = messages.into_iter().map(|message| (message, None)).collect();
        let ids = now(self.engine.append(
            self.session,
            parent,
            HashedMessages { messages, ..HashedMessages::default() },
        ));
        *ids.expect("it can be appended").last().expect("something was said")
    }

    /// Messages of a conversation in which a person speaks first.
    fn talk(&self, parent: Option<EntryId>, numbers: std::ops::Range<usize>) -> EntryId {
        self.append(parent, numbers.map(said).collect())
    }

    fn prepare(&self, leaf: EntryId) -> PreparedSession {
        now(self.engine.prepare(&self.checkout(leaf))).expect("it is prepared")
    }

    fn begun(&self) -> usize {
        self.spawned.begun.load(Ordering::Relaxed)
    }
}

fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(role, author, format!("message {number} about src/part_{number}.rs, ").repeat(20))
}

/// What a client says last, otherwise at each request.
fn changing(number: usize) -> Message {
    Message::text(Role::User, Author::Person, format!("it is {number} o'clock: go on"))
}

/// What became of summaries made beforehand.
fn fates(prepared: &PreparedSession) -> Vec<&str> {
    let events = prepared.step.events.iter();
    events
        .filter_map(|event| match event {
            Event::Speculated { fate } => Some(fate.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_client_that_changes_its_last_message_pays_for_one_summary_and_uses_it() {
    let desk = Desk::new();
    let mut answered = desk.talk(None, 0..PAST_THE_MARK - 1);
    for number in PAST_THE_MARK - 1..PAST_THE_MARK + TO_THE_TRIGGER {
        let leaf = desk.append(Some(answered), vec![changing(number)]);
        let prepared = desk.prepare(leaf);
        if let Some(record) = &prepared.step.record {
            assert_eq!((fates(&prepared), desk.begun()), (vec!["swapped in"], 1));
            let change = record.change().expect("something was done");
            let mut all = [change.superseded.clone(), change.kept.clone()].concat();
            all.sort_unstable();
            assert_eq!(
                all,
                prepared.session.history(),
                "each message in one place, and none of another path"
            );
            assert_eq!(record.tokens_after, prepared.session.context().tokens());
            return;
        }
        answered = desk.append(Some(answered), vec![said(0), said(number | 1)]);
    }
    panic!("nothing was compacted; {} summaries were begun", desk.begun());
}

#[test]
fn of_many_paths_the_oldest_summary_is_let_go_and_told() {
    let desk = Desk::new();
    let roots: Vec<EntryId> = (0..9).map(|_| desk.talk(None, 0..PAST_THE_MARK)).collect();
    let prepared: Vec<PreparedSession> = roots.iter().map(|&root| desk.prepare(root)).collect();
    let told: Vec<Vec<&str>> = prepared.iter().map(fates).collect();
    assert_eq!(told[..8], vec![Vec::<&str>::new(); 8]);
    assert_eq!(told[8], ["thrown away: other branches had summaries made meanwhile"]);
}

#[test]
fn a_mark_that_changes_nothing_in_view_costs_no_summary() {
    let desk = Desk::new();
    let first = desk.talk(None, 0..10);
    let begun = desk.talk(Some(first), 10..PAST_THE_MARK);
    desk.prepare(begun);
    now(desk.engine.label(&desk.checkout(first), "here")).expect("it is named");
    let full = desk.talk(Some(begun), PAST_THE_MARK..PAST_THE_MARK + TO_THE_TRIGGER);
    assert_eq!((fates(&desk.prepare(full)), desk.begun()), (vec!["swapped in"], 1));
}

#[test]
fn after_a_compaction_a_client_that_changes_its_last_message_pays_for_one_more() {
    let desk = Desk::new();
    let mut answered = desk.talk(None, 0..PAST_THE_MARK - 1);
    let mut told = Vec::new();
    for number in 0..40 {
        let leaf = desk.append(Some(answered), vec![changing(number)]);
        let prepared = desk.prepare(leaf);
        told.extend(fates(&prepared).into_iter().map(str::to_owned));
        if told.len() == 2 {
            break;
        }
        answered = desk.append(Some(answered), vec![said(0), said(number | 1)]);
    }
    assert_eq!((told, desk.begun()), (vec!["swapped in".to_owned(); 2], 2));
}

/// A policy that looks between turns.
fn between_turns(settings: &mut Settings) {
    (settings.check.after_turn, settings.check.before_input) = (true, true);
}

#[test]
fn what_was_made_beforehand_is_used_at_whatever_point_it_is_due() {
    let at_turn_end = |desk: &Desk, leaf| now(desk.engine.end_turn(&desk.checkout(leaf), TurnEnd::Good));
    let before_input =
        |desk: &Desk, leaf| now(desk.engine.prepare_at(&desk.checkout(leaf), LookPoint::Input(Tokens(10))));
    for act in [&at_turn_end as &dyn Fn(&Desk, EntryId) -> _, &before_input] {
        let desk = Desk::with(between_turns);
        let begun = desk.talk(None, 0..PAST_THE_MARK);
        desk.prepare(begun);
        let full = desk.talk(Some(begun), PAST_THE_MARK..PAST_THE_MARK + TO_THE_TRIGGER + 1);
        let prepared = act(&desk, full).expect("it is prepared");
        assert_eq!((fates(&prepared), desk.begun()), (vec!["swapped in"], 1));
    }
}

/// A session past the mark, with its summary made; where it has got to.
fn made_ready(desk: &Desk) -> EntryId {
    let leaf = desk.talk(None, 0..PAST_THE_MARK);
    desk.prepare(leaf);
    desk.talk(Some(leaf), PAST_THE_MARK..PAST_THE_MARK + 1)
}

#[test]
fn after_a_refusal_what_was_made_beforehand_is_used_where_it_frees_enough() {
    for (over, told) in [(None, "swapped in"), (Some(WINDOW), "thrown away: too much was said since")] {
        let desk = Desk::new();
        let leaf = made_ready(&desk);
        let checkout = desk.checkout(leaf);
        let refused = desk.engine.overflow(&checkout, RefusalFigures::default(), over);
        let (recovered, verdict) = now(refused).expect("it is recovered");
        assert_eq!((fates(&recovered), verdict, desk.begun()), (vec![told], Ok(()), 1));
        let record = recovered.step.record.as_ref().expect("room was made");
        assert_eq!((record.trigger, record.outcome.name()), (Trigger::Overflow, "compacted"));
    }
}

/// What becomes of a summary whose messages another compaction has taken.
const MOVED: &str = "thrown away: the branch has moved";

/// How a path is worked on.
type CheckoutMaker<'f> = &'f dyn Fn(&Desk, EntryId) -> Checkout;

#[test]
fn by_hand_what_was_made_beforehand_is_used_unless_something_else_is_wanted() {
    let focused = |desk: &Desk, leaf| {
        let mut checkout = desk.checkout(leaf);
        checkout.options.focus = Some("the parser".into());
        checkout
    };
    let governed = |desk: &Desk, leaf| {
        let mut settings = desk.policy.settings().clone();
        settings.keep.within_turn = !settings.keep.within_turn;
        let mut checkout = desk.checkout(leaf);
        let policy = Arc::new(Policy::try_from(settings).expect("the settings are sound"));
        checkout.assembly.set_policy(policy).expect("the window is stated");
        checkout
    };
    let plain = |desk: &Desk, leaf| desk.checkout(leaf);
    let cases: [(CheckoutMaker<'_>, &[&str]); 3] =
        [(&plain, &["swapped in"]), (&focused, &[MOVED]), (&governed, &[MOVED])];
    for (checkout, told) in cases {
        let desk = Desk::new();
        let checkout = checkout(&desk, made_ready(&desk));
        let compacted = desk.engine.compact(&checkout, Trigger::Manual, CompactOptions::default());
        let compacted = now(compacted).expect("it is compacted");
        assert_eq!(fates(&compacted), told);
        let record = compacted.step.record.as_ref().expect("it was asked for");
        assert_eq!((record.trigger, record.outcome.name()), (Trigger::Manual, "compacted"));
    }
}

#[test]
fn what_was_asked_for_in_a_turn_is_asked_for_when_the_session_was_let_go_meanwhile() {
    let desk = Desk::new();
    let running = desk.talk(None, 0..20);
    now(desk.engine.request_compaction(&desk.checkout(running))).expect("it is asked for");
    now(desk.engine.close(desk.session));
    let ended = desk.talk(Some(running), 20..21);
    let end = |leaf| now(desk.engine.end_turn(&desk.checkout(leaf), TurnEnd::Good)).expect("it is ended");
    let trigger = |ended: PreparedSession| ended.step.record.map(|record| record.trigger);
    assert_eq!(trigger(end(ended)), Some(Trigger::Requested));
    // On no path that was asked is it asked for any longer.
    let sibling = desk.talk(Some(running), 21..22);
    assert_eq!([trigger(end(ended)), trigger(end(sibling))], [None, None]);
}

#[test]
fn a_summary_is_begun_at_the_end_of_a_turn() {
    let desk = Desk::with(between_turns);
    let leaf = desk.talk(None, 0..PAST_THE_MARK + 1);
    now(desk.engine.end_turn(&desk.checkout(leaf), TurnEnd::Good)).expect("it is ended");
    assert_eq!(desk.begun(), 1);
}

/// One skill is in use.
struct OneSkill;

impl Restorer for OneSkill {
    fn file(&self, _: &str) -> Option<FileNow> {
        None
    }

    fn skills(&self) -> Vec<(String, String)> {
        vec![("weaving".into(), "over, under, over".into())]
    }

    fn servers(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

#[test]
fn what_is_swapped_in_brings_back_what_the_policy_wants_in_view() {
    let mut desk = Desk::with(|settings| settings.restore.skills_tokens = Tokens(1_000));
    desk.driver.ports_mut().restorer = Some(Arc::new(OneSkill));
    let begun = desk.talk(None, 0..PAST_THE_MARK);
    desk.prepare(begun);
    let full = desk.talk(Some(begun), PAST_THE_MARK..PAST_THE_MARK + TO_THE_TRIGGER);
    let prepared = desk.prepare(full);
    assert_eq!(fates(&prepared), ["swapped in"]);
    let record = prepared.step.record.as_ref().expect("it was due");
    let restored = record.change().and_then(|change| change.restored.clone()).expect("there is room");
    assert_eq!(restored.skills, ["weaving"]);
    assert_eq!(record.tokens_after, prepared.session.context().tokens());
    let shown = prepared.session.shown().expect("all is at hand");
    assert!(shown.iter().any(|shown| shown.message.said().contains("over, under, over")));
}

#[test]
fn a_caller_who_gives_up_waiting_leaves_the_summary_to_the_next() {
    let desk = Desk::new();
    let hold_up = |is: bool| desk.spawned.is_held_up.store(is, Ordering::Relaxed);
    hold_up(true);
    let begun = desk.talk(None, 0..PAST_THE_MARK);
    desk.prepare(begun);
    let full = desk.talk(Some(begun), PAST_THE_MARK..PAST_THE_MARK + TO_THE_TRIGGER);
    let waited = desk.engine.prepare(&desk.checkout(full)).now_or_never();
    assert!(waited.is_none(), "it is due, and its summary is under way");
    hold_up(false);
    assert_eq!((fates(&desk.prepare(full)), desk.begun()), (vec!["swapped in"], 1));
}

#[test]
fn a_session_that_is_closed_ends_what_is_under_way() {
    let desk = Desk::new();
    desk.spawned.is_held_up.store(true, Ordering::Relaxed);
    desk.prepare(desk.talk(None, 0..PAST_THE_MARK));
    let under_way = || Arc::strong_count(&desk.spawned.is_held_up) - 1;
    assert_eq!(under_way(), 1);
    now(desk.engine.close(desk.session));
    assert_eq!(under_way(), 0);
}

#[test]
fn a_summary_that_too_much_was_said_since_is_made_anew() {
    let begun_after = |growth_max| {
        let desk = Desk::with(|settings| settings.speculate.growth_max = growth_max);
        let grown = made_ready(&desk);
        let prepared = desk.prepare(grown);
        assert!(prepared.step.record.is_none(), "it is not due");
        desk.begun()
    };
    assert_eq!([Tokens(10_000), Tokens(1)].map(begun_after), [1, 2]);
}

/// A seal is bound to the prefix that changes.
#[test]
fn a_reply_since_the_summary_was_made_is_shown_without_its_thinking() {
    let desk = Desk::new();
    let ready = made_ready(&desk);
    let thought = epitome_core::Block::Thinking { text: "hm".into(), signature: None, redacted: false };
    let mut reply = said(1);
    reply.blocks.insert(0, thought);
    let replied = desk.append(Some(ready), vec![said(0), reply]);
    let full = desk.talk(Some(replied), PAST_THE_MARK + 1..PAST_THE_MARK + TO_THE_TRIGGER);
    let prepared = desk.prepare(full);
    assert_eq!(fates(&prepared), ["swapped in"]);
    let shown = prepared.session.shown().expect("all is at hand");
    let is_thought = |block: &epitome_core::Block| matches!(block, epitome_core::Block::Thinking { .. });
    let view = shown.iter().find(|view| view.id == Some(replied)).expect("it is in view");
    assert!(!view.message.blocks.iter().any(is_thought), "{:?}", view.message);
}

/// A clock that says it is late, and whose waits are over at once.
struct LateClock;

impl Clock for LateClock {
    fn now(&self) -> Duration {
        Duration::from_secs(500)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Somebody who waits for as long as it takes.
struct Patient;

impl Waiter for Patient {
    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_request_that_can_wait_no_longer_does_without_what_is_still_being_written() {
    let mut desk = Desk::new();
    desk.spawned.is_held_up.store(true, Ordering::Relaxed);
    let leaf = desk.talk(None, 0..PAST_THE_MARK);
    desk.prepare(leaf);
    let leaf = desk.talk(Some(leaf), PAST_THE_MARK..PAST_THE_MARK + TO_THE_TRIGGER);
    let ports = desk.driver.ports_mut();
    ports.clock = Arc::new(LateClock);
    ports.waiter = Some(RequestWaiter { since: Duration::ZERO, waiter: Arc::new(Patient) });
    let prepared = desk.prepare(leaf);
    assert_eq!((desk.begun(), fates(&prepared)), (1, vec!["thrown away: the request could wait no longer"]));
    assert!(prepared.step.record.is_some_and(|record| record.outcome.is_rebuilt()));
}
