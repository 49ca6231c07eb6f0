//! A survey as a person looks at it in a terminal.

use super::fill::{FillSource, PartKind};
use super::sheet::Sheet;
use super::survey::Survey;
use super::waste::is_said_whole;
use super::words;
use crate::columns::{Align, LongWord, cut_front, cut_middle, padded, plain, width, wrapped};
use crate::draw::{self, Paint, counted, grouped};
use crate::output::Page;
use epitome_core::Tokens;
use epitome_core::ledger::Operation;

/// How many tools, files and problems are listed before the rest is only counted.
const LISTED_MAX: usize = 8;
/// How many days of a bill are listed.
const DAYS_MAX: usize = 10;

/// A survey, ready to be printed.
pub fn page(survey: &Survey) -> Page {
    let mut sheet = Sheet::for_terminal();
    write_title(&mut sheet, survey);
    write_fill(&mut sheet, survey);
    write_tools(&mut sheet, survey);
    write_files(&mut sheet, survey);
    write_largest(&mut sheet, survey);
    write_waste(&mut sheet, survey);
    write_cost(&mut sheet, survey);
    write_time(&mut sheet, survey);
    write_ledger(&mut sheet, survey);
    write_problems(&mut sheet, survey);
    sheet.gap();
    sheet.finish()
}

fn write_title(sheet: &mut Sheet, survey: &Survey) {
    let file = cut_front(&survey.file, sheet.columns);
    sheet.outdented(&sheet.paint.bold(&file));
    for line in wrapped(&plain(&words::title(survey)), sheet.columns, 0, LongWord::Broken) {
        sheet.outdented(&sheet.paint.dim(&line));
    }
    sheet.gap();
    sheet.prose(&words::headline(survey), Paint::bold);
    write_strip(sheet, survey);
    sheet.aside(&words::headline_source(survey));
    sheet.aside(&words::window(survey));
    sheet.aside(&words::messages(survey));
}

/// The window in one line: what is not in the file, what is, and what is free.
fn write_strip(sheet: &mut Sheet, survey: &Survey) {
    let cells = sheet.columns - 2;
    let window = survey.window.tokens.0;
    let outside = survey.fill.unrecorded.unwrap_or_default() + survey.fixed;
    let at = |Tokens(tokens)| draw::share(tokens.min(window), window, cells as u64) as usize;
    let (first, used) = (at(outside), at(survey.fill.tokens));
    let strip = format!("{}{}", "▓".repeat(first), "█".repeat(used.saturating_sub(first)));
    let free = "░".repeat(cells.saturating_sub(first.max(used)));
    sheet.line(&format!("{}{}", sheet.paint.bar(&strip), sheet.paint.dim(&free)));
    let signs = [("▓ what stands before the messages", first), ("█ messages", used.saturating_sub(first))];
    let signs = signs.into_iter().chain([("░ free", cells.saturating_sub(first.max(used)))]);
    let legend: Vec<&str> = signs.filter(|(_, cells)| *cells > 0).map(|(sign, _)| sign).collect();
    sheet.aside(&legend.join(", "));
}

fn write_fill(sheet: &mut Sheet, survey: &Survey) {
    let window = survey.window.tokens;
    sheet.heading("What fills it, in shares of the window");
    for one in &survey.fill.parts {
        sheet.bar_row(one.part.label(), one.tokens, window, "");
    }
    sheet.free_row("free", survey.fill.free, window);
    let shown: Vec<PartKind> = survey.fill.parts.iter().map(|one| one.part).collect();
    for part in shown {
        if let Some(about) = part.about() {
            sheet.aside(&format!("{}: {about}", part.label()));
        }
    }
    if survey.fill.from == FillSource::Count {
        sheet.aside(words::NO_USAGE);
    }
}

fn write_tools(sheet: &mut Sheet, survey: &Survey) {
    let tools = &survey.fill.tools;
    if tools.is_empty() {
        return;
    }
    sheet.heading("By tool: calls and their results");
    for tool in tools.iter().take(LISTED_MAX) {
        let tokens = tool.call_tokens + tool.result_tokens;
        sheet.bar_row(&tool.name, tokens, survey.window.tokens, &counted(tool.calls, "call"));
    }
    let rest = tools.iter().skip(LISTED_MAX).map(|tool| tool.call_tokens + tool.result_tokens);
    write_rest(sheet, rest, "tool");
}

fn write_files(sheet: &mut Sheet, survey: &Survey) {
    let files = &survey.fill.files;
    if files.is_empty() {
        return;
    }
    sheet.heading("By file: what reading and changing it takes");
    let listed = &files[..files.len().min(LISTED_MAX)];
    let folder = words::common_folder(listed.iter().map(|file| &*file.path));
    if !folder.is_empty() {
        sheet.aside(&format!("in {folder}"));
    }
    for file in listed {
        let path = file.path.strip_prefix(folder).unwrap_or(&file.path);
        sheet.figure_row(file.tokens, survey.window.tokens, &words::file_uses(file), path);
    }
    write_rest(sheet, files.iter().skip(LISTED_MAX).map(|file| file.tokens), "file");
}

fn write_rest(sheet: &mut Sheet, rest: impl Iterator<Item = Tokens>, what: &str) {
    let rest: Vec<Tokens> = rest.collect();
    if !rest.is_empty() {
        let tokens: Tokens = rest.iter().copied().sum();
        sheet.aside(&format!("and {} more, {tokens} tokens (--json lists them)", counted(rest.len(), what)));
    }
}

fn write_largest(sheet: &mut Sheet, survey: &Survey) {
    if survey.largest.is_empty() {
        return;
    }
    sheet.heading("Largest messages (`epitome recall FILE ID` prints one)");
    for large in &survey.largest {
        let tokens = survey.conversion.theirs(large.tokens);
        let words = format!("{}  {}", large.id, words::message(large));
        sheet.figure_row(tokens, survey.window.tokens, &words, large.file.as_deref().unwrap_or_default());
    }
}

fn write_waste(sheet: &mut Sheet, survey: &Survey) {
    if survey.waste.remedies.is_empty() {
        return;
    }
    sheet.heading("What could be freed without a summary");
    let window = survey.window.tokens;
    for one in survey.waste.shown() {
        let messages = counted(one.messages, "message");
        sheet.figure_prose(one.frees, window, &format!("{} ({messages}; {})", one.label(), one.setting()));
    }
    let repeated = survey.waste.repeated_results;
    if repeated.count > 0 {
        let tokens = survey.conversion.theirs(repeated.tokens);
        sheet.figure_prose(tokens, window, &words::repeated(repeated.count));
    }
    sheet.aside(words::PRUNED);
    write_command(sheet, survey);
}

fn write_command(sheet: &mut Sheet, survey: &Survey) {
    let Some((lead, command)) = survey.waste.command() else { return sheet.aside(words::NOT_ENOUGH) };
    sheet.aside(&lead);
    sheet.command(command);
    if is_said_whole(survey.format) {
        sheet.aside(&words::said_whole(survey.format));
    }
}

fn write_cost(sheet: &mut Sheet, survey: &Survey) {
    let bill = &survey.cost;
    if bill.lines.is_empty() && survey.copied_calls == 0 {
        return;
    }
    sheet.heading("What it cost, at list prices");
    if let Some(copied) = words::copied(survey) {
        sheet.aside(&copied);
    }
    if bill.lines.is_empty() {
        return;
    }
    let earlier = bill.lines.len().saturating_sub(DAYS_MAX);
    if earlier > 0 {
        sheet.aside(&format!("{} before these (--json lists them)", counted(earlier, "line")));
    }
    for line in &bill.lines[earlier..] {
        let day = line.day.as_deref().unwrap_or("no date");
        write_bill_line(sheet, day, line.model.as_deref().unwrap_or("no model"), &line.line);
    }
    write_bill_line(sheet, "total", "", &bill.total);
    if let Some(aside) = words::aside(survey) {
        sheet.aside(&aside);
    }
    if bill.total.dollars.is_none() {
        sheet.aside(words::NO_PRICE);
    }
}

fn write_bill_line(sheet: &mut Sheet, day: &str, model: &str, line: &epitome_tokens::BillLine) {
    let calls = counted(line.calls as usize, "call");
    let tokens = if sheet.columns < 100 { String::new() } else { words::billed_tokens(line) };
    let room = sheet.columns.saturating_sub(2 + 12 + 13 + 13 + width(&tokens)).min(36);
    let model = padded(&cut_middle(model, room), room, Align::Left);
    sheet.line(&format!("{day:<10}  {model} {calls:>12}{tokens}{:>12}", words::dollars(line.dollars)));
}

fn write_time(sheet: &mut Sheet, survey: &Survey) {
    sheet.heading("The request over time");
    let line = draw::line(&survey.fill.over_time, sheet.columns - 2);
    sheet.line(&sheet.paint.bar(&line));
    let most = survey.fill.over_time.iter().copied().max().unwrap_or(0);
    sheet.aside(&format!("at most {} tokens", grouped(most)));
    for found in &survey.compactions {
        sheet.prose(&words::compaction(found), |_, text| text.to_owned());
    }
}

fn write_ledger(sheet: &mut Sheet, survey: &Survey) {
    sheet.heading("What was done");
    sheet.prose(&words::ledger(&survey.ledger), |_, text| text.to_owned());
    let changed = survey.ledger.files.iter().rev().filter(|file| file.standing() != Operation::Read);
    let changed: Vec<_> = changed.collect();
    for file in changed.iter().take(LISTED_MAX) {
        let room = sheet.columns - 12;
        sheet.line(&format!(
            "{} {}",
            sheet.paint.dim(&format!("{:<8}", file.standing().name())),
            cut_front(&file.path, room)
        ));
    }
    let rest = changed.len().saturating_sub(LISTED_MAX);
    if rest > 0 {
        sheet.aside(&format!("and {} more (--json lists them)", counted(rest, "changed file")));
    }
}

fn write_problems(sheet: &mut Sheet, survey: &Survey) {
    if survey.problems.is_empty() {
        return;
    }
    sheet.heading("What is odd about the file");
    for problem in survey.problems.iter().take(LISTED_MAX) {
        sheet.prose(&plain(&words::problem(problem)), Paint::warn);
    }
    let rest = survey.problems.len().saturating_sub(LISTED_MAX);
    if rest > 0 {
        sheet.prose(&format!("and {rest} more (--json lists them)"), Paint::warn);
    }
}
