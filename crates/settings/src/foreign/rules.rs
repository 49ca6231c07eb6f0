//! Settings whose meaning depends on others, or on the preset.

use super::translate::Translator;
use crate::error::SettingsError;
use crate::resolve::RankedValue;
use crate::schema;
use toml::Value;

/// Above this a percentage of omp's acts as this.
const PERCENT_MAX: f64 = 99.0;

impl Translator<'_> {
    /// A reserve also bounds the answers of a preset that takes shares of it: four fifths, and half for
    /// the beginning of a cut turn.
    pub(super) fn reserve(&mut self, said: &RankedValue) -> Result<(), SettingsError> {
        let tokens = said.whole()?;
        if self.percent().is_some() {
            self.note(said, "has no effect on the trigger: thresholdPercent goes before a reserve");
        } else {
            self.give(said, "trigger.at", format!("-{tokens}").into())?;
        }
        if self.ours.contains_key("summary.prefix_output_max") {
            self.give(said, "summary.output_max", Value::Integer(tokens.saturating_mul(4) / 5))?;
            self.give(said, "summary.prefix_output_max", Value::Integer(tokens / 2))?;
        }
        Ok(())
    }

    /// The percentage that replaces the reserve, where one is on.
    fn percent(&self) -> Option<f64> {
        let said = self.foreign.get("thresholdPercent")?;
        said.number().ok().filter(|percent| *percent > 0.0)
    }

    pub(super) fn threshold_percent(&mut self, said: &RankedValue) -> Result<(), SettingsError> {
        said.number()?;
        let Some(percent) = self.percent() else { return Ok(()) };
        if percent > PERCENT_MAX {
            self.note(said, &format!("is {percent} and acts as {PERCENT_MAX}"));
        }
        self.give(said, "trigger.at", format!("{}%", percent.min(PERCENT_MAX)).into())?;
        self.give(said, "trigger.free_min", schema::UNSET.into())
    }

    pub(super) fn keep(&mut self, said: &RankedValue, unit: &str) -> Result<(), SettingsError> {
        let amount = [(unit.to_owned(), said.leaf.value.clone())].into_iter().collect();
        self.give(said, "keep.newest", Value::Table(amount))
    }

    /// The preset's own way of cutting by tokens, or keeping at least so many where it has none.
    pub(super) fn cut(&self) -> &'static str {
        let kept = self.ours.get("keep.newest").and_then(|said| said.leaf.value.as_table());
        let is_kept = |unit: &&str| kept.is_some_and(|kept| kept.contains_key(*unit));
        ["tokens-reached", "tokens-at-most"].into_iter().find(is_kept).unwrap_or("tokens-at-least")
    }

    pub(super) fn disable(&mut self, said: &RankedValue, by_hand_too: bool) -> Result<(), SettingsError> {
        let text = said.leaf.value.as_str().unwrap_or_default();
        if ["", "0", "false"].contains(&text) {
            return Ok(());
        }
        if by_hand_too {
            self.note(said, "turns automatic compaction off; compaction by hand stays possible here");
        }
        self.give(said, "mode", "off".into())
    }

    /// An empty prompt is none.
    pub(super) fn prompt(&mut self, said: &RankedValue) -> Result<(), SettingsError> {
        if said.text()?.is_empty() {
            return Ok(());
        }
        self.give(said, "summary.by", "session".into())?;
        self.give(said, "summary.prompt", said.leaf.value.clone())
    }

    pub(super) fn agent(&mut self, said: &RankedValue) -> Result<(), SettingsError> {
        let prompt = self.foreign.get("prompt").filter(|prompt| prompt.leaf.value.as_str() != Some(""));
        if let Some(prompt) = prompt {
            self.note(said, &format!("has no effect: {} goes before it", prompt.leaf.source));
            return Ok(());
        }
        match said.text()? {
            "" => self.prune_only(said),
            name => self.give(said, "summary.by", name.into()),
        }
    }

    /// Nobody writes summaries: what is left is pruning, unless a chain of strategies was named beside it.
    fn prune_only(&mut self, said: &RankedValue) -> Result<(), SettingsError> {
        self.give(said, "summary.by", "none".into())?;
        if self.ours.get("strategy").is_some_and(|ours| ours.rank >= said.rank) {
            return Ok(());
        }
        self.give(said, "strategy", Value::Array(vec!["prune".into()]))
    }

    /// Dropping summarises first where the preset does, or where `summarize` says so.
    pub(super) fn strategy(&mut self, said: &RankedValue) -> Result<(), SettingsError> {
        let toggle = self.foreign.get("summarize");
        let is_first = match toggle.and_then(|toggle| toggle.leaf.value.as_bool()) {
            Some(is_first) => is_first,
            None => !self.is_plain_drop(),
        };
        let drop = if is_first { "summarize,drop" } else { "drop" };
        let words = [
            ("drop", drop),
            ("summarize", if toggle.is_some() { drop } else { "summarize,drop" }),
            ("delegate", "delegate,drop"),
            ("checkpoint", "checkpoint,summarize,drop"),
        ];
        let rank = toggle.map_or(said.rank, |toggle| toggle.rank.max(said.rank));
        self.choose(&RankedValue { rank, leaf: said.leaf.clone() }, "strategy", &words)
    }

    fn is_plain_drop(&self) -> bool {
        let ours = self.ours.get("strategy").and_then(|said| said.leaf.value.as_array());
        ours.is_some_and(|chain| chain.iter().all(|one| one.as_str() == Some("drop")))
    }

    /// Where a strategy is named by their name, it has taken this up.
    pub(super) fn summarize_first(&mut self, said: &RankedValue) -> Result<(), SettingsError> {
        if self.foreign.contains_key("strategy") && said.leaf.value.is_bool() {
            return Ok(());
        }
        self.choose(said, "strategy", &[("true", "summarize,drop"), ("false", "drop")])
    }

    pub(super) fn plain_tokens(&mut self, said: &RankedValue, key: &str) -> Result<(), SettingsError> {
        let text = said.text()?;
        let tokens = text.parse().map_err(|_| said.refused("write plain tokens, such as 500000"))?;
        self.give(said, key, Value::Integer(tokens))
    }
}
