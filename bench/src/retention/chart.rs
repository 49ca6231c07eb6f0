//! Tables of what was measured.

use super::contexts::Method;
use super::score::Score;
use epitome_core::Tokens;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The chain lengths that are reported.
pub const CHAINS: [usize; 4] = [1, 2, 5, 10];

/// One measured compaction.
pub struct Cell {
    /// Its session.
    pub session: String,
    /// The window.
    pub window: Tokens,
    /// Which compaction of the session.
    pub nth: usize,
    /// The method.
    pub method: Method,
    /// What was measured.
    pub score: Score,
}

/// A share, or a dash where there was nothing to keep.
fn share((all, kept): (f64, f64)) -> Option<f64> {
    (all > 0.0).then(|| kept / all)
}

fn show(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.2}"))
}

/// The mean over sessions of a figure of each session's sums.
fn mean(cells: &[&Cell], figure: impl Fn(&Score) -> Option<f64>) -> Option<f64> {
    let mut sums: BTreeMap<&str, Score> = BTreeMap::new();
    cells.iter().for_each(|cell| sums.entry(&cell.session).or_default().add(&cell.score));
    let values: Vec<f64> = sums.values().filter_map(figure).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The main table of one window.
pub fn main_table(cells: &[Cell], window: Tokens) -> String {
    let here: Vec<&Cell> = cells.iter().filter(|cell| cell.window == window).collect();
    let sessions: std::collections::BTreeSet<&str> = here.iter().map(|cell| cell.session.as_str()).collect();
    let points = here.iter().filter(|cell| cell.method == Method::Ours).count();
    let mut text = format!(
        "### {}k window, {}k kept ({} transcripts, {points} compactions)\n\n",
        window.0 / 1000,
        window.0 / 4000,
        sessions.len()
    );
    text.push_str("| method | recall | linked | + recoverable | next 20 replies | classes equal | rules | open todos | file list F1 |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for method in Method::ALL {
        let cells: Vec<&Cell> = here.iter().copied().filter(|cell| cell.method == method).collect();
        let row = [
            mean(&cells, |score| share((score.used, score.kept))),
            mean(&cells, |score| share((score.used, score.linked))),
            mean(&cells, |score| share((score.used, score.reachable))),
            mean(&cells, |score| share(score.near)),
            mean(&cells, Score::balanced),
            mean(&cells, |score| share(score.rules)),
            mean(&cells, |score| share(score.todos)),
            mean(&cells, Score::files_f1),
        ];
        let _infallible = writeln!(text, "| {} | {} |", method.name(), row.map(show).join(" | "));
    }
    text
}

/// Recall and linked recall after so many compactions of one session.
pub fn chain_table(cells: &[Cell], windows: &[Tokens]) -> String {
    let mut text = String::from(
        "| window | method | after 1 | after 2 | after 5 | after 10 |\n|---|---|---|---|---|---|\n",
    );
    for &window in windows {
        for method in [Method::DropOldest, Method::Masking, Method::Ours] {
            let row = CHAINS.map(|nth| {
                let of = |cell: &&Cell| cell.window == window && cell.method == method && cell.nth == nth;
                let cells: Vec<&Cell> = cells.iter().filter(of).collect();
                let recall = mean(&cells, |score| share((score.used, score.kept)));
                let linked = mean(&cells, |score| share((score.used, score.linked)));
                format!("{} / {} ({})", show(recall), show(linked), cells.len())
            });
            let _infallible =
                writeln!(text, "| {}k | {} | {} |", window.0 / 1000, method.name(), row.join(" | "));
        }
    }
    text
}

/// Recall by class, pooled over all compactions of a window.
pub fn class_table(cells: &[Cell], windows: &[Tokens]) -> String {
    let mut text =
        String::from("| class | window | used | ours | masking | drop-oldest |\n|---|---|---|---|---|---|\n");
    for &window in windows {
        let pooled = [Method::Ours, Method::Masking, Method::DropOldest].map(|method| {
            let mut sum = Score::default();
            let of = |cell: &&Cell| cell.window == window && cell.method == method;
            cells.iter().filter(of).for_each(|cell| sum.add(&cell.score));
            sum.classes
        });
        for (class, (used, _)) in &pooled[0] {
            let row = [0, 1, 2].map(|at| show(pooled[at].get(class).copied().and_then(share)));
            let (class, window) = (class.name(), window.0 / 1000);
            let _infallible = writeln!(text, "| {class} | {window}k | {used} | {} |", row.join(" | "));
        }
    }
    text
}

/// What must be said with every result.
pub const CAVEATS: &str = "\
1. Presence is not use: a fact that stands in the context may still be overlooked. These figures are necessary, not sufficient.
2. Extractive methods are favoured by literal matching.
3. Summaries by a model are not scored here; they are bracketed by an empty one (drop-oldest) and the lines kept here.
4. Future use follows one real continuation, made by an agent that had its whole context.
5. Facts are found by rules, and the same extractor serves the measure and the summariser. What counts as used is decided \
by the bench alone, from later actions; the summariser never sees them.
6. The precision of the rules was not checked by hand for every class; paths, URLs and ids are near-certain, numbers and \
states are noisy.
7. Values under four bytes and the 1,000 most frequent words of the measured corpus are left out.
";
