//! Large and odd contents through `inspect`, `context` and `compact`: counted by rules of their own and never as prose,
//! kept to the byte, and done in a time that grows as they do.

use super::{BodyFile, elements, epitome, list_field};
use epitome_wire::Protocol;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::{Duration, Instant};

/// 450,000 bytes in base64.
const PDF_CHARS: usize = 600_000;
/// 30 seconds of 16,000 samples of two bytes, in base64.
const AUDIO_CHARS: usize = 1_280_000;
/// About 360 KB of blocks that nobody knows.
const UNKNOWN_BLOCKS: usize = 4_800;
const PICTURES: usize = 20;
const QUESTION: &str = "What does the contract say about termination?";

/// A kind of content that is large or odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matter {
    Pdf,
    Audio,
    FileById,
    Screenshots,
    HalfLetter,
    UnknownBlocks,
}

impl Matter {
    const ALL: [Self; 6] =
        [Self::Pdf, Self::Audio, Self::FileById, Self::Screenshots, Self::HalfLetter, Self::UnknownBlocks];

    /// What it may be counted as, question included.
    fn tokens(self) -> Range<u64> {
        match self {
            Self::Pdf | Self::FileById => 10_000..60_000,
            Self::Audio => 300..1_100,
            Self::Screenshots => 20 * 700..20 * 1_700,
            Self::HalfLetter => 10..60,
            // Nobody knows what such blocks hold, and so their words are all that is counted.
            Self::UnknownBlocks => 20_000..300_000,
        }
    }

    /// Its parts, `scale` times as large; none where the protocol has no place for it.
    fn parts(self, protocol: Protocol, scale: usize) -> Option<Vec<String>> {
        let count = match self {
            Self::Screenshots => PICTURES * scale,
            Self::UnknownBlocks => UNKNOWN_BLOCKS * scale,
            Self::Pdf | Self::Audio | Self::FileById | Self::HalfLetter => 1,
        };
        let part = self.part(protocol, scale)?;
        Some(vec![part; count])
    }

    fn part(self, protocol: Protocol, scale: usize) -> Option<String> {
        // `%PDF-1.7`, and nothing of it can be read.
        let pdf = || format!("JVBERi0xLjcK{}", "pQ7x".repeat(PDF_CHARS / 4 * scale));
        let pdf_url = || format!("data:application/pdf;base64,{}", pdf());
        // A PNG of 2,000 by 1,500.
        let png = || format!("iVBORw0KGgoAAAANSUhEUgAAB9AAAAXc{}", "A".repeat(60_000));
        let png_url = || format!("data:image/png;base64,{}", png());
        let wav = || {
            let samples = "A".repeat(AUDIO_CHARS * scale);
            format!("UklGRgAAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAA{samples}")
        };
        let part = match (self, protocol) {
            (Self::Pdf, Protocol::Anthropic) => {
                json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": pdf()}})
            }
            (Self::Pdf, Protocol::OpenaiChat) => {
                json!({"type": "file", "file": {"filename": "a.pdf", "file_data": pdf_url()}})
            }
            (Self::Pdf, Protocol::OpenaiResponses) => {
                json!({"type": "input_file", "filename": "a.pdf", "file_data": pdf_url()})
            }
            (Self::Audio, Protocol::Anthropic) => return None,
            (Self::Audio, Protocol::OpenaiChat | Protocol::OpenaiResponses) => {
                json!({"type": "input_audio", "input_audio": {"data": wav(), "format": "wav"}})
            }
            (Self::FileById, Protocol::Anthropic) => {
                json!({"type": "document", "source": {"type": "file", "file_id": "file_1"}})
            }
            (Self::FileById, Protocol::OpenaiChat) => json!({"type": "file", "file": {"file_id": "file-1"}}),
            (Self::FileById, Protocol::OpenaiResponses) => json!({"type": "input_file", "file_id": "file-1"}),
            (Self::Screenshots, Protocol::Anthropic) => {
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}})
            }
            (Self::Screenshots, Protocol::OpenaiChat) => {
                json!({"type": "image_url", "image_url": {"url": png_url()}})
            }
            (Self::Screenshots, Protocol::OpenaiResponses) => {
                json!({"type": "input_image", "image_url": png_url()})
            }
            (Self::HalfLetter, _) => return Some(text_part(protocol, r"cut inside an emoji: \ud83d")),
            (Self::UnknownBlocks, _) => json!({"type": "holograph", "data": "beam ".repeat(10)}),
        };
        Some(part.to_string())
    }
}

fn text_part(protocol: Protocol, escaped: &str) -> String {
    let kind = if protocol == Protocol::OpenaiResponses { "input_text" } else { "text" };
    format!(r#"{{"type":"{kind}","text":"{escaped}"}}"#)
}

fn model(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Anthropic => "claude-sonnet-4-5",
        Protocol::OpenaiChat | Protocol::OpenaiResponses => "gpt-4o",
    }
}

/// A body that ends in a question about `parts`; `turns` of talk stand before it.
fn body(protocol: Protocol, parts: &[String], turns: usize) -> String {
    let said = "It is what was said then, at some length, and it is of no use any more. ".repeat(30);
    let turn = |at: usize| {
        [
            json!({"role": "user", "content": format!("point {at}: {said}")}).to_string(),
            json!({"role": "assistant", "content": format!("seen {at}")}).to_string(),
        ]
    };
    let mut all: Vec<String> = (0..turns).flat_map(turn).collect();
    let asked = text_part(protocol, QUESTION);
    all.push(format!("{{ \"role\":\"user\", \"content\":[{} , {asked}]}}", parts.join(" ,")));
    let (model, list) = (model(protocol), list_field(protocol));
    format!("{{\"model\":\"{model}\", \"{list}\":[{}]}}", all.join(", "))
}

/// Every content that each protocol has a place for.
fn each(mut check: impl FnMut(Protocol, Matter, Vec<String>)) {
    for protocol in Protocol::ALL {
        for matter in Matter::ALL {
            if let Some(parts) = matter.parts(protocol, 1) {
                check(protocol, matter, parts);
            }
        }
    }
}

#[test]
fn nothing_is_counted_as_prose_and_every_byte_stays() {
    each(|protocol, matter, parts| {
        let body = body(protocol, &parts, 0);
        let (file, from) = (BodyFile::of(&body), protocol.name());
        let (survey, _) = epitome(&["inspect", &file.path(), "--from", from, "--json"]);
        let survey: Value = serde_json::from_slice(&survey).expect("a survey");
        let tokens = survey["context"]["tokens"].as_u64().expect("a number");
        assert!(matter.tokens().contains(&tokens), "{protocol}, {matter:?}: {tokens}");
        let (written, told) = epitome(&["context", &file.path(), "--from", from, "--to", from, "--json"]);
        let is_same = String::from_utf8_lossy(&written).trim_end() == body;
        assert!(is_same && told.is_empty(), "{protocol}, {matter:?}: {told}");
    });
}

#[test]
fn what_is_newest_outlives_a_compaction_to_the_byte() {
    each(|protocol, matter, parts| {
        let body = body(protocol, &parts, 100);
        let file = BodyFile::of(&body);
        let out = file.beside("out.json");
        let args = ["compact", &file.path(), "--from", protocol.name(), "--window", "200000", "-o", &out];
        let (record, _) = epitome(&[&args[..], &["--json"]].concat());
        let record: Value = serde_json::from_slice(&record).expect("a record");
        assert_eq!(
            (&record["outcome"], &record["substitutes"]),
            (&json!("compacted"), &Value::Null),
            "{protocol}, {matter:?}"
        );
        let written = std::fs::read_to_string(&out).expect("it was written");
        let (before, after) = (elements(protocol, &body), elements(protocol, &written));
        assert!(after.len() < before.len(), "{protocol}, {matter:?}: {}", after.len());
        assert!(after.last() == before.last(), "{protocol}, {matter:?}: the newest message is another");
        let tokens = record["tokens_after"].as_u64().expect("a number");
        assert!(tokens < matter.tokens().end + 60_000, "{protocol}, {matter:?}: {tokens}");
    });
}

/// So many rounds at most until the times are those of the program: what else the machine does only adds to them.
const ROUNDS_MAX: usize = 12;

/// Whether a run on the second of two files takes at most three times as long as one on the first; the least times that
/// were seen.
fn compare(files: &[BodyFile; 2], args: impl Fn(&BodyFile) -> Vec<String>) -> (bool, [Duration; 2]) {
    let mut least = [Duration::MAX; 2];
    for _ in 0..ROUNDS_MAX {
        for (file, least) in files.iter().zip(&mut least) {
            let args = args(file);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let begun = Instant::now();
            epitome(&args);
            *least = begun.elapsed().min(*least);
        }
        if least[1] < least[0] * 3 {
            return (true, least);
        }
    }
    (false, least)
}

/// Time that grew with the square of the size would be four times as long.
#[test]
fn twice_as_much_takes_about_twice_as_long() {
    for (number, protocol) in Protocol::ALL.into_iter().enumerate() {
        let other = Protocol::ALL[(number + 1) % Protocol::ALL.len()];
        for matter in [Matter::Pdf, Matter::Audio, Matter::Screenshots, Matter::UnknownBlocks] {
            // Reading takes its time too, so that which is suspected is given more weight.
            let scale = if matter == Matter::UnknownBlocks { 2 } else { 1 };
            let of_size = |times: usize| {
                let parts = matter.parts(protocol, scale * times)?;
                Some(BodyFile::of(&body(protocol, &parts, 4)))
            };
            let (Some(one), Some(two)) = (of_size(1), of_size(2)) else { continue };
            let files = [one, two];
            for (door, to) in [("context", protocol), ("context", other), ("compact", protocol)] {
                let args = |file: &BodyFile| {
                    let (path, out) = (file.path(), file.beside("out.json"));
                    let mut args = vec![door, &path, "--from", protocol.name(), "--to", to.name()];
                    if door == "compact" {
                        args.extend(["--window", "4000000", "-o", &out]);
                    }
                    args.into_iter().map(str::to_owned).collect()
                };
                let (is_linear, times) = compare(&files, args);
                assert!(is_linear, "{door}, {protocol} to {to}, {matter:?}: {times:?}");
            }
        }
    }
}
