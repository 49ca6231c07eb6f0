//! The commands, one file each.

pub mod audit;
pub mod compact;
pub mod config;
pub mod context;
pub mod cost;
pub mod demo;
pub mod doctor;
mod entries;
pub mod expire;
pub mod export;
pub mod flag;
pub mod fork;
pub mod history;
pub mod import;
pub mod init;
pub mod inspect;
pub mod label;
pub mod models;
pub mod navigate;
pub mod presets;
pub mod recall;
pub mod redo;
pub mod replay;
pub mod rollback;
pub mod search;
pub mod serve;
pub mod sessions;
pub mod shell;
pub mod show;
pub mod stored_act;
pub mod tokens;
pub mod tree;
pub mod undo;
pub mod version;

use crate::cli::{PolicyArgs, ReadArgs};
use crate::columns;
use crate::draw::{self, Paint};
use crate::input;
use crate::output::{self, Page};
use crate::runner::Runner;
use crate::session_ports::{Dry, PortsBuilder};
use crate::settings::Lookup;
use crate::transcript_file::TranscriptFile;
use anyhow::{Context as _, Result};
use epitome_core::ledger::{Ledger, Operation};
use epitome_core::{CallCost, Role};
use epitome_engine::{Event, WindowSource};
use epitome_settings::{Door, ResolvedPolicy};
use epitome_tokens::Catalog;
use epitome_wire::ByteSource;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Prints one JSON document and a newline.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    output::write(None, |out| {
        serde_json::to_writer(&mut *out, value)?;
        out.write_all(b"\n").context("cannot write to standard output")
    })
}

/// Prints one value as itself, several as a list.
pub fn print_json_each<T: Serialize>(values: &[T]) -> Result<()> {
    match values {
        [one] => print_json(one),
        several => print_json(&several),
    }
}

/// An event, for a line that holds the record of what it tells of beside it.
pub fn event_json(event: &Event) -> Value {
    let mut json = json!(*without_record(event));
    if let Some(fields) = json.as_object_mut() {
        fields.remove("record");
    }
    json
}

/// The event with an empty record: one of a long session takes longer to write than all else that is said of a call.
fn without_record(event: &Event) -> Cow<'_, Event> {
    let record = Arc::default();
    if let Event::Completed { entry, .. } = *event {
        Cow::Owned(Event::Completed { entry, record })
    } else if let Event::Observed { entry, .. } = *event {
        Cow::Owned(Event::Observed { entry, record })
    } else {
        Cow::Borrowed(event)
    }
}

/// What a command over files has for all of them: its settings, who can be asked by them, and the waiting for them.
pub struct FileCommand {
    lookup: Lookup,
    pub ports: PortsBuilder,
    pub waiting: Runner,
    /// Notes on settings that were shown.
    noted: RefCell<Vec<String>>,
}

impl FileCommand {
    /// Refuses settings, summarisers and hooks that cannot be used, before any file is read.
    pub fn new(catalog: Catalog, dry: Dry, args: &PolicyArgs, door: Door) -> Result<Self> {
        let lookup = Lookup::new(args.clone(), Some(door))?;
        let ports = PortsBuilder::new(lookup.places.clone(), catalog, dry);
        let resolved = lookup.resolve(None)?;
        ports.check(&resolved)?;
        let command = Self { lookup, ports, waiting: Runner::default(), noted: RefCell::default() };
        command.note(&resolved.notes);
        Ok(command)
    }

    /// A transcript under the policy for its model.
    pub fn open(&self, path: &Path, read: &ReadArgs) -> Result<(TranscriptFile, ResolvedPolicy)> {
        self.open_source(path, input::open(path)?, read)
    }

    /// The same of a transcript whose bytes are there already.
    pub fn open_source(
        &self,
        path: &Path,
        source: Arc<dyn ByteSource>,
        read: &ReadArgs,
    ) -> Result<(TranscriptFile, ResolvedPolicy)> {
        let (file, resolved) = TranscriptFile::under(path, source, read, |model| self.lookup.resolve(model))?;
        resolved.check_in(file.window().tokens)?;
        self.note(&resolved.notes);
        Ok((file, resolved))
    }

    /// Shows what a person should know of their settings, each thing once.
    fn note(&self, notes: &[String]) {
        let mut noted = self.noted.borrow_mut();
        for note in notes {
            if !noted.contains(note) {
                output::tell(format_args!("note: {note}"));
                noted.push(note.clone());
            }
        }
    }
}

/// Whose message it is, in a word.
pub fn role_text(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "reply",
        Role::Tool => "result",
        Role::System => "instruction",
    }
}

/// A number of calls, in words.
pub fn calls_text(calls: u64) -> String {
    draw::counted(calls as usize, "call")
}

/// What calls of a model took, in words.
pub fn spent_text(spent: &CallCost) -> String {
    let CallCost { calls, input, output, dollars, .. } = spent;
    format!("{}, {input} tokens in, {output} out, {dollars}", calls_text((*calls).into()))
}

/// Where a window's figure comes from, in words.
pub fn window_text(from: WindowSource) -> &'static str {
    match from {
        WindowSource::Explicit => "stated",
        WindowSource::Learned => "from the provider's refusal",
        WindowSource::Provider => "from the provider or the transcript",
        WindowSource::Evidence => "shown by the transcript itself",
        WindowSource::Catalog => "from the catalog",
        WindowSource::Guess => "a guess: the model is not known",
    }
}

/// How many changed files are listed.
const FILES_MAX: usize = 8;

/// Tells what a ledger holds, the files changed last first.
pub fn write_ledger(page: &mut Page, ledger: &Ledger, paint: Paint) {
    let changed: Vec<_> = ledger.files.iter().filter(|file| file.standing() != Operation::Read).collect();
    let failed = ledger.commands.iter().filter(|command| command.failed).count();
    let line = format!(
        "  {} read or changed, {} changed; {} run, {failed} failed; {} open",
        draw::counted(ledger.files.len(), "file"),
        changed.len(),
        draw::counted(ledger.commands.len(), "command"),
        draw::counted(ledger.open_todos().count(), "todo")
    );
    writeln!(page, "{}", columns::wrap(&line, columns::of_stdout(), 2));
    for file in changed.iter().rev().take(FILES_MAX) {
        writeln!(page, "    {} {}", paint.dim(file.standing().name()), file.path);
    }
    if let more @ 1.. = changed.len().saturating_sub(FILES_MAX) {
        writeln!(page, "    and {}", draw::counted(more, "more file").replace("more files", "more"));
    }
}
