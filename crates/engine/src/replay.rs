//! A transcript fed through a session call by call, with the replies it records.

use crate::compacting::now;
use crate::report::{Happened, Report};
use crate::session::{EngineError, Session};
use epitome_core::{Author, Entry, EntryId, Role, Slot, Tokens, Trigger};

/// One model call of a replay, as it stands before the recorded reply is taken up.
pub struct Call<'s> {
    /// Its number, from 0.
    pub call: usize,
    /// The reply's number among the transcript's messages, from 0.
    pub message: usize,
    /// The whole request, without the answer's reserve.
    pub tokens: Tokens,
    /// The part of it before the history.
    pub fixed: Tokens,
    /// The part of it, from its start, that the call before sent as well.
    pub cached: Tokens,
    /// What rebuilt the context since the call before, if anything did.
    pub compaction: Option<Report>,
    /// The session at this moment.
    pub session: &'s Session,
}

/// How far a request agrees with the one before it.
#[derive(Default)]
struct Sent {
    /// Slots of the newest request, from the first, that are still what they were.
    same: usize,
    /// Whether there was one.
    any: bool,
}

/// Feeds `branch` through `session`, handing each model call to `each`. Compactions that the
/// transcript records are taken up where they stand. For sessions that ask nobody.
pub fn replay<E: From<EngineError>>(
    session: &mut Session,
    branch: &[EntryId],
    each: impl FnMut(Call<'_>) -> Result<(), E>,
) -> Result<(), E> {
    now(replay_asking(session, branch, each))
}

/// The same for sessions that ask a model or hooks.
pub async fn replay_asking<E: From<EngineError>>(
    session: &mut Session,
    branch: &[EntryId],
    mut each: impl FnMut(Call<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut calls, mut messages) = (0, 0);
    let mut sent = Sent::default();
    let mut rebuilt: Option<Report> = None;
    for &id in branch {
        let is_message = session.log().item(id).is_some();
        if is_reply(session, id) {
            if session.check().is_due {
                rebuilt = compact(session, &mut sent).await?.or(rebuilt);
            }
            each(call(session, calls, messages, &sent, rebuilt.take()))?;
            sent = Sent { same: session.context().slots().len(), any: true };
            calls += 1;
        }
        rebuilt = absorb(session, id, &mut sent)?.or(rebuilt);
        messages += usize::from(is_message);
    }
    Ok(())
}

fn is_reply(session: &Session, id: EntryId) -> bool {
    session.log().item(id).is_some_and(|item| item.role == Role::Assistant && item.author == Author::Model)
}

fn call<'s>(
    session: &'s Session,
    call: usize,
    message: usize,
    sent: &Sent,
    compaction: Option<Report>,
) -> Call<'s> {
    let fixed = session.budget().fixed;
    let same = session.context().tokens_between(0, sent.same);
    let cached = if sent.any { fixed + same } else { Tokens::ZERO };
    Call { call, message, tokens: fixed + session.context().tokens(), fixed, cached, compaction, session }
}

async fn compact(session: &mut Session, sent: &mut Sent) -> Result<Option<Report>, EngineError> {
    let before = session.context().slots().to_vec();
    let report = session.compact(Trigger::Threshold).await?;
    sent.keep_common(&before, session);
    Ok((report.outcome != Happened::Noop).then_some(report))
}

/// Takes up an entry; a report where it is a compaction of the transcript's own tool.
fn absorb(session: &mut Session, id: EntryId, sent: &mut Sent) -> Result<Option<Report>, EngineError> {
    if session.log().item(id).is_some() || matches!(session.log().get(id), Some(Entry::Note { .. }) | None) {
        session.absorb(id)?;
        return Ok(None);
    }
    let before = session.context().slots().to_vec();
    let tokens_before = session.context().tokens();
    session.absorb(id)?;
    sent.keep_common(&before, session);
    Ok(Some(session.report(Happened::Recorded, None, tokens_before, Trigger::Threshold)))
}

impl Sent {
    fn keep_common(&mut self, before: &[Slot], session: &Session) {
        let after = session.context().slots();
        let common = before.iter().zip(after).take_while(|(old, new)| old == new).count();
        self.same = self.same.min(common);
    }
}
