//! Settings from outside: what `init` leaves, what `config` says of it, and who is heard.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A project's folder, and a user's beside it.
struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        let sandbox = Self(tempfile::tempdir().expect("there is room"));
        fs::create_dir(sandbox.project()).expect("there is room");
        sandbox
    }

    fn project(&self) -> std::path::PathBuf {
        self.0.path().join("project")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("there is room");
        fs::write(path, text).expect("there is room");
    }

    /// What the program says on either output, and whether it was content.
    fn run(&self, args: &[&str], environment: &[(&str, &str)]) -> (bool, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.project()).env_clear().env("XDG_CONFIG_HOME", self.0.path().join("config"));
        command.env("XDG_DATA_HOME", self.0.path().join("data"));
        let ran = command.envs(environment.iter().copied()).args(args).output().expect("the program runs");
        let told = if ran.status.success() { ran.stdout } else { ran.stderr };
        (ran.status.success(), String::from_utf8(told).expect("it writes UTF-8"))
    }

    fn config(&self, args: &[&str], environment: &[(&str, &str)]) -> Value {
        let (is_done, told) = self.run(&[&["config", "--json"], args].concat(), environment);
        assert!(is_done, "{told}");
        serde_json::from_str(&told).expect("--json prints JSON")
    }
}

/// One setting, as `config --json` prints it.
fn setting(config: &Value, key: &str) -> Value {
    let all = config["settings"].as_array().expect("a list of settings");
    all.iter().find(|setting| setting["key"] == key).cloned().unwrap_or_default()
}

#[test]
fn init_writes_what_is_missing_and_nothing_else() {
    let sandbox = Sandbox::new();
    let written = |is_new: [bool; 2]| {
        let files = ["./epitome.toml", "./.epitome/prompts/compaction-summary.md"];
        json!([{"file": files[0], "written": is_new[0]}, {"file": files[1], "written": is_new[1]}])
    };
    let init = || serde_json::from_str::<Value>(&sandbox.run(&["init", "--json"], &[]).1).expect("JSON");
    assert_eq!(init(), written([true, true]));
    sandbox.write("project/epitome.toml", "preset = \"pi\"\n");
    fs::remove_file(sandbox.project().join(".epitome/prompts/compaction-summary.md")).expect("it was there");
    assert_eq!(init(), written([false, true]));
    assert_eq!(
        fs::read_to_string(sandbox.project().join("epitome.toml")).expect("text"),
        "preset = \"pi\"\n"
    );
}

#[test]
fn config_says_who_said_what_and_what_it_comes_to() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "config/epitome/epitome.toml",
        "preset = \"kaged\"\n[trigger]\nat = \"70%\"\ntarget = \"50%\"\n",
    );
    sandbox.write("project/epitome.toml", "[trigger]\nat = \"75%\"\n");
    let config = sandbox.config(&["--window", "100000"], &[("EPITOME_TRIGGER__APPROACHING", "60%")]);
    let file = |path: &str| sandbox.0.path().join(path).display().to_string();
    assert_eq!(
        [
            setting(&config, "trigger.at"),
            setting(&config, "trigger.target"),
            setting(&config, "trigger.approaching")
        ],
        [
            json!({"key": "trigger.at", "value": "75%", "from": "project", "file": file("project/epitome.toml"), "as": "trigger.at"}),
            json!({"key": "trigger.target", "value": "50%", "from": "user", "file": file("config/epitome/epitome.toml"), "as": "trigger.target"}),
            json!({"key": "trigger.approaching", "value": "60%", "from": "environment", "as": "EPITOME_TRIGGER__APPROACHING"}),
        ]
    );
    assert_eq!(
        config["thresholds"],
        json!({
            "window": 100_000, "reserve": 0, "trigger": 75_000, "target": 50_000, "approaching": 60_000,
            "speculate": null, "protect": null, "protect_results": 40_000,
        })
    );
    let prompt = sandbox.0.path().join("config/epitome/prompts/compaction-summary.md");
    assert_eq!(config["prompt_file"], prompt.display().to_string());
    assert_eq!((config["notes"].clone(), prompt.exists()), (json!([]), false), "what shows changes nothing");
}

#[test]
fn an_agent_has_its_parents_values_and_its_own() {
    let sandbox = Sandbox::new();
    sandbox.write("project/epitome.toml", "preset = \"aura\"\n[agents]\nchild = \"agents/child.md\"\n");
    sandbox.write("project/agents/base.md", "---\nfeatures: {compaction: {threshold: 60, chunks: 3}}\n---\n");
    sandbox.write(
        "project/agents/child.md",
        "---\nparent: base.md\nfeatures: {compaction: {threshold: 95}}\n---\n",
    );
    let config = sandbox.config(&["--agent", "child", "--window", "100000"], &[]);
    let said = |key: &str| {
        let setting = setting(&config, key);
        let file = setting["file"].as_str().map(|file| Path::new(file).file_name().map(ToOwned::to_owned));
        (setting["value"].clone(), file.flatten(), setting["as"].clone())
    };
    assert_eq!(
        said("trigger.at"),
        (json!("95%"), Some("child.md".into()), json!("features.compaction.threshold"))
    );
    assert_eq!(
        said("summary.chunks"),
        (json!(3), Some("base.md".into()), json!("features.compaction.chunks"))
    );
}

#[test]
fn what_cannot_be_used_is_told_in_one_line() {
    let sandbox = Sandbox::new();
    let told = |args: &[&str], environment: &[(&str, &str)]| {
        let (is_done, told) = sandbox.run(&[&["config"], args].concat(), environment);
        assert!(!is_done, "{told}");
        told
    };
    assert_eq!(
        told(&["--set", "triger.at=70%"], &[]),
        "epitome: command line: `triger.at` is no setting; did you mean `trigger.at`?\n"
    );
    assert_eq!(
        told(&["--set", "mode=never"], &[]),
        "epitome: command line: `--set mode` is \"never\", which it cannot be; write one of auto, ask, remind, off\n"
    );
    assert_eq!(
        told(&[], &[("EPITOME_KEEP__NEWST", "messages=3")]),
        "epitome: environment: `EPITOME_KEEP__NEWST` is no setting; did you mean `keep.newest`?\n"
    );
    let place = sandbox.project().join("no.md");
    assert!(
        told(&["--set", "summary.prompt=project:/no.md"], &[]).starts_with(&format!(
            "epitome: cannot read the prompt `project:/no.md` at {}: ",
            place.display()
        ))
    );
}

#[test]
fn points_that_make_no_sense_together_are_refused_in_whichever_way_the_window_is_known() {
    let sandbox = Sandbox::new();
    sandbox.write("project/body.json", BODY);
    let trigger = ["--set", "trigger.at=30000"];
    let told = |args: &[&str]| sandbox.run(&[args, &trigger].concat(), &[]);
    let refused = "epitome: `trigger.target` is 45% (preset default), not below `trigger.at`, 30000 (command line: --set trigger.at): \
                   compacting would gain nothing; set the target lower\n";
    let commands: [&[&str]; 5] = [
        &["config", "--window", "128000"],
        &["config", "--model", "gpt-4o"],
        &["config", "--set", "window.tokens=128000"],
        &["serve", "--listen", "127.0.0.1:0", "--window", "128000"],
        &["replay", "body.json", "--window", "128000"],
    ];
    assert_eq!(commands.map(told), [(); 5].map(|()| (false, refused.to_owned())));
    assert!(
        told(&["config", "--window", "64000"]).0 && told(&["replay", "body.json", "--window", "64000"]).0
    );
    assert!(
        told(&["compact", "body.json", "--window", "128000", "--json"]).0,
        "nobody waits for the trigger"
    );
}

#[test]
fn what_a_file_names_and_is_not_there_is_refused_by_every_command_with_its_file() {
    let sandbox = Sandbox::new();
    sandbox.write("project/body.json", BODY);
    let told = |toml: &str| {
        sandbox.write("own/bad.toml", toml);
        let commands: [&[&str]; 3] =
            [&["compact", "body.json"], &["replay", "body.json"], &["serve", "--listen", "127.0.0.1:0"]];
        let [first, rest @ ..] = commands.map(|command| {
            let (is_done, told) = sandbox.run(&[command, &["--config", "../own/bad.toml"]].concat(), &[]);
            assert!(!is_done, "{told}");
            told
        });
        assert!(rest.iter().all(|told| *told == first), "{rest:?}");
        first
    };
    let of = "epitome: [alias] of ../own/bad.toml cannot be used: ";
    assert!(
        told("[alias.f]\nprovider = \"zz\"\nmodel = \"m\"\n")
            .starts_with(&format!("{of}unknown variant `zz`")),
    );
    let alias = |more: &str| told(&format!("[alias.f]\nprovider = \"openai\"\nmodel = \"m\"\n{more}\n"));
    assert!(alias("foo = 1").starts_with(&format!("{of}unknown field `foo`")), "{}", alias("foo = 1"));
    assert!(alias("window = \"x\"").starts_with(&format!("{of}invalid type: string \"x\"")));
    assert_eq!(
        told("[hook.h]\ncommand = []\n"),
        "epitome: [hook.h] of ../own/bad.toml cannot be used: `command` names no program; write it as [\"program\", \"argument\"]\n"
    );
    for name in ["nosuch", "/etc/passwd"] {
        let missing = told(&format!("[summary]\nprompt = \"{name}\"\n"));
        assert!(missing.starts_with(&format!("epitome: there is no prompt `{name}`: ")), "{missing}");
    }
}

#[test]
fn a_summariser_that_a_project_names_and_nobody_defined_is_told_with_the_file() {
    let sandbox = Sandbox::new();
    sandbox.write("project/body.json", BODY);
    sandbox.write("project/epitome.toml", "[summary]\nby = \"fast\"\n");
    let file = |path: &str| sandbox.0.path().join(path).display().to_string();
    assert_eq!(
        sandbox.run(&["compact", "body.json"], &[]).1,
        format!(
            "epitome: {}: summary.by is \"fast\", and there is no model alias of that name; write [alias.fast] into {}, \
             or choose who writes with --summarizer\n",
            file("project/epitome.toml"),
            file("config/epitome/epitome.toml")
        )
    );
}

#[test]
fn settings_that_make_no_policy_are_told_once() {
    let sandbox = Sandbox::new();
    let (_, told) = sandbox.run(&["config", "--set", "summary.chunks=0"], &[]);
    assert_eq!(told, "epitome: `summary.chunks` is 0; 1 is one call for all\n");
}

#[test]
fn a_preset_is_printed_as_the_whole_file_it_stands_for() {
    let sandbox = Sandbox::new();
    let whole: toml::Table = sandbox.run(&["presets", "omp@18.x"], &[]).1.parse().expect("TOML");
    let json: Value =
        serde_json::from_str(&sandbox.run(&["presets", "omp@18.x", "--json"], &[]).1).expect("JSON");
    assert_eq!(serde_json::to_value(whole).expect("a table is JSON"), json);
    assert_eq!(json["trigger"]["free_min"], "15%");
}

#[test]
fn a_preset_of_ones_own_rests_on_another_and_is_listed() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "config/epitome/presets/base.toml",
        "base = \"pi\"\nabout = \"ours\"\n[trigger]\nat = \"70%\"\n",
    );
    sandbox.write("config/epitome/presets/team.toml", "base = \"base\"\n[trigger]\ntarget = \"40%\"\n");
    let file = |name: &str| sandbox.0.path().join("config/epitome/presets").join(name).display().to_string();
    let expected = [
        json!({"key": "trigger.at", "value": "70%", "from": "preset", "name": "base", "file": file("base.toml"), "as": "trigger.at"}),
        json!({"key": "trigger.target", "value": "40%", "from": "preset", "name": "team", "file": file("team.toml"), "as": "trigger.target"}),
        json!({"key": "keep.newest", "value": {"tokens-at-least": 16384}, "from": "preset", "name": "pi", "as": "keep.newest"}),
    ];
    let said =
        |config: Value| ["trigger.at", "trigger.target", "keep.newest"].map(|key| setting(&config, key));
    assert_eq!(said(sandbox.config(&["--preset", "team"], &[])), expected);
    assert_eq!(said(sandbox.config(&[], &[("EPITOME_PRESET", "team")])), expected);
    sandbox.write("project/epitome.toml", "preset = \"team\"\n");
    assert_eq!(said(sandbox.config(&[], &[])), expected);
    let (_, listed) = sandbox.run(&["presets"], &[]);
    assert_eq!(
        listed.lines().skip(18).collect::<Vec<_>>(),
        ["base                   ours", "team                   ours"]
    );
    let printed: toml::Table = sandbox.run(&["presets", "team"], &[]).1.parse().expect("TOML");
    assert_eq!(printed["trigger"]["at"].as_str(), Some("70%"));
}

#[test]
fn a_preset_of_ones_own_that_cannot_be_used_is_told_with_its_file() {
    let sandbox = Sandbox::new();
    let write = |name: &str, text: &str| sandbox.write(&format!("config/epitome/presets/{name}.toml"), text);
    write("a", "base = \"b\"\n");
    write("b", "base = \"a\"\n");
    write("pi", "mode = \"ask\"\n");
    write("slip", "[triger]\nat = \"70%\"\n");
    write("lost", "base = \"kagd\"\n");
    let told = |name: &str| {
        let (is_done, told) = sandbox.run(&["config", "--preset", name], &[]);
        assert!(!is_done, "{told}");
        told
    };
    let file = |name: &str| {
        sandbox.0.path().join(format!("config/epitome/presets/{name}.toml")).display().to_string()
    };
    assert_eq!(
        ["a", "pi", "slip"].map(told),
        [
            "epitome: presets rest on each other in a circle: a, b, a; give one of them another `base`\n"
                .to_owned(),
            format!("epitome: {} has the name of a built-in preset, `pi`; rename the file\n", file("pi")),
            format!(
                "epitome: preset slip ({}): `triger` is no setting; did you mean `trigger`?\n",
                file("slip")
            ),
        ]
    );
    let lost = format!(
        "epitome: there is no preset `kagd`, the base of preset lost ({}); did you mean `kaged`? ",
        file("lost")
    );
    assert!(told("lost").starts_with(&lost), "{}", told("lost"));
    let (is_done, listed) = sandbox.run(&["presets"], &[]);
    let slip = format!(
        "slip                   cannot be used: preset slip ({}): `triger` is no setting; did you mean `trigger`?",
        file("slip")
    );
    assert!(is_done && listed.lines().any(|line| line == slip), "{listed}");
}

#[test]
fn config_marks_what_a_door_does_not_look_at() {
    let sandbox = Sandbox::new();
    sandbox.write("config/epitome/epitome.toml", "[restore]\nfiles = 3\n");
    sandbox.write("project/epitome.toml", "[trigger]\nat = \"75%\"\n");
    let config = sandbox.config(&["--door", "serve"], &[]);
    let file = sandbox.0.path().join("config/epitome/epitome.toml").display().to_string();
    assert_eq!(config["notes"], json!([format!("{file}: `restore.files` is not used by `serve`")]));
    assert_eq!((&config["door"], &setting(&config, "trigger.at")["value"]), (&json!("serve"), &json!("80%")));
    let unused = config["unused"].as_array().expect("a list");
    assert!(unused.contains(&json!("restore.files")) && !unused.contains(&json!("trigger.at")));
    let (_, page) = sandbox.run(&["config", "--door", "serve"], &[]);
    let line = page.lines().find(|line| line.starts_with("restore.files ")).unwrap_or_default();
    assert!(line.ends_with(&format!("{file}: restore.files, not used by serve")), "{line}");
    let plain = sandbox.config(&[], &[]);
    assert_eq!((&plain["notes"], &plain["unused"], &plain["door"]), (&json!([]), &json!([]), &Value::Null));
    let (is_done, told) = sandbox.run(&["config", "--door", "serve", "--set", "restore.files=1"], &[]);
    assert_eq!(
        (is_done, told.as_str()),
        (
            false,
            "epitome: command line: `--set restore.files` is not used by `serve`; it works with `compact`\n"
        )
    );
}

/// Two messages, for a model that a table of settings is for.
const BODY: &str = r#"{"model":"gpt-5","messages":[{"role":"user","content":"name a colour"},{"role":"assistant","content":"blue"},{"role":"user","content":"another"}]}"#;

#[test]
fn a_transcript_is_compacted_by_the_settings_for_its_model() {
    let sandbox = Sandbox::new();
    sandbox.write("project/epitome.toml", "[model.\"gpt-*\".window]\ntokens = 9000\n");
    sandbox.write("project/body.json", BODY);
    let window = |flags: &[&str]| {
        let (_, told) = sandbox.run(&[&["compact", "body.json", "--json"], flags].concat(), &[]);
        let record: Value = serde_json::from_str(&told).expect("--json prints JSON");
        (record["window"].clone(), record["window_source"].clone())
    };
    assert_eq!(window(&[]), (json!(9000), json!("explicit")));
    assert_eq!(window(&["--window", "4000"]), (json!(4000), json!("explicit")));
}

#[test]
fn a_note_on_settings_is_told_once_on_standard_error() {
    let sandbox = Sandbox::new();
    sandbox.write("project/epitome.toml", "[trigger]\nmeasure = \"count\"\n");
    sandbox.write("project/body.json", BODY);
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    command.current_dir(sandbox.project()).env_clear().args(["compact", "body.json", "--json"]);
    let told = String::from_utf8(command.output().expect("the program runs").stderr).expect("UTF-8");
    let file = sandbox.project().join("epitome.toml").display().to_string();
    assert_eq!(told, format!("note: {file}: `trigger.measure` is not used by `compact`\n"));
}
