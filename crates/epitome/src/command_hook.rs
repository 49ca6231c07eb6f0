//! Hooks that are commands of the operator's: one process for each question, a JSON object on its standard input, a
//! JSON object on its standard output. No shell, no environment but `PATH` and what the table names, and bounds on
//! what goes in and comes out. The deadline is the engine's: a question that is dropped kills its process.

use anyhow::{Context as _, Result, bail};
use epitome_core::{
    Archive, Author, CompactorReply, EntryId, Record, Role, TextDetail, UpcomingCompaction, Verdict,
};
use epitome_engine::{BoxFuture, Check, Hook, HookRole};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::process::Stdio;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

/// A command that is asked before compactions and told of them.
pub struct CommandHook {
    name: String,
    program: String,
    arguments: Vec<String>,
    role: HookRole,
    environment: Vec<(String, OsString)>,
}

/// `[hook.NAME]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HookTable {
    /// The program and its arguments.
    command: Vec<String>,
    #[serde(default)]
    role: HookRole,
    /// Variables that are passed on, beside `PATH`.
    #[serde(default)]
    env: Vec<String>,
}

/// What a command reads: which hook this is, and what belongs to it.
#[derive(Serialize)]
#[serde(tag = "hook", rename_all = "snake_case")]
enum Question<'q> {
    PreCompact { event: &'q UpcomingCompaction, messages: Vec<HookMessage> },
    Transform { messages: Vec<HookMessage> },
    PostCompact { record: &'q Record },
    Approaching { check: &'q Check },
    BeforeTree { leaving: &'q [EntryId] },
}

/// A message as a command is shown it.
#[derive(Serialize)]
struct HookMessage {
    id: EntryId,
    role: Role,
    author: Author,
    text: String,
    /// Whether `text` is only the beginning, or nothing, for want of room.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

/// One message is shown up to here: more of it is for whoever recalls it.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// All messages together are shown up to here, the newest first: several windows of most models.
const MESSAGES_BYTES_MAX: usize = 8 << 20;
/// An answer is a verdict with at most a summary in it, of which the policy takes `guard.hook_tokens_max`.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Of what a failing command complains of, so much is looked at, and its last line told.
const COMPLAINT_BYTES_MAX: u64 = 4 << 10;

impl CommandHook {
    /// The hooks of the `[hook.NAME]` tables of `file`, in order of name.
    pub fn all(tables: &toml::Table, file: &str) -> Result<Vec<Self>> {
        tables.iter().map(|(name, table)| Self::of(name, table, file)).collect()
    }

    fn of(name: &str, table: &toml::Value, file: &str) -> Result<Self> {
        let failed = || format!("[hook.{name}] of {file} cannot be used");
        let HookTable { command, role, env } = table.clone().try_into().with_context(failed)?;
        let Some((program, arguments)) = command.split_first().filter(|(program, _)| !program.is_empty())
        else {
            bail!("{}: `command` names no program; write it as [\"program\", \"argument\"]", failed());
        };
        let passed_on = std::iter::once("PATH".to_owned()).chain(env);
        let environment = passed_on.filter_map(|name| Some((name.clone(), std::env::var_os(&name)?)));
        Ok(Self {
            name: name.to_owned(),
            program: program.clone(),
            arguments: arguments.to_vec(),
            role,
            environment: environment.collect(),
        })
    }

    fn start(&self) -> Result<Child, String> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command.spawn().map_err(|error| format!("`{}` cannot be started: {error}", self.program))
    }

    /// Puts a question to a process of its own; nothing where it has nothing to say.
    async fn ask<A: DeserializeOwned>(&self, question: Vec<u8>) -> Result<Option<A>, String> {
        let mut child = self.start()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            // A command that does not want to know closes its input, and is no worse for it.
            if let Some(mut stdin) = stdin {
                drop(stdin.write_all(&question).await);
            }
            Ok(())
        };
        let read = async { read_answer(stdout).await };
        let hear = async { Ok(read_complaint(stderr).await) };
        let ((), answer, complaint) = tokio::try_join!(write, read, hear)?;
        let status = child.wait().await.map_err(|error| format!("it cannot be waited for: {error}"))?;
        if !status.success() {
            return Err(format!("it ended with {status}{complaint}"));
        }
        if answer.trim_ascii().is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(&answer)
            .map(Some)
            .map_err(|error| format!("its answer is not understood: {error}"))
    }

    /// The same, where it does not matter what is said.
    async fn tell(&self, question: Vec<u8>) -> Result<(), String> {
        self.ask::<serde::de::IgnoredAny>(question).await.map(drop)
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn role(&self) -> HookRole {
        self.role
    }

    fn before<'a>(
        &'a self,
        event: &'a UpcomingCompaction,
        archive: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<Option<Verdict>, String>> {
        Box::pin(async move {
            let mut ids: Vec<EntryId> = event.leaving.iter().chain(&event.staying).copied().collect();
            ids.sort_unstable();
            let messages = shown(&ids, archive)?;
            self.ask(json(&Question::PreCompact { event, messages })?).await
        })
    }

    fn transform<'a>(
        &'a self,
        messages: &'a [EntryId],
        archive: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<CompactorReply, String>> {
        Box::pin(async move {
            let messages = shown(messages, archive)?;
            let list = self.ask(json(&Question::Transform { messages })?).await?;
            list.ok_or_else(|| "it returned no list".to_owned())
        })
    }

    fn after<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.tell(json(&Question::PostCompact { record })?).await })
    }

    fn approaching<'a>(&'a self, check: &'a Check) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.tell(json(&Question::Approaching { check })?).await })
    }

    fn before_tree<'a>(&'a self, leaving: &'a [EntryId]) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let verdict = self.ask::<Verdict>(json(&Question::BeforeTree { leaving })?).await?;
            Ok(!matches!(verdict, Some(Verdict::Veto { .. })))
        })
    }
}

fn json(question: &Question<'_>) -> Result<Vec<u8>, String> {
    serde_json::to_vec(question).map_err(|error| format!("the question cannot be written: {error}"))
}

/// Messages as text, within bounds: the newest are shown first.
fn shown(ids: &[EntryId], archive: &dyn Archive) -> Result<Vec<HookMessage>, String> {
    let mut left = MESSAGES_BYTES_MAX;
    let mut messages = Vec::with_capacity(ids.len());
    for &id in ids.iter().rev() {
        let message = archive.message(id).map_err(|error| error.to_string())?;
        let mut text = message.plain_text(TextDetail::Whole);
        let end = text.floor_char_boundary(left.min(MESSAGE_BYTES_MAX));
        let is_cut = end < text.len();
        text.truncate(end);
        left -= text.len();
        messages.push(HookMessage { id, role: message.role, author: message.author, text, is_cut });
    }
    messages.reverse();
    Ok(messages)
}

async fn read_answer(from: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, String> {
    let mut answer = Vec::new();
    let Some(from) = from else { return Ok(answer) };
    let read = from.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut answer).await;
    read.map_err(|error| format!("its answer cannot be read: {error}"))?;
    if answer.len() as u64 > ANSWER_BYTES_MAX {
        return Err(format!("its answer is longer than {ANSWER_BYTES_MAX} bytes"));
    }
    Ok(answer)
}

/// The last line of what a command complains of, to be told behind its exit status. All of it is read, so that nobody
/// waits for it to be.
async fn read_complaint(from: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut from) = from else { return String::new() };
    let mut beginning = Vec::new();
    drop((&mut from).take(COMPLAINT_BYTES_MAX).read_to_end(&mut beginning).await);
    drop(tokio::io::copy(&mut from, &mut tokio::io::sink()).await);
    let text = String::from_utf8_lossy(&beginning).into_owned();
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.map_or_else(String::new, |line| format!(": {line}"))
}

#[cfg(test)]
mod tests {
    use super::{CommandHook, MESSAGE_BYTES_MAX, shown};
    use epitome_core::{Author, EntryId, MemoryArchive, Message, Role};

    #[test]
    fn a_table_that_cannot_be_used_is_told_with_its_name() {
        let refusal = |text: &str| {
            let tables = text.parse().expect("it is TOML");
            format!("{:#}", CommandHook::all(&tables, "own.toml").map(|_| ()).expect_err("it cannot be used"))
        };
        assert_eq!(
            refusal("[watch]\ncommand = []"),
            "[hook.watch] of own.toml cannot be used: `command` names no program; write it as [\"program\", \"argument\"]"
        );
        assert!(refusal("[watch]\ncommand = [\"a\"]\nshell = true").contains("unknown field `shell`"));
        assert!(refusal("[watch]\ncommand = [\"a\"]\nrole = \"boss\"").contains("unknown variant `boss`"));
    }

    #[test]
    fn a_message_beyond_its_bound_is_shown_by_its_beginning() {
        let archive = MemoryArchive::default();
        let long = "é".repeat(MESSAGE_BYTES_MAX);
        for (at, text) in ["short", &long].into_iter().enumerate() {
            archive.put(EntryId(at as u32), Message::text(Role::User, Author::Person, text));
        }
        let messages = shown(&[EntryId(0), EntryId(1)], &archive).expect("both are there");
        let seen: Vec<(usize, bool)> = messages.iter().map(|one| (one.text.len(), one.is_cut)).collect();
        assert_eq!(seen, [(5, false), (MESSAGE_BYTES_MAX, true)]);
    }
}
