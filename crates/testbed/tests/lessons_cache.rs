//! Lessons of others, rows 89 to 95: what the provider has in its cache is not broken without a reason.

use epitome_core::policy::{Input, PruneWhen};
use epitome_core::{Settings, Strategy, SummaryInput, Tokens, Trigger};
use epitome_engine::{Event, Session};
use epitome_testbed::{Bed, Maker, word};
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{Protocol, validate};

/// What reading a token from the cache and writing one to it costs, where sending one costs 100.
const PRICES: (u64, u64) = (10, 125);

/// A context as the elements of a request to OpenAI's chat endpoint.
fn elements(session: &Session) -> Vec<String> {
    let shown = session.shown().expect("all is in memory");
    let written = encode::messages(Protocol::OpenaiChat, &RequestParts::default(), &shown);
    written.iter().map(|element| element.get().to_owned()).collect()
}

/// What a strict validator finds wrong with the same request.
fn violations(session: &Session) -> Vec<validate::Violation> {
    let shown = session.shown().expect("all is in memory");
    let body = encode::body(Protocol::OpenaiChat, &RequestParts::default(), &shown);
    let body = serde_json::from_slice(&body.expect("a context can be written")).expect("a body is JSON");
    validate::body(Protocol::OpenaiChat, &body)
}

/// How many elements two requests share from their start.
fn shared(one: &[String], other: &[String]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// What 150 rounds of tools cost, each request reading from the cache what the one before it wrote.
fn cost(change: impl FnOnce(&mut Settings)) -> u64 {
    let mut bed = Maker::new("default", 1_000_000).no_model().set(change).bed();
    bed.user("read every file");
    let (mut before, mut cost) = (Vec::new(), 0);
    for round in 0..150 {
        let result = bed.filler(1_500);
        bed.exchange("read", &format!(r#"{{"path":"src/{round}.rs"}}"#), &result);
        bed.prepare();
        let now = elements(&bed.session);
        let tokens =
            |elements: &[String]| elements.iter().map(|element| element.len() as u64 / 4).sum::<u64>();
        let same = shared(&before, &now);
        cost += tokens(&now[..same]) * PRICES.0 + tokens(&now[same..]) * PRICES.1;
        before = now;
    }
    cost
}

/// A session that compacts by itself every so often, and is looked at before each call: how many of the
/// requests do not begin with all of the one before.
fn resets(maker: Maker, calls: usize) -> (usize, usize) {
    let mut bed = maker.bed();
    let (mut before, mut resets, mut compactions) = (Vec::new(), 0, 0);
    for call in 0..calls {
        let text = bed.filler(400);
        bed.user(&text);
        bed.exchange(
            "todo_write",
            &format!(r#"{{"todos":[{{"content":"step {call}","status":"pending"}}]}}"#),
            "ok",
        );
        compactions += usize::from(bed.prepare().is_some());
        let now = elements(&bed.session);
        resets += usize::from(shared(&before, &now) < before.len());
        before = now;
    }
    (resets, compactions)
}

#[test]
fn l89_pruning_under_its_cache_rules_costs_no_more_than_leaving_it_be() {
    let never = cost(|_| {});
    let pruning = |protect: &str, cache_tokens_max: Option<Tokens>| {
        cost(|settings| {
            settings.prune.when = PruneWhen::ToolRound;
            settings.prune.protect = Some(protect.parse().expect("a threshold"));
            settings.prune.cache_tokens_max = cache_tokens_max;
        })
    };
    // The same but for the rule: each round changes something that 40,000 tokens of the cache stand behind.
    let (heedless, heeding) = (pruning("40000", None), pruning("40000", Some(Tokens(6_000))));
    assert!(heeding <= never && never < heedless, "{heeding} {never} {heedless}");
    let near = pruning("3000", Some(Tokens(6_000)));
    assert!(near < never, "what little stands behind may be written anew: {near} {never}");
}

#[test]
fn l90_between_compactions_each_request_begins_with_the_one_before() {
    let (resets, compactions) = resets(Maker::new("default", 12_000).no_model(), 120);
    assert!(compactions >= 3, "{compactions}");
    assert_eq!(resets, compactions);
}

#[test]
fn l91_todos_that_change_each_turn_are_not_put_in_front_of_what_is_cached() {
    let mut bed = Maker::new("default", 12_000).no_model().bed();
    bed.talk(20, 500);
    bed.exchange("todo_write", r#"{"todos":[{"content":"ship","status":"pending"}]}"#, "ok");
    bed.compact(Trigger::Manual);
    let before = elements(&bed.session);
    bed.exchange("todo_write", r#"{"todos":[{"content":"ship","status":"completed"}]}"#, "ok");
    bed.user("go on");
    assert!(elements(&bed.session).starts_with(&before));
}

#[test]
fn l92_nothing_appears_in_front_of_a_breakpoint_and_vanishes_again() {
    let mut bed = Maker::new("kaged", 100_000).no_model().bed();
    bed.talk(91, 1_000);
    bed.prepare().expect("it is due");
    let mut before = elements(&bed.session);
    for _ in 0..10 {
        bed.assistant("done");
        bed.user("and now?");
        assert!(bed.prepare().is_none());
        let now = elements(&bed.session);
        assert!(now.starts_with(&before), "{} do not begin with the {} before", now.len(), before.len());
        assert_eq!(violations(&bed.session), vec![]);
        before = now;
    }
}

#[test]
fn l93_a_warm_summary_call_is_the_sessions_own_prefix() {
    let make = |is_warm: bool| {
        let maker = Maker::new("default", 100_000).set(|settings| settings.summary.input = Input::Prefix);
        let mut bed = if is_warm { maker.warm() } else { maker }.bed();
        bed.talk(80, 1_000);
        let view = bed.session.shown().expect("all is in memory");
        bed.prepare().expect("it is due");
        (view, bed.model.requests().swap_remove(0))
    };
    let (view, warm) = make(true);
    let SummaryInput::Prefix { messages, .. } = warm.body else {
        panic!("the cache is warm: {:?}", warm.purpose)
    };
    assert_eq!(messages, view.into_iter().map(|shown| shown.message).collect::<Vec<_>>());
    assert_eq!(warm.system.as_ref(), "");
    let (_, cold) = make(false);
    assert!(
        matches!(cold.body, SummaryInput::Text(_)),
        "a cold cache is not filled with the session's prefix"
    );
}

#[test]
fn l94_what_is_resumed_is_what_was_live_byte_for_byte() {
    let mut bed = Maker::new("kaged", 100_000).no_model().bed();
    bed.user("read it all");
    for round in 0..40 {
        let result = bed.filler(2_000);
        bed.exchange("bash", &format!(r#"{{"command":"cat src/{round}.rs"}}"#), &result);
        bed.prepare();
    }
    let resumed = bed.reopened();
    assert!(bed.shown().iter().any(|text| text.contains("recall")), "something was pruned");
    assert!(elements(&resumed) == elements(&bed.session), "what is resumed differs");
}

/// A session of omp's with 30,000 tokens that could be pruned, and much behind them.
fn put_off() -> Bed {
    let mut bed = Maker::new("omp@17", 400_000).no_model().bed();
    bed.user("read it all");
    for round in 0..15 {
        let result = bed.filler(6_000);
        bed.exchange("read", &format!(r#"{{"path":"src/{round}.rs"}}"#), &result);
    }
    bed
}

#[test]
fn l95_pruning_that_is_put_off_for_the_caches_sake_says_so_once() {
    let mut bed = put_off();
    assert!(bed.prepare().is_none() && bed.prepare().is_none());
    let told: Vec<Strategy> = bed
        .take_events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Noop { why, strategy } if why.contains("waits for 90 minutes without a word") => {
                Some(strategy)
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, [Strategy::Prune]);
}

#[test]
fn l95_once_the_cache_is_cold_the_pruning_is_made() {
    let mut bed = put_off();
    bed.session.set_idle_minutes(Some(90));
    assert_eq!(bed.prepare().map(|record| word(&record)), Some("pruned"));
}
