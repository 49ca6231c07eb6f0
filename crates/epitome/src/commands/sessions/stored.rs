//! The sessions of the store, beside those of the tools.

use super::SessionQuery;
use super::table::age;
use crate::agents::home;
use crate::cli::SessionsArgs;
use crate::draw::{Paint, counted, grouped};
use crate::output::{self, Page};
use crate::table::{Cell, Table};
use anyhow::Result;
use epitome_store::ListedSession;
use serde::Serialize;
use std::path::Path;

/// Sessions of a store.
#[derive(Default, Serialize)]
pub(super) struct StoredListing {
    /// The store; none where there is none, or it was not asked for.
    store: Option<String>,
    found: usize,
    sessions: Vec<ListedSession>,
    #[serde(skip)]
    flag: String,
}

impl StoredListing {
    /// Those that fit, of the store where there is one; one that was named must be there.
    pub(super) fn find(args: &SessionsArgs, filter: &SessionQuery) -> Result<Self> {
        if args.no_store || args.tool.is_some() {
            return Ok(Self::default());
        }
        let found = match args.stored || args.store.is_named() {
            true => Some(args.store.open()?),
            // Nobody asked for it: where it cannot be opened, the tools' sessions are shown all the same.
            false => args.store.find().unwrap_or_else(|error| {
                output::tell(format_args!("note: {error:#}"));
                None
            }),
        };
        let Some(open) = found else { return Ok(Self::default()) };
        let mut sessions = open.sessions()?;
        sessions.retain(|session| filter.fits_stored(session));
        let found = sessions.len();
        sessions.truncate(if args.all { found } else { args.limit });
        Ok(Self { store: Some(open.store.place()), found, sessions, flag: open.flag.clone() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// A table of them, below another where there is one.
    pub(super) fn page(&self, above: Option<Page>) -> Page {
        let mut page = above.unwrap_or_default();
        let Some(store) = &self.store else {
            writeln!(page, "there is no store yet; `epitome import FILE` or `epitome serve` makes one");
            return page;
        };
        let paint = Paint::stdout();
        let place = store.strip_prefix("sqlite:").map_or(store.clone(), |path| home::shown(Path::new(path)));
        writeln!(page, "\n{}", paint.bold(&format!("in the store {place}")));
        if self.sessions.is_empty() {
            writeln!(page, "no session fits");
            return page;
        }
        self.table().write(&mut page, paint);
        let more = if self.found > self.sessions.len() { ", --all shows the rest" } else { "" };
        let first = self.sessions[0].session;
        writeln!(
            page,
            "\n{}{more}; look into one: epitome history {first}{}",
            counted(self.found, "session"),
            self.flag
        );
        page
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            Cell::left("session"),
            Cell::right("when"),
            Cell::left("came by"),
            Cell::left("model").from(90),
            Cell::right("entries"),
            Cell::right("cmp").from(80),
            Cell::rest("name"),
        ]);
        let now_ms = jiff::Timestamp::now().as_millisecond();
        for one in &self.sessions {
            let changed = i64::try_from(one.changed_ms).unwrap_or(i64::MAX);
            let about = &one.about;
            let origin = serde_json::to_string(&about.origin).unwrap_or_default();
            let form = if about.form.is_empty() { origin.trim_matches('"') } else { &about.form };
            let cells = [
                one.session.to_string(),
                age(now_ms.saturating_sub(changed)),
                form.to_owned(),
                about.model.clone(),
                grouped(one.entries as u64),
                grouped(one.passes as u64),
                about.title.clone(),
            ];
            table.add(cells, false);
        }
        table
    }
}
