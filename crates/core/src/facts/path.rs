//! Recognisers of paths and of their extensions, by spelling alone; no file is looked at.

/// `src/lib.rs:12:5` and `src/lib.rs#L3-9` name the same file as `src/lib.rs`.
pub fn cut_line_suffix(path: &str) -> &str {
    let path = match path.rfind("#L") {
        Some(at) => &path[..at],
        None => path,
    };
    let Some(colon) = path.find(':') else { return path };
    let is_place = path[colon + 1..].bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'-'));
    if is_place { &path[..colon] } else { path }
}

/// Whether a run with a slash is a path: two named parts, or one that ends like a file.
pub(super) fn is_path(path: &str) -> bool {
    if path.contains("::") || path.starts_with("//") {
        return false;
    }
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != "." && *part != "..");
    let (mut count, mut has_letter, mut longest) = (0, false, 0);
    for part in parts {
        count += 1;
        longest = longest.max(part.len());
        has_letter |= part.chars().any(char::is_alphabetic);
    }
    has_letter && longest >= 2 && (count >= 2 || (count == 1 && has_known_extension(path)))
}

/// Endings by which a single name is taken for a file.
const EXTENSIONS: [&str; 64] = [
    "rs", "py", "ts", "tsx", "js", "jsx", "mjs", "cjs", "go", "java", "kt", "kts", "c", "h", "cc", "cpp",
    "hpp", "cs", "rb", "php", "swift", "scala", "lua", "pl", "sh", "bash", "zsh", "fish", "ps1", "sql",
    "html", "css", "scss", "vue", "svelte", "md", "mdx", "rst", "txt", "json", "jsonl", "json5", "yaml",
    "yml", "toml", "ini", "cfg", "conf", "env", "lock", "xml", "svg", "png", "jpg", "csv", "tsv", "log",
    "proto", "ex", "exs", "pony", "patch", "diff", "ipynb",
];

/// Whether the name ends like a source, text or data file.
pub fn has_known_extension(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && EXTENSIONS.contains(&end))
}
