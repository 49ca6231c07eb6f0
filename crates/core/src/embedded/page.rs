//! The summary under construction: sections in a fixed order, and a token budget that every added
//! line is taken from. Which lines are added is `write`'s and `select`'s.

use super::escape::Escape;
use crate::pattern::compile;
use crate::plain_text::both_ends;
use crate::statement_source::SourcedText;
use crate::{EntryId, Measure, Tokens};
use regex::Regex;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

/// The parts of a summary, in the order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Section {
    Goal,
    Constraints,
    Earlier,
    Dialogue,
    Done,
    InProgress,
    NextSteps,
    Blocked,
    Statements,
    Files,
    Actions,
    Lines,
}

impl Section {
    /// Every section, in order.
    const ALL: [Self; 12] = [
        Self::Goal,
        Self::Constraints,
        Self::Earlier,
        Self::Dialogue,
        Self::Done,
        Self::InProgress,
        Self::NextSteps,
        Self::Blocked,
        Self::Statements,
        Self::Files,
        Self::Actions,
        Self::Lines,
    ];

    /// The section that a line is the heading of.
    pub(super) fn of_heading(line: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.heading() == line)
    }

    /// What stands above it.
    fn heading(self) -> &'static str {
        match self {
            Self::Goal => "## Goal",
            Self::Constraints => "## Constraints & Preferences",
            Self::Earlier => "## Earlier summary, as it stood then",
            Self::Dialogue => "## Dialogue, oldest first",
            Self::Done => "## Progress: Done",
            Self::InProgress => "## Progress: In progress",
            Self::NextSteps => "## Next Steps",
            Self::Blocked => "## Progress: Blocked",
            Self::Statements => "## Findings, fixes and decisions, as the model put them",
            Self::Files => "## Files, by what was done to them",
            Self::Actions => "## Actions",
            Self::Lines => "## Critical Context: lines from the log",
        }
    }
}

/// A summary within a budget. Each line is measured as it is added; the whole once more at the end,
/// since tokens of parts do not always add up.
pub(super) struct SummaryPage<'m> {
    measure: &'m dyn Measure,
    escape: Escape<'m>,
    budget: Tokens,
    spent: Tokens,
    sections: BTreeMap<Section, Vec<PageLine>>,
    /// The places that are taken.
    taken: HashSet<(Section, u64)>,
}

/// Where a line stands, and the entries it was made from.
#[derive(Clone)]
pub(super) struct Spot {
    pub section: Section,
    /// Where it stands within its section.
    pub order: u64,
    /// None where it was carried from an earlier summary that names none.
    pub sources: Vec<EntryId>,
}

impl Spot {
    pub(super) fn new(section: Section, order: u64, source: impl IntoIterator<Item = EntryId>) -> Self {
        Self { section, order, sources: source.into_iter().collect() }
    }
}

/// A text, as it is shown in a section of the page, with what it takes there.
pub(super) struct WeighedText {
    text: String,
    shown: String,
    tokens: Tokens,
}

struct PageLine {
    spot: Spot,
    text: String,
}

/// A heading of the rank of ours or below it. One `#` alone begins a comment more often.
static HEADING: LazyLock<Regex> = LazyLock::new(|| compile(r"(?m)^##+ "));

/// Shorter ends say nothing of what stood between them.
const ENDS_BYTES_MIN: usize = 40;
/// A shorter beginning says nothing of what follows.
const HEAD_BYTES_MIN: usize = 12;
/// How often a text is cut anew: each time by as much as it was too long, of which a token or two are left after the second.
const CUTS_MAX: u32 = 8;
/// How often the whole is measured again before it is simply cut.
const FITTINGS_MAX: u32 = 12;

impl<'m> SummaryPage<'m> {
    pub(super) fn new(measure: &'m dyn Measure, escape: Escape<'m>, budget: Tokens) -> Self {
        let (sections, taken) = (BTreeMap::new(), HashSet::new());
        Self { measure, escape, budget, spent: Tokens::ZERO, sections, taken }
    }

    /// What may still be written.
    pub(super) fn room(&self) -> Tokens {
        self.budget.less(self.spent)
    }

    /// The text as it is shown in this section. A heading that was said is no section of ours, and is quoted; an earlier
    /// summary keeps its own.
    fn shown(&self, section: Section, text: &str) -> String {
        let text = self.escape.apply(text);
        if section == Section::Earlier || !text.contains("##") {
            return text;
        }
        HEADING.replace_all(&text, "> $0").into_owned()
    }

    /// The text as it would be shown in this section, and what it takes.
    pub(super) fn weigh(&self, section: Section, text: String) -> WeighedText {
        let shown = self.shown(section, &text);
        let tokens = self.measure.text(&shown) + Tokens(1);
        WeighedText { text, shown, tokens }
    }

    /// What a line takes in this section, with the heading where that has none yet.
    pub(super) fn weighed_tokens(&self, section: Section, weighed: &WeighedText) -> Tokens {
        weighed.tokens + self.heading_tokens(section)
    }

    fn heading_tokens(&self, section: Section) -> Tokens {
        match self.sections.contains_key(&section) {
            true => Tokens::ZERO,
            false => self.measure.text(section.heading()) + Tokens(2),
        }
    }

    /// The text as it would be shown, and what it would take in this section.
    fn shown_tokens(&self, section: Section, text: &str) -> (String, Tokens) {
        let text = self.shown(section, text);
        let tokens = self.measure.text(&text) + Tokens(1) + self.heading_tokens(section);
        (text, tokens)
    }

    /// What a line would take in this section.
    pub(super) fn tokens(&self, section: Section, text: &str) -> Tokens {
        self.shown_tokens(section, text).1
    }

    /// Whether a line stands at this place.
    pub(super) fn holds(&self, spot: &Spot) -> bool {
        self.taken.contains(&(spot.section, spot.order))
    }

    /// Adds a line if the page and `quota` have room for it; says whether the page has it now.
    /// What stands at this place of its section already is left as it is.
    pub(super) fn add(&mut self, spot: &Spot, text: &str, quota: &mut Tokens) -> bool {
        if self.holds(spot) {
            return true;
        }
        let (text, tokens) = self.shown_tokens(spot.section, text);
        let has_room = self.spend(tokens, quota);
        if has_room {
            self.write(spot.clone(), text);
        }
        has_room
    }

    /// Takes what a line takes from the page's room and from `quota`, where both have it.
    fn spend(&mut self, tokens: Tokens, quota: &mut Tokens) -> bool {
        let has_room = tokens <= self.room() && tokens <= *quota;
        if has_room {
            *quota = quota.less(tokens);
            self.spent += tokens;
        }
        has_room
    }

    /// Sets room aside for a line that is [`put`](Self::put) later; `more` is what will be added to it.
    pub(super) fn reserve(&mut self, section: Section, text: &str, more: Tokens, quota: &mut Tokens) -> bool {
        let has_room = self.spend(self.tokens(section, text) + more, quota);
        if has_room {
            self.sections.entry(section).or_default();
        }
        has_room
    }

    /// Gives back what was set aside for a text that is not put.
    pub(super) fn release(&mut self, section: Section, text: &str, more: Tokens, quota: &mut Tokens) {
        let tokens = self.tokens(section, text) + more;
        self.spent = self.spent.less(tokens);
        *quota += tokens;
    }

    /// Adds a line whose room was set aside.
    pub(super) fn put(&mut self, spot: Spot, text: &str) {
        let text = self.shown(spot.section, text);
        self.write(spot, text);
    }

    fn write(&mut self, spot: Spot, text: String) {
        self.taken.insert((spot.section, spot.order));
        self.sections.entry(spot.section).or_default().push(PageLine { spot, text });
    }

    /// Adds as much of the text's beginning as there is room for.
    pub(super) fn add_head(&mut self, spot: &Spot, text: &str, quota: &mut Tokens) -> bool {
        let weighed = self.weigh(spot.section, text.to_owned());
        self.add_cut(spot, &weighed, quota, |text, room, measure| {
            let head = measure.head(text, room);
            let head = head.rfind(char::is_whitespace).map_or(head, |at| &head[..at]).trim_end();
            (head.len() >= HEAD_BYTES_MIN).then(|| format!("{head} …"))
        })
    }

    /// Adds as much of the text's beginning and end as there is room for, the same of both: what a person asks for, and
    /// what the model concludes, stands at the end.
    pub(super) fn add_ends(&mut self, spot: &Spot, text: &str, quota: &mut Tokens) -> bool {
        let weighed = self.weigh(spot.section, text.to_owned());
        self.add_weighed_ends(spot, &weighed, quota)
    }

    /// The same of a text that was weighed for this section before.
    pub(super) fn add_weighed_ends(&mut self, spot: &Spot, text: &WeighedText, quota: &mut Tokens) -> bool {
        self.add_cut(spot, text, quota, |text, room, measure| {
            let cut = both_ends(text, room, room.share(1, 2), " […] ", measure);
            (cut.len() >= ENDS_BYTES_MIN).then_some(cut)
        })
    }

    /// Adds a text, cut by `cut` to about the room it is given where it does not fit whole. The parts of a cut may take a
    /// little more side by side than each by itself: one that comes out too long is made again in less room.
    fn add_cut(
        &mut self,
        spot: &Spot,
        weighed: &WeighedText,
        quota: &mut Tokens,
        cut: impl Fn(&str, Tokens, &dyn Measure) -> Option<String>,
    ) -> bool {
        if self.holds(spot) {
            return true;
        }
        let whole = self.weighed_tokens(spot.section, weighed);
        if self.spend(whole, quota) {
            self.write(spot.clone(), weighed.shown.clone());
            return true;
        }
        let most = self.room().min(*quota);
        let mut room = most.less(self.heading_tokens(spot.section) + Tokens(1));
        for _ in 0..CUTS_MAX {
            let Some(cut) = cut(&weighed.text, room, self.measure) else { return false };
            let over = self.tokens(spot.section, &cut).less(most);
            if over == Tokens::ZERO {
                return self.add(spot, &cut, quota);
            }
            room = room.less(over);
        }
        false
    }

    /// Everything written so far, for finding out which facts it holds.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Section, &str)> {
        self.sections
            .iter()
            .flat_map(|(section, lines)| lines.iter().map(|line| (*section, line.text.as_str())))
    }

    /// The page as text, within its budget by measure, and what its lines were made from.
    pub(super) fn finish(mut self) -> (String, Vec<SourcedText>) {
        for lines in self.sections.values_mut() {
            lines.sort_by_key(|line| line.spot.order);
        }
        let text = self.fit();
        let lines = self.sections.into_values().flatten().filter(|line| !line.spot.sources.is_empty());
        (text, lines.map(|PageLine { spot, text }| SourcedText { text, sources: spot.sources }).collect())
    }

    fn fit(&mut self) -> String {
        for _ in 0..FITTINGS_MAX {
            let text = self.text();
            let over = self.measure.text(&text).less(self.budget);
            if over == Tokens::ZERO {
                return text;
            }
            self.shed(over + Tokens(8));
        }
        let text = self.text();
        let head = self.measure.head(&text, self.budget);
        head.rfind(char::is_whitespace).map_or("", |at| &head[..at]).trim_end().to_owned()
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (section, lines) in &self.sections {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(section.heading());
            text.push('\n');
            for line in lines {
                text.push_str(&line.text);
                text.push('\n');
            }
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Takes out lines from the last section up, oldest first, until about `over` is gone.
    fn shed(&mut self, over: Tokens) {
        let mut shed = Tokens::ZERO;
        while shed < over {
            let Some(mut last) = self.sections.last_entry() else { return };
            let lines = last.get_mut();
            if !lines.is_empty() {
                shed += self.measure.text(&lines.remove(0).text);
            }
            if lines.is_empty() {
                last.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Section, Spot, SummaryPage};
    use crate::embedded::escape::Escape;
    use crate::facts::Secrets;
    use crate::{EntryId, Image, Measure, Tokens};

    /// Four bytes are a token, and whatever is cut takes some more: parts do not always add up.
    struct CutsTakeMore(u64);

    impl Measure for CutsTakeMore {
        fn text(&self, text: &str) -> Tokens {
            Tokens(text.len().div_ceil(4) as u64 + if text.contains('…') { self.0 } else { 0 })
        }
        fn image(&self, _: &Image) -> Tokens {
            Tokens(100)
        }
        fn framing(&self) -> Tokens {
            Tokens(4)
        }
    }

    #[test]
    fn what_has_to_be_cut_is_told_however_its_parts_add_up() {
        let text = "Remember the marker and go on with the reader of session files. ".repeat(40);
        let secrets = Secrets::default();
        for more in 0..12 {
            let measure = CutsTakeMore(more);
            for quota in 60..200 {
                let escape = Escape { pointers: &[], secrets: &secrets };
                let mut page = SummaryPage::new(&measure, escape, Tokens(1_000));
                let (mut ends, mut head) = (Tokens(quota), Tokens(quota));
                let spot = |order| Spot::new(Section::Dialogue, order, [EntryId(0)]);
                assert!(page.add_ends(&spot(0), &text, &mut ends), "{more} more in {quota}");
                assert!(page.add_head(&spot(1), &text, &mut head), "{more} more in {quota}");
                assert!(
                    ends < Tokens(6) && head < Tokens(6),
                    "{more} more in {quota}: {ends} and {head} left"
                );
            }
        }
    }
}
