//! `epitome sessions`: the sessions of agents on this machine, one line each.

mod row;
mod stored;
mod table;

use super::print_json;
use crate::agents::collection::Depth;
use crate::agents::{Agent, FoundSession, SessionCollection, SessionFile, lookup};
use crate::cli::{SessionSort, SessionsArgs};
use crate::output;
use crate::transcript_file::catalog;
use anyhow::{Context as _, Result, bail};
use epitome_store::ListedSession;
use row::SessionRow;
use serde::Serialize;
use std::path::{Path, PathBuf};
use stored::StoredListing;
use table::OpenedBy;

/// What `--json` prints.
#[derive(Serialize)]
struct SessionListing {
    /// How many there are that fit what was asked for; of files that were not read, those that may.
    found: usize,
    sessions: Vec<SessionRow>,
    /// Those of the store, where there is one.
    stored: StoredListing,
}

/// Prints the table of sessions.
pub fn run(args: &SessionsArgs) -> Result<()> {
    let filter = SessionQuery::of(args)?;
    let stored = StoredListing::find(args, &filter)?;
    if args.stored {
        return if args.json {
            print_json(&SessionListing { found: 0, sessions: Vec::new(), stored })
        } else {
            stored.page(None).print()
        };
    }
    let catalog = catalog(args.models.as_deref())?;
    let mut collection = SessionCollection::gather(&catalog, args.models.as_deref());
    let files: Vec<SessionFile> = collection
        .files
        .iter()
        .filter(|file| args.tool.is_none_or(|tool| file.agent == tool))
        .cloned()
        .collect();
    let limit = if args.all { files.len() } else { args.limit };
    let (shown, found) = match first_depth(args, &filter) {
        None => {
            let (shown, unread) = newest(&mut collection, &files, limit);
            let found = shown.len() + unread.len();
            (shown, found)
        }
        Some(depth) => {
            let mut all = collection.read(&files, depth);
            all.retain(|session| filter.fits(session));
            sort(&mut all, args.sort);
            let found = all.len();
            let files: Vec<SessionFile> = all.into_iter().take(limit).map(|session| session.file).collect();
            (collection.read(&files, Depth::Whole), found)
        }
    };
    collection.keep();
    let rows = shown.iter().enumerate().map(|(at, session)| SessionRow::of(at + 1, session, &catalog));
    let table = SessionListing { found, sessions: rows.collect(), stored };
    if args.json {
        return print_json(&table);
    }
    let kept = if shown.is_empty() { Ok(()) } else { lookup::keep_table(&shown) };
    let opened_by = if kept.is_ok() { OpenedBy::Number } else { OpenedBy::Id };
    let page = table::page(&table.sessions, found, args, opened_by);
    if table.stored.is_empty() {
        page.print()?
    } else {
        table.stored.page(Some(page)).print()?
    }
    if let Err(why) = kept {
        output::tell(format!("the numbers of this table cannot be kept; name a session by its id ({why:#})"));
    }
    Ok(())
}

/// The newest sessions, and the files behind them, which are not read; files in which nobody said a word are passed over.
fn newest<'f>(
    collection: &mut SessionCollection<'_>,
    files: &'f [SessionFile],
    limit: usize,
) -> (Vec<FoundSession>, &'f [SessionFile]) {
    let (mut shown, mut rest) = (Vec::new(), files);
    while shown.len() < limit && !rest.is_empty() {
        let (next, behind) = rest.split_at(rest.len().min(limit - shown.len()));
        shown.extend(collection.read(next, Depth::Whole));
        rest = behind;
    }
    (shown, rest)
}

/// How much of every file has to be read to tell which are shown; none where their times are enough.
fn first_depth(args: &SessionsArgs, filter: &SessionQuery) -> Option<Depth> {
    match args.sort {
        SessionSort::Spent | SessionSort::Compactions => Some(Depth::Whole),
        SessionSort::Size | SessionSort::Project => Some(Depth::Ends),
        SessionSort::When => (*filter != SessionQuery::All).then_some(Depth::Ends),
    }
}

/// The largest first; the newest first where that says nothing.
fn sort(sessions: &mut [FoundSession], by: SessionSort) {
    let size = |session: &FoundSession| session.figures.in_view.map(|view| view.tokens);
    match by {
        SessionSort::When => {}
        SessionSort::Size => sessions.sort_by_key(|session| std::cmp::Reverse(size(session))),
        SessionSort::Spent => {
            let spent = |session: &FoundSession| session.figures.dollars.unwrap_or(-1.0);
            sessions.sort_by(|a, b| spent(b).total_cmp(&spent(a)));
        }
        SessionSort::Compactions => {
            sessions.sort_by_key(|session| std::cmp::Reverse(session.figures.compactions));
        }
        SessionSort::Project => sessions.sort_by(|a, b| a.figures.project.cmp(&b.figures.project)),
    }
}

/// Which sessions are wanted.
#[derive(Debug, PartialEq)]
enum SessionQuery {
    All,
    /// Those held in a folder, or below it.
    Below(PathBuf),
    /// Those that have a text in their folder, name, model or id.
    With(String),
}

impl SessionQuery {
    fn of(args: &SessionsArgs) -> Result<Self> {
        if args.here {
            let here = std::env::current_dir().context("cannot tell which folder this is")?;
            return Ok(Self::Below(here));
        }
        let Some(text) = &args.filter else { return Ok(Self::All) };
        let folder = Path::new(text);
        if folder.is_dir() {
            let folder = folder.canonicalize().with_context(|| format!("cannot read {text}"))?;
            return Ok(Self::Below(folder));
        }
        if text.contains('/') && folder.exists() {
            bail!("{text} is a file; `epitome inspect {text}` shows what is in it");
        }
        Ok(Self::With(text.to_lowercase()))
    }

    fn fits(&self, session: &FoundSession) -> bool {
        let figures = &session.figures;
        match self {
            Self::All => true,
            Self::Below(folder) => {
                figures.project.as_deref().is_some_and(|project| is_below(project, folder))
            }
            Self::With(text) => {
                let texts = [&figures.project, &figures.title, &figures.prompt, &figures.model];
                let texts = texts.into_iter().flatten().map(String::as_str).chain([session.id()]);
                texts.into_iter().any(|told| told.to_lowercase().contains(text))
            }
        }
    }
}

impl SessionQuery {
    fn fits_stored(&self, session: &ListedSession) -> bool {
        let about = &session.about;
        match self {
            Self::All => true,
            Self::Below(folder) => !about.project.is_empty() && is_below(&about.project, folder),
            Self::With(text) => {
                let id = session.session.to_string();
                let texts = [&about.project, &about.title, &about.model, &about.agent, &about.form, &id];
                texts.into_iter().any(|told| told.to_lowercase().contains(text))
            }
        }
    }
}

/// Whether a project lies in a folder, by its name or by where that leads.
fn is_below(project: &str, folder: &Path) -> bool {
    let project = Path::new(project);
    project.starts_with(folder) || project.canonicalize().is_ok_and(|real| real.starts_with(folder))
}

/// The table without anything asked of it.
pub fn run_plain(models: Option<&Path>, json: bool) -> Result<()> {
    run(&SessionsArgs { models: models.map(Path::to_owned), json, ..SessionsArgs::default() })
}

/// The names of agents, for the command line.
pub fn parse_tool(name: &str) -> Result<Agent, String> {
    let found = Agent::ALL.into_iter().find(|agent| agent.name() == name);
    found.ok_or_else(|| format!("there are {}", crate::draw::alternatives(Agent::ALL.map(Agent::name))))
}
