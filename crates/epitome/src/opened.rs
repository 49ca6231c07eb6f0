//! A transcript opened for work: read, with the model it is counted for and the room there is.

use crate::cli::ReadArgs;
use crate::{hint, input};
use anyhow::{Context as _, Result, bail};
use epitome_core::policy::CountText;
use epitome_core::{Budget, Measure, Policy, Tokens};
use epitome_engine::{Gauge, measure_for};
use epitome_settings::Resolved;
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
    pub source: Arc<dyn ByteSource>,
    /// What they say.
    pub transcript: Transcript,
    /// The model it is counted for.
    pub model: ModelSpec,
    /// That model's way of counting.
    pub gauge: Gauge,
    /// The way of counting it is worked on by.
    pub counted: Counted,
    /// The window.
    pub window: Window,
    /// Whether the file is not the bytes themselves.
    is_packed: bool,
}

/// A way of counting, and its name.
#[derive(Clone)]
pub struct Counted {
    /// The way.
    pub measure: Arc<dyn Measure>,
    /// As records show it.
    pub method: Arc<str>,
}

/// A window and where the figure comes from.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// In tokens.
    pub tokens: u64,
    /// `flag`, or what the catalog says.
    pub source: String,
}

/// An answer's length where neither transcript nor catalog limit it.
const OUTPUT_TOKENS: u64 = 8_192;

/// The source of a window that the command line states.
const FLAG: &str = "flag";

impl Opened {
    /// Opens and reads a transcript, counted as its model counts.
    pub fn new(path: &Path, args: &ReadArgs) -> Result<Self> {
        let source = input::open(path)?;
        Self::of(path, source, args)
    }

    /// Reads a transcript that is open already.
    pub fn of(path: &Path, source: Arc<dyn ByteSource>, args: &ReadArgs) -> Result<Self> {
        let model = model_of(&*source, args)?;
        let counted = Counted::by_model(&Gauge(Counter::for_model(&model)));
        Self::read(path, source, args, model, counted)
    }

    /// Opens and reads a transcript, counted as the policy for its model counts. A window that settings
    /// state becomes its window.
    pub fn under(
        path: &Path,
        args: &ReadArgs,
        settings: impl FnOnce(Option<&str>) -> Result<Resolved>,
    ) -> Result<(Self, Resolved)> {
        let source = input::open(path)?;
        let model = model_of(&*source, args)?;
        let resolved = settings(Some(model.id.as_str()).filter(|name| !name.is_empty()))?;
        let counted = Counted::under(&resolved.policy, &model);
        let mut opened = Self::read(path, source, args, model, counted)?;
        if let (Some(tokens), Some(source)) =
            (resolved.policy.window.tokens, resolved.source("window.tokens"))
        {
            opened.state_window(tokens, source.to_string());
        }
        Ok((opened, resolved))
    }

    fn read(
        path: &Path,
        source: Arc<dyn ByteSource>,
        args: &ReadArgs,
        model: ModelSpec,
        counted: Counted,
    ) -> Result<Self> {
        let failed = || format!("cannot read {}", path.display());
        let gauge = Gauge(Counter::for_model(&model));
        let transcript = read(source.clone(), args.from.0, &*counted.measure);
        let transcript = transcript.map_err(input::explain).with_context(failed)?;
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
        Ok(Self { path: path.to_owned(), source, transcript, model, gauge, counted, window, is_packed })
    }

    /// Goes by a window that settings state, unless the command line states one.
    fn state_window(&mut self, tokens: Tokens, source: String) {
        if self.window.source != FLAG {
            self.window = Window { tokens: tokens.0, source };
        }
    }

    /// How tokens are counted.
    pub fn method(&self) -> String {
        self.counted.method.to_string()
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
        let system: Tokens =
            conversation.fixed.system.iter().map(|text| self.counted.measure.text(text)).sum();
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

impl Counted {
    fn by_model(gauge: &Gauge) -> Self {
        Self { measure: Arc::new(gauge.clone()), method: gauge.0.method().to_string().into() }
    }

    /// As `policy` counts messages of `model`.
    fn under(policy: &Policy, model: &ModelSpec) -> Self {
        let counter = Counter::for_model(model);
        let method = match policy.count.text {
            CountText::Model => counter.method().to_string().into(),
            CountText::QuarterChars => "chars/4".into(),
            CountText::QuarterUtf16 => "utf16/4".into(),
            CountText::Cl100k => "cl100k_base".into(),
            CountText::Larger => "the larger of chars/4 and cl100k_base".into(),
        };
        Self { measure: measure_for(policy, counter), method }
    }
}

/// The model a transcript is counted for: the one asked for, or the one it names.
fn model_of(source: &dyn ByteSource, args: &ReadArgs) -> Result<ModelSpec> {
    let name = args.model.clone().or(hint::model(source)?).unwrap_or_default();
    Ok(catalog(args.models.as_deref())?.find(&name))
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
fn told(source: epitome_tokens::SpecSource) -> &'static str {
    match source {
        epitome_tokens::SpecSource::Guess => "a guess: the model is not in the catalog",
        epitome_tokens::SpecSource::Catalog => "the catalog",
        epitome_tokens::SpecSource::Learned => "the provider",
        epitome_tokens::SpecSource::Explicit => "an override",
    }
}
