//! `epitome compact`: makes a transcript fit, keeping every original.

mod one;
mod story;
mod writing;

use super::{Desk, Work, print_json_each};
use crate::asking::Dry;
use crate::cli::CompactArgs;
use crate::opened::{Opened, catalog};
use crate::{input, output, progress};
use anyhow::{Context as _, Result, bail};
use epitome_core::{EntryId, Policy};
use epitome_engine::{Asks, Report, Restorer};
use epitome_settings::Door;
use indicatif::ProgressBar;
use one::{Planned, Task, check_range, project};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use writing::Target;

/// The report of one conversation, with where it was found and where it went.
#[derive(Serialize)]
struct Line {
    file: String,
    conversation: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Where the window's figure comes from.
    window_source: String,
    /// How many oddities of the file reading survived; `inspect` lists them.
    problems: usize,
    /// Whether it went to a request body, which keeps no originals.
    #[serde(skip)]
    is_body: bool,
    /// Whether what its calls cost is known.
    #[serde(skip)]
    is_priced: bool,
    /// What was planned; in a dry run, where there is something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Planned>,
    #[serde(flatten)]
    report: Report,
}

/// Compacts each conversation of each file.
pub fn run(args: &CompactArgs) -> Result<()> {
    let dry = if args.dry_run { Dry::Run } else { Dry::No };
    let desk = Desk::here(catalog(args.read.models.as_deref())?, dry, &args.policy, Door::Compact)?;
    let files = input::expand(&args.files)?;
    let outputs = outputs(&files, args)?;
    let mut lines = Vec::new();
    let failed = progress::over(&files, |number, path, bar| {
        lines.extend(compact_file(path, outputs[number].as_deref(), args, &desk, bar)?);
        Ok(())
    })?;
    if args.read.json {
        print_json_each(&lines)?;
    } else {
        lines.iter().for_each(|line| story::tell(line, args));
    }
    failed.result()
}

/// Where each file's result goes.
fn outputs(files: &[PathBuf], args: &CompactArgs) -> Result<Vec<Option<PathBuf>>> {
    let Some(out) = &args.output else {
        if files.len() > 1 && !args.read.json && !args.dry_run {
            bail!(
                "several transcripts cannot all go to standard output; name a folder with -o, or use --json for the records alone"
            );
        }
        return Ok(vec![None; files.len()]);
    };
    if files.len() == 1 && !out.is_dir() {
        return Ok(vec![Some(out.clone())]);
    }
    if !out.is_dir() {
        bail!("{} is no folder; several transcripts need one to go to", out.display());
    }
    let named: Vec<PathBuf> =
        files.iter().map(|file| out.join(plain(input::below(&args.files, file)))).collect();
    if let Some(twice) = named.iter().enumerate().find(|(at, path)| named[..*at].contains(path)) {
        bail!("two transcripts would both be written to {}; compact them one by one", twice.1.display());
    }
    for folder in named.iter().filter_map(|path| path.parent()).filter(|_| !args.dry_run) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    Ok(named.into_iter().map(Some).collect())
}

/// A path without the ending of its packing: what is written is not packed.
fn plain(file: PathBuf) -> PathBuf {
    let is_packed = file.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    if is_packed { file.with_extension("") } else { file }
}

/// Refuses pins that name no message.
fn check_pins(opened: &Opened, pins: &[EntryId]) -> Result<()> {
    let is_known =
        |pin: &EntryId| opened.transcript.conversations.iter().any(|one| one.log.item(*pin).is_some());
    match pins.iter().find(|pin| !is_known(pin)) {
        Some(pin) => bail!("cannot pin {pin}: no message of {} has this name", opened.path.display()),
        None => Ok(()),
    }
}

fn compact_file(
    path: &Path,
    out: Option<&Path>,
    args: &CompactArgs,
    desk: &Desk,
    bar: &ProgressBar,
) -> Result<Vec<Line>> {
    let (opened, resolved) = desk.open(path, &args.read)?;
    let target = Target::of(&opened, args.to)?;
    target.check(&opened, out)?;
    check_pins(&opened, &args.pins)?;
    check_range(args, &opened, target.can().before)?;
    let who = desk.asking.summarizer(&resolved)?;
    let work = Work {
        policy: resolved.policy.clone(),
        can: target.can(),
        focus: args.focus.as_deref().map(Into::into),
        pins: args.pins.clone(),
        asks: Asks { restorer: restorer(&resolved.policy, args, &opened)?, ..who.asks() },
    };
    let task = Task { args, waiting: &desk.waiting, opened: &opened, work, who, bar };
    let mut lines = Vec::new();
    let mut added = Vec::new();
    for number in 0..opened.transcript.conversations.len() {
        let (done, plan) = task.run(number).with_context(|| format!("cannot compact {}", path.display()))?;
        lines.push(Line {
            file: path.display().to_string(),
            conversation: number,
            output: out.filter(|_| !args.dry_run).map(|out| out.display().to_string()),
            window_source: opened.window.source.clone(),
            problems: opened.transcript.problems.len(),
            is_body: matches!(target, Target::Body(_)),
            is_priced: task.who.is_priced(),
            plan,
            report: done.report.clone(),
        });
        added.push(done);
    }
    let is_wanted = out.is_some() || !args.read.json;
    if is_wanted && !args.dry_run {
        let pieces = target.pieces(&opened, &added)?;
        output::write(out, |to| {
            pieces.write(&*opened.source, to)?;
            opened.check_unchanged(out)
        })?;
    }
    Ok(lines)
}

/// What brings files back, where the policy wants some and a project is known.
fn restorer(policy: &Policy, args: &CompactArgs, opened: &Opened) -> Result<Option<Arc<dyn Restorer>>> {
    if policy.restore.files == 0 {
        return Ok(None);
    }
    Ok(project(args, opened)?.map(|project| Arc::new(project) as Arc<dyn Restorer>))
}
