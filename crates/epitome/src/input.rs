//! Files in: opened, unpacked where packed, and read at offsets so that a large one need not fit in memory.

use crate::agents::lookup;
use crate::draw::alternatives;
use crate::{opencode_database, opencode_tree, swe_agent_demo};
use anyhow::{Context as _, Result, anyhow, bail};
use clap::error::ErrorKind;
use epitome_wire::{ByteSource, FORMATS, ReadError};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file as long as it was when it was opened: what is appended meanwhile is not seen.
struct OpenFile {
    file: File,
    len: u64,
}

impl ByteSource for OpenFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let room = self.len.saturating_sub(offset).min(into.len() as u64) as usize;
        let mut filled = 0;
        while filled < room {
            match read_at(&self.file, &mut into[filled..room], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}

/// Why a transcript cannot be read, with the flag that names its format where that may help.
pub fn explain(error: ReadError) -> anyhow::Error {
    match error {
        ReadError::NotThis { .. } => anyhow!("{error} (--from auto)"),
        ReadError::Unknown { .. } => anyhow!("{error} with --from"),
        ReadError::Read(_) | ReadError::Empty | ReadError::LineTooLong { .. } | ReadError::Newer { .. } => {
            error.into()
        }
    }
}

/// What a packed file, or standard input, may unpack to: it has to be held in memory.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// The transcripts named, or standard input where none is and something comes from there.
pub fn or_stdin(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    match files {
        [] if !is_sent() => {
            let missing = "name a transcript, or send one to standard input";
            Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, missing).into())
        }
        [] => Ok(vec![PathBuf::from("-")]),
        files => Ok(files.to_vec()),
    }
}

/// Whether something is sent to standard input: by a pipe or from a file. A terminal sends nothing by itself, and
/// programs that start others often leave nothing there.
#[cfg(unix)]
pub fn is_sent() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let about = io::stdin().as_fd().try_clone_to_owned().and_then(|own| std::fs::File::from(own).metadata());
    about.is_ok_and(|about| {
        let kind = about.file_type();
        kind.is_fifo() || kind.is_file() || kind.is_socket()
    })
}

/// The same where only a terminal can be told.
#[cfg(not(unix))]
pub fn is_sent() -> bool {
    !io::IsTerminal::is_terminal(&io::stdin())
}

/// Opens a transcript. `-` is standard input.
pub fn open(path: &Path) -> Result<Arc<dyn ByteSource>> {
    if path == Path::new("-") {
        return streamed(io::stdin().lock(), path);
    }
    if let Some((database, session)) = stored_session(path) {
        return Ok(Arc::new(opencode_database::exports(database, Some(session))?));
    }
    let (file, about) =
        opened(path).map_err(|error| anyhow!("cannot read {}: {}", path.display(), reason(&error)))?;
    if about.is_dir() {
        bail!("cannot read {}: it is a folder; name a transcript in it", path.display());
    }
    if is_database(path) {
        return Ok(Arc::new(opencode_database::exports(path, None)?));
    }
    if opencode_tree::is_session(path) {
        return Ok(Arc::new(opencode_tree::export(path)?));
    }
    if swe_agent_demo::is_demo(path) {
        return Ok(Arc::new(swe_agent_demo::trajectory(path)?));
    }
    let mut beginning = [0; 4];
    let got = if about.is_file() { read_at(&file, &mut beginning, 0).unwrap_or(0) } else { 0 };
    match packing(&beginning[..got]) {
        Packing::None if about.is_file() => Ok(Arc::new(OpenFile { file, len: about.len() })),
        Packing::None | Packing::Gzip | Packing::Zstd => streamed(io::BufReader::new(file), path),
    }
}

/// The database and the name of a session in it, where a path is such a name below the database's file.
pub fn stored_session(path: &Path) -> Option<(&Path, &str)> {
    let session = path.file_name()?.to_str().filter(|name| name.starts_with("ses_"))?;
    let database = path.parent().filter(|parent| is_database(parent))?;
    Some((database, session))
}

/// Whether a file is a database, whose sessions are read and which is never written.
pub fn is_database(path: &Path) -> bool {
    let mut beginning = [0; opencode_database::MAGIC.len()];
    let file = opened(path).ok().filter(|(_, about)| about.is_file());
    let got = file.and_then(|(file, _)| read_at(&file, &mut beginning, 0).ok());
    got == Some(beginning.len()) && beginning == *opencode_database::MAGIC
}

/// Whether two paths lead to one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Refuses to write `out` where it is the place of a transcript that has grown since its bytes were read: what its tool
/// appended would be lost.
pub fn check_unchanged(path: &Path, source: &dyn ByteSource, out: Option<&Path>) -> Result<()> {
    let Some(out) = out.filter(|out| is_same(out, path)) else { return Ok(()) };
    if is_plain(out) && std::fs::metadata(out).is_ok_and(|about| about.len() != source.len()) {
        bail!(
            "{} has grown since it was read; nothing was written, run again when its tool is idle",
            out.display()
        );
    }
    Ok(())
}

/// Whether a file's bytes are a transcript's as they stand: neither packed nor put together of others. Its first bytes
/// say so, whatever is appended meanwhile.
fn is_plain(path: &Path) -> bool {
    let mut beginning = [0; 4];
    let file = opened(path).ok().filter(|(_, about)| about.is_file());
    let got = file.and_then(|(file, _)| read_at(&file, &mut beginning, 0).ok());
    let is_unpacked = got.is_some_and(|got| matches!(packing(&beginning[..got]), Packing::None));
    is_unpacked && !is_database(path) && !opencode_tree::is_session(path) && !swe_agent_demo::is_demo(path)
}

/// Reads what can be read only once, or has to be unpacked.
fn streamed(mut from: impl BufRead, path: &Path) -> Result<Arc<dyn ByteSource>> {
    match packing(from.fill_buf().map_err(|error| damaged(path, &error))?) {
        Packing::None => unpacked(from, path),
        Packing::Gzip => unpacked(flate2::bufread::MultiGzDecoder::new(from), path),
        Packing::Zstd => {
            unpacked(zstd::Decoder::with_buffer(from).map_err(|error| damaged(path, &error))?, path)
        }
    }
}

fn opened(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    Ok((file, about))
}

/// Why a file cannot be opened, and what to do about it.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file; check its name".into(),
        io::ErrorKind::NotADirectory => "a part of its path is a file; check its name".into(),
        io::ErrorKind::PermissionDenied => "you may not read it; check its owner and mode".into(),
        _ => error.to_string(),
    }
}

/// How a file is packed.
enum Packing {
    None,
    Gzip,
    Zstd,
}

/// How a file is packed, by its first bytes: an ending only says what someone meant.
fn packing(beginning: &[u8]) -> Packing {
    match beginning {
        [0x1f, 0x8b, ..] => Packing::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
        _ => Packing::None,
    }
}

fn damaged(path: &Path, error: &io::Error) -> anyhow::Error {
    anyhow!("cannot read {}: it cannot be unpacked ({error}); it is damaged or not whole", path.display())
}

fn unpacked(from: impl Read, path: &Path) -> Result<Arc<dyn ByteSource>> {
    let mut bytes = Vec::new();
    from.take(UNPACKED_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| damaged(path, &error))?;
    if bytes.len() as u64 > UNPACKED_BYTES_MAX {
        bail!(
            "cannot read {}: it unpacks to more than {UNPACKED_BYTES_MAX} bytes; unpack it to a file first",
            path.display()
        );
    }
    Ok(Arc::new(bytes))
}

/// Folders are searched this deep: session stores nest by project and date.
const DEPTH_MAX: usize = 8;

/// The files named, with folders replaced by the transcripts in them, in order of name, and what names a session by the
/// file it is in.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = files.len();
            search(path, DEPTH_MAX, &mut files)?;
            if files.len() == found {
                let endings = endings().into_iter().map(|ending| format!(".{ending}"));
                bail!(
                    "cannot read {}: there is no transcript in it; they end in {}, packed or not",
                    path.display(),
                    alternatives(endings)
                );
            }
        } else {
            files.push(lookup::file_of(path)?);
        }
    }
    Ok(files)
}

/// Where `file` lies below the folder it was found in; its name alone where it was named itself.
pub fn below(named: &[PathBuf], file: &Path) -> PathBuf {
    let inside = named
        .iter()
        .find_map(|root| file.strip_prefix(root).ok().filter(|rest| !rest.as_os_str().is_empty()));
    inside.unwrap_or(Path::new(file.file_name().unwrap_or_default())).to_owned()
}

fn search(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            if depth > 0 {
                search(&path, depth - 1, files)?;
            }
        } else if is_transcript(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// The endings of files that can be transcripts, each once.
fn endings() -> Vec<&'static str> {
    let mut endings = Vec::new();
    for ending in FORMATS.iter().flat_map(|row| row.endings) {
        if !endings.contains(ending) {
            endings.push(*ending);
        }
    }
    endings
}

fn is_transcript(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let is_known = plain.rsplit_once('.').is_some_and(|(_, ending)| endings().contains(&ending));
    is_known || swe_agent_demo::is_demo(path)
}

#[cfg(test)]
mod tests {
    use super::{check_unchanged, open};
    use std::fs;
    use std::io::Write as _;

    #[test]
    fn a_file_that_grew_while_it_was_read_is_not_replaced() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("s.jsonl");
        fs::write(&path, "{}\n").expect("there is room");
        let source = open(&path).expect("it is there");
        let check = |out: &str| check_unchanged(&path, &*source, Some(&folder.path().join(out)));
        check("s.jsonl").expect("nothing was appended");
        let mut session = fs::File::options().append(true).open(&path).expect("it is there");
        session.write_all(b"{}\n").expect("there is room");
        let refused = check("s.jsonl").expect_err("a line would be lost").to_string();
        assert!(refused.contains("has grown since it was read; nothing was written"), "{refused}");
        check("other.jsonl").expect("nothing is lost elsewhere");
    }

    #[test]
    fn a_packed_file_is_as_long_as_it_likes() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("s.jsonl.zst");
        fs::write(&path, zstd::encode_all(&b"{}\n"[..], 3).expect("it packs")).expect("there is room");
        let source = open(&path).expect("it is there");
        check_unchanged(&path, &*source, Some(&path)).expect("it did not change");
    }
}
