//! Validation of a model's answer before it is taken for a summary: ended by itself, neither empty
//! nor larger than what it replaces or was limited to, no error text, no refusal, no call syntax, not its own
//! instructions given back, nothing said over and over, no bare headings, no words to whoever asked. What is done about one
//! that fails is `retry`'s; whether it tells of this session is `grounds`'.

use crate::facts::sentences;
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
    /// Whether it must be in sections, where its instructions name some.
    pub(super) in_sections: bool,
}

/// The text of a summary, or why the answer is none. `asked` are the instructions it was written by.
pub(super) fn judge(
    reply: &SummaryReply,
    asked: &str,
    bounds: Bounds,
    measure: &dyn Measure,
) -> Result<String, String> {
    let Bounds { source, size_min, size_max, in_sections } = bounds;
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
    let is_titled = text.starts_with('#') || text.contains("\n#");
    if is_short && !is_titled && (ERROR.is_match(text) || DECLINED.is_match(text)) {
        return Err(format!("what came back is no summary: {}", beginning(text)));
    }
    let form = repeats_instructions(text, asked).or_else(|| repeats_itself(text));
    if let Some(why) = form.or_else(|| bare(text)).or_else(|| chats(text)) {
        return Err(why);
    }
    if in_sections && has_heading(asked) && !has_heading(text) {
        return Err(format!("the summary has none of the sections it was asked for: {}", beginning(text)));
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

/// A line of the instructions that the text gives back, however it breaks its lines. Titles are asked for, and are none of
/// these.
fn repeats_instructions(text: &str, asked: &str) -> Option<String> {
    let text = flat(text);
    let is_telling = |line: &&str| line.chars().count() >= OWN_LINE_CHARS_MIN && !line.starts_with('#');
    let line = asked.lines().map(str::trim).filter(is_telling).find(|line| text.contains(&flat(line)))?;
    Some(format!("the summary repeats its instructions: {}", beginning(line)))
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As much of an answer as a record shows of it.
fn beginning(text: &str) -> String {
    text.chars().take(80).collect()
}

/// So often may a line stand in a summary, and a sentence in a line: a command that was run, a heading under two parts.
const SAME_MAX: usize = 2;
/// A shorter one ("(none)", "- done") says the same of several things.
const SAME_CHARS_MIN: usize = 12;
/// Of what stands oftener and apart no more than this part of a text: people do ask for the same thing three times, and a
/// list of what they said has it three times.
const SAME_SHARE_MAX: (usize, usize) = (1, 8);

/// A line, whatever its list mark or number, or a sentence that stands there too often: how a small model goes round in
/// circles.
fn repeats_itself(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(unmarked).filter(|line| !line.is_empty()).collect();
    let said = too_often(&lines, Some(text.len())).or_else(|| {
        lines.iter().copied().find_map(|line| {
            let within: Vec<&str> = sentences(line).map(str::trim).collect();
            too_often(&within, None)
        })
    })?;
    Some(format!("the summary says the same again and again: {}", beginning(said)))
}

/// What stands there thrice: in a row, or anywhere where it takes its share of so many bytes.
fn too_often<'t>(said: &[&'t str], within: Option<usize>) -> Option<&'t str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut run = (0, "");
    said.iter().copied().find(|said| {
        run = if run.1 == *said { (run.0 + 1, run.1) } else { (1, *said) };
        let count = counts.entry(said).or_default();
        *count += 1;
        let is_much = |all| *count * said.len() * SAME_SHARE_MAX.1 >= all * SAME_SHARE_MAX.0;
        let is_circle = run.0 > SAME_MAX || (*count > SAME_MAX && within.is_none_or(is_much));
        is_circle && said.chars().count() >= SAME_CHARS_MIN
    })
}

/// A line without its list mark or number.
fn unmarked(line: &str) -> &str {
    let line = line.trim();
    let text = line.trim_start_matches(|c: char| c.is_ascii_digit() || "-*.) ".contains(c));
    if text.is_empty() { line } else { text }
}

/// A heading, or a title in bold, as some models write them.
static HEADING: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?m)^\s{0,3}(?:#{1,6}\s*\S|\*\*[^*\n]{3,60}\*\*:?\s*$)"));

/// Whether there are headings in a text.
fn has_heading(text: &str) -> bool {
    HEADING.is_match(text)
}

/// What stands under a heading for "nothing".
static NOTHING: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?i)^[\s\-*(]*(?:none|nothing|n/?a|empty|unknown|tbd|\.\.\.|…)?[\s.)]*$"));

/// Headings with nothing below them: most of them, or none with more than the word for it.
fn bare(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let depth = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
    let headings: Vec<usize> = (0..lines.len()).filter(|&at| depth(lines[at]) > 0).collect();
    let body = |at: usize| lines[at + 1..].iter().take_while(|line| depth(line) == 0);
    let is_told = |line: &&str| !NOTHING.is_match(line);
    let is_empty = |&&at: &&usize| {
        // What has headings below it speaks through them.
        let is_outer = lines.get(at + 1).is_some_and(|next| depth(next) > depth(lines[at]));
        body(at).next().is_none() && !is_outer
    };
    let empty = headings.iter().filter(is_empty).count();
    let says_nothing = !lines.iter().filter(|line| depth(line) == 0).any(is_told);
    (says_nothing || empty * 2 > headings.len() && empty > 0)
        .then(|| "the summary is headings with next to nothing below them".to_owned())
}

/// How a model talks to whoever asked, before its answer and behind it.
static GREETING: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^\W*(?:sure|certainly|of course|absolutely|okay|ok|alright|great|got it|understood|no problem|happy to)\b[^\n]{0,12}[!,.:]|^\W*(?:here(?:'s| is| are)|below (?:is|are)|the following is|this is)\b[^\n]{0,60}\b(?:summary|summaries|sections?|hand-?over|hand-?off|checkpoint|account|overview)\b|^\W*(?:i'?ll|i will|i have|i've|let me|let's)\b[^\n]{0,40}\b(?:summari[sz]|writ|provid|creat|prepar)",
    )
});
static FAREWELL: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:let me know (?:if|whether|how)|i hope (?:this|that|it) helps|feel free to|would you like me to|is there anything else|do you want me to|shall i (?:go on|continue|proceed) with)\b[^\n]*$",
    )
});

/// Words to whoever asked: the answer is taken over as it stands, and there is nobody to hear them.
fn chats(text: &str) -> Option<String> {
    let (first, last) = (text.lines().next()?, text.lines().next_back()?);
    let said = [(first, &GREETING), (last, &FAREWELL)].into_iter().find(|(line, words)| words.is_match(line));
    said.map(|(line, _)| format!("the summary talks to whoever asked: {}", beginning(line.trim())))
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

    const BARE: &str = "the summary is headings with next to nothing below them";
    const REPEATED: &str =
        "the summary repeats its instructions: What the person wants, in their own terms, as they said it.";

    fn judged(text: &str, stop: Stop) -> Result<String, String> {
        let reply = SummaryReply { text: text.into(), stop, native: None };
        judge(&reply, ASKED, bounds(None), &Quarter)
    }

    fn bounds(size_max: Option<Tokens>) -> Bounds {
        Bounds { source: Tokens(1_000), size_min: None, size_max, in_sections: false }
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
        let ended = [
            ("", "the summary is empty"),
            (
                "Claude usage limit reached. Your limit will reset at 3pm.",
                "what came back is no summary: Claude usage limit reached. Your limit will reset at 3pm.",
            ),
            ("API Error: 529 overloaded", "what came back is no summary: API Error: 529 overloaded"),
            (
                "There is nothing to summarize.",
                "what came back is no summary: There is nothing to summarize.",
            ),
            (
                "I'm sorry, I can't help with that.",
                "what came back is no summary: I'm sorry, I can't help with that.",
            ),
            (
                "## Goal\nship\n<function_calls><invoke name=\"read\">",
                "the summary holds call or reasoning syntax (<function_calls)",
            ),
            ("<think>hm</think>## Goal\nship", "the summary holds call or reasoning syntax (<think)"),
            (&long, "the summary takes more than what it replaces"),
            ("## Goal\n\n## Progress\n### Done\n", BARE),
            ("## Goal\nWhat the person wants, in their own terms, as they said it.", REPEATED),
            ("## Goal\nWhat the person wants, in their\nown terms, as they said it.", REPEATED),
            (
                "## Goal\nship\n## Key Decisions\n## Key Decisions\n## Key Decisions",
                "the summary says the same again and again: ## Key Decisions",
            ),
            (
                "## Goal\n1. Fix the parser first.\n2. Fix the parser first.\n3. Fix the parser first.",
                "the summary says the same again and again: Fix the parser first.",
            ),
            (
                "## Goal\nFix the parser. Fix the parser. Fix the parser. And then rest.",
                "the summary says the same again and again: Fix the parser.",
            ),
            ("## Goal\n(none)\n## Progress\n- None.\n## Next\nN/A", BARE),
            ("## Goal\nship it\n## Progress\n## Next\n## Errors", BARE),
            (
                "Sure! Here is the summary:\n\n## Goal\nship it",
                "the summary talks to whoever asked: Sure! Here is the summary:",
            ),
            (
                "Here's a summary of the conversation:\n## Goal\nship it",
                "the summary talks to whoever asked: Here's a summary of the conversation:",
            ),
            (
                "**Okay, let's see.**\n## Goal\nship it",
                "the summary talks to whoever asked: **Okay, let's see.**",
            ),
            (
                "## Goal\nship it\n\nLet me know if you need anything else!",
                "the summary talks to whoever asked: Let me know if you need anything else!",
            ),
        ];
        for (text, why) in ended {
            assert_eq!(judged(text, Stop::End), Err(why.into()), "{text:.60}");
        }
    }

    #[test]
    fn an_answer_that_ended_otherwise_is_refused_whatever_it_says() {
        let stops = [
            (Stop::Length, "the summary was cut off at its limit"),
            (Stop::Call, "the summariser called a tool instead of writing"),
            (Stop::Refusal, "the summariser would not answer"),
            (Stop::Window, "the summariser ran out of its window"),
        ];
        for (stop, why) in stops {
            assert_eq!(judged("## Goal\nship it", stop), Err(why.into()));
        }
    }

    #[test]
    fn sections_below_sections_a_single_none_and_plain_openings_are_in_order() {
        let asked = |what: &str| {
            format!(
                "- go on, please\n- find out why {what} takes a header without a value for the end of the file, and mend it\n"
            )
        };
        let asked_between: String =
            ["the parser", "the writer", "the index", "the mirror"].map(asked).concat();
        for text in [
            "## Goal\nship it\n## Progress\n### Done\n- the parser\n## Blocked\n(none)",
            "Here the parser reads one line too many, and this is why the test fails.",
            "## Goal\nMake sure that it ships.\n## Next\nOf course the suite is run first.",
            "## Pending work\nThe person is to let me know which port is free.\n## Next step\nWait for it.",
            // What people said several times.
            "## Goal\n- mend src/a.rs; never touch config.toml.\n- mend src/b.rs; never touch config.toml.\n- mend src/c.rs; never touch config.toml.",
            format!("## All user messages\n{asked_between}").trim_end(),
        ] {
            assert_eq!(judged(text, Stop::End), Ok(text.into()));
        }
    }

    #[test]
    fn prose_that_was_asked_for_in_sections_comes_in_some() {
        let of = |text: &str, asked: &str| {
            let reply = SummaryReply { text: text.into(), stop: Stop::End, native: None };
            judge(&reply, asked, Bounds { in_sections: true, ..bounds(None) }, &Quarter).is_ok()
        };
        let told = "The text goes on with a history of the chat.";
        let titled = "**Intent:**\nThe parser is to take empty headers.";
        assert_eq!(
            [
                of(told, ASKED),
                of(told, "Say it in a sentence."),
                of(titled, ASKED),
                of("## Goal\nship", ASKED)
            ],
            [false, true, true, true]
        );
    }

    #[test]
    fn a_summary_that_speaks_of_errors_is_none() {
        let text = "## Goal\nfix the rate limit handling\n## Progress\n- API error 429 now retried";
        assert_eq!(judged(text, Stop::End), Ok(text.into()));
        let one_heading = "## Goal\nfix the rate limit handling";
        assert_eq!(judged(one_heading, Stop::End), Ok(one_heading.into()));
    }
}
