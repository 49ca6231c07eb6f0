//! Conversations made up for the cases: messages as Anthropic's protocol has them, and the same as lines of a
//! Claude Code session. Each holds what some settings are about, and little else.

use serde_json::{Value, json};

/// The model that all but one of them are held with.
pub(crate) const MODEL: &str = "claude-haiku-4-5";

/// The beginning of a picture of 640 by 480, which is all that anybody looks at.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAIAAAC6s0uz";

const WORDS: [&str; 24] = [
    "harbour", "ledger", "copper", "willow", "signal", "meadow", "lantern", "quarry", "timber", "valley",
    "anchor", "bridge", "cellar", "dragon", "ember", "fabric", "garden", "hollow", "island", "jungle",
    "kettle", "lumber", "mirror", "needle",
];

/// Words of no meaning, `chars` letters of them, others for each `seed`.
pub(crate) fn prose(seed: usize, chars: usize) -> String {
    let mut text = String::with_capacity(chars + 16);
    let mut at = seed * 7 + 3;
    while text.len() < chars {
        text.push_str(WORDS[at % WORDS.len()]);
        // A line now and then, so that there are lines to quote.
        text.push(if at.is_multiple_of(11) { '\n' } else { ' ' });
        at = at * 5 + seed + 1;
        at %= 10_007;
    }
    text.truncate(chars);
    text
}

fn said(role: &str, text: impl Into<Value>) -> Value {
    json!({"role": role, "content": text.into()})
}

/// Two who speak in turn, each time 400 letters: a hundred tokens where a quarter of the letters counts, half as many
/// again by the model's count.
pub(crate) fn chat(messages: usize) -> Vec<Value> {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    (0..messages).map(|at| said(role(at), prose(at, 300) + &codes(at, 100))).collect()
}

/// Letters and figures that no tokenizer has a word for, `chars` of them, the first and the last of them no blanks.
fn codes(seed: usize, chars: usize) -> String {
    let code =
        |at: usize| format!("{}{}-", char::from(b'a' + ((seed + at * 7) % 26) as u8), (seed * 3 + at) % 10);
    let text: String = (0..chars).map(code).collect();
    text[..chars].to_owned()
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn result(id: &str, text: &str, is_error: bool) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
    if is_error {
        block["is_error"] = true.into();
    }
    json!({"role": "user", "content": [block]})
}

fn thought(number: usize) -> Value {
    let thinking = format!("I wonder about {number}: {}", prose(number + 50, 240));
    json!({"type": "thinking", "thinking": thinking, "signature": format!("c2VhbA{number:04}")})
}

/// What a turn of [`work`] asks for.
fn request(number: usize) -> String {
    if number % 6 == 5 {
        let things = ["violet", "curtains", "oblong", "teapots", "crooked", "chimneys"];
        return format!("Beatrix wants {}.", things.map(|thing| format!("{thing}{number}")).join(" and "));
    }
    let rule = match number % 6 {
        0 => format!(" You must never change config_{number}.toml."),
        3 => format!(" The orchid module needs exactly {} workers.", number + 40),
        _ => String::new(),
    };
    let part = number % 5;
    format!(
        "Task {number}: please look into src/part_{part}.rs and explain the {}.{rule}",
        prose(number, 60).trim()
    )
}

/// The tool a turn calls, and what comes of it.
fn step(number: usize) -> (Value, Value) {
    let id = format!("toolu_{number:04}");
    match number % 6 {
        1 => {
            let todos = json!([
                {"content": format!("check the {}", WORDS[number % 24]), "status": "completed", "activeForm": "checking"},
                {"content": format!("mend the {}", WORDS[(number + 5) % 24]), "status": "in_progress", "activeForm": "mending"},
                {"content": format!("test the {}", WORDS[(number + 9) % 24]), "status": "pending", "activeForm": "testing"},
            ]);
            (call(&id, "TodoWrite", json!({"todos": todos})), result(&id, "Todos have been modified", false))
        }
        2 => {
            let content = prose(number, 1_200);
            let input = json!({"file_path": format!("src/made_{number}.rs"), "content": content});
            (call(&id, "Write", input), result(&id, "File created successfully", false))
        }
        4 => {
            let told = format!(
                "error[E0{number:03}]: cannot find `{}`\n{}",
                WORDS[number % 24],
                prose(number, 1_300)
            );
            (
                call(&id, "Bash", json!({"command": format!("cargo test part_{number}")})),
                result(&id, &told, true),
            )
        }
        _ => {
            let path = format!("src/part_{}.rs", number % 5);
            let found = format!("{path}\n{}", prose(number % 5, 1_300));
            (call(&id, "Read", json!({"file_path": path})), result(&id, &found, false))
        }
    }
}

/// One turn: a request, a thought and a call, what came of it, a reply.
fn turn(number: usize) -> [Value; 4] {
    let (calls, answer) = step(number);
    let reply = format!(
        "Done with {number}. I decided to keep the {} because {}",
        WORDS[(number + 3) % 24],
        prose(number + 90, 80)
    );
    [
        said("user", request(number)),
        said(
            "assistant",
            json!([thought(number), {"type": "text", "text": format!("I look at {number}.")}, calls]),
        ),
        answer,
        said("assistant", reply),
    ]
}

/// Work with files, todos, errors, thinking and rules, and one more question.
pub(crate) fn work(turns: usize) -> Vec<Value> {
    let mut all: Vec<Value> = (0..turns).flat_map(turn).collect();
    all.push(said("user", "And what is left of the harbour?"));
    all.push(said("assistant", "Little is left of it."));
    all
}

/// A few turns, and then one that calls a tool many times.
pub(crate) fn tool_loop(turns: usize, steps: usize) -> Vec<Value> {
    let mut all: Vec<Value> = (0..turns).flat_map(turn).collect();
    all.push(said("user", "Now go through all of the valley by yourself and report at the end."));
    for number in 100..100 + steps {
        let (calls, answer) = step(number);
        all.push(said("assistant", json!([calls])));
        all.push(answer);
    }
    all.push(said("assistant", "The valley is done."));
    all
}

/// Talk about pictures.
pub(crate) fn pictures(turns: usize) -> Vec<Value> {
    let picture =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}});
    let turn = |number: usize| {
        let text =
            json!({"type": "text", "text": format!("Picture {number} shows the {}", prose(number, 300))});
        [
            said("user", json!([picture, text])),
            said("assistant", format!("I see {number}: {}", prose(number + 30, 300))),
        ]
    };
    (0..turns).flat_map(turn).collect()
}

/// Talk in which a harness says the same again and again.
pub(crate) fn reminders(turns: usize) -> Vec<Value> {
    let reminder = format!("<system-reminder>\nMind the house rules: {}\n</system-reminder>", prose(7, 600));
    let turn = |number: usize| {
        [
            said("user", format!("Question {number}: {}", prose(number, 300))),
            said("user", reminder.clone()),
            said("assistant", format!("Answer {number}: {}", prose(number + 30, 300))),
        ]
    };
    (0..turns).flat_map(turn).collect()
}

/// Work that uses skills.
pub(crate) fn skilled(turns: usize) -> Vec<Value> {
    let mut all = Vec::new();
    for (number, skill) in ["pdf", "xlsx", "pdf"].into_iter().enumerate() {
        let id = format!("toolu_skill_{number}");
        all.push(said("user", format!("Use the {skill} skill for {}", prose(number, 40))));
        all.push(said("assistant", json!([call(&id, "Skill", json!({"skill": skill}))])));
        all.push(result(&id, &format!("How to use {skill}: {}", prose(skill.len(), 800)), false));
        all.push(said("assistant", "I know how."));
    }
    all.extend(work(turns));
    all
}

/// The tools a client offers, those of a server among them.
pub(crate) fn tools() -> Vec<Value> {
    let tool = |name: &str, about: String| json!({"name": name, "description": about, "input_schema": {"type": "object"}});
    let names = ["Read", "Write", "Bash", "TodoWrite", "Skill", "mcp__maps__route", "mcp__maps__place"];
    names.iter().map(|name| tool(name, format!("{name}: {}", prose(name.len(), 80)))).collect()
}

/// A conversation as a Claude Code session of `model`. Of each call the provider says that it took half as much again
/// as a quarter of its letters.
pub(crate) fn lines(messages: &[Value], model: &str) -> String {
    let mut text = String::new();
    let mut letters = 0;
    for (at, message) in messages.iter().enumerate() {
        let size = message["content"].to_string().len() as u64;
        let (role, mut body) = (message["role"].as_str().unwrap_or_default(), message.clone());
        if role == "assistant" {
            body["id"] = format!("msg_{at:04}").into();
            body["model"] = model.into();
            body["usage"] = json!({"input_tokens": letters * 3 / 8, "output_tokens": size * 3 / 8});
        }
        letters += size;
        let parent = at.checked_sub(1).map(uuid);
        let line = json!({"type": role, "uuid": uuid(at), "parentUuid": parent, "sessionId": "made-up", "message": body});
        text.push_str(&format!("{line}\n"));
    }
    text
}

fn uuid(at: usize) -> String {
    format!("00000000-0000-4000-8000-{at:012}")
}

/// The same with a summary of Claude Code's own in the middle.
pub(crate) fn resumed_lines(messages: &[Value], model: &str) -> String {
    let text = lines(messages, model);
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let (at, last) = (messages.len() / 8 * 4, messages.len());
    let boundary = json!({
        "type": "system", "subtype": "compact_boundary", "uuid": uuid(last), "parentUuid": null,
        "logicalParentUuid": uuid(at - 1), "sessionId": "made-up", "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 9_000},
    });
    let told =
        format!("This session is being continued. Summary: the lighthouse was painted. {}", prose(5, 600));
    let summary = json!({
        "type": "user", "isCompactSummary": true, "uuid": uuid(last + 1), "parentUuid": uuid(last),
        "sessionId": "made-up", "message": {"role": "user", "content": told},
    });
    all[at] = all[at].replace(
        &format!("\"parentUuid\":\"{}\"", uuid(at - 1)),
        &format!("\"parentUuid\":\"{}\"", uuid(last + 1)),
    );
    all.splice(at..at, [boundary.to_string(), summary.to_string()]);
    all.join("\n") + "\n"
}
