//! Settings there were, each with what to do instead, so that an old file is told more than "no setting".

/// A setting, a table of them, or a word of one, that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovedSetting {
    /// The key, or the table it stood in.
    pub name: &'static str,
    /// The word of its value that is gone; the whole key where there is none.
    pub word: Option<&'static str>,
    /// What to do instead.
    pub instead: &'static str,
}

/// Everything that is gone.
pub const REMOVED: &[RemovedSetting] = &[
    RemovedSetting {
        name: "compat",
        word: None,
        instead: "defects of other systems are not reproduced; take it out",
    },
    RemovedSetting {
        name: "branch.enabled",
        word: None,
        instead: "whether a branch is summarised is said when it is left; take it out",
    },
    RemovedSetting {
        name: "keep.always",
        word: Some("pins"),
        instead: "pins are always kept; take the word out",
    },
];

/// What to do instead of a key that is gone, be it by the name of its table.
pub(crate) fn instead_of(key: &str) -> Option<&'static str> {
    let is_gone = |gone: &&RemovedSetting| {
        let rest = key.strip_prefix(gone.name);
        gone.word.is_none() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    REMOVED.iter().find(is_gone).map(|gone| gone.instead)
}

/// A word of `value` that is gone from the key called `name`, with what to do instead.
pub(crate) fn gone_word(name: &str, value: &toml::Value) -> Option<&'static RemovedSetting> {
    let has = |word: &str| match value {
        toml::Value::Array(all) => all.iter().any(|one| one.as_str() == Some(word)),
        other => other.as_str() == Some(word),
    };
    REMOVED.iter().find(|gone| gone.name == name && gone.word.is_some_and(has))
}
