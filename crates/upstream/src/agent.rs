//! The default script: an agent that works with the tools it is offered for some rounds, then answers.

use crate::Script;
use crate::dice::Dice;
use crate::parsed_request::ParsedRequest;
use crate::reply::{Reply, ReplyBlock, Stop};
use crate::tool::Tool;
use epitome_core::{Author, Message, Role};
use epitome_tokens::Counter;
use epitome_wire::Protocol;
use serde_json::Value;

/// Two calls at once in one round of so many.
const PARALLEL_EVERY: usize = 4;
/// What is said beside a call, at most.
const ASIDE_TOKENS: u64 = 40;
/// What is thought before a step.
const THOUGHT_TOKENS: u64 = 60;

/// The agent's next step.
pub(crate) fn step(asked: &ParsedRequest, script: &Script) -> Reply {
    let mut dice = Dice::new(script.seed, &asked.prompt.digest());
    let mut parts = Vec::new();
    if asked.wants_reasoning() {
        parts.push(thought(asked, script, &mut dice));
    }
    let round = rounds_made(asked) + 1;
    let tools = callable(asked, round <= script.tool_rounds);
    if tools.is_empty() {
        parts.push(ReplyBlock::Text(prose(&mut dice, script.reply_tokens, &asked.counter)));
        return Reply { parts, stop: Stop::End };
    }
    let aside = script.reply_tokens.min(ASIDE_TOKENS);
    parts.push(ReplyBlock::Text(prose(&mut dice, aside, &asked.counter)));
    let calls = 1 + usize::from(dice.below(PARALLEL_EVERY) == 0);
    for _ in 0..calls {
        let tool = dice.pick(&tools);
        parts.push(call(asked.protocol(), tool, round, &mut dice));
    }
    Reply { parts, stop: Stop::Calls }
}

/// One call, with the round it belongs to in its id: the id survives where rounds before it are compacted.
pub(crate) fn call(protocol: Protocol, tool: &Tool, round: u32, dice: &mut Dice) -> ReplyBlock {
    let start = match protocol {
        Protocol::Anthropic => "toolu",
        Protocol::OpenaiChat | Protocol::OpenaiResponses => "call",
    };
    let id = format!("{start}_r{round:03}_{}", dice.hex());
    ReplyBlock::Call { id, name: tool.name.clone(), input: tool.arguments(dice).to_string() }
}

/// Sealed reasoning.
pub(crate) fn thought(asked: &ParsedRequest, script: &Script, dice: &mut Dice) -> ReplyBlock {
    let text = prose(dice, THOUGHT_TOKENS, &asked.counter);
    ReplyBlock::Thinking { seal: script.binding.seal(&text, &asked.prompt.digest()), text }
}

/// The rounds of calls made since a person last spoke.
fn rounds_made(asked: &ParsedRequest) -> u32 {
    let turn = asked.messages.iter().rev().take_while(|message| !opens_turn(message));
    turn.filter_map(|message| message.calls().last()).find_map(|call| round_of(&call.id.0)).unwrap_or(0)
}

fn opens_turn(message: &Message) -> bool {
    message.role == Role::User && message.author == Author::Person
}

/// The round in a call's id; none where another model made the call.
fn round_of(id: &str) -> Option<u32> {
    id.split('_').nth(1)?.strip_prefix('r')?.parse().ok()
}

/// The tools to call now: those the client insists on, any where there are rounds left, else none.
fn callable(asked: &ParsedRequest, has_rounds: bool) -> Vec<Tool> {
    let mut tools = asked.tools();
    match Choice::of(&asked.envelope.body["tool_choice"]) {
        Choice::Never => tools.clear(),
        Choice::Auto if !has_rounds => tools.clear(),
        Choice::Auto | Choice::Must => {}
        Choice::This(name) => tools.retain(|tool| tool.name == name),
    }
    tools
}

/// What a client says about calling.
enum Choice {
    Auto,
    Never,
    Must,
    This(String),
}

impl Choice {
    fn of(choice: &Value) -> Self {
        let named = choice["name"].as_str().or_else(|| choice["function"]["name"].as_str());
        match (choice.as_str().or_else(|| choice["type"].as_str()), named) {
            (Some("none"), _) => Self::Never,
            (Some("any" | "required"), _) => Self::Must,
            (_, Some(name)) => Self::This(name.to_owned()),
            _ => Self::Auto,
        }
    }
}

const OPENINGS: [&str; 6] = [
    "I looked at",
    "The next thing to settle is",
    "I changed",
    "What remains open is",
    "The tests now cover",
    "I left alone",
];
const SUBJECTS: [&str; 6] = [
    "the reader of session files",
    "the way results are paired with their calls",
    "the limit on retries",
    "the order of the migration",
    "the cache of parsed headers",
    "the error for an empty body",
];
const REASONS: [&str; 5] = [
    "because the earlier version counted it twice",
    "so that nothing is read a second time",
    "which the report of line {} shows",
    "and it holds for all {} cases",
    "as agreed before",
];

/// Sentences of about `tokens`, and no more.
pub(crate) fn prose(dice: &mut Dice, tokens: u64, counter: &Counter) -> String {
    let (mut text, mut counted) = (String::new(), 0);
    // Each sentence takes at least one token, so this ends.
    while counted < tokens {
        let reason = dice.pick(&REASONS).replace("{}", &(1 + dice.below(900)).to_string());
        let sentence = format!("{} {} {reason}. ", dice.pick(&OPENINGS), dice.pick(&SUBJECTS));
        counted += counter.count_text(&sentence).max(1);
        text.push_str(&sentence);
    }
    counter.take_prefix(&text, tokens).trim_end().to_owned()
}
