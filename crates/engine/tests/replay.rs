//! A short transcript replayed: the numbers its calls are given, what is kept at hand, and what its provider's figures
//! are taken for.

use epitome_core::{
    Author, Entry, EntryId, Item, Log, Mark, MemoryArchive, Message, Policy, Role, SizeTable, Sizes, Tokens,
};
use epitome_engine::{Assembly, Driver, EngineError, ReplayInput, Session, WindowFacts, replay};
use epitome_tokens::{Catalog, Usage};
use futures_util::FutureExt as _;
use std::collections::HashMap;
use std::sync::Arc;

fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(role, author, format!("message {number} about src/part_{number}.rs"))
}

/// A replay of so many messages, a person's and a model's in turn, each of so many tokens.
struct Replayed {
    session: Session,
    path: Vec<EntryId>,
    /// The number of each call, and that of its reply.
    numbers: Vec<(usize, usize)>,
}

fn replayed(messages: usize, tokens: Tokens, window: Tokens, usage: &HashMap<EntryId, Usage>) -> Replayed {
    let (mut log, mut sizes) = (Log::default(), SizeTable::default());
    for number in 0..messages {
        let id = log.push(Entry::Message(Item::of(&said(number))));
        sizes.set(id, Sizes { text: tokens, ..Sizes::default() });
    }
    let path = log.path_of(log.newest());
    let stated = WindowFacts { stated: Some(window), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    let mut assembly = Assembly::new(Policy::default().into(), model, stated).expect("it is stated");
    assembly.set_request(Tokens::ZERO, Some(Tokens(500)));
    let archive = Arc::new(MemoryArchive::default());
    let mut session = Session::new(Arc::new(log), Arc::new(sizes), archive, assembly);
    session.move_to(None).expect("there is a beginning");
    let read = |id: EntryId| Ok(Arc::new(said(id.index())));
    let input = ReplayInput { path: &path, fixed: Tokens::ZERO, usage, read: &read };
    let mut numbers = Vec::new();
    let each = |call: epitome_engine::ReplayedCall<'_>| {
        numbers.push((call.call, call.message));
        Ok::<(), EngineError>(())
    };
    let driver = Driver::default();
    let work = replay(&driver, &mut session, input, each);
    work.now_or_never().expect("nobody is asked who takes time").expect("it is replayed");
    Replayed { session, path, numbers }
}

#[test]
fn a_call_has_its_number_and_that_of_its_reply() {
    let small = replayed(6, Tokens(10), Tokens(8_000), &HashMap::new());
    assert_eq!(small.numbers, [(0, 1), (1, 3), (2, 5)]);
}

/// A compaction reads what is new since the one before it.
#[test]
fn a_message_is_read_once_however_many_compactions_come_after_it() {
    for messages in [60, 120, 240] {
        let long = replayed(messages, Tokens(20_000), Tokens(200_000), &HashMap::new());
        let (compactions, digests) =
            (long.session.compactions().len(), long.session.digests().digests_made());
        assert!(compactions >= messages / 20, "{compactions} compactions of {messages} messages");
        assert!(digests <= messages as u64, "{digests} digests of {messages} messages");
    }
}

/// A replay takes no more memory the longer a transcript is.
#[test]
fn what_is_out_of_view_and_too_far_back_to_be_read_is_let_go() {
    let long = replayed(60, Tokens(20_000), Tokens(200_000), &HashMap::new());
    assert!(!long.session.compactions().is_empty(), "it does not fit its window");
    let gone = long.session.archive().missing(&long.path);
    // What people said is read however far back it is.
    let (first, newest) = (long.path[1], long.path[59]);
    assert!(gone.contains(&first) && !gone.contains(&newest), "{gone:?}");
}

#[test]
fn what_a_provider_counted_before_a_history_is_not_counted_as_history() {
    // A system prompt that the transcript does not record.
    let unrecorded = 5_000;
    let reply = EntryId(1);
    let usage = Usage { prompt: 100 + unrecorded, output: 100, ..Usage::default() };
    let told = replayed(2, Tokens(100), Tokens(64_000), &HashMap::from([(reply, usage)]));
    let log = told.session.log();
    let mark = (0..log.len() as u32).rev().find_map(|at| match log.mark_of(EntryId(at)) {
        Some(Mark::Usage(usage)) => Some(usage.prompt),
        _ => None,
    });
    assert_eq!(mark, Some(Tokens(100)));
}
