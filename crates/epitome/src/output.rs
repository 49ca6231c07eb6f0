//! Files out: whole or not at all.

use anyhow::{Context as _, Result};
use epitome_wire::Source;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes to `path` through a new file beside it that takes its place at the end; to standard output where there is no path.
pub fn write(path: Option<&Path>, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let Some(path) = path else {
        let mut out = BufWriter::new(io::stdout().lock());
        fill(&mut out)?;
        return out.flush().context("cannot write to standard output");
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = || format!("cannot write {}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    let mut out = BufWriter::new(&mut file);
    fill(&mut out)?;
    out.flush().with_context(failed)?;
    drop(out);
    file.as_file().sync_all().with_context(failed)?;
    match_mode(&file, path)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}

/// A new file is readable as others the person makes; one that takes another's place keeps its mode.
#[cfg(unix)]
fn match_mode(file: &tempfile::NamedTempFile, path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map_or(0o644, |about| about.permissions().mode());
    file.as_file()
        .set_permissions(std::fs::Permissions::from_mode(mode))
        .context("cannot set the file's mode")
}

#[cfg(not(unix))]
fn match_mode(_: &tempfile::NamedTempFile, _: &Path) -> Result<()> {
    Ok(())
}

/// Copied at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Copies the bytes of a source from its start, `len` of them.
pub fn copy(source: &dyn Source, len: u64, to: &mut dyn Write) -> Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut done = 0;
    while done < len {
        let want = (len - done).min(CHUNK_BYTES as u64) as usize;
        let got = source.read_at(done, &mut chunk[..want]).context("cannot read the transcript again")?;
        if got == 0 {
            anyhow::bail!("the transcript became shorter while it was read; run again");
        }
        to.write_all(&chunk[..got])?;
        done += got as u64;
    }
    Ok(())
}
