//! Wrong arguments: what was given, what is wrong with it, what to give instead.

use super::{BODY, PI, Sandbox};

/// A command line that is not understood; the first line says why.
fn misused(sandbox: &Sandbox, args: &[&str]) -> String {
    let before = sandbox.files();
    let ran = sandbox.run(args);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}: {}", ran.err);
    assert!(sandbox.files() == before, "{args:?} touched a file");
    ran.err.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_value_that_makes_no_sense_is_a_usage_error() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    let said = |args: &[&str]| misused(&sandbox, &[&["compact", "s.jsonl", "-o", "out"], args].concat());
    let window =
        |value: &str, why: &str| format!("epitome: invalid value '{value}' for '--window <TOKENS>': {why}");
    let least =
        |tokens: u64| format!("a window of {tokens} tokens leaves no room to work in; use at least 2000");
    assert_eq!(said(&["--window", "0"]), window("0", &least(0)));
    assert_eq!(said(&["--window", "100"]), window("100", &least(100)));
    assert_eq!(said(&["--window", "abc"]), window("abc", "`abc` is no number of tokens; write 64000 or 64k"));
    let huge = "18446744073709551615";
    let most = format!("no model has a window of {huge} tokens; use at most 1000000000");
    assert_eq!(said(&["--window", huge]), window(huge, &most));
    let target = |value: &str, why: &str| {
        format!("epitome: invalid value '{value}' for '--target <T>': `{value}` {why}")
    };
    let form = "is no threshold; write 80%, 160000 or -20000";
    assert_eq!(said(&["--target", "500x"]), target("500x", form));
    for share in ["0%", "101%"] {
        let range = "must lie above 0% and at or below 100%";
        assert_eq!(said(&["--target", share]), target(share, range));
    }
    assert_eq!(said(&["--target", "0"]), target("0", "would leave nothing"));
    assert!(said(&["--from", "word"]).contains("`word` is no format; there are claude-code, codex, pi,"));
    assert!(said(&["--to", "word"]).contains("`word` is no format; there are claude-code, codex, pi,"));
    let strategy =
        "`guess` is no strategy; there are trim, prune, summarize, native, delegate, checkpoint, drop";
    assert!(said(&["--strategy", "guess"]).ends_with(strategy));
}

#[test]
fn a_pointer_that_names_nothing_is_told() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    let none = "m99999 names no message of s.jsonl; pointers there run up to m0001";
    assert_eq!(sandbox.refused(&["recall", "s.jsonl", "m99999"]), none);
    let shape = "epitome: invalid value 'foo' for '[ID]...': `foo` is not a pointer; one looks like m0123";
    assert_eq!(misused(&sandbox, &["recall", "s.jsonl", "foo"]), shape);
    let ninth = "there is no conversation 9; the file has 1, counted from 0";
    assert_eq!(sandbox.refused(&["recall", "s.jsonl", "m0001", "--conversation", "9"]), ninth);
}

#[test]
fn an_unknown_preset_is_told() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    for args in [&["compact", "s.jsonl", "-o", "out", "--preset", "best"][..], &["presets", "best"]] {
        let said = sandbox.refused(args);
        assert!(said.starts_with("there is no preset `best`; use one of default"), "{said}");
    }
}

#[test]
fn an_unknown_model_is_guessed_and_that_is_said() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    let ran = sandbox.run(&["inspect", "s.jsonl", "--model", "oracle-9", "--json"]);
    let survey: serde_json::Value = serde_json::from_str(&ran.out).expect("--json prints JSON");
    assert_eq!(ran.code, Some(0));
    assert_eq!(survey["window"], serde_json::json!({"tokens": 128_000, "from": "guess"}));
    let ran = sandbox.run(&["tokens", "s.jsonl", "--model", "oracle-9"]);
    let guess = "epitome: the model `oracle-9` is not in the catalog; this is an estimate on the high side\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), guess));
}

#[test]
fn a_result_is_not_written_where_it_cannot_be() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    sandbox.put("body.json", BODY);
    sandbox.put("file", "");
    let missing = "cannot write gone/out.jsonl: there is no folder gone; make it first";
    assert_eq!(sandbox.refused(&["compact", "s.jsonl", "-o", "gone/out.jsonl"]), missing);
    assert_eq!(sandbox.refused(&["undo", "s.jsonl", "-o", "gone/out.jsonl"]), missing);
    let below = "cannot write file/out.jsonl: there is no folder file; make it first";
    assert_eq!(sandbox.refused(&["compact", "s.jsonl", "-o", "file/out.jsonl"]), below);
    let itself = "a body of anthropic keeps no originals, so it cannot take the place of body.json; write elsewhere, or use --to native";
    assert_eq!(sandbox.refused(&["compact", "body.json", "-o", "body.json"]), itself);
}

#[test]
fn several_transcripts_need_a_folder() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    sandbox.put("body.json", BODY);
    let both = ["compact", "s.jsonl", "body.json"];
    let stdout = "several transcripts cannot all go to standard output; name a folder with -o, or use --json for the records alone";
    assert_eq!(sandbox.refused(&both), stdout);
    let file = "out is no folder; several transcripts need one to go to";
    assert_eq!(sandbox.refused(&[&both[..], &["-o", "out"]].concat()), file);
}

#[test]
fn a_format_that_is_only_read_cannot_be_asked_for() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    let said = |to: &str| sandbox.refused(&["compact", "s.jsonl", "-o", "out", "--to", to]);
    assert_eq!(said("opencode"), "opencode is a format we read only; use native, or leave --to out");
    assert_eq!(said("codex"), "a pi transcript cannot be written as codex; use native or a protocol");
    let none = "`pi` is no protocol; there are anthropic, openai-chat, openai-responses";
    for command in ["context", "replay"] {
        let said = misused(&sandbox, &[command, "s.jsonl", "--to", "pi"]);
        assert_eq!(said, format!("epitome: invalid value 'pi' for '--to <PROTOCOL>': {none}"));
    }
}

#[test]
fn nothing_asked_for_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("Start here:"), "{}", ran.err);
    assert!(misused(&sandbox, &["inspct"]).contains("unrecognized subcommand 'inspct'"));
    let missing = "epitome: name a transcript, or send one to standard input";
    assert_eq!(misused(&sandbox, &["compact"]), missing);
}
