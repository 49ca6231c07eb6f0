//! What always holds, over random histories: whole exchanges, a partition, the always-keep set and the target
//! beside it, determinism, marks on every path, and no second compaction of the same history.
//!
//! `EPITOME_CASES=1000000 cargo test -p epitome-core --release --test always_holds` runs more.

#[allow(dead_code, unused_imports, reason = "the other tests of it need more")]
mod world;

use epitome_core::{
    Compaction, EntryId, Expressible, Form, Mark, Outcome, Record, Role, Slot, Strategy, Tokens, Trigger,
};
use proptest::prelude::{
    Just, ProptestConfig, Strategy as Generate, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::test_runner::RngSeed;
use std::collections::HashSet;
use world::{Asked, Axes, CountingArchive, Session, histories, others};

/// How many properties there are.
const PROPERTIES: u32 = 18;

/// In all properties together the ordinary run sees ten thousand histories, the same ones each
/// time so that a failure is nobody's bad luck; whoever asks for a number of cases gets new ones.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests says how many cases")]
fn cases() -> ProptestConfig {
    let asked = std::env::var("EPITOME_CASES").ok().and_then(|cases| cases.parse::<u32>().ok());
    let rng_seed = if asked.is_some() { RngSeed::Random } else { RngSeed::Fixed(2026) };
    ProptestConfig { cases: asked.unwrap_or(10_000) / PROPERTIES, rng_seed, ..ProptestConfig::default() }
}

fn asked() -> impl Generate<Value = Asked> {
    let strategies = prop::sample::subsequence(Strategy::ALL.to_vec(), 1..=Strategy::ALL.len());
    let windows = prop_oneof![1_000u64..4_000, 4_000u64..60_000];
    let pins = prop::collection::vec(0usize..40, 0..3);
    let can = (any::<bool>(), any::<bool>()).prop_map(|(front, forms)| Expressible { front, forms });
    let trigger = prop::sample::select(vec![Trigger::Manual, Trigger::Threshold, Trigger::Overflow]);
    let fixed = prop_oneof![6 => Just(0u64), 1 => 1u64..60, 1 => 60u64..90];
    (strategies, (windows, fixed), 5u32..=90, can, trigger, pins, any::<bool>(), others()).prop_map(
        |(strategy, (window, fixed_percent), tail_percent, can, trigger, pins, is_long, others)| Asked {
            strategy,
            window,
            fixed_percent,
            unrecorded: 0,
            tail_percent,
            can,
            trigger,
            pins,
            is_long,
            has_target: true,
            others,
            axes: Axes::default(),
        },
    )
}

fn in_view(session: &Session) -> HashSet<EntryId> {
    session.context.message_slots().map(|(id, ..)| id).collect()
}

/// Whether nothing was taken out of view; nor is anything brought back then that another tool took out.
fn is_edit(record: &Record) -> bool {
    matches!(record.change().map(|change| change.strategy), Some(Strategy::Trim | Strategy::Prune))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn an_exchange_is_never_split(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        session.compact(&asked);
        let view = in_view(&session);
        for (call, result) in session.pairs() {
            prop_assert_eq!(view.contains(&call), view.contains(&result), "{} and {}", call, result);
        }
    }

    #[test]
    fn every_message_is_in_one_place(history in histories(), asked in asked(), chain in prop::sample::select(vec![1usize, 2, 5, 10])) {
        let mut session = Session::default();
        for part in history.chunks(history.len().div_ceil(chain).max(1)) {
            session.say(part);
            let Some(record) = session.compact(&asked) else { continue };
            let record = record.change().expect("something was changed");
            let mut places: Vec<EntryId> = record.kept.iter().chain(&record.superseded).chain(&record.dropped).copied().collect();
            places.sort_unstable();
            let mut expected = session.history.clone();
            if record.strategy == Strategy::Trim || record.strategy == Strategy::Prune {
                let view = in_view(&session);
                expected.retain(|id| view.contains(id));
            }
            prop_assert_eq!(places, expected);
            let mut shown: Vec<EntryId> = in_view(&session).into_iter().collect();
            shown.sort_unstable();
            // Where nothing can stand in front of a summary, or be shortened, some is told inside it.
            let is_all_shown = asked.can.front && asked.can.forms;
            prop_assert!(!is_all_shown || record.kept.iter().all(|id| shown.contains(id)));
            prop_assert!(shown.iter().all(|id| record.kept.contains(id)));
        }
    }

    #[test]
    fn what_is_always_kept_stays(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        let always = session.kept(&asked);
        let in_view_before = in_view(&session);
        let open = session.open_exchange();
        let open_tokens = session.context.newest_tokens(open.len());
        let room = session.budget(&asked).room();
        if let Some(record) = session.compact(&asked) {
            let text = session.text();
            let view = in_view(&session);
            let is_edit = is_edit(&record);
            for id in always.into_iter().filter(|id| !is_edit || in_view_before.contains(id)) {
                // Told inside the summary it stands under its own heading, as much of it as there is room for.
                prop_assert!(view.contains(&id) || text.contains(&format!("({id}, ")), "{} is gone", id);
            }
            // Where a message cannot be shown shortened, an open exchange of over half the room is covered by the
            // summary, or told in it.
            let is_told = |id: &EntryId| view.contains(id) || text.contains(&format!("({id}, "));
            if asked.can.forms || open_tokens <= room.share(1, 2) {
                prop_assert!(open.iter().all(|id| if asked.can.forms { view.contains(id) } else { is_told(id) }), "the open exchange is gone");
            }
        }
    }

    #[test]
    fn no_reply_stands_before_the_summary_where_nobody_spoke_before(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        let Some(record) = session.compact(&asked).filter(|record| !is_edit(record)) else { return Ok(()) };
        let role = |slot: &Slot| slot.message().and_then(|id| session.log.item(id)).map(|item| item.role);
        let is_summary = |slot: &Slot| matches!(slot, Slot::Summary { .. });
        let mut slots = session.context.slots().iter().skip_while(|slot| role(slot) == Some(Role::System));
        let first = slots.next();
        let follows = slots.any(is_summary);
        prop_assert!(!follows || first.and_then(role) != Some(Role::Assistant), "{:?} of {:?}", first, record);
    }

    #[test]
    fn what_is_worked_on_is_shown_word_for_word(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        let kept = session.kept(&asked);
        let budget = session.budget(&asked);
        let sizes: Vec<Tokens> = kept.iter().map(|&id| session.sizes.total(id)).collect();
        let fits = sizes.iter().copied().sum::<Tokens>() + Tokens(400) <= budget.room();
        let is_small = sizes.iter().copied().sum::<Tokens>() <= budget.window.share(1, 2);
        let in_view_before = in_view(&session);
        // Hooks may pin more.
        let Some(record) = session.compact(&asked).filter(|_| fits && is_small && !asked.others.has_hooks) else {
            return Ok(());
        };
        let (text, is_edit) = (session.text(), is_edit(&record));
        for id in kept.into_iter().filter(|id| !is_edit || in_view_before.contains(id)) {
            let form = session.context.message_slots().find(|(shown, ..)| *shown == id).map(|(_, form, _)| form);
            // Of a reminder that was given again the newest copy stands.
            let is_whole = form.is_some_and(|form| Form { thinking: false, repeated: false, left_out: false, ..form } == Form::WHOLE);
            prop_assert!(is_whole || text.contains(&format!("({id}, word for word)")), "{} is {:?}", id, form);
        }
    }

    #[test]
    fn the_target_bounds_what_stands_beside_it(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        let kept: HashSet<EntryId> = session.kept(&asked).into_iter().collect();
        let Some(record) = session.compact(&asked) else { return Ok(()) };
        let change = record.change().expect("something was changed");
        let is_ours = matches!(change.strategy, Strategy::Summarize | Strategy::Drop) && !asked.others.has_hooks;
        let by_target = asked.others.newest.is_none() && !asked.others.has_model;
        // Where nothing can be shortened, or stand in front, what is kept in any case is told in the summary.
        if !is_ours || !by_target || !asked.can.front || !asked.can.forms {
            return Ok(());
        }
        let beside = session.context.message_slots().filter(|(id, ..)| !kept.contains(id));
        let beside: Tokens = beside.map(|(.., tokens)| tokens).sum();
        let line = Tokens(150);
        prop_assert!(beside + change.summary_tokens <= change.target + line, "{} and {} over {}", beside, change.summary_tokens, change.target);
    }

    #[test]
    fn a_smaller_window_makes_no_context_larger(history in histories(), asked in asked(), sizes in (2_000u64..60_000, 30u64..100, 0u64..40)) {
        let (window, smaller_percent, added_percent) = sizes;
        let session = Session::of(&history);
        let smaller = window * smaller_percent / 100;
        let added = smaller * added_percent / 100;
        // A target is for what stands beside what is kept in any case, and the two together are all that is left in view.
        let most = |window: u64| {
            let plain = Asked { window, unrecorded: added, trigger: Trigger::Manual, can: asked.can, ..Asked::plainly(window) };
            let (record, room) = (session.outcome(&plain).record, session.budget(&plain).room());
            record.change().map(|change| (change.target + change.always_kept, record.tokens_after, room))
        };
        let (Some((most_larger, ..)), Some((most_smaller, after, room))) = (most(window), most(smaller)) else { return Ok(()) };
        prop_assert!(most_smaller <= most_larger, "{} over {}", most_smaller, most_larger);
        // What is told in a summary has headings, and the whole has what stands before it.
        let line = Tokens(600);
        prop_assert!(after <= most_smaller + line, "{} over {}", after, most_smaller);
        prop_assert!(after <= room + Tokens(20), "{} over {}", after, room);
    }

    #[test]
    fn an_embedded_summary_leaves_most_of_the_room(history in histories(), asked in asked(), has_target in any::<bool>()) {
        let mut session = Session::of(&history);
        let mut asked = asked;
        asked.has_target = has_target || asked.others.newest.is_none();
        let room = session.budget(&asked).room();
        let Some(record) = session.compact(&asked) else { return Ok(()) };
        let change = record.change().expect("something was changed");
        // What is told inside it counts among what is kept in any case.
        let is_embedded = change.summarizer.as_deref() == Some("the embedded summariser");
        if is_embedded && asked.can.front && asked.can.forms && !asked.others.has_hooks {
            let most = if asked.has_target { room.share(2, 5) } else { room.share(1, 4).min(Tokens(16_000)) };
            prop_assert!(change.summary_tokens <= most, "{} over {}", change.summary_tokens, most);
        }
    }

    #[test]
    fn no_original_is_read_twice(history in histories(), asked in asked()) {
        let session = Session::of(&history);
        let archive = CountingArchive::new(&session.archive);
        session.outcome_from(&asked, &archive);
        let reads = archive.reads.into_inner().expect("nobody panicked");
        prop_assert!(reads.values().all(|&times| times == 1), "{:?}", reads);
    }

    #[test]
    fn compacting_reaches_the_window_or_says_what_stands_in_the_way(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        let room = session.budget(&asked).room();
        let fixed = session.budget(&asked).fixed;
        let record = session.outcome(&asked).record;
        match record.outcome {
            Outcome::Compacted(_) | Outcome::Pruned(_) => {
                let after = record.tokens_after.less(fixed);
                prop_assert!(after <= room, "{} over {}", after, room);
                session.compact(&asked);
                prop_assert_eq!(session.context.tokens(), after);
            }
            Outcome::Noop { .. } => prop_assert!(session.context.tokens() <= room),
            Outcome::Impossible(floor) => prop_assert!(floor.kept > room),
            Outcome::Vetoed { .. } => {}
            Outcome::Abandoned { why, .. } => prop_assert!(why.contains("cancelled"), "{}", why),
            Outcome::Applied { .. } | Outcome::Recorded => prop_assert!(false, "a plan applies and records nothing"),
        }
    }

    #[test]
    fn the_same_history_gives_the_same_bytes(history in histories(), asked in asked()) {
        let run = || {
            let mut session = Session::of(&history);
            session.compact(&asked);
            session.text()
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn a_history_just_compacted_is_left_alone(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        if session.compact(&asked).is_some() {
            let text = session.text();
            prop_assert!(session.compact(&asked).is_none());
            prop_assert_eq!(session.text(), text);
        }
    }

    #[test]
    fn a_context_grown_step_by_step_is_the_one_derived_at_once(history in histories(), asked in asked()) {
        let (first, second) = history.split_at(history.len() / 2);
        let mut session = Session::of(first);
        session.compact(&asked);
        session.say(second);
        let derived = session.context_of(session.log.newest());
        prop_assert_eq!(derived.slots(), session.context.slots());
        prop_assert_eq!(derived.tokens(), session.context.tokens());
        prop_assert_eq!(derived.units(), session.context.units());
    }

    #[test]
    fn a_sibling_that_applies_a_compaction_sees_the_same_head(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        let passes = session.compact(&asked).map(|_| session.passes()).unwrap_or_default();
        let Some(&of) = passes.last() else { return Ok(()) };
        let Some(anchor) = session.log.compaction(of).and_then(Compaction::anchor) else { return Ok(()) };
        let head = session.head(&session.context, of);
        let sibling = session.branch(Some(anchor), "another way");
        let is_below = session.history.last() == Some(&anchor);
        prop_assert!(is_below || !session.text_of(sibling).contains("<epitome-summary"), "it holds unasked");
        session.log.mark(Some(sibling), Mark::Apply { of }).expect("it is a compaction");
        prop_assert_eq!(session.head(&session.context_of(Some(sibling)), of), head);
    }

    #[test]
    fn an_undo_binds_only_the_paths_through_its_anchor(history in histories(), asked in asked()) {
        let (mut session, mut plain) = (Session::of(&history), Session::of(&history));
        if session.compact(&asked).is_none() {
            return Ok(());
        }
        let leaf = session.log.newest().expect("someone spoke");
        let compacted = session.text_of(leaf);
        let (left, right) = (session.branch(Some(leaf), "on"), session.branch(Some(leaf), "on"));
        let untouched = session.text_of(right);
        let of = *session.passes().last().expect("it was compacted");
        session.log.mark(Some(left), Mark::Undo { of }).expect("it is a compaction");
        let before = plain.branch(plain.log.newest(), "on");
        prop_assert_eq!(session.text_of(left), plain.text_of(before));
        prop_assert_eq!(session.text_of(right), untouched);
        prop_assert_eq!(session.text_of(leaf), compacted);
    }

    #[test]
    fn undo_brings_the_context_back_and_redo_the_compaction(history in histories(), asked in asked()) {
        let mut session = Session::of(&history);
        let before = session.text();
        if session.compact(&asked).is_some() {
            let compacted = session.text();
            let of = *session.passes().last().expect("it was compacted");
            session.mark(Mark::Undo { of });
            prop_assert_eq!(session.text(), before);
            session.mark(Mark::Redo { of });
            prop_assert_eq!(session.text(), compacted);
        }
    }

    #[test]
    fn a_pin_on_a_covered_message_shows_its_whole_exchange(history in histories(), asked in asked(), which in any::<prop::sample::Index>()) {
        let mut session = Session::of(&history);
        let Some(record) = session.compact(&asked) else { return Ok(()) };
        let change = record.change().expect("something was changed");
        let covered: Vec<EntryId> = change.superseded.iter().chain(&change.dropped).copied().collect();
        if covered.is_empty() {
            return Ok(());
        }
        let of = covered[which.index(covered.len())];
        session.mark(Mark::Pin { of });
        let view = in_view(&session);
        prop_assert!(view.contains(&of), "{} stays hidden", of);
        for (call, result) in session.pairs() {
            prop_assert_eq!(view.contains(&call), view.contains(&result), "{} and {}", call, result);
        }
        session.mark(Mark::Unpin { of });
        prop_assert!(!in_view(&session).contains(&of), "{} stays in view", of);
    }

    #[test]
    fn nested_compactions_come_and_go_in_any_order(history in histories(), asked in asked(), order in prop::collection::vec(any::<u16>(), 4)) {
        let mut session = Session::default();
        for part in history.chunks(history.len().div_ceil(4).max(1)) {
            session.say(part);
            session.compact(&asked);
        }
        let mut passes: Vec<(u16, EntryId)> = order.into_iter().zip(session.passes()).collect();
        passes.sort_unstable();
        for (_, of) in passes {
            session.mark(Mark::Undo { of });
            let derived = session.context_of(session.log.newest());
            prop_assert_eq!(derived.slots(), session.context.slots());
            prop_assert_eq!(derived.tokens(), session.context.tokens());
        }
        prop_assert_eq!(session.text(), Session::of(&history).text());
    }
}
