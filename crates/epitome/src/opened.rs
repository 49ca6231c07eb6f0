//! A transcript opened for work: read, with the model it is counted for and the room there is.

use crate::cli::ReadArgs;
use crate::input;
use anyhow::{Context as _, Result, bail};
use epitome_core::{Budget, Measure, Tokens};
use epitome_engine::Gauge;
use epitome_tokens::{Catalog, Counter, Model};
use epitome_wire::{Conversation, Source, Transcript, read};
use serde::Serialize;
use std::collections::HashMap;
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
    /// Whether the file is not the bytes themselves.
    is_packed: bool,
}

/// A window and where the figure comes from.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// In tokens.
    pub tokens: u64,
    /// `flag`, or what the catalog says.
    pub source: String,
}

/// A model is looked for in this much of a transcript's beginning, and as much of its end.
const HINT_BYTES: u64 = 4 << 20;
/// An answer's length where neither transcript nor catalog limit it.
const OUTPUT_TOKENS: u64 = 8_192;

/// The source of a window that the command line states.
const FLAG: &str = "flag";

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
        let model = catalog(args.models.as_deref())?.find(&name);
        let gauge = Gauge(Counter::for_model(&model));
        let transcript = read(source.clone(), args.from.0, &gauge).with_context(failed)?;
        if transcript.conversations.is_empty() {
            bail!(
                "cannot read {}: it holds no conversation; check that it is the right file",
                path.display()
            );
        }
        let recorded = transcript.conversations.iter().find_map(|conversation| conversation.fixed.window);
        let window = match (args.window, recorded) {
            (Some(tokens), _) => Window { tokens, source: FLAG.into() },
            (None, Some(tokens)) => Window { tokens, source: "the transcript".into() },
            (None, None) => {
                Window { tokens: model.window_tokens.value, source: told(model.window_tokens.source).into() }
            }
        };
        let is_packed = std::fs::metadata(path).map_or(true, |about| about.len() != source.len());
        Ok(Self { path: path.to_owned(), source, transcript, model, gauge, window, is_packed })
    }

    /// Goes by a window that settings state, unless the command line states one.
    pub fn state_window(&mut self, tokens: Tokens, source: String) {
        if self.window.source != FLAG {
            self.window = Window { tokens: tokens.0, source };
        }
    }

    /// How tokens are counted.
    pub fn method(&self) -> String {
        self.gauge.0.method().to_string()
    }

    /// The room for one of its conversations.
    pub fn budget(&self, conversation: &Conversation) -> Budget {
        let catalog = self.model.output_tokens_max.as_ref().map_or(OUTPUT_TOKENS, |most| most.value);
        let output = conversation.fixed.max_tokens.unwrap_or(catalog).min(catalog.max(1));
        let prompt_max = self.model.input_tokens_max.as_ref().map(|most| Tokens(most.value));
        Budget::new(Tokens(self.window.tokens), self.fixed_tokens(conversation), Tokens(output))
            .with_prompt_max(prompt_max)
    }

    /// What a conversation's system prompt and tools take.
    pub fn fixed_tokens(&self, conversation: &Conversation) -> Tokens {
        let system: Tokens = conversation.fixed.system.iter().map(|text| self.gauge.text(text)).sum();
        let tools: Vec<&str> = conversation.fixed.tools.iter().map(AsRef::as_ref).collect();
        system + Tokens(self.gauge.0.count_tools(&tools))
    }

    /// Refuses to take the transcript's own place where it has grown since it was read.
    pub fn check_unchanged(&self, out: Option<&Path>) -> Result<()> {
        let is_same =
            |out: &&Path| matches!((out.canonicalize(), self.path.canonicalize()), (Ok(a), Ok(b)) if a == b);
        let Some(out) = out.filter(is_same) else { return Ok(()) };
        if std::fs::metadata(out).is_ok_and(|about| about.len() != self.source.len() && !self.is_packed) {
            bail!(
                "{} has grown since it was read; nothing was written, run again when its tool is idle",
                out.display()
            );
        }
        Ok(())
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

/// The model a transcript names most, near its beginning and its end; one the catalog knows before any other.
fn hinted_model(source: &dyn Source) -> Result<Option<String>> {
    let mut named: HashMap<String, usize> = HashMap::new();
    let len = source.len();
    for offset in [0, len.saturating_sub(HINT_BYTES)] {
        let mut bytes = vec![0; HINT_BYTES.min(len) as usize];
        let got = source.read_at(offset, &mut bytes).context("cannot read the file")?;
        count_models(&String::from_utf8_lossy(&bytes[..got]), &mut named);
    }
    let is_known = |name: &String| Catalog::built_in().find(name).row.is_some();
    Ok(named
        .into_iter()
        .max_by_key(|(name, count)| (is_known(name), *count, name.clone()))
        .map(|(name, _)| name))
}

/// The keys under which tools write the model's name.
const MODEL_KEYS: [&str; 4] = ["\"model\"", "\"modelID\"", "\"modelId\"", "\"model_name\""];

fn count_models(text: &str, named: &mut HashMap<String, usize>) {
    for key in MODEL_KEYS {
        for (at, _) in text.match_indices(key) {
            if let Some(name) = value_after(&text[at + key.len()..]) {
                *named.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
}

/// The string after a key, where it can be a model's name.
fn value_after(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let name = &rest[..rest.find('"')?];
    let is_name = (2..80).contains(&name.len()) && !name.starts_with('<') && !name.contains([' ', '\\']);
    is_name.then_some(name)
}

/// The catalog, with the operator's own figures on top where a file of them is named.
pub fn catalog(overrides: Option<&Path>) -> Result<Catalog> {
    let Some(path) = overrides else { return Ok(Catalog::built_in().clone()) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Catalog::built_in()
        .with_overrides(&text)
        .with_context(|| format!("{} is no list of models", path.display()))
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
