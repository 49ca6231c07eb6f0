//! What is refused or noted: slips, what a project may not say, doors, removed keys, values that contradict
//! each other.

use crate::{agent, environment, project, refusal, resolved, text};
use epitome_core::policy::{Newest, Writer};
use epitome_core::{Strategy, Tokens};
use epitome_settings::{Door, FlagValue, OwnPreset, ResolvedPolicy, Sources, resolve};

#[test]
fn l79_what_cannot_be_used_is_refused_with_its_place_and_what_may_be_written() {
    let of = |toml| refusal(&project(toml));
    assert_eq!(
        [
            of("[triger]\nat = \"70%\""),
            of("[trigger]\nat = \"120%\""),
            of("[trigger]\ncompare = \"above\""),
            of("[keep]\nnewest = { message = 3 }"),
            of("[summary]\nretries = -1"),
            of("colour = 3"),
        ],
        [
            "epitome.toml: `triger` is no setting; did you mean `trigger`?",
            "epitome.toml: `trigger.at` is \"120%\", which it cannot be; `120%` must lie above 0% and at or below 100%",
            "epitome.toml: `trigger.compare` is \"above\", which it cannot be; write one of reached, passed",
            "epitome.toml: `keep.newest` is { message = 3 }, which it cannot be; write one of nothing, \
             { percent = N }, { messages = N }, { tokens-at-least = N }, { tokens-reached = N }, \
             { tokens-at-most = N }, { turns = N }",
            "epitome.toml: `summary.retries` is -1, which it cannot be; write a whole number, 0 or more",
            "epitome.toml: `colour` is no setting; the reference of settings lists them",
        ]
    );
    let yaml = refusal(&agent("aura", "features:\n  compaction:\n    treshold: 70"));
    assert_eq!(yaml, "agent.md: `features.compaction.treshold` is no setting; did you mean `threshold`?");
    let variable = |name: &str| refusal(&environment("pi", &[(name, "70%")]));
    assert_eq!(
        ["EPITOME_TRIGER__AT", "EPITOME_MDOE", "EPITOME_PRESETS"].map(variable),
        [
            "environment: `EPITOME_TRIGER__AT` is no setting; did you mean `trigger.at`?",
            "environment: `EPITOME_MDOE` is no setting; did you mean `mode`?",
            "environment: `EPITOME_PRESETS` is no setting; did you mean `preset`?",
        ]
    );
    let others = [("EPITOME_MODEL", "m"), ("EPITOME_MODELS", "m.toml"), ("EPITOME_SEED", "1")];
    assert_eq!(resolved(&environment("pi", &others)).preset, "pi");
}

fn flags(set: &[(&str, &str)]) -> Sources {
    let flag = |(key, text): &(&str, &str)| FlagValue {
        name: format!("--set {key}"),
        key: (*key).into(),
        text: (*text).into(),
    };
    Sources { flags: set.iter().map(flag).collect(), ..Sources::default() }
}

#[test]
fn a_table_that_is_set_itself_is_told_what_it_holds() {
    assert_eq!(
        [refusal(&flags(&[("window", "8000")])), refusal(&project("trim = true"))],
        [
            "command line: `window` is a table of settings, and none itself; name one of window.tokens, window.most, window.unknown",
            "epitome.toml: `trim` is a table of settings, and none itself; name one of trim.enabled, trim.at, trim.absolute",
        ]
    );
}

#[test]
fn amounts_and_lists_are_written_in_a_file_and_on_the_command_line_alike() {
    let newest = |sources: &Sources| resolved(sources).policy.keep.newest;
    let thirty = Newest::Percent(30);
    assert_eq!(
        [
            newest(&flags(&[("keep.newest", "{ percent = 30 }")])),
            newest(&flags(&[("keep.newest", "percent=30")])),
            newest(&project("[keep]\nnewest = \"percent=30\"")),
            newest(&project("[keep]\nnewest = { percent = 30 }")),
            newest(&environment("default", &[("EPITOME_KEEP__NEWEST", "{percent=30}")])),
        ],
        [thirty; 5]
    );
    let kept = |sources: &Sources| resolved(sources).policy.prune.tools_kept.clone();
    let both = ["Read".to_owned(), "Grep".to_owned()];
    assert_eq!(kept(&flags(&[("prune.tools_kept", "[\"Read\", \"Grep\"]")])), both);
    assert_eq!(kept(&flags(&[("prune.tools_kept", "Read,Grep")])), both);
    assert_eq!(kept(&project("[prune]\ntools_kept = \"Read, Grep\"")), both);
    let lists =
        flags(&[("strategy", "[\"drop\"]"), ("keep.always", "[]"), ("summary.shrink_results", "[900, 20]")]);
    let lists = resolved(&lists).policy;
    assert_eq!((&*lists.strategy, lists.keep.always.len()), (&[Strategy::Drop][..], 0));
    assert_eq!(lists.summary.shrink_results, [900, 20]);
}

#[test]
fn an_amount_or_a_list_that_is_none_is_told_what_may_be_written() {
    let of = |key, text| refusal(&flags(&[(key, text)]));
    assert_eq!(
        [
            of("keep.newest", "{ percent = 130 }"),
            of("strategy", "[\"drop\""),
            of("strategy", "drop summarize"),
            of("summary.oversize", "{ drop-oldest = 3 }\nfold = 1"),
            of("strategy", ""),
        ],
        [
            "`keep.newest` is 130 percent; it must lie between 5 and 90 so that tail and summary both have room",
            "command line: `--set strategy` is '[\"drop\"', which it cannot be; write a list of trim, prune, summarize, native, delegate, checkpoint, drop, with commas between them",
            "command line: `--set strategy` is \"drop summarize\", which it cannot be; write a list of trim, prune, summarize, native, delegate, checkpoint, drop, with commas between them",
            "command line: `--set summary.oversize` is \"\"\"\n{ drop-oldest = 3 }\nfold = 1\"\"\", which it cannot be; write one of fold, send, fail, { drop-oldest = N }",
            "`strategy` is empty; name at least one of trim, prune, summarize, native, delegate, checkpoint, drop",
        ]
    );
}

#[test]
fn a_window_too_small_to_work_in_is_refused_wherever_it_is_written() {
    let small = |tokens| {
        format!(
            "a window of {tokens} tokens leaves no room to work in; use at least 2000, or `none` to unset it"
        )
    };
    assert_eq!(
        [refusal(&flags(&[("window.tokens", "10")])), refusal(&project("[window]\nmost = 1999"))],
        [
            format!("command line: `--set window.tokens` is \"10\", which it cannot be; {}", small(10)),
            format!("epitome.toml: `window.most` is 1999, which it cannot be; {}", small(1999)),
        ]
    );
    assert_eq!(resolved(&flags(&[("window.unknown", "2_000")])).policy.window.unknown, Some(Tokens(2_000)));
}

#[test]
fn aliases_are_the_operators_and_agents_are_named_by_both() {
    let user = Some(text("user.toml", "[alias.fast]\nmodel = \"a\"\n[agents]\nmain = \"u.md\""));
    let one = resolved(&Sources { user, ..project("[agents]\nmain = \"a.md\"") });
    assert_eq!(one.aliases, "fast = { model = \"a\" }".parse().expect("a table"));
    assert_eq!(one.agents, "main = \"a.md\"".parse().expect("a table"));
}

#[test]
fn a_file_that_comes_with_a_project_names_no_address_key_or_command() {
    let user = || Some(text("user.toml", "[alias.fast]\nmodel = \"a\""));
    let of = |toml: &str| refusal(&Sources { user: user(), ..project(toml) });
    let belongs = "is the operator's to say: it names addresses, keys or commands, or says what is kept, and this file comes with the project; \
                   write it into the user's `epitome.toml`, or into a file of yours that is read in its place";
    assert_eq!(
        [
            of("[alias.fast]\nbase_url = \"http://127.0.0.1:1\""),
            of("[hook.tell]\ncommand = [\"curl\"]"),
            refusal(&agent("pi", "compaction:\n  alias: {fast: {model: b}}")),
        ],
        [
            format!("epitome.toml: `[alias]` {belongs}"),
            format!("epitome.toml: `[hook]` {belongs}"),
            format!("agent.md: `[compaction.alias]` {belongs}"),
        ]
    );
    // What is in no file of ours is not sent from one to another.
    let nowhere = [of("[plugin.tell]\ncommand = [\"curl\"]"), {
        let user = Some(text("user.toml", "[plugin.tell]\ncommand = [\"curl\"]"));
        refusal(&Sources { user, ..Sources::default() })
    }];
    let unknown = |file: &str| format!("{file}: `plugin` is no setting");
    assert!(nowhere[0].starts_with(&unknown("epitome.toml")), "{}", nowhere[0]);
    assert!(nowhere[1].starts_with(&unknown("user.toml")), "{}", nowhere[1]);
    let allowed = "which it cannot be; this file comes with the project: write a name from [alias] of the user's \
                   `epitome.toml`, or say it there, or for this run alone";
    assert_eq!(
        [
            of("[summary]\nby = \"openai/gpt-5\""),
            of("[model.\"*\".summary]\nby = \"openai/gpt-5\""),
            refusal(&agent("kaged", "compaction: {summarize: {model: openai/gpt-5}}")),
            refusal(&agent("aura", "compaction: {agent: openai/gpt-5}")),
        ],
        [
            format!("epitome.toml: `summary.by` is \"openai/gpt-5\", {allowed}"),
            format!("epitome.toml [model.\"*\"]: `summary.by` is \"openai/gpt-5\", {allowed}"),
            format!("agent.md: `compaction.summarize.model` is \"openai/gpt-5\", {allowed}"),
            format!("agent.md: `compaction.agent` is \"openai/gpt-5\", {allowed}"),
        ]
    );
    let chosen = resolved(&Sources { user: user(), ..project("[summary]\nby = \"fast\"") });
    assert_eq!(chosen.policy.summary.by, Writer::Alias("fast".into()));
    let own = Some(text("user.toml", "[summary]\nby = \"openai/gpt-5\""));
    let own = resolved(&Sources { user: own, ..Sources::default() });
    assert_eq!(own.policy.summary.by, Writer::Alias("openai/gpt-5".into()));
}

/// What is said of settings for `serve`.
fn serving(sources: Sources) -> Result<ResolvedPolicy, String> {
    resolve(&Sources { door: Some(Door::Serve), ..sources }).map_err(|error| error.to_string())
}

#[test]
fn what_a_door_does_not_look_at_is_refused_where_it_was_said_for_this_run() {
    let flag = |key: &str, text: &str| FlagValue {
        name: format!("--set {key}"),
        key: key.into(),
        text: text.into(),
    };
    let flags = vec![flag("restore.files", "3")];
    let call = Sources { overrides: "enabled = false".parse().expect("a table"), ..Sources::default() };
    let compacting = |sources: Sources| {
        resolve(&Sources { door: Some(Door::Compact), ..sources }).map_err(|error| error.to_string())
    };
    let told = [
        serving(Sources { flags: flags.clone(), ..Sources::default() }),
        compacting(environment("pi", &[("EPITOME_TRIGGER__MEASURE", "count")])),
        serving(environment("pi", &[("EPITOME_ABOUT", "mine")])),
        compacting(call),
    ];
    assert_eq!(
        told.map(|told| told.err().unwrap_or_default()),
        [
            "command line: `--set restore.files` is not used by `serve`; it works with `compact`",
            "environment: `EPITOME_TRIGGER__MEASURE` is not used by `compact`; it works with `replay` and `serve`",
            "environment: `EPITOME_ABOUT` is not used by `serve`; no command that compacts looks at it",
            "this call: `enabled` is not used by `compact`; it works with `replay` and `serve`",
        ]
    );
    let elsewhere = Sources { flags, door: Some(Door::Compact), ..Sources::default() };
    assert_eq!(resolved(&elsewhere).policy.restore.files, 3);
}

#[test]
fn what_a_door_does_not_look_at_is_one_note_for_each_file_of_ones_own() {
    let mut sources = project("preset = \"team\"\n[restore]\nfiles = 3\n");
    sources.user = Some(text("user.toml", "[restore]\nfiles = 2\nfile_tokens = 900"));
    let file = text("team.toml", "base = \"claude-code\"\n[restore]\nlarger_file = \"path\"");
    sources.presets = vec![OwnPreset { name: "team".into(), file }];
    let one = serving(sources).expect("files are noted");
    assert_eq!(
        one.notes,
        [
            "epitome.toml: `restore.files` is not used by `serve`",
            "user.toml: `restore.file_tokens` is not used by `serve`",
            "preset team (team.toml): `restore.larger_file` is not used by `serve`",
        ]
    );
    let unused = one.unused();
    assert!(unused.contains(&"restore.file_tokens") && !unused.contains(&"trigger.at"), "{unused:?}");
    let built_in = serving(project("preset = \"claude-code\"")).expect("it is built in");
    assert_eq!((built_in.notes, one.door), (Vec::<String>::new(), Some(Door::Serve)));
    let nowhere = resolved(&project("[restore]\nfiles = 3"));
    assert_eq!((nowhere.unused(), nowhere.notes), (Vec::new(), Vec::<String>::new()));
}

#[test]
fn a_variable_of_another_program_is_noted_and_stops_nobody() {
    let mut sources = environment("claude-code", &[("DISABLE_AUTO_COMPACT", "1")]);
    sources.door = Some(Door::Compact);
    assert_eq!(resolved(&sources).notes, ["environment: `DISABLE_AUTO_COMPACT` is not used by `compact`"]);
}

#[test]
fn what_was_removed_is_told_with_what_to_do() {
    let of = |toml| refusal(&project(toml));
    assert_eq!(
        [
            of("[compat]\nlose_kept_tail = true"),
            of("[branch]\nenabled = true"),
            of("[keep]\nalways = [\"first\", \"pins\"]"),
            refusal(&environment("pi", &[("EPITOME_COMPAT__TRUST_HOOK_IDS", "true")])),
        ],
        [
            "epitome.toml: `compat` was removed: defects of other systems are not reproduced; take it out",
            "epitome.toml: `branch.enabled` was removed: whether a branch is summarised is said when it is left; take it out",
            "epitome.toml: `keep.always` is [\"first\", \"pins\"], which it cannot be; `pins` was removed: pins are always kept; take the word out",
            "environment: `EPITOME_COMPAT__TRUST_HOOK_IDS` was removed: defects of other systems are not reproduced; take it out",
        ]
    );
}

#[test]
fn a_target_that_is_not_below_the_trigger_is_refused() {
    let of = |toml| refusal(&project(toml));
    let gains = "compacting would gain nothing; set the target lower";
    assert_eq!(
        [
            of("[trigger]\nat = \"25%\""),
            of("[trigger]\nabsolute = 50000\ntarget = 60000"),
            of("[trigger]\nat = -20000\ntarget = -10000"),
            of("[trigger]\ntarget = 90000\n[window]\ntokens = 100000"),
        ],
        [
            format!(
                "`trigger.target` is 45% (preset default), not below `trigger.at`, 25% (epitome.toml: trigger.at): {gains}"
            ),
            format!(
                "`trigger.target` is 60000 (epitome.toml: trigger.target), not below `trigger.absolute`, 50000 (epitome.toml: trigger.absolute): {gains}"
            ),
            format!(
                "`trigger.target` is -10000 (epitome.toml: trigger.target), not below `trigger.at`, -20000 (epitome.toml: trigger.at): {gains}"
            ),
            format!(
                "`trigger.target` is 90000 (epitome.toml: trigger.target), not below `trigger.at`, 80% (preset default): {gains}"
            ),
        ]
    );
    let by_hand = Sources { door: Some(Door::Compact), ..project("[trigger]\ntarget = \"90%\"") };
    assert_eq!(resolved(&by_hand).policy.trigger.target.map(|at| at.to_string()), Some("90%".into()));
    let unknown = resolved(&project("[trigger]\ntarget = 90000"));
    assert_eq!(unknown.policy.trigger.target.map(|at| at.to_string()), Some("90000".into()));
}

#[test]
fn a_trigger_that_leaves_nothing_to_fill_is_refused() {
    let due = "every request would be compacted; leave more of the window to be filled";
    assert_eq!(
        [
            refusal(&project("[trigger]\nfree_min = \"100%\"\ntarget = \"none\"\n[keep]\nnewest = { turns = 1 }")),
            refusal(&project("[trigger]\nat = -20000\n[window]\ntokens = 16000")),
            refusal(&project("[trigger]\nfree_min = \"80%\"")),
        ],
        [
            format!("`trigger.free_min` is 100%, which leaves 0% (epitome.toml: trigger.free_min): {due}"),
            format!("`trigger.at` is -20000 (epitome.toml: trigger.at): {due}"),
            "`trigger.target` is 45% (preset default), not below `trigger.free_min`, 80%, which leaves 20% (epitome.toml: trigger.free_min): \
             compacting would gain nothing; set the target lower"
                .to_owned(),
        ]
    );
}

#[test]
fn points_are_compared_in_the_window_that_is_known_later() {
    let told = |sources: &Sources, window| {
        let checked = resolved(sources).check_in(Tokens(window));
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let low = project("[trigger]\nat = 30000");
    let gains = "compacting would gain nothing; set the target lower";
    assert_eq!(
        told(&low, 128_000),
        format!(
            "`trigger.target` is 45% (preset default), not below `trigger.at`, 30000 (epitome.toml: trigger.at): {gains}"
        )
    );
    assert_eq!(told(&low, 64_000), "");
    let absolute = project("[trigger]\nabsolute = 30000");
    assert!(told(&absolute, 128_000).contains("`trigger.absolute`, 30000"), "{}", told(&absolute, 128_000));
    let capped = project("[trigger]\nat = 30000\n[window]\nmost = 40000");
    assert_eq!(told(&capped, 128_000), "");
    let by_hand = Sources { door: Some(Door::Compact), ..project("[trigger]\nat = 30000") };
    assert_eq!(told(&by_hand, 128_000), "");
    // What a preset says by itself is its own affair, in whichever window.
    let presets =
        epitome_settings::preset::names().map(|name| told(&project(&format!("preset = \"{name}\"")), 4_000));
    assert!(presets.eq(epitome_settings::preset::names().map(|_| String::new())));
}

#[test]
fn a_warning_that_never_comes_first_is_noted() {
    let one = resolved(&project("[trigger]\nat = \"60%\""));
    assert_eq!(
        one.notes,
        ["`trigger.approaching` is 70%, not below `trigger.at`, 60%: the warning never comes first"]
    );
}

#[test]
fn facts_that_the_machine_writes_all_the_same_are_noted() {
    let notes =
        |more: &str| resolved(&project(&format!("[rebuild]\nfacts = false\n[summary]\n{more}"))).notes;
    let told = "`rebuild.facts` is false and `summary.parts` is \"prose\": the machine writes the facts all the same; `summary.parts = \"all\"` leaves them out";
    assert_eq!(notes("by = \"session\""), [told]);
    assert!(notes("by = \"session\"\nparts = \"all\"").is_empty());
    assert_eq!(
        notes("by = \"embedded\""),
        [
            "epitome.toml: rebuild.facts has no effect: it is about a summary that a model writes, and `summary.by` is embedded"
        ]
    );
}

#[test]
fn what_does_nothing_beside_the_others_is_noted_where_somebody_said_it() {
    let notes = |toml: &str| resolved(&project(toml)).notes;
    let span = "epitome.toml: summary.span_messages has no effect: `keep.newest` is a share of the target, and decides by \
                itself how many leave; keep messages, tokens or turns";
    assert_eq!(notes("[summary]\nspan_messages = 20"), [span]);
    assert_eq!(notes("[summary]\nspan_messages = 20\n[keep]\nnewest = { messages = 6 }"), [""; 0]);
    assert_eq!(notes("[summary]\nspan_messages = \"none\""), [""; 0]);
    let written = "has no effect: it is about a summary that a model writes, and `summary.by` is embedded";
    assert_eq!(
        notes("[rebuild]\nfiles = \"tree\"\ncoverage = true"),
        [
            format!("epitome.toml: rebuild.files {written}"),
            format!("epitome.toml: rebuild.coverage {written}")
        ]
    );
    assert_eq!(notes("[rebuild]\nfiles = \"tree\"\n[summary]\nby = \"session\""), [""; 0]);
    assert_eq!(
        notes("preset = \"pi\"\n[summary]\nby = \"embedded\""),
        [""; 0],
        "the preset is for any writer"
    );
}

#[test]
fn a_bare_number_that_is_meant_as_percent_is_refused() {
    let of = |toml| refusal(&project(toml));
    let allowed = "70 tokens are less than any context; for a share of the window write 70%";
    assert_eq!(
        [of("[trigger]\nat = 70"), of("[trigger]\ntarget = \"70\"")],
        [
            format!("epitome.toml: `trigger.at` is 70, which it cannot be; {allowed}"),
            format!(
                "epitome.toml: `trigger.target` is \"70\", which it cannot be; {allowed}, or `none` to unset it"
            ),
        ]
    );
}
