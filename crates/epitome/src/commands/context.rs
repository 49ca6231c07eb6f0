//! `epitome context`: what the model would see now.

use super::Work;
use crate::cli::ContextArgs;
use crate::opened::Opened;
use crate::output;
use anyhow::{Context as _, Result};
use epitome_core::{Policy, Shown};
use epitome_wire::{Conversation, Protocol, encode};

/// Prints the request body.
pub fn run(args: &ContextArgs) -> Result<()> {
    let opened = Opened::new(&args.file, &args.read)?;
    let number = opened.conversation(args.conversation)?;
    let work = Work::plain(Policy::default());
    let shown = work.open(&opened, number)?.shown()?;
    let body = body(&opened, &opened.transcript.conversations[number], &shown, args.to, args.max_tokens)?;
    output::write(None, |out| {
        out.write_all(&body)?;
        out.write_all(b"\n").context("cannot write to standard output")
    })
}

/// A request body of protocol `to` with these messages.
pub fn body(
    opened: &Opened,
    conversation: &Conversation,
    shown: &[Shown],
    to: Protocol,
    max_tokens: Option<u64>,
) -> Result<Vec<u8>> {
    let fixed = &conversation.fixed;
    let asked = (!opened.model.id.is_empty()).then_some(opened.model.id.as_str());
    let named = fixed.model.as_deref().or(asked);
    let parts = encode::RequestParts {
        system: &fixed.system,
        tools: &fixed.tools,
        model: named,
        max_tokens: fixed.max_tokens.or(max_tokens),
    };
    // What we do not read has a place only in a body of the protocol it came in.
    let rest = if opened.transcript.format.protocol() == Some(to) { fixed.rest.as_slice() } else { &[] };
    encode::body_with_rest(to, &parts, rest, shown)
        .with_context(|| format!("cannot write {} as a request of {to}", opened.path.display()))
}
