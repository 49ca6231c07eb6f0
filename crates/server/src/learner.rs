//! Learning from replies: what the provider said of a call goes to its session, to the totals, and to what is known of
//! the model's window.

use crate::ended_call::{CallKey, EndedCall, UnstoredReply, UsageSource};
use crate::notice::NoticeKind;
use crate::remarks;
use crate::reply::ReplyListener;
use crate::reply_store;
use crate::responses::{self, AskedResponse};
use crate::server_state::ServerState;
use crate::tally::{Lesson, call_usage};
use crate::totals::{RequestSize, TakenRequest};
use epitome_core::{EntryId, KeptBodies, Measure, Scale, Tokens};
use epitome_engine::Checkout;
use epitome_engine::store::ChainHash;
use epitome_tokens::{CacheUse, Usage};
use epitome_wire::overflow::{Endpoint, RequestFacts};
use epitome_wire::protocol::ModelReply;
use futures_util::future::{BoxFuture, FutureExt};
use std::sync::Arc;

/// Learns from the reply to a request.
pub(crate) struct Learner {
    pub(crate) state: Arc<ServerState>,
    /// How the path of the request is worked on.
    pub(crate) checkout: Checkout,
    /// Where that ends, and what it was sent with.
    pub(crate) sent_with: Option<CallKey>,
    /// The hash of all that was said up to there.
    pub(crate) chain: Option<ChainHash>,
    /// The model asked for.
    pub(crate) model: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) size: RequestSize,
    /// What is to be remembered of it, where a client may go on from its response by name.
    pub(crate) asked: Option<AskedResponse>,
    /// By which a reply is counted whose provider does not say what it took.
    pub(crate) counter: ReplyCounter,
}

/// Our own count of replies, in the provider's tokens as far as is known how these compare.
pub(crate) struct ReplyCounter {
    pub(crate) measure: Arc<dyn Measure>,
    pub(crate) scale: Scale,
}

impl ReplyCounter {
    fn count(&self, reply: &ModelReply) -> Tokens {
        self.scale.theirs(self.measure.sizes(&reply.message).total())
    }
}

impl Learner {
    /// Counts a request that was taken; `rebuilt` is the context that was rebuilt for it.
    fn count(&self, rebuilt: Tokens, usage: Option<&Usage>) {
        let cache = usage.map(CacheUse::of).unwrap_or_default();
        let request = TakenRequest { size: self.size, rebuilt, cache, is_reported: usage.is_some() };
        self.state.counter.taken(&self.state.settings.catalog, &self.model, request);
    }
}

/// Whether somebody is to store a reply later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoringPlan {
    Begin,
    /// Whoever is to store an earlier reply to the same request finds this one.
    Waits,
}

impl ReplyListener for Learner {
    fn failed(&self) {
        self.state.counter.failed(&self.model);
    }

    fn ended(&self, reply: &ModelReply, known: &RequestFacts) -> Option<BoxFuture<'static, ()>> {
        if let (Some(sent_with), StoringPlan::Begin) = (&self.sent_with, self.learn(reply, known)) {
            reply_store::store_soon(&self.state, self.checkout.session, sent_with.clone());
        }
        let kept = responses::remember(&self.state, self.asked.as_ref()?, reply)?;
        Some(kept.boxed())
    }
}

impl Learner {
    fn leaf(&self) -> Option<EntryId> {
        self.sent_with.as_ref().map(|sent_with| sent_with.leaf)
    }

    /// A reply that is to be stored: all of it came, and there is a place for it.
    fn unstored(&self, reply: &ModelReply) -> Option<UnstoredReply> {
        let store = self.state.settings.store.as_ref().filter(|_| reply.is_whole)?;
        let chain = self.chain.filter(|_| store.keep != KeptBodies::All);
        (!reply.message.blocks.is_empty()).then(|| UnstoredReply {
            message: reply.message.clone(),
            said: chain.map(|chain| self.state.key.said(chain, &reply.message)),
            checkout: Checkout { leaf: self.leaf(), ..self.checkout.clone() },
        })
    }

    /// Takes up what a reply says of its call.
    fn learn(&self, reply: &ModelReply, known: &RequestFacts) -> StoringPlan {
        let session = self.checkout.session;
        let estimate = reply.usage.is_none().then(|| Usage {
            prompt: self.size.sent.0,
            output: self.counter.count(reply).0,
            ..Usage::default()
        });
        let lesson = self.state.books.with(session, |book| {
            let lesson = book.tally.add(reply, known, estimate);
            let reply = self.unstored(reply);
            let called = self.sent_with.clone().filter(|_| reply.is_some() || lesson.usage.is_some());
            let waits = called.is_some_and(|sent_with| {
                book.ended_calls.keep(sent_with, EndedCall { usage: lesson.usage, reply, stored_as: None })
            });
            let told = lesson.verdict.and_then(|verdict| remarks::of_verdict(&verdict, known));
            let told = book.reply_remarks.new_ones(told.into_iter().collect());
            let plan = if waits { StoringPlan::Waits } else { StoringPlan::Begin };
            (lesson, told, std::mem::take(&mut book.rebuilt), plan)
        });
        let Some((Lesson { verdict, usage }, told, rebuilt, plan)) = lesson else {
            self.count(Tokens::ZERO, reply.usage.map(|taken| call_usage(&taken)).as_ref());
            return StoringPlan::Waits;
        };
        let told_usage = |(usage, source)| match source {
            UsageSource::Provider => Some(usage),
            UsageSource::Estimate => None,
        };
        let usage = usage.and_then(told_usage);
        self.count(rebuilt, usage.as_ref());
        told.into_iter().for_each(|what| self.state.tell(NoticeKind::Remark { session, what }));
        let now = self.state.calendar();
        self.state.books.windows(|windows| match verdict {
            Some(verdict) if windows.learn(&self.endpoint, &verdict, now) => {}
            // What was taken whole shows limits below it to be wrong.
            Some(_) | None => {
                usage.iter().for_each(|usage| windows.succeeded(&self.endpoint, Tokens(usage.prompt)))
            }
        });
        plan
    }
}
