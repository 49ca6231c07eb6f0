//! `epitome replay`: a transcript fed through the engine call by call.

use super::Work;
use crate::cli::ReplayArgs;
use crate::draw::{self, Paint};
use crate::opened::Opened;
use crate::output::Page;
use crate::{input, preset, progress};
use anyhow::{Context as _, Result, bail};
use epitome_core::{EntryId, Policy};
use epitome_engine::{Call, Happened, Report, Session, replay};
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{BufWriter, Write};

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    file: std::borrow::Cow<'a, str>,
    conversation: usize,
    call: usize,
    message: usize,
    tokens: u64,
    fixed: u64,
    cached: u64,
    window: u64,
    reserve: u64,
    compaction: Option<&'a Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Box<RawValue>>,
}

/// Replays each conversation of each file.
pub fn run(args: &ReplayArgs) -> Result<()> {
    if args.contexts && !args.to.is_protocol() {
        bail!(
            "contexts are request bodies: --to takes anthropic, openai-chat or openai-responses, not {}",
            args.to
        );
    }
    preset::check(&args.policy)?;
    let files = input::expand(&args.files)?;
    let failed = progress::over(&files, |_, path, _| {
        let mut opened = Opened::new(path, &args.read)?;
        let policy = preset::policy_for(&args.policy, &mut opened)?;
        for number in 0..opened.transcript.conversations.len() {
            replay_one(&opened, number, &policy, args)
                .with_context(|| format!("cannot replay {}", path.display()))?;
        }
        Ok(())
    })?;
    failed.result()
}

fn replay_one(opened: &Opened, number: usize, policy: &Policy, args: &ReplayArgs) -> Result<()> {
    let conversation = &opened.transcript.conversations[number];
    let work = Work::plain(policy.clone());
    let mut session = Session::new(conversation.log.clone(), work.setup(opened, number));
    let branch: Vec<EntryId> =
        conversation.leaf.map(|leaf| conversation.log.branch(leaf)).unwrap_or_default();
    if args.read.json {
        let mut out = BufWriter::new(std::io::stdout().lock());
        replay::<anyhow::Error>(&mut session, &branch, |call| {
            print_line(&mut out, opened, number, &call, args)
        })?;
        return out.flush().context("cannot write to standard output");
    }
    let mut seen = Vec::new();
    replay::<anyhow::Error>(&mut session, &branch, |call| {
        seen.push((call.tokens.0, call.cached.0, call.compaction));
        Ok(())
    })?;
    print_story(opened, number, &session, &seen)
}

fn print_line(
    out: &mut impl Write,
    opened: &Opened,
    number: usize,
    call: &Call<'_>,
    args: &ReplayArgs,
) -> Result<()> {
    let context = if args.contexts { Some(body_of(opened, number, call, args)?) } else { None };
    let budget = call.session.setup().budget;
    let line = Line {
        file: opened.path.to_string_lossy(),
        conversation: number,
        call: call.call,
        message: call.message,
        tokens: call.tokens.0,
        fixed: call.fixed.0,
        cached: call.cached.0,
        window: budget.window.0,
        reserve: budget.reserve.0,
        compaction: call.compaction.as_ref(),
        context,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n").context("cannot write to standard output")
}

fn body_of(opened: &Opened, number: usize, call: &Call<'_>, args: &ReplayArgs) -> Result<Box<RawValue>> {
    let conversation = &opened.transcript.conversations[number];
    let body = super::context::body(opened, conversation, &call.session.shown()?, args.to, None)?;
    RawValue::from_string(String::from_utf8(body)?).context("the request body is not JSON")
}

fn print_story(
    opened: &Opened,
    number: usize,
    session: &Session,
    seen: &[(u64, u64, Option<Report>)],
) -> Result<()> {
    let (paint, mut page) = (Paint::stdout(), Page::default());
    let window = session.setup().budget.window;
    writeln!(
        page,
        "{} {}",
        paint.bold(&opened.path.display().to_string()),
        paint.dim(&format!("conversation {number}, window {window}"))
    );
    let amounts: Vec<u64> = seen.iter().map(|(tokens, ..)| *tokens).collect();
    writeln!(page, "  {}", paint.bar(&draw::line(&amounts, 72)));
    let cached: u64 = seen.iter().map(|(_, cached, _)| cached).sum();
    let sent: u64 = amounts.iter().sum::<u64>().max(1);
    writeln!(
        page,
        "  {} calls, {} tokens sent, {} % of them as the call before",
        seen.len(),
        draw::grouped(sent),
        cached * 100 / sent
    );
    for (call, (_, _, report)) in seen.iter().enumerate() {
        let Some(report) = report else { continue };
        let who = if report.outcome == Happened::Recorded { " (by the transcript's own tool)" } else { "" };
        writeln!(page, "  call {call}: {} → {} tokens{who}", report.tokens_before, report.tokens_after);
    }
    page.print()
}
