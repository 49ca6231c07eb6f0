//! Validation of a model's answer before it is taken for a summary: ended by itself, neither empty
//! nor larger than what it replaces or was limited to, no error text, no refusal, no call syntax, not its own
//! instructions given back, nothing said over and over, no bare headings. What is done about one that fails is
//! `retry`'s.

use crate::pattern::compile;
use crate::request::{Stop, SummaryReply};
use crate::{Measure, Tokens};
use regex::Regex;
use std::collections::HashMap;
use std::sync::LazyLock;

/// An answer shorter than this may be an error message; a summary of anything is longer.
const ERROR_CHARS_MAX: usize = 600;
/// A source below this is too short to be outdone.
const SOURCE_TOKENS_MIN: Tokens = Tokens(400);

/// How providers and gateways word their failures.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^\W*(?:api )?error\b|\b(?:usage|rate|spending|token|request) limit|limit (?:was |has been )?(?:reached|exceeded)|quota\b|overloaded|too many requests|internal server error|service unavailable|bad gateway|unauthorized|context[_ ]length|prompt is too long|invalid_request_error",
    )
});

/// How models say that they have not done it.
static DECLINED: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)nothing (?:to|that can be) summari[sz]|no (?:conversation|messages?|content|history|prior history)\b.{0,40}(?:to summari[sz]e|provided|was given|found)|^\W*(?:i'?m sorry|sorry)|\bi (?:can(?:no|')t|am unable to|won'?t) (?:help|assist|summari[sz]e|do)",
    )
});

/// Call syntax and channels of reasoning, as models write them when they forget that they write text.
static SYNTAX: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)</?(?:antml:)?(?:function_calls|tool_calls?|invoke|think(?:ing)?|reasoning|analysis)\b|<\|(?:channel|start|im_start|tool_call|python_tag)|\[TOOL_CALLS\]|<｜tool",
    )
});

/// What a summary may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// What it was made from: it must be smaller.
    pub(super) source: Tokens,
    /// The least that is wanted of it.
    pub(super) size_min: Option<Tokens>,
    /// The most it may take by our count; none for one that is never shown as a summary.
    pub(super) size_max: Option<Tokens>,
}

/// The text of a summary, or why the answer is none. `asked` are the instructions it was written by.
pub(super) fn judge(
    reply: &SummaryReply,
    asked: &str,
    bounds: Bounds,
    measure: &dyn Measure,
) -> Result<String, String> {
    let Bounds { source, size_min, size_max } = bounds;
    match reply.stop {
        Stop::Length => return Err("the summary was cut off at its limit".into()),
        Stop::Call => return Err("the summariser called a tool instead of writing".into()),
        Stop::Refusal => return Err("the summariser would not answer".into()),
        Stop::Window => return Err("the summariser ran out of its window".into()),
        Stop::End => {}
    }
    let text = unwrapped(reply.text.trim());
    if text.is_empty() {
        return Err("the summary is empty".into());
    }
    if let Some(found) = SYNTAX.find(text) {
        return Err(format!("the summary holds call or reasoning syntax ({})", found.as_str()));
    }
    let is_short = text.chars().count() < ERROR_CHARS_MAX;
    let has_heading = text.starts_with('#') || text.contains("\n#");
    if is_short && !has_heading && (ERROR.is_match(text) || DECLINED.is_match(text)) {
        return Err(format!("what came back is no summary: {}", text.chars().take(80).collect::<String>()));
    }
    if let Some(why) =
        repeats_instructions(text, asked).or_else(|| repeats_itself(text)).or_else(|| bare(text))
    {
        return Err(why);
    }
    let size = measure.text(text);
    if source > SOURCE_TOKENS_MIN && size >= source {
        return Err("the summary takes more than what it replaces".into());
    }
    if let Some(most) = size_max.filter(|most| size > *most) {
        return Err(format!("the summary takes {size}, over its limit of {most}"));
    }
    if size_min.is_some_and(|least| size < least && source > least) {
        return Err(format!("the summary takes {size}, below the least wanted"));
    }
    Ok(text.to_owned())
}

/// A shorter line may stand in many texts.
const OWN_LINE_CHARS_MIN: usize = 30;

/// A line of the instructions that the text gives back. Titles are asked for, and are none of these.
fn repeats_instructions(text: &str, asked: &str) -> Option<String> {
    let is_telling = |line: &&str| line.chars().count() >= OWN_LINE_CHARS_MIN && !line.starts_with('#');
    let line = asked.lines().map(str::trim).filter(is_telling).find(|line| text.contains(line))?;
    Some(format!("the summary repeats its instructions: {}", line.chars().take(80).collect::<String>()))
}

/// So often may a line stand in a summary: a command that was run, a heading under two parts.
const SAME_LINE_MAX: u32 = 2;
/// A shorter line ("(none)", "- done") says the same of several things.
const SAME_LINE_CHARS_MIN: usize = 12;

fn repeats_itself(text: &str) -> Option<String> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let lines = text.lines().map(str::trim).filter(|line| line.chars().count() >= SAME_LINE_CHARS_MIN);
    let line = lines.into_iter().find(|line| {
        let count = counts.entry(line).or_default();
        *count += 1;
        *count > SAME_LINE_MAX
    })?;
    Some(format!("the summary says the same again and again: {}", line.chars().take(80).collect::<String>()))
}

/// Headings with nothing below any of them.
fn bare(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    lines.peek()?;
    lines
        .all(|line| line.starts_with('#'))
        .then(|| "the summary is headings without a word below them".to_owned())
}

/// The text without the tag that some prompts ask to put it in.
fn unwrapped(text: &str) -> &str {
    let inner = text.strip_prefix("<summary>").and_then(|text| text.trim_end().strip_suffix("</summary>"));
    inner.map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::{Bounds, judge};
    use crate::request::{Stop, SummaryReply};
    use crate::{Image, Measure, Tokens};

    struct Quarter;

    impl Measure for Quarter {
        fn text(&self, text: &str) -> Tokens {
            Tokens(text.len() as u64 / 4)
        }
        fn image(&self, _: &Image) -> Tokens {
            Tokens::ZERO
        }
        fn framing(&self) -> Tokens {
            Tokens::ZERO
        }
    }

    const ASKED: &str = "## Goal\nWhat the person wants, in their own terms, as they said it.";

    fn judged(text: &str, stop: Stop) -> Result<String, String> {
        let reply = SummaryReply { text: text.into(), stop, native: None };
        judge(&reply, ASKED, bounds(None), &Quarter)
    }

    fn bounds(size_max: Option<Tokens>) -> Bounds {
        Bounds { source: Tokens(1_000), size_min: None, size_max }
    }

    #[test]
    fn a_summary_over_its_limit_is_refused() {
        let reply = SummaryReply { text: "x".repeat(404), stop: Stop::End, native: None };
        let judged =
            |most: u64| judge(&reply, "", bounds(Some(Tokens(most))), &Quarter).map(|text| text.len());
        assert_eq!(judged(101), Ok(404));
        assert_eq!(judged(100), Err("the summary takes 101, over its limit of 100".into()));
    }

    #[test]
    fn a_summary_passes_without_its_wrapping() {
        assert_eq!(
            judged("<summary>\n## Goal\nship it\n</summary>\n", Stop::End),
            Ok("## Goal\nship it".into())
        );
    }

    #[test]
    fn each_defect_is_refused() {
        let long = "word ".repeat(1_000);
        for (text, stop) in [
            ("", Stop::End),
            ("## Goal\nship", Stop::Length),
            ("## Goal\nship", Stop::Call),
            ("", Stop::Refusal),
            ("Claude usage limit reached. Your limit will reset at 3pm.", Stop::End),
            ("API Error: 529 overloaded", Stop::End),
            ("There is nothing to summarize.", Stop::End),
            ("I'm sorry, I can't help with that.", Stop::End),
            ("## Goal\nship\n<function_calls><invoke name=\"read\">", Stop::End),
            ("<think>hm</think>## Goal\nship", Stop::End),
            (&long, Stop::End),
            ("## Goal\n\n## Progress\n### Done\n", Stop::End),
            ("## Goal\nWhat the person wants, in their own terms, as they said it.", Stop::End),
            ("## Goal\nship\n## Key Decisions\n## Key Decisions\n## Key Decisions", Stop::End),
        ] {
            assert!(judged(text, stop).is_err(), "{text:.60} {stop:?}");
        }
    }

    #[test]
    fn a_summary_that_speaks_of_errors_is_none() {
        let text = "## Goal\nfix the rate limit handling\n## Progress\n- API error 429 now retried";
        assert_eq!(judged(text, Stop::End), Ok(text.into()));
        let one_heading = "## Goal\nfix the rate limit handling";
        assert_eq!(judged(one_heading, Stop::End), Ok(one_heading.into()));
    }
}
