//! Exact counting (o200k), timed.
//!
//!     tokens count DOCUMENTS.json [REPS]         times every document and prints the counts
//!     tokens extract FILE|FOLDER... > DOCUMENTS  every text of these transcripts, as a JSON array
//!
//! `bench/tokens_beside_tiktoken.py` runs it beside PyPI tiktoken and compares each count.

use epitome_bench::speed::figures::cpu_ms;
use epitome_bench::transcripts::files;
use epitome_core::{Archive, Block, EntryId, Image, Measure, Message, ResultPart, Tokens};
use epitome_tokens::{Counter, Encoding};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    match (args.next().as_deref(), args.next()) {
        (Some("count"), Some(file)) => {
            count(Path::new(&file), args.next().map_or(Ok(3), |reps| reps.parse())?)
        }
        (Some("extract"), Some(first)) => extract(std::iter::once(first).chain(args).map(PathBuf::from)),
        _ => Err("usage: tokens count DOCUMENTS.json [REPS] | tokens extract FILE|FOLDER...".into()),
    }
}

fn count(file: &Path, reps: usize) -> Result<(), Box<dyn Error>> {
    let documents: Vec<String> = serde_json::from_slice(&fs::read(file)?)?;
    let counter = Counter::exact(Encoding::O200kBase);
    let began = Instant::now();
    std::hint::black_box(counter.count_text("warm up"));
    let load_ms = began.elapsed().as_secs_f64() * 1e3;
    let (mut counts, mut count_ms, mut count_cpu_ms) = (Vec::new(), f64::MAX, f64::MAX);
    for _ in 0..reps.max(1) {
        let (began, had) = (Instant::now(), cpu_ms());
        counts = documents.iter().map(|document| counter.count_text(document)).collect();
        count_ms = count_ms.min(began.elapsed().as_secs_f64() * 1e3);
        count_cpu_ms = count_cpu_ms.min(cpu_ms().zip(had).map_or(count_ms, |(now, had)| now - had));
    }
    let bytes: usize = documents.iter().map(String::len).sum();
    let total = serde_json::json!({
        "peer": "epitome o200k_base",
        "documents": documents.len(),
        "bytes": bytes,
        "tokens": counts.iter().sum::<u64>(),
        "count_ms": count_ms,
        "count_cpu_ms": count_cpu_ms,
        "mb_per_s": bytes as f64 / 1e3 / count_ms,
        "load_ms": load_ms,
        "counts": counts,
    });
    println!("{total}");
    Ok(())
}

fn extract(paths: impl Iterator<Item = PathBuf>) -> Result<(), Box<dyn Error>> {
    let mut documents = Vec::new();
    for path in files(&paths.collect::<Vec<_>>()) {
        if let Err(why) = extract_file(&path, &mut documents) {
            eprintln!("{}: {why}", path.display());
        }
    }
    println!("{}", serde_json::to_string(&documents)?);
    Ok(())
}

fn extract_file(path: &Path, documents: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(path)?;
    let is_packed = path.extension().is_some_and(|ending| ending == "zst");
    let bytes = if is_packed { zstd::decode_all(&bytes[..])? } else { bytes };
    let transcript = epitome_wire::read(Arc::new(bytes), None, &Nothing)?;
    for conversation in &transcript.conversations {
        let ids = (0..conversation.log.len() as u32).map(EntryId);
        for id in ids.filter(|&id| conversation.log.item(id).is_some()) {
            documents.extend(texts(&*conversation.originals.message(id)?));
        }
    }
    Ok(())
}

/// Everything a message says that is counted as text.
fn texts(message: &Message) -> Vec<String> {
    let mut texts = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text { text } | Block::Thinking { text, .. } => texts.push(text.to_string()),
            Block::Call(call) => texts.extend([call.name.to_string(), call.input.to_string()]),
            Block::Result(result) => {
                texts.extend(result.parts.iter().filter_map(ResultPart::as_text).map(str::to_owned));
            }
            Block::Opaque(opaque) => texts.push(opaque.json.to_string()),
            Block::Image(_) => {}
        }
    }
    texts.retain(|text| !text.is_empty());
    texts
}

/// Counts nothing: extraction asks for no sizes.
struct Nothing;

impl Measure for Nothing {
    fn text(&self, _: &str) -> Tokens {
        Tokens::ZERO
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens::ZERO
    }
    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}
