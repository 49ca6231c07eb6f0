//! Edits of a JSON text by the places of its values: everything that is not edited stays as it is.

use crate::document::View;
use std::ops::Range;

/// Changes of one text, in any order; no two of them overlap.
#[derive(Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts `json` where `value` stands in `whole`.
    pub(super) fn replace(&mut self, whole: &str, value: View<'_>, json: String) {
        self.0.push((range_in(whole, value.json()), json));
    }

    /// Puts a field in front of the others of `object`.
    pub(super) fn add_field(&mut self, whole: &str, object: View<'_>, key: &str, json: &str) {
        let inside = range_in(whole, object.json()).start + 1;
        let is_alone = object.json()[1..].trim_start().starts_with('}');
        let comma = if is_alone { "" } else { "," };
        self.0.push((inside..inside, format!("\"{key}\":{json}{comma}")));
    }

    /// Takes entries out of a list, with the commas they leave, and puts `added` at its end. Where that leaves
    /// nothing, `empty` takes the list's place.
    pub(super) fn thin(
        &mut self,
        whole: &str,
        list: View<'_>,
        entries: &[(View<'_>, bool)],
        added: &[String],
        empty: &str,
    ) {
        let places: Vec<(Range<usize>, bool)> =
            entries.iter().map(|(entry, stays)| (range_in(whole, entry.json()), *stays)).collect();
        let Some(last_kept) = places.iter().rposition(|(_, stays)| *stays) else {
            let json = if added.is_empty() { empty.to_owned() } else { format!("[{}]", added.join(",")) };
            return self.replace(whole, list, json);
        };
        for (at, (place, stays)) in places.iter().enumerate().take(last_kept) {
            if !stays {
                self.0.push((place.start..places[at + 1].0.start, String::new()));
            }
        }
        let end = places[last_kept].0.end;
        let behind = added.iter().map(|json| format!(",{json}")).collect();
        let last = places.last().map_or(end, |(place, _)| place.end);
        self.0.push((end..last, behind));
    }

    /// The text with all of them made.
    pub(super) fn apply(mut self, whole: &str) -> String {
        self.0.sort_by_key(|(place, _)| (place.start, place.end));
        let mut text = String::with_capacity(whole.len());
        let mut at = 0;
        for (place, json) in self.0 {
            text.push_str(&whole[at..place.start]);
            text.push_str(&json);
            at = place.end;
        }
        text.push_str(&whole[at..]);
        text
    }
}

/// Where `part`, a piece of `whole`, stands in it.
pub(crate) fn range_in(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}
