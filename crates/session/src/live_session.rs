//! A session with whoever it can ask: what an agent's loop calls, in the order it calls it. Deciding and compacting is the
//! engine's; here requests are written, replies and refusals read, and the log is saved.

use crate::act::{Act, ActResult, SessionWork};
use crate::answers;
use crate::builder::SessionBuilder;
use crate::error::SessionError;
use crate::saved::SavedLog;
use crate::turn_stop::{TurnStop, is_paused};
use epitome_core::{
    Author, Block, Call, CallId, EntryId, Floor, Message, MessageView, Outcome, Role, Tokens, ToolResult,
    Trigger,
};
use epitome_engine::{
    Background, CompactOptions, Driver, EngineError, LookPoint, RefusalFigures, Session, Step, TurnEnd,
    WindowChoice,
};
use epitome_tokens::Usage;
use epitome_wire::encode::RequestParts;
use epitome_wire::overflow::{
    ErrorPlace, OverflowClass, OverflowFigures, OverflowVerdict, RequestFacts, classify, notice,
};
use epitome_wire::protocol::{ModelReply, ReplyUsage, StopReason};
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
    /// What the provider said of the end of the newest reply.
    stop: Option<StopReason>,
    /// The longest answer this call asks for, where the provider had no room for the one that was asked for.
    output_cap: Option<u64>,
    /// Whether open calls are given up: their turn broke, or they were read from a file. Requests then say that no result
    /// was recorded.
    gave_up_calls: bool,
}

/// Asks for a stream, in every protocol.
const STREAM: (&str, &str) = ("stream", "true");
/// An answer with less room than this breaks off more often than not: then the prompt is to give way.
const OUTPUT_TOKENS_MIN: u64 = 1_024;
/// What providers mean by MB.
const MEGABYTE: u64 = 1_000_000;
/// Why no room is made for a request that was refused for something else.
const NOT_ITS_SIZE: &str = "a smaller request would not help";
/// The same where it may be answered later.
const PASSING: &str = "a smaller request would not help; wait, and send the same one again";

impl LiveSession {
    /// Begins to build a session with the model of this name, in any of its usual spellings.
    pub fn for_model(name: &str) -> SessionBuilder {
        SessionBuilder::new(name)
    }

    pub(crate) fn new(session: Session, driver: Driver, fixed: FixedParts, saved: SavedLog) -> Self {
        let background = Arc::default();
        // What a file ends in is all that will ever come of it.
        Self { session, driver, fixed, saved, background, stop: None, output_cap: None, gave_up_calls: true }
    }

    /// The window that the session goes by, and who says so: `WindowSource::Guess` where the catalog has no such model and
    /// [`SessionBuilder::window`] was not called.
    pub fn window(&self) -> WindowChoice {
        self.session.assembly().window()
    }

    /// Takes up what a person says, after what the policy wants done before input.
    ///
    /// # Errors
    /// Where calls of the newest reply wait for their results, beside what the engine fails at.
    pub async fn say(&mut self, text: impl Into<Arc<str>>) -> Result<Step, SessionError> {
        self.check_answered()?;
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

    /// Refuses to go on over calls that wait for their results: a loop that forgets them would pay for replies to nothing.
    fn check_answered(&self) -> Result<(), SessionError> {
        if self.gave_up_calls {
            return Ok(());
        }
        let open: Vec<CallId> = self.open_calls()?.into_iter().map(|call| call.id).collect();
        if open.is_empty() { Ok(()) } else { Err(SessionError::Unanswered { open }) }
    }

    /// Takes up the results of [`LiveSession::open_calls`], all at once and in any order; nothing where there are none.
    ///
    /// # Errors
    /// Where a result is of no open call or comes twice, or a call has none. Nothing is taken up then, and the calls
    /// stay open.
    pub fn answer(
        &mut self,
        results: impl IntoIterator<Item = ToolResult>,
    ) -> Result<Option<EntryId>, SessionError> {
        let results: Vec<ToolResult> = results.into_iter().collect();
        answers::check(&self.open_calls()?, &results)?;
        let blocks = results.into_iter().map(Block::Result).collect();
        let message = Message { role: Role::Tool, author: Author::Tool, blocks };
        (!message.blocks.is_empty()).then(|| self.append(message)).transpose()
    }

    /// Takes up any message: one with pictures, a harness's reminder, a reply from elsewhere.
    pub fn append(&mut self, message: Message) -> Result<EntryId, SessionError> {
        (self.stop, self.output_cap, self.gave_up_calls) = (None, None, false);
        Ok(self.session.append(message)?)
    }

    /// Everything that is to be done before a call: a compaction where one is due. Its record, if there was one, is in
    /// the step. Where nothing is due this costs the same however long the session is.
    ///
    /// # Errors
    /// Where calls of the newest reply wait for their results. And where what is always sent is larger than the window,
    /// beside what the engine fails at: nothing is compacted then, and [`LiveSession::body`] still writes the request for
    /// whoever knows better.
    pub async fn prepare(&mut self) -> Result<Step, SessionError> {
        self.check_answered()?;
        let step = self.prepare_at(LookPoint::Call).await?;
        match floor_of(&step) {
            // One that only leaves too little for the answer may yet be answered.
            Some(floor) if self.is_over_window() => Err(SessionError::NoRoom { floor, step: Box::new(step) }),
            Some(_) | None => Ok(step),
        }
    }

    /// Whether the next request is larger than the window, with no room for an answer at all.
    fn is_over_window(&self) -> bool {
        let check = self.session.check();
        check.tokens > check.window
    }

    async fn prepare_at(&mut self, point: LookPoint) -> Result<Step, SessionError> {
        if self.session.is_settled_at(point) {
            return Ok(self.session.step(None));
        }
        Ok(self.act(Act::Prepare(point)).await?.step)
    }

    /// The body of the next request. Between compactions each body extends the one before, so that the provider's cache
    /// holds.
    ///
    /// # Errors
    /// Where there is nothing to answer: nothing was said yet, the turn is over, or calls of the newest reply wait for their
    /// results.
    pub fn body(&self, protocol: Protocol) -> Result<Vec<u8>, SessionError> {
        self.body_with(protocol, &[])
    }

    /// The same, asking for a stream with the usage at its end.
    ///
    /// # Errors
    /// As [`LiveSession::body`].
    pub fn stream_body(&self, protocol: Protocol) -> Result<Vec<u8>, SessionError> {
        self.body_with(
            protocol,
            match protocol {
                Protocol::Anthropic | Protocol::OpenaiResponses => &[STREAM],
                Protocol::OpenaiChat => &[STREAM, ("stream_options", r#"{"include_usage":true}"#)],
            },
        )
    }

    /// A body with these fields beside the builder's, or in place of those of the same name.
    fn body_with(&self, protocol: Protocol, fields: &[(&str, &str)]) -> Result<Vec<u8>, SessionError> {
        if self.session.history().is_empty() {
            return Err(SessionError::NothingToSend { why: "nothing was said yet" });
        }
        if self.has_turn_ended() {
            return Err(SessionError::NothingToSend {
                why: "the newest thing said is the model's last word",
            });
        }
        self.check_answered()?;
        let FixedParts { system, tools, model, max_tokens, rest, .. } = &self.fixed;
        let required = match protocol {
            // It wants a limit on the answer, be it that nobody has said one.
            Protocol::Anthropic => Some(self.session.assembly().answer_max().0),
            Protocol::OpenaiChat | Protocol::OpenaiResponses => None,
        };
        let max_tokens = self.output_cap.or(*max_tokens).or(required);
        let parts = RequestParts { system, tools, model: model.as_deref(), max_tokens };
        let is_replaced = |name: &str| fields.iter().any(|(field, _)| *field == name);
        let own = rest.iter().filter(|(name, _)| !is_replaced(name)).cloned();
        let added = fields.iter().map(|&(name, json)| (name.into(), json.into()));
        let (rest, shown) = (own.chain(added).collect::<Vec<_>>(), self.shown()?);
        Ok(match is_paused(self.stop.as_ref()) {
            true => encode::paused_body_with_rest(protocol, &parts, &rest, &shown)?,
            false => encode::body_with_rest(protocol, &parts, &rest, &shown)?,
        })
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
    /// Where it broke off, or an error came in its midst: nothing of it is taken up, and the request can be sent again. Of
    /// an error, [`LiveSession::recover`] says whether that may help. Where it is no reply of the protocol it was read in,
    /// or calls of the one before still wait for their results, sending it again would not.
    pub fn take_reply(&mut self, reply: &ModelReply) -> Result<Step, SessionError> {
        self.check_answered()?;
        if let Some(stranger) = reply.stranger {
            return Err(SessionError::Stranger(stranger));
        }
        if let Some(said) = &reply.error {
            return Err(SessionError::BrokenReply { said: said.clone() });
        }
        if !reply.is_whole {
            return Err(SessionError::CutOff { said: reply.message.said() });
        }
        if !self.learns_from(reply) {
            self.append(reply.message.clone())?;
            self.stop.clone_from(&reply.stop);
            reply.usage.map_or(Ok(()), |taken| self.session.record_usage(usage_of(&taken)))?;
        }
        Ok(self.session.step(None))
    }

    /// Whether a reply ended because the window was full, and room will be made for another. What is learned each time is
    /// a smaller window or a larger count; a reply that teaches nothing new is taken up, so that this ends.
    fn learns_from(&mut self, reply: &ModelReply) -> bool {
        let known = self.request_facts();
        let verdict = notice(reply, &known).filter(|verdict| verdict.class == OverflowClass::SoftStop);
        let Some(OverflowVerdict { numbers, .. }) = verdict else { return false };
        let before = self.session.budget();
        match (numbers.window, reply.usage) {
            // The provider's own count of what filled it, and of the prompt that we counted as well.
            (Some(full_at), Some(taken)) => {
                let requested = Some(Tokens(taken.usage.prompt));
                self.session.learn(RefusalFigures { limit: Some(full_at), requested });
            }
            (Some(_) | None, _) => {
                known.estimate.into_iter().for_each(|full_at| self.session.learn_window(full_at));
            }
        }
        self.session.budget() != before && self.session.check().is_due()
    }

    /// Whether the turn is over: the newest thing said is a reply that calls nothing, and that the provider has not
    /// paused.
    pub fn has_turn_ended(&self) -> bool {
        self.session.has_turn_ended() && !is_paused(self.stop.as_ref())
    }

    /// Why the turn is over; none while it goes on. After loading, what the provider said of the reply's end is not known,
    /// and a reply with words counts as the last one.
    pub fn turn_stop(&self) -> Result<Option<TurnStop>, SessionError> {
        let newest = self.newest()?.filter(|_| self.has_turn_ended());
        Ok(newest.map(|message| TurnStop::of(&message, self.stop.as_ref())))
    }

    /// What was said last.
    pub fn newest(&self) -> Result<Option<Arc<Message>>, SessionError> {
        self.session.history().last().map(|&id| self.recall(id)).transpose()
    }

    /// Makes room after the provider refused a request, so that it can be sent once more. What the refusal says of the
    /// window is learned. Where only the answer that was asked for is too long, this one call asks for a shorter one;
    /// where that would be no answer, and where the prompt is too long, the context is compacted. Where the body has too
    /// many bytes, or pictures that are not taken, labels stand for the pictures.
    ///
    /// # Errors
    /// Where the refusal is not about the request's size, or room was made for this call already: the provider's words
    /// are in the error.
    pub async fn recover(&mut self, place: ErrorPlace, said: &[u8]) -> Result<Step, SessionError> {
        let known = self.request_facts();
        let verdict = classify(place, said, &known);
        let OverflowVerdict { class, numbers, .. } = verdict;
        let refused = |why: String| SessionError::Refused {
            place,
            class,
            why,
            said: String::from_utf8_lossy(said).as_ref().into(),
        };
        if matches!(class, OverflowClass::PayloadBytes | OverflowClass::Media) {
            let bytes_max = numbers.megabytes_max.map(|most| most * MEGABYTE);
            let done = self.act(Act::ShedPictures { bytes_max }).await?;
            return done.hindrance.map_or(Ok(done.step), |why| Err(refused(why)));
        }
        if class != OverflowClass::OutputReserve && !verdict.needs_compaction(&known) {
            return Err(refused(if class.is_passing(place) { PASSING } else { NOT_ITS_SIZE }.into()));
        }
        if class == OverflowClass::OutputReserve && self.asks_for_less(&numbers) {
            return Ok(self.session.step(None));
        }
        self.session.learn(RefusalFigures { limit: numbers.limit(), requested: numbers.requested });
        let done = self.act(Act::Recover(numbers.gap())).await?;
        done.hindrance.map_or(Ok(done.step), |why| Err(refused(why)))
    }

    /// Whether this call can ask for a shorter answer; from here on it does. Done once for each call.
    fn asks_for_less(&mut self, numbers: &OverflowFigures) -> bool {
        let told = numbers.limit().zip(numbers.answer_room()).zip(numbers.output);
        let Some(((limit, room), asked)) = told.filter(|_| self.output_cap.is_none()) else { return false };
        if !(OUTPUT_TOKENS_MIN..asked.0).contains(&room.0) {
            return false;
        }
        self.output_cap = Some(room.0);
        // How the provider counts is learned from the reply's usage. Were it learned here, the next check would compact
        // a request that fits as it is.
        self.session.learn_window(limit);
        true
    }

    /// A turn has ended: what the policy wants done then is done, before anybody waits for the next reply.
    ///
    /// # Errors
    /// Where calls of the newest reply wait for their results and the turn did not break, beside what the engine fails at.
    pub async fn end_turn(&mut self, end: TurnEnd) -> Result<Step, SessionError> {
        match end {
            TurnEnd::Good => self.check_answered()?,
            TurnEnd::Broken => self.gave_up_calls = true,
        }
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

/// What does not fit, where a step found that nothing makes it fit.
fn floor_of(step: &Step) -> Option<Floor> {
    match &step.record.as_deref()?.outcome {
        Outcome::Impossible(floor) => Some(floor.clone()),
        Outcome::Compacted(_)
        | Outcome::Pruned(_)
        | Outcome::Applied { .. }
        | Outcome::Noop { .. }
        | Outcome::Recorded
        | Outcome::Vetoed { .. }
        | Outcome::Abandoned { .. } => None,
    }
}

fn usage_of(taken: &ReplyUsage) -> Usage {
    let ReportedUsage { prompt, output, cache_read, cache_write } = taken.usage;
    Usage { prompt, output, cache_read, cache_write, reasoning: taken.reasoning }
}
