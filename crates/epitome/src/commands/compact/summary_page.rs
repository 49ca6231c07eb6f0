//! A compaction told to a person, on standard error: standard output may carry the transcript. Five lines say what
//! went, what stays, what is out of view, what the model sees first and how to take it back; `-v` says the rest.

mod fit;

use super::{PricedPlan, RecordLine};
use crate::cli::CompactArgs;
use crate::columns;
use crate::commands::context::write_substitutes;
use crate::commands::{calls_text, spent_text, window_text};
use crate::draw::{self, grouped};
use crate::output::Page;
use crate::shell_word::shell_word;
use epitome_core::verify::LossReport;
use epitome_core::{Change, EntryId, Outcome, Record, fence};
use epitome_engine::WindowSource;
use std::collections::{BTreeMap, HashSet};

/// Where the text of a line begins, behind its label.
const LABEL_CHARS: usize = 14;
/// Stands for a space of a command until lines are broken; no command holds one.
const IN_COMMAND: &str = "\0";
/// Enough of a message to know it again.
const QUOTE_CHARS: usize = 70;

/// Prints what was done, or would be, on standard error.
pub(super) fn print(line: &RecordLine, args: &CompactArgs) {
    let mut page = Page::default();
    let summary = CompactReport { line, args, width: columns::of_stderr() };
    summary.write(&mut page);
    page.tell();
}

struct CompactReport<'a> {
    line: &'a RecordLine,
    args: &'a CompactArgs,
    width: usize,
}

impl CompactReport<'_> {
    fn write(&self, page: &mut Page) {
        let record = &self.line.record;
        if let Some(why) = record.outcome.why() {
            let is_vetoed = matches!(record.outcome, Outcome::Vetoed { .. });
            let what = if is_vetoed { "left as it is" } else { "nothing to compact" };
            self.write_line(page, "", &format!("{}: {what} ({why})", self.which()));
        } else {
            self.write_head(page);
            if let Some(change) = record.change() {
                self.write_change(page, change);
            }
        }
        self.write_failed_model(page);
        self.write_file_notes(page);
        if self.args.verbose {
            self.write_more(page);
        } else if let count @ 1.. = self.notes() {
            let them = if count == 1 { "it" } else { "them" };
            self.write_line(page, "more", &format!("{}; -v shows {them}", draw::counted(count, "note")));
        }
    }

    /// How many notes there are that only `-v` shows.
    fn notes(&self) -> usize {
        self.line.record.notes.len() + self.line.record.hooks.len() + usize::from(self.is_odd())
    }

    /// Whether reading the file survived oddities; told with its first conversation.
    fn is_odd(&self) -> bool {
        self.line.problems > 0 && self.line.conversation == 0
    }

    fn which(&self) -> String {
        match self.line.conversations {
            1 => self.line.file.clone(),
            _ => format!("{} conversation {}", self.line.file, self.line.conversation),
        }
    }

    /// A label and a text behind it, broken to fit.
    fn write_line(&self, page: &mut Page, label: &str, text: &str) {
        if label.is_empty() {
            writeln!(page, "{}", columns::wrap(text, self.width, 2));
        } else {
            self.write_labelled(page, &format!("{label:<width$}", width = LABEL_CHARS - 2), text);
        }
    }

    /// The same with a label that is as wide as its column.
    fn write_labelled(&self, page: &mut Page, label: &str, text: &str) {
        let wrapped = columns::wrap(text, self.width - LABEL_CHARS, 0);
        for (at, row) in wrapped.lines().enumerate() {
            let blank = " ".repeat(LABEL_CHARS - 2);
            let label = if at == 0 { label } else { &blank };
            writeln!(page, "  {label}{}", row.replace(IN_COMMAND, " "));
        }
    }

    /// How large it was and is, in the model's tokens.
    fn write_head(&self, page: &mut Page) {
        let RecordLine { by_model, saves, .. } = self.line;
        let verb = if self.args.dry_run { " would go" } else { "" };
        let (before, after) = (by_model.tokens_before, by_model.tokens_after);
        let mut text = format!("{}:{verb} {before} → {after} tokens", self.which());
        text += &self.share_text();
        if saves.tokens_per_call.0 > 0 {
            text += &format!("; each call from here sends {} fewer", saves.tokens_per_call);
            if let Some((cached, fresh)) = saves.dollars_per_call_cached.zip(saves.dollars_per_call_uncached)
            {
                text += &format!(", ${cached:.4} less from the provider's cache, ${fresh:.4} without");
            }
        }
        self.write_line(page, "", &text);
        self.write_misfit(page);
        self.write_target(page);
    }

    fn write_change(&self, page: &mut Page, change: &Change) {
        let [went, stays] = if self.args.dry_run { ["would go", "would stay"] } else { ["went", "stays"] };
        self.write_line(page, went, &self.went_text(change));
        self.write_line(page, stays, &stays_text(change));
        self.write_line(page, "not in view", &self.loss_text(change));
        self.write_line(page, "seen first", &self.line.seen_first);
        self.write_line(page, "undo", &self.undo_text());
    }

    fn went_text(&self, change: &Change) -> String {
        let mut parts = Vec::new();
        let left = draw::counted(self.line.left_view, "message");
        match (&change.summary, change.dropped.is_empty()) {
            (Some(_), true) => parts.push(format!(
                "{left}, told in a summary of {} tokens ({})",
                change.summary_tokens,
                self.author_text(change)
            )),
            (Some(_), false) => parts.push(format!(
                "{left}, {} of them without a summary; the rest is told in one of {} tokens ({})",
                grouped(change.dropped.len() as u64),
                change.summary_tokens,
                self.author_text(change)
            )),
            (None, false) => parts.push(format!("{left}, without a summary")),
            (None, true) => {}
        }
        if !change.pruned.is_empty() {
            let pruned = draw::counted(change.pruned.len(), "message");
            parts.push(format!("the bulk of {pruned}, with a pointer in its place"));
        }
        if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
    }

    /// Who wrote the summary, and what that took.
    fn author_text(&self, change: &Change) -> String {
        let (record, plan) = (&self.line.record, self.line.plan.as_ref());
        let by = change.summarizer.as_deref().unwrap_or("no model");
        if let Some(calls) = plan.and_then(|plan| plan.sketch.calls.as_ref()) {
            return format!("{by} in place of {}, which a dry run does not ask", calls.summarizer);
        }
        if record.spent.calls > 0 {
            format!("by {by}; {}", spent_text(&record.spent))
        } else {
            format!("by {by}, free")
        }
    }

    fn loss_text(&self, change: &Change) -> String {
        let LossReport { kept, recoverable, lost, .. } = change.loss;
        let (out, all) = (recoverable + lost, kept + recoverable + lost);
        let went = if self.args.dry_run { "what would go" } else { "what went" };
        let is_pruning = change.superseded.is_empty() && change.dropped.is_empty();
        let facts = match (all, out) {
            (0, _) if is_pruning && !change.pruned.is_empty() => {
                "the bulk behind each pointer, whose facts are not counted".to_owned()
            }
            (0, _) => format!("no fact was found in {went}"),
            (_, 0) => {
                format!("none of {} of {went}: all are in view", draw::counted(all as usize, "fact"))
            }
            (_, _) => format!(
                "{} of {} of {went}: a pointer in view leads to {}, {} in {} alone",
                grouped(out),
                draw::counted(all as usize, "fact"),
                grouped(recoverable),
                match lost {
                    1 => "1 is".to_owned(),
                    lost => format!("{} are", grouped(lost)),
                },
                if self.line.session.is_some() { "the store" } else { "the file" },
            ),
        };
        let recall = self.line.recall.as_ref().filter(|_| out > 0);
        recall.map_or(facts.clone(), |recall| format!("{facts}; recall: {}", whole(recall)))
    }

    fn undo_text(&self) -> String {
        if self.args.dry_run {
            return "nothing was written; leave out --dry-run to do it".to_owned();
        }
        if let Some(session) = self.line.session {
            return whole(&format!("epitome undo --session {session}{}", self.args.stored.store.flag()));
        }
        match (&self.line.output, self.line.body) {
            (_, Some(_)) => format!("not possible from a request body; {} is as it was", self.line.file),
            (Some(out), None) => whole(&format!("epitome undo {} -o FILE", shell_word(out))),
            (None, None) => "epitome undo FILE -o ORIGINAL, FILE being where standard output went".to_owned(),
        }
    }

    /// Says so where a model was asked and did not write what stands there now.
    fn write_failed_model(&self, page: &mut Page) {
        let Record { spent, fallbacks, .. } = &*self.line.record;
        if spent.calls > 0 && !self.args.verbose {
            for fallback in fallbacks {
                self.write_line(page, "tried", &format!("{}: {}", fallback.strategy, fallback.why));
            }
        }
    }

    /// What a person should know of the file and its window.
    fn write_file_notes(&self, page: &mut Page) {
        if let Some(protocol) = self.line.body {
            write_substitutes(page, "  ", protocol, &self.line.substitutes);
        }
        if self.line.window_source == WindowSource::Guess {
            let guess = window_text(self.line.window_source);
            self.write_line(page, "note", &format!("the window is {guess}; name it with --window"));
        }
    }

    /// All there is.
    fn write_more(&self, page: &mut Page) {
        let RecordLine { record, by_model, problems, plan, .. } = self.line;
        self.write_line(page, "counted", &format!("by {}", by_model.count_method));
        if by_model.count_method != *record.count_method {
            let (before, after, by) = (record.tokens_before, record.tokens_after, &record.count_method);
            let text =
                format!("{before} → {after} by the preset's own count, {by}, which its limits are held to");
            self.write_line(page, "preset", &text);
        }
        if let Some(change) = record.change() {
            self.write_how(page, change);
            self.write_classes(page, &change.loss);
        }
        if let Some(plan) = plan {
            self.write_plan(page, plan);
        }
        for note in &record.notes {
            self.write_line(page, "note", note);
        }
        for hook in &record.hooks {
            self.write_line(page, "hook", &format!("{}: {} ({} ms)", hook.name, hook.told, hook.duration_ms));
        }
        for fallback in &record.fallbacks {
            self.write_line(page, "tried", &format!("{}: {}", fallback.strategy, fallback.why));
        }
        if self.is_odd() {
            let odd = draw::counted(*problems, "place");
            let text = format!("{odd} of the file could not be read as usual; `epitome inspect` lists them");
            self.write_line(page, "note", &text);
        }
    }

    fn write_how(&self, page: &mut Page, change: &Change) {
        let covered = change.superseded.len();
        let mut text = format!("by `{}` in {} ms", change.strategy, self.line.record.duration_ms);
        if covered > self.line.left_view {
            let before = covered - self.line.left_view;
            let text_more = format!(
                "; the summary covers {}, {} of them out of view before",
                draw::counted(covered, "message"),
                grouped(before as u64)
            );
            text += &text_more;
        }
        if change.loss.repaired > 0 {
            let put_back = draw::counted(change.loss.repaired as usize, "fact");
            text += &format!("; {put_back} put back into the summary after it was checked");
        }
        self.write_line(page, "how", &text);
    }

    /// What became of the facts of what went, class by class, with examples of those in the file alone.
    fn write_classes(&self, page: &mut Page, loss: &LossReport) {
        let mut examples: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for fact in &loss.lost_examples {
            let told = format!("{} ({})", columns::cut(&fact.value, QUOTE_CHARS), fact.source);
            examples.entry(fact.class).or_default().push(told);
        }
        for (class, count) in &loss.by_class {
            let text = format!(
                "{}: {} in view, {} by pointer, {} in the file alone",
                class.name(),
                grouped(count.kept),
                grouped(count.recoverable),
                grouped(count.lost)
            );
            self.write_line(page, "facts", &text);
            let told = examples.get(class).into_iter().flatten();
            told.for_each(|told| self.write_line(page, "  such as", told));
        }
    }

    /// How it would be done, and what that would take.
    fn write_plan(&self, page: &mut Page, PricedPlan { sketch, cost_max }: &PricedPlan) {
        let chain: Vec<String> = sketch.strategies.iter().map(ToString::to_string).collect();
        let text = format!("{}, down to {} tokens of history", chain.join(", then "), sketch.target);
        self.write_line(page, "plan", &text);
        let Some(calls) = &sketch.calls else { return };
        let price = cost_max.map_or("price unknown".to_owned(), |most| format!("up to about ${most:.4}"));
        let (who, input, output_max) = (&calls.summarizer, calls.input, calls.output_max);
        let asked = calls_text(calls.calls);
        let text = format!("{asked} of {who}, about {input} tokens in, at most {output_max} out, {price}");
        self.write_line(page, "calls", &text);
    }
}

/// A command that no line is broken in: it is to be copied.
fn whole(command: &str) -> String {
    command.replace(' ', IN_COMMAND)
}

fn stays_text(change: &Change) -> String {
    if change.kept.is_empty() {
        return "no message: the summary stands for all of them".to_owned();
    }
    let pruned: HashSet<EntryId> = change.pruned.iter().copied().collect();
    let pruned = change.kept.iter().filter(|id| pruned.contains(id)).count();
    let mut text = format!("{} word for word", draw::counted(change.kept.len() - pruned, "message"));
    if pruned > 0 {
        let whose = if pruned == 1 { "its" } else { "their" };
        text += &format!(", {} with a pointer in place of {whose} bulk", grouped(pruned as u64));
    }
    if let count @ 1.. = change.folded.len() {
        text += &format!(", {} of them inside the summary", grouped(count as u64));
    }
    if let count @ 1.. = change.reduced.len() {
        let named: Vec<String> = change.reduced.iter().map(ToString::to_string).collect();
        let verb = if count == 1 { "is" } else { "are" };
        text += &format!(", but {} {verb} cut to beginning and end", named.join(", "));
    }
    text
}

/// What the model sees first of a compacted context: a message that stands in front of the summary, and how that begins.
/// A summary stands behind all that is kept from before the end of what it covers.
pub(super) fn seen_first(change: &Change, message: impl Fn(EntryId) -> Option<String>) -> String {
    let end = change.superseded.iter().chain(&change.dropped).max();
    let is_front = |id: &&EntryId| !change.folded.contains(id) && end.is_none_or(|end| *id < end);
    let front = change.kept.iter().find(is_front);
    let front = front.and_then(|id| Some(format!("{id} “{}”", columns::cut(&message(*id)?, QUOTE_CHARS))));
    let body = change.summary.as_deref().map(fence::body).unwrap_or_default();
    let summary = (!body.is_empty()).then(|| format!("the summary: “{}”", columns::cut(body, QUOTE_CHARS)));
    let parts: Vec<String> = front.into_iter().chain(summary).collect();
    if parts.is_empty() { "the messages that stay".to_owned() } else { parts.join(", then ") }
}
