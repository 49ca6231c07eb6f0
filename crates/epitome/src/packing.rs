//! Files out that are packed as their names say: what ends in `.zst` or `.gz` is so.

use anyhow::{Context as _, Result};
use std::io::Write;
use std::path::Path;

/// As dense as the tools' own default.
const ZSTD_LEVEL: i32 = 3;

/// Hands `fill` what to write to: `to` itself, or what packs on the way there, by the ending of `path`.
pub fn fill(
    path: Option<&Path>,
    to: &mut dyn Write,
    fill: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let ending = path.and_then(Path::extension).and_then(|ending| ending.to_str());
    match ending {
        Some("zst") => {
            let mut packer = zstd::Encoder::new(to, ZSTD_LEVEL).context("cannot pack the file")?;
            fill(&mut packer)?;
            packer.finish().context("cannot pack the file")?;
        }
        Some("gz") => {
            let mut packer = flate2::write::GzEncoder::new(to, flate2::Compression::default());
            fill(&mut packer)?;
            packer.finish().context("cannot pack the file")?;
        }
        Some(_) | None => fill(to)?,
    }
    Ok(())
}
