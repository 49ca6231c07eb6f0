//! A survey as a person looks at it.

use super::survey::Survey;
use crate::commands::{window_text, write_ledger};
use crate::draw::{self, Paint, grouped};
use crate::output::Page;
use epitome_core::{Sizes, Tokens};

/// How many files, commands and problems are listed before the rest is only counted.
const LISTED_MAX: usize = 8;

/// A survey, ready to be printed.
pub fn page(survey: &Survey) -> Page {
    let (paint, mut page) = (Paint::stdout(), Page::default());
    writeln!(page, "{}  {}", paint.bold(&survey.file), paint.dim(&title(survey)));
    write_window(&mut page, survey, paint);
    write_kinds(&mut page, &survey.context.by_kind, survey, paint);
    writeln!(page, "\n  {}", paint.dim("context over time"));
    writeln!(page, "  {}", paint.bar(&draw::line(&survey.over_time, 72)));
    write_compactions(&mut page, survey);
    write_largest(&mut page, survey);
    writeln!(page);
    write_ledger(&mut page, &survey.ledger, paint);
    write_problems(&mut page, survey, paint);
    writeln!(page);
    page
}

fn title(survey: &Survey) -> String {
    let model = survey.model.as_deref().unwrap_or("no model named");
    format!("{}, conversation {}, {model}", survey.format, survey.conversation)
}

fn write_window(page: &mut Page, survey: &Survey, paint: Paint) {
    let used = survey.request;
    let window = survey.window.tokens.0;
    writeln!(
        page,
        "  {} of {} tokens in view ({} %), {} kept free for the answer",
        used,
        grouped(window),
        used.0 * 100 / window.max(1),
        survey.reserve
    );
    writeln!(
        page,
        "  {}",
        paint.dim(&format!("window {}, counted by {}", window_text(survey.window.from), survey.count_method))
    );
    if let Some(usage) = survey.usage {
        writeln!(
            page,
            "  {}",
            paint.dim(&format!(
                "the provider counted {} for its newest prompt, with whatever it sent that this file does not record",
                grouped(usage.prompt)
            ))
        );
    }
    writeln!(
        page,
        "  {} messages in view of {} ever said ({} tokens); {} turns, {} exchanges, {} replies\n",
        survey.context.messages,
        survey.history.messages,
        survey.history.tokens,
        survey.turns,
        survey.exchanges,
        survey.replies
    );
}

fn write_kinds(page: &mut Page, sizes: &Sizes, survey: &Survey, paint: Paint) {
    let kinds = [
        // By our count, as what stands below it.
        ("system, tools", survey.scale.ours(survey.fixed)),
        ("text", sizes.text),
        ("thinking", sizes.thinking),
        ("calls", sizes.calls),
        ("results", sizes.results),
        ("images", sizes.images),
        ("opaque", sizes.opaque),
        ("framing", sizes.framing),
    ];
    let most = kinds.iter().map(|(_, tokens)| tokens.0).max().unwrap_or(0);
    for (name, tokens) in kinds.into_iter().filter(|(_, tokens)| *tokens > Tokens::ZERO) {
        writeln!(page, "  {name:<14} {:>10}  {}", tokens.to_string(), paint.bar(&draw::bar(tokens.0, most)));
    }
}

fn write_compactions(page: &mut Page, survey: &Survey) {
    for found in &survey.compactions {
        let undone = if found.undone { ", and undone" } else { "" };
        writeln!(
            page,
            "  compacted at {}: {} → {} tokens{undone}",
            found.id, found.tokens_before, found.tokens_after
        );
    }
}

fn write_largest(page: &mut Page, survey: &Survey) {
    let all: Vec<String> =
        survey.largest.iter().map(|large| format!("{} {}", large.id, large.tokens)).collect();
    writeln!(page, "  largest: {}", all.join(", "));
}

fn write_problems(page: &mut Page, survey: &Survey, paint: Paint) {
    for problem in survey.problems.iter().take(LISTED_MAX) {
        let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        writeln!(page, "  {}", paint.warn(&format!("! {line}{}", problem.what)));
    }
    if survey.problems.len() > LISTED_MAX {
        writeln!(
            page,
            "  {}",
            paint.warn(&format!("! and {} more (--json lists them)", survey.problems.len() - LISTED_MAX))
        );
    }
}
