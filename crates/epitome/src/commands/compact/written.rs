//! What a compaction left on the disk, told to a person: which file, in which form, how large, and how to go on.

use super::RecordLine;
use super::target::Target;
use crate::agents::resume::ResumePlace;
use crate::bytes_text::size;
use crate::output::Page;
use crate::shell_word::shell_word;
use anyhow::Result;
use epitome_core::Tokens;
use epitome_wire::Format;
use serde::Serialize;

/// A file that was written.
#[derive(Serialize)]
pub(super) struct WrittenFile {
    /// How it is written.
    format: Format,
    /// Its length, and that of what it was made from; unpacked where a name says that it is packed.
    bytes_before: u64,
    bytes_after: u64,
    /// How its tool goes on with it, where it lies where that looks.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    resume: Option<ResumePlace>,
    #[serde(skip)]
    target: Target,
    /// The format it was made from.
    #[serde(skip)]
    from: Format,
}

impl WrittenFile {
    pub(super) fn new(target: Target, from: Format, bytes: (u64, u64), resume: Option<ResumePlace>) -> Self {
        let format = match target {
            Target::Resumable(format) => format,
            Target::Body(protocol) => Format::Body(protocol),
            Target::Native | Target::Stored { .. } => Format::Native,
        };
        Self { format, bytes_before: bytes.0, bytes_after: bytes.1, resume, target, from }
    }
}

/// Tells on standard error what was written for a file, whose conversations are `lines`.
/// The command that goes on with it is printed, for a shell to take.
pub(super) fn print(lines: &[RecordLine]) -> Result<()> {
    let Some(first) = lines.first() else { return Ok(()) };
    let (Some(written), Some(output)) = (&first.written, &first.output) else { return Ok(()) };
    let mut page = Page::default();
    let (before, after) = lines.iter().fold((Tokens::ZERO, Tokens::ZERO), |(before, after), line| {
        (before + line.by_model.tokens_before, after + line.by_model.tokens_after)
    });
    writeln!(
        page,
        "wrote {output} ({}): file {} → {}{}, context {before} → {after} tokens",
        written.format,
        size(written.bytes_before),
        size(written.bytes_after),
        why_not_smaller(written)
    );
    write_form(&mut page, written, output);
    match (&written.resume, written.target) {
        (Some(_), _) => writeln!(page, "go on with it:"),
        (None, Target::Resumable(format)) => write_elsewhere(&mut page, format, &first.file, output),
        (None, Target::Body(_) | Target::Native | Target::Stored { .. }) => {}
    }
    page.tell();
    let mut commands = Page::default();
    if let Some(place) = &written.resume {
        writeln!(commands, "{}", place.command);
    }
    commands.print()
}

/// A file in which everything stays is no smaller; said where that may surprise.
fn why_not_smaller(written: &WrittenFile) -> &'static str {
    let is_kept = !matches!(written.target, Target::Body(_));
    if is_kept && written.bytes_after >= written.bytes_before {
        " (originals stay inside, so that undo works)"
    } else {
        ""
    }
}

/// A file of another form under the old one's name would be taken for what it was.
fn write_form(page: &mut Page, written: &WrittenFile, output: &str) {
    if written.format == written.from || written.target != Target::Native {
        return;
    }
    let output = shell_word(output);
    writeln!(
        page,
        "  it is in epitome's own form, around the {} it was made from: `epitome context {output}` gives a request, `epitome undo {output}` the original",
        written.from
    );
}

/// What to do with a session that lies where its tool does not look.
fn write_elsewhere(page: &mut Page, format: Format, file: &str, output: &str) {
    if format == Format::Pi {
        writeln!(page, "go on with it: pi --session {}", shell_word(output));
        return;
    }
    if file == "-" {
        // What came through a pipe cannot be named again.
        writeln!(
            page,
            "  {format} does not look there; compact the session's own file with --resume for that"
        );
        return;
    }
    let file = shell_word(file);
    writeln!(page, "  {format} does not look there; `epitome compact {file} --resume` writes where it does");
}
