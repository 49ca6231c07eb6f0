//! What room could be made in a context without a summary, one kind of waste at a time: the core's own passes are run
//! under a rule that touches this kind alone, and what they would free is told. Nothing is appended.

use crate::error::EngineError;
use crate::session::Session;
use epitome_core::policy::{PruneRule, Settings};
use epitome_core::{EditPass, Policy, Strategy, Tokens};
use serde::Serialize;

/// A kind of waste, and what is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Results that show a file which was read again, or changed, since.
    SupersededReads,
    /// Results of tools, but the newest.
    OldResults,
    /// Long arguments of calls, but the newest: files that were written, scripts.
    OldArguments,
    /// Thinking, but the newest.
    OldThinking,
    /// Pictures, but the newest.
    OldImages,
    /// Texts of the harness that it says again later.
    RepeatedTexts,
    /// All of these but the last.
    Everything,
}

/// What a remedy would do to a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RemedyEffect {
    /// Which.
    pub remedy: Remedy,
    /// How many messages it would shorten.
    pub messages: usize,
    /// What it would free, in the provider's tokens.
    pub frees: Tokens,
    /// Whether what is left can be sent. Where it cannot, a compaction would go on to something else.
    pub fits: bool,
}

impl Remedy {
    /// Every remedy, in the order they are listed to people.
    pub const ALL: [Self; 7] = [
        Self::SupersededReads,
        Self::OldResults,
        Self::OldArguments,
        Self::OldThinking,
        Self::OldImages,
        Self::RepeatedTexts,
        Self::Everything,
    ];

    /// The setting of pruning that touches this kind of waste; none for what is not one kind, or not pruned.
    pub fn setting(self) -> Option<&'static str> {
        match self {
            Self::SupersededReads => Some("prune.superseded_reads"),
            Self::OldResults => Some("prune.results"),
            Self::OldArguments => Some("prune.arguments"),
            Self::OldThinking => Some("prune.thinking"),
            Self::OldImages => Some("prune.images"),
            Self::RepeatedTexts | Self::Everything => None,
        }
    }

    /// The settings under which a compaction by hand does this and nothing else, where all others are the default's.
    pub fn settings(self) -> Vec<String> {
        let mut settings = vec![format!("strategy={}", self.pass().strategy().name())];
        let others = Self::ALL.into_iter().filter(|other| *other != self).filter_map(Self::setting);
        let others = others.filter(|_| self.setting().is_some());
        settings.extend(others.map(|setting| format!("{setting}=false")));
        settings
    }

    /// The pass that does it.
    pub fn pass(self) -> EditPass {
        match self {
            Self::RepeatedTexts => EditPass::Trim,
            Self::SupersededReads
            | Self::OldResults
            | Self::OldArguments
            | Self::OldThinking
            | Self::OldImages
            | Self::Everything => EditPass::Prune,
        }
    }

    /// The settings of `settings` under which nothing else is done.
    fn alone(self, settings: &Settings) -> Settings {
        let is = |remedy: Self| self == remedy || self == Self::Everything;
        let prune = PruneRule {
            superseded_reads: is(Self::SupersededReads),
            results: is(Self::OldResults),
            arguments: is(Self::OldArguments),
            thinking: is(Self::OldThinking),
            images: is(Self::OldImages),
            ..settings.prune.clone()
        };
        Settings { prune, strategy: vec![self.pass().strategy(), Strategy::Drop], ..settings.clone() }
    }
}

impl Session {
    /// What each remedy would free of the context as it is now; those that would free nothing are left out.
    pub fn remedies(&self) -> Result<Vec<RemedyEffect>, EngineError> {
        let mut effects = Vec::new();
        for remedy in Remedy::ALL {
            effects.extend(self.remedy(remedy)?.filter(|effect| effect.frees > Tokens::ZERO));
        }
        Ok(effects)
    }

    fn remedy(&self, remedy: Remedy) -> Result<Option<RemedyEffect>, EngineError> {
        let Ok(policy) = Policy::try_from(remedy.alone(self.policy().settings())) else { return Ok(None) };
        let made = self.edit_pass_under(&policy, remedy.pass())?;
        Ok(made.map(|conclusion| {
            let record = conclusion.record;
            let messages = record.change().map_or(0, |change| change.pruned.len());
            let (before, after) = (record.tokens_before, record.tokens_after);
            let fits = record.budget.fits(record.budget.history_in(after));
            RemedyEffect { remedy, messages, frees: before.less(after), fits }
        }))
    }
}
