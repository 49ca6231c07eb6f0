//! The page in a terminal of any width, and the page for a browser.

use crate::session::{Folder, SessionLines, corpus};
use crate::worked;
use serde_json::json;

/// How many columns a line takes: what East Asia writes takes two each.
fn columns(line: &str) -> usize {
    console::measure_text_width(line)
}

#[test]
fn nothing_runs_over_the_edge_of_a_terminal() {
    let folder = worked().saved();
    let files = [
        "s.jsonl".to_owned(),
        corpus("claude-code/kimi-cli-2977bc-zh-images.jsonl.zst"),
        corpus("codex/session-bridge-64b5e5.jsonl.zst"),
        corpus("opencode/session-bridge-13dddd.json.zst"),
    ];
    for file in &files {
        for width in [60, 80, 140, 200] {
            let page = folder.shown(width, &["inspect", file]);
            // A path in a command is to be copied, and stays whole on a line of its own.
            let is_path = |line: &str| line.trim().trim_end_matches(" \\") == file;
            let long: Vec<&str> =
                page.lines().filter(|line| columns(line) > width && !is_path(line)).collect();
            assert_eq!(long, Vec::<&str>::new(), "{file} in {width} columns");
        }
    }
}

#[test]
fn a_wider_terminal_shows_longer_bars_and_a_longer_line() {
    let folder = worked().saved();
    let widest = |width| {
        let page = folder.shown(width, &["inspect", "s.jsonl"]);
        let strip = page.lines().find(|line| line.starts_with("  ▓")).map(columns);
        let bar = page.lines().find(|line| line.starts_with("  free")).map(columns);
        (strip, bar)
    };
    let (narrow, wide) = (widest(60), widest(140));
    assert_eq!((narrow.0, wide.0), (Some(60), Some(140)));
    assert!(wide.1 > narrow.1, "{narrow:?} {wide:?}");
}

#[test]
fn one_of_a_thing_is_not_several() {
    let mut lines = SessionLines::of("claude-opus-4-5");
    lines.ask("please look");
    lines.run(9_000, "Read", &json!({"file_path": "/p/a.rs"}), "fn main() {}");
    let page = lines.saved().shown(80, &["inspect", "s.jsonl"]);
    for told in
        ["1 turn of the person's", "1 reply", "1 call ", "1 read ", "1 file read or changed", "0 todos open"]
    {
        assert!(page.contains(told), "{told}: {page}");
    }
}

#[test]
fn figures_that_nobody_can_mean_are_shown_like_others() {
    let mut lines = SessionLines::of("claude-opus-4-5");
    lines.ask("please look");
    lines.run(u64::MAX, "Read", &json!({"file_path": "/p/a.rs"}), "fn main() {}");
    lines.run(u64::MAX, "Read", &json!({"file_path": "/p/a.rs"}), "fn main() {}");
    let folder = lines.saved();
    assert!(folder.shown(80, &["inspect", "s.jsonl"]).contains("The request over time"));
    let page = folder.shown(80, &["inspect", "s.jsonl", "--html", "-"]);
    assert!(page.ends_with("</html>\n"), "{page}");
}

#[test]
fn a_page_is_of_a_transcript() {
    let refused = Folder::new().refused(&["inspect", "--html", "page.html"]);
    assert!(refused.contains("name a transcript, or send one to standard input"), "{refused}");
}

/// A session whose tool and file are named to do harm.
fn hostile() -> Folder {
    let mut lines = SessionLines::of("claude-opus-4-5");
    lines.ask("please look");
    let path = json!({"file_path": "/p/<img src=x onerror=alert(1)>\u{1b}[2J.rs"});
    lines.run(9_000, "<script>alert(1)</script>", &path, "fn main() {}");
    lines.run(9_100, "Read", &path, &"fn main() {}\n".repeat(20));
    lines.saved()
}

#[test]
fn what_a_transcript_holds_is_obeyed_by_no_terminal_and_no_browser() {
    let folder = hostile();
    assert!(!folder.shown(80, &["inspect", "s.jsonl"]).contains('\u{1b}'));
    let page = folder.shown(80, &["inspect", "s.jsonl", "--html", "-"]);
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{1b}'), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""), "{page}");
}

#[test]
fn the_page_is_one_file_with_plots_for_light_and_dark() {
    let folder = worked().saved();
    assert_eq!(folder.shown(80, &["inspect", "s.jsonl", "--html", "page.html"]), "", "it goes to its file");
    let page = std::fs::read_to_string(folder.path("page.html")).expect("it was written");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for outside in ["http://", "https://", "src=", "@import", "url(", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    for told in ["<svg ", "prefers-color-scheme: dark", "What fills it", "By tool", "By file", "What it cost"]
    {
        assert!(page.contains(told), "{told}");
    }
    for tag in ["section", "table", "tr", "td", "details", "svg", "p"] {
        let count = |mark: &str| page.matches(mark).count();
        let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
        assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
    }
    let refused = folder.refused(&["inspect", "s.jsonl", "--html", "page.html", "--json"]);
    assert!(refused.contains("cannot be used with"), "{refused}");
}

#[test]
fn a_page_of_several_conversations_folds_all_but_the_first() {
    let folder = worked().saved();
    let page = folder.shown(80, &["inspect", "s.jsonl", "s.jsonl", "--html", "-"]);
    let count = |mark: &str| page.matches(mark).count();
    assert_eq!((count("<details class=\"conversation\""), count("class=\"conversation\" open")), (2, 1));
}

#[test]
fn the_report_of_a_compaction_holds_nothing_that_a_terminal_obeys() {
    let mut lines = SessionLines::of("claude-opus-4-5");
    for at in 0..12 {
        lines.ask(&format!("\u{1b}[2Jplease look {}", "and tell all that is to be seen there ".repeat(60)));
        lines.run(9_000, "Read", &json!({"file_path": format!("/p/a{at}\u{1b}[2J.rs")}), "fn main() {}");
    }
    let folder = lines.saved();
    for more in [&["--dry-run"][..], &["--dry-run", "-v"]] {
        let args = [&["compact", "s.jsonl", "--window", "16000", "--target", "2000"], more].concat();
        let told = folder.told(&args);
        assert!(told.contains("\u{fffd}[2Jplease look") && !told.contains('\u{1b}'), "{told}");
    }
}
