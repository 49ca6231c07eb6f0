//! What a preset is held against: what the transcript records, and the same calls with nothing done; and presets held
//! against it, one after the other.

use super::bill::SessionBill;
use super::comparison::Comparison;
use super::{ReplayRun, recorded_usage};
use crate::cli::{PolicyArgs, ReadArgs, ReplayArgs, SettingFlag};
use crate::commands::{FileCommand, print_json};
use crate::session_ports::Dry;
use crate::{input, progress};
use anyhow::{Context as _, Result};
use epitome_core::Tokens;
use epitome_settings::Door;
use epitome_tokens::Catalog;
use epitome_wire::ByteSource;
use indicatif::ProgressBar;
use std::path::Path;
use std::sync::Arc;

/// Replays each conversation under each preset, and prints what they would have cost.
pub(super) fn compare(baseline: &Baseline<'_>) -> Result<()> {
    let Baseline { args, catalog, system, .. } = *baseline;
    let under = |name: &String| {
        let policy = PolicyArgs { preset: Some(name.clone()), ..args.policy.clone() };
        FileCommand::new(catalog.clone(), Dry::No, &policy, Door::Replay)
    };
    let presets: Vec<FileCommand> = args.compare.iter().map(under).collect::<Result<_>>()?;
    let files = input::expand(&input::or_stdin(&args.files)?)?;
    let failed = progress::over(&files, |_, path, bar| {
        let source = input::open(path)?;
        let mut bases = baseline.of(path, &source, bar)?;
        for (command, name) in presets.iter().zip(&args.compare) {
            let (file, resolved) = command.open_source(path, source.clone(), &args.read)?;
            let ports = command.ports.ports(&resolved)?;
            let run = ReplayRun { args, command, file: &file, ports, system, bar };
            for (number, base) in bases.iter_mut().enumerate() {
                let bill = run.bill(number, name, base.unrecorded, |_| ());
                base.rows.push(bill.with_context(|| format!("cannot replay {}", path.display()))?);
            }
        }
        let of = bases.len();
        for (number, BaseBills { rows, .. }) in bases.into_iter().enumerate() {
            let file = path.display().to_string();
            let comparison = Comparison { file, conversation: number, rows };
            if args.read.json { print_json(&comparison)? } else { comparison.page(of).print()? }
        }
        Ok(())
    })?;
    failed.result()
}

/// What a preset is held against: what was recorded, and the same calls with nothing done.
pub(super) struct Baseline<'a> {
    args: &'a ReplayArgs,
    catalog: &'a Catalog,
    system: Option<&'a Arc<str>>,
    alone: FileCommand,
}

/// The bills of one conversation that are no preset's.
pub(super) struct BaseBills {
    pub(super) rows: Vec<SessionBill>,
    /// What the recorded calls held beside what the transcript records.
    pub(super) unrecorded: Tokens,
}

impl<'a> Baseline<'a> {
    pub(super) fn new(
        args: &'a ReplayArgs,
        catalog: &'a Catalog,
        system: Option<&'a Arc<str>>,
    ) -> Result<Self> {
        let alone = FileCommand::new(catalog.clone(), Dry::No, &left_alone(&args.policy), Door::Replay)?;
        Ok(Self { args, catalog, system, alone })
    }

    /// Those of each conversation of a file, whose bytes are there already: standard input is read once.
    pub(super) fn of(
        &self,
        path: &Path,
        source: &Arc<dyn ByteSource>,
        bar: &ProgressBar,
    ) -> Result<Vec<BaseBills>> {
        let Self { args, catalog, system, alone } = self;
        let read = ReadArgs { window: Some(ROOM_FOR_ALL), ..args.read.clone() };
        let (file, resolved) = alone.open_source(path, source.clone(), &read)?;
        let ports = alone.ports.ports(&resolved)?;
        let run = ReplayRun { args, command: alone, file: &file, ports, system: *system, bar };
        let all = 0..file.transcript.conversations.len();
        let bills = all.map(|number| {
            let unrecorded = run.unrecorded(number)?;
            let conversation = file.conversation(number);
            let usages = recorded_usage(conversation);
            let recorded = SessionBill::recorded(conversation, &usages, catalog, &file.model().id);
            let left = run.bill(number, "left alone", unrecorded, |_| ())?;
            Ok(BaseBills { rows: vec![recorded, left], unrecorded })
        });
        bills.collect::<Result<_>>().with_context(|| format!("cannot replay {}", path.display()))
    }
}

/// A window that no session fills.
const ROOM_FOR_ALL: u64 = 1_000_000_000;

/// The policy that does nothing, as the default counts.
fn left_alone(policy: &PolicyArgs) -> PolicyArgs {
    let off = SettingFlag { key: "mode".into(), value: "off".into() };
    PolicyArgs {
        preset: Some("default".into()),
        summarizer: Some("embedded".into()),
        config: policy.config.clone(),
        set: vec![off],
        ..PolicyArgs::default()
    }
}
