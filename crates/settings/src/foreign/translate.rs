//! Translation of other systems' settings into ours, rule by rule, after all sources are merged.
//! Rules whose meaning depends on other values are in `rules`.

use super::names::FOREIGN;
use crate::error::SettingsError;
use crate::layer::Leaf;
use crate::resolve::{EffectiveValues, RankedValue};
use crate::schema;
use toml::Value;

/// How a setting is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TranslationRule {
    /// The same value under our name.
    Same(&'static str),
    /// So many percent.
    Percent(&'static str),
    /// A fraction of one.
    Fraction(&'static str),
    /// So many tokens before the end.
    Remaining(&'static str),
    /// So many tokens; nothing at 0 or below.
    TokensOrOff(&'static str),
    /// A reserve at the end of the window, of which a summary's answer takes its share.
    Reserve,
    /// A percentage that replaces the reserve; off at 0 or below, 99 at most.
    ThresholdPercent,
    /// So many messages stay.
    KeepMessages,
    /// So many tokens stay, by the preset's own way of cutting.
    KeepTokens,
    /// Whether compaction is automatic.
    Enabled,
    /// Set to anything but nothing, 0 or false: off.
    Disable {
        /// Whether the other system refuses compaction by hand as well.
        by_hand_too: bool,
    },
    /// The session's own model with this prompt; goes before `agent`.
    Prompt,
    /// Another agent's model.
    Agent,
    /// When tool-call arguments are cut.
    PruneMode,
    /// One of four strategies, with what follows it.
    Strategy,
    /// Whether a summary is tried before dropping.
    SummarizeFirst,
    /// The most of the window that is used, in plain tokens.
    ClaudeWindow,
    /// The window itself, in plain tokens.
    ClaudeContext,
    /// Nothing here does that; why.
    Idle(&'static str),
}

/// What came of a translation.
#[derive(Default)]
pub(in super::super) struct Translation {
    /// Settings of ours, each with where the other was written.
    pub(in super::super) said: Vec<RankedValue>,
    /// What a person should know.
    pub(in super::super) notes: Vec<String>,
}

/// Translates `foreign` for someone whose settings are `ours` so far.
pub(in super::super) fn translate(
    foreign: &EffectiveValues,
    ours: &EffectiveValues,
) -> Result<Translation, SettingsError> {
    let mut work = Translator { foreign, ours, done: Translation::default() };
    for known in FOREIGN {
        if let Some(said) = foreign.get(known.name) {
            work.apply(known.rule, said)?;
        }
    }
    Ok(work.done)
}

/// A translation under way.
pub(super) struct Translator<'w> {
    pub(super) foreign: &'w EffectiveValues,
    pub(super) ours: &'w EffectiveValues,
    done: Translation,
}

impl Translator<'_> {
    fn apply(&mut self, rule: TranslationRule, said: &RankedValue) -> Result<(), SettingsError> {
        match rule {
            TranslationRule::Same(key) => self.give(said, key, said.leaf.value.clone()),
            TranslationRule::Percent(key) => {
                let percent = said.number()?;
                self.give(said, key, format!("{percent}%").into())
            }
            TranslationRule::Fraction(key) => {
                let percent = (said.number()? * 10_000.0).round() / 100.0;
                self.give(said, key, format!("{percent}%").into())
            }
            TranslationRule::Remaining(key) => self.give(said, key, format!("-{}", said.whole()?).into()),
            TranslationRule::TokensOrOff(key) => {
                let tokens = said.whole()?;
                let value = if tokens > 0 { Value::Integer(tokens) } else { schema::UNSET.into() };
                self.give(said, key, value)
            }
            TranslationRule::Reserve => self.reserve(said),
            TranslationRule::ThresholdPercent => self.threshold_percent(said),
            TranslationRule::KeepMessages => self.keep(said, "messages"),
            TranslationRule::KeepTokens => self.keep(said, self.cut()),
            TranslationRule::Enabled => self.choose(said, "mode", &[("true", "auto"), ("false", "off")]),
            TranslationRule::Disable { by_hand_too } => self.disable(said, by_hand_too),
            TranslationRule::Prompt => self.prompt(said),
            TranslationRule::Agent => self.agent(said),
            TranslationRule::PruneMode => self.choose(said, "prune.when", PRUNE_MODES),
            TranslationRule::Strategy => self.strategy(said),
            TranslationRule::SummarizeFirst => self.summarize_first(said),
            TranslationRule::ClaudeWindow => self.plain_tokens(said, "window.most"),
            TranslationRule::ClaudeContext => self.plain_tokens(said, "window.tokens"),
            TranslationRule::Idle(why) => {
                self.note(said, &format!("has no effect: {why}"));
                Ok(())
            }
        }
    }

    /// Sets `key` to `value` in the name of `said`.
    pub(super) fn give(&mut self, said: &RankedValue, key: &str, value: Value) -> Result<(), SettingsError> {
        let known = schema::find(key).expect("the table of names has keys of ours");
        let checked = known.check(value);
        let value = checked.map_err(|allowed| said.refused(&allowed))?;
        let source = said.leaf.source.clone();
        let leaf = Leaf { key: key.to_owned(), value, source };
        self.done.said.push(RankedValue { rank: said.rank, leaf });
        Ok(())
    }

    /// Sets `key` to what `words` give for the text of `said`.
    pub(super) fn choose(
        &mut self,
        said: &RankedValue,
        key: &str,
        words: &[(&str, &str)],
    ) -> Result<(), SettingsError> {
        let text = said.leaf.value.as_str().map_or_else(|| said.leaf.value.to_string(), str::to_owned);
        let Some((_, ours)) = words.iter().find(|(word, _)| *word == text) else {
            let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            return Err(said.refused(&format!("write one of {}", all.join(", "))));
        };
        let known = schema::find(key).expect("the table of names has keys of ours");
        self.give(said, key, known.parse(ours).expect("the words are ours"))
    }

    /// Tells a person something about `said`.
    pub(super) fn note(&mut self, said: &RankedValue, what: &str) {
        self.done.notes.push(format!("{} {what}", said.leaf.source));
    }
}

/// When aura prunes, and our word for it.
const PRUNE_MODES: &[(&str, &str)] =
    &[("off", "never"), ("iteration", "tool-round"), ("compaction", "compaction")];
