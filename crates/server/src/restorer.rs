//! What a request itself shows of skills and tool servers, for policies that bring them back after a compaction. Files
//! are not read: a server knows no project.

use crate::body::Body;
use epitome_engine::{FileNow, Restorer};
use epitome_wire::Protocol;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Skills and servers of one request.
#[derive(Debug, Default)]
pub(crate) struct RequestRestorer {
    skills: Vec<(String, String)>,
    servers: Vec<(String, String)>,
}

/// Tools of a server are named `mcp__SERVER__TOOL` by those who offer them.
const SERVER_PREFIX: &str = "mcp__";
/// The tools that load a skill, by the names agents give them.
const SKILL_TOOLS: [&str; 2] = ["Skill", "skill"];
/// The arguments under which such a call names its skill.
const SKILL_ARGUMENTS: [&str; 3] = ["skill", "name", "command"];

impl RequestRestorer {
    /// What stands in a body and its tool definitions.
    pub(crate) fn of(protocol: Protocol, body: &Body, tools: &[Arc<str>]) -> Self {
        let skills = match protocol {
            Protocol::Anthropic => skills(body),
            // Agents of the other protocols load skills by reading files, which nobody can tell from other files.
            Protocol::OpenaiChat | Protocol::OpenaiResponses => Vec::new(),
        };
        Self { skills, servers: servers(tools) }
    }
}

impl Restorer for RequestRestorer {
    fn file(&self, _: &str) -> Option<FileNow> {
        None
    }

    fn skills(&self) -> Vec<(String, String)> {
        self.skills.clone()
    }

    fn servers(&self) -> Vec<(String, String)> {
        self.servers.clone()
    }
}

/// Tool definitions by the server that offers them.
fn servers(tools: &[Arc<str>]) -> Vec<(String, String)> {
    let mut servers: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for tool in tools {
        let Ok(value) = serde_json::from_str::<Value>(tool) else { continue };
        let name = value["name"].as_str().or(value["function"]["name"].as_str()).unwrap_or_default();
        if let Some((server, _)) = name.strip_prefix(SERVER_PREFIX).and_then(|rest| rest.split_once("__")) {
            servers.entry(server.to_owned()).or_default().push(tool);
        }
    }
    servers.into_iter().map(|(server, tools)| (server, tools.join("\n"))).collect()
}

/// Skills that were loaded, the most used first, each as it was loaded last.
fn skills(body: &Body) -> Vec<(String, String)> {
    let mut called: HashMap<String, String> = HashMap::new();
    let mut loaded: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for element in (0..body.len()).map(|at| body.element(at)) {
        let is_about = |name: &&str| element.contains(&format!("\"{name}\""));
        if called.is_empty() && !SKILL_TOOLS.iter().any(is_about) {
            continue;
        }
        let Ok(message) = serde_json::from_str::<Value>(element) else { continue };
        for block in message["content"].as_array().into_iter().flatten() {
            if let Some((id, skill)) = skill_call(block) {
                called.insert(id, skill);
            } else if let Some(skill) = block["tool_use_id"].as_str().and_then(|id| called.get(id)) {
                let entry = loaded.entry(skill.clone()).or_default();
                *entry = (entry.0 + 1, text_of(&block["content"]));
            }
        }
    }
    let mut all: Vec<(String, (usize, String))> = loaded.into_iter().collect();
    all.sort_by_key(|(_, (uses, _))| Reverse(*uses));
    all.into_iter().map(|(skill, (_, text))| (skill, text)).collect()
}

fn skill_call(block: &Value) -> Option<(String, String)> {
    let name = block["name"].as_str().filter(|name| SKILL_TOOLS.contains(name))?;
    let skill = SKILL_ARGUMENTS.iter().find_map(|argument| block["input"][argument].as_str());
    Some((block["id"].as_str()?.to_owned(), skill.unwrap_or(name).to_owned()))
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::RequestRestorer;
    use crate::body::Body;
    use epitome_engine::Restorer as _;
    use epitome_wire::Protocol;
    use serde_json::json;

    #[test]
    fn skills_come_most_used_first_and_tools_by_their_server() {
        let call = |id: &str, skill: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Skill", "input": {"skill": skill}}]});
        let result = |id: &str, text: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]});
        let messages = [
            call("1", "pdf"),
            result("1", "how to read a page"),
            call("2", "xlsx"),
            result("2", "how to sum a row"),
            call("3", "xlsx"),
            result("3", "how to sum a column"),
        ];
        let body =
            Body::alone(Protocol::Anthropic, &json!({"messages": messages}).to_string()).expect("a body");
        let tool = |name: &str| std::sync::Arc::from(json!({"name": name}).to_string());
        let tools = [tool("mcp__github__search"), tool("Read"), tool("mcp__github__open")];
        let restorer = RequestRestorer::of(Protocol::Anthropic, &body, &tools);
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(
            restorer.skills(),
            [pair("xlsx", "how to sum a column"), pair("pdf", "how to read a page")]
        );
        let github = "{\"name\":\"mcp__github__search\"}\n{\"name\":\"mcp__github__open\"}";
        assert_eq!(restorer.servers(), [pair("github", github)]);
    }
}
