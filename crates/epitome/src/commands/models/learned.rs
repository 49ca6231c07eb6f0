//! `epitome models --learned` and `--forget`: what servers have learned of providers' endpoints, as their store keeps it.

use crate::cli::ModelsArgs;
use crate::clock::unix_time;
use crate::commands::print_json;
use crate::draw::{Paint, counted, grouped};
use crate::output::Page;
use crate::table::{Cell, Table};
use anyhow::Result;
use epitome_server::{EndpointFacts, EndpointFilter, ToldLimit, forget_endpoints, learned_endpoints};
use serde_json::json;

/// Lists it, or forgets it.
pub fn run(args: &ModelsArgs) -> Result<()> {
    let open = args.store.open()?;
    let filter = EndpointFilter { model: args.name.clone(), ..EndpointFilter::default() };
    if args.forget {
        let forgotten = open.wait(forget_endpoints(&*open.store, &filter, unix_time()))?;
        return match args.json {
            true => print_json(&json!({"forgotten": forgotten})),
            false => forgotten_page(forgotten).print(),
        };
    }
    let mut facts = open.wait(learned_endpoints(&*open.store, unix_time()))?;
    facts.retain(|one| args.name.as_ref().is_none_or(|name| *name == one.model));
    if args.json { print_json(&facts) } else { page(&facts).print() }
}

fn forgotten_page(forgotten: usize) -> Page {
    let mut page = Page::default();
    writeln!(page, "forgotten: what was learned of {}", counted(forgotten, "endpoint"));
    page
}

fn page(facts: &[EndpointFacts]) -> Page {
    let mut page = Page::default();
    if facts.is_empty() {
        writeln!(page, "nothing was learned of any endpoint yet");
        return page;
    }
    let mut table = Table::new(&[
        Cell::left("model"),
        Cell::left("at"),
        Cell::right("window"),
        Cell::right("prompt").from(100),
        Cell::right("counts"),
        Cell::left("thinking").from(90),
    ]);
    for one in facts {
        let limit = |limit: Option<ToldLimit>| limit.map_or_else(dash, |limit| grouped(limit.tokens.0));
        let model =
            if one.beta.is_empty() { one.model.clone() } else { format!("{} ({})", one.model, one.beta) };
        let scale = one.scale.map_or_else(dash, |scale| format!("{:.2}×", scale as f64 / 1_000.0));
        let thinking = if one.binds_thinking { "bound to its prefix".to_owned() } else { dash() };
        table.add(
            [model, one.base_url.clone(), limit(one.window), limit(one.input_max), scale, thinking],
            false,
        );
    }
    table.write(&mut page, Paint::stdout());
    writeln!(
        page,
        "\nas providers told it, for 30 days; counts is their tokens for one of ours. `epitome models --forget` forgets it"
    );
    page
}

fn dash() -> String {
    "–".to_owned()
}
