//! `epitome compact`: makes a transcript fit, keeping every original.

mod story;
mod writing;

use super::{Work, print_json_each};
use crate::cli::CompactArgs;
use crate::clock::WallClock;
use crate::opened::Opened;
use crate::{input, output, preset, progress};
use anyhow::{Context as _, Result, bail};
use epitome_core::{Policy, Trigger};
use epitome_engine::Report;
use serde::Serialize;
use std::path::{Path, PathBuf};
use writing::{Added, Target};

/// The report of one conversation, with where it was found and where it went.
#[derive(Serialize)]
struct Line {
    file: String,
    conversation: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(flatten)]
    report: Report,
}

/// Compacts each conversation of each file.
pub fn run(args: &CompactArgs) -> Result<()> {
    let policy = preset::policy(&args.policy)?;
    let files = input::expand(&args.files)?;
    let outputs = outputs(&files, args)?;
    let mut lines = Vec::new();
    let failed = progress::over(&files, |number, path, _| {
        lines.extend(compact_file(path, outputs[number].as_deref(), &policy, args)?);
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
    let name = |file: &PathBuf| out.join(plain_name(file));
    let named: Vec<PathBuf> = files.iter().map(name).collect();
    if let Some(twice) = named.iter().enumerate().find(|(at, path)| named[..*at].contains(path)) {
        bail!("two transcripts would both be written to {}; compact them one by one", twice.1.display());
    }
    Ok(named.into_iter().map(Some).collect())
}

/// A file's name without the ending of its packing: what is written is not packed.
fn plain_name(file: &Path) -> PathBuf {
    let name = PathBuf::from(file.file_name().unwrap_or_default());
    let is_packed = name.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    if is_packed { name.with_extension("") } else { name }
}

/// Says so where the budget allowed another target than the one asked for.
fn note_target(report: &mut Report, policy: &Policy) {
    let wanted = policy.target.of(report.budget.window).less(report.budget.fixed);
    let Some(made) = report.record.as_mut().filter(|made| made.target != wanted) else { return };
    made.notes.push(format!(
        "the target of {wanted} for the history became {}: it gets at least a quarter and at most three quarters of its room",
        made.target
    ));
}

fn compact_file(path: &Path, out: Option<&Path>, policy: &Policy, args: &CompactArgs) -> Result<Vec<Line>> {
    let opened = Opened::new(path, &args.read)?;
    let target = Target::of(&opened, args.to)?;
    target.check(&opened, out)?;
    let (clock, method) = (WallClock::start(), opened.method());
    let work = Work {
        policy,
        can: target.can(),
        focus: args.focus.as_deref(),
        pins: &args.pins,
        clock: &clock,
        method: &method,
    };
    let mut lines = Vec::new();
    let mut added = Vec::new();
    for number in 0..opened.transcript.conversations.len() {
        let failed = || format!("cannot compact {}", path.display());
        let mut session = work.open(&opened, number)?;
        let known = session.log().len();
        let mut report = session.compact(Trigger::Manual).with_context(failed)?;
        note_target(&mut report, policy);
        let output = out.filter(|_| !args.dry_run).map(|out| out.display().to_string());
        added.push(Added { number, known, report: report.clone(), session });
        lines.push(Line { file: path.display().to_string(), conversation: number, output, report });
    }
    let is_wanted = out.is_some() || !args.read.json;
    if is_wanted && !args.dry_run {
        let pieces = target.pieces(&opened, &added)?;
        output::write(out, |to| pieces.write(&*opened.source, to))?;
    }
    Ok(lines)
}
