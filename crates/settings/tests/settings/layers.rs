//! Who is heard: the strength of each source, presets of one's own, and files that change.

use crate::{agent, project, resolved, source, text};
use epitome_core::policy::TriggerMode;
use epitome_settings::{FileStamp, Files, FlagValue, LivePolicy, OwnPreset, PolicyFiles, Sources};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Files in memory.
#[derive(Default)]
struct Drawer(Mutex<HashMap<PathBuf, (Duration, String)>>);

impl Drawer {
    fn write(&self, path: &str, second: u64, text: &str) {
        let mut files = self.0.lock().expect("no test panics with it");
        files.insert(path.into(), (Duration::from_secs(second), text.to_owned()));
    }
}

impl Files for Drawer {
    fn stamp(&self, path: &Path) -> Option<FileStamp> {
        let files = self.0.lock().expect("no test panics with it");
        files.get(path).map(|(written, text)| FileStamp { written: *written, bytes: text.len() as u64 })
    }

    fn read(&self, path: &Path) -> Result<String, String> {
        let files = self.0.lock().expect("no test panics with it");
        files.get(path).map(|(_, text)| text.clone()).ok_or_else(|| "there is no such file".to_owned())
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let files = self.0.lock().expect("no test panics with it");
        files.keys().filter(|path| path.parent() == Some(folder)).cloned().collect()
    }
}

#[test]
fn a_file_that_the_user_named_and_that_is_gone_leaves_its_settings_in_force() {
    let drawer = Arc::new(Drawer::default());
    drawer.write("mine.toml", 1, "[trigger]\nat = \"70%\"");
    let watched =
        PolicyFiles { user: Some("mine.toml".into()), is_user_named: true, ..PolicyFiles::default() };
    let mut live = LivePolicy::open(drawer.clone(), watched, Sources::default()).expect("it is in order");
    drawer.0.lock().expect("no test panics with it").clear();
    assert_eq!(live.policy().trigger.at.to_string(), "70%");
    let fault = live.fault().map(ToString::to_string).unwrap_or_default();
    assert!(fault.contains("mine.toml") && fault.contains("there is no such file"), "{fault}");
}

#[test]
fn o20_a_changed_file_counts_at_the_next_check_and_a_broken_one_does_not() {
    let drawer = Arc::new(Drawer::default());
    let watched = PolicyFiles { project: Some("epitome.toml".into()), ..PolicyFiles::default() };
    let mut live =
        LivePolicy::open(drawer.clone(), watched, Sources::default()).expect("there is nothing to refuse");
    let at = |live: &mut LivePolicy| live.policy().trigger.at.to_string();
    assert_eq!(at(&mut live), "80%");
    drawer.write("epitome.toml", 1, "[trigger]\nat = \"70%\"");
    assert_eq!(at(&mut live), "70%");
    drawer.write("epitome.toml", 2, "[trigger]\nat = \"7o%\"");
    assert_eq!(at(&mut live), "70%");
    assert_eq!(
        live.fault().map(ToString::to_string).as_deref(),
        Some(
            "epitome.toml: `trigger.at` is \"7o%\", which it cannot be; `7o%` is no threshold; write 80%, 160000 or -20000"
        )
    );
    let one = live.with_overrides("keep.within_turn = false".parse().expect("a table"));
    let one = one.expect("the last good settings are in force for one call too");
    assert_eq!((one.policy.trigger.at.to_string().as_str(), one.policy.keep.within_turn), ("70%", false));
    drawer.write("epitome.toml", 3, "[trigger]\nat = \"60%\"");
    let one = live.with_overrides(toml::Table::new()).expect("the file is in order again");
    assert_eq!(one.policy.trigger.at.to_string(), "60%");
    assert_eq!((at(&mut live), live.fault().is_none()), ("60%".to_owned(), true));
}

#[test]
fn an_own_preset_that_changes_counts_at_the_next_check() {
    let drawer = Arc::new(Drawer::default());
    drawer.write("presets/team.toml", 1, "base = \"pi\"\n[trigger]\nat = \"70%\"");
    let watched = PolicyFiles { presets: Some("presets".into()), ..PolicyFiles::default() };
    let named = FlagValue { name: "--preset".into(), key: "preset".into(), text: "team".into() };
    let rest = Sources { flags: vec![named], ..Sources::default() };
    let mut live = LivePolicy::open(drawer.clone(), watched, rest).expect("it is a preset");
    let resolved = live.check().clone();
    assert_eq!(
        [source(&resolved, "trigger.at"), source(&resolved, "keep.newest"), resolved.preset.clone()],
        ["preset team (presets/team.toml)", "preset pi", "team"]
    );
    drawer.write("presets/base.toml", 2, "[trigger]\nat = \"60%\"");
    drawer.write("presets/team.toml", 2, "base = \"base\"");
    assert_eq!(live.policy().trigger.at.to_string(), "60%");
}

#[test]
fn an_own_preset_can_be_named_wherever_a_built_in_one_can() {
    let file = text("team.toml", "[trigger]\nat = \"55%\"");
    let presets = vec![OwnPreset { name: "team".into(), file }];
    let at = |sources: Sources| {
        let sources = Sources { presets: presets.clone(), ..sources };
        resolved(&sources).policy.trigger.at.to_string()
    };
    let agents = vec![text("agent.md", "---\ncompaction: {preset: team}\n---")];
    let flags = vec![FlagValue { name: "--preset".into(), key: "preset".into(), text: "team".into() }];
    let environment = vec![("EPITOME_PRESET".to_owned(), "team".to_owned())];
    assert_eq!(
        [
            at(project("preset = \"team\"")),
            at(Sources { agents, ..Sources::default() }),
            at(Sources { flags, ..Sources::default() }),
            at(Sources { environment, ..Sources::default() }),
        ],
        ["55%"; 4]
    );
}

#[test]
fn l75_set_to_the_default_differs_from_unset() {
    let unset = resolved(&project("preset = \"pi\""));
    let set = resolved(&project("preset = \"pi\"\n[trigger]\nat = \"-16384\""));
    assert_eq!(unset.policy, set.policy);
    assert_eq!(
        [source(&unset, "trigger.at"), source(&set, "trigger.at")],
        ["preset pi", "epitome.toml: trigger.at"]
    );
}

#[test]
fn l80_off_means_off_for_whoever_says_it() {
    let modes = ["auto", "ask", "remind", "off"].map(|mode| {
        let yaml = format!("compaction:\n  mode: {mode}");
        resolved(&agent("default", &yaml)).policy.mode
    });
    assert_eq!(modes, [TriggerMode::Auto, TriggerMode::Ask, TriggerMode::Remind, TriggerMode::Off]);
}

#[test]
fn the_stronger_source_is_heard() {
    let file = |at: &str| format!("[trigger]\nat = \"{at}\"\n");
    let flag = FlagValue { name: "--set".into(), key: "trigger.at".into(), text: "77%".into() };
    let mut sources = Sources::default();
    let mut heard = vec![source(&resolved(&sources), "trigger.at")];
    let mut hear = |sources: &Sources| heard.push(source(&resolved(sources), "trigger.at"));
    sources.user = Some(text("user.toml", &file("71%")));
    hear(&sources);
    sources.project = Some(text("project.toml", &file("72%")));
    hear(&sources);
    sources.agents = vec![text("agent.md", "---\ncompaction: {threshold: 73}\n---")];
    hear(&sources);
    sources.model = Some("claude-opus-4.5".into());
    let tables = "[model.\"claude-*\".trigger]\nat = \"75%\"\n[model.\"*\".trigger]\nat = \"74%\"\n";
    sources.user = Some(text("user.toml", &format!("{}{tables}", file("71%"))));
    hear(&sources);
    sources.environment = vec![("EPITOME_TRIGGER__AT".into(), "76%".into())];
    hear(&sources);
    sources.flags = vec![flag];
    hear(&sources);
    sources.overrides = file("78%").parse().expect("a table");
    hear(&sources);
    assert_eq!(
        heard,
        [
            "preset default",
            "user.toml: trigger.at",
            "project.toml: trigger.at",
            "agent.md: compaction.threshold",
            "user.toml [model.\"claude-*\"]: trigger.at",
            "environment: EPITOME_TRIGGER__AT",
            "command line: --set",
            "this call: trigger.at",
        ]
    );
}

#[test]
fn what_is_unset_by_a_stronger_source_is_unset() {
    let one = resolved(&project("preset = \"kaged\"\n[trigger]\ntarget = \"none\""));
    assert_eq!(
        (one.policy.trigger.target, source(&one, "trigger.target")),
        (None, "epitome.toml: trigger.target".into())
    );
}
