//! Progress on long work: on a terminal only, on standard error only.

use crate::{output, runner};
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many of several files could not be worked on.
#[must_use]
pub struct FailedFiles {
    count: usize,
    of: usize,
}

impl FailedFiles {
    /// A failure where there was one; each has been told already.
    pub fn result(self) -> Result<()> {
        let Self { count, of } = self;
        if count == 0 { Ok(()) } else { bail!("{count} of {of} transcripts failed; the others are done") }
    }
}

/// Works on each file in turn. Where there are several, one that fails is told and passed over: a
/// folder of sessions has all kinds of files in it.
pub fn over(
    files: &[PathBuf],
    mut work: impl FnMut(usize, &Path, &ProgressBar) -> Result<()>,
) -> Result<FailedFiles> {
    let bar = bar(files.len());
    let mut failed = FailedFiles { count: 0, of: files.len() };
    for (number, path) in files.iter().enumerate() {
        bar.set_message(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        match work(number, path, &bar) {
            Ok(()) => {}
            Err(error) if files.len() == 1 || is_the_end(&error) => return Err(error),
            Err(error) => {
                failed.count += 1;
                bar.suspend(|| output::tell(format_args!("epitome: {error:#}")));
            }
        }
        bar.inc(1);
    }
    Ok(failed)
}

/// Whether there is no use in going on with the next file.
fn is_the_end(error: &anyhow::Error) -> bool {
    output::is_closed_pipe(error) || runner::is_cancelled(error)
}

/// How often a spinner turns: often enough to look alive.
const TICK: Duration = Duration::from_millis(120);

/// Something that moves while one piece of work takes its time; nothing where a bar does already, or
/// nobody watches.
pub fn spinner(bar: &ProgressBar, what: &'static str) -> ProgressBar {
    if !bar.is_hidden() || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let spinner = ProgressBar::new_spinner().with_style(style).with_message(what);
    spinner.enable_steady_tick(TICK);
    spinner
}

/// A bar over several files; nothing where there is one, or nobody watches.
fn bar(count: usize) -> ProgressBar {
    if count < 2 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(count as u64).with_style(style)
}
