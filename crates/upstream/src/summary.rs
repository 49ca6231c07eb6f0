//! Summaries: recognising that one is asked for, and writing one from the lines of the request.
//!
//! What is written is taken from what was read, so that summaries differ as their conversations do. It is
//! no good summariser: it stands in for one.

use crate::Script;
use crate::parsed_request::ParsedRequest;
use crate::reply::{Reply, Stop};
use epitome_core::{Block, Message, ResultPart, Role};
use epitome_tokens::Counter;
use std::collections::HashSet;
use std::sync::Arc;

/// A summary's length where the request names none: what most prompts ask for.
const SUMMARY_TOKENS: u64 = 1_200;
/// A line is quoted up to here.
const LINE_CHARS_MAX: usize = 180;
/// Shorter lines say too little to be worth quoting.
const LINE_CHARS_MIN: usize = 12;
/// No section is a transcript.
const SECTION_LINES_MAX: usize = 10;

/// Whether a request asks for a summary: by the script's markers, or, where it has none, by the word in the
/// user message it ends with or in its system prompt, where no tools are offered.
pub(crate) fn is_asked(asked: &ParsedRequest, script: &Script) -> bool {
    let instruction = instruction(&asked.messages);
    if script.summary_markers.is_empty() {
        let speaks = |text: &str| text.to_lowercase().contains("summar");
        let is_named = speaks(instruction) || asked.fixed.system.iter().any(|piece| speaks(piece));
        return asked.fixed.tools.is_empty() && is_named;
    }
    let is_in = |text: &str| script.summary_markers.iter().any(|marker| text.contains(marker.as_str()));
    is_in(instruction) || asked.fixed.system.iter().any(|piece| is_in(piece))
}

/// The text a request ends with; empty where a tool spoke last. What stands before it in the same message
/// may be an earlier summary, which asks for nothing.
fn instruction(messages: &[Arc<Message>]) -> &str {
    let last = messages.last().filter(|message| message.role == Role::User);
    let mut texts =
        last.into_iter().flat_map(|message| message.blocks.iter().rev()).filter_map(|block| match block {
            Block::Text { text } => Some(text.as_ref()),
            Block::Thinking { .. }
            | Block::Call(_)
            | Block::Result(_)
            | Block::Image(_)
            | Block::Opaque(_) => None,
        });
    texts.next().unwrap_or_default()
}

/// A section: its title, and the words that put a line under it.
struct Section {
    title: &'static str,
    words: &'static [&'static str],
}

/// What a whole summary is written in.
const WHOLE: [Section; 6] = [
    Section { title: "## Goal", words: &["goal", "task", "want", "please", "implement", "fix", "build"] },
    Section {
        title: "## Constraints & Preferences",
        words: &["must", "never", "always", "do not", "don't", "prefer", "only", "should not"],
    },
    Section {
        title: "## Progress",
        words: &["done", "fixed", "added", "created", "passed", "wrote", "error", "failed", "blocked"],
    },
    Section {
        title: "## Key Decisions",
        words: &["decided", "because", "instead", "chose", "agreed", "rather"],
    },
    Section {
        title: "## Next Steps",
        words: &["next", "todo", "remain", "need to", "still", "open", "later"],
    },
    Section { title: "## Critical Context", words: &["/", ".rs", ".py", ".ts", "::", "="] },
];

/// What the prose of one is written in, where the rest is copied by a machine.
const PROSE: [Section; 6] = [
    Section { title: "## Intent", words: &["goal", "task", "want", "please", "implement", "build"] },
    Section { title: "## Errors and fixes", words: &["error", "failed", "fixed", "fix"] },
    Section { title: "## Problem solving", words: &["decided", "because", "instead", "found", "rather"] },
    Section { title: "## Pending work", words: &["todo", "remain", "need to", "still", "open", "later"] },
    Section { title: "## Current work", words: &["added", "created", "wrote", "now"] },
    Section { title: "## Next step", words: &["next", "then"] },
];
/// How a request for prose begins.
const PROSE_ASKED: &str = "Write the prose of a summary";
/// What most models make of a request for a thousand tokens.
const PROSE_TOKENS: u64 = 900;

fn sections(asked: &ParsedRequest) -> &'static [Section; 6] {
    if instruction(&asked.messages).contains(PROSE_ASKED) { &PROSE } else { &WHOLE }
}

/// The titles a summary is asked for in.
pub(crate) fn titles(asked: &ParsedRequest) -> [&'static str; 6] {
    sections(asked).each_ref().map(|section| section.title)
}

/// What the request says is to be done; where the history stands in the same text, what is behind it.
pub(crate) fn instruction_of(asked: &ParsedRequest) -> String {
    let text = instruction(&asked.messages);
    let behind = text.rfind("\n</").and_then(|at| text[at + 1..].split_once('\n'));
    behind.map_or(text, |(_, told)| told).trim().to_owned()
}

/// A summary of the request's conversation, within its limit.
pub(crate) fn write(asked: &ParsedRequest) -> Reply {
    Reply::text(text(asked)).within(budget(asked), Stop::Length, &asked.counter)
}

fn budget(asked: &ParsedRequest) -> u64 {
    let usual = if sections(asked)[0].title == PROSE[0].title { PROSE_TOKENS } else { SUMMARY_TOKENS };
    asked.output_max().unwrap_or(usual).min(usual)
}

/// The text of one.
pub(crate) fn text(asked: &ParsedRequest) -> String {
    let sections = sections(asked);
    let lines = lines(&asked.messages);
    let mut left: Vec<&str> = lines.iter().map(String::as_str).collect();
    // What was asked first is the goal, whatever its words.
    let goal = if left.is_empty() { None } else { Some(left.remove(0)) };
    let mut chosen: Vec<Vec<&str>> = sections.iter().map(|section| choose(section, &mut left)).collect();
    chosen[0].splice(0..0, goal);
    page(sections, &chosen, budget(asked), &asked.counter)
}

/// Takes the newest lines with one of the section's words out of `left`.
fn choose<'l>(section: &Section, left: &mut Vec<&'l str>) -> Vec<&'l str> {
    let belongs = |line: &str| {
        let line = line.to_lowercase();
        section.words.iter().any(|word| line.contains(word))
    };
    let mut chosen: Vec<&str> =
        left.iter().rev().copied().filter(|line| belongs(line)).take(SECTION_LINES_MAX).collect();
    chosen.reverse();
    left.retain(|line| !chosen.contains(line));
    chosen
}

/// The sections with as many lines each as the budget has room for, the newest first to be let in.
fn page(sections: &[Section], chosen: &[Vec<&str>], budget: u64, counter: &Counter) -> String {
    let cost = |text: &str| counter.count_text(text) + 2;
    let mut room = budget.saturating_sub(sections.iter().map(|section| cost(section.title) + 4).sum());
    let mut kept: Vec<usize> = vec![0; chosen.len()];
    for depth in 1..=SECTION_LINES_MAX + 1 {
        for (section, lines) in chosen.iter().enumerate().filter(|(_, lines)| lines.len() >= depth) {
            let tokens = cost(lines[lines.len() - depth]);
            if tokens <= room && kept[section] == depth - 1 {
                kept[section] = depth;
                room -= tokens;
            }
        }
    }
    let section = |((section, lines), kept): ((&Section, &Vec<&str>), usize)| {
        let lines: Vec<String> = lines[lines.len() - kept..].iter().map(|line| format!("- {line}")).collect();
        let said = if lines.is_empty() { "- (none)".into() } else { lines.join("\n") };
        format!("{}\n{said}", section.title)
    };
    sections.iter().zip(chosen).zip(kept).map(section).collect::<Vec<_>>().join("\n\n")
}

/// The lines of a conversation that can be quoted, oldest first, each once. The last text is the instruction; where it is
/// all there is, what stands behind the history in it.
fn lines(messages: &[Arc<Message>]) -> Vec<String> {
    let mut texts: Vec<String> =
        messages.iter().flat_map(|message| message.blocks.iter()).flat_map(texts_of).collect();
    let last = texts.pop().unwrap_or_default();
    if texts.is_empty() {
        texts.push(history_in(&last).to_owned());
    }
    let mut seen = HashSet::new();
    let lines = texts.iter().flat_map(|text| text.lines().filter_map(quotable).collect::<Vec<_>>());
    lines.filter(|line| seen.insert(line.clone())).collect()
}

/// The history in a text that ends with what is to be done with it: up to the last tag that closes.
fn history_in(text: &str) -> &str {
    text.rfind("\n</").map_or(text, |end| &text[..end])
}

fn texts_of(block: &Block) -> Vec<String> {
    match block {
        Block::Text { text } => vec![text.to_string()],
        Block::Call(call) => vec![format!("called {} with {}", call.name, call.input)],
        Block::Result(result) => {
            result.parts.iter().filter_map(ResultPart::as_text).map(str::to_owned).collect()
        }
        Block::Thinking { .. } | Block::Image(_) | Block::Opaque(_) => Vec::new(),
    }
}

/// A line as it is quoted, without the mark of who said it; none for headings, fences, tags and scraps.
fn quotable(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches(['-', '*', ' ']);
    let marked = line.strip_prefix('[').and_then(|line| line.split_once(']'));
    let line = marked.map_or(line, |(_, said)| said.trim_start_matches([':', ' ']));
    let is_frame = line.starts_with(['#', '<', '`', '{', '}', '[']);
    let says_something = line.chars().count() >= LINE_CHARS_MIN && line.contains(' ');
    (says_something && !is_frame).then(|| line.chars().take(LINE_CHARS_MAX).collect())
}
