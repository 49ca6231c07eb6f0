//! `epitome config`: every value that counts, who said it, and what it comes to in the window.

use super::print_json;
use crate::cli::ConfigArgs;
use crate::draw::{Paint, grouped};
use crate::opened::catalog;
use crate::output::Page;
use crate::settings::{Lookup, prompt};
use anyhow::Result;
use epitome_core::{Budget, Prompts, Tokens};
use epitome_engine::{Known, Thresholds, Window, WindowFrom};
use epitome_settings::Resolved;
use epitome_tokens::Model;
use serde::Serialize;

/// An answer's length where the catalog does not limit it.
const OUTPUT_TOKENS: u64 = 8_192;

/// All that is known, as `--json` prints it.
#[derive(Serialize)]
struct Shown<'s> {
    model: Option<&'s str>,
    /// The window, and who says so; nothing where nobody knows and the policy makes no guess.
    window: Option<Window>,
    thresholds: Option<Thresholds>,
    /// What a summariser is told.
    prompts: Prompts,
    /// The file that comes from; nothing where it is built in.
    prompt_file: Option<String>,
    #[serde(flatten)]
    resolved: &'s Resolved,
}

/// Shows the settings that count here.
pub fn run(args: &ConfigArgs) -> Result<()> {
    let lookup = Lookup::new(args.policy.clone(), args.door)?;
    let name = args.model.as_deref();
    let mut resolved = lookup.resolve(name)?;
    let model = catalog(args.models.as_deref())?.find(name.unwrap_or_default());
    let window = window(args, &model, &resolved);
    let found = prompt::load(&lookup.places, &resolved.policy.summary.prompt)?;
    let prompt_file = found.file.map(|file| file.display().to_string());
    if let Some(file) = prompt_file.as_ref().filter(|_| found.is_new) {
        resolved.notes.push(format!("{file} was missing and was written"));
    }
    let thresholds = window.map(|window| Thresholds::of(&resolved.policy, &budget(window, &model)));
    let shown =
        Shown { model: name, window, thresholds, prompts: found.prompts, prompt_file, resolved: &resolved };
    if args.json { print_json(&shown) } else { page(&shown).print() }
}

fn window(args: &ConfigArgs, model: &ModelSpec, resolved: &Resolved) -> Option<Window> {
    let known = Known { flag: args.window.map(Tokens), provider: None, catalog: model.window_tokens };
    Window::choose(&known, &resolved.policy).ok()
}

fn budget(window: Window, model: &ModelSpec) -> Budget {
    let output = model.output_tokens_max.as_ref().map_or(OUTPUT_TOKENS, |most| most.value);
    Budget::new(window.tokens, Tokens::ZERO, Tokens(output))
}

fn page(shown: &Shown<'_>) -> Page {
    let (paint, mut page) = (Paint::stdout(), Page::default());
    writeln!(page, "{} {}", paint.bold("preset"), shown.resolved.preset);
    write_window(&mut page, shown, paint);
    writeln!(page);
    let unused = shown.resolved.unused();
    for leaf in shown.resolved.leaves.iter().filter(|leaf| leaf.key != "about") {
        let is_idle = unused.contains(&leaf.key.as_str());
        let idle = shown.resolved.door.filter(|_| is_idle).map(|door| format!(", not used by {door}"));
        let source = paint.dim(&format!("{}{}", leaf.source, idle.unwrap_or_default()));
        writeln!(page, "{:<40} {:<26} {source}", leaf.key, leaf.value.to_string());
    }
    for note in &shown.resolved.notes {
        writeln!(page, "\nnote: {note}");
    }
    page
}

fn write_window(page: &mut Page, shown: &Shown<'_>, paint: Paint) {
    let Some((window, points)) = shown.window.zip(shown.thresholds) else {
        writeln!(page, "{} not known; name a --model or a --window", paint.bold("window"));
        return;
    };
    writeln!(page, "{} {} {}", paint.bold("window"), grouped(window.tokens.0), paint.dim(told(window.from)));
    let none = "as far as the strategy goes";
    let rows = [
        ("counted", Some(points.window), ""),
        ("reserve for the answer", Some(points.reserve), ""),
        ("compacts at", Some(points.trigger), ""),
        ("comes down to", points.target, none),
        ("warns at", points.approaching, "never"),
        ("begins a summary at", points.speculate, "never before it is due"),
        ("protects from pruning", points.protect, "nothing in particular"),
        ("protects of tool results", points.protect_results, "none in particular"),
    ];
    for (what, tokens, without) in rows {
        let tokens = tokens.map_or_else(|| without.to_owned(), |tokens| grouped(tokens.0));
        writeln!(page, "  {what:<26} {tokens}");
    }
}

/// Where a window's figure comes from, in words.
fn told(from: WindowFrom) -> &'static str {
    match from {
        WindowFrom::Explicit => "stated",
        WindowFrom::Learned => "from the provider's refusal",
        WindowFrom::Provider => "from the provider",
        WindowFrom::Catalog => "from the catalog",
        WindowFrom::Guess => "a guess: the model is not known",
    }
}
