//! Whether a call succeeded, from its result alone.

use crate::ToolResult;
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The exit code, where the result shows one.
    pub exit: Option<i32>,
    /// Whether nothing it meant to do can be relied on.
    pub is_failure: bool,
    /// The result's text.
    pub text: String,
}

/// Exit codes stand at the very start or the very end of a result.
const EDGE_BYTES: usize = 400;

static EXIT: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)(?:exit(?:ed with)?[ _]?code:?"?:?|exited with(?: exit)?(?: code| status)|<returncode>|"returncode":|exit status:?)\s*(-?\d{1,3})\b"#,
    )
});

/// How a result says that a path is not there, or that it is a folder.
static DENIAL: LazyLock<Regex> =
    LazyLock::new(|| compile(r"No such file|[Ii]s a directory|cannot open|does not exist"));

static REFUSAL: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?ix)^\s*(?:<tool_use_error>|<error>|error:|error\ executing|failed\ to|apply_patch\ verification\ failed
        |enoent|file\ (?:does\ not\ exist|not\ found|has\ not\ been\ read)|string\ to\ replace\ not\ found
        |no\ replacement\ was\ performed|the\ (?:user|tool\ use)\ (?:doesn't|was\ rejected|cancelled|rejected)
        |\[?(?:operation|request|tool\ use|user)\ (?:cancelled|aborted|interrupted)|invalid\ context|permission\ denied
        |you\ must\ read|found\ \d+\ matches\ of\ the\ string|could\ not\ find|cannot\ (?:read|write|open)
        |path\ does\ not\ exist|the\ path\ \S+\ does\ not\ exist)",
    )
});

static MISSING_EVERYWHERE: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?i)no replacement was performed|did not appear verbatim|failed to find expected lines")
});

/// What harnesses answer in the tool's place where the person, or a rule of theirs, did not let it run or stopped it.
static REFUSED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?ix)the\ user\ (?:doesn['’]t\ want|rejected|denied|declined|cancelled)|(?:rejected|denied|declined|interrupted|aborted|cancelled)\ by\ (?:the\ )?user
        |request\ interrupted|tool\ use\ was\ rejected|^\s*\[?(?:operation|tool\ use|user)\ (?:was\ )?(?:cancelled|aborted|interrupted|denied)
        |permission\ to\ use\ .{1,80}\ (?:has\ been\ )?denied|(?:sibling|parallel)\ tool\ call|hook\ (?:blocked|denied)|blocked\ by\ (?:a\ )?hook",
    )
});

/// How the call behind `result` ended.
pub(crate) fn ending(result: &ToolResult) -> Ending {
    let text = result.text();
    let head = &text[..text.floor_char_boundary(EDGE_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(EDGE_BYTES))..];
    let exit = exit_code(head, tail);
    let is_refused = REFUSAL.is_match(head) || MISSING_EVERYWHERE.is_match(head);
    let is_failure = result.is_error || exit.is_some_and(|code| code != 0) || (is_refused && exit != Some(0));
    Ending { exit, is_failure, text }
}

fn exit_code(head: &str, tail: &str) -> Option<i32> {
    let code = |found: regex::Captures<'_>| found.get(1)?.as_str().parse().ok();
    // What the tool adds stands first or last; in between, a program may talk of codes as well.
    let first = EXIT.captures(head).filter(|found| found.get(0).is_some_and(|all| all.start() < 160));
    first.and_then(code).or_else(|| EXIT.captures_iter(tail).last().and_then(code))
}

impl Ending {
    /// Whether the result says of this very path that it is not there, or that it is a folder.
    pub(super) fn denies(&self, path: &str) -> bool {
        let is_said_of = |line: &str| {
            DENIAL.is_match(line)
                && (line.contains(path) || path.rsplit('/').next().is_some_and(|name| line.contains(name)))
        };
        let is_short_enough = self.text.len() < 200_000;
        // Hardly a result denies anything: one look at all of it comes before one at each line.
        is_short_enough && DENIAL.is_match(&self.text) && self.text.lines().take(400).any(is_said_of)
    }

    /// Whether the person refused it or stopped it: that is their decision, and no failure of the command.
    pub(super) fn is_refused(&self) -> bool {
        let head = &self.text[..self.text.floor_char_boundary(EDGE_BYTES)];
        self.is_failure && self.exit.is_none() && REFUSED.is_match(head)
    }

    /// Whether the result shows a folder rather than a file.
    pub(super) fn shows_folder(&self) -> bool {
        let head = &self.text[..self.text.floor_char_boundary(EDGE_BYTES)];
        head.contains("<type>directory")
            || head.contains("<entries>")
            || head.contains("files and directories up to")
            || head.contains("EISDIR")
    }

    /// The tool's own word on whether a written file was there before.
    pub(super) fn says_existed(&self) -> Option<bool> {
        let head = self.text[..self.text.floor_char_boundary(EDGE_BYTES)].to_lowercase();
        if head.contains("overwr") || head.contains("has been updated") {
            Some(true)
        } else if head.contains("created") || head.contains("new file") {
            Some(false)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ending;
    use crate::{ResultPart, ToolResult};

    fn of(text: &str) -> (Option<i32>, bool) {
        let parts = vec![ResultPart::Text { text: text.into() }];
        let ending = ending(&ToolResult { call: "1".into(), parts, is_error: false });
        (ending.exit, ending.is_failure)
    }

    #[test]
    fn exit_codes_in_their_many_spellings() {
        assert_eq!(of("Exit code: 0\nWall time: 1\nOutput:\nx"), (Some(0), false));
        assert_eq!(of("oops\n\nCommand exited with code 1"), (Some(1), true));
        assert_eq!(of("<returncode>2</returncode>\n<output>"), (Some(2), true));
        assert_eq!(of("[The command completed with exit code 0.]"), (Some(0), false));
        assert_eq!(of("hello"), (None, false));
    }

    #[test]
    fn what_the_person_stopped_is_told_from_what_failed() {
        let is_refused = |text: &str| {
            let parts = vec![ResultPart::Text { text: text.into() }];
            ending(&ToolResult { call: "1".into(), parts, is_error: true }).is_refused()
        };
        assert!(is_refused("The user doesn't want to proceed with this tool use."));
        assert!(is_refused("[Request interrupted by user for tool use]"));
        assert!(!is_refused("Exit code 1\nlogin denied by user database"));
        assert!(!is_refused("fatal: not a git repository"));
    }

    #[test]
    fn refusals_are_failures() {
        assert_eq!(of("No replacement was performed, old_str did not appear verbatim"), (None, true));
        assert_eq!(of("The user doesn't want to proceed with this tool use."), (None, true));
    }
}
