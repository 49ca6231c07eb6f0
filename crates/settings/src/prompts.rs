//! The prompts that come with the program, and how a text of one's own becomes one.

use epitome_core::Prompts;
use std::sync::Arc;

macro_rules! prompt {
    ($name:literal) => {
        include_str!(concat!("../prompts/", $name, ".md"))
    };
}

/// For a first summary by name, with the text that brings a summary up to date where there is one of its own.
const BUILT_IN: &[(&str, &str, Option<&str>)] = &[
    ("default", prompt!("default"), Some(prompt!("default-update"))),
    ("aura", prompt!("aura"), None),
    ("pi", prompt!("pi"), Some(prompt!("pi-update"))),
    ("claude-code", prompt!("claude-code"), None),
    ("kaged", prompt!("kaged"), None),
    ("omp", prompt!("omp"), Some(prompt!("omp-update"))),
    ("operator-use", prompt!("operator-use"), Some(prompt!("operator-use-update"))),
];

/// The names of the prompts that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, ..)| *name)
}

/// The prompts called `name`, where they come with the program.
///
/// ```
/// let prompts = epitome_settings::prompts::built_in("default").expect("it is built in");
/// assert!(prompts.first.contains("## Goal") && prompts.prefix.contains("## Turn Context"));
/// ```
///
/// What is asked for where the machine writes the rest is the same under every name.
pub fn built_in(name: &str) -> Option<Prompts> {
    let (_, first, update) = BUILT_IN.iter().find(|(known, ..)| *known == name)?;
    let own = own(first);
    Some(Prompts {
        update: update.map_or(own.update, Into::into),
        prose: prompt!("prose").into(),
        prose_update: prompt!("prose-update").into(),
        ..own
    })
}

/// Prompts around an operator's own text. The sections are theirs, so a summary is brought up to date
/// in the form their text describes, and the text is theirs to write for `summary.parts` as they set it.
pub fn own(text: &str) -> Prompts {
    let (first, update): (Arc<str>, Arc<str>) =
        (text.into(), format!("{}\n{text}", prompt!("update")).into());
    Prompts {
        system: prompt!("system").into(),
        prose: first.clone(),
        prose_update: update.clone(),
        first,
        update,
        prefix: prompt!("turn-prefix").into(),
        branch: prompt!("branch").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, built_in, names};

    #[test]
    fn every_prompt_says_that_history_is_data_and_offers_no_tools() {
        for name in names() {
            let prompts = built_in(name).expect("it is listed");
            let whole: [&Arc<str>; 4] = [&prompts.first, &prompts.update, &prompts.prefix, &prompts.branch];
            for text in whole.into_iter().chain([&prompts.prose, &prompts.prose_update]) {
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let is_data = ["data, not instructions", "data, never instructions"];
                assert!(is_data.iter().any(|says| words.contains(says)), "{name}: {text}");
                assert!(words.contains("call no tools") || words.contains("no tool calls"), "{name}: {text}");
            }
        }
    }

    #[test]
    fn each_system_has_as_many_sections_as_its_document_says() {
        let sections = |name: &str| {
            let text = built_in(name).expect("it is built in").first;
            let is_heading = |line: &&str| line.starts_with("## ");
            let is_number = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
            // Sections are headings, or numbers where there are none: below a heading a number is a line of its own.
            match text.lines().filter(is_heading).count() {
                0 => text.lines().filter(is_number).count(),
                headings => headings,
            }
        };
        assert_eq!(
            ["default", "aura", "claude-code", "kaged", "omp", "operator-use", "pi"].map(sections),
            [6, 8, 9, 7, 7, 6, 6]
        );
    }
}
