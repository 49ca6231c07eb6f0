//! `epitome context`: what the model would see now.

use crate::agents::lookup;
use crate::cli::ContextArgs;
use crate::draw::grouped;
use crate::input;
use crate::output::{self, Page};
use crate::replacement::{NewContent, OutputPlace};
use crate::runner::Runner;
use crate::transcript_file::TranscriptFile;
use anyhow::{Context as _, Result};
use epitome_core::MessageView;
use epitome_engine::{Driver, SessionOptions};
use epitome_wire::encode::Substitute;
use epitome_wire::protocol::{WrittenBody, write_body};
use epitome_wire::{FixedParts, Protocol};
use serde_json::json;

/// Prints the request body; what it says in words goes to standard error, with `--json` as one JSON document.
pub fn run(args: &ContextArgs) -> Result<()> {
    output::refuse_terminal(args.output.as_deref(), "name a file with -o, or read it with `| less`")?;
    let file = match args.stored.session {
        Some(session) => TranscriptFile::of_stored(&args.stored.store.open()?, session, &args.read)?,
        None => {
            let path = &input::or_stdin(args.file.as_slice())?[0];
            TranscriptFile::open(&lookup::file_of(path)?, &args.read)?
        }
    };
    let number = file.number(args.conversation)?;
    let open = file.open_conversation(number, SessionOptions::default(), Driver::default());
    let session = Runner::default().to_the_end(async { Ok(open.engine.look(&open.opening).await?) })?;
    let fixed = &file.conversation(number).fixed;
    let request = BodyRequest { number, fixed, to: args.to, max_tokens: args.max_tokens };
    let written = request.written(&file, &session.shown()?)?;
    if !args.read.json {
        tell_problems(&file);
    }
    OutputPlace { out: args.output.as_deref(), own: None, is_forced: args.force }.check(&NewContent::Body)?;
    output::write(args.output.as_deref(), |out| {
        out.write_all(&written.bytes)?;
        out.write_all(b"\n").context("cannot write to standard output")
    })?;
    if let Some(out) = args.output.as_deref().filter(|_| !args.read.json) {
        let bytes = grouped(written.bytes.len() as u64 + 1);
        output::tell(format_args!("wrote {} ({}): {bytes} bytes", out.display(), args.to.name()));
    }
    if written.substitutes.is_empty() {
        return Ok(());
    }
    if args.read.json {
        output::tell(json!({ "substitutes": written.substitutes }));
        return Ok(());
    }
    let mut page = Page::default();
    write_substitutes(&mut page, "", args.to, &written.substitutes);
    page.tell();
    Ok(())
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

/// A request body to be written of one conversation of a file.
pub struct BodyRequest<'a> {
    /// Which conversation.
    pub number: usize,
    /// What stands before its history.
    pub fixed: &'a FixedParts,
    /// The protocol of the body.
    pub to: Protocol,
    /// The output limit, where none is recorded.
    pub max_tokens: Option<u64>,
}

impl BodyRequest<'_> {
    /// The body with these messages.
    pub fn written(&self, file: &TranscriptFile, shown: &[MessageView]) -> Result<WrittenBody> {
        let asked = Some(file.model().id.as_str()).filter(|name| !name.is_empty());
        let conversation = file.conversation(self.number);
        write_body(self.to, conversation, self.fixed, (asked, self.max_tokens), shown)
            .with_context(|| format!("cannot write {} as a request of {}", file.path.display(), self.to))
    }
}

/// Tells a person what a body says in words, each kind once.
pub fn write_substitutes(page: &mut Page, indent: &str, to: Protocol, substitutes: &[Substitute]) {
    for (is_said, what) in [(true, "said in words"), (false, "left out")] {
        let mut kinds: Vec<(&str, usize)> = Vec::new();
        for one in substitutes.iter().filter(|one| one.words.is_some() == is_said) {
            match kinds.iter_mut().find(|(kind, _)| *kind == one.kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((&one.kind, 1)),
            }
        }
        if kinds.is_empty() {
            continue;
        }
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
        writeln!(page, "{indent}note: {what}, having no place in {to}: {}", kinds.join(", "));
    }
}
