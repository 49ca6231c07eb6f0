//! What pi asks of a model, and what becomes of the answer.

use crate::{WINDOW, bed, compact, compacted_before_a_long_turn, exchanges, summary, tail};
use epitome_core::{Purpose, Role, SummaryInput, SummaryRequest, Tokens};
use epitome_settings::prompts;
use epitome_testbed::{Bed, Maker, good, written};

/// A finished turn, then one that is cut.
fn cut_turn(bed: &mut Bed) {
    bed.talk(2, 1_000);
    bed.user("make it green");
    exchanges(bed, 8);
}

fn asked(bed: &Bed) -> Vec<(Purpose, Tokens)> {
    bed.model.requests().iter().map(|request| (request.purpose, request.output_max)).collect()
}

/// The text between the tags of a request.
fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>\n"))?;
    rest.split_once(&format!("\n</{tag}>")).map(|(inner, _)| inner)
}

fn told(request: &SummaryRequest) -> String {
    inside(&written(request), "conversation").expect("it has a conversation").to_owned()
}

#[test]
fn p5_the_focus_is_in_every_call() {
    let mut bed = bed("pi@0.83");
    bed.session.options_mut().focus = Some("keep the API list".into());
    cut_turn(&mut bed);
    compact(&mut bed);
    let hears = |text: &String| text.ends_with("\n\nAdditional focus: keep the API list");
    assert_eq!(bed.model.asked().iter().map(hears).collect::<Vec<_>>(), [true, true]);
}

#[test]
fn p11_a_first_summary_and_an_update_have_their_own_prompts() {
    let prompts = prompts::built_in("pi").expect("it is built in");
    let mut bed = bed("pi");
    bed.talk(2, 1_000);
    tail(&mut bed);
    compact(&mut bed);
    let first = summary(&bed);
    tail(&mut bed);
    compact(&mut bed);
    let [one, two] = &bed.model.asked()[..] else { panic!("two summaries were written") };
    assert!(one.ends_with(&*prompts.first) && !one.contains("<previous-summary>"));
    assert!(two.ends_with(&*prompts.update));
    assert_eq!(inside(two, "previous-summary"), Some(first.as_str()));
}

#[test]
fn p14_the_context_is_the_summary_then_what_is_kept_then_what_came_later() {
    let mut bed = bed("pi");
    bed.talk(2, 1_000);
    let kept = tail(&mut bed);
    compact(&mut bed);
    let later = bed.user("go on");
    let shown = bed.session.shown().expect("all is in memory");
    let ids: Vec<_> = shown.iter().map(|shown| shown.id).collect();
    let expected: Vec<_> = [None].into_iter().chain(kept.into_iter().chain([later]).map(Some)).collect();
    assert_eq!(ids, expected);
    assert_eq!(shown[0].message.role, Role::User);
    assert!(shown[0].message.said().starts_with("<epitome-summary covers=\"m0000-m0001\" messages=\"2\""));
}

#[test]
fn p16_history_and_the_turns_beginning_are_summarised_apart_and_joined() {
    for version in ["pi", "pi@0.58", "pi@0.83"] {
        let mut bed = bed(version);
        bed.model.then(good("## Goal\nship it")).then(good("## Turn Context\n- make it green"));
        cut_turn(&mut bed);
        compact(&mut bed);
        let limits = [(Purpose::History, Tokens(13_107)), (Purpose::TurnPrefix, Tokens(8_192))];
        assert_eq!(asked(&bed), limits, "{version}");
        assert_eq!(
            summary(&bed),
            "## Goal\nship it\n\n---\n\n**Turn Context (split turn):**\n\n## Turn Context\n- make it green"
        );
    }
}

#[test]
fn p16_only_the_oldest_version_asks_for_both_at_once() {
    let attempts = |version: &str| {
        let mut bed = Maker::new(version, WINDOW).model(|model| model.parallel()).bed();
        cut_turn(&mut bed);
        compact(&mut bed);
        bed.model.requests().iter().map(|request| request.attempt).collect::<Vec<_>>()
    };
    assert_eq!([attempts("pi@0.58"), attempts("pi"), attempts("pi@0.83")], [[0, 0], [0, 1], [0, 1]]);
}

#[test]
fn p17_a_turn_cut_right_after_a_compaction_does_not_lose_the_summary() {
    let result = |version: &str| {
        let mut bed = bed(version);
        bed.model.then(good("## Goal\nship it")).then(good("- make it green"));
        compacted_before_a_long_turn(&mut bed);
        exchanges(&mut bed, 8);
        compact(&mut bed);
        assert_eq!(bed.model.requests()[1].purpose, Purpose::TurnPrefix);
        summary(&bed)
    };
    let joined = "## Goal\nship it\n\n---\n\n**Turn Context (split turn):**\n\n- make it green";
    assert_eq!(["pi", "pi@0.83"].map(result), [joined; 2]);
}

/// What is asked of a short turn with a call, whose result is `result`.
fn told_turn(version: &str, result: &str) -> SummaryRequest {
    let mut bed = bed(version);
    bed.user("fix the parser");
    bed.exchange("read", r#"{"path":"a.rs","limit":9}"#, result);
    bed.assistant("fixed");
    tail(&mut bed);
    compact(&mut bed);
    bed.model.requests().remove(0)
}

#[test]
fn p20_messages_have_their_markers() {
    let result = "line\n".repeat(390);
    let (upper, colon) = (told(&told_turn("pi", &result)), told(&told_turn("pi@0.83", &result)));
    let expected = [
        "[USER]\nfix the parser",
        "[ASSISTANT]\nused the tool read with {\"path\":\"a.rs\",\"limit\":9}",
        &format!("[TOOL_RESULT]\n{result}"),
        "[ASSISTANT]\nfixed",
    ];
    assert_eq!(upper, expected.join("\n\n---\n\n"));
    let expected = [
        "[User]: fix the parser",
        "[Assistant tool calls]: read(path=\"a.rs\", limit=9)",
        &format!("[Tool result]: {result}"),
        "[Assistant]: fixed",
    ];
    assert_eq!(colon, expected.join("\n\n"));
}

#[test]
fn p21_everything_is_one_message() {
    for version in ["pi", "pi@0.58", "pi@0.83", "pi@0.87"] {
        let request = told_turn(version, &"line\n".repeat(390));
        assert!(matches!(request.body, SummaryInput::Text(_)), "{version}");
    }
}

#[test]
fn p22_a_long_result_is_cut_to_its_head() {
    let result = "0123456789".repeat(500);
    for version in ["pi@0.58", "pi@0.83", "pi@0.87"] {
        let cut = format!("[Tool result]: {}\n[... 3000 more characters truncated]\n\n", &result[..2_000]);
        assert!(told(&told_turn(version, &result)).contains(&cut), "{version}");
    }
    assert!(told(&told_turn("pi", &result)).contains(&result));
}

/// Uses of files, each with a good result.
fn use_files(bed: &mut Bed, uses: &[(&str, &str)]) {
    for (tool, path) in uses {
        let input = match *tool {
            "edit" => format!(r#"{{"path":"{path}","oldText":"x","newText":"y"}}"#),
            _ => format!(r#"{{"path":"{path}"}}"#),
        };
        bed.exchange(tool, &input, "fn main() {}");
    }
}

#[test]
fn p23_a_file_that_was_changed_is_not_listed_as_read() {
    let mut bed = bed("pi");
    bed.model.then(good("## Goal\nship it"));
    bed.talk(2, 1_000);
    use_files(&mut bed, &[("read", "a.rs"), ("edit", "b.rs"), ("read", "b.rs")]);
    tail(&mut bed);
    compact(&mut bed);
    let lists = "<read-files>\na.rs\n</read-files>\n\n<modified-files>\nb.rs\n</modified-files>";
    assert_eq!(summary(&bed), format!("## Goal\nship it\n\n{lists}"));
}

#[test]
fn p24_lists_hold_the_files_of_earlier_compactions() {
    let mut bed = bed("pi");
    bed.talk(2, 1_000);
    use_files(&mut bed, &[("read", "x.rs")]);
    tail(&mut bed);
    compact(&mut bed);
    bed.model.then(good("## Goal\nship it"));
    use_files(&mut bed, &[("read", "y.rs")]);
    tail(&mut bed);
    compact(&mut bed);
    assert_eq!(summary(&bed), "## Goal\nship it\n\n<read-files>\nx.rs\ny.rs\n</read-files>");
}
