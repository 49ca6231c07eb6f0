//! What files say of their calls and compactions beside what was said: when, and what their own tool counted.

use epitome_core::{EntryId, ZeroMeasure};
use epitome_wire::{Conversation, read};
use std::path::Path;
use std::sync::Arc;

#[expect(clippy::disallowed_methods, reason = "the crate reads no files; its tests read the corpus")]
fn corpus(name: &str) -> Conversation {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name);
    let bytes = zstd::decode_all(&*std::fs::read(packed).expect("it is of the corpus")).expect("it unpacks");
    let transcript = read(Arc::new(bytes), None, &ZeroMeasure).expect("it is a transcript");
    transcript.conversations.into_iter().next().expect("it has a conversation")
}

/// When the first and the last reply came.
fn times(name: &str) -> [Option<u64>; 2] {
    let conversation = corpus(name);
    let replies = &conversation.replies;
    [replies.first(), replies.last()].map(|reply| reply.and_then(|reply| reply.time_ms))
}

#[test]
fn replies_come_with_their_time_where_the_format_has_it() {
    let told = [
        times("claude-code/chkit-98b664.jsonl.zst"),
        times("codex/session-bridge-64b5e5.jsonl.zst"),
        times("pi/pi-dev-962b10-v3.jsonl.zst"),
        times("gemini-cli/session-bridge-e94f17.json.zst"),
        times("opencode/session-bridge-13dddd.json.zst"),
        times("openhands/ponyc-line1.json.zst"),
        times("swe-agent/swesmith-pandas-53652.traj.json.zst"),
    ];
    let expected = [
        [Some(1_771_902_469_361), Some(1_771_906_826_822)],
        [Some(1_775_758_423_545), Some(1_775_824_468_561)],
        [Some(1_777_010_946_209), Some(1_777_166_490_068)],
        [Some(1_776_180_686_424), Some(1_776_181_088_611)],
        [Some(1_776_105_641_989), Some(1_776_121_618_937)],
        [Some(1_746_030_777_821), Some(1_746_030_862_948)],
        [None, None],
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_compaction_says_whether_it_came_by_itself_and_what_it_found() {
    let told = |name: &str| {
        let found = corpus(name).compactions.into_iter();
        found.map(|one| (one.entry, one.tokens_before, one.is_automatic)).collect::<Vec<_>>()
    };
    assert_eq!(told("claude-code/chkit-98b664.jsonl.zst"), [(EntryId(190), Some(169_647), true)]);
    let by_hand = told("claude-code/oh-my-posh-d3cfdf-mcp.jsonl.zst");
    assert_eq!(by_hand.iter().map(|one| (one.1, one.2)).collect::<Vec<_>>(), [(Some(297_190), false)]);
    let of_pi = told("pi/pi-dev-962b10-v3.jsonl.zst");
    assert_eq!(of_pi.iter().map(|one| (one.1, one.2)).collect::<Vec<_>>(), [(Some(99_908), false)]);
}
