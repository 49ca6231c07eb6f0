//! Surveys as one page for a browser that needs nothing else: styles inside, plots drawn by us, no script. All that comes from
//! a transcript is escaped.

use super::fill::{FillSource, PartKind};
use super::survey::Survey;
use super::waste::is_said_whole;
use super::{plot, words};
use crate::draw::{counted, grouped, percent};
use epitome_core::Tokens;
use epitome_core::ledger::Operation;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");
/// Nothing is fetched and nothing is run, whatever a transcript holds.
const NOTHING_ELSE: &str = "default-src 'none'; style-src 'unsafe-inline'";
/// Rows of a table before the rest is folded away.
const ROWS_SHOWN: usize = 10;
/// Rows of a table at all: a page is looked at, and `--json` has everything.
const ROWS_MAX: usize = 500;

/// The page of some surveys.
pub fn page(surveys: &[Survey]) -> String {
    let title = match surveys {
        [one] => one.file.clone(),
        several => format!("{} conversations", several.len()),
    };
    let mut body = String::new();
    match surveys {
        [one] => body.push_str(&conversation(one)),
        several => several.iter().enumerate().for_each(|(at, one)| body.push_str(&folded(at, one))),
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{NOTHING_ELSE}\">\n\
         <title>{} – what fills it</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(&title)
    )
}

/// A text from elsewhere, as HTML shows it.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() && c != '\n' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// One of several: folded, but the first, with its figure in the line that is left.
fn folded(at: usize, survey: &Survey) -> String {
    let open = if at == 0 { " open" } else { "" };
    let number =
        if survey.conversations > 1 { format!(" · {}", survey.conversation) } else { String::new() };
    format!(
        "<details class=\"conversation\"{open}><summary>{}{number}: {}</summary>\n{}</details>\n",
        escaped(&survey.file),
        escaped(&words::headline(survey)),
        conversation(survey)
    )
}

fn conversation(survey: &Survey) -> String {
    let parts = [
        ("What fills it", fill(survey)),
        ("The request over time", time(survey)),
        ("By tool", tools(survey)),
        ("By file", files(survey)),
        ("Largest messages", largest(survey)),
        ("What could be freed without a summary", waste(survey)),
        ("What it cost", cost(survey)),
        ("What was done", ledger(survey)),
        ("What is odd about the file", problems(survey)),
    ];
    let mut html = head(survey);
    for (title, content) in parts.iter().filter(|(_, content)| !content.is_empty()) {
        let _ = write!(html, "<section class=\"card\"><h2>{title}</h2>\n{content}</section>\n");
    }
    html
}

fn head(survey: &Survey) -> String {
    let (tokens, window) = (survey.fill.tokens, survey.window.tokens);
    let about = if survey.fill.from == FillSource::Estimate { "about " } else { "" };
    let faint = |text: String| format!("<p class=\"faint\">{}</p>\n", escaped(&text));
    format!(
        "<header class=\"head\"><h1>{}</h1>\n{}<p class=\"figure\">{about}{tokens} <small>of {window} tokens, {} %</small></p>\n\
         {}{}{}{}</header>\n",
        escaped(&survey.file),
        faint(words::title(survey)),
        percent(tokens.0, window.0),
        strip(survey),
        faint(words::headline_source(survey)),
        faint(words::window(survey)),
        faint(words::messages(survey)),
    )
}

/// The whole window in one bar.
fn strip(survey: &Survey) -> String {
    let window = survey.window.tokens.0.max(survey.fill.tokens.0).max(1);
    let mut spans = String::new();
    for one in &survey.fill.parts {
        let share = one.tokens.0 as f64 * 100.0 / window as f64;
        let (label, colour) = (one.part.label(), colour(one.part));
        let _ = write!(
            spans,
            "<span style=\"width:{share:.3}%;background:var(--{colour})\" title=\"{label}: {} tokens\"></span>",
            one.tokens
        );
    }
    let label = escaped(&words::headline(survey));
    format!("<div class=\"strip\" role=\"img\" aria-label=\"{label}\">{spans}</div>\n")
}

fn colour(part: PartKind) -> &'static str {
    match part {
        PartKind::Unrecorded => "unrecorded",
        PartKind::System => "system",
        PartKind::Summary => "summary",
        PartKind::Text => "text",
        PartKind::Thinking => "thinking",
        PartKind::Calls => "calls",
        PartKind::Results => "results",
        PartKind::Images => "images",
        PartKind::Sealed => "sealed",
        PartKind::Overhead => "overhead",
    }
}

/// A bar of a share of the window.
fn bar(tokens: Tokens, window: Tokens, colour: &str) -> String {
    let share = (tokens.0 as f64 * 100.0 / window.0.max(1) as f64).min(100.0);
    format!(
        "<td class=\"bar\"><div class=\"track\"><span style=\"width:{share:.3}%;background:var(--{colour})\"></span></div></td>"
    )
}

fn figures(tokens: Tokens, window: Tokens) -> String {
    let share = percent(tokens.0, window.0);
    let share = if share == 0 && tokens > Tokens::ZERO { "&lt;1".to_owned() } else { share.to_string() };
    format!("<td class=\"number\">{tokens}</td><td class=\"number\">{share} %</td>")
}

fn fill(survey: &Survey) -> String {
    let window = survey.window.tokens;
    let row = |label: &str, about: &str, colour: &str, tokens| {
        format!(
            "<tr><td class=\"name\"><span class=\"swatch\" style=\"background:var(--{colour})\"></span>{label}{}</td>{}{}</tr>\n",
            if about.is_empty() {
                String::new()
            } else {
                format!("<br><span class=\"faint\">{about}</span>")
            },
            figures(tokens, window),
            bar(tokens, window, colour)
        )
    };
    let parts = survey.fill.parts.iter();
    let mut rows: String = parts
        .map(|one| row(one.part.label(), one.part.about().unwrap_or_default(), colour(one.part), one.tokens))
        .collect();
    rows.push_str(&row("free", "", "free", survey.fill.free));
    let note = if survey.fill.from == FillSource::Count {
        format!("<p class=\"faint\">{}</p>", words::NO_USAGE)
    } else {
        String::new()
    };
    format!("<table><tbody>\n{rows}</tbody></table>{note}")
}

fn time(survey: &Survey) -> String {
    let mut html = plot::over_time(survey);
    for found in &survey.compactions {
        let _ = writeln!(html, "<p>{}</p>", escaped(&words::compaction(found)));
    }
    html
}

/// A table, its rows beyond the first few folded away.
fn table(head: &str, rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let (shown, rest) = rows.split_at(rows.len().min(ROWS_SHOWN));
    let table = |rows: &[String]| {
        format!("<table><thead><tr>{head}</tr></thead><tbody>\n{}</tbody></table>\n", rows.concat())
    };
    if rest.is_empty() {
        return table(shown);
    }
    let listed = &rest[..rest.len().min(ROWS_MAX)];
    let more = if listed.len() < rest.len() { " (the first of them; --json lists all)" } else { "" };
    let count = grouped(rest.len() as u64);
    format!("{}<details><summary>{count} more{more}</summary>{}</details>\n", table(shown), table(listed))
}

fn tools(survey: &Survey) -> String {
    let window = survey.window.tokens;
    let row = |tool: &epitome_core::ToolShare| {
        let tokens = tool.call_tokens + tool.result_tokens;
        format!(
            "<tr><td class=\"name mono\">{}</td><td class=\"number\">{}</td>{}{}</tr>\n",
            escaped(&tool.name),
            grouped(tool.calls as u64),
            figures(tokens, window),
            bar(tokens, window, "results")
        )
    };
    let rows: Vec<String> = survey.fill.tools.iter().map(row).collect();
    table(
        "<th>tool</th><th class=\"number\">calls</th><th class=\"number\">tokens</th><th class=\"number\">share</th><th class=\"bar\"></th>",
        &rows,
    )
}

fn files(survey: &Survey) -> String {
    let window = survey.window.tokens;
    let listed = survey.fill.files.iter().take(ROWS_SHOWN);
    let folder = words::common_folder(listed.map(|file| &*file.path));
    let row = |file: &epitome_core::FileShare| {
        let path = file.path.strip_prefix(folder).unwrap_or(&file.path);
        format!(
            "<tr><td class=\"name mono\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>{}{}</tr>\n",
            escaped(path),
            file.reads,
            file.changes,
            figures(file.tokens, window),
            bar(file.tokens, window, "calls")
        )
    };
    let rows: Vec<String> = survey.fill.files.iter().map(row).collect();
    let place = if folder.is_empty() {
        String::new()
    } else {
        format!("<p class=\"faint mono\">in {}</p>", escaped(folder))
    };
    let table = table(
        "<th>file</th><th class=\"number\">reads</th><th class=\"number\">changes</th><th class=\"number\">tokens</th><th class=\"number\">share</th><th class=\"bar\"></th>",
        &rows,
    );
    if table.is_empty() { table } else { format!("{place}{table}") }
}

fn largest(survey: &Survey) -> String {
    let row = |large: &epitome_core::MessageShare| {
        let file =
            large.file.as_deref().map(|file| format!(" <span class=\"mono faint\">{}</span>", escaped(file)));
        format!(
            "<tr><td class=\"mono\">{}</td><td class=\"name\">{}{}</td>{}</tr>\n",
            large.id,
            escaped(&words::message(large)),
            file.unwrap_or_default(),
            figures(survey.conversion.theirs(large.tokens), survey.window.tokens)
        )
    };
    let rows: Vec<String> = survey.largest.iter().map(row).collect();
    table("<th>id</th><th>whose</th><th class=\"number\">tokens</th><th class=\"number\">share</th>", &rows)
}

fn waste(survey: &Survey) -> String {
    let window = survey.window.tokens;
    let row = |one: &super::waste::WasteRemedy| {
        format!(
            "<tr><td class=\"name\">{}<br><code class=\"faint\">{}</code></td><td class=\"number\">{}</td>{}{}</tr>\n",
            one.label(),
            one.setting(),
            counted(one.messages, "message"),
            figures(one.frees, window),
            bar(one.frees, window, "images")
        )
    };
    let rows: Vec<String> = survey.waste.shown().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut html = table(
        "<th>what</th><th class=\"number\"></th><th class=\"number\">would free</th><th class=\"number\">share</th><th class=\"bar\"></th>",
        &rows,
    );
    let repeated = survey.waste.repeated_results;
    if repeated.count > 0 {
        let tokens = survey.conversion.theirs(repeated.tokens);
        let _ = write!(html, "<p class=\"faint\">{tokens} tokens {}</p>", words::repeated(repeated.count));
    }
    let _ = write!(html, "<p class=\"faint\">{}</p>", escaped(words::PRUNED));
    match survey.waste.command() {
        Some((lead, command)) => {
            let (lead, command) = (escaped(&lead), escaped(command));
            let _ = write!(html, "<p>{lead}</p><pre tabindex=\"0\">{command}</pre>");
            if is_said_whole(survey.format) {
                let _ = write!(html, "<p class=\"faint\">{}</p>", escaped(&words::said_whole(survey.format)));
            }
        }
        None => {
            let _ = write!(html, "<p>{}</p>", escaped(words::NOT_ENOUGH));
        }
    }
    html
}

fn cost(survey: &Survey) -> String {
    let bill = &survey.cost;
    let copied = words::copied(survey).map(|text| format!("<p class=\"faint\">{}</p>", escaped(&text)));
    if bill.lines.is_empty() {
        return copied.unwrap_or_default();
    }
    let row = |day: &str, model: &str, line: &epitome_tokens::BillLine| {
        format!(
            "<tr><td>{}</td><td class=\"name mono\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{} %</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
            escaped(day),
            escaped(model),
            grouped(line.calls),
            grouped(line.usage.prompt),
            percent(line.usage.cache_read, line.usage.prompt),
            grouped(line.usage.output),
            words::dollars(line.dollars)
        )
    };
    let mut rows = vec![row("total", "", &bill.total)];
    rows.extend(bill.lines.iter().rev().map(|line| {
        row(line.day.as_deref().unwrap_or("no date"), line.model.as_deref().unwrap_or("no model"), &line.line)
    }));
    let mut html = plot::by_day(bill);
    html.push_str(&table(
        "<th>day (UTC)</th><th>model</th><th class=\"number\">calls</th><th class=\"number\">tokens in</th>\
         <th class=\"number\">cached</th><th class=\"number\">tokens out</th><th class=\"number\">list price</th>",
        &rows,
    ));
    if let Some(aside) = words::aside(survey) {
        let _ = write!(html, "<p class=\"faint\">{}</p>", escaped(&aside));
    }
    if bill.total.dollars.is_none() {
        let _ = write!(html, "<p class=\"faint\">{}</p>", words::NO_PRICE);
    }
    html + &copied.unwrap_or_default()
}

fn ledger(survey: &Survey) -> String {
    let changed = survey.ledger.files.iter().rev().filter(|file| file.standing() != Operation::Read);
    let row = |file: &epitome_core::ledger::FileRecord| {
        format!(
            "<tr><td>{}</td><td class=\"name mono\">{}</td></tr>\n",
            file.standing().name(),
            escaped(&file.path)
        )
    };
    let rows: Vec<String> = changed.map(row).collect();
    format!(
        "<p>{}</p>\n{}",
        words::ledger(&survey.ledger),
        table("<th></th><th>file, newest change first</th>", &rows)
    )
}

fn problems(survey: &Survey) -> String {
    let row =
        |problem| format!("<tr><td class=\"name warn\">{}</td></tr>\n", escaped(&words::problem(problem)));
    let rows: Vec<String> = survey.problems.iter().map(row).collect();
    table("<th></th>", &rows)
}
