//! Progress on long work: on a terminal only, on standard error only.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;

/// A bar over several files; nothing where there is one, or nobody watches.
pub fn over_files(count: usize) -> ProgressBar {
    if count < 2 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(count as u64).with_style(style)
}

/// Says which file is being worked on.
pub fn at(bar: &ProgressBar, path: &Path) {
    bar.set_message(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
}
