//! What is told of stored sessions: lists, trees, entries whole, events, costs.

use crate::desk::{CLAUDE_CODE, Desk, PI, corpus, talk};
use serde_json::{Value, json};

/// A talk of 41 messages, compacted once.
fn compacted(desk: Desk) -> (Desk, Value) {
    desk.import("talk.json", talk(20));
    let record = desk.json(&["compact", "--session", "s0001", "--window", "16000", "--json"]);
    assert_eq!((&record["session"], &record["entry"]), (&json!("s0001"), &json!("m0041")));
    (desk, record)
}

#[test]
fn stored_sessions_stand_beside_those_of_the_tools() {
    for (desk, _) in Desk::of_each_kind().map(compacted) {
        let listing = desk.json(&["sessions", "--json"]);
        assert_eq!((&listing["found"], &listing["stored"]["found"]), (&json!(0), &json!(1)));
        let mut row = listing["stored"]["sessions"][0].clone();
        for time in ["created_ms", "changed_ms"] {
            assert!(row[time].as_u64().is_some_and(|time| time > 0), "{row}");
            row[time] = Value::Null;
        }
        row["title"] = json!("…");
        let expected = json!({
            "session": "s0001", "entries": 42, "leaf": "m0040", "created_ms": null, "changed_ms": null, "passes": 1,
            "is_held": false, "origin": "import", "title": "…", "model": "gpt-5", "form": "openai-chat"
        });
        assert_eq!(row, expected);
        let told = desk.printed(&["sessions", "--stored"]);
        assert!(told.contains("s0001    now openai-chat gpt-5"), "{told}");
        assert_eq!(desk.json(&["sessions", "nowhere", "--json"])["stored"]["found"], json!(0));
        assert_eq!(desk.json(&["sessions", "--no-store", "--json"])["stored"]["store"], Value::Null);
    }
}

#[test]
fn a_history_says_what_is_out_of_view() {
    for (desk, record) in Desk::of_each_kind().map(compacted) {
        let listing = desk.json(&["history", "s0001", "--json"]);
        let rows = listing["entries"].as_array().expect("a list");
        let ids = |standing: &str| -> Vec<Value> {
            let of = rows.iter().filter(|row| row["standing"] == standing && row["kind"] != "compaction");
            of.map(|row| row["id"].clone()).collect()
        };
        let listed = |key: &str| record[key].as_array().expect("a list").clone();
        assert_eq!(ids("superseded"), listed("superseded"));
        assert_eq!([ids("live"), ids("shortened")].concat().len(), 41 - listed("superseded").len());
        let last = rows.last().expect("there are rows");
        let (before, after) = (&record["tokens_before"], &record["tokens_after"]);
        assert_eq!(
            (&last["id"], &last["kind"], &last["parent"]),
            (&json!("m0041"), &json!("compaction"), &json!("m0040"))
        );
        assert!(last["time_ms"].as_u64().is_some_and(|time| time > 0), "{last}");
        let grouped = |tokens: &Value| epitome_core::Tokens(tokens.as_u64().expect("a number")).to_string();
        assert_eq!(
            last["text"],
            json!(format!("summarize, {} → {} tokens", grouped(before), grouped(after)))
        );
        // On a narrow terminal no line is broken, and nothing of a row is lost but the end of its text.
        let ran = desk.command(&["history", "s0001"]).env("COLUMNS", "60").output().expect("it runs");
        let told = String::from_utf8(ran.stdout).expect("text");
        assert!(told.lines().all(|line| line.chars().count() <= 60), "{told}");
        assert!(told.contains("m0040 user"), "{told}");
    }
}

#[test]
fn a_tree_shows_where_a_session_was_compacted_and_where_it_is() {
    for (desk, _) in Desk::of_each_kind().map(compacted) {
        desk.printed(&["undo", "--session", "s0001"]);
        desk.printed(&["rollback", "s0001", "m0020"]);
        let tree = desk.json(&["tree", "s0001", "--json"]);
        let runs: Vec<Value> = tree["runs"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|run| {
                json!([
                    run["first"],
                    run["last"],
                    run["parent"],
                    run["entries"],
                    run["depth"],
                    run["on_path"]
                ])
            })
            .collect();
        assert_eq!(
            runs,
            [json!(["m0000", "m0020", null, 21, 0, true]), json!(["m0021", "m0040", "m0020", 20, 0, false])]
        );
        let marks: Vec<Value> = tree["runs"][1]["marks"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|mark| json!([mark["id"], mark["kind"], mark["standing"]]))
            .collect();
        assert_eq!(
            marks,
            [json!(["m0041", "compaction", "elsewhere"]), json!(["m0042", "undo", "elsewhere"])]
        );
        let told = desk.printed(&["tree", "s0001"]);
        assert!(told.contains("→ the session is at m0020"), "{told}");
    }
}

#[test]
fn entries_are_shown_whole() {
    for (desk, record) in Desk::of_each_kind().map(compacted) {
        let shown = desk.json(&["show", "s0001", "m0040", "m0041", "--json"]);
        assert_eq!(shown[0]["message"]["blocks"], json!([{"block": "text", "text": "go on"}]));
        assert_eq!(shown[1]["record"]["tokens_after"], record["tokens_after"]);
        assert_eq!(shown[1]["compaction"]["summary"], record["summary"]);
        let told = desk.printed(&["show", "s0001", "m0040"]);
        assert_eq!(told.lines().skip(1).collect::<Vec<_>>(), ["go on"]);
        assert_eq!(
            desk.refusal(&["show", "s0001", "m0099"]),
            "epitome: s0001 has no entry m0099; it has 42 entries, from m0000 on\n"
        );
        let recalled = desk.printed(&["recall", "--session", "s0001", "m0040"]);
        assert_eq!(recalled, "go on\n");
        let summary = desk.printed(&["recall", "--session", "s0001", "m0041"]);
        assert!(summary.contains("epitome recall --session s0001 m0123"), "{summary}");
    }
}

#[test]
fn what_happened_is_told_with_its_time_and_can_be_chosen() {
    for (desk, _) in Desk::of_each_kind().map(compacted) {
        desk.printed(&["flag", "s0001", "m0041", "good", "--notes", "all there"]);
        let kinds = |args: &[&str]| -> Vec<Value> {
            let events = desk.json(&[&["audit", "--json"], args].concat())["events"].take();
            let events = events.as_array().expect("a list").clone();
            assert!(
                events.iter().all(|event| event["time_ms"].is_u64() && event["session"] == "s0001"),
                "{events:?}"
            );
            events.into_iter().map(|event| event["event"].clone()).collect()
        };
        let all = [json!("compaction.triggered"), json!("compaction.completed"), json!("compaction.flagged")];
        assert_eq!(kinds(&[]), all);
        assert_eq!(kinds(&["--kind", "flagged"]), all[2..]);
        assert_eq!(kinds(&["--session", "s0002"]), Vec::<Value>::new());
        assert_eq!(kinds(&["--since", "1h"]), all);
        assert_eq!(kinds(&["--since", "2999-01-01"]), Vec::<Value>::new());
        let wrong = desk.run(&["audit", "--since", "soon"]);
        assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    }
}

#[test]
fn a_sessions_own_calls_and_those_for_summaries_are_added_up_apart() {
    for desk in Desk::of_each_kind() {
        desk.import("session.jsonl", corpus(PI));
        desk.json(&["compact", "--session", "s0001", "--window", "64000", "--json"]);
        let cost = desk.json(&["cost", "--json"]);
        let line = &cost["lines"][0];
        assert_eq!(
            (&cost["by"], &line["key"], &line["compactions"]),
            (&json!("session"), &json!("s0001"), &json!(1))
        );
        let survey = desk.json(&["inspect", "session.jsonl", "--json"]);
        assert!(line["primary"]["calls"].as_u64().is_some_and(|calls| calls > 0), "{line}");
        assert_eq!(
            line["compactor"],
            json!({"calls": 0, "estimated": 0, "input": 0, "cache_read": 0, "output": 0, "dollars": 0.0}),
            "the embedded summariser is free"
        );
        let dollars = line["primary"]["dollars"].as_f64().expect("the model has a price");
        let surveyed = survey["cost"]["total"]["dollars"].as_f64().expect("the model has a price");
        assert!(dollars > 0.0 && (surveyed - dollars).abs() < 1e-6, "{dollars} {surveyed}");
        let by_model = desk.json(&["cost", "--by", "model", "--json"]);
        let keys: Vec<&Value> =
            by_model["lines"].as_array().expect("a list").iter().map(|line| &line["key"]).collect();
        assert_eq!(keys, [&json!("gpt-5.4"), &json!("the embedded summariser")]);
        assert_eq!(by_model["total"]["primary"], cost["total"]["primary"]);
        let by_day = desk.json(&["cost", "--by", "day", "--json"]);
        let days = by_day["lines"].as_array().expect("a list");
        let is_day =
            |line: &Value| line["key"].as_str().is_some_and(|day| day.len() == 10 && day.starts_with("20"));
        assert!(by_day["by"] == "day" && days.len() > 1 && days.iter().all(is_day), "{by_day}");
        assert_eq!(by_day["total"]["primary"], cost["total"]["primary"]);
        // A model nobody has a price for has none.
        desk.put("unknown.json", talk(2).replace("gpt-5", "nobody-knows"));
        desk.printed(&["import", "unknown.json"]);
        assert_eq!(desk.json(&["cost", "--json"])["total"]["primary"], cost["total"]["primary"]);
    }
}

#[test]
fn messages_are_looked_for_by_the_tool_and_the_file_of_their_calls() {
    for desk in Desk::of_each_kind() {
        let call = |id: &str, tool: &str, path: &str| {
            let input = json!({"path": path});
            json!({"role": "assistant", "content": [
                {"type": "text", "text": "the parser comes next"},
                {"type": "tool_use", "id": id, "name": tool, "input": input}
            ]})
        };
        let answer = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "done"}]});
        let messages = json!([
            {"role": "user", "content": "look at the parser"},
            call("c1", "read_file", "src/walk.rs"), answer("c1"),
            call("c2", "write_file", "src/walk.rs"), answer("c2"),
            call("c3", "read_file", "src/view.rs"), answer("c3"),
            {"role": "user", "content": "go on"}
        ]);
        let body = json!({"model": "claude-haiku-4-5", "max_tokens": 500, "messages": messages});
        desk.import("talk.json", body.to_string());
        let found = |args: &[&str]| {
            let found = desk.json(&[&["search", "parser", "--json"], args].concat());
            let hits = found["hits"].as_array().expect("a list").iter();
            let mut ids: Vec<String> =
                hits.map(|hit| hit["entry"].as_str().expect("an id").to_owned()).collect();
            ids.sort();
            ids
        };
        assert_eq!(found(&[]), ["m0000", "m0001", "m0003", "m0005"]);
        assert_eq!(found(&["--tool", "read_file"]), ["m0001", "m0005"]);
        assert_eq!(found(&["--file", "src/walk.rs"]), ["m0001", "m0003"]);
        assert_eq!(found(&["--file", "walk.rs", "--tool", "write_file"]), ["m0003"]);
        assert_eq!(found(&["--tool", "bash"]), Vec::<String>::new());
    }
}

#[test]
fn compactions_that_came_with_a_file_are_told_as_the_file_tells_them() {
    for desk in Desk::of_each_kind() {
        desk.put("session.jsonl", corpus(CLAUDE_CODE));
        let compact = ["compact", "session.jsonl", "-o", "small.jsonl", "--window", "64000", "--json"];
        assert_eq!(desk.json(&compact)["outcome"], "compacted");
        desk.printed(&["import", "small.jsonl"]);
        // The first is Claude Code's own.
        let told = desk.printed(&["inspect", "small.jsonl"]);
        let told = told.lines().filter_map(|line| line.trim().strip_prefix("compacted at "));
        let whose = ["the session's own tool", "epitome"];
        let expected: Vec<Value> = told
            .zip(whose)
            .map(|(line, who)| {
                let (id, sizes) = line.split_once(": ").expect("an id and its sizes");
                json!([
                    id,
                    format!("{who} compacted here, {}", sizes.trim_end_matches(", by its tool itself"))
                ])
            })
            .collect();
        assert_eq!(expected.len(), 2);
        let listed = &desk.json(&["sessions", "--stored", "--json"])["stored"]["sessions"][0];
        assert_eq!(listed["passes"], 2);
        let told = |row: &Value| (row["kind"] == "recorded").then(|| json!([row["id"], row["text"]]));
        let history = desk.json(&["history", "s0001", "--json"]);
        let rows = history["entries"].as_array().expect("a list").iter();
        assert_eq!(rows.filter_map(told).collect::<Vec<_>>(), expected);
        let tree = desk.json(&["tree", "s0001", "--json"]);
        let runs = tree["runs"].as_array().expect("a list").iter();
        let marks = runs.flat_map(|run| run["marks"].as_array().expect("a list"));
        assert_eq!(marks.filter_map(told).collect::<Vec<_>>(), expected);
        let undo = desk.printed(&["undo", "--session", "s0001"]);
        assert_eq!(
            undo.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .replace(&format!(" --store {}", desk.address()), ""),
            "s0001: no compaction to take back in the store: the last one came with its file, and is taken back there (epitome export s0001 -o FILE; epitome undo FILE -o FILE; epitome import FILE)"
        );
    }
}

#[test]
fn where_no_model_wrote_a_summary_no_line_tells_of_its_cost() {
    let desk = Desk::new();
    desk.import("session.jsonl", corpus(PI));
    desk.json(&["compact", "--session", "s0001", "--window", "64000", "--json"]);
    let told = desk.printed(&["cost"]);
    let who: Vec<&str> = told.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(&who[..3], ["who", "primary", "primary"], "{told}");
    desk.put("word.txt", "a");
    assert_eq!(desk.printed(&["tokens", "word.txt", "--model", "gpt-5"]), "1 token (o200k_base)\n");
}
