//! Lessons of others, rows 64 to 74: how full the context is, and when that is looked at.

use epitome_core::policy::MeasureBy;
use epitome_core::{Author, Block, Message, Role, Tokens, Trigger};
use epitome_engine::{Event, FigureSource, LookPoint};
use epitome_testbed::{Bed, Maker};
use epitome_tokens::{Calibration, Catalog, Counter, Encoding, PromptGrowth, Usage, estimate};

const WINDOW: u64 = 100_000;

/// What a provider says of one call, with nothing cached.
fn usage(prompt: u64, output: u64) -> Usage {
    Usage { prompt, output, ..Usage::default() }
}

/// A session of the default preset with 40,000 tokens in view.
fn half_full() -> Bed {
    let mut bed = Maker::new("default", WINDOW).no_model().bed();
    bed.talk(40, 1_000);
    bed
}

/// How far the estimate of `text` is from the tokenizer it stands in for, in percent.
fn error_percent(text: &str) -> f64 {
    let exact = Counter::exact(Encoding::O200kBase).count_text(text) as f64;
    (estimate(Encoding::O200kBase.family(), text) as f64 / exact - 1.0).abs() * 100.0
}

#[test]
fn l64_every_request_of_a_long_tool_loop_is_looked_at() {
    let mut bed = Maker::new("default", 20_000).no_model().bed();
    bed.user("make every test pass");
    let mut compactions = 0;
    for round in 0..200 {
        let result = bed.filler(600);
        bed.exchange("bash", &format!(r#"{{"command":"make test-{round}"}}"#), &result);
        compactions += u32::from(bed.prepare().is_some());
        let check = bed.session.check();
        assert!(check.tokens < check.limit, "round {round} sends {} of {}", check.tokens, check.limit);
    }
    assert!((8..=20).contains(&compactions), "{compactions} compactions");
}

#[test]
fn l65_usage_from_before_a_compaction_does_not_fire_again() {
    let mut bed = half_full();
    bed.session.record_usage(usage(79_000, 1_000)).expect("all is in memory");
    assert_eq!(bed.session.check().trigger, Some(Trigger::Threshold));
    bed.prepare().expect("it is due");
    let restarted = bed.reopened();
    assert_eq!([bed.session.check().trigger, restarted.check().trigger], [None, None]);
    assert_eq!(bed.session.check().source, FigureSource::Count);
    assert!(bed.prepare().is_none());
}

#[test]
fn l66_korean_chinese_and_emoji_are_estimated_within_a_quarter() {
    let texts = [
        "컨텍스트가 가득 차면 이전 대화를 요약해서 중요한 결정과 파일 경로를 남겨야 합니다. 테스트를 먼저 실행하세요.",
        "上下文快满的时候要先把之前的对话压缩成摘要，保留重要的决定和文件路径，然后再继续修改代码并运行测试。",
        "done 🎉 tests green ✅ 🚀 ship it 👍 see 🐛 #42 🔥 and thanks 🙏 all 😀",
    ];
    let errors = texts.map(error_percent);
    assert!(errors.iter().all(|percent| *percent <= 25.0), "{errors:?}");
}

#[test]
fn l67_json_is_counted_by_what_it_is_until_usage_corrects_it() {
    let row = r#"{"id":"a81f-22","path":"/srv/app/src/lib.rs","line":1834,"ok":false,"tags":["x","y"]},"#;
    let json = format!("[{}]", row.repeat(500));
    assert!(error_percent(&json) <= 25.0, "{} %", error_percent(&json));
    // A provider that counts a fifth more is believed after some calls, and before that a little.
    let mut calibration = Calibration::default();
    let mut learned = |calls: usize| {
        let growth = PromptGrowth { before: 10_000, prompt: 13_600, counted: 3_000 };
        (0..calls).for_each(|_| assert!(calibration.learn(growth)));
        (calibration.factor() * 100.0).round() as u64
    };
    assert_eq!([learned(0), learned(1), learned(20)], [100, 105, 117]);
}

#[test]
fn l68_usage_that_leaves_out_the_cache_is_not_believed() {
    let mut bed = half_full();
    let counted = (Tokens(40_000), FigureSource::Count);
    bed.session.record_usage(usage(3_000, 500)).expect("all is in memory");
    assert_eq!(bed.session.figure(), counted);
    let whole = Usage { prompt: 44_000, output: 500, cache_read: 41_000, ..Usage::default() };
    bed.session.record_usage(whole).expect("all is in memory");
    assert_eq!(bed.session.figure(), (Tokens(44_500), FigureSource::Hybrid));
}

#[test]
fn l69_eighty_tools_are_part_of_every_figure() {
    let schema = r#"{"name":"search_files","description":"Searches the files below a folder for a pattern.","input_schema":{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"}}}}"#;
    let counter = Counter::for_model(&Catalog::built_in().find("gpt-5"));
    let fixed = counter.count_tools(&[schema; 80]);
    assert!(fixed > 80 * 30, "{fixed}");
    let mut bed =
        Maker::new("default", WINDOW).no_model().budget(|budget| budget.fixed = Tokens(fixed)).bed();
    bed.talk(40, 1_000);
    assert_eq!(bed.session.check().tokens, Tokens(fixed + 40_000));
    assert_eq!(bed.compact(Trigger::Manual).tokens_before, Tokens(fixed + 40_000));
}

#[test]
fn l70_a_refusal_corrects_the_figure_that_was_shown() {
    let mut bed = Maker::new("default", WINDOW).no_model().bed();
    bed.talk(62, 1_000);
    assert_eq!((bed.session.check().window, bed.session.check().trigger), (Tokens(WINDOW), None));
    bed.session.learn_window(Tokens(60_000));
    let check = bed.session.check();
    assert_eq!(
        (check.window, check.limit, check.trigger),
        (Tokens(60_000), Tokens(48_000), Some(Trigger::Threshold))
    );
    assert_eq!(bed.take_events(), [Event::Learned { window: Tokens(60_000) }]);
    // What no window can be, and what would raise it, changes nothing.
    bed.session.learn_window(Tokens(12));
    bed.session.learn_window(Tokens(90_000));
    assert_eq!((bed.session.check(), bed.take_events()), (check, vec![]));
}

#[test]
fn l71_usage_summed_over_retries_is_not_the_size_of_the_context() {
    let mut bed = half_full();
    bed.session.record_usage(usage(3 * 40_000, 900)).expect("all is in memory");
    assert_eq!(
        (bed.session.figure(), bed.session.check().trigger),
        ((Tokens(40_000), FigureSource::Count), None)
    );
    bed.session.record_usage(usage(42_000, 300)).expect("all is in memory");
    assert_eq!(bed.session.figure(), (Tokens(42_300), FigureSource::Hybrid));
}

#[test]
fn l71_a_sum_of_two_calls_is_known_by_what_was_said_since_the_one_before() {
    // A provider that counts a tenth less than we do: twice its figure is below twice ours.
    let mut bed = half_full();
    bed.session.record_usage(usage(36_000, 300)).expect("all is in memory");
    bed.talk(4, 1_000);
    let before = bed.session.figure();
    bed.session.record_usage(usage(2 * 39_600, 600)).expect("all is in memory");
    assert_eq!((bed.session.figure(), bed.session.check().trigger), (before, None));
    bed.session.record_usage(usage(39_600, 300)).expect("all is in memory");
    assert_eq!(bed.session.figure().1, FigureSource::Count, "our own count is the larger");
    // One large result accounts for a growth of the same size.
    let mut bed = half_full();
    bed.session.record_usage(usage(36_000, 300)).expect("all is in memory");
    bed.talk(1, 38_000);
    bed.session.record_usage(usage(79_200, 600)).expect("all is in memory");
    assert_eq!(
        bed.session.figure(),
        (Tokens(84_006), FigureSource::Count),
        "it is believed, and learned from"
    );
}

#[test]
fn l72_what_the_provider_leaves_out_of_its_usage_is_counted_all_the_same() {
    let mut bed = half_full();
    let sealed = format!(r#"{{"type":"reasoning","encrypted_content":"{}"}}"#, "x".repeat(80_000));
    let item = epitome_core::Opaque { kind: "reasoning".into(), json: sealed.into() };
    bed.say(Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Opaque(item)] });
    bed.session.record_usage(usage(40_000, 200)).expect("all is in memory");
    assert_eq!(bed.session.figure(), (Tokens(55_011), FigureSource::Count));
}

#[test]
fn l73_before_right_after_and_a_turn_later_are_measured_alike() {
    let mut bed =
        Maker::new("default", WINDOW).no_model().budget(|budget| budget.fixed = Tokens(9_000)).bed();
    bed.talk(80, 1_000);
    let before = bed.session.check().tokens;
    let report = bed.prepare().expect("it is due");
    let after = bed.session.check().tokens;
    assert_eq!((report.tokens_before, report.tokens_after), (before, after));
    bed.talk(2, 500);
    assert_eq!(bed.session.check().tokens, after + Tokens(1_000));
    let cached = Usage { cache_read: 9_000, cache_write: after.0 - 9_000, ..usage(after.0, 1_000) };
    bed.session.record_usage(cached).expect("all is in memory");
    assert_eq!(bed.session.check().tokens, after + Tokens(1_000));
}

#[test]
fn l74_the_answers_room_is_kept_free_once_and_shown_once() {
    let mut bed =
        Maker::new("default", WINDOW).no_model().budget(|budget| budget.reserve = Tokens(17_000)).bed();
    bed.talk(79, 1_000);
    assert_eq!((bed.session.check().limit, bed.session.check().trigger), (Tokens(80_000), None));
    let told = serde_json::to_string(&*bed.compact(Trigger::Manual)).expect("a record is JSON");
    assert_eq!((told.matches("\"reserve\":17000").count(), told.matches("17000").count()), (1, 1), "{told}");
}

#[test]
fn l74_what_is_about_to_be_said_counts_too() {
    let mut bed =
        Maker::new("default", WINDOW).no_model().set(|settings| settings.check.before_input = true).bed();
    bed.talk(79, 1_000);
    let looks = [999, 1_000].map(|pending| bed.session.check_at(LookPoint::Input(Tokens(pending))).trigger);
    assert_eq!(looks, [None, Some(Trigger::Threshold)]);
}

#[test]
fn an_absurd_figure_is_taken_for_what_it_is_and_stops_nothing() {
    let mut bed = Maker::new("default", WINDOW)
        .no_model()
        .set(|settings| settings.trigger.measure = MeasureBy::Hybrid)
        .bed();
    bed.talk(40, 1_000);
    for _ in 0..2 {
        bed.session.record_usage(usage(u64::MAX, 1)).expect("all is in memory");
        assert_eq!(bed.session.check().tokens, Tokens(u64::MAX));
    }
}
