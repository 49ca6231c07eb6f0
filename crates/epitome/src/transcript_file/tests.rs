//! How often a file is read for what is asked of its conversations.

use super::TranscriptFile;
use crate::cli::{FromFormat, ReadArgs};
use epitome_core::policy::{CountRule, CountText, Settings};
use epitome_core::{Policy, Tokens};
use epitome_tokens::ModelSpec;
use epitome_wire::ByteSource;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that counts the bytes that are read of it.
struct CountedBytes {
    bytes: Vec<u8>,
    read: AtomicU64,
}

impl ByteSource for CountedBytes {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let got = self.bytes.read_at(offset, into)?;
        self.read.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

fn file_of(conversations: usize) -> (TranscriptFile, Arc<CountedBytes>) {
    let body = r#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"where is main?"},{"role":"assistant","content":"in src"}]}"#;
    let bytes = format!("{body}\n").repeat(conversations).into_bytes();
    let source = Arc::new(CountedBytes { bytes, read: AtomicU64::new(0) });
    let (from, model, models) = (FromFormat(None), None, None);
    let args = ReadArgs { from, model, window: Some(64_000), models, json: false };
    let count = CountRule { text: CountText::QuarterChars, image_tokens: None };
    let by_characters = Settings { count, ..Settings::default() };
    let policy = Arc::new(Policy::try_from(by_characters).expect("the settings are sound"));
    let model = ModelSpec::guess("claude-sonnet-4-5");
    let file = TranscriptFile::read(Path::new("bodies.jsonl"), source.clone(), &args, model, policy);
    (file.expect("it is a list of bodies"), source)
}

/// What is read of a file to count all of its conversations in the model's tokens.
fn bytes_read(conversations: usize) -> u64 {
    let (file, source) = file_of(conversations);
    source.read.store(0, Ordering::Relaxed);
    for number in 0..conversations {
        let fixed = file.conversation(number).fixed.clone();
        let count = file.model_count(number, &fixed, Some(Tokens::ZERO));
        count.expect("the file is as it was");
    }
    source.read.load(Ordering::Relaxed)
}

#[test]
fn a_file_of_twice_as_many_conversations_is_read_twice_as_much() {
    let [few, many] = [8, 16].map(bytes_read);
    assert!(few > 0, "the policy counts otherwise than the model");
    assert_eq!(many, 2 * few);
}
