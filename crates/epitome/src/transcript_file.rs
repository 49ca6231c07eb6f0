//! A transcript's file, read and ready to be worked on: its conversations, the model they are counted for, and the
//! way to open each of them with the engine. The window, the counter and the budget are the engine's to choose.

use crate::cli::ReadArgs;
use crate::transcript_store::TranscriptStore;
use crate::{hint, input};
use anyhow::{Context as _, Result, anyhow, bail};
use epitome_core::{EntryId, Policy, Tokens};
use epitome_engine::{
    Assembly, Checkout, Driver, Engine, NoWindow, RecordedCalls, SessionOptions, SharedCalibration,
    WindowChoice, WindowFacts,
};
use epitome_settings::ResolvedPolicy;
use epitome_tokens::{Catalog, ModelSpec};
use epitome_wire::{ByteSource, Conversation, FixedParts, Transcript, read};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A transcript, and what it takes to work on it.
pub struct TranscriptFile {
    /// Where it came from.
    pub path: PathBuf,
    /// Its bytes.
    pub source: Arc<dyn ByteSource>,
    /// What they say.
    pub transcript: Transcript,
    /// What its conversations are counted and held by, but for what stands before each history.
    assembly: Assembly,
    /// Whether the file is not the bytes themselves.
    is_packed: bool,
}

/// One conversation of a file, opened with the engine.
pub struct OpenConversation {
    /// Collects what is appended.
    pub store: Arc<TranscriptStore>,
    /// Acts on it.
    pub engine: Engine,
    /// How it is worked on.
    pub opening: Checkout,
}

impl TranscriptFile {
    /// Opens and reads a transcript, as the default policy counts it.
    pub fn open(path: &Path, args: &ReadArgs) -> Result<Self> {
        Self::of(path, input::open(path)?, args)
    }

    /// Reads a transcript whose bytes are there already.
    pub fn of(path: &Path, source: Arc<dyn ByteSource>, args: &ReadArgs) -> Result<Self> {
        let model = model_of(&*source, args)?;
        Self::read(path, source, args, model, Arc::new(Policy::default()))
    }

    /// Reads a transcript whose bytes are there under the settings for its model.
    pub fn under(
        path: &Path,
        source: Arc<dyn ByteSource>,
        args: &ReadArgs,
        settings: impl FnOnce(Option<&str>) -> Result<ResolvedPolicy>,
    ) -> Result<(Self, ResolvedPolicy)> {
        let model = model_of(&*source, args)?;
        let resolved = settings(Some(model.id.as_str()).filter(|name| !name.is_empty()))?;
        Ok((Self::read(path, source, args, model, resolved.policy.clone())?, resolved))
    }

    fn read(
        path: &Path,
        source: Arc<dyn ByteSource>,
        args: &ReadArgs,
        model: ModelSpec,
        policy: Arc<Policy>,
    ) -> Result<Self> {
        let (measure, _) = Assembly::counting(&policy, &model);
        let failed = || format!("cannot read {}", path.display());
        let transcript = read(source.clone(), args.from.0, &*measure);
        let transcript = transcript.map_err(input::explain).with_context(failed)?;
        if transcript.conversations.is_empty() {
            bail!(
                "cannot read {}: it holds no conversation; check that it is the right file",
                path.display()
            );
        }
        let recorded = transcript.conversations.iter().find_map(|conversation| conversation.fixed.window);
        let known = WindowFacts {
            stated: args.window.map(Tokens),
            recorded: recorded.map(Tokens),
            ..WindowFacts::default()
        };
        let assembly = Assembly::new(policy, model, known).map_err(|error| no_window(path, &error))?;
        let is_packed = std::fs::metadata(path).map_or(true, |about| about.len() != source.len());
        Ok(Self { path: path.to_owned(), source, transcript, assembly, is_packed })
    }

    /// The model it is counted for; without a name where neither the file nor the command line names one.
    pub fn model(&self) -> &ModelSpec {
        self.assembly.model()
    }

    /// The window, and who says so.
    pub fn window(&self) -> WindowChoice {
        self.assembly.window()
    }

    /// Its conversation of this number.
    pub fn conversation(&self, number: usize) -> &Conversation {
        &self.transcript.conversations[number]
    }

    /// Counter and budget of one conversation, with `fixed` before its history.
    pub fn assembly(&self, fixed: &FixedParts) -> Assembly {
        let mut assembly = self.assembly.clone().with_calibration(SharedCalibration::default());
        let tokens = assembly.count_fixed(&fixed.system, &fixed.tools);
        assembly.set_request(tokens, fixed.max_tokens.map(Tokens));
        assembly
    }

    /// Corrects the counts of `assembly`, made for conversation `number`, by what its provider reported.
    pub fn calibrate(&self, number: usize, assembly: &Assembly) -> Result<()> {
        let conversation = self.conversation(number);
        // What another model's provider counts says nothing of this one's.
        let is_own = |model: &str| model == assembly.model().id;
        let replies = conversation.replies.iter().filter(|reply| reply.model.as_deref().is_none_or(is_own));
        let prompts: HashMap<EntryId, u64> =
            replies.filter_map(|reply| Some((reply.entry, reply.usage?.prompt))).collect();
        let calls = RecordedCalls {
            log: &Arc::new(conversation.log.clone()),
            sizes: &Arc::new(conversation.sizes.clone()),
            archive: &conversation.originals,
            path: &conversation.log.path_of(conversation.leaf),
            prompts: &prompts,
        };
        Ok(calls.teach(assembly)?)
    }

    /// Opens a conversation with the engine, to be worked on by whoever `driver` can ask.
    pub fn open_conversation(
        &self,
        number: usize,
        options: SessionOptions,
        driver: Driver,
    ) -> OpenConversation {
        let conversation = self.conversation(number);
        let assembly = self.assembly(&conversation.fixed);
        let store = TranscriptStore::new(number, conversation, assembly.sizes_key().clone());
        let store = Arc::new(store);
        let (session, leaf) = (store.session(), conversation.leaf);
        let opening = Checkout { session, leaf, assembly, options, driver, idle: None };
        OpenConversation { engine: Engine::new(store.clone()), store, opening }
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

    /// The number of the conversation asked for, or of the longest.
    pub fn number(&self, asked: Option<usize>) -> Result<usize> {
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

fn no_window(path: &Path, NoWindow { model }: &NoWindow) -> anyhow::Error {
    let path = path.display();
    if model.is_empty() {
        return anyhow!(
            "{path} names no model, and these settings guess no window (`window.unknown`); name the window with --window, or the model with --model"
        );
    }
    anyhow!(
        "the window of `{model}`, the model of {path}, is not known, and these settings guess none (`window.unknown`); name it with --window"
    )
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
