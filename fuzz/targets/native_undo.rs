//! Arbitrary bytes as a file of ours, and of each tool, without its last compaction.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| epitome_fuzz::undo(bytes));
