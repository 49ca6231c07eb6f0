//! The log of a server: one line for each thing that happened, with its time, how much it matters and the model, as
//! text or as JSON, on standard error.

use crate::clock::timestamp;
use crate::output;
use clap::ValueEnum;
use epitome_server::{NoticeLevel, OperatorNotice, ServerTotals};
use serde::Serialize;
use serde_json::json;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON document for each line.
    Json,
}

/// The least that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Everything.
    Info,
    /// What did not go as it should.
    Warn,
    /// What makes requests fail.
    Error,
}

impl From<LogLevel> for NoticeLevel {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Info => Self::Info,
            LogLevel::Warn => Self::Warn,
            LogLevel::Error => Self::Error,
        }
    }
}

/// Writes lines.
#[derive(Clone, Copy, Debug)]
pub struct ServerLog {
    pub format: LogFormat,
    pub level: LogLevel,
}

/// One line of JSON.
#[derive(Serialize)]
struct LogLine<T> {
    time: String,
    level: NoticeLevel,
    text: String,
    #[serde(flatten)]
    fields: T,
}

impl ServerLog {
    /// Something that happened to a request.
    pub fn notice(&self, notice: &OperatorNotice) {
        self.write(notice.level(), notice.model(), &notice.to_string(), notice);
    }

    /// Something about the settings, or the server itself.
    pub fn say(&self, level: NoticeLevel, text: &str) {
        self.write(level, None, text, json!({}));
    }

    /// The end, with what all came to.
    pub fn stopped(&self, totals: &ServerTotals) {
        self.write(NoticeLevel::Info, None, &format!("stopped: {totals}"), totals);
    }

    fn write(&self, level: NoticeLevel, model: Option<&str>, text: &str, fields: impl Serialize) {
        if level < self.level.into() {
            return;
        }
        let time = timestamp();
        let line = match self.format {
            LogFormat::Text => {
                let model = model.map(|model| format!("{} ", one_word(model))).unwrap_or_default();
                format!("{time} {:<5} {model}{}", level.name(), one_line(text))
            }
            LogFormat::Json => {
                let line = LogLine { time, level, text: text.to_owned(), fields };
                serde_json::to_string(&line).unwrap_or_else(|_| text.to_owned())
            }
        };
        output::tell(line);
    }
}

/// A text in one line: what is wrong in a file of settings is told with the lines it stands in.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name that a client chose, as one word of a line.
fn one_word(name: &str) -> String {
    let is_plain = |c: &char| !c.is_whitespace() && !c.is_control();
    name.chars().filter(is_plain).take(NAME_CHARS_MAX).collect()
}

/// Longer than any model's name.
const NAME_CHARS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn what_is_wrong_in_settings_is_one_line_of_the_log() {
        let told = "cannot read epitome.toml: TOML parse error at line 1\n  |\n1 | keep =\n  |      ^\n";
        assert_eq!(one_line(told), "cannot read epitome.toml: TOML parse error at line 1 | 1 | keep = | ^");
        assert_eq!(one_line("listening on 127.0.0.1"), "listening on 127.0.0.1");
    }
}
