//! Settings by the names other systems give them, and what they mean here.
//!
//! They are merged by their own names first and translated after: what one of them means can depend on
//! another that a different source has set.

mod names;
mod ranked_value;
mod rules;
mod translate;

pub(super) use names::VARIABLES;
pub use names::{FOREIGN, ForeignSetting};
pub(super) use translate::translate;

use super::nearest::nearest;
use toml::Value;

/// Whether `key` is another system's name for something. Where it is ours too, what is written decides:
/// our `strategy` is a list.
pub(super) fn is_meant(key: &str, value: &Value) -> bool {
    let is_list = key == "strategy" && value.is_array();
    let is_block = key == "summarize" && value.is_table();
    !is_list && !is_block && FOREIGN.iter().any(|foreign| foreign.name == key)
}

/// Whether `key` is a table of theirs.
pub(super) fn is_table(key: &str) -> bool {
    FOREIGN.iter().any(|foreign| foreign.name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

/// The name most like `key`.
pub(super) fn nearest_to(key: &str) -> Option<&'static str> {
    nearest(key, FOREIGN.iter().map(|foreign| foreign.name))
}
