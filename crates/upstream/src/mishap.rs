//! Replies that come back well-formed and are of no use.

use crate::Script;
use crate::agent;
use crate::dice::Dice;
use crate::order::Fault;
use crate::parsed_request::ParsedRequest;
use crate::reply::{Reply, ReplyBlock, Stop};
use crate::summary;
use crate::tool::Tool;
use serde_json::json;

/// The reply a fault makes of this request; none where the fault is not in the reply.
pub(crate) fn reply(fault: Fault, asked: &ParsedRequest, script: &Script) -> Option<Reply> {
    let mut dice = Dice::new(script.seed, &asked.prompt.digest());
    Some(match fault {
        Fault::Empty => Reply { parts: Vec::new(), stop: Stop::End },
        Fault::Truncate => truncated(asked, script, &mut dice),
        Fault::ToolCall => called(asked, &mut dice),
        Fault::Nonsense => Reply::text(nonsense(&mut dice)),
        Fault::ErrorText => Reply::text(ERROR_TEXT),
        Fault::Echo => Reply::text(summary::instruction_of(asked)),
        Fault::Loop => Reply::text(format!("## Intent\n{}", LOOPED.repeat(LOOPS))),
        Fault::Headings => Reply::text(summary::titles(asked).join("\n\n")),
        Fault::Chatter => Reply::text(format!("{GREETING}\n\n{}", summary::text(asked))),
        Fault::Astray => Reply::text(ASTRAY),
        Fault::ReasoningOnly => {
            Reply { parts: vec![agent::thought(asked, script, &mut dice)], stop: Stop::End }
        }
        Fault::Status { .. }
        | Fault::Timeout
        | Fault::Cut
        | Fault::StreamError
        | Fault::Overflow
        | Fault::Error(_) => return None,
    })
}

/// What clients have been seen to store as if a model had said it.
const ERROR_TEXT: &str = "API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\
    \"message\":\"This request would exceed your account's rate limit. Please try again later.\"}}";

/// What a small model falls into.
const LOOPED: &str = "The person wants the tests to pass.\n";
/// As long as a summary.
const LOOPS: usize = 20;
/// What a model trained to talk says first.
const GREETING: &str = "Sure! Here is the summary you asked for:";
/// A model that has lost sight of what it was given.
const ASTRAY: &str = "## Intent\nThe person wants `warehouse_sync` to read `stock/levels.csv` every night.\n\n\
    ## Errors and fixes\n`reorder_point()` divided by zero in `stock/forecast.py`; `safe_ratio()` put it right.\n\n\
    ## Next step\nRun `stock/nightly.sh` once more.";

/// Prose that stops at the cap.
fn truncated(asked: &ParsedRequest, script: &Script, dice: &mut Dice) -> Reply {
    let cap = asked.output_max().unwrap_or(script.reply_tokens);
    let text = agent::prose(dice, cap, &asked.counter);
    Reply { parts: vec![ReplyBlock::Text(text)], stop: Stop::Length }
}

/// A call where none is wanted: of a tool offered, else of one nobody knows.
fn called(asked: &ParsedRequest, dice: &mut Dice) -> Reply {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let unknown = Tool { name: "read_file".into(), schema };
    let tool = asked.tools().into_iter().next().unwrap_or(unknown);
    Reply { parts: vec![agent::call(asked.protocol(), &tool, 1, dice)], stop: Stop::Calls }
}

/// Letters without a word among them.
const SYLLABLES: [&str; 6] = ["zqx", "vrt", "plk", "wqw", "jjh", "xxn"];
/// As long as a short summary.
const NONSENSE_WORDS: usize = 40;

fn nonsense(dice: &mut Dice) -> String {
    let word = |_| format!("{}{}", dice.pick(&SYLLABLES), dice.pick(&SYLLABLES));
    (0..NONSENSE_WORDS).map(word).collect::<Vec<_>>().join(" ")
}
