//! A transcript opened for work: read, with the model it is counted for and the room there is.

use crate::cli::ReadArgs;
use crate::input;
use anyhow::{Context as _, Result, bail};
use epitome_core::{Budget, Measure, Tokens};
use epitome_engine::Gauge;
use epitome_tokens::{Catalog, Counter, Model};
use epitome_wire::{Conversation, Source, Transcript, read};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A transcript, and what it takes to work on it.
pub struct Opened {
    /// Where it came from.
    pub path: PathBuf,
    /// Its bytes.
    pub source: Arc<dyn Source>,
    /// What they say.
    pub transcript: Transcript,
    /// The model it is counted for.
    pub model: Model,
    /// That model's way of counting.
    pub gauge: Gauge,
    /// The window.
    pub window: Window,
}

/// A window and where the figure comes from.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// In tokens.
    pub tokens: u64,
    /// `flag`, or what the catalog says.
    pub source: String,
}

/// A model is looked for in this much of a transcript's beginning; every tool names it with its first reply.
const HINT_BYTES: usize = 4 << 20;
/// An answer's length where neither transcript nor catalog limit it.
const OUTPUT_TOKENS: u64 = 8_192;

impl Opened {
    /// Opens and reads a transcript.
    pub fn new(path: &Path, args: &ReadArgs) -> Result<Self> {
        let source = input::open(path)?;
        Self::of(path, source, args)
    }

    /// Reads a transcript that is open already.
    pub fn of(path: &Path, source: Arc<dyn Source>, args: &ReadArgs) -> Result<Self> {
        let failed = || format!("cannot read {}", path.display());
        let name = args.model.clone().or(hinted_model(&*source)?).unwrap_or_default();
        let model = Catalog::built_in().find(&name);
        let gauge = Gauge(Counter::for_model(&model));
        let transcript = read(source.clone(), args.from.0, &gauge).with_context(failed)?;
        if transcript.conversations.is_empty() {
            bail!("{} holds no conversation", path.display());
        }
        let window = match args.window {
            Some(tokens) => Window { tokens, source: "flag".into() },
            None => {
                Window { tokens: model.window_tokens.value, source: told(model.window_tokens.source).into() }
            }
        };
        Ok(Self { path: path.to_owned(), source, transcript, model, gauge, window })
    }

    /// How tokens are counted.
    pub fn method(&self) -> String {
        self.gauge.0.method().to_string()
    }

    /// The room for one of its conversations.
    pub fn budget(&self, conversation: &Conversation) -> Budget {
        let catalog = self.model.output_tokens_max.as_ref().map_or(OUTPUT_TOKENS, |most| most.value);
        let output = conversation.fixed.max_tokens.unwrap_or(catalog).min(catalog.max(1));
        Budget::new(Tokens(self.window.tokens), self.fixed_tokens(conversation), Tokens(output))
    }

    /// What a conversation's system prompt and tools take.
    pub fn fixed_tokens(&self, conversation: &Conversation) -> Tokens {
        let system: Tokens = conversation.fixed.system.iter().map(|text| self.gauge.text(text)).sum();
        let tools: Vec<&str> = conversation.fixed.tools.iter().map(AsRef::as_ref).collect();
        system + Tokens(self.gauge.0.count_tools(&tools))
    }

    /// The conversation asked for, or the longest.
    pub fn conversation(&self, asked: Option<usize>) -> Result<usize> {
        let count = self.transcript.conversations.len();
        match asked {
            Some(number) if number >= count => {
                bail!("there is no conversation {number}; the file has {count}, counted from 0")
            }
            Some(number) => Ok(number),
            None => {
                let longest = (0..count)
                    .max_by_key(|&number| (self.transcript.conversations[number].log.len(), count - number));
                longest.context("the file holds no conversation")
            }
        }
    }
}

/// The first model a transcript names.
fn hinted_model(source: &dyn Source) -> Result<Option<String>> {
    let mut head = vec![0; HINT_BYTES.min(source.len() as usize)];
    let got = source.read_at(0, &mut head).context("cannot read the file")?;
    let text = String::from_utf8_lossy(&head[..got]);
    Ok(["\"model\"", "\"modelID\"", "\"modelId\"", "\"model_name\""]
        .into_iter()
        .find_map(|key| model_after(&text, key)))
}

fn model_after(text: &str, key: &str) -> Option<String> {
    text.match_indices(key).find_map(|(at, _)| {
        let rest = text[at + key.len()..].trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        let name = &rest[..rest.find('"')?];
        let is_name = (2..80).contains(&name.len()) && !name.starts_with('<') && !name.contains([' ', '\\']);
        is_name.then(|| name.to_owned())
    })
}

/// Where a figure of the catalog comes from, in words.
fn told(source: epitome_tokens::Source) -> &'static str {
    match source {
        epitome_tokens::Source::Guess => "a guess: the model is not in the catalog",
        epitome_tokens::Source::Catalog => "the catalog",
        epitome_tokens::Source::Learned => "the provider",
        epitome_tokens::Source::Explicit => "an override",
    }
}
