//! What another system's settings mean here.

use super::names::FOREIGN;
use crate::settings::error::SettingsError;
use crate::settings::layer::Leaf;
use crate::settings::resolve::{Said, Settled};
use crate::settings::schema;
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

struct Work<'w> {
    foreign: &'w Settled,
    ours: &'w Settled,
    done: Translated,
}

/// Above this a percentage of omp's acts as this.
const PERCENT_MAX: f64 = 99.0;
/// The least window Claude Code goes by; what it reads below is raised to it.
const CLAUDE_WINDOW_MIN: i64 = 100_000;

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
            Rule::SummarizeFirst => {
                self.choose(said, "strategy", &[("true", "summarize,drop"), ("false", "drop")])
            }
            Rule::ClaudeWindow => self.claude_window(said),
            Rule::Idle(why) => {
                self.done.notes.push(format!("{} has no effect: {why}", said.leaf.source));
                Ok(())
            }
        }
    }

    /// Sets `key` to `value` in the name of `said`.
    fn give(&mut self, said: &Said, key: &str, value: Value) -> Result<(), SettingsError> {
        let known = schema::find(key).expect("the table of names has keys of ours");
        let checked = known.check(value);
        let value = checked.map_err(|allowed| said.refused(&allowed))?;
        let source = said.leaf.source.clone();
        let leaf = Leaf { key: key.to_owned(), value, source };
        self.done.said.push(Said { rank: said.rank, leaf });
        Ok(())
    }

    /// Sets `key` to what `words` give for the text of `said`.
    fn choose(&mut self, said: &Said, key: &str, words: &[(&str, &str)]) -> Result<(), SettingsError> {
        let text = said.leaf.value.as_str().map_or_else(|| said.leaf.value.to_string(), str::to_owned);
        let Some((_, ours)) = words.iter().find(|(word, _)| *word == text) else {
            let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            return Err(said.refused(&format!("write one of {}", all.join(", "))));
        };
        let known = schema::find(key).expect("the table of names has keys of ours");
        self.give(said, key, known.parse(ours).expect("the words are ours"))
    }

    /// A reserve also bounds the answers of a preset that takes shares of it: four fifths, and half for
    /// the beginning of a cut turn.
    fn reserve(&mut self, said: &Said) -> Result<(), SettingsError> {
        let tokens = said.whole()?;
        if self.percent().is_some() {
            let why = "thresholdPercent goes before a reserve";
            self.done.notes.push(format!("{} has no effect on the trigger: {why}", said.leaf.source));
        } else {
            self.give(said, "trigger.at", format!("-{tokens}").into())?;
        }
        if self.ours.contains_key("summary.prefix_output_max") {
            self.give(said, "summary.output_max", Value::Integer(tokens * 4 / 5))?;
            self.give(said, "summary.prefix_output_max", Value::Integer(tokens / 2))?;
        }
        Ok(())
    }

    /// The percentage that replaces the reserve, where one is on.
    fn percent(&self) -> Option<f64> {
        let said = self.foreign.get("thresholdPercent")?;
        said.number().ok().filter(|percent| *percent > 0.0)
    }

    fn threshold_percent(&mut self, said: &Said) -> Result<(), SettingsError> {
        said.number()?;
        let Some(percent) = self.percent() else { return Ok(()) };
        if percent > PERCENT_MAX {
            self.done.notes.push(format!("{} is {percent} and acts as {PERCENT_MAX}", said.leaf.source));
        }
        self.give(said, "trigger.at", format!("{}%", percent.min(PERCENT_MAX)).into())?;
        self.give(said, "trigger.free_min", schema::UNSET.into())
    }

    fn keep(&mut self, said: &Said, unit: &str) -> Result<(), SettingsError> {
        let amount = [(unit.to_owned(), said.leaf.value.clone())].into_iter().collect();
        self.give(said, "keep.newest", Value::Table(amount))
    }

    /// The preset's own way of cutting by tokens, or keeping at least so many where it has none.
    fn cut(&self) -> &'static str {
        let kept = self.ours.get("keep.newest").and_then(|said| said.leaf.value.as_table());
        let is_kept = |unit: &&str| kept.is_some_and(|kept| kept.contains_key(*unit));
        ["tokens-reached", "tokens-at-most"].into_iter().find(is_kept).unwrap_or("tokens-at-least")
    }

    fn disable(&mut self, said: &Said, by_hand_too: bool) -> Result<(), SettingsError> {
        let text = said.leaf.value.as_str().unwrap_or_default();
        if ["", "0", "false"].contains(&text) {
            return Ok(());
        }
        if by_hand_too {
            let why = "compaction by hand stays possible here";
            self.done.notes.push(format!("{} turns automatic compaction off; {why}", said.leaf.source));
        }
        self.give(said, "mode", "off".into())
    }

    /// An empty prompt is none.
    fn prompt(&mut self, said: &Said) -> Result<(), SettingsError> {
        if said.text()?.is_empty() {
            return Ok(());
        }
        self.give(said, "summary.by", "session".into())?;
        self.give(said, "summary.prompt", said.leaf.value.clone())
    }

    fn agent(&mut self, said: &Said) -> Result<(), SettingsError> {
        let prompt = self.foreign.get("prompt").filter(|prompt| prompt.leaf.value.as_str() != Some(""));
        if let Some(prompt) = prompt {
            let before = &prompt.leaf.source;
            self.done.notes.push(format!("{} has no effect: {before} goes before it", said.leaf.source));
            return Ok(());
        }
        let name = said.text()?;
        self.give(said, "summary.by", if name.is_empty() { "none" } else { name }.into())
    }

    /// Dropping summarises first where the preset does.
    fn strategy(&mut self, said: &Said) -> Result<(), SettingsError> {
        let ours = self.ours.get("strategy").and_then(|said| said.leaf.value.as_array());
        let is_plain = ours.is_some_and(|chain| chain.iter().all(|one| one.as_str() == Some("drop")));
        let drop = if is_plain { "drop" } else { "summarize,drop" };
        let words = [
            ("drop", drop),
            ("summarize", "summarize,drop"),
            ("delegate", "delegate,drop"),
            ("checkpoint", "checkpoint,summarize,drop"),
        ];
        self.choose(said, "strategy", &words)
    }

    fn is_misread(&self) -> bool {
        let said = self.ours.get("compat.misread_window_suffix");
        said.is_some_and(|said| said.leaf.value.as_bool() == Some(true))
    }

    fn claude_window(&mut self, said: &Said) -> Result<(), SettingsError> {
        let text = said.text()?;
        let tokens = match text.parse::<i64>() {
            Ok(tokens) => tokens,
            Err(_) if self.is_misread() => misread(text),
            Err(_) => return Err(said.refused("write plain tokens, such as 500000")),
        };
        self.give(said, "window.most", Value::Integer(tokens))
    }
}

/// A window with a suffix as Claude Code reads it: the digits in front, raised to the least window.
fn misread(text: &str) -> i64 {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).map_or(text, |end| &text[..end]);
    digits.parse::<i64>().unwrap_or(0).max(CLAUDE_WINDOW_MIN)
}

/// When aura prunes, and our word for it.
const PRUNE_MODES: &[(&str, &str)] =
    &[("off", "never"), ("iteration", "tool-round"), ("compaction", "compaction")];
