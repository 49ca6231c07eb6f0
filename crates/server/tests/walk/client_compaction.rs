//! Clients that compact by themselves: the request that asks for their summary shows the history itself wherever it fits, else a summary
//! of ours that is there already; and what they go on with is a new conversation.

use crate::stage::{Stage, answer};
use epitome_upstream::{Script, Strictness};
use reqwest::StatusCode;
use serde_json::{Value, json};

/// Compacted at four fifths of it.
const WINDOW: u64 = 16_000;
/// What opens a summary of ours.
const OURS: &str = "<epitome-summary";
/// A conversation that is not compacted in so many turns never is.
const TURNS_MAX: usize = 200;

/// How an agent asks for its own summary.
#[derive(Clone, Copy)]
struct Agent {
    path: &'static str,
    asks: &'static str,
    /// Whether its tools are offered all the same.
    has_tools: bool,
}

const AGENTS: [Agent; 4] = [
    Agent {
        path: "/v1/messages",
        asks: "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of the conversation so far, paying close attention to what was asked.",
        has_tools: true,
    },
    Agent {
        path: "/v1/responses",
        asks: "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM that will resume the task.",
        has_tools: true,
    },
    Agent {
        path: "/v1/chat/completions",
        asks: "Provide a detailed prompt for continuing our conversation above. Focus on what would be helpful.",
        has_tools: false,
    },
    Agent {
        path: "/v1/chat/completions",
        asks: "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
        has_tools: false,
    },
];

impl Agent {
    /// A request of so many turns that ends in `last`.
    fn body(&self, turns: usize, last: &str) -> String {
        let said = (0..turns).flat_map(|turn| {
            let words = format!("point {turn} of the parser, and what comes of it; ").repeat(12);
            [("user", words), ("assistant", format!("point {turn} is done"))]
        });
        let list: Vec<Value> = said
            .chain([("user", last.to_owned())])
            .map(|(role, text)| match (self.path, role) {
                ("/v1/responses", "user") => json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}),
                ("/v1/responses", _) => json!({"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}),
                _ => json!({"role": role, "content": text}),
            })
            .collect();
        let mut body = match self.path {
            "/v1/messages" => json!({"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": list}),
            "/v1/responses" => json!({"model": "gpt-5", "max_output_tokens": 500, "input": list}),
            _ => json!({"model": "gpt-4.1", "max_tokens": 500, "messages": list}),
        };
        if self.has_tools {
            body["tools"] = match self.path {
                "/v1/messages" => json!([{"name": "read", "input_schema": {"type": "object"}}]),
                _ => json!([{"type": "function", "name": "read", "parameters": {"type": "object"}}]),
            };
        }
        body.to_string()
    }

    /// The same request answered, and gone on with by `last`.
    fn body_behind(&self, turns: usize, last: &str) -> String {
        let [mut body, ended] = ["and now?", last]
            .map(|last| serde_json::from_str::<Value>(&self.body(turns, last)).expect("JSON"));
        let field = if self.path == "/v1/responses" { "input" } else { "messages" };
        let ended = ended[field].as_array().expect("a list");
        body[field].as_array_mut().expect("a list").extend_from_slice(&ended[ended.len() - 2..]);
        body.to_string()
    }
}

async fn stage() -> Stage {
    let script = Script { tool_rounds: 0, strictness: Strictness::Lenient, ..Script::default() };
    Stage::new(script, WINDOW).await
}

async fn send(stage: &Stage, agent: &Agent, turns: usize, last: &str) -> String {
    let (status, reply) = answer(stage.post(agent.path, agent.body(turns, last))).await;
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&reply));
    stage.arrived().pop().expect("it arrived").1
}

/// How many compactions were made.
async fn made(stage: &Stage) -> usize {
    let sessions = stage.sessions().await;
    let records = sessions.iter().flat_map(|one| one["compactions"].as_array().expect("a list"));
    records.filter(|record| record["outcome"] == "compacted").count()
}

/// Talks until something was compacted; of how many turns the conversation is then.
async fn until_compacted(stage: &Stage, agent: &Agent) -> usize {
    for turns in (4..TURNS_MAX).step_by(2) {
        send(stage, agent, turns, "and now?").await;
        if made(stage).await > 0 {
            return turns;
        }
    }
    panic!("nothing was compacted");
}

#[tokio::test]
async fn an_agents_own_compaction_is_shown_the_history_itself_where_that_fits() {
    for agent in AGENTS {
        let stage = stage().await;
        let turns = until_compacted(&stage, &agent).await;
        assert!(send(&stage, &agent, turns + 1, "and now?").await.contains(OURS), "{}", agent.asks);
        let sent = send(&stage, &agent, turns + 1, agent.asks).await;
        assert_eq!(sent, agent.body(turns + 1, agent.asks), "as it came");
        assert_eq!((made(&stage).await, stage.sessions().await.len()), (1, 1));
    }
}

#[tokio::test]
async fn whoever_counts_it_is_told_of_the_history_that_would_be_sent() {
    for (agent, counts) in
        [(AGENTS[0], "/v1/messages/count_tokens"), (AGENTS[1], "/v1/responses/input_tokens")]
    {
        let stage = stage().await;
        let turns = until_compacted(&stage, &agent).await;
        let count = async |last: &str| {
            let reply = stage.post(counts, agent.body_behind(turns, last)).send().await.expect("it answers");
            let original =
                reply.headers()["x-epitome-original-input-tokens"].to_str().expect("a figure").to_owned();
            let counted: Value = reply.json().await.expect("a count");
            (counted["input_tokens"].as_u64(), original.parse::<u64>().ok())
        };
        let (said, original) = count("and then?").await;
        assert!(said < original, "{said:?} of {original:?}");
        let (asked, original) = count(agent.asks).await;
        assert_eq!(asked, original, "as it came");
    }
}

#[tokio::test]
async fn where_it_does_not_fit_the_summary_that_is_there_does_and_none_is_made_for_it() {
    for agent in AGENTS {
        let stage = stage().await;
        let turns = until_compacted(&stage, &agent).await;
        // Half as much again: more than the window takes, and too little for a second compaction.
        let turns = turns + turns / 2;
        let before = made(&stage).await;
        let sent = send(&stage, &agent, turns, agent.asks).await;
        assert!(sent.contains(OURS) && sent.contains(&json!(agent.asks).to_string()), "{}", agent.asks);
        assert_eq!((made(&stage).await, before), (1, 1), "{}", agent.asks);
    }
}

#[tokio::test]
async fn what_an_agent_goes_on_with_is_a_conversation_of_its_own() {
    let (stage, agent) = (stage().await, AGENTS[0]);
    let turns = until_compacted(&stage, &agent).await;
    send(&stage, &agent, turns, agent.asks).await;
    let goes_on = json!({"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": [
        {"role": "user", "content": "This session is being continued from a previous conversation. The summary: all is done."},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "and now?"},
    ]});
    assert_eq!(answer(stage.post(agent.path, goes_on.to_string())).await.0, StatusCode::OK);
    assert_eq!(stage.arrived().pop().map(|(_, body)| body), Some(goes_on.to_string()));
    assert_eq!(stage.sessions().await.len(), 2);
}

#[tokio::test]
async fn a_provider_that_takes_less_is_shown_the_summary_that_is_there() {
    let agent = AGENTS[0];
    let script = Script {
        tool_rounds: 0,
        strictness: Strictness::Lenient,
        window_tokens: Some(WINDOW * 8 / 10),
        ..Script::default()
    };
    let stage = Stage::new(script, WINDOW).await;
    let turns = until_compacted(&stage, &agent).await;
    let before = made(&stage).await;
    let sent = send(&stage, &agent, turns + 2, agent.asks).await;
    assert!(sent.contains(OURS), "refused whole, it is shown in short");
    assert_eq!(made(&stage).await, before, "and nothing is summed up again for it");
}

#[tokio::test]
async fn a_request_that_speaks_of_summaries_is_an_ordinary_one() {
    for agent in AGENTS {
        let stage = stage().await;
        let turns = until_compacted(&stage, &agent).await;
        let sent = send(&stage, &agent, turns + 1, "Please summarise what src/lib.rs does.").await;
        assert!(sent.contains(OURS));
    }
}

#[tokio::test]
async fn a_whole_conversation_in_one_message_is_left_alone_as_long_as_it_fits() {
    let stage = stage().await;
    let said = |lines: usize| "[User]: point of the parser, and what comes of it.\n".repeat(lines);
    let pi = |lines: usize| {
        let asks = "The messages above are a conversation to summarize. Create a structured context checkpoint summary that another LLM will use.";
        let text = format!("<conversation>\n{}</conversation>\n\n{asks}", said(lines));
        let message = json!({"role": "user", "content": text});
        json!({"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": [message]}).to_string()
    };
    let mut largest = 0;
    for lines in (500..1_500).step_by(50) {
        assert_eq!(answer(stage.post("/v1/messages", pi(lines))).await.0, StatusCode::OK);
        if made(&stage).await > 0 {
            break;
        }
        let session = stage.sessions().await.pop().expect("it is listed");
        largest = session["tokens"].as_u64().expect("a number");
        assert_eq!(stage.arrived().pop().map(|(_, body)| body), Some(pi(lines)));
    }
    assert!(largest > WINDOW * 85 / 100 && made(&stage).await == 1, "{largest}: due long before");
    let goose = json!({"model": "gpt-4.1", "messages": [
        {"role": "system", "content": format!("An llm context limit was reached. {}", said(600))},
        {"role": "user", "content": "Please summarize the conversation history provided in the system prompt."},
    ]});
    assert_eq!(answer(stage.post("/v1/chat/completions", goose.to_string())).await.0, StatusCode::OK);
    assert_eq!(stage.arrived().pop().map(|(_, body)| body), Some(goose.to_string()));
}
