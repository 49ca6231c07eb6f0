//! From a model's name to a session: defaults for everything, each of which can be set. What the parts come to is the
//! engine's `Assembly`.

use crate::error::BuildError;
use crate::live_session::LiveSession;
use crate::saved::{self, DamageRule, SavedLog};
use crate::tools;
use epitome_core::{Policy, Prompts, Tokens, is_window};
use epitome_engine::{Assembly, Driver, Model, Ports, Session, SummaryModel, WindowFacts};
use epitome_settings::{Sources, prompts, resolve};
use epitome_tokens::Catalog;
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{FixedParts, Protocol};
use std::sync::Arc;

/// Makes a [`LiveSession`]. Only the model's name is needed: its window, its way of counting and its longest answer are
/// looked up, the policy is the default one, and summaries are the embedded summariser's.
///
/// ```
/// use epitome_session::LiveSession;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = LiveSession::for_model("claude-sonnet-4-5").system("You mend builds.").preset("pi").build()?;
/// assert_eq!(session.session().budget().window.to_string(), "200,000");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SessionBuilder {
    model: String,
    catalog: Option<Catalog>,
    window: Option<Tokens>,
    /// Settings that differ from the preset's, and the preset's name.
    settings: toml::Table,
    /// In their place.
    policy: Option<Arc<Policy>>,
    fixed: FixedParts,
    ports: Option<Ports>,
    summarizer: Option<SummaryModel>,
    prompts: Option<Prompts>,
}

/// The key under which a table of settings names its preset.
const PRESET: &str = "preset";

/// Fields that bodies have by themselves, in one protocol or another, and what sets them.
const RESERVED_FIELDS: [(&str, &str); 8] = [
    ("model", "name it in `LiveSession::for_model`"),
    ("messages", "use `say`, `answer` and `append`"),
    ("input", "use `say`, `answer` and `append`"),
    ("system", "use `SessionBuilder::system`"),
    ("instructions", "use `SessionBuilder::system`"),
    ("tools", "use `SessionBuilder::tool`"),
    ("max_tokens", "use `SessionBuilder::output_max`"),
    ("max_output_tokens", "use `SessionBuilder::output_max`"),
];

impl SessionBuilder {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            catalog: None,
            window: None,
            settings: toml::Table::new(),
            policy: None,
            fixed: FixedParts { model: Some(model.into()), ..FixedParts::default() },
            ports: None,
            summarizer: None,
            prompts: None,
        }
    }

    /// The system prompt. It stands outside the history, is counted, and never compacted.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.fixed.system.push(text.into());
        self
    }

    /// A tool's definition as JSON text, in any provider's shape.
    pub fn tool(mut self, definition: impl Into<Arc<str>>) -> Self {
        self.fixed.tools.push(definition.into());
        self
    }

    /// The longest answer to ask for, in tokens; that much is kept free of the window.
    pub fn output_max(mut self, tokens: u64) -> Self {
        self.fixed.max_tokens = Some(tokens);
        self
    }

    /// One more field of every request body, such as `temperature`, with its value as JSON text.
    pub fn field(mut self, name: &str, json: &str) -> Self {
        self.fixed.rest.push((name.into(), json.into()));
        self
    }

    /// The window in tokens, where the catalog's is not the one you get.
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(Tokens(tokens));
        self
    }

    /// Models beside those of the built-in catalog, or other figures for them.
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// A preset by name: `default`, `aura`, `pi`, `claude-code`, `kaged`, `operator-use`.
    pub fn preset(self, name: &str) -> Self {
        self.setting(PRESET, name)
    }

    /// One setting by its name, such as `trigger.at` and `"70%"`. A table is written key by key (`trigger.at`), or whole
    /// as a `toml::Table`.
    pub fn setting(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.settings.insert(key.to_owned(), value.into());
        self
    }

    /// A policy made in code, in place of preset and settings.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// A model that writes the summaries. Where it fails, the embedded summariser does.
    pub fn summarizer(mut self, model: Arc<dyn Model>) -> Self {
        self.summarizer = Some(SummaryModel::apart(model));
        self
    }

    /// What a model that writes summaries is told, where it is not the policy's prompt.
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = Some(prompts);
        self
    }

    /// Hooks, an operator, files to restore, a clock: whoever else can be asked.
    pub fn ports(mut self, ports: Ports) -> Self {
        self.ports = Some(ports);
        self
    }

    /// A session in which nothing was said yet.
    ///
    /// # Errors
    /// Where a preset, setting or prompt is not there, a tool or field is no JSON or a field is the session's own, two tools
    /// have one name, or no runtime keeps time. A model that is not in the catalog is none: its window is guessed, and
    /// [`LiveSession::window`] says so; under `window.unknown = "none"` it is an error.
    pub fn build(self) -> Result<LiveSession, BuildError> {
        let (assembly, driver, fixed) = self.parts()?;
        Ok(LiveSession::new(Session::empty(assembly), driver, fixed, SavedLog::default()))
    }

    /// The session that [`LiveSession::save_to`] wrote, to be gone on with. What this builder says of model, system prompt
    /// and policy holds from here on.
    ///
    /// # Errors
    /// As [`SessionBuilder::build`], and where `bytes` are not all that a session has saved.
    pub fn load(self, bytes: Vec<u8>) -> Result<LiveSession, BuildError> {
        self.read(bytes, DamageRule::Refuse)
    }

    /// The same for a file that is not whole: all that can be read of it. [`LiveSession::problems`] says what was left
    /// out. It counts as not saved, and is to be saved to a new file.
    ///
    /// # Errors
    /// As [`SessionBuilder::build`], and where `bytes` do not begin as what a session saves.
    pub fn salvage(self, bytes: Vec<u8>) -> Result<LiveSession, BuildError> {
        self.read(bytes, DamageRule::LeaveOut)
    }

    fn read(self, bytes: Vec<u8>, damage: DamageRule) -> Result<LiveSession, BuildError> {
        let (assembly, driver, fixed) = self.parts()?;
        let (session, log) = saved::read(bytes, assembly, fixed.model.as_deref(), damage)?;
        Ok(LiveSession::new(session, driver, fixed, log))
    }

    /// Whether requests can be written with what was handed in: an error now, and not at the first call.
    fn check(&self) -> Result<(), BuildError> {
        if self.model.trim().is_empty() {
            return Err(BuildError::NoModel);
        }
        if self.fixed.max_tokens == Some(0) {
            return Err(BuildError::NoOutput);
        }
        if let Some(window) = self.window.filter(|window| !is_window(*window)) {
            return Err(BuildError::Window(window));
        }
        for (name, _) in &self.fixed.rest {
            if let Some((_, instead)) = RESERVED_FIELDS.iter().find(|(reserved, _)| **name == **reserved) {
                return Err(BuildError::ReservedField { name: name.to_string(), instead });
            }
        }
        let parts = RequestParts { tools: &self.fixed.tools, ..RequestParts::default() };
        // What is wrong with a tool or field is so in every protocol.
        encode::body_with_rest(Protocol::OpenaiChat, &parts, &self.fixed.rest, &[])?;
        tools::check(&self.fixed.tools)
    }

    fn parts(self) -> Result<(Assembly, Driver, FixedParts), BuildError> {
        self.check()?;
        let policy = match self.policy {
            None => {
                let (overrides, model) = (self.settings, Some(self.model.clone()));
                resolve(&Sources { overrides, model, ..Sources::default() })?.policy
            }
            Some(policy) if self.settings.is_empty() => policy,
            Some(_) => return Err(BuildError::PolicyAndSettings),
        };
        let mut ports = self.ports.map_or_else(ports_here, Ok)?;
        if let Some(summarizer) = self.summarizer {
            ports.prompts = Arc::new(self.prompts.map_or_else(|| prompts_of(&policy), Ok)?);
            ports.model = Some(summarizer);
        }
        let model = self.catalog.as_ref().unwrap_or_else(|| Catalog::built_in()).find(&self.model);
        let known = WindowFacts { stated: self.window, ..WindowFacts::default() };
        let mut assembly = Assembly::new(policy, model, known)?;
        let tokens = assembly.count_fixed(&self.fixed.system, &self.fixed.tools);
        assembly.set_request(tokens, self.fixed.max_tokens.map(Tokens));
        Ok((assembly, Driver::new(ports), self.fixed))
    }
}

/// A model that is told nothing writes nothing that would do: that is an error here, not a poor summary later.
fn prompts_of(policy: &Policy) -> Result<Prompts, BuildError> {
    let name = &policy.summary.prompt;
    prompts::built_in(name).ok_or_else(|| BuildError::NoPrompt { name: name.clone() })
}

/// Nobody to ask, at this runtime's time.
#[cfg(feature = "tokio")]
fn ports_here() -> Result<Ports, BuildError> {
    let runtime = epitome_engine::TokioRuntime::current().map_err(|_| BuildError::NoRuntime)?;
    Ok(Ports::at(Arc::new(runtime)))
}

/// Nobody to ask, so that nobody has a deadline.
#[cfg(not(feature = "tokio"))]
fn ports_here() -> Result<Ports, BuildError> {
    Ok(Ports::default())
}
