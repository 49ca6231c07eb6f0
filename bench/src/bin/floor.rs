//! What plain Rust costs on the same file: a yardstick, not a product.
//!
//!     floor FILE [REPS]       (FILE: a JSONL session, or one JSON body)
//!
//! Phases: `floor_read` (bare read), `scan_lines` (newlines found), `parse_value` (each line a
//! `serde_json::Value`, kept), `parse_typed` (ids, kind, role and the length of the content; nothing copied).

use epitome_bench::speed::figures::{Figures, peak_rss_mb};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "parentId")]
    parent: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    messages: Vec<Said<'a>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().ok_or("usage: floor FILE [REPS]")?);
    let reps = args.next().map_or(Ok(5), |reps| reps.parse())?;
    let has_lines = path.extension().is_some_and(|ending| ending == "jsonl");
    let mut figures = Figures::default();
    figures.time("floor_read", reps, || fs::read(&path).map(|bytes| bytes.len()))?;
    let bytes = fs::read(&path)?;
    let lines = figures.time("scan_lines", reps, || memchr::memchr_iter(b'\n', &bytes).count());
    figures.time("parse_value", reps, || parse_value(&bytes, has_lines))?;
    figures.time("parse_typed", reps, || parse_typed(&bytes, has_lines))?;
    let floor = serde_json::json!({
        "peer": "rust floor (serde_json)",
        "file": path.file_name().map(|name| name.to_string_lossy()),
        "lines": lines,
        "ms": figures,
        "peak_rss_mb": peak_rss_mb(),
    });
    println!("{floor}");
    Ok(())
}

fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

fn parse_value(bytes: &[u8], has_lines: bool) -> serde_json::Result<Vec<Value>> {
    match has_lines {
        true => lines_of(bytes).map(serde_json::from_slice).collect(),
        false => serde_json::from_slice(bytes).map(|body| vec![body]),
    }
}

fn parse_typed(bytes: &[u8], has_lines: bool) -> serde_json::Result<usize> {
    if !has_lines {
        let body: Body<'_> = serde_json::from_slice(bytes)?;
        return Ok(body.messages.iter().map(content_len).sum());
    }
    let mut content = 0;
    for line in lines_of(bytes) {
        let line: Line<'_> = serde_json::from_slice(line)?;
        content += line.message.as_ref().map_or(0, content_len);
        black_box((&line.id, &line.parent, &line.kind));
    }
    Ok(content)
}

fn content_len(said: &Said<'_>) -> usize {
    black_box(&said.role);
    said.content.map_or(0, |content| content.get().len())
}
