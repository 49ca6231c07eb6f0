//! What a person said through a tool: answers to questions that the model put to them, and their words where they
//! turned a call down. Transcripts keep both as results, and they are decisions all the same.

use crate::pattern::compile;
use crate::{Call, CallId, EntryId, Message, ToolResult};
use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// Words in the names of tools that put a question to a person.
static ASKS: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?i)ask_?user|user_?input|^question$|ask_?(?:follow|clarif)|elicit"));

/// What harnesses write in front of a person's words where a call was turned down.
static TURNED_DOWN: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?is)^.{0,240}?(?:the user said|user feedback|reason given|rejected with(?: the)? message):\s*(.+)$",
    )
});

/// How a harness that tells answers in words closes its sentence.
static TAKES_LEAVE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?s)\.?\s*You can now continue with .{0,24}answers in mind\.?\s*$"));

/// Fields by which tools name a question, and an option of it.
const QUESTION_FIELDS: [&str; 4] = ["question", "prompt", "message", "query"];
const LABEL_FIELDS: [&str; 3] = ["label", "title", "value"];

/// A longer answer is a document; its beginning says what was chosen.
const ANSWER_CHARS_MAX: usize = 900;

/// Whether a tool of this name puts questions to a person.
pub(super) fn asks_person(tool: &str) -> bool {
    ASKS.is_match(tool)
}

/// The exchanges of a history by which a person said something: each message that asked, and each that holds an answer.
#[derive(Clone, Debug, Default)]
pub struct AnswerIndex {
    /// Calls whose results have not come, with the messages that made them.
    open: HashMap<CallId, (EntryId, Call)>,
    ids: BTreeSet<EntryId>,
}

impl AnswerIndex {
    /// Takes up one more message.
    pub fn update(&mut self, id: EntryId, message: &Message) {
        let calls = message.calls().map(|call| (call.id.clone(), (id, call.clone())));
        self.open.extend(calls);
        for result in message.results() {
            let Some((asked, call)) = self.open.remove(&result.call) else { continue };
            if !answers(&call, result).is_empty() {
                self.ids.extend([asked, id]);
            }
        }
    }

    /// Whether a message asked a person, or holds their answer.
    pub fn contains(&self, id: EntryId) -> bool {
        self.ids.contains(&id)
    }
}

/// What a person said by this result: each question with its answer, or their words where they turned the call down.
pub(super) fn answers(call: &Call, result: &ToolResult) -> Vec<String> {
    let text = result.text();
    if let Some(words) = turned_down(&text) {
        return vec![format!("turned down {}: {}", call.name, shorten(words))];
    }
    if !asks_person(&call.name) || result.is_error {
        return Vec::new();
    }
    let questions = questions(call);
    let told: Vec<Option<String>> = answers_in(&text, &questions);
    let is_found = told.iter().any(Option::is_some);
    if !is_found {
        let asked: Vec<&str> = questions.iter().map(|question| question.text.as_str()).collect();
        return vec![format!("asked \"{}\" → {}", asked.join(" / "), shorten(bare(&text)))];
    }
    let pairs = questions.iter().zip(told);
    pairs.filter_map(|(question, answer)| Some(question.told(&answer?))).collect()
}

/// Whether a result may be a person's word that a call is not to be made.
pub(crate) fn may_be_refused(text: &str) -> bool {
    text.contains("doesn't want to") || text.contains("rejected") || text.contains("declined")
}

/// A person's words where they turned a call down.
fn turned_down(text: &str) -> Option<&str> {
    if !may_be_refused(text) {
        return None;
    }
    let words = TURNED_DOWN.captures(text)?.get(1)?.as_str().trim();
    (!words.is_empty()).then_some(words)
}

/// A question, and the options that went with it.
struct AskedQuestion {
    text: String,
    id: Option<String>,
    /// Each label with what it was said to mean.
    options: Vec<(String, String)>,
}

impl AskedQuestion {
    fn of(value: &Value) -> Option<Self> {
        let text = |value: &Value, names: &[&str]| {
            let found = names.iter().find_map(|name| value.get(*name)?.as_str());
            found.map(str::to_owned)
        };
        let option = |option: &Value| match option {
            Value::String(label) => Some((label.clone(), String::new())),
            Value::Object(_) => {
                let meaning = text(option, &["description"]).unwrap_or_default();
                Some((text(option, &LABEL_FIELDS)?, meaning))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        };
        let options = ["options", "choices"].iter().find_map(|name| value.get(*name)?.as_array());
        Some(Self {
            text: text(value, &QUESTION_FIELDS)?,
            id: text(value, &["id"]),
            options: options.into_iter().flatten().filter_map(option).collect(),
        })
    }

    /// Question and answer in one line, with what the chosen option was said to mean.
    fn told(&self, answer: &str) -> String {
        let is_chosen = |label: &str| answer == label || answer.split(", ").any(|one| one == label);
        let chosen = self.options.iter().filter(|(label, meaning)| is_chosen(label) && !meaning.is_empty());
        let meanings: Vec<&str> = chosen.map(|(_, meaning)| meaning.as_str()).collect();
        match meanings.is_empty() {
            true => format!("asked \"{}\" → {}", self.text, shorten(answer)),
            false => {
                format!("asked \"{}\" → {} ({})", self.text, shorten(answer), shorten(&meanings.join("; ")))
            }
        }
    }
}

/// A question and its answer without what the chosen option was said to mean.
pub(super) fn choice(told: &str) -> &str {
    let Some(arrow) = told.rfind(" → ").filter(|_| told.ends_with(')')) else { return told };
    let answer = &told[arrow..];
    // A label may hold a bracket of its own: "Yes (Recommended) (what that means)".
    let meaning = answer.find(") (").map(|at| at + 1).or_else(|| answer.find(" ("));
    meaning.filter(|at| answer.len() - at > LABEL_BYTES_MAX).map_or(told, |at| &told[..arrow + at])
}

/// The same with no more of the question than tells which one it was, and the beginning of a long answer.
pub(super) fn brief(told: &str) -> String {
    let told = choice(told);
    match told.rsplit_once(" → ") {
        Some((question, answer)) => {
            let quote = if question.ends_with('"') { "\"" } else { "" };
            format!(
                "{} → {}",
                beginning(question, QUESTION_WORDS, quote),
                beginning(answer, ANSWER_WORDS, "")
            )
        }
        None => beginning(told, ANSWER_WORDS, ""),
    }
}

/// With "asked" in front of them.
const QUESTION_WORDS: usize = 9;
const ANSWER_WORDS: usize = 30;

/// So many words of a text, with `end` behind them where there are more.
fn beginning(text: &str, count: usize, end: &str) -> String {
    let mut words = text.split_whitespace();
    let first: Vec<&str> = words.by_ref().take(count).collect();
    let more = if words.next().is_some() { format!(" …{end}") } else { String::new() };
    first.join(" ") + &more
}

/// A shorter bracket is part of an option's label.
const LABEL_BYTES_MAX: usize = 24;

fn questions(call: &Call) -> Vec<AskedQuestion> {
    let Ok(input) = serde_json::from_str::<Value>(&call.input) else { return Vec::new() };
    let several = input.get("questions").and_then(Value::as_array);
    match several {
        Some(several) => several.iter().filter_map(AskedQuestion::of).collect(),
        None => AskedQuestion::of(&input).into_iter().collect(),
    }
}

/// The answer to each question, where the result names them apart.
fn answers_in(text: &str, questions: &[AskedQuestion]) -> Vec<Option<String>> {
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return questions.iter().map(|question| answer_by_id(&value, question)).collect();
    }
    let place = |question: &AskedQuestion| {
        let mark = format!("\"{}\"=\"", question.text);
        text.find(&mark).map(|at| (at, at + mark.len()))
    };
    let places: Vec<Option<(usize, usize)>> = questions.iter().map(place).collect();
    let one = |place: &Option<(usize, usize)>| {
        let (_, from) = (*place)?;
        let next = places.iter().flatten().map(|(start, _)| *start).filter(|start| *start > from).min();
        let answer = TAKES_LEAVE.replace(&text[from..next.unwrap_or(text.len())], "").into_owned();
        let answer = answer.trim().trim_end_matches(',').trim_end();
        Some(with_notes(answer).trim_end_matches('"').to_owned())
    };
    places.iter().map(one).collect()
}

/// An answer, with what the person added to it where that says more.
fn with_notes(answer: &str) -> String {
    let Some((answer, notes)) = answer.split_once("\" user notes: ") else { return answer.to_owned() };
    match answer.trim() == notes.trim_end_matches('.').trim() {
        true => answer.trim().to_owned(),
        false => format!("{}; {}", answer.trim(), notes.trim()),
    }
}

/// The answer under a question's id or text, however deep it stands.
fn answer_by_id(value: &Value, question: &AskedQuestion) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let own =
                question.id.as_ref().and_then(|id| fields.get(id)).or_else(|| fields.get(&question.text));
            own.map(leaves).or_else(|| fields.values().find_map(|value| answer_by_id(value, question)))
        }
        Value::Array(values) => values.iter().find_map(|value| answer_by_id(value, question)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The texts in a value, one after the other.
fn leaves(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(leaves).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields.values().map(leaves).collect::<Vec<_>>().join(", "),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// What a person said, without what the harness wrote around it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    ["User responded: ", "User selected: ", "User answered: "]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .unwrap_or(text)
}

fn shorten(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(ANSWER_CHARS_MAX) {
        Some((at, _)) => format!("{} …", &flat[..at]),
        None => flat,
    }
}

#[cfg(test)]
mod tests {
    use super::answers;
    use crate::Call;

    fn call(name: &str, input: &str) -> Call {
        Call { id: "1".into(), name: name.into(), input: input.into(), freeform: false }
    }

    #[test]
    fn each_question_stands_with_its_answer_and_what_that_means() {
        let input = r#"{"questions":[
            {"question":"Which store?","options":[{"label":"SQLite","description":"one file"},{"label":"Postgres","description":"many"}]},
            {"question":"Say \"go\"?","options":[]}]}"#;
        let call = call("AskUserQuestion", input);
        let said = call.answer(
            r#"User has answered your questions: "Which store?"="SQLite", "Say "go"?"="not yet, "wait"". You can now continue with the user's answers in mind."#,
        );
        let want = [r#"asked "Which store?" → SQLite (one file)"#, r#"asked "Say "go"?" → not yet, "wait"#];
        assert_eq!(answers(&call, &said), want);
    }

    #[test]
    fn answers_by_id_and_single_questions_count_too() {
        let several = call("request_user_input", r#"{"questions":[{"id":"db","question":"Which one?"}]}"#);
        let said = several.answer(r#"{"answers":{"db":{"answers":["the second"]}}}"#);
        assert_eq!(answers(&several, &said), [r#"asked "Which one?" → the second"#]);
        let single = call("ask_user", r#"{"question":"Ship it?","choices":["yes","no"]}"#);
        let said = single.answer("User responded: yes");
        assert_eq!(answers(&single, &said), [r#"asked "Ship it?" → yes"#]);
    }

    #[test]
    fn a_call_that_was_turned_down_keeps_the_persons_words() {
        let call = call("Bash", r#"{"command":"git push"}"#);
        let said = call.fail(
            "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to \
             proceed, the user said:\nonly after the review",
        );
        assert_eq!(answers(&call, &said), ["turned down Bash: only after the review"]);
        assert_eq!(answers(&call, &call.answer("ok")), Vec::<String>::new());
    }
}
