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
    let text = CarriedText::of(text);
    let whole = demoted(text.lines());
    if whole.is_empty() || page.add(&spot(0), &whole, quota) {
        return;
    }
    let sections = sections(&text.summary).into_iter().enumerate();
    let mut sections: Vec<(usize, CarriedSection<'_>)> = sections.collect();
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
    page.add_head(&spot(usize::MAX), &demoted(text.draft.lines()), quota);
}

/// Whoever wrote it named no entries.
fn spot(order: usize) -> Spot {
    Spot::new(Section::Earlier, order as u64, None)
}

/// What tools put around a summary, for the model that went on then.
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?m)^\s*(?:This session is being continued from a previous conversation|If you need specific details from before compaction|(?:Please )?[Cc]ontinue (?:the conversation from where|with the last task)).*$",
    )
});

/// What stands between a draft that a model wrote first and the summary, where no element tells them apart.
static WRITTEN: LazyLock<Regex> = LazyLock::new(|| compile(r"(?m)^\s*Summary:\s*$"));

/// A summary as its writer left it.
struct CarriedText {
    /// What the model noted for itself first; the summary says it again.
    draft: String,
    summary: String,
}

impl CarriedText {
    /// Without our frame or another tool's.
    fn of(text: &str) -> Self {
        let text = fence::body(text);
        let text = text.rsplit_once("</analysis>").map_or(text, |(_, rest)| rest);
        let text = FRAME.replace_all(text, "").trim().to_owned();
        let is_draft = |draft: &str| draft.is_empty() || draft.starts_with("Analysis");
        let parts = WRITTEN.find(&text).filter(|parts| is_draft(&text[..parts.start()]));
        let (draft, summary) =
            parts.map_or(("", &*text), |parts| (&text[..parts.start()], &text[parts.end()..]));
        Self { draft: draft.to_owned(), summary: summary.trim().to_owned() }
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        self.draft.lines().chain(self.summary.lines())
    }
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
