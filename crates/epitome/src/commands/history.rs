//! `epitome history`: what was said and done in a stored session, in order.

use super::entries::{self, EntryStanding, ListedEntry, time_text};
use super::print_json;
use crate::cli::{HistoryArgs, ReadArgs};
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::runner::Runner;
use crate::stored_session::LoadedSession;
use crate::table::{Cell, Table};
use crate::transcript_file::TranscriptFile;
use anyhow::Result;
use epitome_core::EntryId;
use epitome_engine::store::SessionId;
use epitome_engine::{Driver, Session, SessionOptions};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct HistoryListing {
    session: SessionId,
    leaf: Option<EntryId>,
    entries: Vec<ListedEntry>,
}

/// A stored session, and how the model sees it.
pub struct ViewedSession {
    pub stored: LoadedSession,
    pub file: TranscriptFile,
    pub session: Session,
}

impl ViewedSession {
    /// Reads a session; whoever works on it is not kept waiting.
    pub fn load(store: &crate::cli::StoreArgs, session: SessionId) -> Result<Self> {
        let open = store.open()?;
        let stored = LoadedSession::load(&open, session)?;
        let file = TranscriptFile::of_loaded(&open, &stored, &ReadArgs::plain())?;
        let opened = file.open_conversation(stored.number(), SessionOptions::default(), Driver::default());
        let looked = async { Ok(opened.engine.look(&opened.opening).await?) };
        let session = Runner::default().to_the_end(looked)?;
        Ok(Self { stored, file, session })
    }

    /// Its entries.
    pub fn rows(&self) -> Result<Vec<ListedEntry>> {
        entries::rows(&self.stored, &self.file, &self.session)
    }
}

/// Prints the entries of the path, or of all paths.
pub fn run(args: &HistoryArgs) -> Result<()> {
    let viewed = ViewedSession::load(&args.store, args.session)?;
    let mut rows = viewed.rows()?;
    rows.retain(|row| args.all || row.on_path);
    let leaf = viewed.stored.listed.leaf;
    if args.json {
        return print_json(&HistoryListing { session: args.session, leaf, entries: rows });
    }
    page(&rows, leaf).print()
}

fn page(rows: &[ListedEntry], leaf: Option<EntryId>) -> Page {
    let mut table = Table::new(&[
        Cell::left("id"),
        Cell::left("when").from(90),
        Cell::left("kind"),
        Cell::right("tokens"),
        Cell::left(""),
        Cell::rest("what"),
    ]);
    for row in rows {
        let tokens = row.tokens.map(|tokens| tokens.to_string()).unwrap_or_default();
        let cells = [
            row.id.to_string(),
            time_text(row.time_ms),
            row.kind.to_owned(),
            tokens,
            standing_text(row, leaf),
            row.text.clone(),
        ];
        table.add(cells, matches!(row.standing, EntryStanding::Superseded | EntryStanding::Elsewhere));
    }
    let mut page = Page::default();
    table.write(&mut page, Paint::stdout());
    let superseded = rows.iter().filter(|row| row.standing == EntryStanding::Superseded).count();
    writeln!(
        page,
        "\n{}, {} of them not in view",
        draw::entries(rows.len()),
        draw::grouped(superseded as u64)
    );
    page
}

/// What became of an entry, in a word; nothing where it is as it was said.
fn standing_text(row: &ListedEntry, leaf: Option<EntryId>) -> String {
    let standing = match row.standing {
        EntryStanding::Live if leaf == Some(row.id) => "here",
        EntryStanding::Live => "",
        EntryStanding::Shortened => "shortened",
        EntryStanding::Superseded => "superseded",
        EntryStanding::Undone => "undone",
        EntryStanding::Elsewhere => "elsewhere",
    };
    standing.to_owned()
}
