//! The person at the terminal as the operator of a checkpoint: they approve a compaction, write its summary in their
//! editor, or reject it. Elsewhere there is no operator, and the engine passes the checkpoint over.

use crate::output;
use epitome_core::{CheckpointView, Decision};
use epitome_engine::{BoxFuture, Operator};
use std::io::{self, IsTerminal, Write as _};
use std::process::Command;

/// A person at a terminal.
pub struct TerminalOperator {
    /// What the editor begins with.
    draft: String,
}

/// What a person may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Approve,
    Edit,
    Reject,
}

/// Who cannot answer in so many tries is not going to.
const TRIES_MAX: usize = 8;

impl TerminalOperator {
    /// Whether there is a person to ask: one who reads standard error and types.
    pub fn is_there() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// A person who begins with `draft` where they write the summary themselves.
    pub fn new(draft: String) -> Self {
        Self { draft }
    }
}

impl Operator for TerminalOperator {
    fn decide(&self, pending: CheckpointView) -> BoxFuture<'_, Decision> {
        let (tell, hear) = tokio::sync::oneshot::channel();
        let draft = self.draft.clone();
        // A thread of its own: nobody can take back a read of the terminal, and the deadline must not wait for it.
        std::thread::spawn(move || drop(tell.send(ask(&pending, &draft))));
        Box::pin(async { hear.await.unwrap_or(Decision::Reject) })
    }
}

/// Asks until there is a decision.
fn ask(pending: &CheckpointView, draft: &str) -> Decision {
    output::tell(format_args!(
        "a compaction waits for you: of {} tokens, {} messages leave view by `{}`; the history comes down to about {}",
        pending.tokens,
        pending.leaving.len(),
        pending.then,
        pending.target
    ));
    for _ in 0..TRIES_MAX {
        match choice() {
            None => {}
            Some(Choice::Approve) => return Decision::Approve,
            Some(Choice::Reject) => return Decision::Reject,
            Some(Choice::Edit) => match edited(draft) {
                Ok(summary) => return Decision::Edit { summary },
                Err(why) => output::tell(format_args!("{why}")),
            },
        }
    }
    Decision::Reject
}

/// One answer; nothing where it is none of those there are. The end of input is a no.
fn choice() -> Option<Choice> {
    // Not locked: whoever waits for the answer no longer than the deadline has something to say then.
    drop(io::stderr().write_all(b"[a]pprove, [e]dit the summary, [r]eject? "));
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => Some(Choice::Reject),
        Ok(_) => Choice::of(&line),
    }
}

impl Choice {
    fn of(line: &str) -> Option<Self> {
        match line.trim().to_lowercase().as_str() {
            "a" | "approve" | "y" | "yes" => Some(Self::Approve),
            "e" | "edit" => Some(Self::Edit),
            "r" | "reject" | "n" | "no" => Some(Self::Reject),
            _ => None,
        }
    }
}

/// What a person makes of `draft` in their editor.
fn edited(draft: &str) -> Result<String, String> {
    let failed = |error: io::Error| format!("the summary cannot be edited: {error}");
    let file = tempfile::Builder::new().suffix(".md").tempfile().map_err(failed)?;
    std::fs::write(file.path(), draft).map_err(failed)?;
    let editor = editor(|name| std::env::var(name).ok());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(file.path()).status();
    let status = status.map_err(|error| format!("`{editor}` cannot be started: {error}; set EDITOR"))?;
    if !status.success() {
        return Err(format!("`{editor}` ended with {status}; nothing was taken from it"));
    }
    let summary = std::fs::read_to_string(file.path()).map_err(failed)?;
    if summary.trim().is_empty() { Err("an empty text is no summary".into()) } else { Ok(summary) }
}

/// The person's editor, as other programs find it.
fn editor(variable: impl Fn(&str) -> Option<String>) -> String {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Choice, editor};

    #[test]
    fn answers_are_words_or_their_first_letters() {
        let answers = ["a\n", "Approve", " e ", "no\n", "", "maybe"].map(Choice::of);
        let (approve, edit, reject) = (Some(Choice::Approve), Some(Choice::Edit), Some(Choice::Reject));
        assert_eq!(answers, [approve, approve, edit, reject, None, None]);
    }

    #[test]
    fn the_editor_is_the_one_other_programs_use() {
        let of = |visual: Option<&str>, plain: Option<&str>| {
            editor(|name| if name == "VISUAL" { visual } else { plain }.map(str::to_owned))
        };
        assert_eq!(
            [of(Some("code -w"), Some("ed")), of(Some(" "), Some("ed")), of(None, None)],
            ["code -w", "ed", "vi"]
        );
    }
}
