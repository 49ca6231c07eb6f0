//! `summary.parts = "prose"`: a model is asked for what a machine cannot write, the embedded summariser writes the rest
//! within the same budget, and an answer that is of no use is not stored as if it were.

use epitome_core::policy::Input;
use epitome_core::{CallResult, Change, Outcome, Record, Strategy, SummaryInput, Tokens};
use epitome_testbed::{Bed, Maker, cut_off, empty, good, tool_call, written};

const INTENT: &str = "## Intent\nThe person wants the parser in src/parse.rs to take empty headers.\n\n\
    ## Errors and fixes\nparse_header failed on an empty line, since it read one byte too many.\n\n\
    ## Next step\nRun the suite once more.";
const PROSE: &str = "# In the model's words\n";
const COPIED: &str = "\n\n# From the log, word for word\n";

/// A session about a parser that is due, its model to answer like this in turn.
fn due(maker: Maker, answers: impl IntoIterator<Item = CallResult>) -> Bed {
    let mut bed = maker.bed();
    bed.user("We work on the parser of headers today.");
    for answer in answers {
        bed.model.then(answer);
    }
    work(&mut bed);
    bed
}

fn by_model() -> Maker {
    Maker::new("default", 40_000)
}

/// A request with a rule, and long turns until the window is nearly full.
fn work(bed: &mut Bed) {
    bed.user("Fix the parser in src/parse.rs: parse_header must take empty headers. Never touch the tests.");
    for round in 0..34 {
        bed.exchange("bash", &format!(r#"{{"command":"cargo test -p parser{round}"}}"#), "error: it failed");
        let told = format!("parse_header failed at byte {round}. {}", bed.filler(1_000));
        bed.assistant(&told);
        bed.user(&format!("Now case {round} of the parser, please."));
    }
    bed.assistant("I changed parse_header in src/parse.rs. Shall I run the suite?");
    bed.user("yes, please run it");
}

fn changed(record: &Record) -> &Change {
    match &record.outcome {
        Outcome::Compacted(change) => change,
        other => panic!("not compacted: {other:?}"),
    }
}

fn summary(record: &Record) -> String {
    changed(record).summary.as_deref().expect("there is one").to_owned()
}

#[test]
fn a_model_is_asked_once_and_for_prose_alone() {
    let mut bed = due(by_model(), [good(INTENT)]);
    bed.prepare().expect("it is due");
    let requests = bed.model.requests();
    let [asked] = &requests[..] else { panic!("one call: {}", requests.len()) };
    let prose = bed.driver.ports().prompts.prose.clone();
    let told = written(asked);
    assert!(told.ends_with(&format!("{prose}\n\nUse at most 600 words.")), "{}", &told[told.len() - 200..]);
    assert_eq!(asked.output_max, Tokens(1_500));
    let SummaryInput::Text(_) = asked.body else { panic!("a model apart has no cache of the session") };
}

#[test]
fn the_summary_holds_the_models_prose_and_the_machines_parts_within_the_machines_budget() {
    let mut bed = due(by_model(), [good(INTENT)]);
    let hybrid = bed.prepare().expect("it is due");
    let text = summary(&hybrid);
    assert!(text.contains(&format!("{PROSE}{INTENT}{COPIED}")), "{text}");
    let copied = text.split(COPIED).nth(1).expect("it is there");
    for part in
        ["## Constraints & Preferences\n", "- Never touch the tests.\n", "## Dialogue, oldest first\n"]
    {
        assert!(copied.contains(part), "{part}: {copied}");
    }
    let mut alone = due(by_model().no_model(), []);
    let machine = alone.prepare().expect("it is due");
    let (with, without) = (changed(&hybrid), changed(&machine));
    let room = without.summary_tokens.share(21, 20);
    assert!(with.summary_tokens <= room, "{} beside {}", with.summary_tokens, without.summary_tokens);
    assert!(with.loss.kept * 4 >= without.loss.kept * 3, "{:?} beside {:?}", with.loss, without.loss);
    assert_eq!((with.summarizer.as_deref(), hybrid.fallbacks.len()), (Some("test-model"), 0));
}

#[test]
fn the_next_compaction_hands_on_the_prose_alone_and_has_it_brought_up_to_date() {
    let later = INTENT.replace("Run the suite once more", "Release the parser");
    let mut bed = due(by_model(), [good(INTENT), good(&later)]);
    bed.prepare().expect("it is due");
    work(&mut bed);
    let record = bed.prepare().expect("it is due again");
    let requests = bed.model.requests();
    let told = written(requests.last().expect("it was asked"));
    let update = bed.driver.ports().prompts.prose_update.clone();
    assert!(told.contains(&format!("<previous-summary>\n{INTENT}\n</previous-summary>")), "{told}");
    assert!(told.contains(&*update) && !told.contains(COPIED), "{told}");
    let text = summary(&record);
    assert!(text.contains(&format!("{PROSE}{later}{COPIED}")), "{text}");
    assert_eq!(text.matches("parse_header failed on an empty line").count(), 1, "{text}");
}

#[test]
fn prose_of_before_outlives_models_that_fail_later() {
    let mut bed = due(by_model(), [good(INTENT)]);
    bed.prepare().expect("it is due");
    for _ in 0..2 {
        bed.model.always(tool_call());
        work(&mut bed);
        let record = bed.prepare().expect("it is due again");
        let text = summary(&record);
        assert_eq!(changed(&record).summarizer.as_deref(), Some("the embedded summariser"));
        let carried =
            "## Earlier summary, as it stood then\n### Intent\nThe person wants the parser in src/parse.rs";
        assert!(text.contains(carried), "{text}");
    }
}

#[test]
fn an_answer_of_no_use_is_asked_for_again_and_then_left_to_the_machine() {
    let echo = "Each error that mattered: what caused it, and what put it right, or that nothing has so far.";
    let looped = format!("## Intent\n{}", "- The person wants the tests to pass.\n".repeat(9));
    let astray = "## Intent\nThe person wants `warehouse_sync` to read `stock/levels.csv`; `reorder_point()` of \
        `stock/forecast.py` divides by zero, and `safe_ratio()` helps.";
    let words = "## Intent\nzqxvrt plkwqw jjhxxn vrtzqx wqwplk xxnjjh zqxplk vrtwqw plkjjh xxnzqx jjhvrt wqwxxn plkvrt";
    for (answer, why) in [
        (good(echo), "the summary repeats its instructions"),
        (good(&looped), "the summary says the same again and again"),
        (good("## Intent\n\n## Errors and fixes\n\n## Next step"), "the summary is headings"),
        (good("## Intent\n(none)\n\n## Next step\n(none)"), "the summary is headings"),
        (
            good(&format!("Sure! Here is the summary:\n\n{INTENT}")),
            "the summary talks to whoever asked: Sure!",
        ),
        (
            good(&format!("{INTENT}\n\nLet me know if you need more.")),
            "the summary talks to whoever asked: Let me",
        ),
        (good(astray), "the summary is of something else: "),
        (good(words), "the summary is of something else: 0 of its 14 words"),
        (empty(), "the summary is empty"),
        (cut_off(INTENT), "the summary was cut off"),
        (tool_call(), "the summariser called a tool"),
    ] {
        let mut mended = due(by_model(), [answer.clone(), good(INTENT)]);
        let record = mended.prepare().expect("it is due");
        assert!(
            record.notes.iter().any(|note| note.starts_with(&format!("the model was asked again: {why}"))),
            "{why}: {:?}",
            record.notes
        );
        assert!(summary(&record).contains(INTENT), "{why}: asked again, it answered");
        let mut hopeless = due(by_model(), []);
        hopeless.model.always(answer);
        let record = hopeless.prepare().expect("it is due");
        let [fallback] = &record.fallbacks[..] else { panic!("{why}: {:?}", record.fallbacks) };
        assert_eq!(fallback.strategy, Strategy::Summarize);
        assert!(fallback.why.starts_with(why), "{why}: {}", fallback.why);
        assert_eq!(changed(&record).summarizer.as_deref(), Some("the embedded summariser"), "{why}");
        let note = "the model wrote no summary that would do; the embedded summariser did";
        assert!(record.notes.iter().any(|told| told == note), "{why}: {:?}", record.notes);
        assert!(!summary(&record).contains(PROSE), "{why}");
    }
}

#[test]
fn the_sessions_own_request_is_gone_on_with_where_that_is_cheaper() {
    let asked = |maker: Maker| {
        let mut bed = due(maker, [good(INTENT)]);
        bed.prepare().expect("it is due");
        bed.model.requests().remove(0).body
    };
    assert!(
        matches!(asked(by_model().warm()), SummaryInput::Prefix { .. }),
        "a tenth of all is less than the text"
    );
    assert!(matches!(asked(by_model()), SummaryInput::Text(_)), "a cold cache is not filled with the prefix");
    // A tenth of a long system prompt is more than all of a short history.
    let fixed = Maker::new("default", 400_000).warm().budget(|budget| budget.fixed = Tokens(360_000));
    assert!(matches!(asked(fixed), SummaryInput::Text(_)));
    let text = |settings: &mut epitome_core::Settings| settings.summary.input = Input::Text;
    assert!(matches!(asked(by_model().warm().set(text)), SummaryInput::Text(_)));
}
