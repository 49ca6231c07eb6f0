//! A model at an address, as the engine's port wants it.

use crate::body::{Outgoing, RequestPath};
use crate::call::call;
use crate::options::Options;
use crate::retry::RetryBudget;
use crate::{Credential, Dice, Effort, Entropy, LastRequest, Limits, Service};
use epitome_core::{CallResult, SummaryRequest, Tokens};
use epitome_engine::{BoxFuture, Clock, Model, ModelMeasure};
use epitome_tokens::{self as tokens, Counter, Prices, SpecSource};
use epitome_wire::Protocol;
use epitome_wire::overflow::{Endpoint, LearnedWindows, OverflowVerdict, RequestFacts};
use epitome_wire::protocol::SUMMARY_HEADER;
use reqwest::header::CONTENT_TYPE;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// What providers share: the client, time, chance, and what was learned of windows.
#[derive(Clone)]
pub struct World {
    /// Makes the connections.
    pub client: reqwest::Client,
    /// Says when something was learned.
    pub clock: Arc<dyn Clock>,
    /// Spreads retries.
    pub dice: Arc<dyn Dice>,
    /// What was learned; whoever keeps sessions keeps this too.
    pub windows: Arc<Mutex<LearnedWindows>>,
    /// The bounds of each call.
    pub limits: Limits,
}

/// No client could be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up connections; check the certificates and proxy settings of this machine")]
pub struct WorldError(#[source] reqwest::Error);

/// A server that does not take a connection within this is not there.
const CONNECT_MAX: Duration = Duration::from_secs(4);

impl World {
    /// The ordinary one.
    pub fn new(clock: Arc<dyn Clock>) -> Result<Self, WorldError> {
        // A redirected request would carry its key somewhere else.
        let redirect = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder().connect_timeout(CONNECT_MAX).redirect(redirect).build();
        Ok(Self {
            client: client.map_err(WorldError)?,
            clock,
            dice: Arc::new(Entropy),
            windows: Arc::default(),
            limits: Limits::default(),
        })
    }
}

/// What makes a provider.
#[derive(Clone, Debug)]
pub struct ProviderSetup {
    /// Its name, as records show it.
    pub name: Arc<str>,
    /// Who serves it.
    pub service: Arc<str>,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Where.
    pub base_url: Arc<str>,
    /// The model, as the catalog and the operator know it.
    pub model: tokens::ModelSpec,
    /// What it knows us by.
    pub credential: Credential,
    /// Whether it takes several calls at once.
    pub takes_parallel: bool,
    /// How hard it is to think.
    pub reasoning: Option<Effort>,
}

impl ProviderSetup {
    /// The model of somebody's own request, at the address the request goes to and with its credential. In records it
    /// goes by its own name.
    pub fn of_request(
        model: tokens::ModelSpec,
        protocol: Protocol,
        base_url: &str,
        credential: Credential,
    ) -> Self {
        let service = Service::at(base_url);
        Self {
            name: model.id.as_str().into(),
            service: service.name().into(),
            protocol,
            base_url: base_url.into(),
            model,
            credential,
            takes_parallel: service.takes_parallel(),
            reasoning: None,
        }
    }
}

/// A model that writes summaries, over HTTP.
pub struct Provider {
    setup: ProviderSetup,
    world: World,
    gauge: ModelMeasure,
    /// The session's last request, to be gone on with.
    last: RwLock<Option<LastRequest>>,
    /// What its calls have left of tries, together.
    retries: RetryBudget,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("setup", &self.setup).finish_non_exhaustive()
    }
}

/// The longest answer of a model nobody knows: what nearly all of them give.
const OUTPUT_GUESSED: Tokens = Tokens(8_192);

/// The version of its API that Anthropic wants named.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl Provider {
    /// A provider in a world.
    pub fn new(setup: ProviderSetup, world: World) -> Self {
        let gauge = ModelMeasure(Counter::for_model(&setup.model));
        Self { setup, world, gauge, last: RwLock::default(), retries: RetryBudget::default() }
    }

    /// Notes the session's last request, as it was sent, for [`SummaryInput::Prefix`](epitome_core::SummaryInput::Prefix)
    /// to go on with.
    pub fn remember(&self, last: LastRequest) {
        *self.last.write().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    /// The prices of its model, where the catalog knows them.
    pub fn prices(&self) -> Option<Prices> {
        self.setup.model.prices.map(|prices| prices.value)
    }

    /// How it is spoken to.
    pub fn protocol(&self) -> Protocol {
        self.setup.protocol
    }

    /// The model's name at its provider.
    pub fn model_id(&self) -> &str {
        &self.setup.model.id
    }

    /// Where, and as what, limits are learned for it.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::new(&self.setup.service, &self.setup.base_url, &self.setup.model.id)
    }

    /// Where it is: scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        let url = reqwest::Url::parse(&self.setup.base_url).ok();
        url.map_or_else(|| self.setup.service.to_string(), |url| url.origin().ascii_serialization())
    }

    pub(crate) fn credential(&self) -> &Credential {
        &self.setup.credential
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.world.limits
    }

    pub(crate) fn gauge(&self) -> &ModelMeasure {
        &self.gauge
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(self.setup.reasoning, &self.setup.base_url)
    }

    pub(crate) fn output_limit(&self) -> u64 {
        self.setup.model.output_tokens_max.map_or(OUTPUT_GUESSED.0, |limit| limit.value)
    }

    pub(crate) fn retries(&self) -> &RetryBudget {
        &self.retries
    }

    pub(crate) fn roll(&self) -> f64 {
        self.world.dice.roll()
    }

    pub(crate) fn last(&self) -> Option<LastRequest> {
        self.last.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn known(&self, estimate: Tokens) -> RequestFacts {
        let learned = self.with_windows(|windows, now| windows.of(&self.endpoint(), now));
        let largest = Some(learned.largest).filter(|&largest| largest > Tokens::ZERO);
        RequestFacts { estimate: Some(estimate), window: Some(self.window()), largest }
    }

    pub(crate) fn learn(&self, verdict: &OverflowVerdict) {
        self.with_windows(|windows, now| windows.learn(&self.endpoint(), verdict, now));
    }

    pub(crate) fn succeeded(&self, prompt: Tokens) {
        self.with_windows(|windows, _| windows.succeeded(&self.endpoint(), prompt));
    }

    fn with_windows<T>(&self, act: impl FnOnce(&mut LearnedWindows, Duration) -> T) -> T {
        let now = self.world.clock.now();
        act(&mut self.world.windows.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    /// The request, addressed and signed.
    pub(crate) fn post(&self, outgoing: Outgoing) -> reqwest::RequestBuilder {
        let mut request = self.world.client.post(self.address(outgoing.place));
        request = request.header(CONTENT_TYPE, "application/json").body(outgoing.body);
        request = request.header(SUMMARY_HEADER, "1");
        if self.setup.protocol == Protocol::Anthropic {
            request = request.header("anthropic-version", ANTHROPIC_VERSION);
        }
        if let Some(beta) = outgoing.beta {
            request = request.header("anthropic-beta", beta);
        }
        self.setup.credential.sign(request, self.setup.protocol)
    }

    fn address(&self, place: RequestPath) -> String {
        let base = self.setup.base_url.trim_end_matches('/');
        match (self.setup.protocol, place) {
            (Protocol::Anthropic, _) => format!("{}/v1/messages", base.trim_end_matches("/v1")),
            (Protocol::OpenaiChat, _) => format!("{base}/chat/completions"),
            (Protocol::OpenaiResponses, RequestPath::Replies) => format!("{base}/responses"),
            (Protocol::OpenaiResponses, RequestPath::Compactions) => format!("{base}/responses/compact"),
        }
    }
}

impl Model for Provider {
    fn name(&self) -> &str {
        &self.setup.name
    }

    /// What the operator said; else what the provider told; else what the catalog has.
    fn window(&self) -> Tokens {
        let stated = self.setup.model.window_tokens;
        if stated.source == SpecSource::Explicit {
            return Tokens(stated.value);
        }
        let learned = self.with_windows(|windows, now| windows.of(&self.endpoint(), now));
        let limits = [learned.window, learned.input_max].into_iter().flatten().map(|limit| limit.tokens);
        limits.min().unwrap_or(Tokens(stated.value.max(learned.largest.0)))
    }

    fn output_max(&self) -> Tokens {
        Tokens(self.output_limit())
    }

    fn takes_parallel(&self) -> bool {
        self.setup.takes_parallel
    }

    /// By the catalog's prices; a tenth where it knows none, as most providers charge.
    fn cached_percent(&self) -> u32 {
        let rates = self.prices().map(|prices| prices.rates).filter(|rates| rates.input > 0.0);
        rates.map_or(10, |rates| (rates.cache_read / rates.input * 100.0).round() as u32)
    }

    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'_, CallResult> {
        Box::pin(call(self, request))
    }
}
