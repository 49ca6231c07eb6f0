//! `epitome doctor`: whether the store is well, and what to do where it is not.

use super::print_json;
use crate::cli::DoctorArgs;
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::{bytes_text, columns};
use anyhow::{Result, bail};
use epitome_engine::store::SessionId;
use epitome_store::{StoreFigures, StoreProblem};
use serde::Serialize;

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
    };
    let open = match args.store.find() {
        Ok(Some(open)) => open,
        Ok(None) => return Ok(StoreReport { exists: false, ..report }),
        Err(error) => {
            report.problems.push(unopened(&error));
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
    match looked {
        Ok(problems) => report.problems = problems,
        Err(error) => report.problems.push(unopened(&error)),
    }
    Ok(report)
}

/// A store that cannot be looked into; its error says what to do.
fn unopened(error: &anyhow::Error) -> StoreProblem {
    let text = format!("{error:#}");
    let (what, remedy) = text.rsplit_once("; ").unwrap_or((&text, "restore it from a copy"));
    StoreProblem::new(None, what, remedy)
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
    for problem in &report.problems {
        let of = problem.session.map(|session| format!("{session}: ")).unwrap_or_default();
        let text = format!("{of}{}; {}", columns::plain(&problem.what), problem.remedy);
        writeln!(page, "{}", paint.warn(&columns::wrap(&text, width, 2)));
    }
    page
}
