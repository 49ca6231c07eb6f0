//! `epitome search`: words in all stored sessions, in view or not.

use super::entries::time_text;
use super::{print_json, role_text};
use crate::cli::SearchArgs;
use crate::columns;
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::table::{Cell, Table};
use anyhow::Result;
use epitome_engine::store::{SearchHit, SearchQuery};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct SearchListing {
    words: String,
    hits: Vec<SearchHit>,
    /// Messages whose text is not kept, and which cannot be found therefore.
    unkept: u64,
}

/// Prints what was found, the best match first.
pub fn run(args: &SearchArgs) -> Result<()> {
    let open = args.store.open()?;
    if let Some(session) = args.session {
        open.listed(session)?;
    }
    let query = SearchQuery {
        words: args.words.join(" "),
        session: args.session,
        tool: args.tool.clone(),
        file: args.file.clone(),
        since_ms: args.since,
        limit: Some(args.limit),
        ..SearchQuery::default()
    };
    let hits = open.wait(open.store.search(&query))?;
    let unkept = open.wait(open.store.unkept(args.session))?;
    if args.json {
        return print_json(&SearchListing { words: query.words, hits, unkept });
    }
    let mut page = page(&hits, args.limit, &open.flag);
    if unkept > 0 {
        let text = format!(
            "{} could not be looked through: `store.keep` leaves what they say to the client",
            draw::counted(unkept as usize, "message")
        );
        writeln!(page, "{}", columns::wrap(&text, columns::of_stdout(), 2));
    }
    page.print()
}

fn page(hits: &[SearchHit], limit: usize, flag: &str) -> Page {
    let mut page = Page::default();
    let Some(first) = hits.first() else {
        writeln!(page, "nothing was found; fewer words find more, and the last may be the beginning of one");
        return page;
    };
    let mut table = Table::new(&[
        Cell::left("session"),
        Cell::left("id"),
        Cell::left("kind"),
        Cell::left("when").from(100),
        Cell::rest("where the words stand"),
    ]);
    for hit in hits {
        let cells = [
            hit.session.to_string(),
            hit.entry.to_string(),
            role_text(hit.role).to_owned(),
            time_text(hit.time_ms),
            hit.snippet.split_whitespace().collect::<Vec<_>>().join(" "),
        ];
        table.add(cells, false);
    }
    table.write(&mut page, Paint::stdout());
    let more = if hits.len() >= limit { "; --limit shows more" } else { "" };
    writeln!(
        page,
        "\n{} found{more}; `epitome show {} {}{flag}` shows the first whole",
        draw::counted(hits.len(), "message"),
        first.session,
        first.entry
    );
    page
}
