//! `[store]`: what is kept of conversations, and for how long. It is the operator's to say, once for all sessions: it stands in their
//! file, the environment and flags, and in no preset, project's or agent's file.

use super::error::SettingsError;
use super::layer::{SettingOrigin, SettingSource};
use super::resolve::{FlagValue, Sources};
use super::schema::Door;
use super::span::{parse_size, parse_span};
use epitome_core::KeptBodies;
use serde::Serialize;
use toml::{Table, Value};

/// The table, and what its keys begin with.
pub(super) const STORE: &str = "store";
/// What variables of the environment begin with.
const VARIABLE: &str = "EPITOME_STORE__";
/// The keys, with what each says.
pub const STORE_KEYS: [(&str, &str); 3] = [
    (KEEP, "how much of what clients of `serve` say is kept: `all`, `superseded`, `none`"),
    (EXPIRE_AFTER, "sessions that nothing was added to for so long go: `90d`, `12h`; unset by `none`"),
    (SIZE_MAX, "the oldest sessions go until the rest takes no more than this: `2GB`; unset by `none`"),
];
const KEEP: &str = "store.keep";
const EXPIRE_AFTER: &str = "store.expire_after";
const SIZE_MAX: &str = "store.size_max";
/// What unsets a limit that a weaker source set.
const UNSET: &str = "none";

/// What is kept, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreSettings {
    /// How much of what clients say is kept.
    pub keep: KeptBodies,
    /// Sessions go that nothing was added to for so long, in milliseconds.
    pub expire_after_ms: Option<u64>,
    /// The oldest go until the rest takes no more than so many bytes.
    pub size_max_bytes: Option<u64>,
}

/// Whether a key is one of these, rather than a policy's.
pub(super) fn is_meant(key: &str) -> bool {
    key.strip_prefix(STORE).is_some_and(|rest| rest.starts_with('.'))
}

impl StoreSettings {
    /// What the operator's file, the environment and flags say, weakest first.
    pub(super) fn of(sources: &Sources, table: &Table) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        let file = sources.user.as_ref().map(|file| file.name.clone()).unwrap_or_default();
        for (name, value) in table {
            let key = format!("{STORE}.{name}");
            let source =
                SettingSource { origin: SettingOrigin::User { file: file.clone() }, key: key.clone() };
            let text = value.as_str().ok_or_else(|| SettingsError::value(&source, value, "write a text"))?;
            settings.set(&key, text, &source)?;
        }
        for (name, text) in &sources.environment {
            let Some(named) = name.strip_prefix(VARIABLE) else { continue };
            let source = SettingSource { origin: SettingOrigin::Environment, key: name.clone() };
            settings.set(&format!("{STORE}.{}", named.to_lowercase()), text, &source)?;
        }
        for FlagValue { name, key, text } in sources.flags.iter().filter(|flag| is_meant(&flag.key)) {
            let source = SettingSource { origin: SettingOrigin::Flag, key: name.clone() };
            match sources.door {
                Some(Door::Serve) | None => settings.set(key, text, &source)?,
                Some(door @ (Door::Compact | Door::Replay)) => {
                    return Err(SettingsError::Door { at: Box::new(source), door, works: &[Door::Serve] });
                }
            }
        }
        Ok(settings)
    }

    fn set(&mut self, key: &str, text: &str, source: &SettingSource) -> Result<(), SettingsError> {
        let refused = |allowed: String| SettingsError::value(source, &Value::from(text), &allowed);
        let limit = |parse: fn(&str) -> Result<u64, String>| match text {
            UNSET => Ok(None),
            text => parse(text).map(Some).map_err(|why| refused(format!("{why}, or `none` to unset it"))),
        };
        match key {
            KEEP => {
                let found = KeptBodies::ALL.into_iter().find(|kept| kept.name() == text);
                let words = KeptBodies::ALL.map(KeptBodies::name).join(", ");
                self.keep = found.ok_or_else(|| refused(format!("write one of {words}")))?;
            }
            EXPIRE_AFTER => self.expire_after_ms = limit(parse_span)?,
            SIZE_MAX => self.size_max_bytes = limit(parse_size)?,
            _ => {
                let at = Box::new(source.clone());
                let nearest = super::nearest::nearest(key, STORE_KEYS.into_iter().map(|(key, _)| key));
                return Err(SettingsError::UnknownKey { at, nearest });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::StoreSettings;
    use crate::{Door, FlagValue, SettingsError, SourceText, Sources, resolve};
    use epitome_core::KeptBodies;

    fn said(file: &str, variable: &str, flag: &str, door: Door) -> Result<StoreSettings, SettingsError> {
        let user = Some(SourceText { name: "mine.toml".into(), text: file.into() });
        let pair = |text: &str| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        let flags = pair(flag).map(|(key, text)| FlagValue { name: format!("--set {key}"), key, text });
        let (environment, flags) = (pair(variable).into_iter().collect(), flags.into_iter().collect());
        Ok(resolve(&Sources { user, environment, flags, door: Some(door), ..Sources::default() })?.store)
    }

    #[test]
    fn the_strongest_source_says_what_is_kept_and_for_how_long() {
        let file = "[store]\nkeep = \"none\"\nexpire_after = \"90d\"\nsize_max = \"2GB\"";
        let found = said(file, "EPITOME_STORE__SIZE_MAX=none", "store.keep=superseded", Door::Serve);
        let expected = StoreSettings {
            keep: KeptBodies::Superseded,
            expire_after_ms: Some(7_776_000_000),
            size_max_bytes: None,
        };
        assert_eq!(found.expect("it is in order"), expected);
        assert_eq!(said("", "", "", Door::Compact).expect("nothing is said"), StoreSettings::default());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_write() {
        let told = |file, variable, flag, door| {
            said(file, variable, flag, door).expect_err("it is refused").to_string()
        };
        assert_eq!(
            told("[store]\nkeep = \"some\"", "", "", Door::Serve),
            "mine.toml: `store.keep` is \"some\", which it cannot be; write one of all, superseded, none"
        );
        assert_eq!(
            told("", "EPITOME_STORE__EXPIRE_AFTER=90", "", Door::Serve),
            "environment: `EPITOME_STORE__EXPIRE_AFTER` is \"90\", which it cannot be; `90` is no length of time; write 90d, 12h or 30m, or `none` to unset it"
        );
        assert_eq!(
            told("[store]\nkept = \"all\"", "", "", Door::Serve),
            "mine.toml: `store.kept` is no setting; did you mean `store.keep`?"
        );
        assert_eq!(
            told("", "", "store.keep=all", Door::Replay),
            "command line: `--set store.keep` is not used by `replay`; it works with `serve`"
        );
    }

    #[test]
    fn a_project_does_not_say_what_is_kept() {
        let text = "[store]\nkeep = \"none\"".to_owned();
        let project = Some(SourceText { name: "theirs.toml".into(), text });
        let refused = resolve(&Sources { project, ..Sources::default() }).expect_err("it is the operator's");
        assert!(matches!(refused, SettingsError::Operators { .. }), "{refused}");
    }
}
