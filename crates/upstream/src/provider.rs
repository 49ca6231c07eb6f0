//! The provider: takes a request, decides the answer, and keeps count. Sending it is left to the server.

use crate::answer::{Answer, Content, Ending};
use crate::cache::PrefixCache;
use crate::chain::Chains;
use crate::complaint::Complaint;
use crate::endpoint::Endpoint;
use crate::order::{Fault, Order};
use crate::parsed_request::{Envelope, ParsedRequest};
use crate::recording::Cursor;
use crate::refusal::{self, LAST_ITEM};
use crate::report::{Breach, Recorded, Report};
use crate::script::Keep;
use crate::{Kind, Plan, Script, models, summary};
use bytes::Bytes;
use epitome_wire::{Protocol, validate};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A scripted provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) script: Script,
    state: Mutex<State>,
}

/// What changes from request to request.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) report: Report,
    pub(crate) plan: Plan,
    pub(crate) cache: PrefixCache,
    pub(crate) chains: Chains,
    /// How far the recording has been replayed.
    pub(crate) cursor: Cursor,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) endpoint: Endpoint,
    pub(crate) path: String,
    /// The headers worth keeping.
    pub(crate) headers: BTreeMap<String, String>,
    /// The order in the header made for it.
    pub(crate) told: Option<String>,
    pub(crate) body: Bytes,
}

/// A request that passed the door.
pub(crate) struct CheckedRequest {
    pub(crate) asked: ParsedRequest,
    pub(crate) kind: Kind,
    pub(crate) order: Order,
}

/// A request that did not.
struct RejectedRequest {
    complaint: Complaint,
    breaches: Vec<(String, String)>,
}

impl From<Complaint> for RejectedRequest {
    fn from(complaint: Complaint) -> Self {
        let breaches = vec![(String::new(), complaint.message.clone())];
        Self { complaint, breaches }
    }
}

impl Provider {
    pub(crate) fn new(script: Script) -> Self {
        let state = State { plan: script.plan.clone(), ..State::default() };
        Self { script, state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can stop half way through a change that others rely on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one request.
    pub(crate) fn answer(&self, incoming: &Incoming) -> Answer {
        let number = self.arrive();
        let (kind, answer) = match self.check(incoming) {
            Ok(ready) => (ready.kind, self.serve(number, ready)),
            Err(stopped) => self.stop(number, incoming.endpoint, stopped),
        };
        let answer = Answer { number, ..answer };
        let mut state = self.state();
        state.report.count(kind);
        match self.script.keep {
            Keep::Nothing => {}
            Keep::Bodies => state.report.keep(recorded(number, kind, incoming, &answer)),
        }
        answer
    }

    fn arrive(&self) -> u64 {
        let mut state = self.state();
        state.report.requests += 1;
        state.report.requests
    }

    fn check(&self, incoming: &Incoming) -> Result<CheckedRequest, RejectedRequest> {
        if incoming.body.len() > self.script.body_bytes_max {
            return Err(Complaint::of_status(413).into());
        }
        let mut envelope = Envelope::open(incoming.endpoint, &incoming.body)?;
        self.state().chains.extend(&mut envelope.body)?;
        self.check_rules(&envelope)?;
        let asked = envelope.read()?;
        self.script.binding.check(&asked)?;
        let kind = self.kind(&asked);
        let order = self.order(kind, incoming, &asked)?;
        Ok(CheckedRequest { asked, kind, order })
    }

    fn check_rules(&self, envelope: &Envelope) -> Result<(), RejectedRequest> {
        let protocol = envelope.endpoint.protocol();
        let mut broken = validate::body(protocol, &envelope.body);
        broken.retain(|broken| self.script.strictness.holds(broken.rule));
        if envelope.endpoint == Endpoint::Compact {
            broken.retain(|broken| broken.rule != LAST_ITEM);
        }
        let Some(first) = broken.first() else { return Ok(()) };
        let complaint = refusal::complaint(protocol, &envelope.body, first);
        let breaches = broken.into_iter().map(|broken| (broken.path, broken.rule.to_owned())).collect();
        Err(RejectedRequest { complaint, breaches })
    }

    fn kind(&self, asked: &ParsedRequest) -> Kind {
        match asked.envelope.endpoint {
            Endpoint::CountTokens | Endpoint::InputTokens => Kind::Count,
            Endpoint::Compact => Kind::Compact,
            Endpoint::Messages | Endpoint::Chat | Endpoint::Responses => {
                if summary::is_asked(asked, &self.script) { Kind::Summary } else { Kind::Chat }
            }
        }
    }

    /// The order for a request: its header's, else its model's, else the plan's.
    fn order(&self, kind: Kind, incoming: &Incoming, asked: &ParsedRequest) -> Result<Order, Complaint> {
        let planned = self.state().plan.take(kind);
        let told = incoming.told.as_deref().map(str::parse).transpose().map_err(Complaint::invalid)?;
        Ok(told.or(asked.envelope.order).or(planned).unwrap_or_default())
    }

    fn stop(&self, number: u64, endpoint: Endpoint, stopped: RejectedRequest) -> (Kind, Answer) {
        let breach = |(path, rule)| Breach { request: number, path, rule };
        self.state().report.note(stopped.breaches.into_iter().map(breach).collect());
        let kind = match endpoint {
            Endpoint::CountTokens | Endpoint::InputTokens => Kind::Count,
            Endpoint::Compact => Kind::Compact,
            Endpoint::Messages | Endpoint::Chat | Endpoint::Responses => Kind::Chat,
        };
        (kind, Answer::complaint(&stopped.complaint, endpoint.protocol(), number))
    }

    /// The list of models, or one of them.
    pub(crate) fn models(&self, protocol: Protocol, id: Option<&str>) -> Answer {
        let number = self.arrive();
        let order = self.state().plan.take(Kind::Models).unwrap_or_default();
        self.state().report.count(Kind::Models);
        if let Some(Fault::Status { code, retry_after }) = order.fault {
            let failed = Answer::complaint(&Complaint::of_status(code), protocol, number);
            return Answer { retry_after, pause: order.pause, ..failed };
        }
        let content = Content::Json(models::list(protocol, id));
        let ending = if order.fault == Some(Fault::Timeout) { Ending::Never } else { Ending::Whole };
        Answer { number, pause: order.pause, ending, ..Answer::good(content) }
    }
}

fn recorded(number: u64, kind: Kind, incoming: &Incoming, answer: &Answer) -> Recorded {
    Recorded {
        request: number,
        kind,
        path: incoming.path.clone(),
        headers: incoming.headers.clone(),
        body: String::from_utf8_lossy(&incoming.body).into_owned(),
        status: answer.status,
        usage: answer.usage,
    }
}
