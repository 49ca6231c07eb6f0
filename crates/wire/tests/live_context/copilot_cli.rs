//! Copilot CLI's logs: compactions made in the background, truncations, rewinds, subagents.

use crate::{logged, shown, transcript};
use epitome_wire::Format;

/// Events in a row, each with an id that is its number.
fn log(events: &[(&str, &str)]) -> String {
    let line = |(at, (kind, data)): (usize, &(&str, &str))| {
        format!(
            "{{\"type\":\"{kind}\",\"id\":\"e{at}\",\"timestamp\":\"t\",\"parentId\":null,\"data\":{{{data}}}}}\n"
        )
    };
    events.iter().enumerate().map(line).collect()
}

const SAID: (&str, &str) = ("user.message", r#""content":"hi""#);
const CALLED: (&str, &str) = (
    "assistant.message",
    r#""content":"on it","toolRequests":[{"toolCallId":"c1","name":"ls","arguments":{}}]"#,
);
const RESULT: (&str, &str) =
    ("tool.execution_complete", r#""toolCallId":"c1","success":true,"result":{"content":"a"}"#);
const DONE: (&str, &str) = ("assistant.message", r#""content":"done""#);

#[test]
fn a_compaction_covers_what_was_said_before_it_began() {
    let complete = (
        "session.compaction_complete",
        r#""success":true,"preCompactionMessagesLength":3,"summaryContent":"<overview>so far</overview>""#,
    );
    let begun = ("session.compaction_start", r#""currentTokens":9"#);
    let whole = log(&[SAID, CALLED, RESULT, DONE, begun, complete, ("user.message", r#""content":"go on""#)]);
    insta::assert_snapshot!(shown(Format::CopilotCli, &whole), @"
    harness: <overview>so far</overview>
    person: go on
    ! 6 compacts; what it keeps is not recorded, taken to be the newest 0 messages
    ");
    assert_eq!(logged(Format::CopilotCli, &whole).len(), 5, "what was compacted is in the log");
    // The exchange was not whole when it began, nor when it ended.
    let amid = log(&[SAID, DONE, CALLED, begun, ("user.message", r#""content":"wait""#), complete, RESULT]);
    insta::assert_snapshot!(shown(Format::CopilotCli, &amid), @"
    harness: <overview>so far</overview>
    model: on it | calls c1=ls {}
    tool: c1 -> a
    person: wait
    ! 6 compacts; what it keeps is not recorded, taken to be the newest 2 messages
    ");
    // A call that was aborted long ago keeps nothing in view.
    let aborted = log(&[SAID, CALLED, ("abort", ""), SAID, DONE, begun, complete]);
    assert_eq!(
        shown(Format::CopilotCli, &aborted).lines().next(),
        Some("harness: <overview>so far</overview>")
    );
    assert_eq!(shown(Format::CopilotCli, &aborted).lines().count(), 2);
    let counted = (
        "session.compaction_complete",
        r#""success":true,"preCompactionMessagesLength":4,"messagesRemoved":2,"summaryContent":"s""#,
    );
    let kept = log(&[SAID, DONE, CALLED, RESULT, begun, counted]);
    insta::assert_snapshot!(shown(Format::CopilotCli, &kept), @"
    harness: s
    model: on it | calls c1=ls {}
    tool: c1 -> a
    ! 6 compacts; what it keeps is not recorded, taken to be the newest 2 messages
    ");
}

#[test]
fn a_compaction_that_failed_or_left_no_summary_changes_nothing() {
    let failed = ("session.compaction_complete", r#""success":false,"error":"no""#);
    let bare = ("session.compaction_complete", r#""success":true"#);
    insta::assert_snapshot!(shown(Format::CopilotCli, &log(&[SAID, failed, DONE, bare])), @"
    person: hi
    model: done
    ! 4 compacts and leaves no summary; the history before it is kept
    ");
}

#[test]
fn a_truncation_drops_the_oldest_and_a_clearing_all() {
    let truncated = (
        "session.truncation",
        r#""performedBy":"BasicTruncator","preTruncationMessagesLength":4,"messagesRemovedDuringTruncation":3,"postTruncationMessagesLength":1"#,
    );
    insta::assert_snapshot!(shown(Format::CopilotCli, &log(&[SAID, DONE, CALLED, RESULT, truncated, SAID])), @"
    model: on it | calls c1=ls {}
    tool: c1 -> a
    person: hi
    ! 5 truncates; what went is not recorded, taken to be all but the newest 2 messages
    ");
    let cleared = ("session.context_cleared", r#""messagesCleared":2"#);
    assert_eq!(shown(Format::CopilotCli, &log(&[SAID, DONE, cleared, SAID])), "person: hi");
}

#[test]
fn a_rewind_takes_an_event_back_with_all_behind_it_compactions_too() {
    let complete = ("session.compaction_complete", r#""success":true,"summaryContent":"s""#);
    let wrong = ("user.message", r#""content":"wrong""#);
    let rewind = ("session.snapshot_rewind", r#""upToEventId":"e2","eventsRemoved":3"#);
    let truncated =
        ("session.truncation", r#""messagesRemovedDuringTruncation":1,"postTruncationMessagesLength":2"#);
    let text = log(&[
        SAID,
        DONE,
        wrong,
        complete,
        DONE,
        rewind,
        ("user.message", r#""content":"right""#),
        truncated,
    ]);
    insta::assert_snapshot!(shown(Format::CopilotCli, &text), @"
    model: done
    person: right
    ! 4 compacts; what it keeps is not recorded, taken to be the newest 0 messages
    ! 8 truncates; what went is not recorded, taken to be all but the newest 2 messages
    ");
    assert!(logged(Format::CopilotCli, &text).contains(&"person: wrong".to_owned()));
    let unknown = log(&[SAID, ("session.snapshot_rewind", r#""upToEventId":"zz""#)]);
    insta::assert_snapshot!(shown(Format::CopilotCli, &unknown), @"
    person: hi
    ! 2 rewinds to zz, which is not in the file; nothing is taken back
    ");
}

#[test]
fn what_subagents_say_stands_in_conversations_of_their_own() {
    let old = [
        SAID,
        (
            "assistant.message",
            r#""content":"","toolRequests":[{"toolCallId":"t1","name":"task","arguments":{}}]"#,
        ),
        ("subagent.started", r#""toolCallId":"t1","agentName":"explore""#),
        (
            "assistant.message",
            r#""content":"looking","parentToolCallId":"t1","toolRequests":[{"toolCallId":"c1","name":"ls","arguments":{}}]"#,
        ),
        // Older versions do not say whose result it is.
        RESULT,
        ("assistant.message", r#""content":"found","parentToolCallId":"t1""#),
        ("tool.execution_complete", r#""toolCallId":"t1","success":true,"result":{"content":"found"}"#),
    ];
    insta::assert_snapshot!(shown(Format::CopilotCli, &log(&old)), @"
    conversation 0
    person: hi
    model: calls t1=task {}
    tool: t1 -> found
    conversation 1
    model: looking | calls c1=ls {}
    tool: c1 -> a
    model: found
    ");
    let own = |line: &str| line.replace("\"timestamp\"", "\"agentId\":\"x\",\"timestamp\"");
    let task = own(&log(&[("user.message", r#""content":"look","source":"agent-x""#), DONE]));
    let said = log(&[SAID, ("user.message", r#""content":"news","source":"agent-x""#)]);
    insta::assert_snapshot!(shown(Format::CopilotCli, &(said + &task)), @"
    conversation 0
    person: hi
    harness: news
    conversation 1
    person: look
    model: done
    ");
}

#[test]
fn what_we_cannot_read_is_carried_and_a_cut_emoji_costs_nothing() {
    let text = log(&[
        ("session.start", r#""selectedModel":"claude-sonnet-5""#),
        (
            "user.message",
            r#""content":"see","transformedContent":"<sent>see \ud83d</sent>","attachments":[{"type":"file","path":"/a"},{"type":"blob","mimeType":"image/png","data":"AA=="},{"type":"blob","mimeType":"application/pdf","assetId":"sha"}]"#,
        ),
        ("system.notification", r#""content":"<system_notification>done</system_notification>""#),
        CALLED,
        (
            "tool.execution_complete",
            r#""toolCallId":"c1","success":true,"result":{"content":"","binaryResultsForLlm":[{"type":"image","mimeType":"image/png","data":"AA=="},{"type":"audio","omittedReason":"size"}]}"#,
        ),
        ("session.usage_info", r#""currentTokens":12,"tokenLimit":128000"#),
        ("hologram.shown", ""),
    ]);
    insta::assert_snapshot!(shown(Format::CopilotCli, &text), @r#"
    person: <sent>see �</sent> | image image/png AA== | opaque blob {"type":"blob","mimeType":"application/pdf","assetId":"sha"}
    harness: <system_notification>done</system_notification>
    model: on it | calls c1=ls {}
    tool: c1 -> image image/png AA== + opaque audio {"type":"audio","omittedReason":"size"}
    ! 2 holds half a character, as a text cut inside an emoji does; shown as �
    ! 2 names the file sha, which is not in the log before it
    ! 7 `hologram.shown` is no known kind of record; 1 of them passed over, this the first
    "#);
    let fixed = &transcript(Format::CopilotCli, &text).conversations[0].fixed;
    assert_eq!((fixed.model.as_deref(), fixed.window), (Some("claude-sonnet-5"), Some(128_000)));
}

#[test]
fn a_file_is_told_wherever_the_log_names_it() {
    let asset = (
        "session.binary_asset",
        r#""assetId":"sha256:a","type":"image","mimeType":"image/png","byteLength":1,"data":"AA==""#,
    );
    let said = (
        "user.message",
        r#""content":"see","attachments":[{"type":"blob","assetId":"sha256:a"},{"type":"file","path":"/a.png","assetId":"sha256:a","mimeType":"image/png"},{"type":"blob","mimeType":"image/png","assetId":"sha256:lost"}]"#,
    );
    let shot = (
        "tool.execution_complete",
        r#""toolCallId":"c1","success":true,"result":{"content":"a","binaryResultsForLlm":[{"type":"image","mimeType":"image/png","assetId":"sha256:a","byteLength":1}]}"#,
    );
    insta::assert_snapshot!(shown(Format::CopilotCli, &log(&[asset, said, CALLED, shot])), @r#"
    person: see | image image/png AA== | image image/png AA== | opaque blob {"type":"blob","mimeType":"image/png","assetId":"sha256:lost"}
    model: on it | calls c1=ls {}
    tool: c1 -> a + image image/png AA==
    ! 2 names the file sha256:lost, which is not in the log before it
    "#);
}
