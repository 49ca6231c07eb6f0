//! Work that goes on by itself: commands in the background, processes, sub-agents.

use super::{Class, Mention, Sighting};
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// What tools say when they start such work; group 1 is the name by which to ask for it.
static STARTED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?xi)
        (?: (?-u:\b)(?:running|started|moved|launched)\ [^\n]{0,60}?background[^\n]{0,40}?(?-u:\b)(?:id|pid)
          | (?-u:\b)(?:started|launched|spawned|running)\ [^\n]{0,60}?(?-u:\b)pid
          | (?-u:\b)(?:task|agent|shell|bash)_?id
        )
        ["'>]?\ {0,2}[:=(>\ ]\ {0,2}["'\#]?
        ([a-z0-9][a-z0-9_.-]{1,63})"#,
    )
});

static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)(?-u:\b)(?:completed|finished|exited|killed|terminated|stopped|cancell?ed|exit code)(?-u:\b)",
    )
});

/// Calls `found` for each piece of work a tool's answer says was started.
pub fn live_work<'t>(answer: &'t str, found: &mut impl FnMut(Sighting<'t>)) {
    for name in STARTED.captures_iter(answer).filter_map(|captures| captures.get(1)) {
        let value = name.as_str().trim_end_matches(['.', '-']);
        let start = answer[..name.start()].rfind('\n').map_or(0, |at| at + 1);
        let end = answer[name.end()..].find('\n').map_or(answer.len(), |at| name.end() + at);
        let line = answer[start..end].trim();
        // A name somebody gave out has a digit in it; a word after "task id" has none. An agent that
        // can be resumed has come to its end.
        let is_given = value.len() >= 2 && value.bytes().any(|b| b.is_ascii_digit());
        if is_given && !line.contains("for resuming") {
            found(Sighting { mention: Mention { class: Class::LiveWork, key: value, value }, line });
        }
    }
}

/// Whether a text says that something came to its end.
pub fn tells_of_an_end(text: &str) -> bool {
    ENDED.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::live_work;

    fn found(answer: &str) -> Vec<&str> {
        let mut all = Vec::new();
        live_work(answer, &mut |sighting| all.push(sighting.mention.value));
        all
    }

    #[test]
    fn work_is_known_by_the_name_it_was_given() {
        assert_eq!(found("Command running in background with ID: b3f9. Output is in /tmp/x"), ["b3f9"]);
        assert_eq!(found("ok\n{\"task_id\": \"a12\", \"x\": 1}\nagentId: 77ab\n"), ["a12", "77ab"]);
        assert_eq!(found("Started server with pid 4242"), ["4242"]);
    }

    #[test]
    fn talk_of_work_names_none() {
        assert!(found("fn run(task_id: TaskId) -> pid; the task id is unknown").is_empty());
        assert!(found("agentId: a3bd746 (for resuming to continue this agent's work if needed)").is_empty());
    }
}
