//! A survey as a person looks at it.

use super::survey::Survey;
use crate::draw::{self, Paint, grouped};
use epitome_core::{Sizes, Tokens, ledger::Operation};

/// How many files, commands and problems are listed before the rest is only counted.
const LISTED_MAX: usize = 8;

/// Prints a survey.
pub fn print(survey: &Survey) {
    let paint = Paint::stdout();
    println!("{}  {}", paint.bold(&survey.file), paint.dim(&title(survey)));
    print_window(survey, paint);
    print_kinds(&survey.context.by_kind, survey, paint);
    println!("\n  {}", paint.dim("context over time"));
    println!("  {}", paint.bar(&draw::line(&survey.over_time, 72)));
    print_compactions(survey);
    print_largest(survey);
    print_ledger(survey, paint);
    print_problems(survey, paint);
    println!();
}

fn title(survey: &Survey) -> String {
    let model = survey.model.as_deref().unwrap_or("no model named");
    format!("{}, conversation {}, {model}", survey.format, survey.conversation)
}

fn print_window(survey: &Survey, paint: Paint) {
    let used = survey.fixed + survey.context.tokens;
    let window = survey.window.tokens;
    println!(
        "  {} of {} tokens in view ({} %), {} kept free for the answer",
        used,
        grouped(window),
        used.0 * 100 / window.max(1),
        survey.reserve
    );
    println!(
        "  {}",
        paint.dim(&format!("window from {}, counted by {}", survey.window.source, survey.count_method))
    );
    if let Some(usage) = survey.usage {
        println!(
            "  {}",
            paint.dim(&format!("the provider counted {} for its newest prompt", grouped(usage.prompt)))
        );
    }
    println!(
        "  {} messages in view of {} ever said ({} tokens); {} turns, {} exchanges, {} replies\n",
        survey.context.messages,
        survey.history.messages,
        survey.history.tokens,
        survey.turns,
        survey.exchanges,
        survey.replies
    );
}

fn print_kinds(sizes: &Sizes, survey: &Survey, paint: Paint) {
    let kinds = [
        ("system, tools", survey.fixed),
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
        println!("  {name:<14} {:>10}  {}", tokens.to_string(), paint.bar(&draw::bar(tokens.0, most)));
    }
}

fn print_compactions(survey: &Survey) {
    for found in &survey.compactions {
        println!("  compacted at {}: {} → {} tokens", found.id, found.tokens_before, found.tokens_after);
    }
}

fn print_largest(survey: &Survey) {
    let all: Vec<String> =
        survey.largest.iter().map(|large| format!("{} {}", large.id, large.tokens)).collect();
    println!("  largest: {}", all.join(", "));
}

fn print_ledger(survey: &Survey, paint: Paint) {
    let ledger = &survey.ledger;
    let changed: Vec<_> = ledger.files.iter().filter(|file| file.last != Operation::Read).collect();
    let failed = ledger.commands.iter().filter(|command| command.failed).count();
    println!(
        "\n  {} files read or changed, {} changed; {} commands run, {failed} failed; {} todos open",
        ledger.files.len(),
        changed.len(),
        ledger.commands.len(),
        ledger.open_todos().count()
    );
    for file in changed.iter().rev().take(LISTED_MAX) {
        println!("    {} {}", paint.dim(&format!("{:?}", file.last).to_lowercase()), file.path);
    }
}

fn print_problems(survey: &Survey, paint: Paint) {
    for problem in survey.problems.iter().take(LISTED_MAX) {
        let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        println!("  {}", paint.warn(&format!("! {line}{}", problem.what)));
    }
    if survey.problems.len() > LISTED_MAX {
        println!(
            "  {}",
            paint.warn(&format!("! and {} more (--json lists them)", survey.problems.len() - LISTED_MAX))
        );
    }
}
