//! What a command is for, by its words: two commands of one purpose do the same job, whatever their arguments.
//!
//! Prefixes that merely carry a command (`cd x &&`, `VAR=1`, `sudo`, `npx`, `uv run`) say nothing of it.

use super::effect::{operands, program};
use super::shell::{SimpleCommand, parse};

/// What a command is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandPurpose {
    /// To see something: a failure is an answer, as with `grep` that finds nothing.
    Look,
    /// To run tests.
    Test,
    /// To build.
    Build,
    /// To check or format code.
    Check,
    /// To get what the work depends on.
    Install,
    /// To commit.
    Commit,
    /// To push.
    Push,
    /// To run code that stands in the command itself, in this language.
    Inline(String),
    /// To run a script of this name.
    Script(String),
    /// Anything else, by program and, where it has them, subcommand.
    Program(String),
}

impl CommandPurpose {
    /// Whether it is a step of nearly every piece of work, so that one that failed is come back to.
    pub(super) fn is_routine(&self) -> bool {
        match self {
            Self::Test | Self::Build | Self::Check | Self::Install | Self::Commit | Self::Push => true,
            Self::Look | Self::Inline(_) | Self::Script(_) | Self::Program(_) => false,
        }
    }

    /// Whether its success shows that an earlier failure of `failed` was overcome: it is the same, or
    /// could not have come about without it.
    pub(super) fn overcomes(&self, failed: &Self) -> bool {
        match self {
            Self::Test => matches!(failed, Self::Test | Self::Build | Self::Install),
            Self::Build => matches!(failed, Self::Build | Self::Install),
            Self::Commit => failed.comes_before_commit() || *failed == Self::Commit,
            Self::Push => failed.comes_before_commit() || matches!(failed, Self::Commit | Self::Push),
            Self::Look
            | Self::Check
            | Self::Install
            | Self::Inline(_)
            | Self::Script(_)
            | Self::Program(_) => self == failed,
        }
    }
}

impl CommandPurpose {
    /// Whether nobody commits before it is done: what a merge left open, what tests and checks found.
    fn comes_before_commit(&self) -> bool {
        match self {
            Self::Test | Self::Build | Self::Check => true,
            Self::Program(words) => words.starts_with("git "),
            Self::Look | Self::Install | Self::Commit | Self::Push | Self::Inline(_) | Self::Script(_) => {
                false
            }
        }
    }
}

/// One command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptStep {
    /// What it is for.
    pub(super) purpose: CommandPurpose,
    /// Whether its output goes into another command, whose exit code hides its own.
    pub(super) is_piped: bool,
}

/// The steps of a script that do something, in order: looks are left out.
pub(super) fn working_steps(script: &str) -> Vec<ScriptStep> {
    let mut all = Vec::new();
    for simple in parse(script) {
        match inner_script(&simple) {
            Some(inner) => all.extend(working_steps(inner)),
            None => all.push(ScriptStep { purpose: purpose(&simple), is_piped: simple.is_piped }),
        }
    }
    all.retain(|step| step.purpose != CommandPurpose::Look);
    all
}

/// `bash -lc SCRIPT` is its script. Of shells in shells only as many are opened as there are words.
fn inner_script(simple: &SimpleCommand) -> Option<&str> {
    let (name, arguments) = program(&simple.words)?;
    let is_shell = matches!(name, "bash" | "sh" | "zsh");
    let at = arguments.iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
    arguments.get(at + 1).filter(|_| is_shell).map(String::as_str)
}

fn purpose(simple: &SimpleCommand) -> CommandPurpose {
    let Some((name, arguments)) = carried(&simple.words) else { return CommandPurpose::Look };
    let is_asking =
        |word: &String| matches!(word.as_str(), "--version" | "--help" | "-h" | "-V" | "help" | "--dry-run");
    let is_cmdlet = CMDLETS.iter().any(|look| name.starts_with(look));
    if is_listed(LOOKS, name) || is_cmdlet || arguments.iter().any(is_asking) {
        return CommandPurpose::Look;
    }
    let plain =
        operands(arguments, &["-C", "--prefix", "--filter", "-p", "--package", "-F", "--cwd", "--dir"]);
    match name {
        "git" => of_git(&plain),
        "gh" | "glab" => of_forge(name, &plain),
        "sed" | "perl" if !arguments.iter().any(|word| word.starts_with("-i") || word.starts_with("-pi")) => {
            CommandPurpose::Look
        }
        name if is_listed(INTERPRETERS, name) => of_code(name, &plain, arguments, simple),
        name => of_task(name, &plain),
    }
}

/// Programs that show something, wait, or tidy up: that they failed stops nobody.
const LOOKS: &str = "grep rg egrep fgrep ag zgrep diff cmp comm test [ [[ ls ll eza find fd tree sleep wait \
    which type whereis cat bat head tail less more awk wc file stat du df echo printf pwd env \
    printenv ps pgrep pidof pkill kill killall lsof netstat ss date uname hostname whoami id \
    jq yq sort uniq cut tr xxd od nl true false cd pushd popd export unset set source . man \
    exit for continue break { } ( ) return shift local declare";

/// The same in PowerShell, by how their names begin.
const CMDLETS: [&str; 11] = [
    "Get-",
    "Select-",
    "Test-",
    "Out-",
    "Format-",
    "Write-",
    "Where-",
    "Measure-",
    "ForEach-",
    "Set-Location",
    "Start-Sleep",
];

/// Programs that run code they are handed.
const INTERPRETERS: &str = "python python3 python2 py node ruby perl php tsx ts-node osascript elixir Rscript bash sh \
    zsh";

/// Programs that carry another command behind a word of their own.
const CARRIERS: [(&str, &str); 15] = [
    ("npx", ""),
    ("bunx", ""),
    ("pnpx", ""),
    ("uvx", ""),
    ("nice", ""),
    ("time", ""),
    ("xvfb-run", ""),
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("rye", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("npm", "exec"),
    ("mise", "exec"),
];

/// A command that carries another carries no more than this many in turn.
const CARRIED_MAX: usize = 4;

/// Whether a list of words parted by spaces has this one.
fn is_listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// The program a command comes to, without what carries it, and its arguments.
fn carried(words: &[String]) -> Option<(&str, &[String])> {
    let mut rest = words;
    for _ in 0..CARRIED_MAX {
        let (name, arguments) = program(rest)?;
        let Some((_, word)) = CARRIERS.iter().find(|(carrier, _)| *carrier == name) else {
            return Some((name, arguments));
        };
        let behind = match word.is_empty() {
            true => arguments,
            false if arguments.first().is_some_and(|first| first == word) => &arguments[1..],
            false => return Some((name, arguments)),
        };
        let start = behind
            .iter()
            .position(|word| !word.starts_with('-') && !word.chars().all(|c| c.is_ascii_digit()));
        rest = &behind[start?..];
    }
    program(rest)
}

fn of_git(plain: &[&str]) -> CommandPurpose {
    const LOOKS: &str = "status log diff show branch rev-parse rev-list ls-files ls-tree ls-remote blame grep \
        remote config describe shortlog reflog merge-base check-ignore cat-file for-each-ref \
        symbolic-ref show-ref name-rev tag fetch";
    match plain.first() {
        None => CommandPurpose::Look,
        Some(&"commit") => CommandPurpose::Commit,
        Some(&"push") => CommandPurpose::Push,
        Some(word) if is_listed(LOOKS, word) => CommandPurpose::Look,
        Some(word) => CommandPurpose::Program(format!("git {word}")),
    }
}

/// `gh pr view`: a subject and what is done to it.
fn of_forge(name: &str, plain: &[&str]) -> CommandPurpose {
    const LOOKS: &str = "view list status checks diff watch search api auth";
    if plain.iter().take(2).any(|word| is_listed(LOOKS, word)) {
        return CommandPurpose::Look;
    }
    CommandPurpose::Program([&[name], &plain[..plain.len().min(2)]].concat().join(" "))
}

/// Code by its file's name, or, where it stands in the command, by its language.
fn of_code(name: &str, plain: &[&str], arguments: &[String], simple: &SimpleCommand) -> CommandPurpose {
    if let Some(at) = arguments.iter().position(|word| word == "-m")
        && let Some(module) = arguments.get(at + 1)
    {
        let plain: Vec<&str> = arguments[at + 2..].iter().map(String::as_str).collect();
        return of_task(module, &plain);
    }
    let is_inline = arguments.iter().any(|word| matches!(word.as_str(), "-c" | "-e" | "--eval" | "-p" | "-"));
    let script = plain.first().filter(|_| !is_inline && simple.heredocs.is_empty());
    match script.map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path)) {
        None => CommandPurpose::Inline(name.trim_end_matches(['2', '3']).to_owned()),
        Some("manage.py" | "bin/console" | "artisan") => of_task("manage.py", &plain[1..]),
        Some(file) => of_name(file).unwrap_or_else(|| CommandPurpose::Script(file.to_owned())),
    }
}

/// Programs whose first words name a task.
const RUNNERS: &str = "npm pnpm yarn bun deno make gmake just task mise cargo go mix gradle gradlew mvn mvnw \
    dotnet swift rake bundle uv poetry pip pip3 pipenv pdm hatch composer turbo nx bazel \
    xcodebuild zig dune stack cabal sbt lein invoke manage.py docker brew apt apt-get gem";

/// How many words behind a runner can name its task (`npm run test`, `docker compose build`).
const TASK_WORDS_MAX: usize = 3;

fn of_task(name: &str, plain: &[&str]) -> CommandPurpose {
    if let Some(purpose) = of_name(name) {
        return purpose;
    }
    if !is_listed(RUNNERS, name) {
        return CommandPurpose::Program(name.to_owned());
    }
    let words = &plain[..plain.len().min(TASK_WORDS_MAX)];
    let told = words.iter().find_map(|word| of_word(word).or_else(|| of_name(word)));
    told.unwrap_or_else(|| match (name, words) {
        // `make` and `yarn` alone do what they are for.
        ("make" | "gmake" | "just", []) => CommandPurpose::Build,
        ("yarn" | "bundle", []) => CommandPurpose::Install,
        (name, [carrier @ ("run" | "compose" | "exec"), task, ..]) => {
            CommandPurpose::Program([name, carrier, task].join(" "))
        }
        (name, [task, ..]) => CommandPurpose::Program([name, task].join(" ")),
        (name, []) => CommandPurpose::Program(name.to_owned()),
    })
}

/// A task by the word for it; `test:unit` and `test-e2e` are tests.
fn of_word(word: &str) -> Option<CommandPurpose> {
    match word.split([':', '-', '_']).next()? {
        "test" | "tests" | "t" | "spec" | "e2e" | "nextest" | "unittest" | "verify" => {
            Some(CommandPurpose::Test)
        }
        "build" | "compile" | "bundle" | "assemble" | "package" => Some(CommandPurpose::Build),
        "lint" | "fmt" | "format" | "clippy" | "check" | "typecheck" | "vet" | "fix" => {
            Some(CommandPurpose::Check)
        }
        "install" | "add" | "ci" | "sync" | "restore" | "i" | "get" | "update" | "upgrade" => {
            Some(CommandPurpose::Install)
        }
        "ls" | "list" | "view" | "show" | "outdated" | "tree" | "metadata" | "ps" | "logs" | "inspect"
        | "images" | "version" | "info" | "why" => Some(CommandPurpose::Look),
        _ => None,
    }
}

/// A task by the program that does it, or by a script's name.
fn of_name(name: &str) -> Option<CommandPurpose> {
    const TESTS: &str = "pytest py.test unittest jest vitest mocha ava playwright rspec phpunit ctest tox nox \
        cypress";
    const BUILDS: &str = "gcc g++ clang clang++ cc rustc javac cmake ninja webpack esbuild vite rollup tsup \
        goreleaser xcodebuild";
    const CHECKS: &str = "tsc eslint ruff black prettier biome mypy pyright golangci-lint gofmt rustfmt shellcheck \
        rubocop pre-commit flake8 isort stylelint actionlint";
    let stem = name.split('.').next().unwrap_or(name);
    let is_test = is_listed(TESTS, name)
        || stem.starts_with("test")
        || stem.ends_with("test")
        || stem.ends_with("tests");
    if is_test {
        Some(CommandPurpose::Test)
    } else if is_listed(BUILDS, name) || stem == "build" {
        Some(CommandPurpose::Build)
    } else if is_listed(CHECKS, name) || stem == "lint" {
        Some(CommandPurpose::Check)
    } else if stem == "install" {
        Some(CommandPurpose::Install)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandPurpose, working_steps};

    fn of(script: &str) -> Vec<CommandPurpose> {
        working_steps(script).into_iter().map(|step| step.purpose).collect()
    }

    #[test]
    fn what_carries_a_command_says_nothing_of_it() {
        for script in [
            "cargo test -p core",
            "cd /w && RUST_LOG=1 cargo nextest run",
            "timeout 60 python3 -m pytest tests -k x",
            "npm --prefix web run test:unit",
            "npx vitest run",
            "uv run pytest",
            "bash -lc 'go test ./...'",
            "./gradlew test",
            "python manage.py test app",
            "./tests/runtests.py",
        ] {
            assert_eq!(of(script), [CommandPurpose::Test], "{script}");
        }
    }

    #[test]
    fn looks_are_told_from_work() {
        for script in [
            "grep -n x a; ls | head",
            "git log && git diff",
            "gh pr checks 20 --watch",
            "node --version",
            "sed -n 1,5p a",
            "echo \"sane: $(awk '/\\) is() \\{/,/^\\}/' a.go | grep -cP '^\\t+[a-z]+\\.(x)* = ')\"\necho done",
            "for s in a b; do\n f=src/$s.go; [ -f \"$f\" ] || { echo \"$s: none\"; continue; }\n \
             n=$(awk '/x/' \"$f\" | grep -c y)\n [ \"$n\" -gt 0 ] && echo \"$s: $n\"\ndone",
        ] {
            assert_eq!(of(script), [], "{script}");
        }
        assert_eq!(
            of("git add . && git commit -m x && git push"),
            [CommandPurpose::Program("git add".into()), CommandPurpose::Commit, CommandPurpose::Push]
        );
    }

    #[test]
    fn code_goes_by_its_file_or_its_language() {
        assert_eq!(of("python3 - <<'EOF'\nprint(1)\nEOF"), [CommandPurpose::Inline("python".into())]);
        assert_eq!(of("node \"/x/cmp.js\" a b"), [CommandPurpose::Script("cmp.js".into())]);
    }

    #[test]
    fn arguments_are_not_the_task() {
        assert_eq!(of("mix credo --strict lib/a.ex"), [CommandPurpose::Program("mix credo".into())]);
        assert_eq!(of("docker compose up web"), [CommandPurpose::Program("docker compose up".into())]);
    }

    #[test]
    fn a_pipe_hides_an_exit_code() {
        let piped: Vec<bool> =
            working_steps("make | tail -3; make").iter().map(|step| step.is_piped).collect();
        assert_eq!(piped, [true, false]);
    }
}
