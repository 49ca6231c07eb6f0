//! What shell commands do to named files.

use super::path::{is_absolute, is_file, join};
use super::script;
use super::shell::{SimpleCommand, parse};
use serde::{Deserialize, Serialize};

/// Something a call does to a file, if it succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileEffect {
    /// Shows it.
    Read(String),
    /// Writes it: created where it was not there, otherwise changed.
    Write(String),
    /// Changes what is there.
    Modify(String),
    /// Makes it anew, by the tool's own word.
    Create(String),
    /// Takes it away.
    Delete(String),
    /// Gives it, or all that is below it, another path.
    Move {
        /// The old path.
        from: String,
        /// The new one.
        to: String,
    },
}

impl FileEffect {
    /// The path it is about; the new one of a move.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Read(path)
            | Self::Write(path)
            | Self::Modify(path)
            | Self::Create(path)
            | Self::Delete(path) => path,
            Self::Move { to, .. } => to,
        }
    }
}

/// The effects of a script run in `folder` (empty where unknown), in order.
pub(super) fn of_script(script: &str, folder: &str) -> ScriptEffects {
    let mut run =
        ScriptEffects { folder: folder.to_owned(), effects: Vec::new(), folders: vec![folder.to_owned()] };
    parse(script).iter().for_each(|simple| run.take(simple));
    run.folders.retain(|folder| is_absolute(folder));
    run
}

/// What a script does to files, and where.
pub(super) struct ScriptEffects {
    folder: String,
    /// What it does, in order.
    pub(super) effects: Vec<FileEffect>,
    /// The folders it works in, as far as they are told from their root.
    pub(super) folders: Vec<String>,
}

impl ScriptEffects {
    fn take(&mut self, simple: &SimpleCommand) {
        for target in &simple.writes {
            self.push(target, FileEffect::Write);
        }
        let Some((program, arguments)) = program(&simple.words) else { return };
        let files: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
        match program {
            "cd" | "pushd" => self.enter(files.first().copied()),
            "cat" | "nl" | "less" | "more" | "bat" | "tac" => self.read_all(&files, simple),
            "head" | "tail" => {
                self.read_all(&operands(arguments, &["-n", "-c", "--lines", "--bytes"]), simple)
            }
            "sed" => self.sed(arguments, simple),
            "awk" | "jq" | "yq" => self.read_one(files.get(1..).unwrap_or_default()),
            "grep" | "rg" | "egrep" | "fgrep" | "ag" => self.grep(arguments),
            "tee" => files.iter().for_each(|file| self.push(file, FileEffect::Write)),
            "touch" => files.iter().for_each(|file| self.push(file, FileEffect::Write)),
            "rm" | "unlink" => self.remove(&files, arguments),
            "mv" => self.transfer(&files, |from, to| FileEffect::Move { from, to }),
            "cp" => self.transfer(&files, |_, to| FileEffect::Write(to)),
            "git" => self.git(&files),
            "python" | "python3" | "node" | "uv" => self.run_code(arguments, simple),
            "bash" | "sh" | "zsh" => self.run_shell(arguments),
            _ => {}
        }
    }

    fn push(&mut self, word: &str, effect: impl FnOnce(String) -> FileEffect) {
        if is_file(word) {
            self.effects.push(effect(join(&self.folder, word)));
        }
    }

    fn enter(&mut self, folder: Option<&str>) {
        if let Some(folder) = folder.filter(|folder| !folder.contains(['$', '`'])) {
            self.folder = join(&self.folder, folder);
            self.folders.push(self.folder.clone());
        }
    }

    /// Printing with a heredoc or from a pipe shows no file, and printing into a file is copying.
    fn read_all(&mut self, files: &[&str], simple: &SimpleCommand) {
        if simple.writes.is_empty() && simple.heredocs.is_empty() {
            files.iter().for_each(|file| self.push(file, FileEffect::Read));
        }
    }

    fn read_one(&mut self, files: &[&str]) {
        if let [file] = files {
            self.push(file, FileEffect::Read);
        }
    }

    fn sed(&mut self, arguments: &[String], simple: &SimpleCommand) {
        let is_in_place =
            arguments.iter().any(|word| word.starts_with("-i") || word.starts_with("--in-place"));
        let has_script = arguments.iter().any(|word| word == "-e" || word == "-f");
        // BSD's `-i ''` leaves an empty word where GNU has none.
        let plain: Vec<&str> =
            operands(arguments, &["-e", "-f"]).into_iter().filter(|word| !word.is_empty()).collect();
        let files = plain.get(usize::from(!has_script)..).unwrap_or_default();
        if is_in_place {
            files.iter().for_each(|file| self.push(file, FileEffect::Modify));
        } else {
            self.read_all(files, simple);
        }
    }

    /// A search of exactly one named file shows it; a search of several or of folders does not.
    fn grep(&mut self, arguments: &[String]) {
        let is_recursive = |word: &String| {
            word == "--recursive"
                || (word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']))
        };
        let has_pattern =
            arguments.iter().any(|word| word == "-e" || word == "-f" || word.starts_with("--regexp"));
        let takes_value =
            ["-e", "-f", "-A", "-B", "-C", "-m", "-g", "-t", "--glob", "--type", "--include", "--exclude"];
        let plain = operands(arguments, &takes_value);
        if let [file] = plain.get(usize::from(!has_pattern)..).unwrap_or_default()
            && !arguments.iter().any(is_recursive)
            && looks_like_file(file)
        {
            self.push(file, FileEffect::Read);
        }
    }

    fn remove(&mut self, files: &[&str], arguments: &[String]) {
        let is_recursive = arguments.iter().any(|word| word.starts_with('-') && word.contains(['r', 'R']));
        for file in files {
            if !is_recursive || looks_like_file(file) {
                self.push(file, FileEffect::Delete);
            }
        }
    }

    /// `mv` and `cp`: the last word is a file, or the folder the others go into.
    fn transfer(&mut self, files: &[&str], effect: impl Fn(String, String) -> FileEffect) {
        let Some((to, from)) = files.split_last() else { return };
        for source in from.iter().filter(|source| is_file(source.trim_end_matches('/'))) {
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
            let is_into = from.len() > 1 || to.ends_with('/') || matches!(*to, "." | "..");
            let is_into = is_into || (looks_like_file(source) && !looks_like_file(to) && !to.contains('.'));
            let target =
                if is_into { format!("{}/{name}", to.trim_end_matches('/')) } else { (*to).to_owned() };
            if is_file(&target) || is_into {
                self.effects.push(effect(join(&self.folder, source), join(&self.folder, &target)));
            }
        }
    }

    fn git(&mut self, files: &[&str]) {
        match files {
            ["mv", from, to] => self.transfer(&[from, to], |from, to| FileEffect::Move { from, to }),
            ["rm", files @ ..] => files.iter().for_each(|file| self.push(file, FileEffect::Delete)),
            _ => {}
        }
    }

    fn run_code(&mut self, arguments: &[String], simple: &SimpleCommand) {
        let inline = arguments
            .iter()
            .position(|word| word == "-c" || word == "-e")
            .and_then(|at| arguments.get(at + 1));
        for code in inline.into_iter().chain(&simple.heredocs) {
            for path in script::written_paths(code) {
                self.push(&path, FileEffect::Write);
            }
        }
    }

    fn run_shell(&mut self, arguments: &[String]) {
        let at = arguments.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
        if let Some(script) = at.and_then(|at| arguments.get(at + 1)) {
            self.effects.extend(of_script(script, &self.folder).effects);
        }
    }
}

/// The program without its folder and without what merely carries it (`sudo`, `timeout 5`, `env`).
pub(super) fn program(words: &[String]) -> Option<(&str, &[String])> {
    let (first, mut rest) = words.split_first()?;
    let mut name = first.rsplit('/').next().unwrap_or(first);
    while matches!(name, "sudo" | "command" | "nohup" | "timeout" | "env" | "stdbuf") {
        let skip = rest
            .iter()
            .position(|word| !word.starts_with('-') && !word.contains('=') && !is_duration(word))?;
        name = rest[skip].rsplit('/').next()?;
        rest = &rest[skip + 1..];
    }
    Some((name, rest))
}

fn is_duration(word: &str) -> bool {
    word.trim_end_matches(['s', 'm', 'h']).bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Words that are neither flags nor the values of the flags that take one.
pub(super) fn operands<'w>(arguments: &'w [String], with_value: &[&str]) -> Vec<&'w str> {
    let mut plain = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if with_value.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') || word == "-" {
            plain.push(word.as_str());
        }
    }
    plain
}

/// Whether a name has an ending or is one of those that never have one.
pub(super) fn looks_like_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let has_ending = name.rsplit_once('.').is_some_and(|(_, end)| (1..=12).contains(&end.len()));
    has_ending
        || matches!(
            name,
            "Makefile" | "Dockerfile" | "LICENSE" | "README" | "Justfile" | "Cargo.lock" | "CHANGELOG"
        )
}

#[cfg(test)]
mod tests {
    use super::{FileEffect, of_script};

    fn effects(script: &str) -> Vec<FileEffect> {
        of_script(script, "").effects
    }

    #[test]
    fn reads_name_their_file() {
        let read = |path: &str| FileEffect::Read(path.into());
        assert_eq!(effects("cd /w && sed -n '1,9p' a.rs | head -3"), [read("/w/a.rs")]);
        assert_eq!(
            effects("nl -ba src/x.ts | sed -n 1,5p; tail -n 20 log.txt"),
            [read("src/x.ts"), read("log.txt")]
        );
        assert_eq!(
            effects("grep -n foo a.py; grep -rn foo src; rg foo a.ts b.ts; wc -l a.py"),
            [read("a.py")]
        );
    }

    #[test]
    fn writes_name_their_target() {
        let write = |path: &str| FileEffect::Write(path.into());
        assert_eq!(effects("cat > a.py <<EOF\nopen('b','w')\nEOF"), [write("a.py")]);
        assert_eq!(
            effects("make 2>/dev/null | tee out.log; cp a.py b.py.bak"),
            [write("out.log"), write("b.py.bak")]
        );
        assert_eq!(effects("sed -i '' 's/a/b/' x.md"), [FileEffect::Modify("x.md".into())]);
        assert_eq!(
            effects("rm -f a.txt b.txt"),
            [FileEffect::Delete("a.txt".into()), FileEffect::Delete("b.txt".into())]
        );
        assert_eq!(effects("mv a/b a/c"), [FileEffect::Move { from: "a/b".into(), to: "a/c".into() }]);
    }

    #[test]
    fn code_writes_what_it_names() {
        assert_eq!(
            effects("python3 - <<'EOF'\nwith open('out.json', 'w') as f: pass\nopen('in.json')\nEOF"),
            [FileEffect::Write("out.json".into())]
        );
    }
}
