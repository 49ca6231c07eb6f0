//! The commands, one file each.

pub mod compact;
pub mod config;
pub mod context;
pub mod demo;
pub mod init;
pub mod inspect;
pub mod models;
pub mod presets;
pub mod recall;
pub mod replay;
pub mod serve;
pub mod shell;
pub mod tokens;
pub mod undo;

use crate::asking::{Asking, Dry};
use crate::cli::{PolicyArgs, ReadArgs};
use crate::clock::WallClock;
use crate::draw::Paint;
use crate::opened::Opened;
use crate::output::{self, Page};
use crate::settings::Lookup;
use crate::waiting::Waiting;
use anyhow::{Context as _, Result};
use epitome_core::ledger::{Ledger, Operation};
use epitome_core::{EntryId, Expressible, Policy, Spent};
use epitome_engine::{Asks, Session, Setup};
use epitome_settings::{Door, Resolved};
use epitome_tokens::Catalog;
use serde::Serialize;
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

/// The settings of a command over files, who can be asked by them, and the waiting for them.
pub struct Desk {
    lookup: Lookup,
    pub asking: Asking,
    pub waiting: Waiting,
    /// Notes on settings that were told.
    told: RefCell<Vec<String>>,
}

impl Desk {
    /// Refuses settings and summarisers that cannot be used, before any file is read.
    pub fn here(catalog: Catalog, dry: Dry, args: &PolicyArgs, door: Door) -> Result<Self> {
        let lookup = Lookup::new(args.clone(), Some(door))?;
        let asking = Asking::new(lookup.places.clone(), catalog, dry);
        let resolved = lookup.resolve(None)?;
        asking.check(&resolved)?;
        let desk = Self { lookup, asking, waiting: Waiting::default(), told: RefCell::default() };
        desk.tell(&resolved.notes);
        Ok(desk)
    }

    /// A transcript opened under the policy for its model.
    pub fn open(&self, path: &Path, read: &ReadArgs) -> Result<(Opened, Resolved)> {
        let (opened, resolved) = Opened::under(path, read, |model| self.lookup.resolve(model))?;
        self.tell(&resolved.notes);
        Ok((opened, resolved))
    }

    /// Says what a person should know of their settings, each thing once.
    fn tell(&self, notes: &[String]) {
        let mut told = self.told.borrow_mut();
        for note in notes {
            if !told.contains(note) {
                output::tell(format_args!("note: {note}"));
                told.push(note.clone());
            }
        }
    }
}

/// What a session on one conversation is given, beside the file itself.
pub struct Work {
    pub policy: Arc<Policy>,
    pub can: Expressible,
    pub focus: Option<Arc<str>>,
    pub pins: Vec<EntryId>,
    pub asks: Asks,
}

impl Work {
    /// Work that wants nothing in particular, and asks nobody.
    pub fn plain(policy: Policy) -> Self {
        Self::asking(Arc::new(policy), Asks::default())
    }

    /// The same with someone to ask.
    pub fn asking(policy: Arc<Policy>, asks: Asks) -> Self {
        Self { policy, can: Expressible::ALL, focus: None, pins: Vec::new(), asks }
    }

    /// The setup of a session on conversation `number` of `opened`.
    pub fn setup(&self, opened: &Opened, number: usize) -> Setup {
        let conversation = &opened.transcript.conversations[number];
        Setup {
            archive: Arc::new(conversation.originals.clone()),
            measure: opened.counted.measure.clone(),
            count_method: opened.counted.method.clone(),
            budget: opened.budget(conversation),
            policy: self.policy.clone(),
            can: self.can,
            focus: self.focus.clone(),
            pins: self.pins.clone(),
            clock: Arc::new(WallClock::start()),
            asks: self.asks.clone(),
        }
    }

    /// A session that has taken up all of conversation `number`.
    pub fn open(&self, opened: &Opened, number: usize) -> Result<Session> {
        let conversation = &opened.transcript.conversations[number];
        Ok(Session::open(conversation.log.clone(), conversation.leaf, self.setup(opened, number))?)
    }
}

/// A number of calls, in words.
pub fn told_calls(calls: u64) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}

/// What calls of a model took, in words.
pub fn told_spent(spent: &Spent, is_priced: bool) -> String {
    let calls = told_calls(spent.calls.into());
    let price = if is_priced { format!("${:.4}", spent.dollars) } else { "price unknown".to_owned() };
    format!("{calls}, {} tokens in, {} out, {price}", spent.input, spent.output)
}

/// How many changed files are listed.
const FILES_MAX: usize = 8;

/// Tells what a ledger holds, the files changed last first.
pub fn write_ledger(page: &mut Page, ledger: &Ledger, paint: Paint) {
    let changed: Vec<_> = ledger.files.iter().filter(|file| file.last != Operation::Read).collect();
    let failed = ledger.commands.iter().filter(|command| command.failed).count();
    writeln!(
        page,
        "  {} files read or changed, {} changed; {} commands run, {failed} failed; {} todos open",
        ledger.files.len(),
        changed.len(),
        ledger.commands.len(),
        ledger.open_todos().count()
    );
    for file in changed.iter().rev().take(FILES_MAX) {
        writeln!(page, "    {} {}", paint.dim(file.last.name()), file.path);
    }
}
