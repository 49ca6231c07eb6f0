//! `epitome doctor`: whether the store is well, and what to do where it is not.

use super::print_json;
use crate::cli::DoctorArgs;
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::shell_word::shell_word;
use crate::store_place::OpenStore;
use crate::stored_session::LoadedSession;
use crate::{bytes_text, columns};
use anyhow::{Result, bail};
use epitome_engine::store::{FaultKind, SessionId, StoreError};
use epitome_store::{StoreFigures, StoreProblem};
use serde::Serialize;
use std::path::Path;

/// What `--json` prints.
#[derive(Serialize)]
struct StoreReport {
    /// The version of this program.
    version: &'static str,
    store: String,
    /// Whether there is one.
    exists: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<StoreFigures>,
    /// Sessions that somebody works on.
    held: Vec<SessionId>,
    problems: Vec<StoreProblem>,
    /// What is worth knowing and no fault.
    notes: Vec<String>,
}

/// Looks at the store; it is a failure where something is wrong.
pub fn run(args: &DoctorArgs) -> Result<()> {
    let report = examine(args)?;
    let problems = report.problems.len();
    if args.json {
        print_json(&report)?;
    } else {
        page(&report).print()?;
    }
    if problems > 0 {
        bail!("{} found", draw::counted(problems, "problem"));
    }
    Ok(())
}

fn examine(args: &DoctorArgs) -> Result<StoreReport> {
    let mut report = StoreReport {
        version: env!("CARGO_PKG_VERSION"),
        store: args.store.address()?.to_string(),
        exists: true,
        figures: None,
        held: Vec::new(),
        problems: Vec::new(),
        notes: open_to_others(args.store.address()?.file()).into_iter().collect(),
    };
    let open = match args.store.find() {
        Ok(Some(open)) => open,
        Ok(None) => return Ok(StoreReport { exists: false, ..report }),
        Err(error) => {
            report.problems.push(unopened(&error, args, None));
            return Ok(report);
        }
    };
    report.store = open.store.place();
    let looked = (|| {
        report.figures = Some(open.wait(open.store.figures())?);
        let sessions = open.sessions()?;
        report.held = sessions.iter().filter(|one| one.is_held).map(|one| one.session).collect();
        open.wait(open.store.check())
    })();
    report.problems.extend(open.refused.as_ref().map(|refused| unwritable(refused, args)));
    match looked {
        Ok(problems) => report.problems.extend(problems),
        Err(error) => report.problems.push(unopened(&error, args, Some(&open))),
    }
    Ok(report)
}

/// A store that answers whoever asks and takes nothing: `serve` would keep its sessions in memory.
fn unwritable(refused: &StoreError, args: &DoctorArgs) -> StoreProblem {
    let address = args.store.address().ok();
    let remedy = match address.as_ref().and_then(|address| address.file()) {
        Some(file) => format!("make {} and its folder writable", file.display()),
        None => "give its user the right to write".to_owned(),
    };
    let what = format!("it can be looked at and not written: {refused}");
    StoreProblem::new(None, what, format!("{remedy}, or name another store with --store"))
}

/// A store that cannot be looked into; its error says what to do, and of a damaged file it is said here.
fn unopened(error: &anyhow::Error, args: &DoctorArgs, open: Option<&OpenStore>) -> StoreProblem {
    let text = format!("{error:#}");
    let (what, remedy) = text.rsplit_once("; ").unwrap_or((&text, "restore it from a copy"));
    let address = args.store.address().ok();
    match address.as_ref().and_then(|address| address.file()).filter(|_| is_damaged(error)) {
        Some(file) => StoreProblem::new(None, format!("{what}, {}", readable(open)), recovery(file)),
        None => StoreProblem::new(None, what, remedy),
    }
}

fn is_damaged(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| match cause.downcast_ref::<StoreError>() {
        Some(StoreError::Fault(fault)) => fault.kind == FaultKind::Damaged,
        Some(_) | None => false,
    })
}

/// What can be read of a damaged store all the same.
fn readable(open: Option<&OpenStore>) -> String {
    let Some((open, sessions)) = open.and_then(|open| Some((open, open.sessions().ok()?))) else {
        return "and none of its sessions can be read".to_owned();
    };
    let whole = sessions.iter().map(|listed| listed.session);
    let whole: Vec<String> = whole
        .filter(|session| LoadedSession::load(open, *session).is_ok())
        .map(|session| session.to_string())
        .collect();
    let named = if whole.is_empty() { String::new() } else { format!(" ({})", whole.join(", ")) };
    format!("and of its {} {} can be read{named}", draw::counted(sessions.len(), "session"), whole.len())
}

/// What to do with a file that is damaged: nothing to it itself.
fn recovery(file: &Path) -> String {
    let word = |suffix: &str| shell_word(&format!("{}{suffix}", file.display()));
    let [copy, new] = [word(".copy"), word(".recovered")];
    format!(
        "export what can be read with `epitome export`, copy the file before anything else is tried (cp {} {copy}), recover what SQLite finds in the copy (sqlite3 {copy} .recover | sqlite3 {new}), and begin a new store meanwhile with --store",
        word("")
    )
}

/// Says that others may read a store: files that epitome makes are their owner's alone, and those that are there stay as
/// they are.
#[cfg(unix)]
fn open_to_others(file: Option<&Path>) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = file?;
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    let text = format!(
        "other users may read {} (mode {mode:o}), and every conversation in it; chmod 600 {} makes it yours alone",
        file.display(),
        shell_word(&file.display().to_string())
    );
    (mode & 0o077 != 0).then_some(text)
}

/// Modes are Unix's.
#[cfg(not(unix))]
fn open_to_others(_: Option<&Path>) -> Option<String> {
    None
}

fn page(report: &StoreReport) -> Page {
    let (mut page, paint, width) = (Page::default(), Paint::stdout(), columns::of_stdout());
    writeln!(page, "epitome {}, store {}", report.version, report.store);
    if !report.exists {
        writeln!(page, "there is none yet; `epitome import FILE` or `epitome serve` makes one");
        return page;
    }
    if let Some(figures) = &report.figures {
        let StoreFigures { version, sessions, entries, bodies, body_bytes, bytes, .. } = *figures;
        let text = format!(
            "{}, {}, {} of {} in all; the store takes {}, its tables are of version {version}",
            draw::counted(sessions as usize, "session"),
            draw::entries(entries as usize),
            draw::counted(bodies as usize, "text"),
            bytes_text::size(body_bytes),
            bytes_text::size(bytes)
        );
        writeln!(page, "{}", columns::wrap(&text, width, 2));
    }
    if !report.held.is_empty() {
        let held: Vec<String> = report.held.iter().map(SessionId::to_string).collect();
        writeln!(page, "{}", columns::wrap(&format!("being worked on: {}", held.join(", ")), width, 2));
    }
    if report.problems.is_empty() {
        writeln!(page, "all is well");
    }
    for note in &report.notes {
        writeln!(page, "{}", columns::wrap(&format!("note: {}", columns::plain(note)), width, 2));
    }
    for problem in &report.problems {
        let of = problem.session.map(|session| format!("{session}: ")).unwrap_or_default();
        let text = format!("{of}{}; {}", columns::plain(&problem.what), problem.remedy);
        writeln!(page, "{}", paint.warn(&columns::wrap(&text, width, 2)));
    }
    page
}
