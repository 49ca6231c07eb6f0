//! Going on with a compacted session in its own tool: a copy of it under a new id, where that tool looks for it, and
//! the command that opens it. The session itself is only read, so it may be open meanwhile.

use super::Agent;
use super::collection::Depth;
pub use super::scan::CopyNote;
use super::scan::{SessionScan, homes_of};
use crate::input;
use crate::output::{self, Readers};
use crate::shell_word::shell_word;
use anyhow::{Context as _, Result, anyhow, bail};
use epitome_tokens::Catalog;
use epitome_wire::{ByteSource, Span, detect, with_session_id};
use serde::Serialize;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How an agent goes on with what somebody else wrote.
pub(super) enum ResumeWay {
    /// From a copy at the place this names.
    Copy(fn(&CopyRequest<'_>) -> Option<ResumePlace>),
    /// Not at all, and why.
    Refused(&'static str),
}

/// The copy that a place is wanted for.
pub(super) struct CopyRequest<'a> {
    /// The file it is a copy of.
    pub original: &'a Path,
    /// Its own id.
    pub id: &'a str,
    /// The folder its agent is to be started in.
    pub folder: &'a Path,
    /// Whether somebody named that folder; else the copy belongs beside its original.
    pub is_moved: bool,
    /// When, as file names have it: `2026-01-31T09-30-00-000Z`.
    pub time: &'a str,
}

/// Where an agent looks for a session, and how it is told to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResumePlace {
    pub id: String,
    pub path: PathBuf,
    pub command: String,
}

/// A session under a new id, not yet compacted and not yet written.
pub struct SessionCopy {
    pub place: ResumePlace,
    pub source: Arc<dyn ByteSource>,
    /// What its compaction says of it.
    pub note: CopyNote,
}

impl CopyRequest<'_> {
    /// The folder of the original, where it lies below `root` and belongs there.
    pub(super) fn beside(&self, root: &Path) -> Option<PathBuf> {
        let is_below = |folder: &&Path| folder.starts_with(root) && !self.is_moved;
        self.original.parent().filter(is_below).map(Path::to_owned)
    }

    /// A place there, with the command that opens it from the session's folder.
    pub(super) fn place(&self, path: PathBuf, opening: &str) -> ResumePlace {
        let command = format!("cd {} && {opening}", shell_word(&self.folder.display().to_string()));
        ResumePlace { id: self.id.to_owned(), path, command }
    }
}

/// A path as a part of another, as Claude Code and qwen-code write it.
pub(super) fn dashed(folder: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    folder.to_string_lossy().chars().map(plain).collect()
}

/// The session at `path` under a new id, to be started in `project` or where it was begun. Nothing is written.
pub fn copy_of(path: &Path, project: Option<&Path>) -> Result<SessionCopy> {
    let source = input::open(path)?;
    let format = detect(&[], &*source).map_err(input::explain);
    let format = format.with_context(|| format!("cannot read {}", path.display()))?;
    let agent = Agent::of(format).with_context(|| {
        format!(
            "{} is no session of a tool that could go on with it ({format}); write elsewhere with -o",
            path.display()
        )
    })?;
    let place_of = match &agent.row().resume {
        ResumeWay::Copy(place_of) => place_of,
        ResumeWay::Refused(why) => bail!("{why}. {}", other_ways(path)),
    };
    let bytes = whole_lines(&*source)?;
    let folder = start_folder(agent, path, &bytes, project)?;
    let id = new_id();
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S-%3fZ").to_string();
    let is_moved = project.is_some();
    let request = CopyRequest { original: path, id: &id, folder: &folder, is_moved, time: &time };
    let place = place_of(&request).with_context(|| {
        format!(
            "cannot tell where {} keeps its sessions: neither HOME nor its own variable is set",
            agent.name()
        )
    })?;
    let bytes = with_session_id(format, &bytes, &id).map_err(input::explain)?;
    let note = CopyNote { of: path.to_owned(), folder };
    Ok(SessionCopy { place, source: Arc::new(bytes), note })
}

/// Writes a copy of the session at `original` to its place, whole or not at all, for the same eyes as the original.
pub fn write(
    place: &ResumePlace,
    original: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let path = &place.path;
    if path.exists() {
        bail!(
            "cannot write {}: there is a session of this id already; run again for another",
            path.display()
        );
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot write {}", path.display()))?;
    }
    output::write_for(Readers::SameAs(original), Some(path), fill)
}

/// What works where a tool takes nothing from others.
fn other_ways(path: &Path) -> String {
    let name = shell_word(&path.display().to_string());
    format!(
        "Nothing was written. `epitome compact {name} --json | jq -r .summary` gives a summary to begin a new session with; behind `epitome serve` its contexts are made to fit as it runs"
    )
}

/// All of a session's bytes but a last line that is still being written: behind it nothing could be appended.
fn whole_lines(source: &dyn ByteSource) -> Result<Vec<u8>> {
    let len = u32::try_from(source.len())
        .map_err(|_| anyhow!("the session has more than 4 GB; compact it with -o"))?;
    let mut bytes = source.slice(Span { offset: 0, len }).context("cannot read the session")?;
    let last = memchr::memrchr(b'\n', &bytes).map_or(0, |newline| newline + 1);
    if serde_json::from_slice::<serde::de::IgnoredAny>(&bytes[last..]).is_err() {
        bytes.truncate(last);
    }
    Ok(bytes)
}

/// The folder the agent was started in. Of those a session names it is the one its own folder is called after, else the
/// first.
fn start_folder(agent: Agent, path: &Path, bytes: &[u8], project: Option<&Path>) -> Result<PathBuf> {
    if let Some(project) = project {
        return project.canonicalize().with_context(|| format!("cannot start in {}", project.display()));
    }
    let named: Vec<PathBuf> = folders_named(agent, bytes);
    let homes = homes_of(path);
    let start = named.iter().find(|folder| homes.contains(&dashed(folder))).or(named.first());
    let start = start.with_context(|| {
        format!("{} does not say in which folder it was held; name it with --project", path.display())
    })?;
    if !start.is_dir() {
        bail!(
            "the folder it was held in, {}, is gone, and {} is resumed where it was begun; name another: epitome compact {} --resume --project FOLDER",
            start.display(),
            agent.name(),
            shell_word(&path.display().to_string())
        );
    }
    Ok(start.clone())
}

/// The folders that a session's records name, each once, the first first.
fn folders_named(agent: Agent, bytes: &[u8]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for line in bytes.split(|&byte| byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        let mut scan = SessionScan::new(Catalog::built_in());
        (agent.row().take)(line, &mut scan);
        let folder = scan.finish(Depth::Ends).project.map(PathBuf::from);
        folders.extend(folder.filter(|folder| !folders.contains(folder)));
    }
    folders
}

/// A new id: a UUID of dice, version 4, which every one of these tools takes.
fn new_id() -> String {
    let dice = || RandomState::new().build_hasher().finish();
    let high = dice() & 0xffff_ffff_ffff_0fff | 0x4000;
    let low = 0x8000_0000_0000_0000 | (dice() >> 2);
    let hex = format!("{high:016x}{low:016x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
