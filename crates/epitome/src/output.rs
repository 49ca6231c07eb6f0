//! Files out: whole or not at all.

use crate::input::is_database;
use anyhow::{Context as _, Result, bail};
use epitome_wire::ByteSource;
use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Whose eyes a file is for. It is so from its first byte on.
#[derive(Clone, Copy)]
pub enum Readers<'a> {
    /// Those of the file it takes the place of, else of the person's other new files.
    Usual,
    /// Its owner's alone.
    Owner,
    /// Those of another file; its owner may write it.
    SameAs(&'a Path),
}

/// Writes to `path` through a new file beside it that takes its place at the end; to standard output where there is no path.
pub fn write(path: Option<&Path>, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    write_for(Readers::Usual, path, fill)
}

/// The same for the eyes of these.
pub fn write_for(
    readers: Readers<'_>,
    path: Option<&Path>,
    fill: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let followed = path.map(followed);
    let Some(path) = followed.as_deref() else {
        let mut out = BufWriter::new(io::stdout().lock());
        fill(&mut out)?;
        return out.flush().context("cannot write to standard output");
    };
    if path.exists() && !path.is_file() {
        // A device or a pipe is written to, not replaced.
        let mut out =
            BufWriter::new(File::create(path).with_context(|| format!("cannot write {}", path.display()))?);
        fill(&mut out)?;
        return out.flush().with_context(|| format!("cannot write {}", path.display()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = || format!("cannot write {}", path.display());
    if is_database(path) {
        bail!("{}: it is a database, and a transcript would take its place; write elsewhere", failed());
    }
    if !folder.is_dir() {
        bail!("{}: there is no folder {}; make it first", failed(), folder.display());
    }
    let mut file = new_beside(folder, path, readers).with_context(failed)?;
    let mut out = BufWriter::new(&mut file);
    fill(&mut out)?;
    out.flush().with_context(failed)?;
    drop(out);
    file.as_file().sync_all().with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}

/// As long a chain of links as systems follow themselves.
const LINKS_MAX: usize = 40;

/// The file that a path leads to: a link stays one, and what it names is written.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = path.parent().map_or(next.clone(), |folder| folder.join(&next));
    }
    path
}

/// Why a file could not be replaced now, if it could not: the folder it is in takes no new one.
pub fn why_not_written(path: &Path) -> Option<io::Error> {
    path.parent().filter(|folder| folder.is_dir()).and_then(|folder| tempfile::tempfile_in(folder).err())
}

/// Refuses to pour a file's bytes onto a terminal; `what_else` says what to do instead.
pub fn refuse_terminal(path: Option<&Path>, what_else: &str) -> Result<()> {
    if path.is_none() && io::stdout().is_terminal() {
        bail!("this would fill the terminal; {what_else}");
    }
    Ok(())
}

/// A text on its way to standard output. It is written at once and at the end, where a reader that has
/// gone away (`| head`) is an error like any other; `println!` would panic.
#[derive(Default)]
pub struct Page(String);

impl Page {
    /// Takes what `write!` and `writeln!` are given. Memory does not fail, so there is nothing to return.
    pub fn write_fmt(&mut self, text: fmt::Arguments<'_>) {
        fmt::Write::write_fmt(&mut self.0, text).expect("a text takes any text");
    }

    /// Says it on standard error. Where nobody listens there is nobody to tell that to.
    pub fn tell(self) {
        drop(io::stderr().write_all(self.0.as_bytes()));
    }

    /// Prints it.
    pub fn print(self) -> Result<()> {
        write(None, |out| out.write_all(self.0.as_bytes()).context("cannot write to standard output"))
    }
}

/// Says a line on standard error.
pub fn tell(line: impl fmt::Display) {
    let mut page = Page::default();
    writeln!(page, "{line}");
    page.tell();
}

/// Whoever read our output has seen enough (`epitome inspect | head`): no failure of ours.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = || cause.downcast_ref::<serde_json::Error>()?.io_error_kind();
        io.or_else(json) == Some(io::ErrorKind::BrokenPipe)
    })
}

/// A new file in `folder` for the eyes of these, to be put at `path`.
fn new_beside(folder: &Path, path: &Path, readers: Readers<'_>) -> io::Result<tempfile::NamedTempFile> {
    let mode = match readers {
        Readers::Usual => std::fs::metadata(path).ok().map(|about| about.permissions()),
        Readers::Owner => None,
        Readers::SameAs(other) => std::fs::metadata(other).ok().map(|about| writable(about.permissions())),
    };
    // Without a mode it is its owner's alone.
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if matches!(readers, Readers::Usual) && mode.is_none() {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder)?;
    mode.map_or(Ok(()), |mode| file.as_file().set_permissions(mode))?;
    Ok(file)
}

/// The same mode, with the right to write for the owner.
#[cfg(unix)]
fn writable(mode: Permissions) -> Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    Permissions::from_mode(mode.mode() | 0o200)
}

/// The same mode, with the right to write.
#[cfg(not(unix))]
fn writable(mut mode: Permissions) -> Permissions {
    mode.set_readonly(false);
    mode
}

/// Copied at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Copies a run of a source's bytes.
pub fn copy(source: &dyn ByteSource, run: Range<u64>, to: &mut dyn Write) -> Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut done = run.start;
    while done < run.end {
        let want = (run.end - done).min(CHUNK_BYTES as u64) as usize;
        let got = source.read_at(done, &mut chunk[..want]).context("cannot read the transcript again")?;
        if got == 0 {
            anyhow::bail!("the transcript became shorter while it was read; run again");
        }
        to.write_all(&chunk[..got])?;
        done += got as u64;
    }
    Ok(())
}
