//! `epitome models`: what is known of models, and from where.

mod learned;

use super::print_json_each;
use crate::cli::ModelsArgs;
use crate::columns;
use crate::draw::grouped;
use crate::output::{Page, tell};
use anyhow::Result;
use epitome_tokens::ModelSpec;

/// Lists the catalog, or prints what is known of one model.
pub fn run(args: &ModelsArgs) -> Result<()> {
    if args.learned || args.forget {
        return learned::run(args);
    }
    let catalog = crate::transcript_file::catalog(args.models.as_deref())?;
    let models: Vec<ModelSpec> = match &args.name {
        Some(name) => vec![catalog.find(name)],
        None => catalog.models().to_vec(),
    };
    if args.json {
        return print_json_each(&models);
    }
    let mut page = Page::default();
    let width = columns::of_list().unwrap_or(usize::MAX);
    let head = ["model", "window", "output", "$ in/M", "$ out/M", "counted by", "as of"].map(str::to_owned);
    writeln!(page, "{}", line(&head, width));
    for model in &models {
        writeln!(page, "{}", line(&cells(model), width));
    }
    page.print()?;
    if let (Some(name), [model]) = (&args.name, &models[..])
        && model.row.is_none()
    {
        let window = grouped(model.window_tokens.value);
        tell(format_args!("epitome: `{name}` is not in the catalog; its window of {window} is a guess"));
    }
    Ok(())
}

/// What is told of a model, column by column.
fn cells(model: &ModelSpec) -> [String; 7] {
    let prices = model.prices.as_ref().map(|prices| prices.value.rates);
    let dollars = |price: Option<f64>| price.map_or_else(|| "-".to_owned(), |price| format!("{price:.2}"));
    [
        model.row.as_deref().unwrap_or(&model.id).to_owned(),
        grouped(model.window_tokens.value),
        model.output_tokens_max.as_ref().map_or_else(|| "-".to_owned(), |most| grouped(most.value)),
        dollars(prices.map(|rates| rates.input)),
        dollars(prices.map(|rates| rates.output)),
        epitome_tokens::Method(model.tokenizer).to_string(),
        model.origin.as_ref().map_or("a guess", |origin| origin.as_of.as_str()).to_owned(),
    ]
}

/// The columns in one line: on a narrow terminal those that matter less are left out; `--json` has all.
fn line(
    [model, window, output, input_price, output_price, counted, as_of]: &[String; 7],
    width: usize,
) -> String {
    let prices = format!("{input_price:>7} {output_price:>7}");
    match width {
        ..76 => format!("{model:<28} {window:>10} {prices}"),
        76..104 => format!("{model:<28} {window:>10} {output:>9} {prices}  {as_of}"),
        104.. => format!("{model:<28} {window:>10} {output:>9} {prices}  {counted:<24} {as_of}"),
    }
}
