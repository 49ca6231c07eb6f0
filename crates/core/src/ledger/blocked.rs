//! Which failures still stand in the way: those of the turn at hand that nothing later overcame, by purpose and
//! not by text. Where it is doubtful, a failure does not block.

use super::purpose::{CommandPurpose, working_steps};
use super::tool::{self, Action};
use super::{CommandRecord, Ledger};

/// A failed step of any work (a test, a build, a push) is come back to within so many that succeed, or never.
const ROUTINE_SUCCESSES_MAX: usize = 20;
/// Anything else that failed was a try: after a few steps that succeeded the work goes another way.
const TRIAL_SUCCESSES_MAX: usize = 3;

/// Exit codes of a process that was stopped: by `timeout`, by the keyboard, by a kill.
const STOPPED: [i32; 4] = [124, 130, 137, 143];

impl Ledger {
    /// Commands that failed and still block, in the order they were run; of one purpose the newest.
    ///
    /// A look (`grep`, `ls`, `git status`) never blocks, nor does what was stopped, nor what came before the newest
    /// request of the person, who went on from there.
    pub fn blocked(&self) -> impl Iterator<Item = &CommandRecord> {
        let of_turn = self.commands.iter().rev().take_while(|command| Some(command.entry) > self.heard);
        let mut later = LaterWork { succeeded: self.under_way(), ..LaterWork::default() };
        let mut blocked: Vec<&CommandRecord> =
            of_turn.filter(|command| later.leaves_standing(command)).collect();
        blocked.reverse();
        blocked.into_iter()
    }

    /// What is being run just now: a failure that is tried again does not block until that has failed too.
    fn under_way(&self) -> Vec<CommandPurpose> {
        let scripts = self.pending.values().filter_map(|(_, call)| match tool::action(call) {
            Action::Shell { script, .. } => Some(script),
            Action::Files(_) | Action::Todos(_) | Action::Other => None,
        });
        scripts.flat_map(|script| working_steps(&script)).map(|step| step.purpose).collect()
    }
}

/// What came after a command, gathered from the newest back.
#[derive(Default)]
struct LaterWork {
    /// What succeeded, or is being tried.
    succeeded: Vec<CommandPurpose>,
    /// Failures already told of.
    failed: Vec<CommandPurpose>,
    /// How many commands did something, and succeeded.
    successes: usize,
}

impl LaterWork {
    /// Whether this command failed and nothing seen so far overcame it; takes it up.
    fn leaves_standing(&mut self, command: &CommandRecord) -> bool {
        let steps = working_steps(&command.command);
        if !command.failed {
            self.successes += usize::from(!steps.is_empty());
            self.succeeded.extend(steps.into_iter().map(|step| step.purpose));
            return false;
        }
        // The exit code of a pipe is its last command's.
        let seen = steps.into_iter().filter(|step| !step.is_piped);
        let seen: Vec<CommandPurpose> = seen.map(|step| step.purpose).collect();
        let is_stopped = command.exit.is_some_and(|code| STOPPED.contains(&code));
        let is_overcome = |failed: &CommandPurpose| {
            self.failed.contains(failed) || self.succeeded.iter().any(|later| later.overcomes(failed))
        };
        let stands =
            !seen.is_empty() && !is_stopped && !self.is_stale(&seen) && !seen.iter().any(is_overcome);
        self.failed.extend(seen);
        stands
    }

    fn is_stale(&self, failed: &[CommandPurpose]) -> bool {
        let limit = match failed.iter().any(CommandPurpose::is_routine) {
            true => ROUTINE_SUCCESSES_MAX,
            false => TRIAL_SUCCESSES_MAX,
        };
        self.successes >= limit
    }
}

/// Whether what a person said gives the work a new turn. A word that says "go on" leaves it where it was.
pub(super) fn opens_turn(said: &str) -> bool {
    const NUDGES: [&str; 20] = [
        "continue",
        "go on",
        "go",
        "proceed",
        "keep going",
        "carry on",
        "retry",
        "try again",
        "again",
        "weiter",
        "mach weiter",
        "continua",
        "continue.",
        "continuez",
        "продолжай",
        "继续",
        "繼續",
        "続けて",
        "계속",
        "계속해",
    ];
    let said = said.trim().to_lowercase();
    let said = said.trim_end_matches(['.', '!', '。', '！']).trim_end();
    !said.is_empty() && !NUDGES.contains(&said)
}
