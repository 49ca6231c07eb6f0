//! What could be freed of a context without a summary, as the engine's own passes would free it, and what to type for it.

use crate::shell_word::shell_word;
use crate::transcript_file::TranscriptFile;
use anyhow::Result;
use epitome_core::{MemoryArchive, RepeatedResults, Tokens};
use epitome_engine::{Assembly, Remedy, Session};
use epitome_wire::{Conversation, Format, can_express};
use serde::Serialize;
use std::sync::Arc;

/// What could be freed.
#[derive(Serialize)]
pub struct Waste {
    /// What each remedy would free, alone; those that would free nothing are left out.
    pub remedies: Vec<WasteRemedy>,
    /// Results that a later one repeats word for word. They go with the old results.
    pub repeated_results: RepeatedResults,
}

/// One kind of waste, and what is done about it.
#[derive(Serialize)]
pub struct WasteRemedy {
    pub remedy: Remedy,
    /// How many messages would be shown shorter.
    pub messages: usize,
    /// What that frees, in the provider's tokens.
    pub frees: Tokens,
    /// The settings that do this and nothing else.
    pub settings: Vec<String>,
    /// The command that does it; none where what it leaves is still more than can be sent.
    pub command: Option<String>,
}

impl Waste {
    /// The waste in the context that `timeline` of conversation `number` has come to.
    pub fn of(
        file: &TranscriptFile,
        number: usize,
        assembly: &Assembly,
        archive: Arc<MemoryArchive>,
        repeated_results: RepeatedResults,
    ) -> Result<Self> {
        let Conversation { log, sizes, leaf, .. } = file.conversation(number);
        let (log, sizes) = (Arc::new(log.clone()), Arc::new(sizes.clone()));
        let mut session = Session::new(log, sizes, archive, assembly.clone());
        session.move_to(*leaf)?;
        let remedies = session.remedies()?.into_iter().map(|effect| {
            let settings = effect.remedy.settings();
            let command = effect.fits.then(|| command(file, &settings));
            let (remedy, messages, frees) = (effect.remedy, effect.messages, effect.frees);
            WasteRemedy { remedy, messages, frees, settings, command }
        });
        Ok(Self { remedies: remedies.collect(), repeated_results })
    }

    /// Those that are shown: what all of them free together says nothing where there is one.
    pub fn shown(&self) -> impl Iterator<Item = &WasteRemedy> {
        let pruned = self.remedies.iter().filter(|one| one.remedy.setting().is_some()).count();
        self.remedies.iter().filter(move |one| one.remedy != Remedy::Everything || pruned > 1)
    }

    /// What to type, and what that is good for: all that pruning can do, or the first that does anything.
    pub fn command(&self) -> Option<(String, &str)> {
        let everything = self.remedies.iter().filter(|one| one.remedy == Remedy::Everything);
        everything.chain(&self.remedies).find_map(|one| Some((one.lead(), one.command.as_deref()?)))
    }
}

impl WasteRemedy {
    /// What people are shown.
    pub fn label(&self) -> &'static str {
        match self.remedy {
            Remedy::SupersededReads => "reads of files that were read again or changed since",
            Remedy::OldResults => "old tool results",
            Remedy::OldArguments => "long arguments of old calls",
            Remedy::OldThinking => "old thinking",
            Remedy::OldImages => "old pictures",
            Remedy::RepeatedTexts => "notices that the harness said again later",
            Remedy::Everything => "all that is pruned, together",
        }
    }

    /// What its command does, in front of that.
    fn lead(&self) -> String {
        match self.remedy {
            Remedy::Everything => "All that is pruned, at once:".to_owned(),
            Remedy::SupersededReads
            | Remedy::OldResults
            | Remedy::OldArguments
            | Remedy::OldThinking
            | Remedy::OldImages
            | Remedy::RepeatedTexts => format!("What touches {} alone:", self.label()),
        }
    }

    /// The setting, or the strategy, that touches this.
    pub fn setting(&self) -> &'static str {
        match self.remedy {
            Remedy::RepeatedTexts => "strategy=trim",
            Remedy::Everything => "strategy=prune",
            remedy @ (Remedy::SupersededReads
            | Remedy::OldResults
            | Remedy::OldArguments
            | Remedy::OldThinking
            | Remedy::OldImages) => remedy.setting().unwrap_or_default(),
        }
    }
}

/// What to type: a compaction of the file by these settings. A file whose own tool cannot show a message otherwise than it was
/// said is written in our form.
fn command(file: &TranscriptFile, settings: &[String]) -> String {
    if let Some(stored) = file.stored() {
        let set: String = settings.iter().map(|setting| format!(" --set {setting}")).collect();
        return format!("epitome compact --session {}{set}", stored.session);
    }
    let to = if is_said_whole(file.transcript.format) { " --to native" } else { "" };
    let set: String = settings.iter().map(|setting| format!(" --set {setting}")).collect();
    format!("epitome compact {} -o OUT{to}{set}", shell_word(&file.path.display().to_string()))
}

/// Whether the tool of a format shows messages as they were said, and never shorter.
pub fn is_said_whole(format: Format) -> bool {
    format.is_resumable() && !can_express(format).forms
}

#[cfg(test)]
mod tests {
    use super::{Waste, WasteRemedy};
    use epitome_core::{RepeatedResults, Tokens};
    use epitome_engine::Remedy;

    fn waste(remedies: &[(Remedy, Option<&str>)]) -> Waste {
        let remedy = |&(remedy, command): &(Remedy, Option<&str>)| WasteRemedy {
            remedy,
            messages: 1,
            frees: Tokens(1),
            settings: Vec::new(),
            command: command.map(str::to_owned),
        };
        let remedies = remedies.iter().map(remedy).collect();
        Waste { remedies, repeated_results: RepeatedResults::default() }
    }

    #[test]
    fn a_command_is_led_by_what_it_does() {
        let trim = (Remedy::RepeatedTexts, Some("trim"));
        let all = waste(&[(Remedy::OldResults, Some("results")), trim, (Remedy::Everything, Some("prune"))]);
        assert_eq!(all.command(), Some(("All that is pruned, at once:".to_owned(), "prune")));
        let alone = "What touches notices that the harness said again later alone:".to_owned();
        for few in [waste(&[trim]), waste(&[(Remedy::OldResults, None), trim, (Remedy::Everything, None)])] {
            assert_eq!(few.command(), Some((alone.clone(), "trim")));
        }
        assert_eq!(waste(&[(Remedy::OldResults, None)]).command(), None);
    }
}
