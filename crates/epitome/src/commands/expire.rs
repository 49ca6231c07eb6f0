//! `epitome expire`: old sessions go from the store, whole, the oldest first, by limits of this call or by those that `serve` keeps to
//! by itself. What goes is `epitome_store::RetentionPlan`'s to say.

use super::entries::time_text;
use super::print_json;
use crate::cli::{ExpireArgs, ExpireLimits};
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::settings;
use crate::store_place::OpenStore;
use crate::table::{Cell, Table};
use crate::{bytes_text, output};
use anyhow::{Result, bail};
use clap::error::ErrorKind;
use epitome_engine::store::SessionId;
use epitome_store::{ExpiringSession, RetentionLimits, RetentionPlan};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct ExpireReport {
    outcome: &'static str,
    sessions: Vec<ExpiringSession>,
    bytes: u64,
    /// Sessions that would go and stay, because somebody works on them.
    held: Vec<SessionId>,
}

/// Deletes what is too old or too much.
pub fn run(args: &ExpireArgs) -> Result<()> {
    let limits = limits(&args.limits)?;
    let open = args.store.open()?;
    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    let plan = plan(&open, limits, now_ms, args.dry_run)?;
    if !args.json {
        page(&plan, args.dry_run).print()?;
    }
    let fresh = plan.going.iter().filter(|one| one.is_fresh).count();
    if fresh > 0 && !args.yes && !args.dry_run {
        bail!(
            "{} of these changed in the last day; nothing was deleted, --yes deletes them all the same",
            draw::counted(fresh, "session")
        );
    }
    let mut outcome = "planned";
    if !args.dry_run {
        open.wait(plan.carry_out(&*open.store, now_ms))?;
        outcome = if plan.going.is_empty() { "noop" } else { "expired" };
        if !args.json && !plan.going.is_empty() {
            let (count, bytes) = (plan.going.len(), bytes_text::size(plan.bytes()));
            output::tell(format_args!("deleted {}, {bytes}", draw::counted(count, "session")));
        }
    }
    if !args.json {
        return Ok(());
    }
    let bytes = plan.bytes();
    print_json(&ExpireReport { outcome, sessions: plan.going, bytes, held: plan.held })
}

/// The limits of this call; those of the operator's settings where it says none.
fn limits(args: &ExpireLimits) -> Result<RetentionLimits> {
    let said = RetentionLimits { age_max_ms: args.older_than, bytes_max: args.larger_than };
    if !said.is_none() {
        return Ok(said);
    }
    let stored = settings::of_store()?;
    let kept = RetentionLimits { age_max_ms: stored.expire_after_ms, bytes_max: stored.size_max_bytes };
    if kept.is_none() {
        let why = "nothing says what is too old or too much; write --older-than 90d or --larger-than 2GB, or set `store.expire_after` or `store.size_max`";
        return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, why).into());
    }
    Ok(kept)
}

/// What is to go. A server that holds a session and is not at work on it is asked to give it up, where anything is deleted.
fn plan(open: &OpenStore, limits: RetentionLimits, now_ms: u64, is_dry: bool) -> Result<RetentionPlan> {
    let plan = open.wait(RetentionPlan::of(&*open.store, limits, now_ms))?;
    if is_dry || plan.held.is_empty() {
        return Ok(plan);
    }
    open.ask_for_all(&plan.held)?;
    open.wait(RetentionPlan::of(&*open.store, limits, now_ms))
}

fn page(report: &RetentionPlan, is_dry: bool) -> Page {
    let mut page = Page::default();
    if report.going.is_empty() {
        writeln!(page, "no session is that old, or too much");
    } else {
        let mut table = Table::new(&[
            Cell::left("session"),
            Cell::left("changed"),
            Cell::right("entries"),
            Cell::right("size"),
            Cell::rest("name"),
        ]);
        for one in &report.going {
            let cells = [
                one.session.to_string(),
                time_text(Some(one.changed_ms)),
                draw::grouped(one.entries as u64),
                bytes_text::size(one.bytes),
                one.title.clone(),
            ];
            table.add(cells, false);
        }
        table.write(&mut page, Paint::stdout());
        let (would, count) = (if is_dry { "would go" } else { "to go" }, report.going.len());
        writeln!(
            page,
            "\n{would}: {}, {}",
            draw::counted(count, "session"),
            bytes_text::size(report.bytes())
        );
    }
    if !report.held.is_empty() {
        let held: Vec<String> = report.held.iter().map(SessionId::to_string).collect();
        writeln!(page, "somebody works on {}, so it stays", held.join(", "));
    }
    page
}
