//! `epitome config`: what is set beside the preset, who said it, and what it comes to in the window; with `--all` every
//! value that counts.

use super::{print_json, window_text};
use crate::cli::ConfigArgs;
use crate::columns;
use crate::draw::{Paint, grouped};
use crate::output::Page;
use crate::session_ports::{Dry, PortsBuilder};
use crate::settings::{Lookup, ServerChoice, ShownServer, prompt};
use crate::transcript_file::catalog;
use anyhow::Result;
use epitome_core::{Prompts, Tokens};
use epitome_engine::{Assembly, Thresholds, WindowChoice, WindowFacts};
use epitome_settings::{Door, Leaf, ResolvedPolicy, SettingOrigin};
use serde::Serialize;

/// All that is known, as `--json` prints it.
#[derive(Serialize)]
struct ConfigReport<'s> {
    model: Option<&'s str>,
    /// The window, and who says so; nothing where nobody knows and the policy makes no guess.
    window: Option<WindowChoice>,
    thresholds: Option<Thresholds>,
    /// What a summariser is told.
    prompts: Prompts,
    /// The file that comes from; nothing where it is built in.
    prompt_file: Option<String>,
    /// Where a server sends requests, and whether it only observes; nothing where they are for another door.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ShownServer>,
    #[serde(flatten)]
    resolved: &'s ResolvedPolicy,
}

/// Shows the settings that count here.
pub fn run(args: &ConfigArgs) -> Result<()> {
    let lookup = Lookup::new(args.policy.clone(), args.door)?;
    let name = args.model.as_deref();
    let resolved = lookup.resolve(name)?;
    let catalog = catalog(args.models.as_deref())?;
    // Settings that a command would refuse are no settings that count.
    PortsBuilder::new(lookup.places.clone(), catalog.clone(), Dry::Run).check(&resolved)?;
    let model = catalog.find(name.unwrap_or_default());
    let known = WindowFacts { stated: args.window.map(Tokens), ..WindowFacts::default() };
    let assembly = Assembly::new(resolved.policy.clone(), model, known).ok();
    assembly.as_ref().map_or(Ok(()), |assembly| resolved.check_in(assembly.window().tokens))?;
    let prompt = &resolved.policy.summary.prompt;
    let prompts = prompt::peek(&lookup.places, prompt)?;
    let prompt_file = lookup.places.file(prompt)?.map(|file| file.display().to_string());
    let report = ConfigReport {
        model: name,
        window: assembly.as_ref().map(Assembly::window),
        thresholds: assembly.map(|assembly| Thresholds::of(&resolved.policy, &assembly.budget())),
        prompts,
        prompt_file,
        server: server(&lookup, &resolved)?,
        resolved: &resolved,
    };
    if args.json { print_json(&report) } else { page(&report, args.all).print() }
}

/// What the operator's file tells a server; a file that a server would refuse is refused for every door.
fn server(lookup: &Lookup, resolved: &ResolvedPolicy) -> Result<Option<ShownServer>> {
    let choice = ServerChoice::of_file(&resolved.server, &lookup.places)?;
    Ok((lookup.door == Some(Door::Serve)).then(|| choice.shown()))
}

fn page(report: &ConfigReport<'_>, is_all: bool) -> Page {
    let (paint, mut page) = (Paint::stdout(), Page::default());
    writeln!(page, "{} {}", paint.bold("preset"), report.resolved.preset);
    write_window(&mut page, report, paint);
    writeln!(page);
    write_leaves(&mut page, report.resolved, is_all, paint);
    let hooks: Vec<&str> = report.resolved.hooks.keys().map(String::as_str).collect();
    if !hooks.is_empty() {
        writeln!(page, "\n{} {}", paint.bold("hooks"), hooks.join(", "));
    }
    if let Some(ShownServer { anthropic, openai, routes, observe }) = &report.server {
        writeln!(page, "\n{} anthropic {anthropic}, openai {openai}", paint.bold("upstream"));
        routes.iter().for_each(|route| writeln!(page, "  {route}"));
        if *observe {
            writeln!(page, "  only observing: requests go out as they came");
        }
    }
    for note in &report.resolved.notes {
        writeln!(page, "\nnote: {note}");
    }
    page
}

/// The settings, those of the preset only where all are asked for.
fn write_leaves(page: &mut Page, resolved: &ResolvedPolicy, is_all: bool, paint: Paint) {
    let (unused, width) = (resolved.unused(), columns::of_list().unwrap_or(usize::MAX));
    let is_shown = |leaf: &&Leaf| leaf.key != "about" && (is_all || !is_presets(&leaf.source.origin));
    let shown: Vec<&Leaf> = resolved.leaves.iter().filter(is_shown).collect();
    let key_chars = shown.iter().map(|leaf| leaf.key.chars().count()).max().unwrap_or(0);
    let values: Vec<String> = shown.iter().map(|leaf| leaf.value.to_string()).collect();
    let value_chars =
        values.iter().map(|value| value.chars().count()).max().unwrap_or(0).min(VALUE_CHARS_MAX);
    for (leaf, value) in shown.iter().zip(&values) {
        let is_idle = unused.contains(&leaf.key.as_str());
        let idle = resolved.door.filter(|_| is_idle).map(|door| format!(", not used by {door}"));
        let source = format!("{}{}", leaf.source, idle.unwrap_or_default());
        let line = format!("{:<key_chars$} {value:<value_chars$} ", leaf.key);
        let is_wide = line.chars().count() + source.chars().count() > width;
        let gap = if is_wide { "\n    " } else { "" };
        writeln!(page, "{}{gap}{}", if is_wide { line.trim_end() } else { &line }, paint.dim(&source));
    }
    let hidden = resolved.leaves.len() - shown.len();
    if !is_all && hidden > 0 {
        let what = if shown.is_empty() { "every setting is" } else { "all others are" };
        writeln!(page, "{}", paint.dim(&format!("{what} the preset's; --all lists them")));
    }
}

/// Longer values are lists; what stands behind them need not be aligned.
const VALUE_CHARS_MAX: usize = 26;

/// Whether nobody but the preset or the program said it.
fn is_presets(origin: &SettingOrigin) -> bool {
    match origin {
        SettingOrigin::Program | SettingOrigin::Preset { .. } => true,
        SettingOrigin::User { .. }
        | SettingOrigin::Project { .. }
        | SettingOrigin::Agent { .. }
        | SettingOrigin::Model { .. }
        | SettingOrigin::Environment
        | SettingOrigin::Flag
        | SettingOrigin::Override => false,
    }
}

fn write_window(page: &mut Page, report: &ConfigReport<'_>, paint: Paint) {
    let Some((window, points)) = report.window.zip(report.thresholds) else {
        writeln!(page, "{} not known; name a --model or a --window", paint.bold("window"));
        return;
    };
    writeln!(
        page,
        "{} {} {}",
        paint.bold("window"),
        grouped(window.tokens.0),
        paint.dim(window_text(window.from))
    );
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
