//! Small files written line by line, and a compaction to append to them.

use epitome_core::policy::TranscriptEntry;
use epitome_core::{Tail, Tokens, Trigger};
use epitome_wire::Boundary;

pub(crate) fn file(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

/// A compaction that keeps `tail`.
pub(crate) fn boundary(tail: Tail) -> Boundary {
    Boundary {
        summary: "SUMMARY".into(),
        front: Vec::new(),
        tail,
        tokens_before: Tokens(9),
        tokens_after: Tokens(3),
        trigger: Trigger::Threshold,
        timestamp: "2026-01-31T09:30:00.000Z".into(),
        read_files: Vec::new(),
        modified_files: Vec::new(),
        duration_ms: 1,
        turns: 0,
        is_by_hook: false,
        entry: TranscriptEntry::Boundary,
        record: None,
    }
}
