//! Lessons of others, rows 83 to 88: pictures and bytes are budgets of their own.
//!
//! # Pending
//!
//! - l84: pictures are counted, labelled and left out; making one smaller needs a codec, which is not here.

use epitome_core::policy::TriggerMode;
use epitome_core::{
    Author, Block, EntryId, Image, Measure, Message, Policy, Role, Settings, Strategy, Tokens, Trigger,
};
use epitome_engine::{Assembly, Driver, ModelMeasure, Recovery, Session, Step, WindowFacts};
use epitome_testbed::{Bed, Maker, change, word, written};
use epitome_tokens::{Catalog, Counter};
use epitome_wire::overflow::{ErrorPlace, OverflowClass, RequestFacts, classify};

/// The first 24 bytes of a PNG of 2,400 by 1,800, in base64.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAACWAAAAcI";

/// A PNG of 2,400 by 1,800 whose base64 takes so many bytes.
fn picture(bytes: usize) -> Image {
    let data = format!("{PNG}{}", "A".repeat(bytes - PNG.len()));
    Image { media_type: "image/png".into(), data: data.into(), is_url: false }
}

/// A person shows a picture of so many bytes, and the model says something.
fn show(bed: &mut Bed, bytes: usize) -> EntryId {
    let blocks = vec![Block::text("look at this"), Block::Image(picture(bytes))];
    let id = bed.say(Message { role: Role::User, author: Author::Person, blocks });
    let answer = bed.filler(50);
    bed.assistant(&answer);
    id
}

/// Pictures in view, and the bytes of all of them.
fn in_view(bed: &Bed) -> (usize, usize) {
    let shown = bed.session.shown().expect("all is in memory");
    let pictures = shown.iter().flat_map(|shown| &shown.message.blocks).filter_map(|block| match block {
        Block::Image(image) => Some(image.data.len()),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::Call(_)
        | Block::Result(_)
        | Block::Opaque(_) => None,
    });
    let sizes: Vec<usize> = pictures.collect();
    (sizes.len(), sizes.iter().sum())
}

fn class(status: u16, body: &str) -> OverflowClass {
    classify(ErrorPlace::Status(status), body.as_bytes(), &RequestFacts::default()).class
}

#[test]
fn l83_an_oversized_picture_is_labelled_where_it_stands_and_nothing_else_is_touched() {
    let mut bed = Maker::new("default", 200_000)
        .set(|settings| settings.strategy = vec![Strategy::Prune])
        .set(|settings| settings.prune.protect = None)
        .set(|settings| settings.trigger.media = Some(1))
        .bed();
    bed.talk(4, 100);
    let offender = show(&mut bed, 9_000_000);
    let ids = [bed.in_view(), bed.talk(4, 100)].concat();
    let record = bed.prepare().expect("there is a picture too many");
    assert_eq!((word(&record), record.trigger), ("pruned", Trigger::Media));
    assert_eq!(change(Some(record)).pruned, [offender]);
    assert_eq!((in_view(&bed), bed.in_view(), bed.session.check().trigger), ((0, 0), ids, None));
    assert!(bed.shown()[4].contains(&offender.to_string()), "{}", bed.shown()[4]);
}

#[test]
fn l83_the_summary_call_does_not_carry_the_picture_that_no_call_can_carry() {
    let mut bed = Bed::new("default", 200_000);
    bed.talk(4, 1_000);
    show(&mut bed, 9_000_000);
    bed.talk(20, 1_000);
    bed.compact(Trigger::Manual);
    let asked = written(&bed.model.requests()[0]);
    assert!(asked.contains("image/png") && asked.len() < 100_000, "{} bytes", asked.len());
    assert_eq!(in_view(&bed), (0, 0));
}

#[test]
fn l84_pictures_are_counted_for_each_request_and_kept_below_their_number() {
    let mut bed = Maker::new("default", 200_000).set(|settings| settings.trigger.media = Some(21)).bed();
    for _ in 0..20 {
        show(&mut bed, 1_000);
    }
    assert!(bed.prepare().is_none());
    show(&mut bed, 1_000);
    let record = bed.prepare().expect("the 21st is one too many");
    assert_eq!((record.trigger, word(&record)), (Trigger::Media, "compacted"));
    let (pictures, _) = in_view(&bed);
    assert!((1..=11).contains(&pictures), "{pictures} pictures");
    assert_eq!(bed.session.check().trigger, None);
}

#[test]
fn l85_a_picture_counts_by_its_sides_and_never_by_its_base64() {
    let gauge = |model: &str| ModelMeasure(Counter::for_model(&Catalog::built_in().find(model)));
    for model in ["claude-opus-4-5", "gpt-5", "gpt-4o"] {
        let [small, large] = [1_000, 10_000_000].map(|bytes| gauge(model).image(&picture(bytes)));
        assert_eq!(small, large, "{model}");
        assert!((Tokens(100)..Tokens(10_000)).contains(&large), "{model}: {large}");
    }
}

#[test]
fn l86_too_many_bytes_too_many_tokens_and_a_bad_picture_are_told_apart() {
    let bytes = r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#;
    let tokens = r#"{"message":"Please reduce the length of the messages or input. Current length is 70000 while limit is 65536"}"#;
    let sides = r#"{"error":{"message":"At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}"#;
    let rate = r#"{"error":{"message":"Rate limit reached, please slow down","code":"rate_limit_exceeded"}}"#;
    assert_eq!(
        [class(413, bytes), class(413, tokens), class(400, sides), class(429, rate)],
        [
            OverflowClass::PayloadBytes,
            OverflowClass::TokenOverflow,
            OverflowClass::Media,
            OverflowClass::Throttle
        ]
    );
}

#[test]
fn l87_a_gateways_limit_in_bytes_is_kept_however_few_tokens_that_is() {
    let limit = 4_000_000;
    let mut bed = Maker::new("default", 200_000).set(|settings| settings.trigger.bytes = Some(limit)).bed();
    for _ in 0..10 {
        show(&mut bed, 500_000);
    }
    assert!(bed.session.check().tokens < Tokens(20_000) && in_view(&bed).1 == 5_000_000);
    let record = bed.prepare().expect("the body is too large");
    assert_eq!((record.trigger, word(&record)), (Trigger::Bytes, "compacted"));
    assert!(in_view(&bed).1 < limit as usize);
    assert_eq!(bed.session.check().trigger, None);
}

#[test]
fn l88_a_method_that_is_not_there_is_named_with_the_reason() {
    let chain = vec![Strategy::Native, Strategy::Delegate, Strategy::Summarize];
    let mut bed = Maker::new("default", 100_000).set(|settings| settings.strategy = chain).bed();
    bed.talk(80, 1_000);
    let record = bed.prepare().expect("it is due");
    let tried: Vec<(Strategy, &str)> =
        record.fallbacks.iter().map(|fallback| (fallback.strategy, fallback.why.as_str())).collect();
    assert_eq!(
        (change(Some(record.clone())).strategy, tried),
        (
            Strategy::Summarize,
            vec![
                (
                    Strategy::Native,
                    "the session's provider has no compaction of its own, or it was not offered"
                ),
                (Strategy::Delegate, "no compactor is installed"),
            ]
        )
    );
}

/// A session under these settings in which a person showed so many pictures.
fn shown_pictures(pictures: usize, change: impl FnOnce(&mut Settings)) -> Session {
    let mut settings = Settings::default();
    change(&mut settings);
    let policy = Policy::try_from(settings).expect("the settings are sound").into();
    let assembly = Assembly::new(policy, Catalog::built_in().find("gpt-5"), WindowFacts::default());
    let mut session = Session::empty(assembly.expect("the catalog has it"));
    for _ in 0..pictures {
        let blocks = vec![Block::text("look at this"), Block::Image(picture(1_000))];
        let said = Message { role: Role::User, author: Author::Person, blocks };
        session.append(said).expect("all is in memory");
    }
    session
}

/// What became of a session whose request was refused for its bytes: what it is recorded as, and the reason where nothing
/// was done.
fn shed(session: &mut Session) -> (Trigger, Result<usize, String>) {
    let recovery = Driver::default().shed_pictures(session, None).expect("all is in memory");
    let trigger = |step: &Step| step.record.as_ref().expect("it is recorded").trigger;
    match recovery {
        Recovery::Retry(step) => {
            let labelled = step.record.as_ref().and_then(|record| record.change()).map(|it| it.pruned.len());
            (trigger(&step), Ok(labelled.unwrap_or_default()))
        }
        Recovery::Surface { why, step } => (trigger(&step), Err(why)),
    }
}

#[test]
fn pictures_that_are_counted_as_nothing_are_labelled_all_the_same() {
    let mut session = shown_pictures(3, |settings| settings.count.image_tokens = Some(0));
    assert_eq!(shed(&mut session), (Trigger::Bytes, Ok(3)));
}

#[test]
fn a_refusal_over_bytes_is_recorded_as_one_whatever_comes_of_it() {
    let (made, why) = shed(&mut shown_pictures(2, |_| {}));
    assert_eq!((made, why), (Trigger::Bytes, Ok(2)));
    let (none, why) = shed(&mut shown_pictures(0, |_| {}));
    assert!(none == Trigger::Bytes && why.is_err_and(|why| why.contains("too large in bytes")));
    let off = shed(&mut shown_pictures(2, |settings| settings.mode = TriggerMode::Off));
    assert_eq!(off, (Trigger::Bytes, Err("compaction is off".to_owned())));
}
