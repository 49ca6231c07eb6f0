//! Answering a request that passed the door: by its order, by the window, by the script.

use crate::answer::{Answer, Content, Ending};
use crate::complaint::Complaint;
use crate::endpoint::Endpoint;
use crate::order::{Fault, Order};
use crate::overflow::{ErrorRow, Overflow, Refusal, Style};
use crate::parsed_request::{CacheReach, ParsedRequest};
use crate::provider::{CheckedRequest, Provider};
use crate::reply::{Reply, Stop};
use crate::script::Place;
use crate::write::{self, Draft};
use crate::{Kind, agent, mishap, summary};
use epitome_tokens::Usage;
use epitome_wire::Protocol;
use serde_json::json;

impl Provider {
    /// The answer to a request that passed the door.
    pub(crate) fn serve(&self, number: u64, ready: CheckedRequest) -> Answer {
        let CheckedRequest { asked, kind, order } = ready;
        {
            let report = &mut self.state().report;
            report.largest_prompt_tokens = report.largest_prompt_tokens.max(asked.prompt.tokens);
            report.faults += u64::from(order.fault.is_some());
        }
        let answer = match order.fault {
            Some(Fault::Status { code, retry_after }) => {
                let failed = Answer::complaint(&Complaint::of_status(code), asked.protocol(), number);
                Answer { retry_after, ..failed }
            }
            Some(Fault::Error(row)) => self.told_as(row, number, &asked),
            Some(Fault::Timeout) => Answer::never(),
            Some(Fault::StreamError) if !asked.envelope.is_streamed() => {
                Answer::complaint(&overloaded(asked.protocol()), asked.protocol(), number)
            }
            Some(
                Fault::Cut
                | Fault::StreamError
                | Fault::Empty
                | Fault::Truncate
                | Fault::ToolCall
                | Fault::Nonsense
                | Fault::ErrorText
                | Fault::Echo
                | Fault::Loop
                | Fault::Headings
                | Fault::Chatter
                | Fault::Astray
                | Fault::ReasoningOnly
                | Fault::Overflow,
            )
            | None => self.reply(number, &asked, kind, order),
        };
        Answer { pause: order.pause, ..answer }
    }

    fn reply(&self, number: u64, asked: &ParsedRequest, kind: Kind, order: Order) -> Answer {
        let Order { fault, prompt_tokens, .. } = order;
        match kind {
            Kind::Count => return Answer::good(Content::Json(counted(asked))),
            Kind::Chat | Kind::Summary | Kind::Compact | Kind::Models => {}
        }
        let window = self.window(asked);
        let overflow = match fault {
            Some(Fault::Overflow) => self.figures(asked, window.min(asked.prompt.tokens.saturating_sub(1))),
            Some(_) | None => self.figures(asked, window),
        };
        if overflow.is_one(self.script.overflow_style) {
            return self.overflow(number, asked, kind, &overflow);
        }
        let reply = self.compose(asked, kind, fault, window);
        let usage = self.usage(asked, &reply, prompt_tokens);
        self.write(&Draft { asked, number, reply: &reply, usage }, fault)
    }

    /// An error of the table, whatever the prompt.
    fn told_as(&self, row: &'static ErrorRow, number: u64, asked: &ParsedRequest) -> Answer {
        self.state().report.overflows += 1;
        let window = self.window(asked).min(asked.prompt.tokens.saturating_sub(1));
        let overflow = self.figures(asked, window);
        let refusal = row.refusal(&overflow);
        match self.script.overflow_place {
            Place::Stream if asked.envelope.is_streamed() => {
                told_in_stream(number, asked, &overflow, &refusal)
            }
            Place::Stream | Place::Status => Answer::refusal(refusal),
        }
    }

    fn figures<'a>(&self, asked: &'a ParsedRequest, window: u64) -> Overflow<'a> {
        Overflow {
            model: &asked.envelope.model,
            prompt: asked.prompt.tokens,
            window,
            output: asked.output_max().unwrap_or(0),
            is_streamed: asked.envelope.is_streamed(),
        }
    }

    fn window(&self, asked: &ParsedRequest) -> u64 {
        let longest = asked.model.usable_tokens(0);
        self.script.window_tokens.unwrap_or(longest)
    }

    /// What the model says, within its limits.
    fn compose(&self, asked: &ParsedRequest, kind: Kind, fault: Option<Fault>, window: u64) -> Reply {
        let spoiled = fault.and_then(|fault| mishap::reply(fault, asked, &self.script));
        let reply = spoiled.unwrap_or_else(|| match kind {
            Kind::Summary | Kind::Compact => summary::write(asked),
            Kind::Chat | Kind::Count | Kind::Models if asked.wants_compaction() => summary::write(asked),
            Kind::Chat | Kind::Count | Kind::Models => self.step(asked),
        });
        let reply = match asked.output_max() {
            Some(output_max) => reply.within(output_max, Stop::Length, &asked.counter),
            None => reply,
        };
        let full = match asked.protocol() {
            Protocol::Anthropic => Stop::Window,
            Protocol::OpenaiChat | Protocol::OpenaiResponses => Stop::Length,
        };
        reply.within(window.saturating_sub(asked.prompt.tokens), full, &asked.counter)
    }

    fn step(&self, asked: &ParsedRequest) -> Reply {
        let Some(recording) = &self.script.replay else { return agent::step(asked, &self.script) };
        recording.next(asked, &mut self.state().cursor)
    }

    /// What a call took, its prompt by our count or as it was ordered; caches have no more than all of it.
    fn usage(&self, asked: &ParsedRequest, reply: &Reply, ordered: Option<u64>) -> Usage {
        let (output, reasoning) = reply.tokens(&asked.counter);
        let prompt = ordered.unwrap_or(asked.prompt.tokens);
        let mut state = self.state();
        let (parts, marked) = match asked.cache_reach() {
            CacheReach::Unmarked => (asked.prompt.parts.len(), 0),
            CacheReach::Marked { parts, tokens } => (parts, tokens),
        };
        let cache_read = state.cache.read(&asked.envelope.model, &asked.prompt.parts[..parts]).min(prompt);
        let cache_write = marked.saturating_sub(cache_read).min(prompt - cache_read);
        let usage = Usage { prompt, output, cache_read, cache_write, reasoning };
        state.report.spend(usage);
        usage
    }

    /// The answer with a reply in it, and what the fault makes of it.
    fn write(&self, draft: &Draft<'_>, fault: Option<Fault>) -> Answer {
        self.store(draft);
        let content = if draft.asked.envelope.endpoint == Endpoint::Compact {
            Content::Json(write::compaction(draft))
        } else if !draft.asked.envelope.is_streamed() {
            Content::Json(draft.body())
        } else if fault == Some(Fault::StreamError) {
            Content::Events(broken_off(draft))
        } else {
            Content::Events(draft.frames().all())
        };
        let ending = if fault == Some(Fault::Cut) { Ending::Cut } else { Ending::Whole };
        Answer { ending, usage: Some(draft.usage), ..Answer::good(content) }
    }

    fn store(&self, draft: &Draft<'_>) {
        if draft.asked.envelope.endpoint == Endpoint::Responses {
            let id = write::response_id(draft.number);
            self.state().chains.store(id, &draft.asked.envelope.body, write::output(draft));
        }
    }

    fn overflow(&self, number: u64, asked: &ParsedRequest, kind: Kind, overflow: &Overflow<'_>) -> Answer {
        self.state().report.overflows += 1;
        let refusal = overflow.refusal(self.script.overflow_style, asked.protocol(), number);
        match (refusal, self.script.overflow_place) {
            (Some(refusal), Place::Stream) if asked.envelope.is_streamed() => {
                told_in_stream(number, asked, overflow, &refusal)
            }
            (Some(refusal), Place::Status | Place::Stream) => Answer::refusal(refusal),
            (None, Place::Status | Place::Stream) => self.unsaid(number, asked, kind, overflow),
        }
    }

    /// An overflow nobody tells of: the prompt was cut, or the reply has no room.
    fn unsaid(&self, number: u64, asked: &ParsedRequest, kind: Kind, overflow: &Overflow<'_>) -> Answer {
        let style = self.script.overflow_style;
        let (reply, prompt) = if style == Style::Silent {
            (self.compose(asked, kind, None, u64::MAX), overflow.window)
        } else if style == Style::OutputZero {
            (Reply { parts: Vec::new(), stop: Stop::Length }, overflow.window)
        } else if style == Style::ModelLength {
            (Reply { parts: Vec::new(), stop: Stop::ModelLength }, overflow.prompt)
        } else {
            (Reply { parts: Vec::new(), stop: Stop::Window }, overflow.prompt)
        };
        let (output, reasoning) = reply.tokens(&asked.counter);
        let usage = Usage { prompt, output, reasoning, ..Usage::default() };
        self.state().report.spend(usage);
        self.write(&Draft { asked, number, reply: &reply, usage }, None)
    }
}

/// A stream that begins well and ends with the overflow; with nothing at all where the error has no words.
fn told_in_stream(number: u64, asked: &ParsedRequest, overflow: &Overflow<'_>, refusal: &Refusal) -> Answer {
    let reply = Reply { parts: Vec::new(), stop: Stop::End };
    let usage = Usage { prompt: overflow.prompt, ..Usage::default() };
    let draft = Draft { asked, number, reply: &reply, usage };
    let mut frames = draft.frames().opening;
    if let Some(body) = refusal.body.json() {
        frames.push(draft.failure(&overflow.complaint(asked.protocol()), body, frames.len()));
    }
    Answer::good(Content::Events(frames))
}

/// The length of a prompt, in the provider's shape.
fn counted(asked: &ParsedRequest) -> serde_json::Value {
    let tokens = asked.prompt.tokens;
    match asked.protocol() {
        Protocol::Anthropic => json!({"input_tokens": tokens}),
        Protocol::OpenaiChat | Protocol::OpenaiResponses => {
            json!({"object": "response.input_tokens", "input_tokens": tokens})
        }
    }
}

/// What each provider says when it has too much to do.
fn overloaded(protocol: Protocol) -> Complaint {
    match protocol {
        Protocol::Anthropic => Complaint::of_status(529),
        Protocol::OpenaiChat | Protocol::OpenaiResponses => Complaint::of_status(503),
    }
}

/// A stream that ends half way in an error.
fn broken_off(draft: &Draft<'_>) -> Vec<String> {
    let complaint = overloaded(draft.asked.protocol());
    let body = complaint.body(draft.asked.protocol(), draft.number);
    let mut frames = draft.frames().all();
    frames.truncate(frames.len() / 2);
    frames.push(draft.failure(&complaint, &body, frames.len()));
    frames
}
