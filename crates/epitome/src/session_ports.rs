//! Who sessions can ask, as settings say it: the model that writes summaries, hooks that are commands, the clock.
//! Connections are made only where a model is asked, and a prompt's file is written only outside a dry run. Waiting
//! for whoever is asked is `runner`'s.

use crate::clock::WallClock;
use crate::command_hook::CommandHook;
use crate::output;
use crate::settings::{Places, prompt};
use anyhow::{Context as _, Result, anyhow};
use epitome_core::policy::Writer;
use epitome_core::{Policy, Prompts, Tokens};
use epitome_engine::{Driver, Ports, SketchedCalls, SummaryModel, WindowChoice, WindowSource};
use epitome_provider::{AliasError, Aliases, Credential, LastRequest, Provider, ProviderSetup, World};
use epitome_server::{Caller, OwnModel, RequestModel, WarmRequest};
use epitome_settings::{Door, ResolvedPolicy, SettingOrigin};
use epitome_tokens::{Catalog, SpecSource, SpecValue, Usage};
use epitome_wire::overflow::Endpoint;
use std::sync::{Arc, OnceLock};

/// Makes ports out of settings.
pub struct PortsBuilder {
    places: Places,
    catalog: Catalog,
    dry: Dry,
    clock: Arc<WallClock>,
    world: OnceLock<World>,
}

/// Whether files may be written on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dry {
    /// Nothing is touched.
    Run,
    /// A prompt that is missing is written where it is looked for.
    No,
}

/// The ports of a session, and what is known of its model beside them.
#[derive(Clone)]
pub struct SessionPorts {
    /// Who can be asked.
    pub ports: Ports,
    /// The model among them, where there is one.
    provider: Option<Arc<Provider>>,
}

/// The alias by which the operator says what stands for a session's own model where there is no session.
const SESSION_ALIAS: &str = "session";
/// Why a request's own model is not asked for a summary.
const NO_CREDENTIAL: &str = "the request bears no credential that its model could be asked with";

impl PortsBuilder {
    /// Ports with prompts from `places`.
    pub fn new(places: Places, catalog: Catalog, dry: Dry) -> Self {
        Self { places, catalog, dry, clock: Arc::new(WallClock::start()), world: OnceLock::new() }
    }

    /// Who can be asked by these settings.
    pub fn ports(&self, resolved: &ResolvedPolicy) -> Result<SessionPorts> {
        let mut ports = self.with_hooks(resolved)?;
        if resolved.door == Some(Door::Serve) && resolved.policy.summary.by == Writer::Session {
            ports.prompts = Arc::new(self.prompts(&resolved.policy.summary.prompt)?);
        }
        let Some(name) = writer(resolved) else { return Ok(SessionPorts { ports, provider: None }) };
        let provider = Arc::new(self.provider(name, resolved)?);
        ports.prompts = Arc::new(self.prompts(&resolved.policy.summary.prompt)?);
        ports.model = Some(SummaryModel::apart(provider.clone()));
        Ok(SessionPorts { ports, provider: Some(provider) })
    }

    /// The model of a request itself, at the address and with the credential of that request.
    pub fn own_model(&self, policy: &Policy, caller: &Caller<'_>) -> OwnModel {
        let credential = Credential::of_request(caller.credentials);
        if matches!(credential, Credential::Absent) {
            return OwnModel::Refused(NO_CREDENTIAL.into());
        }
        let mut model = self.catalog.find(caller.model);
        caller.model.clone_into(&mut model.id);
        if let Ok(WindowChoice { tokens, from }) = WindowChoice::of(policy, &model, &caller.known) {
            model.window_tokens = SpecValue::new(tokens.0, spec_source(from));
        }
        let base_url = caller.upstream.base_url(caller.protocol);
        let setup = ProviderSetup::of_request(model, caller.protocol, &base_url, credential);
        match self.world() {
            Ok(world) => OwnModel::Ready(request_model(Provider::new(setup, world.clone()))),
            Err(error) => OwnModel::Refused(format!("{error:#}").into()),
        }
    }

    /// Refuses a summariser, a hook or a prompt that cannot be used.
    pub fn check(&self, resolved: &ResolvedPolicy) -> Result<()> {
        self.with_hooks(resolved)?;
        writer(resolved).map_or(Ok(()), |name| self.provider(name, resolved).map(drop))
    }

    /// The operator's hooks, and nobody else yet. Aliases and a prompt that somebody wrote are looked at whether they
    /// are used or not: a slip in them is told now, not in the middle of a session.
    fn with_hooks(&self, resolved: &ResolvedPolicy) -> Result<Ports> {
        self.aliases(resolved)?;
        self.check_prompt(resolved)?;
        let mut ports = Ports::at(self.clock.clone());
        for hook in CommandHook::all(&resolved.hooks, &self.places.operator_name())? {
            ports.add_hook(Arc::new(hook))?;
        }
        Ok(ports)
    }

    fn aliases(&self, resolved: &ResolvedPolicy) -> Result<Aliases> {
        let failed = || format!("[alias] of {} cannot be used", self.places.operator_name());
        resolved.aliases.clone().try_into().with_context(failed)
    }

    /// Refuses a prompt that is not there. What a preset names is written where it is missing, if it is used.
    fn check_prompt(&self, resolved: &ResolvedPolicy) -> Result<()> {
        let Some(source) = resolved.source("summary.prompt") else { return Ok(()) };
        if matches!(source.origin, SettingOrigin::Program | SettingOrigin::Preset { file: None, .. }) {
            return Ok(());
        }
        prompt::peek(&self.places, &resolved.policy.summary.prompt).map(drop)
    }

    fn provider(&self, name: &str, resolved: &ResolvedPolicy) -> Result<Provider> {
        let aliases = self.aliases(resolved)?;
        // A dry run calls nobody, so it needs no key.
        let unused = || (self.dry == Dry::Run).then(|| "unused".to_owned());
        let environment = |name: &str| std::env::var(name).ok().or_else(unused);
        let found = aliases.provider(name, &self.catalog, &environment, self.world()?);
        found.map_err(|error| match error {
            AliasError::Unknown { .. } => self.explain_unknown(name, error, resolved),
            AliasError::NoKey { .. }
            | AliasError::BadKey { .. }
            | AliasError::NoAddress { .. }
            | AliasError::BadAddress { .. }
            | AliasError::AddressWithPassword { .. } => error.into(),
        })
    }

    /// Who named a model that nobody knows. What comes with a project may name none by its provider, so it is not told to.
    fn explain_unknown(&self, name: &str, error: AliasError, resolved: &ResolvedPolicy) -> anyhow::Error {
        let project = self.places.project_file().map(|file| file.display().to_string());
        let source = resolved.source("summary.by").filter(|source| match &source.origin {
            SettingOrigin::Project { .. } | SettingOrigin::Agent { .. } => true,
            SettingOrigin::Model { file, .. } => Some(&**file) == project.as_deref(),
            SettingOrigin::Program
            | SettingOrigin::Preset { .. }
            | SettingOrigin::User { .. }
            | SettingOrigin::Environment
            | SettingOrigin::Flag
            | SettingOrigin::Override => false,
        });
        source.map_or_else(
            || error.into(),
            |source| {
                let own = self.places.operator_name();
                anyhow!("{source} is \"{name}\", and there is no model alias of that name; write [alias.{name}] into {own}, or choose who writes with --summarizer")
            },
        )
    }

    fn prompts(&self, name: &str) -> Result<Prompts> {
        match self.dry {
            Dry::Run => prompt::peek(&self.places, name),
            Dry::No => {
                let found = prompt::load(&self.places, name)?;
                if let Some(file) = found.file.filter(|_| found.is_new) {
                    output::tell(format_args!(
                        "wrote {}: the prompt for summaries, yours to change",
                        file.display()
                    ));
                }
                Ok(found.prompts)
            }
        }
    }

    fn world(&self) -> Result<&World> {
        if let Some(world) = self.world.get() {
            return Ok(world);
        }
        let world = World::new(self.clock.clone())?;
        Ok(self.world.get_or_init(|| world))
    }
}

/// The alias of the model that writes summaries; none where the embedded summariser does. A transcript has no model of
/// its own to ask: where the policy leaves the summary to the session's, the operator may name one for it.
fn writer(resolved: &ResolvedPolicy) -> Option<&str> {
    match &resolved.policy.summary.by {
        Writer::Embedded | Writer::Nobody => None,
        Writer::Session => resolved.aliases.contains_key(SESSION_ALIAS).then_some(SESSION_ALIAS),
        Writer::Alias(name) => Some(name),
    }
}

fn request_model(provider: Provider) -> RequestModel {
    let provider = Arc::new(provider);
    let asked = provider.clone();
    let remember = move |WarmRequest { body, beta }| asked.remember(LastRequest { body, beta });
    RequestModel { model: provider, remember: Arc::new(remember) }
}

/// Where a window's figure comes from, in the catalog's terms.
fn spec_source(from: WindowSource) -> SpecSource {
    match from {
        WindowSource::Explicit => SpecSource::Explicit,
        WindowSource::Learned | WindowSource::Provider | WindowSource::Evidence => SpecSource::Learned,
        WindowSource::Catalog => SpecSource::Catalog,
        WindowSource::Guess => SpecSource::Guess,
    }
}

impl SessionPorts {
    /// A driver that asks whoever is in them.
    pub fn driver(&self) -> Driver {
        Driver::new(self.ports.clone())
    }

    /// Who writes summaries by a policy, in words: a model with its address.
    pub fn summarizer(&self, policy: &Policy) -> String {
        let own = match &policy.summary.by {
            Writer::Embedded => return "the embedded summariser".to_owned(),
            Writer::Nobody => return "nobody".to_owned(),
            Writer::Session => SESSION_ALIAS,
            Writer::Alias(name) => name,
        };
        self.provider.as_ref().map_or_else(
            || "each request's own model".to_owned(),
            |provider| {
                let Endpoint { base_url, model, .. } = provider.endpoint();
                format!("`{own}` ({model} at {base_url})")
            },
        )
    }

    /// The most that calls may cost, in dollars, where that is known.
    pub fn cost_max(&self, calls: &SketchedCalls) -> Option<f64> {
        let (Tokens(input), Tokens(output_max)) = (calls.input, calls.output_max);
        let count = calls.calls.max(1);
        let one = Usage { prompt: input / count, output: output_max / count, ..Usage::default() };
        let prices = self.provider.as_ref()?.prices()?;
        Some(prices.cost(&one) * count as f64)
    }
}
