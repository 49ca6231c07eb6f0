//! What a session is called by what its file says, for whoever has the bytes and no table: as the table calls it.

use super::Agent;
use super::collection::Depth;
use super::scan::SessionScan;
use epitome_tokens::Catalog;
use epitome_wire::Format;

/// The name somebody gave a session, else what was asked first; none where no agent writes this format, or nothing is said.
pub fn name_in(format: Format, bytes: &[u8]) -> Option<String> {
    let take = Agent::of(format)?.row().take;
    let (mut scan, text) = (SessionScan::new(Catalog::built_in()), String::from_utf8_lossy(bytes));
    match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        Ok(_) => take(&text, &mut scan),
        Err(_) => text.lines().for_each(|line| take(line, &mut scan)),
    }
    let figures = scan.finish(Depth::Whole);
    let told = [figures.title, figures.prompt].into_iter().flatten();
    told.map(|text| text.trim().to_owned()).find(|text| !text.is_empty())
}
