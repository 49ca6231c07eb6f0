//! A server that stores less than all its clients say: `store.keep`. What the provider is sent is the same over restarts, and commands that
//! would need what is not kept say so.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use epitome_testbed::TestStore;
use serde_json::Value;

/// Enough for two compactions of a window of 20,000 tokens.
const TURNS: usize = 44;

fn serve<'s>(stage: &'s Stage, place: &TestStore, keep: &str) -> Proxy<'s> {
    let keep = format!("store.keep={keep}");
    stage.serve(&["--window", "20000", "--store", place.address(), "--set", &keep])
}

/// A conversation with a server that is restarted twice in it: what the provider was sent, and its compactions.
fn talk_through(stage: &Stage, place: &TestStore, keep: &str) -> (Vec<Vec<Value>>, Vec<Value>) {
    let mut proxy = serve(stage, place, keep);
    let mut talk = Talk::new(Speech::Anthropic, "claude-haiku-4-5").with("x-api-key", "a-clients-key");
    for turn in 0..TURNS {
        if [TURNS / 3, TURNS - 2].contains(&turn) {
            assert!(proxy.interrupt(), "it ends well");
            proxy = serve(stage, place, keep);
        }
        talk.say(&proxy, &words(turn));
    }
    let mut compactions = proxy.compactions();
    compactions.retain(|record| record["outcome"] == "compacted");
    assert!(proxy.interrupt(), "it ends well");
    (stage.arrived(), compactions)
}

/// What a command says, and whether it did what it was asked.
fn run(stage: &Stage, place: &TestStore, args: &[&str]) -> (bool, String) {
    let args = [args, &["--store", place.address()]].concat();
    let output = stage.command(&args).output().expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).trim_end().to_owned())
}

/// The ids that the first compaction superseded, and one that the last left in view.
fn ids(compactions: &[Value]) -> (String, String) {
    let id = |value: &Value| value.as_str().expect("an id").to_owned();
    let (first, last) = (&compactions[0], &compactions[compactions.len() - 1]);
    let kept = last["kept"].as_array().expect("a list");
    (id(&first["superseded"][1]), id(&kept[kept.len() - 1]))
}

#[test]
fn what_the_provider_is_sent_does_not_depend_on_how_much_is_kept() {
    let stage = Stage::new("");
    let (all, made) = talk_through(&stage, &TestStore::sqlite(), "all");
    assert!(made.len() >= 2, "{}", made.len());
    let [file, database] = TestStore::of_each_kind();
    for (place, keep) in [(&file, "superseded"), (&file.another(), "none"), (&database, "none")] {
        let stage = Stage::new("");
        let (arrived, compactions) = talk_through(&stage, place, keep);
        assert_eq!(compactions.len(), made.len(), "{keep} {}", place.address());
        let lengths = |requests: &[Vec<Value>]| requests.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(&arrived), lengths(&all), "{keep} {}", place.address());
        let changes = arrived.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
        assert_eq!(changes, made.len(), "{keep}: each request extends the last, but at a compaction");
    }
}

#[test]
fn what_is_superseded_can_be_recalled_and_what_is_in_view_is_left_to_the_client() {
    for place in TestStore::of_each_kind() {
        let stage = Stage::new("");
        let (_, compactions) = talk_through(&stage, &place, "superseded");
        let (gone, in_view) = ids(&compactions);
        let recall = |id: &str| run(&stage, &place, &["recall", "--session", "s0001", id]);
        let (is_there, text) = recall(&gone);
        assert!(is_there && !text.is_empty(), "{text}");
        let (is_there, text) = recall(&in_view);
        assert!(!is_there, "{text}");
        assert_eq!(
            text,
            format!(
                "epitome: s0001 keeps no text of {in_view}: `store.keep` leaves it to the client, whose next request says it again"
            )
        );
        let (_, found) = run(&stage, &place, &["search", "turn"]);
        assert!(found.contains("could not be looked through: `store.keep` leaves"), "{found}");
        let (is_well, report) = run(&stage, &place, &["doctor"]);
        assert!(is_well, "{report}");
    }
}

#[test]
fn where_nothing_is_kept_commands_say_so_and_records_stay() {
    let (stage, place) = (Stage::new(""), TestStore::sqlite());
    let (_, compactions) = talk_through(&stage, &place, "none");
    let (gone, _) = ids(&compactions);
    let refused = |args: &[&str]| {
        let (is_done, text) = run(&stage, &place, args);
        assert!(!is_done && text.contains("`store.keep` leaves it to the client"), "{args:?}: {text}");
    };
    refused(&["recall", "--session", "s0001", &gone]);
    refused(&["export", "s0001", "--to", "native"]);
    refused(&["undo", "--session", "s0001"]);
    refused(&["history", "s0001"]);
    let (is_done, text) =
        run(&stage, &place, &["show", "s0001", compactions[0]["entry"].as_str().expect("an id")]);
    assert!(is_done && text.contains("superseded"), "{text}");
    let (is_done, text) = run(&stage, &place, &["cost", "--session", "s0001"]);
    assert!(is_done, "{text}");
    // Nobody would say an imported file again.
    stage.settings("[store]\nkeep = \"none\"");
    stage.put("talk.json", r#"{"messages":[{"role":"user","content":"hello"}]}"#);
    let (is_done, text) = run(&stage, &place, &["import", "talk.json"]);
    assert!(!is_done && text.contains("set `store.keep` to `superseded` or `all`"), "{text}");
}
