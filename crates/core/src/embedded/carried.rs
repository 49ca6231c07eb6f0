//! A summary that stands in view already, carried on: whole where there is room, else its prose before its code, and
//! its sections by what a successor needs first. Lines of the log never take its place.

use super::page::{Section, Spot, SummaryPage};
use crate::Tokens;
use crate::fence;
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// Titles of sections, by what a successor needs first.
static NEEDED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)pending|current|next|request|intent|goal|constraint|preference|decision|progress|task|todo|remaining",
    )
});
/// Titles of sections that can be had from the log.
static SPARE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)files?\b|code|actions|lines from the log|critical context|earlier summary|user messages|dialogue|technical",
    )
});

/// What opens a section: a heading, or the numbered titles that some tools' summaries have.
static OPENS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^\s{0,3}(?:#{1,6}\s+\S|\d{1,2}\.\s+(?:\*\*)?[A-Z][^.!?]{2,60}:(?:\*\*)?\s*$|\*\*[^*]{3,60}:?\*\*:?\s*$)",
    )
});

/// A part of a summary.
struct CarriedSection<'t> {
    lines: Vec<&'t str>,
}

impl CarriedSection<'_> {
    /// 0 for what is needed first, 2 for what is spare.
    fn rank(&self) -> u8 {
        let title = self.lines.first().copied().unwrap_or_default();
        match (OPENS.is_match(title), SPARE.is_match(title), NEEDED.is_match(title)) {
            (true, true, _) => 2,
            (true, false, true) => 0,
            (true, false, false) | (false, ..) => 1,
        }
    }
}

/// Writes an earlier summary within `quota`.
pub(super) fn write(page: &mut SummaryPage<'_>, text: &str, quota: &mut Tokens) {
    let text = told(text);
    if text.is_empty() || page.add(&spot(0), &demoted(text.lines()), quota) {
        return;
    }
    let mut sections: Vec<(usize, CarriedSection<'_>)> = sections(&text).into_iter().enumerate().collect();
    sections.sort_by_key(|(order, section)| (section.rank(), *order));
    // None of them crowds out the others.
    let each = quota.share(1, 3);
    for (order, section) in sections {
        let mut own = each.min(*quota);
        let most = own;
        let whole = demoted(section.lines.iter().copied());
        if !page.add(&spot(order), &whole, &mut own) {
            page.add_head(&spot(order), &demoted(prose(&section.lines).into_iter()), &mut own);
        }
        *quota = quota.less(most.less(own));
    }
}

/// Whoever wrote it named no entries.
fn spot(order: usize) -> Spot {
    Spot::new(Section::Earlier, order as u64, None)
}

/// What tools put around a summary, for the model that went on then.
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?m)^\s*(?:This session is being continued from a previous conversation|If you need specific details from before compaction|(?:Please )?[Cc]ontinue (?:the conversation from where|with the last task)|Summary:\s*$).*$",
    )
});

/// What a summary tells its reader: without our frame or another tool's, and without the draft that some models write
/// before it.
fn told(text: &str) -> String {
    let text = fence::body(text);
    let text = text.rsplit_once("</analysis>").map_or(text, |(_, rest)| rest);
    FRAME.replace_all(text, "").trim().to_owned()
}

fn sections(text: &str) -> Vec<CarriedSection<'_>> {
    let mut all: Vec<CarriedSection<'_>> = Vec::new();
    for line in text.lines() {
        if all.is_empty() || OPENS.is_match(line) {
            all.push(CarriedSection { lines: Vec::new() });
        }
        all.last_mut().expect("one was pushed").lines.push(line);
    }
    all
}

/// The lines that are not code.
fn prose<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let mut is_code = false;
    let is_prose = |line: &&&str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    lines.iter().filter(is_prose).copied().collect()
}

/// The lines with headings one step below ours, and without empty ones.
fn demoted<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let lines = lines.filter(|line| !line.trim().is_empty());
    let one = |line: &str| match line.starts_with('#') {
        true => format!("### {}", line.trim_start_matches('#').trim_start()),
        false => line.to_owned(),
    };
    lines.map(one).collect::<Vec<_>>().join("\n")
}
