//! What may be written for a setting, and how a text becomes it.

use epitome_core::{Threshold, Tokens};
use toml::{Table, Value};

/// What may be written for a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// Yes or no.
    Flag,
    /// A whole number, 0 or more.
    Number,
    /// A context window in tokens.
    Window,
    /// A point in a window: `80%`, `160000` or `-20000`.
    Threshold,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of the first words, or one of the second with a number.
    Amount(&'static [&'static str], &'static [&'static str]),
    /// A list of these words.
    Choices(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of whole numbers.
    Numbers,
}

/// Numbers are counted in 32 bits where they are no tokens; nothing here comes near that.
const NUMBER_MAX: i64 = u32::MAX as i64;

/// Below this a window has no room for a summary, a tail and an answer.
const WINDOW_TOKENS_MIN: u64 = 2_000;
/// A hundred times the largest window there is; above it sums of shares would no longer fit a number.
const WINDOW_TOKENS_MAX: u64 = 1_000_000_000;

impl ValueKind {
    /// What `text` means as a value of this kind; whether it is one is for [`ValueKind::check`]. A table and a
    /// list may be written as in a file, `{ percent = 30 }` and `["Read"]`, or as a shell likes it better.
    pub(super) fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Text | Self::Threshold | Self::Choice(_) => Ok(text.into()),
            Self::Flag => text.parse::<bool>().map(Value::Boolean).map_err(|_| self.allowed()),
            Self::Number | Self::Window => self.number(text),
            Self::Amount(..) if text.starts_with('{') => self.inline(text),
            Self::Amount(..) => match text.split_once('=') {
                Some((word, number)) => {
                    let one = [(word.trim().to_owned(), self.number(number)?)];
                    Ok(Value::Table(one.into_iter().collect()))
                }
                None => Ok(text.into()),
            },
            Self::Choices(_) | Self::Texts | Self::Numbers if text.starts_with('[') => self.inline(text),
            Self::Choices(_) | Self::Texts => Ok(Value::Array(split(text).map(Value::from).collect())),
            Self::Numbers => {
                split(text).map(|one| self.number(one)).collect::<Result<_, _>>().map(Value::Array)
            }
        }
    }

    /// A value as it stands behind the `=` of a TOML file.
    fn inline(self, text: &str) -> Result<Value, String> {
        let table: Table = format!("value = {text}").parse().map_err(|_| self.allowed())?;
        // A line break in `text` would begin another key.
        let mut values = table.into_iter().map(|(_, value)| value);
        values.next().filter(|_| values.next().is_none()).ok_or_else(|| self.allowed())
    }

    fn number(self, text: &str) -> Result<Value, String> {
        let Tokens(number) = text.parse().map_err(|_| self.allowed())?;
        i64::try_from(number).map(Value::Integer).map_err(|_| self.allowed())
    }

    /// `value` as the types want it, or what is allowed instead.
    pub(super) fn check(self, value: Value) -> Result<Value, String> {
        let is_fine = match (self, &value) {
            (Self::Threshold, Value::Integer(tokens)) => return self.check(tokens.to_string().into()),
            (Self::Threshold, Value::String(text)) => return threshold(text).map(|_| value),
            (Self::Window, Value::Integer(tokens)) => {
                let tokens = u64::try_from(*tokens).map_err(|_| self.allowed())?;
                return check_window(tokens).map(|_| value);
            }
            (Self::Window | Self::Number, Value::String(text)) => return self.check_text(text),
            (Self::Amount(..), Value::String(text)) if text.contains('=') => return self.check_text(text),
            (Self::Choices(_) | Self::Texts | Self::Numbers, Value::String(text)) => {
                return self.check_text(text);
            }
            (Self::Text, Value::String(_)) | (Self::Flag, Value::Boolean(_)) => true,
            (Self::Number, number) => is_number(number),
            (Self::Choice(words) | Self::Amount(words, _), Value::String(word)) => {
                words.contains(&word.as_str())
            }
            (Self::Amount(_, words), Value::Table(table)) => {
                table.len() == 1
                    && table.iter().all(|(word, n)| words.contains(&word.as_str()) && is_number(n))
            }
            (Self::Choices(words), Value::Array(all)) => {
                all.iter().all(|one| one.as_str().is_some_and(|word| words.contains(&word)))
            }
            (Self::Texts, Value::Array(all)) => all.iter().all(Value::is_str),
            (Self::Numbers, Value::Array(all)) => all.iter().all(is_number),
            (
                Self::Text
                | Self::Flag
                | Self::Window
                | Self::Threshold
                | Self::Choice(_)
                | Self::Amount(..)
                | Self::Choices(_)
                | Self::Texts
                | Self::Numbers,
                _,
            ) => false,
        };
        if is_fine { Ok(value) } else { Err(self.allowed()) }
    }

    /// The same for a file's value that is written as a flag's is.
    fn check_text(self, text: &str) -> Result<Value, String> {
        self.parse(text).and_then(|value| self.check(value))
    }

    /// What may be written, in words.
    pub fn allowed(self) -> String {
        match self {
            Self::Text => "write a text".into(),
            Self::Flag => "write true or false".into(),
            Self::Number => "write a whole number, 0 or more".into(),
            Self::Window => "write a number of tokens, such as 64000 or 64k".into(),
            Self::Threshold => "write 80%, 160000 or -20000".into(),
            Self::Choice(words) => format!("write one of {}", words.join(", ")),
            Self::Amount(words, amounts) => {
                let amounts = amounts.iter().map(|word| format!("{{ {word} = N }}"));
                let all: Vec<String> = words.iter().map(|word| (*word).to_owned()).chain(amounts).collect();
                format!("write one of {}", all.join(", "))
            }
            Self::Choices(words) => format!("write a list of {}, with commas between them", words.join(", ")),
            Self::Texts => "write a list of texts, with commas between them".into(),
            Self::Numbers => "write a list of whole numbers, with commas between them".into(),
        }
    }

    /// Texts of every form this kind has.
    #[cfg(test)]
    pub(super) fn examples(self) -> Vec<String> {
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Self::Text => texts(&["a text"]),
            Self::Flag => texts(&["true", "false"]),
            Self::Number => texts(&["1", "12_000"]),
            Self::Window => texts(&["2000", "12_000", "64k"]),
            Self::Threshold => texts(&["80%", "160000", "-20000"]),
            Self::Choice(words) | Self::Choices(words) => texts(words),
            Self::Amount(words, amounts) => words
                .iter()
                .map(|word| (*word).to_owned())
                .chain(amounts.iter().flat_map(|word| [format!("{word}=7"), format!("{{ {word} = 7 }}")]))
                .collect(),
            Self::Texts => texts(&["", "one", "one,two", "[]", "[\"one\", \"two\"]"]),
            Self::Numbers => texts(&["", "1000", "1000, 200", "[1000, 200]"]),
        }
    }
}

/// A context window as it is written: `64000`, `64_000` or `64k`.
///
/// # Errors
/// What may be written instead.
pub fn parse_window(text: &str) -> Result<u64, String> {
    let Tokens(tokens) = text.parse()?;
    check_window(tokens)
}

fn check_window(tokens: u64) -> Result<u64, String> {
    if tokens < WINDOW_TOKENS_MIN {
        return Err(format!(
            "a window of {tokens} tokens leaves no room to work in; use at least {WINDOW_TOKENS_MIN}"
        ));
    }
    if tokens > WINDOW_TOKENS_MAX {
        return Err(format!("no model has a window of {tokens} tokens; use at most {WINDOW_TOKENS_MAX}"));
    }
    Ok(tokens)
}

/// No context is worth a look below this; a bare number below it is a share that lacks its sign.
const THRESHOLD_TOKENS_MIN: Tokens = Tokens(1_000);

fn threshold(text: &str) -> Result<Threshold, String> {
    match text.parse()? {
        Threshold::Absolute(tokens) if tokens < THRESHOLD_TOKENS_MIN => Err(format!(
            "{tokens} tokens are less than any context; for a share of the window write {tokens}%"
        )),
        point => Ok(point),
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|one| !one.is_empty())
}

fn is_number(value: &Value) -> bool {
    value.as_integer().is_some_and(|number| (0..=NUMBER_MAX).contains(&number))
}
