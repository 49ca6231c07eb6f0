//! Reading a session's figures from its file: its two ends where they are enough, all of it where sums are wanted.
//!
//! A line is parsed only where it can tell something. What a line tells is each agent's to say; money is counted here,
//! call by call, so that a call that is written on several lines, or again, is charged once.

use super::resume::dashed;
use super::{ContextSize, SessionFigures, SessionFile};
use crate::input;
use epitome_core::facts::spoken;
use epitome_tokens::{Catalog, Prices, Usage};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// So much of each end is read: headers, the first prompt and the newest reply lie within it.
const END_BYTES: u64 = 64 << 10;

/// A file that goes on after its newest reply, with a long result say, is read further back, up to this.
const TAIL_BYTES_MAX: u64 = 1 << 20;

/// A whole file is read in pieces of this size.
const CHUNK_BYTES: usize = 1 << 20;

/// A line beyond this is no record that tells anything.
const LINE_BYTES_MAX: usize = 64 << 20;

/// As much as a table shows of a prompt, and some more to search in.
const PROMPT_CHARS_MAX: usize = 200;

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Its two ends: folder, name, model, size.
    Ends,
    /// All of it: what was spent, and compactions.
    Whole,
}

/// A session's figures while its file is read.
pub struct SessionScan<'c> {
    pub figures: SessionFigures,
    catalog: &'c Catalog,
    /// Of the models met so far.
    prices: Vec<(String, Option<Prices>)>,
    /// The calls met, by the agent's name for each.
    calls: BTreeMap<String, SessionCall>,
    /// The longest prompt each model answered since the agent last compacted of itself.
    prompts: BTreeMap<String, u64>,
    /// What all calls took together, where the agent keeps the sum itself.
    total: Option<SessionCall>,
    /// What they had taken in the session that this one is a copy of; none where it is none.
    before_copy: Option<Usage>,
    /// What the folders are called that the file lies in: some agents call them after the project's.
    homes: Vec<String>,
}

/// One call of a model.
struct SessionCall {
    model: Option<String>,
    usage: Usage,
    /// What the agent says it cost.
    dollars: Option<f64>,
}

impl<'c> SessionScan<'c> {
    pub fn new(catalog: &'c Catalog) -> Self {
        let (figures, prices, calls, prompts) = Default::default();
        let (total, before_copy, homes) = Default::default();
        Self { figures, catalog, prices, calls, prompts, total, before_copy, homes }
    }

    /// The folder that a record was written in. A session is of the first, for later records may have moved on, unless its
    /// file lies in a folder that is called after another: a copy for another project has both.
    pub fn folder(&mut self, folder: Option<Cow<'_, str>>) {
        let Some(folder) = folder else { return };
        let is_known = self.figures.project.as_deref() == Some(&*folder);
        let is_own = || self.homes.contains(&dashed(Path::new(&*folder)));
        if self.figures.project.is_none() || (!is_known && is_own()) {
            self.figures.project = Some(folder.into_owned());
        }
    }

    /// What we noted on a compaction of ours. In a copy, what stands before it was spent in the session it is a copy of.
    fn own_mark(&mut self, mark: &OwnMark) {
        let Some(copy) = mark.record.as_ref().and_then(|record| record.copy.as_ref()) else { return };
        self.figures.project = Some(copy.folder.to_string_lossy().into_owned());
        self.end_of_copied();
    }

    /// All that was met so far is a copy of another session's, and was spent there.
    pub fn end_of_copied(&mut self) {
        self.calls.clear();
        self.before_copy = Some(self.total.take().map(|total| total.usage).unwrap_or_default());
    }

    /// A reply of the model: the newest shows how large the context is.
    pub fn reply(&mut self, id: &str, model: Option<&str>, usage: Option<Usage>, dollars: Option<f64>) {
        if let Some(model) = named(model) {
            self.figures.model = Some(model.to_owned());
        }
        if let Some(usage) = usage.filter(|usage| !usage.is_zero()) {
            self.figures.in_view = Some(ContextSize { tokens: usage.total(), is_estimate: false });
            let longest = self.prompts.entry(self.figures.model.clone().unwrap_or_default()).or_default();
            *longest = usage.prompt.max(*longest);
        }
        self.side_reply(id, model, usage, dollars);
    }

    /// A reply to a sub-agent: it costs, and its context is not this one.
    pub fn side_reply(&mut self, id: &str, model: Option<&str>, usage: Option<Usage>, dollars: Option<f64>) {
        if !self.calls.contains_key(id) {
            self.figures.replies += 1;
        }
        let model = named(model).map(str::to_owned).or_else(|| self.figures.model.clone());
        self.calls.insert(id.to_owned(), SessionCall { model, usage: usage.unwrap_or_default(), dollars });
    }

    /// What all calls so far took, by the agent's own sum.
    pub fn spent_in_all(&mut self, usage: Usage) {
        let model = self.figures.model.clone();
        self.total = Some(SessionCall { model, usage, dollars: None });
    }

    /// A compaction, and what the context came to where that is said.
    pub fn compaction(&mut self, tokens_after: Option<u64>) {
        self.figures.compactions += 1;
        self.figures.in_view = tokens_after.map(|tokens| ContextSize { tokens, is_estimate: true });
    }

    /// A compaction of ours. It frees what its record says of a request whose whole size the newest call told; what the agent
    /// adds to each stays.
    pub fn own_compaction(&mut self, freed: u64, tokens_after: u64) {
        let before = self.figures.in_view.map(|view| view.tokens);
        self.compaction(Some(
            before.map_or(tokens_after, |before| before.saturating_sub(freed).max(tokens_after)),
        ));
    }

    /// What a mark of ours says of a compaction, else what the tool does.
    pub fn marked_compaction(&mut self, ours: Option<&OwnMark>, said: Option<u64>) {
        match ours.and_then(OwnMark::sizes) {
            Some((before, after)) => self.own_compaction(before.saturating_sub(after), after),
            None => self.compaction(said),
        }
        ours.into_iter().for_each(|mark| self.own_mark(mark));
    }

    /// The agent compacted of itself, at this size where it says so: prompts before say nothing of the window since.
    pub fn compacted_itself(&mut self, tokens_before: Option<u64>) {
        self.figures.auto_compacted_at = tokens_before;
        self.prompts.clear();
    }

    /// What was asked first; only the first time. What a harness says in the person's place was not asked.
    pub fn prompt(&mut self, text: &str) {
        let spoken = spoken(text);
        let text = spoken.trim();
        if self.figures.prompt.is_none() && !text.is_empty() && !text.starts_with('<') {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.figures.prompt = Some(words.chars().take(PROMPT_CHARS_MAX).collect());
        }
    }

    pub fn finish(mut self, depth: Depth) -> SessionFigures {
        self.figures.is_whole = depth == Depth::Whole;
        let model = self.figures.model.as_deref().unwrap_or_default();
        self.figures.prompt_max = self.prompts.get(model).copied();
        // Of a part of the calls a sum says nothing.
        if depth == Depth::Whole {
            self.figures.dollars = match self.total.take() {
                Some(sum) => self.dollars_of_sum(&sum),
                None => self.dollars_of_calls(),
            };
        }
        self.figures
    }

    /// The cost of the agent's own sum, without what a copy's original had come to.
    fn dollars_of_sum(&mut self, sum: &SessionCall) -> Option<f64> {
        // A sum that is smaller than it was is of calls since.
        let before = self.before_copy.filter(|before| before.total() <= sum.usage.total());
        let usage = before.map_or(sum.usage, |before| less(sum.usage, before));
        if usage.is_zero() {
            return self.before_copy.map(|_| 0.0);
        }
        // A sum cannot tell which of its prompts were long.
        self.prices(sum.model.as_deref()).map(|prices| Prices { long: None, ..prices }.cost(&usage))
    }

    /// The sum over all calls; none where one has no price, or there is none. In a copy nothing may be spent yet.
    fn dollars_of_calls(&mut self) -> Option<f64> {
        let mut sum = self.before_copy.map(|_| 0.0);
        for call in std::mem::take(&mut self.calls).into_values() {
            let cost = match call.dollars.filter(|dollars| *dollars > 0.0) {
                Some(dollars) => dollars,
                None if call.usage.is_zero() => continue,
                None => self.prices(call.model.as_deref())?.cost(&call.usage),
            };
            sum = Some(sum.unwrap_or(0.0) + cost);
        }
        sum
    }

    /// The prices of a call's model, looked up once for each model.
    fn prices(&mut self, model: Option<&str>) -> Option<Prices> {
        let model = model?;
        if let Some((_, prices)) = self.prices.iter().find(|(name, _)| name == model) {
            return *prices;
        }
        let prices = self.catalog.find(model).prices.map(|prices| prices.value);
        self.prices.push((model.to_owned(), prices));
        prices
    }
}

fn less(all: Usage, before: Usage) -> Usage {
    Usage {
        prompt: all.prompt.saturating_sub(before.prompt),
        output: all.output.saturating_sub(before.output),
        cache_read: all.cache_read.saturating_sub(before.cache_read),
        cache_write: all.cache_write.saturating_sub(before.cache_write),
        reasoning: all.reasoning.saturating_sub(before.reasoning),
    }
}

/// A model's name, where it is one: agents mark what no model said.
fn named(model: Option<&str>) -> Option<&str> {
    model.filter(|name| !name.is_empty() && !name.starts_with('<'))
}

/// What a session's file tells; nothing where it cannot be read.
pub fn scan(file: &SessionFile, depth: Depth, catalog: &Catalog) -> io::Result<SessionFigures> {
    let mut scan = SessionScan { homes: homes_of(&file.path), ..SessionScan::new(catalog) };
    let is_lines = file.path.extension().is_some_and(|ending| ending == "jsonl");
    let read = if !is_lines {
        scan_unpacked(file, &mut scan)?
    } else if depth == Depth::Ends && file.bytes > 2 * END_BYTES {
        scan_ends(file, &mut scan)?
    } else {
        scan_lines(file, &mut scan)?
    };
    Ok(scan.finish(read))
}

/// What the two folders are called that a file lies in: a project's name is one of theirs, where an agent does so.
pub fn homes_of(path: &Path) -> Vec<String> {
    let names = path.ancestors().skip(1).take(2).filter_map(|folder| folder.file_name()?.to_str());
    names.map(str::to_owned).collect()
}

/// All of a file that is packed, or one document.
fn scan_unpacked(file: &SessionFile, scan: &mut SessionScan<'_>) -> io::Result<Depth> {
    let source = input::open(&file.path).map_err(io::Error::other)?;
    let mut bytes = vec![0; source.len() as usize];
    let got = source.read_at(0, &mut bytes)?;
    let text = String::from_utf8_lossy(&bytes[..got]);
    let take = file.agent.row().take;
    if file.path.extension().is_some_and(|ending| ending == "json") {
        take(&text, scan);
    } else {
        text.lines().for_each(|line| take(line, scan));
    }
    Ok(Depth::Whole)
}

/// All lines of a file that can tell something.
fn scan_lines(file: &SessionFile, scan: &mut SessionScan<'_>) -> io::Result<Depth> {
    let mut lines = BufReader::with_capacity(CHUNK_BYTES, File::open(&file.path)?);
    let needles = Needles::of(file);
    let (mut line, mut offset) = (Vec::new(), 0);
    loop {
        line.clear();
        let got = lines.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        if got == 0 {
            return Ok(Depth::Whole);
        }
        take_line(file, &line, offset < END_BYTES, &needles, scan);
        offset += got as u64;
    }
}

/// The beginning of a file, and as much of its end as it takes to see how large the context is.
fn scan_ends(file: &SessionFile, scan: &mut SessionScan<'_>) -> io::Result<Depth> {
    let mut source = File::open(&file.path)?;
    let needles = Needles::of(file);
    let head = read_at(&mut source, 0, END_BYTES)?;
    for line in whole_lines(&head, true) {
        let is_known = scan.figures.project.is_some() && scan.figures.prompt.is_some();
        take_line(file, line, !is_known, &needles, scan);
    }
    let mut tail_bytes = END_BYTES;
    loop {
        let from = file.bytes.saturating_sub(tail_bytes).max(END_BYTES);
        let tail = read_at(&mut source, from, file.bytes - from)?;
        let before = scan.figures.in_view;
        for line in whole_lines(&tail, false) {
            take_line(file, line, false, &needles, scan);
        }
        let is_told = scan.figures.in_view != before || scan.figures.compactions > 0;
        if is_told || from == END_BYTES || tail_bytes >= TAIL_BYTES_MAX {
            return Ok(Depth::Ends);
        }
        tail_bytes *= 4;
    }
}

fn read_at(file: &mut File, from: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut read = Vec::with_capacity(bytes as usize);
    file.seek(SeekFrom::Start(from))?;
    file.take(bytes).read_to_end(&mut read)?;
    Ok(read)
}

/// The lines of a piece of a file; without the first where it is no line's beginning, or the last where it is cut off.
fn whole_lines(piece: &[u8], is_head: bool) -> impl Iterator<Item = &[u8]> {
    let newlines = if is_head {
        (0, memchr::memrchr(b'\n', piece).unwrap_or(0))
    } else {
        (memchr::memchr(b'\n', piece).map_or(piece.len(), |at| at + 1), piece.len())
    };
    piece[newlines.0..newlines.1.max(newlines.0)].split(|&byte| byte == b'\n')
}

fn take_line(file: &SessionFile, line: &[u8], is_head: bool, needles: &Needles, scan: &mut SessionScan<'_>) {
    if (is_head || needles.are_in(line))
        && let Ok(text) = std::str::from_utf8(line.trim_ascii())
        && text.starts_with('{')
    {
        (file.agent.row().take)(text, scan);
    }
}

/// Words, one of which stands in every line that tells something.
struct Needles(Vec<memmem::Finder<'static>>);

impl Needles {
    fn of(file: &SessionFile) -> Self {
        Self(file.agent.row().needles.iter().map(|needle| memmem::Finder::new(*needle)).collect())
    }

    fn are_in(&self, line: &[u8]) -> bool {
        self.0.iter().any(|needle| needle.find(line).is_some())
    }
}

/// The text of a message's content: a string, or the first text among its parts.
pub fn first_text(content: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrParts {
        Text(String),
        Parts(Vec<TextPart>),
    }
    #[derive(Deserialize)]
    struct TextPart {
        text: Option<String>,
    }
    match serde_json::from_str(content.get()).ok()? {
        TextOrParts::Text(text) => Some(text),
        TextOrParts::Parts(parts) => parts.into_iter().find_map(|part| part.text),
    }
}

/// What our own mark on a compaction says of the context before and after it.
#[derive(Deserialize)]
pub struct OwnMark {
    record: Option<OwnRecord>,
}

#[derive(Deserialize)]
struct OwnRecord {
    tokens_before: Option<u64>,
    tokens_after: Option<u64>,
    copy: Option<CopyNote>,
}

/// That a session is a copy of another, as the record of its compaction says.
#[derive(Serialize, Deserialize)]
pub struct CopyNote {
    /// The file it is a copy of.
    pub of: PathBuf,
    /// The folder it is to be gone on with in.
    pub folder: PathBuf,
}

impl OwnMark {
    fn sizes(&self) -> Option<(u64, u64)> {
        let record = self.record.as_ref()?;
        record.tokens_before.zip(record.tokens_after)
    }
}
