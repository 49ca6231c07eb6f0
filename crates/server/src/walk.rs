//! The walk of one request, from the client's body to the body that is sent: found, taken up, made to
//! fit, written.

use crate::body::Body;
use crate::chain::{Link, Tenant};
use crate::conversation::{Asked, Conversation, Rebuilt, TakeError};
use crate::memory::{Found, Memory, SessionId};
use crate::notice::What;
use crate::outward::Outward;
use crate::reading;
use crate::reply::Sender;
use crate::settings::ServerSettings;
use crate::view;
use bytes::Bytes;
use epitome_engine::EngineError;
use epitome_wire::Protocol;
use epitome_wire::overflow::Numbers;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;

/// A request whose conversation can be told.
pub(crate) struct Request {
    protocol: Protocol,
    body: Body,
    opening: usize,
    links: Vec<Link>,
}

/// A body ready to be sent.
pub(crate) struct Prepared {
    /// Its bytes.
    pub(crate) body: Bytes,
    /// Where it comes from.
    pub(crate) from: Sender,
}

/// What every request is served from.
pub(crate) struct House {
    /// What the operator said.
    pub(crate) settings: ServerSettings,
    /// The conversations.
    pub(crate) memory: Memory,
    /// The way to the providers.
    pub(crate) outward: Outward,
}

impl House {
    /// Tells the operator.
    pub(crate) fn tell(&self, what: What) {
        (self.settings.tell)(&what.into());
    }
}

/// Why a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// Because the client sent it.
    First,
    /// Because the provider refused it as too long, and it can be made shorter.
    AfterOverflow(Numbers),
}

impl Request {
    /// The request in `body`; none where we do not understand it.
    pub(crate) fn read(protocol: Protocol, tenant: &Tenant, body: Bytes) -> Option<Self> {
        let body = Body::read(body)?;
        let opening = reading::opening(protocol, &body);
        let mut link = Link::seed(tenant, protocol, body.model());
        let mut links = Vec::with_capacity(body.len() - opening);
        for at in opening..body.len() {
            link = link.next(body.element(at))?;
            links.push(link);
        }
        (!links.is_empty()).then_some(Self { protocol, body, opening, links })
    }
}

/// Makes a request fit. What goes wrong here is no reason to fail the client's call: then the body goes out as
/// it came, and the provider is the judge.
pub(crate) async fn prepare(house: &Arc<House>, request: &Arc<Request>) -> Prepared {
    let prepared = attempt(house, request, Attempt::First).await;
    prepared.unwrap_or_else(|| Prepared { body: request.body.bytes().clone(), from: Sender::default() })
}

/// Makes a request fit that the provider refused as too long; none where nothing can be made shorter.
pub(crate) async fn recover(house: &Arc<House>, request: &Arc<Request>, told: Numbers) -> Option<Prepared> {
    attempt(house, request, Attempt::AfterOverflow(told)).await
}

/// The body to send; none where there is none but the one that came. The operator is told what went wrong.
async fn attempt(house: &Arc<House>, request: &Arc<Request>, attempt: Attempt) -> Option<Prepared> {
    let told = |error: WalkError| house.tell(What::PassedOn { why: error.to_string() });
    let (id, conversation) = place(house, request).await.map_err(told).ok()?;
    let work = {
        let (house, request, runtime) = (house.clone(), request.clone(), Handle::current());
        move || run(&runtime, &house.memory, id, work(&house, id, conversation, &request, attempt))
    };
    // Counting and compacting take the processor for a while; others are served meanwhile.
    let worked = tokio::task::spawn_blocking(work).await.unwrap_or(Err(WalkError::Stopped));
    worked.map_err(told).ok().flatten()
}

/// Does the work on a conversation, and lets the conversation go where that leaves it in no state to go on from.
/// It happens here, since whoever waits for the outcome may have hung up.
fn run(
    runtime: &Handle,
    memory: &Memory,
    id: SessionId,
    work: impl Future<Output = Result<Option<Prepared>, WalkError>>,
) -> Result<Option<Prepared>, WalkError> {
    let worked = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
    let worked = worked.unwrap_or(Err(WalkError::Stopped));
    match &worked {
        Ok(_) => {}
        Err(error) if error.is_harmless() => memory.forget_unnoted(id),
        Err(_) => memory.forget(id),
    }
    worked
}

/// The conversation whose newest message is one of the request's, with nobody else at work on it: the one
/// known, a branch of it where that went another way, or a new one.
async fn place(
    house: &House,
    request: &Request,
) -> Result<(SessionId, OwnedMutexGuard<Conversation>), WalkError> {
    let House { settings, memory, .. } = house;
    let Some(Found { id, conversation }) = memory.find(&request.links) else {
        let new = Conversation::new(settings, request.protocol, request.body.model());
        return Ok(lock(memory.insert(new, None)).await);
    };
    let conversation = conversation.lock_owned().await;
    let known = conversation.count_known(&request.links);
    if known == conversation.len() {
        return Ok((id, conversation));
    }
    let branch = conversation.branch(known)?;
    drop(conversation);
    Ok(lock(memory.insert(branch, Some(id))).await)
}

async fn lock(found: Found) -> (SessionId, OwnedMutexGuard<Conversation>) {
    (found.id, found.conversation.lock_owned().await)
}

async fn work(
    house: &House,
    id: SessionId,
    mut conversation: OwnedMutexGuard<Conversation>,
    request: &Request,
    attempt: Attempt,
) -> Result<Option<Prepared>, WalkError> {
    let Request { protocol, body, opening, links } = request;
    let known = conversation.len();
    take_up(house, id, &mut conversation, request).await?;
    house.memory.note(id, links, known, body.bytes().len());
    if !make_room(house, id, &mut conversation, attempt).await && attempt != Attempt::First {
        return Ok(None);
    }
    conversation.tally().requests += 1;
    let body = match conversation.seen()? {
        Some(seen) => body.with_messages(&view::messages(*protocol, body, *opening, &seen)),
        None => body.bytes().clone(),
    };
    let from = Sender { tally: Some(conversation.shared_tally()), known: conversation.known() };
    Ok(Some(Prepared { body, from }))
}

/// Takes up what is new. Where the newest reply ended a turn, what the policy wants done between turns is
/// done before the next begins; in a history that comes as a whole, turns ended long ago.
async fn take_up(
    house: &House,
    session: SessionId,
    conversation: &mut Conversation,
    request: &Request,
) -> Result<(), TakeError> {
    let Request { body, opening, links, .. } = request;
    let (asked, reply) = (Asked { body, opening: *opening, links }, conversation.len());
    if reply > 0 && reply + 1 < links.len() {
        conversation.take(&Asked { links: &links[..=reply], ..asked })?;
        if conversation.has_turn_ended() {
            let input = conversation.count_input(&asked);
            let rested = conversation.rest(input).await;
            tell_of(house, session, conversation, rested);
        }
    }
    conversation.take(&asked)
}

/// Compacts where that is due or was asked for by an overflow; whether it did anything.
async fn make_room(
    house: &House,
    session: SessionId,
    conversation: &mut Conversation,
    attempt: Attempt,
) -> bool {
    match attempt {
        Attempt::First => {
            let fitted = conversation.fit().await;
            tell_of(house, session, conversation, fitted)
        }
        Attempt::AfterOverflow(told) => {
            house.tell(What::TooLong { session });
            let recovered = conversation.recover(told).await;
            tell_of(house, session, conversation, recovered)
        }
    }
}

/// Tells what came of a compaction; whether it did anything. One that fails leaves the context as it was:
/// whether that fits is the provider's to say.
fn tell_of(
    house: &House,
    session: SessionId,
    conversation: &mut Conversation,
    rebuilt: Result<Option<Rebuilt>, EngineError>,
) -> bool {
    for what in conversation.take_remarks() {
        house.tell(What::Remark { session, what });
    }
    match rebuilt {
        Ok(None) => return false,
        Ok(Some(Rebuilt { before, after })) => house.tell(What::Compacted { session, before, after }),
        Err(error) => {
            house.tell(What::Failed { session, why: error.to_string() });
            return false;
        }
    }
    true
}

/// A walk that could not be finished.
#[derive(Debug, thiserror::Error)]
enum WalkError {
    #[error(transparent)]
    Take(#[from] TakeError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("the work on this request was stopped; send it again")]
    Stopped,
}

impl WalkError {
    /// Whether the conversation is in order all the same. One that may have taken up half of a message is not,
    /// and the next request brings all of it again.
    fn is_harmless(&self) -> bool {
        match self {
            Self::Take(TakeError::Unreadable(_)) => true,
            Self::Take(TakeError::Engine(_)) | Self::Engine(_) | Self::Stopped => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{House, Request, prepare, recover};
    use crate::chain::Tenant;
    use crate::memory::Memory;
    use crate::outward::Outward;
    use crate::settings::ServerSettings;
    use epitome_core::Tokens;
    use epitome_wire::Protocol;
    use epitome_wire::overflow::Numbers;
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn house() -> Arc<House> {
        let settings = ServerSettings { window: Some(Tokens(8_000)), ..ServerSettings::for_tests() };
        let outward = Outward::new().expect("a client can be made");
        Arc::new(House { settings, memory: Memory::default(), outward })
    }

    async fn sent(house: &Arc<House>, system: &str, messages: &[Value]) -> Vec<Value> {
        let body =
            json!({"model": "claude-sonnet-4-5", "max_tokens": 500, "system": system, "messages": messages});
        let tenant = Tenant::of(std::iter::empty());
        let request = Request::read(Protocol::Anthropic, &tenant, body.to_string().into());
        let prepared = prepare(house, &Arc::new(request.expect("a request"))).await;
        let mut body: Value = serde_json::from_slice(&prepared.body).expect("JSON");
        serde_json::from_value(body["messages"].take()).expect("a list")
    }

    /// So many turns, and a question.
    fn history(turns: usize) -> Vec<Value> {
        let turn = |number: usize| {
            let words = format!("step {number} of the work, ").repeat(40);
            [
                json!({"role": "user", "content": words}),
                json!({"role": "assistant", "content": format!("done {number}")}),
            ]
        };
        let question = json!({"role": "user", "content": "and now?"});
        (0..turns).flat_map(turn).chain([question]).collect()
    }

    #[tokio::test]
    async fn a_compaction_that_could_not_be_made_does_not_shift_the_next_one() {
        let (tried, fresh, messages) = (house(), house(), history(60));
        let untouched = sent(&tried, &"a rule to keep. ".repeat(4_000), &messages[..21]).await;
        assert_eq!(untouched, messages[..21]);
        let (after, expected) = (sent(&tried, "", &messages).await, sent(&fresh, "", &messages).await);
        assert!((2..messages.len()).contains(&expected.len()), "it is compacted: {}", expected.len());
        assert_eq!(after[1..], expected[1..]);
    }

    #[tokio::test]
    async fn an_overflow_frees_a_tenth_more_than_the_provider_said_and_no_more() {
        let house = house();
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": history(20)});
        let request =
            Request::read(Protocol::Anthropic, &Tenant::of(std::iter::empty()), body.to_string().into());
        let request = Arc::new(request.expect("a request"));
        let over = Tokens(5_000);
        recover(&house, &request, Numbers { over: Some(over), ..Numbers::default() })
            .await
            .expect("it is made shorter");
        let (.., conversation) = house.memory.all().remove(0);
        let conversation = conversation.lock().await;
        let report = &conversation.records()[0];
        let target = report.record.as_ref().map(|made| made.target);
        assert_eq!(target, Some(report.tokens_before.less(over.share(11, 10))));
    }

    #[tokio::test]
    async fn branches_that_cannot_be_read_are_not_kept() {
        let (house, messages) = (house(), history(2));
        sent(&house, "", &messages).await;
        let martian = json!({"role": "martian", "content": "b"});
        for number in 0..3 {
            let branch = [
                messages[0].clone(),
                json!({"role": "assistant", "content": number.to_string()}),
                martian.clone(),
            ];
            assert_eq!(sent(&house, "", &branch).await, branch);
        }
        assert_eq!(house.memory.all().len(), 1);
    }
}
