//! A summary made beforehand, when it is swapped in: what was said meanwhile is there, the record has the figures of what
//! is shown, and one that is no longer of use is said to be thrown away.

use epitome_core::policy::Newest;
use epitome_core::{Author, Block, EntryId, Message, Role, Tokens, Trigger};
use epitome_engine::{Background, BoxFuture, Event, Spawn, Step, Thresholds};
use epitome_testbed::{Bed, Maker, now};

/// Does work when it is looked at.
struct Inline;

impl Spawn for Inline {
    fn spawn(&self, work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        work
    }
}

/// A session with a summary ready, and who made it.
fn prepared(newest: Newest) -> (Bed, Background) {
    let mut bed = Maker::new("default", 10_000)
        .set(|settings| {
            settings.speculate.enabled = true;
            settings.keep.newest = newest;
            settings.keep.within_turn = false;
        })
        .bed();
    let mut background = Background::default();
    while !bed.session.has_ready() {
        bed.talk(2, 300);
        background.tend(&bed.driver, &mut bed.session, &Inline);
        assert!(!bed.session.check().is_due(), "nothing was made beforehand");
    }
    (bed, background)
}

/// The model thinks for so many tokens, and answers.
fn think(bed: &mut Bed, tokens: u64) -> EntryId {
    let text = bed.filler(tokens).into();
    let blocks = vec![
        Block::Thinking { text, signature: Some("seal".into()), redacted: false },
        Block::text("so be it"),
    ];
    bed.say(Message { role: Role::Assistant, author: Author::Model, blocks })
}

/// People talk until a compaction is due: what they said.
fn talk_until_due(bed: &mut Bed) -> Vec<EntryId> {
    let mut said = Vec::new();
    while !bed.session.check().is_due() {
        said.extend(bed.talk(2, 150));
    }
    said
}

fn prepare(bed: &mut Bed, background: &mut Background) -> Step {
    now(background.prepare(&bed.driver, &mut bed.session, &Inline)).expect("all is in memory")
}

fn fates(step: &Step) -> Vec<&Event> {
    step.events.iter().filter(|event| matches!(event, Event::Speculated { .. })).collect()
}

fn swapped_in() -> Event {
    Event::Speculated { fate: "swapped in".into() }
}

#[test]
fn what_was_said_since_is_in_view() {
    let (mut bed, mut background) = prepared(Newest::Percent(40));
    let since = talk_until_due(&mut bed);
    let step = prepare(&mut bed, &mut background);
    assert_eq!(fates(&step), [&swapped_in()]);
    let in_view = bed.in_view();
    assert!(!since.is_empty() && since.iter().all(|id| in_view.contains(id)), "{since:?} of {in_view:?}");
}

#[test]
fn the_record_has_the_figures_of_what_is_shown() {
    let (mut bed, mut background) = prepared(Newest::Percent(40));
    // Its thinking is left out then: what it is sealed to is no longer there.
    think(&mut bed, 100);
    talk_until_due(&mut bed);
    let before = bed.session.context().tokens();
    let step = prepare(&mut bed, &mut background);
    assert_eq!(fates(&step), [&swapped_in()]);
    let record = step.record.expect("something was done");
    let figures = (record.tokens_before, record.tokens_after);
    assert_eq!(figures, (before, bed.session.context().tokens()));
}

#[test]
fn one_that_a_compaction_by_hand_makes_useless_is_said_to_be_thrown_away() {
    let (mut bed, _) = prepared(Newest::Percent(40));
    // What was made beforehand dwells on nothing, so that it is not what is asked for.
    bed.session.options_mut().focus = Some("the parser".into());
    let step = bed.try_compact(Trigger::Manual).expect("it completes");
    let thrown = Event::Speculated { fate: "thrown away: the branch has moved".into() };
    assert_eq!(fates(&step), [&thrown]);
    assert!(!bed.session.has_ready() && bed.session.context().tokens() < Tokens(4_000));
}

#[test]
fn one_made_for_a_path_that_is_left_is_said_to_be_thrown_away() {
    let (mut bed, _) = prepared(Newest::Percent(40));
    let first = bed.session.history()[0];
    bed.session.move_to(Some(first)).expect("all is in memory");
    let thrown = Event::Speculated { fate: "thrown away: the branch has moved".into() };
    assert_eq!((fates(&bed.session.step(None)), bed.session.has_ready()), (vec![&thrown], false));
}

#[test]
fn one_that_covers_what_two_paths_share_is_kept_for_either() {
    let (mut bed, mut background) = prepared(Newest::Percent(40));
    let fork = bed.session.leaf();
    bed.talk(2, 150);
    bed.session.move_to(fork).expect("all is in memory");
    assert!(bed.session.has_ready());
    talk_until_due(&mut bed);
    assert_eq!(fates(&prepare(&mut bed, &mut background)), [&swapped_in()]);
}

#[test]
fn it_is_begun_below_the_point_at_which_the_longest_prompt_compacts() {
    let maker = Maker::new("default", 40_000).set(|settings| {
        (settings.speculate.enabled, settings.speculate.lead_min) = (true, Tokens(1_000));
        settings.keep.within_turn = false;
    });
    // A provider that takes prompts of two thirds of its window, far below four fifths of it.
    let mut bed = maker.budget(|budget| budget.prompt_max = Some(Tokens(27_200))).bed();
    let mut background = Background::default();
    talk_until_due_beside(&mut bed, &mut background);
    let check = bed.session.check();
    let shown = Thresholds::of(bed.session.policy(), &bed.session.budget());
    assert_eq!((check.limit, shown.trigger), (Tokens(27_200), Tokens(27_200)));
    assert_eq!(shown.speculate.map(|mark| mark < check.limit), Some(true), "{shown:?}");
    assert_eq!(fates(&prepare(&mut bed, &mut background)), [&swapped_in()]);
}

/// People talk until a compaction is due, and what can be made beforehand is.
fn talk_until_due_beside(bed: &mut Bed, background: &mut Background) {
    while !bed.session.check().is_due() {
        bed.talk(2, 300);
        background.tend(&bed.driver, &mut bed.session, &Inline);
    }
}
