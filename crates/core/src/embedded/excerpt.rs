//! An excerpt of a text: the sentences that say most, in their order, as many as fit. A text cut in the middle of its
//! sentences says less in as much room.

use super::quoted_line::cost;
use super::statement::meaning;
use crate::facts::sentences;

/// A sentence of a text.
struct Unit<'t> {
    text: &'t str,
    /// The line it stands in.
    line: usize,
    /// How much it says for what it takes.
    worth: f64,
}

/// What a sentence says that bears no mark, so that a text of such has an excerpt too.
const PLAIN_MEANING: f64 = 0.1;
/// A text says first what it came to and last what is asked for: those say so much more.
const EDGE_MEANING: f64 = 0.6;
/// What a sentence takes beside its words; short ones gain nothing by being short.
const UNIT_COST: f64 = 8.0;

/// The longest excerpt that `fits`; none where not even one sentence does. `text` is without code.
pub(super) fn excerpt(text: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    let units = units(text);
    let mut by_worth: Vec<usize> = (0..units.len()).collect();
    by_worth.sort_by(|&a, &b| units[b].worth.total_cmp(&units[a].worth));
    let best = |count: usize| {
        let mut kept = by_worth[..count].to_vec();
        kept.sort_unstable();
        joined(kept.into_iter().map(|at| &units[at]))
    };
    // More of them never take less, so the largest number that fits is found by halving.
    let (mut fitting, mut too_many) = (0, units.len() + 1);
    while fitting + 1 < too_many {
        let middle = fitting.midpoint(too_many);
        match fits(&best(middle)) {
            true => fitting = middle,
            false => too_many = middle,
        }
    }
    (fitting > 0).then(|| best(fitting))
}

fn units(text: &str) -> Vec<Unit<'_>> {
    let lines = text.lines().map(str::trim).enumerate();
    let said = lines.flat_map(|(line, text)| sentences(text).map(move |text| (line, text)));
    let mut units: Vec<Unit<'_>> = said
        .map(|(line, text)| Unit {
            text,
            line,
            worth: (PLAIN_MEANING + meaning(text)) / (cost(text) + UNIT_COST),
        })
        .collect();
    let last = units.len().saturating_sub(1);
    for at in [0, last] {
        units
            .get_mut(at)
            .into_iter()
            .for_each(|unit| unit.worth += EDGE_MEANING / (cost(unit.text) + UNIT_COST));
    }
    units
}

/// The sentences of a line side by side, and a mark where something is left out.
fn joined<'u, 't: 'u>(units: impl Iterator<Item = &'u Unit<'t>>) -> String {
    let mut text = String::new();
    let mut last = None;
    for unit in units {
        match last {
            Some(line) if line == unit.line => text.push(' '),
            Some(_) => text.push('\n'),
            None => {}
        }
        text.push_str(unit.text);
        last = Some(unit.line);
    }
    text.push_str(" […]");
    text
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    const REPORT: &str = "Both commits check out.\nI looked at the folder of the parser once more today.\n- The login failed because the cookie was set late and is fixed in auth.ts.\nShall I push them?";

    #[test]
    fn an_excerpt_holds_whole_sentences_by_what_they_say() {
        let within = |bytes: usize| excerpt(REPORT, |text| text.len() <= bytes);
        assert_eq!(
            within(150).as_deref(),
            Some(
                "Both commits check out.\n- The login failed because the cookie was set late and is fixed in auth.ts.\nShall I push them? […]"
            )
        );
        assert_eq!(
            within(90).as_deref(),
            Some("- The login failed because the cookie was set late and is fixed in auth.ts. […]")
        );
        assert_eq!(within(20), None);
    }
}
