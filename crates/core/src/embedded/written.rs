//! What the model wrote down with its calls: comments in what it put into files, the prose of documents, and what it
//! told others in commits, pull requests and plans. In these words it says what a change is for.

use super::code::is_prose;
use super::link::word_count;
use super::statement::meaning_of;
use crate::Call;
use crate::facts::sentences;
use crate::pattern::compile;
use regex::Regex;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// A sentence that the model wrote with a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenNote {
    /// Word for word, without the marks of a comment.
    pub text: Box<str>,
    /// How much it says, by its marks.
    pub meaning: f64,
    /// Where it was written.
    pub place: NotePlace,
}

/// Where the model wrote a note.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NotePlace {
    /// Into this file.
    File(Box<str>),
    /// At the head of a commit: what was done, in a line.
    Commit,
    /// In what was told to others: the body of a commit, a request, a plan.
    Telling,
}

/// Of one call so many notes are taken; what says more is a document, and can be read again.
const NOTES_MAX: usize = 60;
/// Of a longer text only the beginning is looked through.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Wrapped lines of a comment are one note up to this many bytes.
const NOTE_BYTES_MAX: usize = 260;
/// What was told to others is a conclusion by itself, whatever its words.
const TOLD_MEANING: f64 = 0.8;

/// What the model wrote down with a call.
pub(crate) fn notes_in(call: &Call) -> Vec<WrittenNote> {
    let mut notes = Vec::new();
    let fields = serde_json::from_str::<Value>(&call.input).ok();
    match fields.as_ref().and_then(Value::as_object) {
        Some(fields) => of_fields(call, fields, &mut notes),
        None => of_patch(&call.input, &mut notes),
    }
    notes.truncate(NOTES_MAX);
    notes
}

/// The file that a call writes into, where it is one.
pub(crate) fn file_written(call: &Call) -> Option<String> {
    let fields = serde_json::from_str::<Value>(&call.input).ok();
    let Some(fields) = fields.as_ref().and_then(Value::as_object) else {
        return patched(&call.input).map(|(path, _)| path.to_owned()).next();
    };
    if let Some(patch) = patch_in(fields) {
        return patched(patch).map(|(path, _)| path.to_owned()).next();
    }
    let is_writing = !new_texts(fields).is_empty();
    path_in(fields).filter(|_| is_writing).map(str::to_owned)
}

/// Arguments that name a file, that hold what is put into one, and what was there before.
const PATHS: [&str; 6] = ["file_path", "filePath", "path", "filename", "notebook_path", "target_file"];
const NEW: [&str; 9] = [
    "new_string",
    "newString",
    "new_str",
    "newText",
    "new_text",
    "new_source",
    "content",
    "contents",
    "file_text",
];
const OLD: [&str; 5] = ["old_string", "oldString", "old_str", "oldText", "old_text"];
const SCRIPTS: [&str; 3] = ["command", "cmd", "script"];

fn text_of<'v>(fields: &'v Map<String, Value>, names: &[&str]) -> Option<&'v str> {
    names.iter().find_map(|name| fields.get(*name)?.as_str())
}

fn path_in(fields: &Map<String, Value>) -> Option<&str> {
    text_of(fields, &PATHS)
}

fn patch_in(fields: &Map<String, Value>) -> Option<&str> {
    let texts = fields.values().filter_map(Value::as_str);
    texts.into_iter().find(|text| text.contains("*** Begin Patch"))
}

/// What a call puts into a file, each piece with what it replaces.
fn new_texts(fields: &Map<String, Value>) -> Vec<(&str, &str)> {
    let one = |fields| Some((text_of(fields, &NEW)?, text_of(fields, &OLD).unwrap_or_default()));
    let several = fields.get("edits").and_then(Value::as_array).into_iter().flatten();
    one(fields).into_iter().chain(several.filter_map(Value::as_object).filter_map(one)).collect()
}

fn of_fields(call: &Call, fields: &Map<String, Value>, notes: &mut Vec<WrittenNote>) {
    if let Some(patch) = patch_in(fields) {
        return of_patch(patch, notes);
    }
    if let Some(path) = path_in(fields) {
        for (new, old) in new_texts(fields) {
            of_file(path, new, old, notes);
        }
    } else if let Some(script) = text_of(fields, &SCRIPTS) {
        told_by_script(script).into_iter().for_each(|told| tell(told.text, told.head, notes));
    } else if TELLS.is_match(&call.name) {
        let told = ["title", "body", "message", "description", "plan", "explanation"];
        let told = told.iter().filter_map(|name| fields.get(*name)?.as_str());
        told.for_each(|text| tell(text, NotePlace::Telling, notes));
    }
}

/// Names of tools by which others are told something.
static TELLS: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?i)plan|pull_?request|merge_?request|issue|comment|commit|release"));

/// Options by which a command is handed a message for others. The text is a quotation, or comes from the shell's own
/// document.
static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?:\s-m|\s-am|--(?:message|title|body|reason|notes?|comment|description)|\b(?:body|title)=?)[ =]*(["'])(?:\$\(cat <<-?\s*['"]?(\w+)['"]?\s*\n)?"#,
    )
});

/// A text that a script hands to others.
struct ScriptText<'s> {
    text: &'s str,
    /// Where its first line is put.
    head: NotePlace,
}

/// A command that commits, up to its first message: what a second one holds is the body.
static COMMITS: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"\b(?:git|jj|hg)\b[^;&|"']*\bcommit\b[^;&|"']*$"#));

/// What a script tells others: messages of commits, titles and bodies of requests, reasons.
fn told_by_script(script: &str) -> Vec<ScriptText<'_>> {
    let script = &script[..script.floor_char_boundary(TEXT_BYTES_MAX)];
    let mut told = Vec::new();
    for found in MESSAGE.captures_iter(script) {
        let (Some(all), Some(quote)) = (found.get(0), found.get(1)) else { continue };
        let rest = &script[all.end()..];
        let end = match found.get(2) {
            Some(word) => rest.find(&format!("\n{}", word.as_str())),
            None => closing_quote(rest, quote.as_str()),
        };
        let text = &rest[..end.unwrap_or(rest.len())];
        let line = script[..all.start()].rsplit('\n').next().unwrap_or_default();
        let head = if COMMITS.is_match(line) { NotePlace::Commit } else { NotePlace::Telling };
        told.push(ScriptText { text, head });
    }
    told
}

fn closing_quote(text: &str, quote: &str) -> Option<usize> {
    let mut places = text.match_indices(quote).map(|(at, _)| at);
    places.find(|&at| !text[..at].ends_with('\\'))
}

/// Lines that tools put under messages by themselves.
static SIGNATURE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?i)^(?:co-authored-by|signed-off-by|🤖|generated with|#|\|)"));

/// Takes down what others were told; its first line is put at `head`.
fn tell(text: &str, head: NotePlace, notes: &mut Vec<WrittenNote>) {
    let (mut is_code, mut told) = (false, Vec::<String>::new());
    let mut goes_on = false;
    for line in text.lines().map(str::trim) {
        is_code ^= line.starts_with("```");
        if is_code || SIGNATURE.is_match(line) {
            goes_on = false;
            continue;
        }
        let is_item = line.starts_with(['-', '*', '•']) || line.starts_with(|c: char| c.is_ascii_digit());
        match told.last_mut() {
            Some(last) if goes_on && !is_item && !line.is_empty() => last.extend([" ", line]),
            Some(_) | None => told.push(line.to_owned()),
        }
        goes_on = line.len() >= WRAPPED_BYTES_MIN && !ends_sentence(line);
    }
    let mut told = told.iter().filter(|text| !text.is_empty());
    if let Some(text) = told.next() {
        push(text, head, TOLD_MEANING, notes);
    }
    told.for_each(|text| push(text, NotePlace::Telling, TOLD_MEANING, notes));
}

/// A shorter line was ended, not wrapped.
const WRAPPED_BYTES_MIN: usize = 50;

fn of_patch(patch: &str, notes: &mut Vec<WrittenNote>) {
    for (path, lines) in patched(patch) {
        of_file(path, &lines, "", notes);
    }
}

/// What a patch adds, file by file.
fn patched(patch: &str) -> impl Iterator<Item = (&str, String)> {
    let parts = patch.split("\n*** ").skip(usize::from(!patch.starts_with("*** Add")));
    parts.filter_map(|part| {
        let (head, body) = part.split_once('\n')?;
        let (what, path) = head.split_once(" File: ")?;
        let added = body.lines().filter_map(|line| line.strip_prefix('+'));
        (what != "Delete").then(|| (path.trim(), added.collect::<Vec<_>>().join("\n")))
    })
}

/// Endings of files that are prose.
const PROSE_FILES: [&str; 5] = [".md", ".mdx", ".txt", ".rst", ".adoc"];

fn of_file(path: &str, new: &str, old: &str, notes: &mut Vec<WrittenNote>) {
    let new = &new[..new.floor_char_boundary(TEXT_BYTES_MAX)];
    let is_prose_file = PROSE_FILES.iter().any(|end| path.ends_with(end));
    let found = if is_prose_file { paragraphs(new) } else { comments(new) };
    for text in found.iter().filter(|text| !old.contains(text.as_str())) {
        push(text, NotePlace::File(path.into()), 0.0, notes);
    }
}

fn push(text: &str, place: NotePlace, more: f64, notes: &mut Vec<WrittenNote>) {
    let text = text.trim().trim_start_matches(['-', '*', '•', ' ']);
    // A commit says what was done in however few words.
    if is_prose(text) || (place == NotePlace::Commit && word_count(text) > 0) {
        let meaning = meaning_of(text).max(0.1) + more;
        notes.push(WrittenNote { text: text.into(), meaning, place });
    }
}

/// The lines of a document that are prose.
fn paragraphs(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut all = Vec::new();
    for line in text.lines().map(str::trim) {
        is_code ^= line.starts_with("```");
        if !is_code && !line.starts_with(['#', '|', '>', '`']) {
            all.push(line.to_owned());
        }
    }
    all
}

/// How comments begin in most languages; what stands behind it is said.
static COMMENT: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"^(?://[/!]?|/\*\*?|\*(?:\s|$)|#\s|--\s|;;+|<!--|\x22\x22\x22|''')\s*(.*)$"#));

/// The comments in a piece of code, wrapped lines joined.
pub(super) fn comments(code: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (mut is_open, mut is_text) = (false, false);
    for line in code.lines().map(str::trim) {
        let quotes = line.matches("\"\"\"").count();
        let said = match COMMENT.captures(line) {
            Some(found) => found.get(1).map_or("", |said| said.as_str()),
            None if is_text && quotes == 0 => line,
            None => "",
        };
        is_text ^= quotes == 1;
        let said = said.trim_end_matches(['*', '/', '-', '>', '"']).trim();
        let is_tag = said.starts_with(['@', ':']) || said.is_empty();
        match all.last_mut() {
            Some(last) if is_open && !is_tag && last.len() + said.len() < NOTE_BYTES_MAX => {
                last.extend([" ", said]);
            }
            Some(_) | None if !is_tag => all.push(said.to_owned()),
            Some(_) | None => {}
        }
        is_open = !is_tag && !ends_sentence(said);
    }
    all
}

fn ends_sentence(text: &str) -> bool {
    text.ends_with(['.', '!', '?', ':', '。', '！', '？'])
}

/// The last sentence of what was said, where it leads up to a call: "Let me make the cache safe to share:".
pub(crate) fn purpose(said: &str) -> Option<&str> {
    let line = said.trim_end().lines().next_back()?;
    let last = sentences(line).last()?;
    let aim = LEAD.find(last).map_or(last, |lead| &last[lead.end()..]);
    let aim = aim.trim_end_matches([':', '：', '.']).trim();
    (aim.len() < NOTE_BYTES_MAX && is_prose(aim)).then_some(aim)
}

/// Words by which the model says that it is about to do something.
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^(?:(?:ok(?:ay)?|good|great|perfect|now|alright|right|so|and|first|next|then|also|finally)\b[,.!:— -]*)*(?:(?:let me|i['’]ll|i will|i['’]m going to|i need to|i should|let['’]s|we need to|i can)\b\s*(?:(?:now|also|first|just|then|go ahead and)\s+)*)?",
    )
});

#[cfg(test)]
mod tests {
    use super::{NotePlace, file_written, notes_in, purpose};
    use crate::Call;

    fn notes(name: &str, input: &str) -> Vec<(String, Option<String>)> {
        let freeform = input.starts_with("*** ");
        let call = Call { id: "1".into(), name: name.into(), input: input.into(), freeform };
        let found = notes_in(&call).into_iter();
        let place = |place| match place {
            NotePlace::File(path) => Some(path.into()),
            NotePlace::Commit => Some("commit".to_owned()),
            NotePlace::Telling => None,
        };
        found.map(|note| (note.text.into(), place(note.place))).collect()
    }

    fn said(text: &str, path: &str) -> (String, Option<String>) {
        (text.to_owned(), Some(path.to_owned()).filter(|path| !path.is_empty()))
    }

    #[test]
    fn comments_say_what_an_edit_is_for() {
        let edit = r#"{"file_path":"a.go","old_string":"x","new_string":"// Fetch the metadata tree once,\n// before the loop.\ntree := get() // best effort\n\n# nothing\nreturn nil"}"#;
        assert_eq!(notes("Edit", edit), [said("Fetch the metadata tree once, before the loop.", "a.go")]);
        let kept = r#"{"file_path":"a.go","old_string":"// Fetch the metadata tree once","new_string":"// Fetch the metadata tree once\ny"}"#;
        assert_eq!(notes("Edit", kept), []);
    }

    #[test]
    fn a_patch_tells_of_its_files() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-old\n+/// Counts every line that was written.\n+fn count() {}\n*** End Patch";
        assert_eq!(notes("apply_patch", patch), [said("Counts every line that was written.", "src/a.rs")]);
        let call = Call { id: "1".into(), name: "apply_patch".into(), input: patch.into(), freeform: true };
        assert_eq!(file_written(&call).as_deref(), Some("src/a.rs"));
    }

    #[test]
    fn a_commit_tells_others() {
        let commit = r#"{"command":"git add -A && git commit -m \"$(cat <<'EOF'\nfix: close the iterator early\n\n- Hoist the metadata tree out of the loop\n\nCo-Authored-By: A Model of theirs <x@y.z>\nEOF\n)\" && python -m pytest"}"#;
        assert_eq!(
            notes("Bash", commit),
            [
                said("fix: close the iterator early", "commit"),
                said("Hoist the metadata tree out of the loop", "")
            ]
        );
        let twice = r#"{"command":"git commit -m 'Fix typos' -m 'The old ones stood in both headings'; gh pr create --title 'Correct typos of both headings'"}"#;
        assert_eq!(
            notes("Bash", twice),
            [
                said("Fix typos", "commit"),
                said("The old ones stood in both headings", ""),
                said("Correct typos of both headings", "")
            ]
        );
        let close = r#"{"command":"bd close x-1 --reason 'Implemented tracing with error handling'"}"#;
        assert_eq!(notes("Bash", close), [said("Implemented tracing with error handling", "")]);
    }

    #[test]
    fn what_leads_up_to_an_edit_is_its_purpose() {
        assert_eq!(
            purpose("It fails.\nNow let me make the cache safe to share between threads:"),
            Some("make the cache safe to share between threads")
        );
        assert_eq!(purpose("Let me look:"), None);
    }
}
