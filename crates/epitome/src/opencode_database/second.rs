//! A row of opencode 2's `session_message`, told as opencode 1 exports a message: who says it from the row's type, its
//! content as parts. A compaction is told as the request for one and its summary; rows that no model is sent
//! (another agent, another model, another folder) are told as nothing.

use serde_json::{Map, Value, json};

/// A row, without its data.
pub(super) struct MessageRow<'r> {
    pub(super) session: &'r str,
    pub(super) id: &'r str,
    pub(super) kind: &'r str,
}

impl MessageRow<'_> {
    /// The messages an export would have for it. Data that is no object is put in as it is, so that its reader can say so.
    pub(super) fn export(&self, data: &str) -> Vec<String> {
        let Ok(Value::Object(data)) = serde_json::from_str(data) else {
            return vec![self.message(json!({}), vec![Value::from(data)])];
        };
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        match self.kind {
            "user" => {
                let said = said(text("text"), false).into_iter().chain(files(data.get("files")));
                vec![self.message(json!({"role": "user"}), said.collect())]
            }
            "assistant" => vec![self.reply(&data)],
            "synthetic" | "system" | "skill" => self.added(text("text")),
            "shell" => {
                let output = data.get("output");
                let output = output.and_then(|output| output.as_str().or(output["output"].as_str()));
                self.added(&format!("Shell command: {}\n\n{}", text("command"), output.unwrap_or_default()))
            }
            "compaction" => self.compaction(&data),
            "agent-switched" | "model-switched" | "location-switched" => Vec::new(),
            // A kind of a later version: its reader carries what it does not know.
            kind => vec![self.message(json!({"role": "user"}), vec![json!({"type": kind, "data": data})])],
        }
    }

    fn message(&self, mut info: Value, parts: Vec<Value>) -> String {
        info["id"] = self.id.into();
        info["sessionID"] = self.session.into();
        json!({"info": info, "parts": parts}).to_string()
    }

    /// What opencode itself puts on the person's side.
    fn added(&self, text: &str) -> Vec<String> {
        vec![self.message(json!({"role": "user"}), said(text, true).into_iter().collect())]
    }

    /// A reply. One that failed is sent all the same in this version, as far as it got, so its error is left out.
    fn reply(&self, data: &Map<String, Value>) -> String {
        let mut info = json!({"role": "assistant"});
        if let Some(model) = data.get("model").and_then(|model| model.get("id")) {
            info["modelID"] = model.clone();
        }
        for key in ["tokens", "finish", "time"] {
            if let Some(value) = data.get(key) {
                info[key] = value.clone();
            }
        }
        let content = data.get("content").and_then(Value::as_array).into_iter().flatten();
        self.message(info, content.map(content_part).collect())
    }

    /// The request for a compaction and its summary, which stands for all before it. One that has not ended is nothing.
    fn compaction(&self, data: &Map<String, Value>) -> Vec<String> {
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("status"), "" | "completed") {
            return Vec::new();
        }
        let recent = match text("recent") {
            "" => String::new(),
            recent => format!("\n\n<recent-context>\n{recent}\n</recent-context>"),
        };
        let summary = json!({"type": "text", "text": format!("{}{recent}", text("summary"))});
        let info = json!({"role": "assistant", "summary": true, "finish": "stop", "parentID": self.id});
        vec![
            self.message(json!({"role": "user"}), vec![json!({"type": "compaction"})]),
            self.message(info, vec![summary]),
        ]
    }
}

fn said(text: &str, is_added: bool) -> Option<Value> {
    let part = if is_added {
        json!({"type": "text", "text": text, "synthetic": true})
    } else {
        json!({"type": "text", "text": text})
    };
    (!text.is_empty()).then_some(part)
}

/// What a reply says, thinks or calls, as a part.
fn content_part(content: &Value) -> Value {
    match content["type"].as_str() {
        Some("tool") => tool_part(content),
        Some("reasoning") => {
            let seal = content.get("providerMetadata").or_else(|| content.get("metadata"));
            json!({"type": "reasoning", "text": content["text"], "metadata": seal})
        }
        Some(_) | None => content.clone(),
    }
}

/// A call and what came of it.
fn tool_part(tool: &Value) -> Value {
    let state = &tool["state"];
    let told = state["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = told.iter().filter_map(|one| one["text"].as_str()).collect();
    let mut output = texts.join("\n");
    if told.is_empty() && !state["result"].is_null() {
        // A tool of the provider's own answers in its own form.
        output = state["result"].as_str().map_or_else(|| state["result"].to_string(), str::to_owned);
    }
    let error = state["error"]["message"].as_str().or(state["error"].as_str()).unwrap_or(&output);
    let attached = told.iter().filter(|one| one["text"].is_null());
    let attached: Vec<Value> =
        attached.chain(state["attachments"].as_array().into_iter().flatten()).map(file).collect();
    let state = json!({
        "status": state["status"],
        "input": state["input"],
        "output": output,
        "error": error,
        "attachments": attached,
    });
    json!({"type": "tool", "callID": tool["id"], "tool": tool["name"], "state": state})
}

fn files(files: Option<&Value>) -> impl Iterator<Item = Value> {
    let files = files.and_then(Value::as_array).cloned().unwrap_or_default();
    files.into_iter().map(|one| match text_of(&one) {
        Some(text) => json!({"type": "text", "text": text, "synthetic": true}),
        None => file(&one),
    })
}

/// The text of a file that opencode sends as one, with its name.
fn text_of(file: &Value) -> Option<String> {
    let is_text = matches!(file["mime"].as_str(), Some("text/plain" | "application/x-directory"));
    let data = file["data"].as_str().filter(|_| is_text)?;
    let text = String::from_utf8(decode_base64(data)?).ok()?;
    let name = file["name"].as_str().or(file["source"]["uri"].as_str()).unwrap_or("inline attachment");
    Some(format!("Attached file: {name}\n\n{text}"))
}

/// A file as a part: its bytes as a data address, or where it is.
fn file(file: &Value) -> Value {
    let mime = file["mime"].as_str().or(file["mediaType"].as_str()).unwrap_or_default();
    let url = match file["data"].as_str() {
        Some(data) => format!("data:{mime};base64,{data}"),
        None => file["uri"].as_str().or(file["source"]["uri"].as_str()).unwrap_or_default().to_owned(),
    };
    json!({"type": "file", "mime": mime, "url": url, "filename": file["name"]})
}

/// Standard base64, padded or not; none where it is something else.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut held, mut bits) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (held, bits) = ((held << 6) | u32::from(value), bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}
