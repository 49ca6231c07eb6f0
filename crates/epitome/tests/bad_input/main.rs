//! The program on bad input: what it says, how it exits, and that it leaves everything as it was.

mod good;
mod usage;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder to work in. Files are named relative to it, so that messages are the same everywhere.
struct Sandbox(TempDir);

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Sandbox {
    fn new() -> Self {
        Self(TempDir::new().expect("there is room for a folder"))
    }

    fn with(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let sandbox = Self::new();
        sandbox.put(name, bytes);
        sandbox
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
        fs::write(path, bytes).expect("files can be written");
    }

    fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).expect("the file is there")
    }

    /// Every file, with what is in it.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("folders can be listed") {
                let path = entry.expect("an entry can be looked at").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap_or_default();
                    files.insert(path, bytes);
                }
            }
        }
        files
    }

    /// The one place that runs the program.
    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.path()).env_remove("EPITOME_MODEL").env("NO_COLOR", "1");
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command().args(args).output().expect("the program runs"))
    }

    /// A run that fails: one line on standard error, nothing on standard output, no file touched.
    fn refused(&self, args: &[&str]) -> String {
        let before = self.files();
        let ran = self.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{args:?}: {}", ran.err);
        assert!(self.files() == before, "{args:?} touched a file");
        let line = ran.err.strip_suffix('\n').expect("a message is a whole line");
        assert!(!line.contains('\n'), "{args:?} says more than one line: {line}");
        line.strip_prefix("epitome: ").expect("it says who speaks").to_owned()
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A short pi session: two exchanges of one kind.
const PI: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/me"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"list the files","timestamp":1}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"there are two"}],"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0},"stopReason":"stop","timestamp":2}}
"#;

/// A short request body.
const BODY: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"system":"be brief","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"},{"role":"user","content":"bye"}]}"#;

const CHECK: &str = "check that it is the right file and whole, or name its format with --from";

#[test]
fn an_empty_file_is_told() {
    let sandbox = Sandbox::with("empty.jsonl", "");
    let said = "cannot read empty.jsonl: the file is empty; there is no conversation to read";
    for args in [
        &["inspect", "empty.jsonl"][..],
        &["context", "empty.jsonl"],
        &["compact", "empty.jsonl", "-o", "out.jsonl"],
        &["replay", "empty.jsonl", "--json"],
        &["recall", "empty.jsonl", "m0001"],
        &["inspect", "empty.jsonl", "--from", "claude-code"],
        &["inspect", "empty.jsonl", "--from", "codex"],
        &["inspect", "empty.jsonl", "--from", "pi"],
        &["inspect", "empty.jsonl", "--from", "anthropic"],
    ] {
        assert_eq!(sandbox.refused(args), said, "{args:?}");
    }
    let undone = sandbox.refused(&["undo", "empty.jsonl", "-o", "out.jsonl"]);
    assert_eq!(undone, "cannot undo in empty.jsonl: the file is empty; there is no conversation to read");
}

#[test]
fn a_binary_file_is_told() {
    let sandbox = Sandbox::with("picture.json", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let why = "byte 0 is not UTF-8, so this is binary, or text in another encoding";
    assert_eq!(
        sandbox.refused(&["compact", "picture.json", "-o", "out"]),
        format!("cannot read picture.json: no known format fits: {why}; {CHECK}")
    );
    assert_eq!(
        sandbox.refused(&["tokens", "picture.json"]),
        "cannot read picture.json: byte 0 is not UTF-8, so this is no text; name a text file"
    );
}

#[test]
fn a_document_cut_off_is_told_with_the_place() {
    let sandbox = Sandbox::with("body.json", &BODY[..150]);
    let why = "its JSON ends too soon: EOF while parsing a string at line 1 column 150";
    assert_eq!(
        sandbox.refused(&["compact", "body.json", "-o", "out.json"]),
        format!("cannot read body.json: no known format fits: {why}; {CHECK}")
    );
    let named = sandbox.refused(&["inspect", "body.json", "--from", "anthropic"]);
    let advice = "name the right format, or none to have it found (--from auto)";
    assert_eq!(named, format!("cannot read body.json: this is no anthropic transcript: {why}; {advice}"));
}

#[test]
fn a_last_line_cut_off_is_survived_and_told() {
    let sandbox = Sandbox::with("s.jsonl", &PI[..PI.len() - 20]);
    let ran = sandbox.run(&["inspect", "s.jsonl", "--json"]);
    let survey: serde_json::Value = serde_json::from_str(&ran.out).expect("--json prints JSON");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let what = "is cut off, as a last line is while it is written; the file is taken up to it";
    assert_eq!(survey["problems"], serde_json::json!([{ "line": 3, "what": what }]));
    assert_eq!(survey["history"]["messages"], 1);
}

#[test]
fn another_format_than_named_is_told() {
    let sandbox = Sandbox::with("s.jsonl", PI);
    sandbox.put("body.json", BODY);
    let advice = "name the right format, or none to have it found (--from auto)";
    let of = |file: &str, format: &str, why: &str| {
        format!("cannot read {file}: this is no {format} transcript: {why}; {advice}")
    };
    let codex = "no line is a record with a `type` it writes and a `payload`";
    let claude = "no line is a record with a `type` it writes";
    let pi = "no line is a `session` header or an entry of a `type` it writes";
    for (file, format, why) in
        [("s.jsonl", "codex", codex), ("s.jsonl", "claude-code", claude), ("body.json", "pi", pi)]
    {
        assert_eq!(sandbox.refused(&["compact", file, "--from", format, "-o", "out"]), of(file, format, why));
    }
    let native = of("s.jsonl", "native", "its first line is no header of ours");
    assert_eq!(sandbox.refused(&["inspect", "s.jsonl", "--from", "native"]), native);
    let undone = sandbox.refused(&["undo", "s.jsonl", "--from", "codex", "-o", "out"]);
    assert_eq!(
        undone,
        format!("cannot undo in s.jsonl: this is no codex transcript: it looks like pi; {advice}")
    );
}

#[test]
fn a_file_that_cannot_be_opened_is_told() {
    let sandbox = Sandbox::with("file", PI);
    let said = |file: &str| sandbox.refused(&["compact", file, "-o", "out"]);
    assert_eq!(said("nowhere.jsonl"), "cannot read nowhere.jsonl: there is no such file; check its name");
    assert_eq!(said("file/x"), "cannot read file/x: a part of its path is a file; check its name");
    assert_eq!(
        sandbox.refused(&["tokens", "nowhere.txt"]),
        "cannot read nowhere.txt: there is no such file; check its name"
    );
}

#[cfg(unix)]
#[test]
fn a_file_one_may_not_read_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with("mine.jsonl", PI);
    let nobody = fs::Permissions::from_mode(0o000);
    fs::set_permissions(sandbox.path().join("mine.jsonl"), nobody).expect("the owner sets the mode");
    if fs::read(sandbox.path().join("mine.jsonl")).is_ok() {
        return; // the superuser may read everything
    }
    let said = sandbox.refused(&["inspect", "mine.jsonl"]);
    assert_eq!(said, "cannot read mine.jsonl: you may not read it; check its owner and mode");
}

#[test]
fn a_folder_stands_for_its_transcripts() {
    let sandbox = Sandbox::with("empty/notes.txt", "nothing");
    let why = "there is no transcript in it; they end in .jsonl, .json or .traj, packed or not";
    assert_eq!(sandbox.refused(&["inspect", "empty"]), format!("cannot read empty: {why}"));
    let single = "cannot read empty: it is a folder; name a transcript in it";
    assert_eq!(sandbox.refused(&["context", "empty"]), single);
    sandbox.put("full/one.jsonl", PI);
    sandbox.put("full/deep/two.json", BODY);
    let ran = sandbox.run(&["inspect", "full", "--json"]);
    let surveys: serde_json::Value = serde_json::from_str(&ran.out).expect("--json prints JSON");
    let files: Vec<&str> = (0..2).filter_map(|at| surveys[at]["file"].as_str()).collect();
    assert_eq!((ran.code, files), (Some(0), vec!["full/deep/two.json", "full/one.jsonl"]));
}

/// A folder of sessions has other files in it; they do not stop the rest.
#[test]
fn one_bad_file_of_several_is_told_and_passed_over() {
    let sandbox = Sandbox::with("all/one.jsonl", PI);
    sandbox.put("all/settings.json", r#"{"theme":"dark"}"#);
    sandbox.put("all/two.json", BODY);
    let ran = sandbox.run(&["inspect", "all", "--json"]);
    let surveys: serde_json::Value = serde_json::from_str(&ran.out).expect("--json prints JSON");
    assert_eq!((ran.code, surveys.as_array().map(Vec::len)), (Some(1), Some(2)));
    let why =
        "it is JSON, but its fields are those of no transcript (it begins \"{\\\"theme\\\":\\\"dark\\\"}\")";
    let told = [
        format!("epitome: cannot read all/settings.json: no known format fits: {why}; {CHECK}\n"),
        "epitome: 1 of 3 transcripts failed; the others are done\n".to_owned(),
    ];
    assert_eq!(ran.err, told.concat());
}

#[test]
fn a_packed_file_is_known_by_its_bytes() {
    let sandbox = Sandbox::with("plain.jsonl.zst", PI);
    let pack = |bytes: &[u8]| zstd::encode_all(bytes, 3).expect("memory can be packed");
    sandbox.put("packed.jsonl", pack(PI.as_bytes()));
    for file in ["plain.jsonl.zst", "packed.jsonl"] {
        assert_eq!(sandbox.run(&["inspect", file]).code, Some(0), "{file}");
    }
    let packed = fs::File::open(sandbox.path().join("packed.jsonl")).expect("it is there");
    let piped = sandbox.command().args(["inspect", "-"]).stdin(packed).output().expect("the program runs");
    assert_eq!(Ran::of(piped).code, Some(0), "standard input");
}

#[test]
fn a_damaged_packed_file_is_told() {
    let noise: Vec<u8> = (0..4000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut zst = zstd::encode_all(&noise[..], 3).expect("memory can be packed");
    zst.truncate(zst.len() / 2);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&noise).expect("memory can be written");
    let mut gz = gz.finish().expect("memory can be written");
    gz.truncate(gz.len() / 2);
    let sandbox = Sandbox::with("s.jsonl.zst", zst);
    sandbox.put("s.jsonl.gz", gz);
    for (file, why) in [("s.jsonl.zst", "incomplete frame"), ("s.jsonl.gz", "incomplete deflate stream")] {
        let said = sandbox.refused(&["compact", file, "-o", "out"]);
        let whole = format!("cannot read {file}: it cannot be unpacked ({why}); it is damaged or not whole");
        assert_eq!(said, whole);
    }
}

/// A hundred megabytes on one line, against limits the system holds the program to: seconds of work,
/// not of waiting, and 2 GB of addresses, of which threads reserve a part they never touch.
#[cfg(unix)]
#[test]
fn a_hundred_megabytes_on_one_line_are_refused_in_seconds_and_in_bounds() {
    let junk = "x".repeat(100 << 20);
    let sandbox = Sandbox::with("junk.jsonl", &junk);
    sandbox.put("string.json", format!("\"{junk}\""));
    let run = |args: &[&str]| {
        let limits = r#"ulimit -t 20; ulimit -v 2097152; exec "$0" "$@""#;
        let mut command = Command::new("sh");
        command.current_dir(sandbox.path()).args(["-c", limits, env!("CARGO_BIN_EXE_epitome")]).args(args);
        Ran::of(command.output().expect("a shell runs"))
    };
    for file in ["junk.jsonl", "string.json"] {
        for from in ["auto", "claude-code", "codex", "pi", "copilot-cli", "opencode", "anthropic", "native"] {
            let ran = run(&["compact", file, "--from", from, "-o", "out"]);
            assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{file} as {from}: {}", ran.err);
            assert!(ran.err.starts_with(&format!("epitome: cannot read {file}: ")), "{}", ran.err);
            assert!(ran.err.len() < 300, "{}", ran.err);
        }
    }
    assert!(!sandbox.path().join("out").exists());
}
