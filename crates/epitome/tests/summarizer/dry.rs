//! A dry run shows the plan, and leaves no trace.

use crate::stage::{CODEX, MIDDLE, Stage};
use serde_json::{Value, json};

#[test]
fn a_dry_run_writes_nothing_and_asks_nobody() {
    let stage = Stage::new(CODEX, "");
    let before = stage.files();
    // kaged's prompt is a file that a real run writes where it is missing.
    for preset in ["aura", "pi", "claude-code", "kaged", "operator-use"] {
        let args = ["compact", "session", "--preset", preset, "--summarizer", "fast", "--window", "64000"];
        for more in [&["--dry-run"][..], &["--dry-run", "--json"], &["--dry-run", "-o", "out"]] {
            let ran = stage.run(&[&args[..], more].concat());
            assert_eq!(ran.code, Some(0), "{preset} {more:?}: {}", ran.err);
        }
    }
    assert!(stage.files() == before, "a dry run touched a file");
    assert_eq!(stage.report().requests, 0);
}

#[test]
fn the_plan_says_what_would_be_tried_and_what_it_would_cost() {
    let stage = Stage::new(MIDDLE, "");
    let args = ["compact", "session", "--preset", "kaged", "--summarizer", "fast", "--window", "64000"];
    let record = stage.json(&[&args[..], &["--dry-run", "--json"]].concat());
    let plan = &record["plan"];
    let count = |list: &Value| list.as_array().expect("a list").len();
    assert_eq!(
        (&plan["strategies"], &plan["calls"]["summarizer"], &plan["calls"]["calls"]),
        (&json!(["summarize", "drop"]), &json!("fast"), &json!(1))
    );
    assert!(count(&plan["leaving"]) > 0 && count(&plan["staying"]) > 0);
    let most = plan["cost_max"].as_f64().expect("haiku has a price");
    let real = stage.json(&[&args[..], &["-o", "out", "--json"]].concat());
    let cost = real["cost"].as_f64().expect("a number");
    assert!(cost > 0.0 && cost <= most * 1.5, "planned {most}, cost {cost}");
}
