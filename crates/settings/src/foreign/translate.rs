//! What another system's settings mean here.

use super::names::FOREIGN;
use crate::error::SettingsError;
use crate::layer::Leaf;
use crate::resolve::{Said, Settled};
use crate::schema;
use toml::Value;

/// How a setting is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
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
    /// A window in plain tokens.
    ClaudeWindow,
    /// Nothing here does that; why.
    Idle(&'static str),
}

/// What came of a translation.
#[derive(Default)]
pub(in super::super) struct Translated {
    /// Settings of ours, each with where the other was written.
    pub(in super::super) said: Vec<Said>,
    /// What a person should know.
    pub(in super::super) notes: Vec<String>,
}

/// Translates `foreign` for someone whose settings are `ours` so far.
pub(in super::super) fn translate(foreign: &Settled, ours: &Settled) -> Result<Translated, SettingsError> {
    let mut work = Work { foreign, ours, done: Translated::default() };
    for known in FOREIGN {
        if let Some(said) = foreign.get(known.name) {
            work.apply(known.rule, said)?;
        }
    }
    Ok(work.done)
}

/// A translation under way.
pub(super) struct Work<'w> {
    pub(super) foreign: &'w Settled,
    pub(super) ours: &'w Settled,
    done: Translated,
}

impl Work<'_> {
    fn apply(&mut self, rule: Rule, said: &Said) -> Result<(), SettingsError> {
        match rule {
            Rule::Same(key) => self.give(said, key, said.leaf.value.clone()),
            Rule::Percent(key) => {
                let percent = said.number()?;
                self.give(said, key, format!("{percent}%").into())
            }
            Rule::Fraction(key) => {
                let percent = (said.number()? * 10_000.0).round() / 100.0;
                self.give(said, key, format!("{percent}%").into())
            }
            Rule::Remaining(key) => self.give(said, key, format!("-{}", said.whole()?).into()),
            Rule::TokensOrOff(key) => {
                let tokens = said.whole()?;
                let value = if tokens > 0 { Value::Integer(tokens) } else { schema::UNSET.into() };
                self.give(said, key, value)
            }
            Rule::Reserve => self.reserve(said),
            Rule::ThresholdPercent => self.threshold_percent(said),
            Rule::KeepMessages => self.keep(said, "messages"),
            Rule::KeepTokens => self.keep(said, self.cut()),
            Rule::Enabled => self.choose(said, "mode", &[("true", "auto"), ("false", "off")]),
            Rule::Disable { by_hand_too } => self.disable(said, by_hand_too),
            Rule::Prompt => self.prompt(said),
            Rule::Agent => self.agent(said),
            Rule::PruneMode => self.choose(said, "prune.when", PRUNE_MODES),
            Rule::Strategy => self.strategy(said),
            Rule::SummarizeFirst => self.summarize_first(said),
            Rule::ClaudeWindow => self.claude_window(said),
            Rule::Idle(why) => {
                self.note(said, &format!("has no effect: {why}"));
                Ok(())
            }
        }
    }

    /// Sets `key` to `value` in the name of `said`.
    pub(super) fn give(&mut self, said: &Said, key: &str, value: Value) -> Result<(), SettingsError> {
        let known = schema::find(key).expect("the table of names has keys of ours");
        let checked = known.check(value);
        let value = checked.map_err(|allowed| said.refused(&allowed))?;
        let source = said.leaf.source.clone();
        let leaf = Leaf { key: key.to_owned(), value, source };
        self.done.said.push(Said { rank: said.rank, leaf });
        Ok(())
    }

    /// Sets `key` to what `words` give for the text of `said`.
    pub(super) fn choose(
        &mut self,
        said: &Said,
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
    pub(super) fn note(&mut self, said: &Said, what: &str) {
        self.done.notes.push(format!("{} {what}", said.leaf.source));
    }
}

/// When aura prunes, and our word for it.
const PRUNE_MODES: &[(&str, &str)] =
    &[("off", "never"), ("iteration", "tool-round"), ("compaction", "compaction")];
