//! What fills a context: its tokens by kind, by tool and by file, message by message, each as it is shown now. What could
//! be freed of them is `prune`'s to say.

use crate::context::{Context, LogReader};
use crate::ledger::{FileUse, Ledger, file_of};
use crate::{
    ArchiveError, Block, Call, CallId, EntryId, Form, Message, ResultPart, Role, Sizes, Tokens, ToolResult,
};
use serde::Serialize;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// What fills a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextFill {
    /// The messages in view, by kind, as they are shown.
    pub kinds: Sizes,
    /// The summary in view.
    pub summary: Tokens,
    /// By tool, the one that takes most first.
    pub tools: Vec<ToolShare>,
    /// By file, the one that takes most first.
    pub files: Vec<FileShare>,
    /// Each message in view, oldest first.
    pub messages: Vec<MessageShare>,
    /// Results that a later one repeats word for word.
    pub repeated: RepeatedResults,
}

/// What the calls of a tool and their results take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolShare {
    /// Its name.
    pub name: Arc<str>,
    /// How many calls of it are in view.
    pub calls: usize,
    /// What the calls take, names and arguments.
    pub call_tokens: Tokens,
    /// What their results take.
    pub result_tokens: Tokens,
}

/// What calls that are about one file and their results take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileShare {
    /// The file.
    pub path: Arc<str>,
    /// How many results in view show it, whole or in part.
    pub reads: usize,
    /// How many calls in view change it.
    pub changes: usize,
    /// What all of them take.
    pub tokens: Tokens,
}

/// A message in view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MessageShare {
    /// Its entry.
    pub id: EntryId,
    /// Who says it.
    pub role: Role,
    /// What it takes as it is shown.
    pub tokens: Tokens,
    /// The tool it calls or answers, where that is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    /// The file that call is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
}

/// Results that are in view more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RepeatedResults {
    /// How many are repeated later.
    pub count: usize,
    /// What those take.
    pub tokens: Tokens,
}

/// A repeated result of less is a receipt ("File written."), and no waste.
const REPEATED_TOKENS_MIN: Tokens = Tokens(50);

/// What a result is called whose call is not in view.
const NO_CALL: &str = "unknown tool";

impl ContextFill {
    /// What fills `context`; `ledger` knows its files by all their spellings.
    pub fn of(context: &Context, ledger: &Ledger, reader: LogReader<'_>) -> Result<Self, ArchiveError> {
        let mut tally = FillTally {
            ledger,
            reader,
            calls: HashMap::new(),
            tools: Ranking::default(),
            files: Ranking::default(),
            results: HashMap::new(),
            fill: Self::default(),
        };
        for (id, form, tokens) in context.message_slots().filter(|(_, form, _)| !form.left_out) {
            tally.take(id, form, tokens)?;
        }
        let FillTally { tools, files, mut fill, .. } = tally;
        let messages: Tokens = context.message_slots().map(|(.., tokens)| tokens).sum();
        fill.summary = context.tokens().less(messages);
        fill.tools = tools.sorted(|tool| tool.call_tokens + tool.result_tokens);
        fill.files = files.sorted(|file| file.tokens);
        Ok(fill)
    }
}

/// Rows by a key, in the order they were first met.
struct Ranking<K, R> {
    places: HashMap<K, usize>,
    rows: Vec<R>,
}

impl<K, R> Default for Ranking<K, R> {
    fn default() -> Self {
        Self { places: HashMap::new(), rows: Vec::new() }
    }
}

impl<K: Hash + Eq + Clone, R> Ranking<K, R> {
    fn row(&mut self, key: &K, first: impl FnOnce(K) -> R) -> &mut R {
        let place = *self.places.entry(key.clone()).or_insert(self.rows.len());
        if place == self.rows.len() {
            self.rows.push(first(key.clone()));
        }
        &mut self.rows[place]
    }

    fn sorted(mut self, size: impl Fn(&R) -> Tokens) -> Vec<R> {
        self.rows.sort_by_key(|row| std::cmp::Reverse(size(row)));
        self.rows
    }
}

/// A call in view: whose, and what it is about.
#[derive(Clone)]
struct CallInView {
    tool: Arc<str>,
    file: Option<(Arc<str>, FileUse)>,
}

struct FillTally<'a> {
    ledger: &'a Ledger,
    reader: LogReader<'a>,
    calls: HashMap<CallId, CallInView>,
    tools: Ranking<Arc<str>, ToolShare>,
    files: Ranking<Arc<str>, FileShare>,
    /// What the newest result of each text takes.
    results: HashMap<String, Tokens>,
    fill: ContextFill,
}

impl FillTally<'_> {
    fn take(&mut self, id: EntryId, form: Form, tokens: Tokens) -> Result<(), ArchiveError> {
        let Some(role) = self.reader.log.item(id).map(|item| item.role) else { return Ok(()) };
        let message = form.apply(id, &self.reader.archive.message(id)?, self.reader.measure);
        let sizes =
            if form == Form::WHOLE { self.reader.sizes.of(id) } else { self.reader.measure.sizes(&message) };
        self.fill.kinds += sizes;
        let mut about: Vec<CallInView> = Vec::new();
        for call in message.calls() {
            about.push(self.take_call(call, share_of_call(&message, &sizes)));
        }
        for result in message.results() {
            about.push(self.take_result(result, share_of_result(&message, &sizes)));
        }
        let (tool, file) = match &about[..] {
            [one] => (Some(one.tool.clone()), one.file.clone().map(|(path, _)| path)),
            _ => (None, None),
        };
        self.fill.messages.push(MessageShare { id, role, tokens, tool, file });
        Ok(())
    }

    fn take_call(&mut self, call: &Call, known: Option<Tokens>) -> CallInView {
        let measure = self.reader.measure;
        let tokens = known.unwrap_or_else(|| measure.text(&call.name) + measure.text(&call.input));
        let file = file_of(call).map(|(path, kind)| (self.spelled(&path), kind));
        let seen = CallInView { tool: call.name.clone(), file };
        let tool = self.tool(&seen.tool);
        (tool.calls, tool.call_tokens) = (tool.calls + 1, tool.call_tokens + tokens);
        if let Some((path, kind)) = &seen.file {
            let file = self.file(path);
            file.tokens += tokens;
            file.changes += usize::from(*kind == FileUse::Change);
        }
        self.calls.insert(call.id.clone(), seen.clone());
        seen
    }

    fn take_result(&mut self, result: &ToolResult, known: Option<Tokens>) -> CallInView {
        let tokens = known.unwrap_or_else(|| self.weigh(result));
        let seen = self.calls.get(&result.call).cloned();
        let seen = seen.unwrap_or_else(|| CallInView { tool: NO_CALL.into(), file: None });
        self.tool(&seen.tool).result_tokens += tokens;
        if let Some((path, kind)) = &seen.file {
            let file = self.file(path);
            file.tokens += tokens;
            file.reads += usize::from(*kind == FileUse::Read);
        }
        if tokens >= REPEATED_TOKENS_MIN
            && let Some(earlier) = self.results.insert(result.text(), tokens)
        {
            self.fill.repeated.count += 1;
            self.fill.repeated.tokens += earlier;
        }
        seen
    }

    fn weigh(&self, result: &ToolResult) -> Tokens {
        let measure = self.reader.measure;
        let part = |part: &ResultPart| match part {
            ResultPart::Text { text } => measure.text(text),
            ResultPart::Image(image) => measure.image(image),
            ResultPart::Opaque(opaque) => measure.opaque(opaque),
        };
        result.parts.iter().map(part).sum()
    }

    /// A file by the path the ledger has it under.
    fn spelled(&self, path: &str) -> Arc<str> {
        self.ledger.file(path).map_or_else(|| path.into(), |file| file.path.clone())
    }

    fn tool(&mut self, name: &Arc<str>) -> &mut ToolShare {
        let first =
            |name| ToolShare { name, calls: 0, call_tokens: Tokens::ZERO, result_tokens: Tokens::ZERO };
        self.tools.row(name, first)
    }

    fn file(&mut self, path: &Arc<str>) -> &mut FileShare {
        self.files.row(path, |path| FileShare { path, reads: 0, changes: 0, tokens: Tokens::ZERO })
    }
}

/// What the one call of a message takes, which was counted with the message; none where it has several.
fn share_of_call(message: &Message, sizes: &Sizes) -> Option<Tokens> {
    (message.calls().count() == 1).then_some(sizes.calls)
}

/// The same for a message that is one result.
fn share_of_result(message: &Message, sizes: &Sizes) -> Option<Tokens> {
    let is_alone = matches!(&message.blocks[..], [Block::Result(_)]);
    is_alone.then(|| sizes.results + sizes.images + sizes.opaque)
}

#[cfg(test)]
mod tests;
