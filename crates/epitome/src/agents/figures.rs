//! What a line of the table says of a session, as it is kept in the index.

use crate::transcript_file::window_shown_by;
use epitome_core::Tokens;
use epitome_engine::WindowEvidence;
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
    pub in_view: Option<ContextSize>,
    /// The window the agent worked with, where it says so.
    pub window_recorded: Option<u64>,
    /// What the context took when the agent last compacted it of itself.
    pub auto_compacted_at: Option<u64>,
    /// The longest prompt that this model answered since.
    pub prompt_max: Option<u64>,
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
pub struct ContextSize {
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
    /// What the session shows: where it was compacted of itself, and the longest prompt that was answered.
    Evidence,
    Catalog,
    Guess,
}

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
        let model = catalog.find(self.model.as_deref()?);
        let (filled, prompt) = (self.auto_compacted_at.map(Tokens), self.prompt_max.map(Tokens));
        if let Some(Tokens(tokens)) = window_shown_by(&WindowEvidence { filled, prompt }, &model) {
            return Some(WindowFigure { tokens, source: WindowOrigin::Evidence });
        }
        let known = model.window_tokens;
        let source =
            if known.source == SpecSource::Guess { WindowOrigin::Guess } else { WindowOrigin::Catalog };
        Some(WindowFigure { tokens: known.value, source })
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionFigures, WindowFigure, WindowOrigin};
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
        let grown = SessionFigures { prompt_max: Some(400_000), ..compacted };
        assert_eq!(window(&grown), Some(WindowFigure { tokens: 1_000_000, source: WindowOrigin::Evidence }));
    }
}
