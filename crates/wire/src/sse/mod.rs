//! Streams of events: taking bytes apart into events, and putting replies together from them.
//!
//! A proxy tees the bytes it passes on into an [`Assembler`], in whatever pieces they come, and asks at
//! the end what was said. The assemblers build the very body the provider would have sent without
//! streaming, and leave reading it to [`protocol::reply`](crate::protocol::reply): either way of asking
//! gives the same [`ModelReply`].

mod anthropic;
mod event;
mod fields;
mod openai_chat;
mod openai_responses;

pub use event::{Events, StreamEvent};

use crate::Protocol;
use crate::protocol::{ModelReply, reply};
use std::sync::Arc;

/// More than any model writes in one reply; what comes behind it is passed over, and the answer is not
/// whole.
pub const REPLY_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Puts a reply together from a stream.
///
/// ```
/// use epitome_wire::Protocol;
/// use epitome_wire::sse::Assembler;
///
/// let mut assembler = Assembler::new(Protocol::OpenaiChat);
/// assembler.push(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"he\"}}]}\n\ndata: {\"cho");
/// assembler.push(b"ices\":[{\"index\":0,\"delta\":{\"content\":\"llo\"},\"finish_reason\":\"stop\"}]}\n\n");
/// assembler.push(b"data: [DONE]\n\n");
/// let answer = assembler.finish();
/// assert_eq!((answer.message.said().as_str(), answer.is_whole), ("hello", true));
/// ```
#[derive(Debug)]
pub struct Assembler {
    protocol: Protocol,
    events: Events,
    draft: ReplyDraft,
    bytes: usize,
}

/// What each protocol keeps until the end.
#[derive(Debug)]
enum ReplyDraft {
    Anthropic(anthropic::MessageDraft),
    OpenaiChat(openai_chat::CompletionDraft),
    OpenaiResponses(openai_responses::ResponseDraft),
}

/// What one event was, for those who look while the stream still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventKind {
    /// A part of the reply, or something around it.
    Piece,
    /// The last event: the stream says it is done.
    Last,
    /// Something failed; the error's text is the event's data.
    Error,
}

/// How far a stream has got.
#[derive(Debug, Default)]
struct Progress {
    /// Whether something the model said has come.
    has_output: bool,
    /// Whether the stream said it is done.
    is_done: bool,
    /// The first error in it, as it came.
    error: Option<Arc<str>>,
    /// What the model has said to the user in the bytes pushed last.
    newest_text: String,
}

impl Assembler {
    /// For a stream of this protocol.
    pub fn new(protocol: Protocol) -> Self {
        let draft = match protocol {
            Protocol::Anthropic => ReplyDraft::Anthropic(anthropic::MessageDraft::default()),
            Protocol::OpenaiChat => ReplyDraft::OpenaiChat(openai_chat::CompletionDraft::default()),
            Protocol::OpenaiResponses => {
                ReplyDraft::OpenaiResponses(openai_responses::ResponseDraft::default())
            }
        };
        Self { protocol, events: Events::default(), draft, bytes: 0 }
    }

    /// Takes the next bytes of the stream, split anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.draft.progress_mut().newest_text.clear();
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > REPLY_BYTES_MAX {
            return;
        }
        for event in self.events.push(bytes) {
            self.draft.take(&event);
        }
    }

    /// What the model has said to the user in the bytes pushed last, for a screen: words alone, without its thinking and
    /// its calls.
    pub fn newest_text(&self) -> &str {
        &self.draft.progress().newest_text
    }

    /// Whether the model has begun to say something. Until then a failed call can be made again
    /// without anyone having seen it.
    pub fn has_output(&self) -> bool {
        self.draft.progress().has_output
    }

    /// The error the stream has brought so far, as the provider wrote it.
    pub fn error(&self) -> Option<&str> {
        self.draft.progress().error.as_deref()
    }

    /// Whether the stream has said that it is done. Bytes behind that add nothing.
    pub fn is_done(&self) -> bool {
        self.draft.progress().is_done
    }

    /// The reply, as far as it came.
    pub fn finish(mut self) -> ModelReply {
        let is_cut_short = self.bytes > REPLY_BYTES_MAX || self.events.skipped() > 0;
        if let Some(event) = self.events.finish() {
            self.draft.take(&event);
        }
        let mut answer = reply(self.protocol, self.draft.body().as_bytes());
        let progress = self.draft.progress();
        let is_told = progress.is_done || answer.stop.is_some();
        answer.is_whole = is_told && !is_cut_short && progress.error.is_none();
        answer.error = progress.error.clone();
        // A stream that brought nothing broke off.
        answer.stranger = None;
        answer
    }
}

impl ReplyDraft {
    fn take(&mut self, event: &StreamEvent) {
        let kind = match self {
            Self::Anthropic(draft) => draft.take(event),
            Self::OpenaiChat(draft) => draft.take(event),
            Self::OpenaiResponses(draft) => draft.take(event),
        };
        let progress = self.progress_mut();
        match kind {
            EventKind::Piece => {}
            EventKind::Last => progress.is_done = true,
            EventKind::Error => {
                progress.error.get_or_insert_with(|| event.data.as_str().into());
            }
        }
    }

    fn progress(&self) -> &Progress {
        match self {
            Self::Anthropic(draft) => &draft.progress,
            Self::OpenaiChat(draft) => &draft.progress,
            Self::OpenaiResponses(draft) => &draft.progress,
        }
    }

    fn progress_mut(&mut self) -> &mut Progress {
        match self {
            Self::Anthropic(draft) => &mut draft.progress,
            Self::OpenaiChat(draft) => &mut draft.progress,
            Self::OpenaiResponses(draft) => &mut draft.progress,
        }
    }

    /// The body the provider would have sent in one piece.
    fn body(&self) -> String {
        match self {
            Self::Anthropic(draft) => draft.body(),
            Self::OpenaiChat(draft) => draft.body(),
            Self::OpenaiResponses(draft) => draft.body(),
        }
    }
}
