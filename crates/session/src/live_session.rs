//! A session with whoever it can ask: what an agent's loop calls, in the order it calls it. Deciding and compacting is the
//! engine's; here requests are written, replies and refusals read, and the log is saved.

use crate::act::{Act, ActResult, SessionWork};
use crate::builder::SessionBuilder;
use crate::error::SessionError;
use crate::saved::SavedLog;
use epitome_core::{Author, Block, Call, EntryId, Message, MessageView, Role, ToolResult, Trigger};
use epitome_engine::{
    Background, CompactOptions, Driver, EngineError, LookPoint, RefusalFigures, Session, Step, TurnEnd,
};
use epitome_tokens::Usage;
use epitome_wire::encode::RequestParts;
use epitome_wire::overflow::{ErrorPlace, OverflowClass, OverflowVerdict, RequestFacts, classify, notice};
use epitome_wire::protocol::{ModelReply, ReplyUsage};
use epitome_wire::{FixedParts, Problem, Protocol, ReportedUsage, encode};
use futures_util::lock::Mutex;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// One conversation of an agent, whose context always fits its model's window.
///
/// [`LiveSession::for_model`] builds one. What is heavy (planning, writing a summary, checking it) is done on a blocking
/// thread of the tokio runtime at hand; a call that is cancelled meanwhile leaves the session as it was.
#[derive(Debug)]
pub struct LiveSession {
    session: Session,
    driver: Driver,
    fixed: FixedParts,
    saved: SavedLog,
    background: Arc<Mutex<Background>>,
}

/// Where Anthropic wants a limit on the answer and nobody has said one.
const OUTPUT_TOKENS: u64 = 8_192;
/// Why no room is made for a request that was refused for something else.
const NOT_ITS_SIZE: &str = "a smaller request would not help";

impl LiveSession {
    /// Begins to build a session with the model of this name, in any of its usual spellings.
    pub fn for_model(name: &str) -> SessionBuilder {
        SessionBuilder::new(name)
    }

    pub(crate) fn new(session: Session, driver: Driver, fixed: FixedParts, saved: SavedLog) -> Self {
        Self { session, driver, fixed, saved, background: Arc::default() }
    }

    /// Takes up what a person says, after what the policy wants done before input.
    pub async fn say(&mut self, text: impl Into<Arc<str>>) -> Result<Step, SessionError> {
        let message = Message::text(Role::User, Author::Person, text);
        let tokens = self.session.assembly().measure().sizes(&message).total();
        let mut step = self.prepare_at(LookPoint::Input(tokens)).await?;
        self.append(message)?;
        step.appended.extend(self.session.step(None).appended);
        Ok(step)
    }

    /// Does what the policy wants done after nobody has spoken for so long.
    pub async fn idle(&mut self, time: Duration) -> Result<Step, SessionError> {
        self.session.set_idle_minutes(Some(time.as_secs() / 60));
        self.prepare_at(LookPoint::Idle(time.as_secs())).await
    }

    /// Calls of the newest reply that wait for their results; none where the newest thing said is something else.
    pub fn open_calls(&self) -> Result<Vec<Call>, SessionError> {
        let newest = self.newest()?;
        Ok(newest.iter().flat_map(|message| message.calls()).cloned().collect())
    }

    /// Takes up the results of [`LiveSession::open_calls`], all at once and in any order; nothing where there are none.
    pub fn answer(
        &mut self,
        results: impl IntoIterator<Item = ToolResult>,
    ) -> Result<Option<EntryId>, SessionError> {
        let blocks: Vec<Block> = results.into_iter().map(Block::Result).collect();
        let message = Message { role: Role::Tool, author: Author::Tool, blocks };
        (!message.blocks.is_empty()).then(|| self.append(message)).transpose()
    }

    /// Takes up any message: one with pictures, a harness's reminder, a reply from elsewhere.
    pub fn append(&mut self, message: Message) -> Result<EntryId, SessionError> {
        Ok(self.session.append(message)?)
    }

    /// Everything that is to be done before a call: a compaction where one is due. Its record, if there was one, is in
    /// the step. Where nothing is due this costs the same however long the session is.
    pub async fn prepare(&mut self) -> Result<Step, SessionError> {
        self.prepare_at(LookPoint::Call).await
    }

    async fn prepare_at(&mut self, point: LookPoint) -> Result<Step, SessionError> {
        if self.session.is_settled_at(point) {
            return Ok(self.session.step(None));
        }
        Ok(self.act(Act::Prepare(point)).await?.step)
    }

    /// The body of the next request. Between compactions each body extends the one before, so that the provider's cache
    /// holds.
    pub fn body(&self, protocol: Protocol) -> Result<Vec<u8>, SessionError> {
        let FixedParts { system, tools, model, max_tokens, rest, .. } = &self.fixed;
        let required = match protocol {
            Protocol::Anthropic => Some(OUTPUT_TOKENS),
            Protocol::OpenaiChat | Protocol::OpenaiResponses => None,
        };
        let parts =
            RequestParts { system, tools, model: model.as_deref(), max_tokens: max_tokens.or(required) };
        Ok(encode::body_with_rest(protocol, &parts, rest, &self.shown()?)?)
    }

    /// What the model is to see of the history, for whoever writes requests by themselves.
    pub fn shown(&self) -> Result<Vec<MessageView>, SessionError> {
        Ok(self.session.shown()?)
    }

    /// Takes up a reply, and what the provider says it took: from then on the trigger goes by the provider's count. One that
    /// ended because the window was full is not taken up: the window is learned, and the next [`LiveSession::prepare`] makes
    /// room for a whole one.
    ///
    /// # Errors
    /// Where it broke off, or an error came in its midst: [`LiveSession::recover`] says whether sending again may help.
    pub fn take_reply(&mut self, reply: &ModelReply) -> Result<Step, SessionError> {
        // Models do end a turn without a word; a reply that says neither a word nor why it stopped is none.
        if reply.error.is_some() || (reply.stop.is_none() && reply.message.blocks.is_empty()) {
            return Err(SessionError::BrokenReply { said: reply.error.clone().unwrap_or_default() });
        }
        if !self.learns_from(reply) {
            self.append(reply.message.clone())?;
            reply.usage.map_or(Ok(()), |taken| self.session.record_usage(usage_of(&taken)))?;
        }
        Ok(self.session.step(None))
    }

    /// Whether a reply ended because the window was full, and room will be made for another: each time the window gets
    /// smaller, so that this ends.
    fn learns_from(&mut self, reply: &ModelReply) -> bool {
        let known = self.request_facts();
        let is_full = notice(reply, &known).is_some_and(|verdict| verdict.class == OverflowClass::SoftStop);
        let window = self.session.budget().window;
        if is_full && let Some(full_at) = known.estimate {
            self.session.learn_window(full_at);
        }
        self.session.budget().window < window && self.session.check().is_due()
    }

    /// Whether the newest thing said ended a turn: a reply that calls nothing.
    pub fn has_turn_ended(&self) -> bool {
        self.session.has_turn_ended()
    }

    /// What was said last.
    pub fn newest(&self) -> Result<Option<Arc<Message>>, SessionError> {
        self.session.history().last().map(|&id| self.recall(id)).transpose()
    }

    /// Makes room after the provider refused a request, so that it can be sent once more. What the refusal says of the
    /// window is learned.
    ///
    /// # Errors
    /// Where the refusal is not about the request's size, or room was made for this call already: the provider's words
    /// are in the error.
    pub async fn recover(&mut self, place: ErrorPlace, said: &[u8]) -> Result<Step, SessionError> {
        let known = self.request_facts();
        let verdict = classify(place, said, &known);
        let OverflowVerdict { class, numbers, .. } = verdict;
        let refused = |why: String| SessionError::Refused {
            class,
            why,
            said: String::from_utf8_lossy(said).as_ref().into(),
        };
        // Too long an answer was asked for: a shorter prompt makes room for it.
        if class != OverflowClass::OutputReserve && !verdict.needs_compaction(&known) {
            return Err(refused(NOT_ITS_SIZE.into()));
        }
        self.session.learn(RefusalFigures { limit: numbers.limit(), requested: numbers.requested });
        let done = self.act(Act::Recover(numbers.gap())).await?;
        done.hindrance.map_or(Ok(done.step), |why| Err(refused(why)))
    }

    /// A turn has ended: what the policy wants done then is done, before anybody waits for the next reply.
    pub async fn end_turn(&mut self, end: TurnEnd) -> Result<Step, SessionError> {
        Ok(self.act(Act::EndTurn(end)).await?.step)
    }

    /// Compacts now, being asked to. The record in the step says what came of it.
    pub async fn compact(&mut self) -> Result<Step, SessionError> {
        Ok(self.act(Act::Compact(Trigger::Manual, CompactOptions::default())).await?.step)
    }

    /// What was said in a message, in view or not: what a pointer such as `m0123` leads to.
    pub fn recall(&self, id: EntryId) -> Result<Arc<Message>, SessionError> {
        let found = epitome_core::Archive::message(&**self.session.archive(), id);
        Ok(found.map_err(EngineError::from)?)
    }

    /// Writes what was appended since the last save, to be put behind what was saved then. Lines are only ever added,
    /// so a file opened for appending is all that is needed; [`SessionBuilder::load`] reads it.
    ///
    /// # Errors
    /// Where it cannot be written. It counts as not saved then, and the file may end in a part of it.
    pub fn save_to(&mut self, file: &mut dyn io::Write) -> Result<(), SessionError> {
        let (bytes, saved) = self.saved.unsaved(&self.session, &self.fixed)?;
        file.write_all(&bytes).and_then(|()| file.flush()).map_err(SessionError::Save)?;
        self.saved = saved;
        Ok(())
    }

    /// What was left out of a file that was not whole; see [`SessionBuilder::salvage`].
    pub fn problems(&self) -> &[Problem] {
        &self.saved.problems
    }

    /// The session itself: its context, compactions, budget, the check.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The same, open to change: pins, undo, another policy or model.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// What is sent before the history.
    pub fn fixed(&self) -> &FixedParts {
        &self.fixed
    }

    /// What we know of the request that [`LiveSession::body`] writes now.
    fn request_facts(&self) -> RequestFacts {
        let check = self.session.check();
        RequestFacts { estimate: Some(check.tokens), window: Some(check.window), largest: None }
    }

    /// Has an act done on a copy, which takes this session's place when it is done: whoever stops waiting has changed
    /// nothing.
    async fn act(&mut self, act: Act) -> Result<ActResult, SessionError> {
        let work = SessionWork {
            session: self.session.clone(),
            driver: self.driver.clone(),
            background: self.background.clone(),
        };
        let (session, done) = work.run(act).await?;
        self.session = session;
        Ok(done?)
    }
}

fn usage_of(taken: &ReplyUsage) -> Usage {
    let ReportedUsage { prompt, output, cache_read, cache_write } = taken.usage;
    Usage { prompt, output, cache_read, cache_write, reasoning: taken.reasoning }
}
