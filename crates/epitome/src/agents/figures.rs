//! What a line of the table says of a session, as it is kept in the index.

use epitome_tokens::{Catalog, SpecSource};
use serde::{Deserialize, Serialize};

/// What is known of a session by its file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// The agent's name for it, where the file says so itself.
    pub id: Option<String>,
    /// The folder it was held in.
    pub project: Option<String>,
    /// The name somebody gave it.
    pub title: Option<String>,
    /// What was asked first.
    pub prompt: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    pub in_view: Option<InView>,
    /// The window the agent worked with, where it says so.
    pub window_recorded: Option<u64>,
    /// The largest context that the agent compacted of itself: its window is not much larger.
    pub auto_compacted_at: Option<u64>,
    /// What its calls cost, in dollars; none where a price is not known, or nothing was reported.
    pub dollars: Option<f64>,
    pub compactions: u32,
    /// How many replies were met.
    pub replies: u32,
    /// Whether all of the file was read: else the sums are of a part.
    pub is_whole: bool,
}

/// How large the context was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InView {
    pub tokens: u64,
    /// Whether somebody estimated it; else the provider counted the newest call.
    pub is_estimate: bool,
}

/// A window, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WindowFigure {
    pub tokens: u64,
    pub source: WindowOrigin,
}

/// Who says how large a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowOrigin {
    /// The agent, in the session.
    Recorded,
    /// An automatic compaction well below what the catalog says.
    Evidence,
    Catalog,
    Guess,
}

/// The window of models that can be had with a larger one.
const USUAL_WINDOW_TOKENS: u64 = 200_000;

impl SessionFigures {
    /// Whether there is anything to it: agents also leave files in which nobody said a word.
    pub fn is_session(&self) -> bool {
        self.prompt.is_some() || self.replies > 0
    }

    /// The window it was held in; none where no model is named.
    pub fn window(&self, catalog: &Catalog) -> Option<WindowFigure> {
        if let Some(tokens) = self.window_recorded {
            return Some(WindowFigure { tokens, source: WindowOrigin::Recorded });
        }
        let known = catalog.find(self.model.as_deref()?).window_tokens;
        let most = self.auto_compacted_at.max(self.in_view.map(|view| view.tokens)).unwrap_or(0);
        let is_smaller = self.auto_compacted_at.is_some() && most <= USUAL_WINDOW_TOKENS;
        if is_smaller && known.value > USUAL_WINDOW_TOKENS {
            return Some(WindowFigure { tokens: USUAL_WINDOW_TOKENS, source: WindowOrigin::Evidence });
        }
        let source =
            if known.source == SpecSource::Guess { WindowOrigin::Guess } else { WindowOrigin::Catalog };
        Some(WindowFigure { tokens: known.value, source })
    }
}

#[cfg(test)]
mod tests {
    use super::{InView, SessionFigures, WindowFigure, WindowOrigin};
    use epitome_tokens::Catalog;

    #[test]
    fn an_automatic_compaction_shows_the_window() {
        let large = SessionFigures { model: Some("claude-opus-4-6".into()), ..SessionFigures::default() };
        let window = |figures: &SessionFigures| figures.window(Catalog::built_in());
        assert_eq!(window(&large), Some(WindowFigure { tokens: 1_000_000, source: WindowOrigin::Catalog }));
        let compacted = SessionFigures { auto_compacted_at: Some(167_442), ..large };
        assert_eq!(
            window(&compacted),
            Some(WindowFigure { tokens: 200_000, source: WindowOrigin::Evidence })
        );
        let grown = InView { tokens: 400_000, is_estimate: false };
        let grown = SessionFigures { in_view: Some(grown), ..compacted };
        assert_eq!(window(&grown), Some(WindowFigure { tokens: 1_000_000, source: WindowOrigin::Catalog }));
    }
}
