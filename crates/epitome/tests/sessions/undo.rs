//! Whose compaction `undo` takes back, and files that are packed as their names say.

use crate::home::{self, CLAUDE, Home, TURNS};
use serde_json::json;

/// A session that Claude Code has compacted itself.
fn compacted_by_its_tool(home: &Home) -> String {
    let project = home.project();
    let mut lines = home::claude(&project, CLAUDE, TURNS);
    let last = lines.last().expect("there is one")["uuid"].clone();
    lines.push(json!({"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": null, "logicalParentUuid": last,
        "sessionId": CLAUDE, "timestamp": "2026-01-31T09:30:00.000Z", "compactMetadata": {"trigger": "auto", "preTokens": 170_000}}));
    lines.push(
        json!({"type": "user", "uuid": "s", "parentUuid": "b", "sessionId": CLAUDE, "isCompactSummary": true,
        "timestamp": "2026-01-31T09:30:00.000Z", "message": {"role": "user", "content": "all of it"}}),
    );
    let path = home.write(&home::claude_name(&project, CLAUDE), 0, &lines);
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_compaction_of_the_tools_own_is_taken_back_only_where_that_is_asked_for() {
    let home = Home::new();
    let path = compacted_by_its_tool(&home);
    let back = home.path().join("back.jsonl");
    let back = back.to_str().expect("UTF-8");
    let refused = home.refusal(&["undo", &path, "-o", back]);
    let begin = format!(
        "the last compaction of {path} was made by claude-code, not by epitome; without it the context goes from "
    );
    assert!(
        refused.starts_with(&begin) && refused.ends_with(" tokens. --foreign takes it back"),
        "{refused}"
    );
    assert!(!std::path::Path::new(back).exists());
    let line = home.parsed(&["undo", &path, "-o", back, "--foreign", "--json"]);
    assert_eq!((&line["outcome"], &line["by"]), (&json!("undone"), &json!("tool")));
    let [before, after] = ["tokens_before", "tokens_after"].map(|key| line[key].as_u64().expect("a number"));
    assert!(before < 1_000 && after > 3_000, "{before} → {after}");
    assert_eq!(home.parsed(&["undo", back, "--json"])["outcome"], "noop");
}

#[test]
fn our_own_is_taken_back_and_told() {
    let home = Home::new();
    let project = home.project();
    let path = home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, TURNS));
    let [small, back] =
        ["small.jsonl", "back.jsonl"].map(|name| home.path().join(name).to_str().expect("UTF-8").to_owned());
    home.printed(&[
        "compact",
        path.to_str().expect("UTF-8"),
        "-o",
        &small,
        "--window",
        "16000",
        "--target",
        "2000",
    ]);
    let output = home.run(&["undo", &small, "-o", &back]);
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(
        told.starts_with(&format!("{small}: its last compaction, epitome's, was taken back: context ")),
        "{told}"
    );
    assert!(told.trim_end().ends_with(&format!(" tokens; wrote {back}")), "{told}");
    assert!(std::fs::read(&back).expect("it is there") == std::fs::read(&path).expect("it is there"));
}

#[test]
fn a_file_is_packed_as_its_name_says() {
    let home = Home::new();
    let project = home.project();
    let path = home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, TURNS));
    for (name, magic) in
        [("small.jsonl.zst", &[0x28, 0xb5, 0x2f, 0xfd][..]), ("small.jsonl.gz", &[0x1f, 0x8b])]
    {
        let [small, back] =
            [name, "back.jsonl"].map(|name| home.path().join(name).to_str().expect("UTF-8").to_owned());
        home.printed(&[
            "compact",
            path.to_str().expect("UTF-8"),
            "-o",
            &small,
            "--window",
            "16000",
            "--target",
            "2000",
        ]);
        assert!(std::fs::read(&small).expect("it is there").starts_with(magic), "{name}");
        home.printed(&["undo", &small, "-o", &back]);
        assert!(
            std::fs::read(&back).expect("it is there") == std::fs::read(&path).expect("it is there"),
            "{name}"
        );
    }
}

#[test]
fn a_form_of_our_own_under_another_name_is_told() {
    let home = Home::new();
    let turn = |at: usize| {
        [
            json!({"role": "user", "content": format!("turn {at} {}", "word ".repeat(300))}),
            json!({"role": "assistant", "content": "done"}),
        ]
    };
    let messages: Vec<_> = (0..TURNS).flat_map(turn).collect();
    let info = json!({"config": {"model": {"model_name": "gpt-5"}}, "mini_version": "2.0.0"});
    let run = json!({"trajectory_format": "mini-swe-agent-1.1", "info": info, "messages": messages});
    let path = home.write("run.traj.json", 0, &[run]);
    let out = home.path().join("small.traj.json").to_str().expect("UTF-8").to_owned();
    let output = home.run(&[
        "compact",
        path.to_str().expect("UTF-8"),
        "-o",
        &out,
        "--window",
        "16000",
        "--target",
        "1000",
    ]);
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(told.contains(&format!("wrote {out} (native): file ")), "{told}");
    assert!(
        told.contains("it is in epitome's own form, around the mini-swe-agent it was made from"),
        "{told}"
    );
}
