//! Small hand-written files: what each reader makes of the turns its format can take.

use crate::read_as;
use crate::reading::{ids, originals};
use crate::words::line;
use epitome_core::{Entry, Tail};
use epitome_wire::{Conversation, Format, Protocol};

/// Every conversation of a file, a line for each entry and problem.
fn told(from: Format, json: &str) -> String {
    let transcript = read_as(Some(from), json.as_bytes()).expect("the sample is of its format");
    let mut lines = Vec::new();
    for conversation in &transcript.conversations {
        lines.extend(entries(conversation));
    }
    lines.extend(transcript.problems.into_iter().map(|problem| format!("! {}", problem.what)));
    lines.join("\n")
}

fn entries(conversation: &Conversation) -> Vec<String> {
    let mut messages = originals(conversation).into_iter();
    let told = |id| match conversation.log.get(id) {
        Some(Entry::Message(_)) => messages.next().map_or_else(String::new, |message| line(&message)),
        Some(Entry::Recorded(compaction)) => {
            let summary = compaction.summary.as_deref().unwrap_or("nothing");
            let tail = match &compaction.tail {
                Tail::Nothing => String::new(),
                Tail::From(id) => format!(" from {id}"),
                Tail::These(ids) => format!(" then {ids:?}"),
                Tail::After { anchor, kept } => format!(" then {kept:?} and all after {anchor}"),
            };
            format!("compaction: {:?} {summary}{tail}", compaction.front)
        }
        Some(Entry::Note { kind }) => format!("note: {kind}"),
        Some(Entry::Mark(_)) | None => "?".into(),
    };
    ids(conversation).map(told).collect()
}

#[test]
fn anthropic_results_come_before_what_the_person_adds() {
    let body = r#"{"model":"claude-x","max_tokens":9,"system":[{"type":"text","text":"be good"}],"messages":[
        {"role":"user","content":"hi"},
        {"role":"assistant","content":[
            {"type":"thinking","thinking":"hm","signature":"seal"},{"type":"redacted_thinking","data":"zzz"},
            {"type":"text","text":"on it"},
            {"type":"server_tool_use","id":"s1","name":"web_search","input":{}},
            {"type":"web_search_tool_result","tool_use_id":"s1","content":[]},
            {"type":"tool_use","id":"t1","name":"bash","input":{"cmd": "ls"}},
            {"type":"tool_use","id":"t2","name":"read","input":{}}]},
        {"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t1","content":"a.rs","is_error":true},
            {"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"fn"},
                {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},
                {"type":"tool_reference","tool_name":"x"}]},
            {"type":"text","text":"and hurry"}]},
        {"role":"user","content":[{"type":"text","text":"<system-reminder>be brief</system-reminder>"}]}]}"#;
    insta::assert_snapshot!(told(Format::Body(Protocol::Anthropic), body), @r#"
    person: hi
    model: thinks "hm" seal | thinks "" zzz redacted | on it | opaque server_tool_use {"type":"server_tool_use","id":"s1","name":"web_search","input":{}} | opaque web_search_tool_result {"type":"web_search_tool_result","tool_use_id":"s1","content":[]} | calls t1=bash {"cmd": "ls"} | calls t2=read {}
    tool: t1 -> a.rs (error) | t2 -> fn + image image/png AA== + opaque tool_reference {"type":"tool_reference","tool_name":"x"}
    person: and hurry
    harness: <system-reminder>be brief</system-reminder>
    "#);
}

#[test]
fn a_message_is_found_at_the_bytes_of_its_element() {
    let mixed = r#"{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, {"type": "text", "text": "é"}]}"#;
    let body = format!(r#"{{"messages": [{{"role": "user", "content": "ü"}},  {mixed}]}}"#);
    let transcript = read_as(Some(Format::Body(Protocol::Anthropic)), body.as_bytes()).expect("it is read");
    let originals = &transcript.conversations[0].originals;
    let found = ids(&transcript.conversations[0]).map(|id| {
        let span = originals.spans(id).expect("it stands in the file")[0];
        &body[span.offset as usize..][..span.len as usize]
    });
    assert_eq!(found.collect::<Vec<_>>(), [r#"{"role": "user", "content": "ü"}"#, mixed, mixed]);
}

#[test]
fn chat_messages_of_every_role() {
    let body = r#"[{"role":"developer","content":"be good"},
        {"role":"user","content":[{"type":"text","text":"look"},
            {"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"input_audio","input_audio":{}}]},
        {"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"a\": 1}"}},
            {"id":"c2","type":"custom","custom":{"name":"patch","input":"*** Begin"}}]},
        {"role":"tool","tool_call_id":"c2","content":"ok"},
        {"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"x"}]},
        {"role":"system","content":"new rule"},
        {"role":"assistant","content":"","function_call":{"name":"old","arguments":"{}"}},
        {"role":"function","name":"old","content":"fine"},
        {"role":"narrator","content":"meanwhile"}]"#;
    insta::assert_snapshot!(told(Format::Body(Protocol::OpenaiChat), body), @r#"
    person: look | image image/png AA== | opaque input_audio {"type":"input_audio","input_audio":{}}
    model: thinks "hm" - | calls c1=ls {"a": 1} | calls c2=patch *** Begin freeform
    tool: c2 -> ok
    tool: c1 -> x
    system: new rule
    model: calls old=old {}
    tool: old -> fine
    ! message 9: nobody has the role `narrator`; it is left out
    "#);
}

#[test]
fn a_repeated_id_answers_the_nearest_call_and_strays_are_named() {
    let body = r#"{"messages":[{"role":"tool","tool_call_id":"z","content":"lost"},
        {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"1"}}]},
        {"role":"tool","tool_call_id":"a","content":"one"},
        {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"2"}},
            {"id":"b","function":{"name":"f","arguments":"3"}}]},
        {"role":"tool","tool_call_id":"a","content":"two"}]}"#;
    insta::assert_snapshot!(told(Format::Body(Protocol::OpenaiChat), body), @"
    tool: z -> lost
    model: calls a=f 1
    tool: a -> one
    model: calls a=f 2 | calls b=f 3
    tool: a -> two
    ! message 1: a result answers the call `z`, which nobody made before it; it is kept
    ! the call `b` of m0003 has no result
    ! call ids used more than once: 1; each result answers the nearest call before it
    ");
}

#[test]
fn lists_and_lines_of_conversations_are_several() {
    let list = r#"[{"traj":[{"role":"user","content":"a"}]},[{"role":"user","content":"b"}]]"#;
    let lines = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[]}\n";
    let messages = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n";
    let counted = [list, lines, messages].map(|json| {
        let transcript =
            read_as(Some(Format::Body(Protocol::OpenaiChat)), json.as_bytes()).expect("it is read");
        transcript.conversations.iter().map(|conversation| conversation.log.len()).collect::<Vec<_>>()
    });
    assert_eq!(counted, [vec![1, 1], vec![1, 0], vec![2]]);
}

#[test]
fn a_broken_line_costs_only_itself() {
    let lines =
        "{\"messages\":[]}\n{\"messages\": oops\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n";
    insta::assert_snapshot!(told(Format::Body(Protocol::OpenaiChat), lines), @"
    person: b
    ! its JSON breaks: expected value at line 2 column 14; lines left out: 1
    ");
}

#[test]
fn responses_put_out_in_one_go_are_one_message() {
    let body = r#"{"model":"gpt-x","instructions":"be good","input":[
        {"role":"user","content":"hi"},
        {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"looking"}]},
        {"type":"web_search_call","id":"ws_1","status":"completed"},
        {"type":"function_call","call_id":"c1","name":"ls","arguments":"{}"},
        {"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** Begin"},
        {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"a"},
            {"type":"input_image","image_url":"https://x/y.png"}]},
        {"type":"custom_tool_call_output","call_id":"c2","output":"done"},
        {"type":"reasoning","summary":[{"type":"summary_text","text":"so"}]},
        {"type":"computer_call","call_id":"c3","action":{"type":"click"}},
        {"type":"computer_call_output","call_id":"c3","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AA=="}},
        {"type":"mcp_approval_request","id":"m1","name":"rm","arguments":"{}"},
        {"type":"mcp_approval_response","approval_request_id":"m1","approve":true}]}"#;
    insta::assert_snapshot!(told(Format::Body(Protocol::OpenaiResponses), body), @r#"
    person: hi
    model: opaque reasoning {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"} | looking | opaque web_search_call {"type":"web_search_call","id":"ws_1","status":"completed"} | calls c1=ls {} | calls c2=apply_patch *** Begin freeform
    tool: c1 -> a + image  https://x/y.png
    tool: c2 -> done
    model: thinks "so" - | calls c3=computer_call {"type":"click"}
    tool: c3 -> image image/png AA==
    model: calls m1=rm {}
    tool: m1 -> approved
    "#);
    assert_eq!(
        told(Format::Body(Protocol::OpenaiResponses), r#"{"model":"m","input":"just this"}"#),
        "person: just this"
    );
}

#[test]
fn opencode_steps_are_replies_and_its_own_words_stand_apart() {
    let export = r#"{"info":{"id":"ses_1"},"messages":[
        {"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"fix @a"},
            {"type":"file","mime":"text/plain","url":"file:///a"},{"type":"text","synthetic":true,"text":"a is: x"}]},
        {"info":{"id":"m2","role":"assistant","modelID":"m"},"parts":[
            {"type":"step-start"},{"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"seal"}}},
            {"type":"tool","tool":"read","callID":"c1","state":{"status":"completed","input":{"p":1},"output":"x"}},
            {"type":"step-finish","tokens":{"input":5,"output":1,"reasoning":2,"cache":{"read":10,"write":0}}},
            {"type":"patch"},{"type":"step-start"},
            {"type":"tool","tool":"edit","callID":"c2","state":{"status":"error","input":{},"error":"no"}},
            {"type":"tool","tool":"bash","callID":"c3","state":{"status":"running","input":{}}},
            {"type":"step-finish","tokens":{"input":6,"output":1}}]},
        {"info":{"id":"m3","role":"user"},"parts":[{"type":"compaction","auto":true}]},
        {"info":{"id":"m4","role":"assistant","summary":true},"parts":[{"type":"text","text":"Goal: x"}]},
        {"info":{"id":"m5","role":"user"},"parts":[{"type":"text","synthetic":true,"text":"Continue if"}]}]}"#;
    insta::assert_snapshot!(told(Format::Opencode, export), @r#"
    person: fix @a
    harness: a is: x
    model: thinks "hm" seal | calls c1=read {"p":1}
    tool: c1 -> x
    model: calls c2=edit {} | calls c3=bash {}
    tool: c2 -> no (error)
    note: compaction
    compaction: [] Goal: x
    harness: Continue if
    ! the call `c3` of m0004 has no result
    "#);
}

#[test]
fn gemini_calls_carry_their_results() {
    let session = r#"{"sessionId":"s","projectHash":"h","messages":[
        {"type":"user","content":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]},
        {"type":"gemini","content":"","thoughts":[{"subject":"Plan","description":"look"}],"toolCalls":[
            {"id":"a","name":"ls","args":{"p":"."},"status":"success","result":[{"functionResponse":{"response":{"output":"x"}}}]},
            {"id":"b","name":"rm","args":{},"status":"cancelled","result":[{"functionResponse":{"response":{"error":"no"}}}]},
            {"id":"c","name":"cp","args":{},"status":"executing","result":null}]},
        {"type":"info","content":"Request cancelled."}]}"#;
    insta::assert_snapshot!(told(Format::GeminiCli, session), @r#"
    person: hi | image image/png AA==
    model: thinks "Plan\nlook" - | calls a=ls {"p":"."} | calls b=rm {} | calls c=cp {}
    tool: a -> x
    tool: b -> no (error)
    note: info
    ! the call `c` of m0001 has no result
    "#);
}

#[test]
fn openhands_actions_of_one_reply_are_one_message() {
    let call = |id: &str| {
        format!(
            r#""tool_call_metadata":{{"tool_call_id":"{id}","function_name":"bash","model_response":{{"id":"r1","model":"m","choices":[{{"message":{{"content":"both","tool_calls":[{{"id":"{id}","function":{{"name":"bash","arguments":"{{\"n\":1}}"}}}}]}}}}]}}}}"#
        )
    };
    let events = [
        r#"{"id":0,"source":"agent","action":"system","args":{"content":"be good","tools":[{"a":1}]}}"#.into(),
        r#"{"id":1,"source":"user","action":"message","args":{"content":"go","image_urls":null}}"#.into(),
        r#"{"id":2,"source":"environment","observation":"recall","content":"","extras":{"repo_instructions":"use tabs"}}"#.into(),
        format!(r#"{{"id":3,"source":"agent","action":"run","args":{{"thought":"both"}},{}}}"#, call("a")),
        format!(r#"{{"id":4,"source":"agent","observation":"run","cause":3,"content":"x","success":false,{}}}"#, call("a")),
        format!(r#"{{"id":5,"source":"agent","action":"run","args":{{}},{}}}"#, call("b")),
        format!(r#"{{"id":6,"source":"agent","observation":"run","cause":5,"content":"y","extras":{{"metadata":{{"suffix":"\n[exit 0]"}}}},{}}}"#, call("b")),
        r#"{"id":7,"source":"agent","action":"condensation","args":{"forgotten_event_ids":[3,4,6],"summary":"ran both"}}"#.into(),
        r#"{"id":8,"source":"agent","action":"browse","args":{"thought":"look","url":"u"}}"#.into(),
        r#"{"id":9,"source":"agent","observation":"browse","cause":8,"content":"page"}"#.into(),
    ];
    insta::assert_snapshot!(told(Format::Openhands, &format!("[{}]", events.join(","))), @r#"
    person: go
    harness: use tabs
    model: both | calls a=bash {"n":1} | calls b=bash {"n":1}
    tool: a -> x (error)
    tool: b -> y
    [exit 0]
    compaction: [EntryId(0), EntryId(1)] ran both then []
    model: look | calls event_8=browse {"thought":"look","url":"u"}
    tool: event_8 -> page
    "#);
}

#[test]
fn langgraph_knows_a_system_message_in_the_middle() {
    let thread = r#"{"values":{"todos":[{"content":"x"}],"artifacts":[],"messages":[
        {"type":"system","content":"be good"},{"type":"human","content":[{"type":"text","text":"go"}]},
        {"type":"system","content":"files changed"},
        {"type":"ai","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"ls","input":{}}],
         "additional_kwargs":{"reasoning_content":"hm"},"tool_calls":[{"id":"a","name":"ls","args":{"p":1}}],
         "invalid_tool_calls":[{"id":"b","name":"rm","args":"{oops"}]},
        {"type":"tool","tool_call_id":"a","content":"x","status":"success"},
        {"type":"tool","tool_call_id":"b","content":"bad json","status":"error"},{"type":"remove","id":"q"}]}}"#;
    insta::assert_snapshot!(told(Format::Langgraph, thread), @r#"
    person: go
    system: files changed
    model: thinks "hm" - | ok | calls a=ls {"p":1} | calls b=rm {oops freeform
    tool: a -> x
    tool: b -> bad json (error)
    note: todos
    ! message 7: messages of type `remove` are not known; it is left out
    "#);
}

#[test]
fn only_the_task_of_a_benchmark_run_is_a_persons() {
    let history = r#"{"history":[{"role":"system","content":"s"},{"role":"user","content":"demo","is_demo":true},
        {"role":"user","content":"task"},{"role":"assistant","content":"","tool_calls":[
            {"id":"a","function":{"name":"ls","arguments":"{}"}},{"id":"b","function":{"name":"cd","arguments":"{}"}}]},
        {"role":"tool","content":[{"type":"text","text":"seen"}],"tool_call_ids":["a","b"]},
        {"role":"user","content":"observed"}]}"#;
    insta::assert_snapshot!(told(Format::SweAgent, history), @"
    harness: demo
    person: task
    model: calls a=ls {} | calls b=cd {}
    tool: a -> seen | b -> 
    harness: observed
    ");
    let demo = r#"{"history":[{"role":"system","content":"s"},
        {"role":"user","content":"fix it","is_demo":true},
        {"role":"assistant","content":"I see","is_demo":true,"tool_calls":[{"id":"d","function":{"name":"ls","arguments":"{}"}}]},
        {"role":"tool","content":"x","is_demo":true,"tool_call_ids":["d"]},
        {"role":"user","content":"task"},{"role":"assistant","content":"on it"}]}"#;
    let transcript = read_as(None, demo.as_bytes()).expect("it is read");
    let conversation = &transcript.conversations[0];
    let staged: Vec<bool> = originals(conversation).iter().map(|message| message.is_staged()).collect();
    assert_eq!(staged, [false, true, true, false, false]);
    assert_eq!(conversation.replies.iter().map(|reply| reply.entry.0).collect::<Vec<_>>(), [4]);
    let run = r#"{"trajectory_format":"mini-swe-agent-1.1","messages":[{"role":"system","content":"s"},
        {"role":"user","content":"task"},{"role":"assistant","content":"no call"},
        {"role":"user","content":"call something"},{"role":"exit","content":"diff"}]}"#;
    insta::assert_snapshot!(told(Format::MiniSweAgent, run), @"
    person: task
    model: no call
    harness: call something
    note: exit
    ");
}
