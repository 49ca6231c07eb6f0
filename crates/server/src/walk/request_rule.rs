//! What counts for a request: the rule of its session, what is known of its model's window, how its path is worked on, and who can be
//! asked meanwhile.

use super::{Attempt, Walk};
use crate::books::Book;
use crate::checkpoints::{ClientLine, SessionOperator};
use crate::own_model::{self, CACHE_TIME};
use crate::provider_edits;
use crate::request::Request;
use crate::request_reader;
use crate::restorer::RequestRestorer;
use crate::rules::{Caller, SessionRule};
use crate::server_state::ServerState;
use epitome_core::policy::TriggerMode;
use epitome_core::{EntryId, Policy, Settings, Tokens};
use epitome_engine::store::SessionId;
use epitome_engine::{Assembly, Checkout, Driver, NoWindow, SessionOptions, WindowFacts};
use std::sync::Arc;

impl Walk<'_> {
    /// What counts for an attempt. Where the provider is asked to make room by itself, only what it refuses is compacted here.
    pub(super) fn rule_of(&self, session: SessionId, attempt: Attempt) -> SessionRule {
        let mut rule = self.rule(session);
        let is_first = attempt == Attempt::First;
        if is_first && provider_edits::are_asked(self.request) {
            let settings = Settings { mode: TriggerMode::Off, ..rule.policy.settings().clone() };
            // A policy that may compact by itself is sound where it may not.
            rule.policy = Policy::try_from(settings).map_or(rule.policy, Arc::new);
        }
        rule
    }

    /// Whether the policy has a request changed after a refusal, also where its provider makes room by itself first.
    pub(super) fn may_recover(&self, session: SessionId, rule: &SessionRule) -> bool {
        let is_on = |policy: &Policy| policy.mode != TriggerMode::Off && policy.guard.recoveries_max > 0;
        is_on(&rule.policy) || (provider_edits::are_asked(self.request) && is_on(&self.rule(session).policy))
    }

    pub(super) fn rule(&self, session: SessionId) -> SessionRule {
        let Request { protocol, upstream, body, credentials, agent, .. } = self.request;
        let (model, known) = (body.model(), self.known(body.model()));
        let agent = agent.as_deref();
        let caller = Caller { protocol: *protocol, model, agent, credentials, upstream, known };
        let mut rule = self.state.settings.rules.of(&caller);
        rule.ports.clock = self.state.settings.clock.clone();
        rule.ports.operator = Some(self.operator(session, Some(self.client.clone())));
        rule.ports.waiter = Some(self.waiter.clone());
        rule
    }

    /// What is known of the window of a model.
    pub(super) fn known(&self, model: &str) -> WindowFacts {
        let (endpoint, now) = (self.request.endpoint_of(model), self.state.calendar());
        let limits = self.state.books.windows(|windows| windows.of(&endpoint, now));
        let learned = [limits.window, limits.input_max].into_iter().flatten().map(|limit| limit.tokens).min();
        WindowFacts { stated: self.state.settings.window, learned, ..WindowFacts::default() }
    }

    pub(super) fn operator(&self, session: SessionId, client: Option<ClientLine>) -> Arc<SessionOperator> {
        let ServerState { checkpoints, settings, .. } = &**self.state;
        let (desk, tell) = (checkpoints.clone(), settings.tell.clone());
        Arc::new(SessionOperator { session, desk, tell, client })
    }

    /// Where an agent with a shell of its own has an original shown; nowhere, where that takes a token that it does not have.
    pub(super) fn recall(&self, session: SessionId) -> Option<Arc<str>> {
        let is_open = self.state.settings.api_token.is_none();
        let command =
            || format!("curl http://{}/api/v1/sessions/{session}/messages/m0123", self.state.address);
        is_open.then(|| command().into())
    }

    /// How the path is worked on for this request.
    pub(super) fn checkout(
        &self,
        session: SessionId,
        rule: &SessionRule,
        leaf: Option<EntryId>,
    ) -> Result<Checkout, NoWindow> {
        let assembly = self.assembly(session, rule, self.request.body.model())?;
        let idle = self.state.books.with(session, |book| book.seen.elapsed());
        let mut ports = own_model::ports(rule, self.is_cached(session));
        ports.restorer = Some(Arc::new(self.restorer(&rule.policy)));
        let options = SessionOptions { recall: self.recall(session), ..SessionOptions::default() };
        let driver = Driver::new(ports);
        Ok(Checkout { session, leaf, assembly, options, driver, idle })
    }

    /// What the request shows of skills and tool servers, where the policy may bring them back.
    pub(super) fn restorer(&self, policy: &Policy) -> RequestRestorer {
        let Request { protocol, body, around, .. } = self.request;
        let wanted = policy.restore.skills_tokens + policy.restore.servers_tokens;
        if wanted > Tokens::ZERO {
            RequestRestorer::of(*protocol, body, &around.parts.tools)
        } else {
            RequestRestorer::default()
        }
    }

    /// Counter, window and budget of a model, with what the request has around its messages.
    pub(super) fn assembly(
        &self,
        session: SessionId,
        rule: &SessionRule,
        model: &str,
    ) -> Result<Assembly, NoWindow> {
        let spec = self.state.settings.catalog.find(model);
        let spec = spec.with_betas(self.request.beta.as_deref().unwrap_or_default());
        let (policy, known) = (&rule.policy, self.known(model));
        let calibration = self.state.books.calibration(&self.request.endpoint_of(model));
        // Mostly it is what the request before was worked on with.
        let before = self.state.books.with(session, |book| {
            let before = book.checkout.as_ref().map(|checkout| &checkout.assembly);
            before.filter(|before| before.is_of(policy, &spec, &known)).cloned()
        });
        let assembly = before.flatten().map_or_else(|| Assembly::new(policy.clone(), spec, known), Ok)?;
        let mut assembly = assembly.with_calibration(calibration);
        let around = &self.request.around;
        let fixed = around.count(&assembly) + self.sealed(&assembly);
        assembly.set_request(fixed, around.parts.max_tokens.map(Tokens));
        Ok(assembly)
    }

    /// What a summary takes that the provider itself has made, and that stands before the history.
    pub(super) fn sealed(&self, assembly: &Assembly) -> Tokens {
        let Request { protocol, body, sealed, .. } = self.request;
        let messages = sealed.clone().map(|range| request_reader::messages(*protocol, body, 0, range));
        let messages = messages.and_then(Result::ok).unwrap_or_default();
        messages.iter().map(|(_, message)| assembly.measure().sizes(message).total()).sum()
    }

    /// Whether the provider is likely to have the session's last request in its cache, for the same model.
    pub(super) fn is_cached(&self, session: SessionId) -> bool {
        let is_recent = |book: &mut Book| {
            let sent = book.sent.as_ref().filter(|(model, _)| model == self.request.body.model());
            sent.is_some_and(|(_, when)| when.elapsed() < CACHE_TIME)
        };
        self.state.books.with(session, is_recent).unwrap_or_default()
    }
}
