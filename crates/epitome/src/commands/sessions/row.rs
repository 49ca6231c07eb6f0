//! One line of the table, as `--json` prints it.

use crate::agents::{ContextSize, FoundSession, WindowFigure};
use crate::draw;
use epitome_tokens::Catalog;
use serde::Serialize;
use std::path::PathBuf;

/// A session as it is told.
#[derive(Serialize)]
pub struct SessionRow {
    /// Its number in this table.
    pub number: usize,
    pub tool: &'static str,
    pub id: String,
    /// What a command takes as its file.
    pub path: PathBuf,
    pub project: Option<String>,
    pub title: Option<String>,
    /// What was asked first.
    pub prompt: Option<String>,
    pub model: Option<String>,
    /// When it was written last.
    pub modified: String,
    #[serde(skip)]
    pub modified_ms: i64,
    pub bytes: u64,
    /// How large the context is.
    pub in_view: Option<ContextSize>,
    pub window: Option<WindowFigure>,
    /// What its calls cost at list prices; none where a price is not known.
    pub spent_dollars: Option<f64>,
    pub compactions: u32,
    pub replies: u32,
}

impl SessionRow {
    pub fn of(number: usize, session: &FoundSession, catalog: &Catalog) -> Self {
        let FoundSession { file, figures } = session;
        let modified = jiff::Timestamp::from_millisecond(file.modified_ms).unwrap_or_default();
        Self {
            number,
            tool: file.agent.name(),
            id: session.id().to_owned(),
            path: file.path.clone(),
            project: figures.project.clone(),
            title: figures.title.clone(),
            prompt: figures.prompt.clone(),
            model: figures.model.clone(),
            modified: modified.to_string(),
            modified_ms: file.modified_ms,
            bytes: file.bytes,
            in_view: figures.in_view,
            window: figures.window(catalog),
            spent_dollars: figures.dollars,
            compactions: figures.compactions,
            replies: figures.replies,
        }
    }

    /// What it is called: by its title, by what was asked first, else by its id, so that no two look alike.
    pub fn name(&self) -> &str {
        let told = [self.title.as_deref(), self.prompt.as_deref()].into_iter().flatten();
        told.map(str::trim).find(|text| !text.is_empty()).unwrap_or(&self.id)
    }

    /// How full the window is, in percent.
    pub fn percent(&self) -> Option<u64> {
        let (view, window) = (self.in_view?, self.window?);
        (window.tokens > 0).then(|| draw::percent(view.tokens, window.tokens))
    }
}
