//! Damaged files: whatever is wrong with one, reading it ends, without a panic, in bounded work, and
//! every message it found is found again exactly as it was weighed.

mod mutate;
#[path = "../reading/mod.rs"]
mod reading;
mod seeds;

use epitome_core::{Context, Form, Image, Measure, MessageView, Tokens};
use epitome_wire::protocol::write_body;
use epitome_wire::{
    ByteSource, Conversation, FORMATS, Format, ReadError, Transcript, detect, native, read, undo,
};
use mutate::{Dice, damage, with_nulls};
use reading::{ByteMeasure, originals};
use seeds::Seed;
use serde_json::value::RawValue;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// Real sessions, seen from this package. The fuzz targets use the same seeds, seen from theirs.
const CORPUS: &str = "../../corpus";
/// Damaged files made from each seed.
const DAMAGED: u64 = 120;
/// How often a reader may go over a file's bytes, or weigh them, before it is called slow. A damaged
/// line is tried whole and then in pieces; a document is read, and its head was looked at before.
const PASSES_MAX: u64 = 8;
/// Work that any file costs, whatever its size: buffers are read whole.
const WORK_BYTES: u64 = 1 << 16;

/// Made once: unpacking takes longer than reading.
static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(seeds::seeds);

/// [`ByteMeasure`] with a tally of the bytes it was asked about.
#[derive(Default)]
struct TallyMeasure {
    bytes: AtomicU64,
}

impl Measure for TallyMeasure {
    fn text(&self, text: &str) -> Tokens {
        self.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
        ByteMeasure.text(text)
    }
    fn image(&self, image: &Image) -> Tokens {
        ByteMeasure.image(image)
    }
    fn framing(&self) -> Tokens {
        ByteMeasure.framing()
    }
}

/// Bytes in memory, and a tally of how many were handed out.
struct Tallied {
    bytes: Vec<u8>,
    handed: AtomicU64,
}

impl ByteSource for Tallied {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let got = self.bytes.read_at(offset, into)?;
        self.handed.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

/// The one place that calls the reader; it checks that the work is in proportion.
fn read_as(from: Option<Format>, bytes: &[u8]) -> Result<Transcript, ReadError> {
    let source = Arc::new(Tallied { bytes: bytes.to_vec(), handed: AtomicU64::new(0) });
    let measure = TallyMeasure::default();
    let transcript = read(source.clone(), from, &measure);
    let most = PASSES_MAX * bytes.len() as u64 + WORK_BYTES;
    let (handed, weighed) = (source.handed.load(Ordering::Relaxed), measure.bytes.load(Ordering::Relaxed));
    assert!(handed <= most && weighed <= most, "{} bytes: {handed} read, {weighed} weighed", bytes.len());
    transcript
}

/// Every message is found again, and the context can be derived and shown.
fn check(conversation: &Conversation) {
    originals(conversation);
    let reader = conversation.reader(&ByteMeasure);
    let shown = Context::of(conversation.leaf, reader).and_then(|context| context.shown(reader));
    shown.expect("what is in view has its original");
}

/// A body is written from its own bytes, whole and with every message cut as short as can be, and is JSON both times.
fn check_written(transcript: &Transcript) {
    let Some(protocol) = transcript.format.protocol() else { return };
    let short = Form { shorten: Some(Tokens(20)), ..Form::WHOLE };
    for conversation in &transcript.conversations {
        let reader = conversation.reader(&ByteMeasure);
        let shown = Context::of(conversation.leaf, reader).and_then(|context| context.shown(reader));
        let shown = shown.expect("what is in view has its original");
        let cut = |view: &MessageView| {
            let message = view.id.map(|id| short.apply(id, &view.message, &ByteMeasure));
            MessageView { id: view.id, message: message.unwrap_or_else(|| view.message.clone()) }
        };
        for shown in [shown.iter().map(cut).collect(), shown] {
            let written = write_body(protocol, conversation, &conversation.fixed, (None, None), &shown);
            let bytes = written.expect("it can be written").bytes;
            serde_json::from_slice::<&RawValue>(&bytes).expect("what is written is JSON");
        }
    }
}

/// Reads a file as what it was meant to be, as what it looks like, and without its last compaction.
fn survive(format: Format, bytes: &[u8]) {
    for from in [Some(format), None] {
        if let Ok(transcript) = read_as(from, bytes) {
            transcript.conversations.iter().for_each(check);
            check_written(&transcript);
        }
    }
    if format == Format::Native {
        drop(native::undo(Arc::new(bytes.to_vec())));
    } else if format.is_resumable() {
        drop(undo(format, &bytes.to_vec()));
    }
}

/// Runs `test`, and on a panic says which file it was.
fn with(seed: &Seed, what: &str, bytes: &[u8], test: impl Fn() + std::panic::UnwindSafe) {
    if std::panic::catch_unwind(test).is_err() {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]);
        panic!("a {} file with {what} was not survived; it begins\n{shown}", seed.format);
    }
}

/// Enough of a file to make a test of it.
const SHOWN_BYTES: usize = 2000;

#[test]
fn every_format_has_a_seed_that_is_read() {
    for format in FORMATS.iter().map(|row| row.format) {
        assert!(SEEDS.iter().any(|seed| seed.format == format), "no seed for {format}");
    }
    for seed in &*SEEDS {
        let transcript = read_as(Some(seed.format), &seed.bytes).expect("a seed is read");
        assert!(transcript.conversations.iter().any(|one| one.log.len() > 3), "{} is empty", seed.format);
        assert_eq!(detect(&[], &seed.bytes).ok(), Some(seed.format));
        transcript.conversations.iter().for_each(check);
    }
}

#[test]
fn every_addition_of_a_seed_of_ours_is_sound() {
    for seed in SEEDS.iter().filter(|seed| seed.format == Format::Native) {
        let problems = read_as(Some(Format::Native), &seed.bytes).expect("a seed is read").problems;
        let added: Vec<_> = problems.iter().filter(|problem| problem.what.contains("added")).collect();
        assert_eq!(added, Vec::<&epitome_wire::Problem>::new());
    }
}

#[test]
fn a_damaged_file_is_survived() {
    for (number, seed) in SEEDS.iter().enumerate() {
        for round in 0..DAMAGED {
            let bytes = damage(&seed.bytes, &mut Dice((number as u64) << 32 | round));
            with(seed, &format!("damage {round}"), &bytes, || survive(seed.format, &bytes));
        }
    }
}

/// Files that are written line by line are read on several threads once they are large.
#[test]
fn a_large_damaged_file_is_survived() {
    for (number, seed) in SEEDS.iter().enumerate().filter(|(_, seed)| is_of_lines(seed)) {
        let large = seed.bytes.repeat(LARGE_BYTES.div_ceil(seed.bytes.len()));
        for round in 0..3 {
            let bytes = damage(&large, &mut Dice((number as u64) << 40 | round));
            with(seed, &format!("large damage {round}"), &bytes, || survive(seed.format, &bytes));
        }
    }
}

/// More than readers take at once.
const LARGE_BYTES: usize = 3 << 19;

fn is_of_lines(seed: &Seed) -> bool {
    seed.format.is_resumable() || seed.format == Format::CopilotCli
}

#[test]
fn nothing_where_anything_was_is_survived() {
    for seed in &*SEEDS {
        for (number, bytes) in with_nulls(&seed.bytes).iter().enumerate() {
            with(seed, &format!("null {number}"), bytes, || survive(seed.format, bytes));
        }
    }
}

#[test]
fn a_file_of_one_format_read_as_another_is_survived() {
    for seed in &*SEEDS {
        for format in FORMATS.iter().map(|row| row.format) {
            let name = format!("the name {format}");
            with(seed, &name, &seed.bytes, || survive(format, &seed.bytes));
        }
    }
}
