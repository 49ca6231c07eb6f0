//! SWE-agent's demonstrations: lists of messages in YAML, of which nothing was said or done here.

use crate::{context, parsed, refusal, said, text};
use serde_json::json;

/// As `sweagent traj-to-demo --include_user` writes it.
const DEMO: &str = "\
# This is a demo file generated from trajectory file:
# trajectories/demonstrations/str_replace/function_calling_simple.traj
  - role: user
    content: |-
      We're solving this issue:
      TypeError: can only concatenate str
  - role: assistant
    content: Let me look at the code.
    tool_calls:
      - id: call_1
        type: function
        function:
          name: bash
          arguments: '{\"command\":\"cat no.py\"}'
  - role: tool
    content: no
    tool_call_ids:
      - call_1
";

#[test]
fn a_demonstration_is_read_and_marked_as_one() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("simple.demo.yaml");
    std::fs::write(&path, DEMO).expect("it can be written");
    let survey = parsed(&["inspect", text(folder.path()), "--json"]);
    assert_eq!(survey["format"], json!("swe-agent"), "{survey}");
    assert_eq!(
        (&survey["ledger"]["files"], &survey["ledger"]["commands"]),
        (&json!([]), &json!([])),
        "{survey}"
    );
    let expected = [
        ("user", "We're solving this issue:\nTypeError: can only concatenate str"),
        ("assistant", "Let me look at the code."),
        ("tool", "no"),
    ];
    assert_eq!(said(&context(&path)), expected);
}

#[test]
fn yaml_that_is_no_list_of_messages_is_refused() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("other.demo.yaml");
    std::fs::write(&path, "agent:\n  name: x\n").expect("it can be written");
    let said = refusal(&["inspect", text(&path)]);
    assert!(
        said.contains("it is no list of messages in YAML; make it anew (`sweagent traj-to-demo`)"),
        "{said}"
    );
}
