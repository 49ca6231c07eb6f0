//! opencode's sessions: compactions with and without a tail, results it cleared, replies that failed, reverts.

use crate::{logged, shown};
use epitome_wire::Format;

fn export(info: &str, messages: &[&str]) -> String {
    format!("{{\"info\":{{\"id\":\"ses_1\"{info}}},\"messages\":[{}]}}", messages.join(","))
}

const ASKED: &str =
    r#"{"info":{"id":"m1","role":"user"},"parts":[{"id":"p1","type":"text","text":"read a"}]}"#;
const READ: &str = r#"{"info":{"id":"m2","role":"assistant","modelID":"m"},"parts":[{"id":"p2","type":"text","text":"yes"},{"id":"p3","type":"tool","tool":"read","callID":"c1","state":{"status":"completed","input":{},"output":"long text","time":{"start":1,"end":2,"compacted":3},"attachments":[{"type":"file","mime":"image/png","url":"data:image/png;base64,AA=="}]}},{"id":"p4","type":"tool","tool":"read","callID":"c2","state":{"status":"completed","input":{},"output":"short","time":{"start":1,"end":2},"attachments":[{"type":"file","mime":"application/pdf","url":"data:application/pdf;base64,AA=="}]}}]}"#;
const AGAIN: &str = r#"{"info":{"id":"m3","role":"user"},"parts":[{"id":"p5","type":"text","text":"again"},{"id":"p6","type":"file","mime":"application/pdf","url":"file:///a.pdf"}]}"#;
const ANSWERED: &str = r#"{"info":{"id":"m4","role":"assistant"},"parts":[{"id":"p7","type":"text","text":"part one"},{"id":"p8","type":"text","text":"part two"}]}"#;

#[test]
fn a_result_it_cleared_is_shown_cleared_and_its_original_is_kept() {
    let text = export("", &[ASKED, READ]);
    insta::assert_snapshot!(shown(Format::Opencode, &text), @r#"
    person: read a
    model: yes | calls c1=read {} | calls c2=read {}
    tool: c1 -> [Old tool result content cleared]
    tool: c2 -> short + opaque file {"type":"file","mime":"application/pdf","url":"data:application/pdf;base64,AA=="}
    "#);
    assert_eq!(logged(Format::Opencode, &text)[2], "tool: c1 -> long text + image image/png AA==");
}

#[test]
fn a_revert_hides_a_message_and_all_behind_it_or_the_end_of_one() {
    let whole = export(r#","revert":{"messageID":"m3"}"#, &[ASKED, READ, AGAIN, ANSWERED]);
    assert_eq!(shown(Format::Opencode, &whole).lines().count(), 4);
    assert_eq!(logged(Format::Opencode, &whole).len(), 7, "what was reverted is in the log");
    let part = export(r#","revert":{"messageID":"m4","partID":"p8"}"#, &[AGAIN, ANSWERED, ASKED]);
    insta::assert_snapshot!(shown(Format::Opencode, &part), @r#"
    person: again | opaque file {"id":"p6","type":"file","mime":"application/pdf","url":"file:///a.pdf"}
    model: part one
    "#);
}

#[test]
fn a_compaction_keeps_the_tail_its_request_names() {
    let request = |tail: &str| {
        format!(
            r#"{{"info":{{"id":"k1","role":"user"}},"parts":[{{"type":"compaction","auto":true{tail}}}]}}"#
        )
    };
    let summary = |more: &str| {
        format!(
            r#"{{"info":{{"id":"k2","role":"assistant","summary":true,"parentID":"k1"{more}}},"parts":[{{"type":"text","text":"Goal: a"}}]}}"#
        )
    };
    let done = r#","finish":"stop","time":{"created":1,"completed":2}"#;
    let go_on =
        r#"{"info":{"id":"k3","role":"user"},"parts":[{"type":"text","synthetic":true,"text":"Continue"}]}"#;
    let compacted = |tail: &str, end: &str| {
        export("", &[ASKED, READ, AGAIN, ANSWERED, &request(tail), &summary(end), go_on])
    };
    insta::assert_snapshot!(shown(Format::Opencode, &compacted("", done)), @"
    harness: Goal: a
    harness: Continue
    ");
    insta::assert_snapshot!(shown(Format::Opencode, &compacted(r#","tail_start_id":"m3""#, done)), @r#"
    harness: Goal: a
    person: again | opaque file {"id":"p6","type":"file","mime":"application/pdf","url":"file:///a.pdf"}
    model: part one | part two
    harness: Continue
    "#);
    let unfinished = shown(Format::Opencode, &compacted("", r#","time":{"created":1}"#));
    assert_eq!(unfinished.lines().count(), 8);
    assert!(
        unfinished.ends_with("! a compaction left no summary; the history before it is kept"),
        "{unfinished}"
    );
}

#[test]
fn a_reply_that_failed_is_sent_no_more_and_one_that_was_aborted_is() {
    let reply = |id: &str, error: &str| {
        format!(
            r#"{{"info":{{"id":"{id}","role":"assistant","error":{{"name":"{error}"}}}},"parts":[{{"type":"text","text":"{error}"}}]}}"#
        )
    };
    let text = export("", &[ASKED, &reply("e1", "APIError"), AGAIN, &reply("e2", "MessageAbortedError")]);
    insta::assert_snapshot!(shown(Format::Opencode, &text), @r#"
    person: read a
    person: again | opaque file {"id":"p6","type":"file","mime":"application/pdf","url":"file:///a.pdf"}
    model: MessageAbortedError
    "#);
    assert!(logged(Format::Opencode, &text).contains(&"model: APIError".to_owned()));
}
