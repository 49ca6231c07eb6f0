//! `epitome context`: what the model would see now.

use crate::cli::ContextArgs;
use crate::output::{self, Page};
use crate::runner::Runner;
use crate::transcript_file::TranscriptFile;
use anyhow::{Context as _, Result};
use epitome_core::MessageView;
use epitome_engine::{Driver, SessionOptions};
use epitome_wire::{FixedParts, Protocol, encode};

/// Prints the request body.
pub fn run(args: &ContextArgs) -> Result<()> {
    let file = TranscriptFile::open(&args.file, &args.read)?;
    let number = file.number(args.conversation)?;
    let open = file.open_conversation(number, SessionOptions::default(), Driver::default());
    let session = Runner::default().to_the_end(async { Ok(open.engine.look(&open.opening).await?) })?;
    let fixed = &file.conversation(number).fixed;
    let body = body(&file, fixed, &session.shown()?, args.to, args.max_tokens)?;
    if !args.read.json {
        tell_problems(&file);
    }
    output::write(None, |out| {
        out.write_all(&body)?;
        out.write_all(b"\n").context("cannot write to standard output")
    })
}

/// Says on standard error that the file is not all it was; the body itself says nothing of it.
fn tell_problems(file: &TranscriptFile) {
    let Some(first) = file.transcript.problems.first() else { return };
    let (count, line) = (file.transcript.problems.len(), first.line.map(|line| format!("line {line} ")));
    let mut page = Page::default();
    writeln!(
        page,
        "note: oddities of {} survived: {count}, the first: {}{}; `epitome inspect` lists them",
        file.path.display(),
        line.unwrap_or_default(),
        first.what
    );
    page.tell();
}

/// A request body of protocol `to` with `fixed` before these messages.
pub fn body(
    file: &TranscriptFile,
    fixed: &FixedParts,
    shown: &[MessageView],
    to: Protocol,
    max_tokens: Option<u64>,
) -> Result<Vec<u8>> {
    let asked = Some(file.model().id.as_str()).filter(|name| !name.is_empty());
    let parts = encode::RequestParts {
        system: &fixed.system,
        tools: &fixed.tools,
        model: fixed.model.as_deref().or(asked),
        max_tokens: fixed.max_tokens.or(max_tokens),
    };
    // What we do not read has a place only in a body of the protocol it came in.
    let rest = if file.transcript.format.protocol() == Some(to) { fixed.rest.as_slice() } else { &[] };
    encode::body_with_rest(to, &parts, rest, shown)
        .with_context(|| format!("cannot write {} as a request of {to}", file.path.display()))
}
