//! The doors of the program: the commands behind which settings work.

use std::fmt;
use std::str::FromStr;

/// A command that compacts. Each setting says behind which of them it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// A transcript, compacted by hand.
    Compact,
    /// A transcript, fed through the engine call by call.
    Replay,
    /// Conversations of agents, as they grow.
    Serve,
}

impl Door {
    /// Every door, in the order they are listed to people.
    pub const ALL: [Self; 3] = [Self::Compact, Self::Replay, Self::Serve];

    /// The command's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Replay => "replay",
            Self::Serve => "serve",
        }
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Door {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|door| door.name() == name);
        found.ok_or_else(|| format!("`{name}` is none of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Doors in words, for a sentence about where a setting works.
pub(crate) fn told(doors: &[Door]) -> String {
    let names: Vec<String> = doors.iter().map(|door| format!("`{door}`")).collect();
    match names.split_last() {
        None => "no command that compacts looks at it".to_owned(),
        Some((last, [])) => format!("it works with {last}"),
        Some((last, rest)) => format!("it works with {} and {last}", rest.join(", ")),
    }
}
