//! What an attempt means: an answer, a reason to try again, or to ask differently, or to give up.

use crate::Credential;
use crate::attempt::{FailureCause, ProviderAnswer};
use crate::explain::explain;
use crate::options::Options;
use epitome_core::{Block, Failure, Opaque, SummaryReply, Tokens};
use epitome_wire::overflow::{
    ErrorPlace, OverflowClass, OverflowRule, OverflowVerdict, RequestFacts, classify, notice,
};
use epitome_wire::protocol::ModelReply;
use std::time::Duration;

/// What to do about what came back.
#[derive(Debug, PartialEq)]
pub(crate) enum Ruling {
    /// It is settled.
    Done(Result<SummaryReply, Failure>),
    /// The same once more, after a wait; the failure stands if there are no tries left.
    Again {
        /// The wait the provider asks for.
        asked: Option<Duration>,
        /// What it was.
        failure: Failure,
    },
    /// Once more, otherwise; the failure stands if enough was changed already.
    Differently {
        /// How.
        change: RequestChange,
        /// What it was.
        failure: Failure,
    },
}

/// What is changed about a request that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestChange {
    /// Its options.
    Options(Options),
    /// Its output limit.
    Cap(u64),
}

/// What the request was, as far as judging needs it.
#[derive(Clone, Copy)]
pub(crate) struct SentRequest<'a> {
    pub(crate) known: RequestFacts,
    pub(crate) options: Options,
    pub(crate) cap_tokens: u64,
    pub(crate) is_native: bool,
    pub(crate) credential: &'a Credential,
    /// Where it was sent: scheme, host and port. A path may hold a secret.
    pub(crate) origin: &'a str,
}

/// Less room than this for an answer is none: a summary's headings alone take more.
pub(crate) const OUTPUT_MIN: u64 = 256;

/// What decides that an error is about the output limit asked for.
const ABOUT_OUTPUT_LIMIT: OverflowRule = OverflowRule::Exclusion(7);
/// What decides that a prompt was beyond the window we believed in and yet taken whole.
const WINDOW_WAS_WRONG: OverflowRule = OverflowRule::Detector(1);

/// What came back, judged; with the verdict there is to learn from.
pub(crate) fn judge(came: ProviderAnswer, sent: &SentRequest<'_>) -> (Ruling, Option<OverflowVerdict>) {
    match came {
        ProviderAnswer::Refusal { status, body, retry_after } => {
            let verdict = classify(ErrorPlace::Status(status), body.as_bytes(), &sent.known);
            (sent.refused(Some(status), &body, retry_after, &verdict), Some(verdict))
        }
        ProviderAnswer::Reply(answer) => match &answer.error {
            Some(error) => {
                let verdict = classify(ErrorPlace::InStream, error.as_bytes(), &sent.known);
                (sent.refused(None, error, None, &verdict), Some(verdict))
            }
            None => sent.replied(answer),
        },
    }
}

/// A request on which nothing came back, or not all.
pub(crate) fn judge_lost(why: FailureCause, sent: &SentRequest<'_>) -> Ruling {
    let failure = match why {
        FailureCause::Broken(text) => Failure::Broken(explain(None, &text, sent.credential)),
        FailureCause::NoConnection(text) => {
            let why = explain(None, &text, sent.credential);
            Failure::Unreachable(format!("nothing answers at {}: {why}", sent.origin))
        }
        FailureCause::Silence => Failure::TimedOut,
    };
    Ruling::Again { asked: None, failure }
}

impl SentRequest<'_> {
    fn refused(
        &self,
        status: Option<u16>,
        body: &str,
        retry_after: Option<Duration>,
        verdict: &OverflowVerdict,
    ) -> Ruling {
        let told = || explain(status, body, self.credential);
        let too_long = || Ruling::Done(Err(Failure::TooLong { over: verdict.numbers.gap() }));
        match verdict.class {
            OverflowClass::TokenOverflow
            | OverflowClass::SizeRate
            | OverflowClass::SoftStop
            | OverflowClass::SilentTruncation => too_long(),
            OverflowClass::PayloadBytes => Ruling::Done(Err(Failure::TooLong { over: None })),
            OverflowClass::Suspect if verdict.needs_compaction(&self.known) => too_long(),
            OverflowClass::OutputReserve => self.with_less_output(verdict),
            OverflowClass::Throttle => {
                Ruling::Again { asked: retry_after, failure: Failure::Throttled(told()) }
            }
            OverflowClass::Media
            | OverflowClass::Pairing
            | OverflowClass::ThinkingBinding
            | OverflowClass::Undecryptable => Ruling::Done(Err(Failure::Refused(told()))),
            OverflowClass::Other | OverflowClass::Suspect => {
                self.refused_otherwise(status, body, retry_after, verdict)
            }
        }
    }

    fn with_less_output(&self, verdict: &OverflowVerdict) -> Ruling {
        let failure = Failure::TooLong { over: verdict.numbers.gap() };
        let cap = verdict.numbers.answer_room().map_or(self.cap_tokens / 2, |room| room.0);
        if (OUTPUT_MIN..self.cap_tokens).contains(&cap) {
            Ruling::Differently { change: RequestChange::Cap(cap), failure }
        } else {
            Ruling::Done(Err(failure))
        }
    }

    /// Nothing about size: a server's hiccup, a setting it does not take, or a plain no.
    fn refused_otherwise(
        &self,
        status: Option<u16>,
        body: &str,
        retry_after: Option<Duration>,
        verdict: &OverflowVerdict,
    ) -> Ruling {
        let told = explain(status, body, self.credential);
        if status.map_or(ErrorPlace::InStream, ErrorPlace::Status).is_passing() {
            return Ruling::Again { asked: retry_after, failure: Failure::Broken(told) };
        }
        let change = if verdict.rule == ABOUT_OUTPUT_LIMIT {
            lower_cap(&explain(None, body, self.credential), self.cap_tokens).map(RequestChange::Cap)
        } else if matches!(status, Some(400 | 422)) {
            self.options.without(&told).map(RequestChange::Options)
        } else {
            None
        };
        let failure = if matches!(status, Some(401..=404)) {
            Failure::Denied(format!("{told} (at {})", self.origin))
        } else {
            Failure::Refused(told)
        };
        match change {
            Some(change) => Ruling::Differently { change, failure },
            None => Ruling::Done(Err(failure)),
        }
    }

    fn replied(&self, answer: ModelReply) -> (Ruling, Option<OverflowVerdict>) {
        let verdict = notice(&answer, &self.known);
        let ruling = match verdict.and_then(|verdict| self.noticed(&verdict)) {
            Some(ruling) => ruling,
            None if answer.is_whole => self.answered(answer),
            None => again("the stream broke off"),
        };
        (ruling, verdict)
    }

    /// What a detector makes of a reply; none where the reply stands all the same.
    fn noticed(&self, verdict: &OverflowVerdict) -> Option<Ruling> {
        match verdict.class {
            OverflowClass::SilentTruncation if verdict.rule != WINDOW_WAS_WRONG => {
                let sizes = self.known.estimate.zip(verdict.numbers.window);
                let over = sizes.map(|(estimate, window)| estimate.less(window));
                let over = over.filter(|&over| over > Tokens::ZERO);
                Some(Ruling::Done(Err(Failure::TooLong { over })))
            }
            OverflowClass::Suspect if verdict.needs_compaction(&self.known) => {
                Some(Ruling::Done(Err(Failure::TooLong { over: None })))
            }
            OverflowClass::Suspect => Some(again("the stream ended without a word")),
            OverflowClass::SilentTruncation
            | OverflowClass::SoftStop
            | OverflowClass::TokenOverflow
            | OverflowClass::OutputReserve
            | OverflowClass::PayloadBytes
            | OverflowClass::Media
            | OverflowClass::SizeRate
            | OverflowClass::Throttle
            | OverflowClass::Pairing
            | OverflowClass::ThinkingBinding
            | OverflowClass::Undecryptable
            | OverflowClass::Other => None,
        }
    }

    fn answered(&self, answer: ModelReply) -> Ruling {
        let native = answer.message.blocks.iter().find_map(compaction).cloned();
        if self.is_native && native.is_none() {
            return Ruling::Done(Err(Failure::Broken(
                "the provider's compaction brought no compaction back".into(),
            )));
        }
        let said = answer.message.said();
        let text = native.as_ref().map_or(said, readable);
        let stop = answer.summary_stop();
        Ruling::Done(Ok(SummaryReply { text, stop, native: native.filter(|_| self.is_native) }))
    }
}

fn again(why: &str) -> Ruling {
    Ruling::Again { asked: None, failure: Failure::Broken(why.to_owned()) }
}

/// The output limit an error names: its smallest number that is a limit at all.
fn lower_cap(body: &str, cap_tokens: u64) -> Option<u64> {
    let numbers = body.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    numbers.filter(|number| (OUTPUT_MIN..cap_tokens).contains(number)).min()
}

fn compaction(block: &Block) -> Option<&Opaque> {
    match block {
        Block::Opaque(opaque) if opaque.kind.starts_with("compaction") => Some(opaque),
        Block::Opaque(_)
        | Block::Text { .. }
        | Block::Thinking { .. }
        | Block::Call(_)
        | Block::Result(_)
        | Block::Image(_) => None,
    }
}

/// What can be read of a provider's compaction; an encrypted one has nothing.
fn readable(native: &Opaque) -> String {
    let json: serde_json::Value = serde_json::from_str(&native.json).unwrap_or_default();
    json.get("content").and_then(|content| content.as_str()).unwrap_or_default().to_owned()
}
