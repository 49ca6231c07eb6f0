//! `epitome tokens`: how many tokens a text takes.

use super::print_json;
use crate::cli::TokensArgs;
use crate::input;
use crate::output::{Page, tell};
use anyhow::{Context as _, Result, anyhow};
use epitome_tokens::{Catalog, Counter};
use epitome_wire::Span;
use std::path::Path;

/// Counts a text and says how.
pub fn run(args: &TokensArgs) -> Result<()> {
    let path = args.file.as_deref().unwrap_or(Path::new("-"));
    let source = input::open(path)?;
    let len = u32::try_from(source.len()).context("a text of over 4 GB is more than this counts at once")?;
    let bytes = source.slice(Span { offset: 0, len }).context("cannot read the text")?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let (path, at) = (path.display(), error.utf8_error().valid_up_to());
        anyhow!("cannot read {path}: byte {at} is not UTF-8, so this is no text; name a text file")
    })?;
    let model = Catalog::built_in().find(args.model.as_deref().unwrap_or_default());
    let count = Counter::for_model(&model).count(&text);
    if args.json {
        let known = model.row.is_some();
        let (tokens, method) = (count.tokens, count.method.to_string());
        return print_json(&serde_json::json!({
            "tokens": tokens, "method": method, "model": args.model, "model_known": known, "bytes": text.len(),
        }));
    }
    let mut page = Page::default();
    let tokens = crate::draw::counted(count.tokens as usize, "token");
    writeln!(page, "{tokens} ({})", count.method);
    page.print()?;
    if model.row.is_none() && args.model.is_some() {
        let name = &model.id;
        tell(format_args!(
            "epitome: the model `{name}` is not in the catalog; this is an estimate on the high side"
        ));
    }
    Ok(())
}
