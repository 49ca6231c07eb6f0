//! Paths that inline code writes, where they are literals in it.

use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

static WRITES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?x)
        \bopen\(\s*["']([^"'\n]+)["']\s*,\s*(?:mode\s*=\s*)?["'][wax]b?\+?["']
      | \bPath\(\s*["']([^"'\n]+)["']\s*\)\.write_(?:text|bytes)\(
      | \bwriteFile(?:Sync)?\(\s*["'`]([^"'`\n$]+)["'`]"#;
    compile(pattern)
});

/// The literal paths that `code` opens for writing, in order.
pub(super) fn written_paths(code: &str) -> Vec<String> {
    let captures = WRITES.captures_iter(code);
    captures
        .filter_map(|found| found.iter().skip(1).flatten().next().map(|path| path.as_str().to_owned()))
        .collect()
}
