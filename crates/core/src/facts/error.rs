//! Errors: the first line of a text that reports one, and by what name to call it.

use super::{Class, Mention};
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// As much of an error's line as is kept.
pub const ERROR_CHARS_MAX: usize = 200;

/// What a line says that reports an error; group 1 is what to call it by. A word inside a name or a path
/// (`libgpg-error-1.59`, `src/error.rs`) or a type in code (`require.NoError(`) reports none.
static REPORT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?xm)
        (?: ^ | [^A-Za-z0-9_./\\-] )
        (?: (E\d{4}|TS\d{4,5})\b
          | ([A-Z][A-Za-z]*(?:Error|Exception)) (?: [:\[] | \ \[ | $ | \ (?:at|in|on|while|when)\b )
          | ((?:[A-Za-z][a-z]+\.)+[A-Z][A-Za-z]*(?:Error|Exception|Exist|Configured)) (?: : | $ )
          | (error|Error|ERROR|fatal|FATAL) (?: \s*[:!] | \[ | \ (?:TS|CS|E|MD)\d )
          | (panicked|panic): | (panicked)\ at
          | (ERROR|FAILED|FAIL)\b | (npm\ ERR!)
          | [A-Za-z][A-Za-z)]*\ ([Ff]ailed) (?: $ | [.!] )
          | ([Ff]ailed) (?: : | \ (?:to|with|because|on|at|in|after|for)\b | ,\ \d )
          | [1-9]\d*\ (failed|failures?|errors?)\b
          | (4\d\d|5\d\d)\ (?:Bad|Unauthorized|Forbidden|Not|Conflict|Too|Internal|Service|Gateway)
          | (command\ not\ found|No\ such\ file\ or\ directory|Permission\ denied|segmentation\ fault)\b
        )";
    compile(pattern)
});

/// Code that names errors, and the numbers and margins that reading tools put before it.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x)
        ^\s*(?: // | /\* | \*\s | \# | < )
      | ^\s*\d+\s*[→|\t] | ^\s*\d{1,6}[:-]\s | ^\+ | ^-[A-Za-z\s] | \(pass\) | [✓✔]
      | [Ee]rror\??:\s*(?:string|Error|any|unknown|boolean|null|err|e)\b
      | [{};]\s*$ | =>\ | \s:?=\s | \bfunc\b | \bfn\ | \bdef\ | \breturn\b | \bthrows?\b | \braise\ | \bcatch\b | \bexcept\b
      | \bnew\ [A-Z] | \bassert | \bif\ .*\bthen\b";
    compile(pattern)
});

/// A text of which so many lines say nothing of an error reports none.
const REPORTS_MAX: usize = 64;

/// The first line of `text` that reports an error, and the name in it.
pub fn first_error(text: &str) -> Option<Mention<'_>> {
    let reports = REPORT.captures_iter(text).take(REPORTS_MAX);
    reports.filter_map(|found| found.iter().skip(1).flatten().next()).find_map(|name| {
        let start = text[..name.start()].rfind('\n').map_or(0, |at| at + 1);
        let end = text[name.end()..].find('\n').map_or(text.len(), |at| name.end() + at);
        let line = text[start..end].trim();
        let cut = line.char_indices().nth(ERROR_CHARS_MAX).map_or(line.len(), |(at, _)| at);
        let is_code = CODE.is_match(line);
        (!is_code).then(|| Mention { class: Class::Error, key: name.as_str(), value: line[..cut].trim_end() })
    })
}

#[cfg(test)]
mod tests {
    use super::first_error;

    #[test]
    fn the_first_reporting_line_with_its_code() {
        let found = first_error("Compiling x\nerror[E0308]: mismatched types\n --> src/a.rs")
            .map(|m| (m.key, m.value));
        assert_eq!(found, Some(("error", "error[E0308]: mismatched types")));
        assert_eq!(first_error("all good"), None);
    }

    #[test]
    fn reports_are_told_from_code_and_names() {
        for text in [
            "/nix/store/abc-libgpg-error-1.59/lib",
            "require.NoError(t, err)",
            "func() error {",
            "src/error.rs\nerrors.go",
            "  12→    return Err(ParseError::new(x))",
            "throw new TypeError(\"x\")",
            "if err != nil { return fmt.Errorf(\"failed to open: %w\", err) }",
            "0 errors, 0 failed",
            "// error: never happens",
            "error: string | undefined,",
            "48-\t\tt.Fatalf(\"failed to init: %v\", err)",
            "+was available but the expansion failed.",
            "[main 63d9067] fix: improve error handling",
        ] {
            assert_eq!(first_error(text), None, "{text}");
        }
        for (text, key) in [
            ("ok\nValueError: bad", "ValueError"),
            ("x.ts(1,2): error TS2345: no", "error"),
            ("Uncaught TypeError: x is undefined", "TypeError"),
            ("thread 'main' panicked at src/a.rs:1", "panicked"),
            ("2 passed, 3 failed", "failed"),
            ("fatal: not a git repository", "fatal"),
            ("Error: listen EADDRINUSE", "Error"),
            ("bash: foo: command not found", "command not found"),
            ("HTTP 404 Not Found", "404"),
            ("Failed to fetch", "Failed"),
        ] {
            assert_eq!(first_error(text).map(|found| found.key), Some(key), "{text}");
        }
    }
}
