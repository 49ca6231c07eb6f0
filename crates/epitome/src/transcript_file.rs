//! A transcript's file, read and ready to be worked on: its conversations, the model they are counted for, and the
//! way to open each of them with the engine. The window, the counter and the budget are the engine's to choose.

#[cfg(test)]
mod tests;

use crate::cli::{FromFormat, ReadArgs};
use crate::model_count::ModelCount;
use crate::store_place::OpenStore;
use crate::stored_session::LoadedSession;
use crate::transcript_store::TranscriptStore;
use crate::{hint, input};
use anyhow::{Context as _, Result, anyhow, bail};
use epitome_core::{EntryId, Mark, Policy, SizeTable, Tokens, ZeroMeasure};
use epitome_engine::store::SessionId;
use epitome_engine::{
    Assembly, Checkout, Driver, Engine, NoWindow, RecordedCalls, SessionOptions, SharedCalibration,
    WindowChoice, WindowEvidence, WindowFacts,
};
use epitome_settings::ResolvedPolicy;
use epitome_store::SessionStore;
use epitome_tokens::{Catalog, ModelSpec};
use epitome_wire::{ByteSource, Conversation, FixedParts, ReportedUsage, Transcript, read};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

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
    /// The same as the default policy counts: in the model's own tokens.
    by_model: Assembly,
    /// What the messages of each conversation take as that counts, from the first time somebody asks.
    sizes_by_model: OnceLock<Vec<SizeTable>>,
    /// The stored session it was made of, where it is no file.
    stored: Option<StoredPlace>,
}

/// A session of a store, as a transcript: which it is, and where what is done to it goes.
#[derive(Clone)]
pub struct StoredPlace {
    pub session: SessionId,
    /// Which conversation of the transcript it is.
    pub number: usize,
    pub store: Arc<dyn SessionStore>,
}

/// One conversation of a file, opened with the engine.
pub struct OpenConversation {
    /// Collects what is appended; none where that goes to a store.
    pub store: Option<Arc<TranscriptStore>>,
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

    /// A stored session, to be looked at: it is read whole, and nobody who works on it is kept waiting.
    pub fn of_stored(open: &OpenStore, session: SessionId, args: &ReadArgs) -> Result<Self> {
        Self::of_loaded(open, &LoadedSession::load(open, session)?, args)
    }

    /// The same of one that is loaded already.
    pub fn of_loaded(open: &OpenStore, stored: &LoadedSession, args: &ReadArgs) -> Result<Self> {
        let session = stored.listed.session;
        let args = ReadArgs { from: FromFormat(None), ..args.clone() };
        let mut file = Self::of(Path::new(&session.to_string()), Arc::new(stored.native()?), &args)?;
        file.stored = Some(StoredPlace { session, number: stored.number(), store: open.store.clone() });
        Ok(file)
    }

    /// Has what is done to it go to the store it came from.
    pub fn act_on(&mut self, place: StoredPlace) {
        self.stored = Some(place);
    }

    /// The stored session it was made of; none where it is a file.
    pub fn stored(&self) -> Option<&StoredPlace> {
        self.stored.as_ref()
    }

    /// Reads a transcript whose bytes are there already.
    pub fn of(path: &Path, source: Arc<dyn ByteSource>, args: &ReadArgs) -> Result<Self> {
        let model = model_of(&source, args)?;
        Self::read(path, source, args, model, Arc::new(Policy::default()))
    }

    /// Reads a transcript whose bytes are there under the settings for its model.
    pub fn under(
        path: &Path,
        source: Arc<dyn ByteSource>,
        args: &ReadArgs,
        settings: impl FnOnce(Option<&str>) -> Result<ResolvedPolicy>,
    ) -> Result<(Self, ResolvedPolicy)> {
        let model = model_of(&source, args)?;
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
            shown: shown_window(&transcript, &model),
            learned: None,
        };
        let by_model = Assembly::new(Arc::new(Policy::default()), model.clone(), known);
        let by_model = by_model.map_err(|error| no_window(path, &error))?;
        let assembly = Assembly::new(policy, model, known).map_err(|error| no_window(path, &error))?;
        let sizes_by_model = OnceLock::new();
        Ok(Self {
            path: path.to_owned(),
            source,
            transcript,
            assembly,
            by_model,
            sizes_by_model,
            stored: None,
        })
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

    /// What the provider reported of the calls of conversation `number`, by their replies. What another model's provider
    /// counts says nothing of the one this is counted for.
    pub fn usages(&self, number: usize) -> HashMap<EntryId, ReportedUsage> {
        let replies = self.conversation(number).replies.iter();
        let replies =
            replies.filter(|reply| reply.model.as_deref().is_none_or(|name| self.is_counted_as(name)));
        let usages = replies.filter_map(|reply| {
            let usage = reply.usage.or_else(|| self.marked_usage(number, reply.entry));
            Some((reply.entry, usage?))
        });
        usages.filter(|(_, usage)| usage.prompt > 0).collect()
    }

    /// What a session of ours was told of the call that a reply answers: it stands in a mark at the reply.
    fn marked_usage(&self, number: usize, reply: EntryId) -> Option<ReportedUsage> {
        let log = &self.conversation(number).log;
        let marks = log.marks_at(Some(reply)).iter().rev();
        let marked = marks.filter_map(|&id| match log.mark_of(id) {
            Some(Mark::Usage(mark)) => Some(mark),
            Some(_) | None => None,
        });
        let mut marked = marked.filter(|mark| mark.model.is_empty() || self.is_counted_as(&mark.model));
        let mark = marked.next()?;
        let output = mark.tokens.less(mark.prompt).0;
        Some(ReportedUsage { prompt: mark.prompt.0, output, ..ReportedUsage::default() })
    }

    /// Whether a model of this name is the one it is counted for, however that was spelled.
    pub fn is_counted_as(&self, name: &str) -> bool {
        is_same_model(self.model(), name)
    }

    /// Counts contexts of conversation `number` in its model's tokens, whatever the policy counts by: with `fixed` before
    /// them, or so many tokens where somebody states them.
    pub fn model_count(
        &self,
        number: usize,
        fixed: &FixedParts,
        stated: Option<Tokens>,
    ) -> Result<ModelCount> {
        let mut assembly = self.by_model.clone().with_calibration(SharedCalibration::default());
        let tokens = assembly.count_fixed(&fixed.system, &fixed.tools);
        assembly.set_request(tokens, fixed.max_tokens.map(Tokens));
        stated.into_iter().for_each(|tokens| assembly.state_fixed(tokens));
        let sizes = self.sizes_by_model(number)?;
        self.calibrate_by(number, &assembly, &sizes)?;
        Ok(ModelCount::new(assembly, sizes))
    }

    /// What the messages of a conversation take in the model's tokens; read with the file where the policy counts alike.
    fn sizes_by_model(&self, number: usize) -> Result<SizeTable> {
        if self.by_model.sizes_key() == self.assembly.sizes_key() {
            return Ok(self.conversation(number).sizes.clone());
        }
        let sizes = match self.sizes_by_model.get() {
            Some(sizes) => sizes,
            None => {
                let counted = self.count_by_model()?;
                self.sizes_by_model.get_or_init(|| counted)
            }
        };
        sizes.get(number).cloned().context("the file has changed while it was read; run again")
    }

    /// Counts every conversation as the file is read once more, piece by piece: the figures are those of whoever counts so
    /// from the start.
    fn count_by_model(&self) -> Result<Vec<SizeTable>> {
        let again = read(self.source.clone(), Some(self.transcript.format), &**self.by_model.measure());
        let again = again.map_err(input::explain)?;
        Ok(again.conversations.into_iter().map(|conversation| conversation.sizes).collect())
    }

    /// Corrects the counts of `assembly`, made for conversation `number`, by what its provider reported.
    pub fn calibrate(&self, number: usize, assembly: &Assembly) -> Result<()> {
        self.calibrate_by(number, assembly, &self.conversation(number).sizes)
    }

    fn calibrate_by(&self, number: usize, assembly: &Assembly, sizes: &SizeTable) -> Result<()> {
        let conversation = self.conversation(number);
        let prompts: HashMap<EntryId, u64> =
            self.usages(number).into_iter().map(|(entry, usage)| (entry, usage.prompt)).collect();
        let calls = RecordedCalls {
            log: &Arc::new(conversation.log.clone()),
            sizes: &Arc::new(sizes.clone()),
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
        OpenConversation { engine: Engine::new(store.clone()), store: Some(store), opening }
    }

    /// Opens the stored session it was made of, to be worked on there.
    pub fn open_stored(
        &self,
        place: &StoredPlace,
        options: SessionOptions,
        driver: Driver,
    ) -> OpenConversation {
        let assembly = self.assembly(&self.conversation(place.number).fixed);
        let opening = Checkout { session: place.session, leaf: None, assembly, options, driver, idle: None };
        OpenConversation { engine: Engine::new(place.store.clone()), store: None, opening }
    }

    /// Refuses to take the transcript's own place where it has grown since it was read.
    pub fn check_unchanged(&self, out: Option<&Path>) -> Result<()> {
        input::check_unchanged(&self.path, &*self.source, out)
    }

    /// The number of the conversation asked for, or of the longest.
    pub fn number(&self, asked: Option<usize>) -> Result<usize> {
        let count = self.transcript.conversations.len();
        match asked.or(self.stored.as_ref().map(|place| place.number)) {
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

/// The bytes of a stored session as a transcript, and where it is.
pub fn stored_source(open: &OpenStore, session: SessionId) -> Result<(Arc<dyn ByteSource>, StoredPlace)> {
    let stored = LoadedSession::load(open, session)?;
    let place = StoredPlace { session, number: stored.number(), store: open.store.clone() };
    Ok((Arc::new(stored.native()?), place))
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

fn is_same_model(model: &ModelSpec, name: &str) -> bool {
    name == model.id || (model.row.is_some() && Catalog::built_in().find(name).row == model.row)
}

/// The window that a transcript's longest conversation shows the model to have been had with, where that is this model.
fn shown_window(transcript: &Transcript, model: &ModelSpec) -> Option<Tokens> {
    let conversation = transcript.conversations.iter().max_by_key(|conversation| conversation.log.len())?;
    let is_same = |name: &str| is_same_model(model, name);
    let replies = conversation.replies.iter().filter(|reply| reply.model.as_deref().is_none_or(is_same));
    let filled = conversation.compactions.iter().rev().find(|found| found.is_automatic);
    let since = filled.map(|found| found.entry);
    let prompts = replies.filter(|reply| Some(reply.entry) > since).filter_map(|reply| reply.usage);
    let seen = WindowEvidence {
        filled: filled.and_then(|found| found.tokens_before).map(Tokens),
        prompt: prompts.map(|usage| Tokens(usage.prompt)).max(),
    };
    window_shown_by(&seen, model)
}

/// The window that a session with this model shows to have been held in, one of those its provider offers.
pub fn window_shown_by(seen: &WindowEvidence, model: &ModelSpec) -> Option<Tokens> {
    let offered = Catalog::built_in().windows_of(model.provider).into_iter().map(Tokens);
    seen.window(Tokens(model.window_tokens.value), &offered.collect::<Vec<_>>())
}

/// The model a transcript is counted for: the one asked for, or the one it names.
fn model_of(source: &Arc<dyn ByteSource>, args: &ReadArgs) -> Result<ModelSpec> {
    let catalog = catalog(args.models.as_deref())?;
    if let Some(name) = &args.model {
        return Ok(catalog.find(name));
    }
    let named: Vec<ModelSpec> = hint::models(&**source)?.iter().map(|name| catalog.find(name)).collect();
    let known: Vec<&ModelSpec> = named.iter().filter(|model| model.row.is_some()).collect();
    if let [first, others @ ..] = &known[..]
        && others.iter().all(|other| other.row == first.row)
    {
        return Ok((*first).clone());
    }
    // Some formats write it where only their reader finds it; and of several, some are those of subagents.
    let told = read(source.clone(), args.from.0, &ZeroMeasure).ok();
    let longest =
        told.iter().flat_map(|transcript| &transcript.conversations).max_by_key(|one| one.log.len());
    let told = longest.and_then(|one| one.fixed.model.as_deref()).map(|name| catalog.find(name));
    let best = known.first().copied().or(named.first()).cloned();
    Ok(told.or(best).unwrap_or_else(|| ModelSpec::guess("")))
}

/// The catalog, with the operator's own figures on top where a file of them is named.
pub fn catalog(overrides: Option<&Path>) -> Result<Catalog> {
    let Some(path) = overrides else { return Ok(Catalog::built_in().clone()) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Catalog::built_in()
        .with_overrides(&text)
        .with_context(|| format!("{} is no list of models", path.display()))
}
