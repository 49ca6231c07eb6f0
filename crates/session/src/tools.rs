//! Tool definitions in any provider's shape, as far as a builder can tell that no call of them would work: one without a
//! name, and two of the same.

use crate::error::BuildError;
use epitome_wire::encode::tool_name;
use std::sync::Arc;

/// Enough of a definition to know it again.
const BEGINNING_CHARS: usize = 40;

/// Refuses tools that cannot be called.
///
/// # Errors
/// Where one has no name, or the name of another.
pub(crate) fn check(tools: &[Arc<str>]) -> Result<(), BuildError> {
    let names: Vec<Option<String>> = tools.iter().map(|tool| tool_name(tool)).collect();
    for (at, name) in names.iter().enumerate() {
        let why = match name {
            None => "has no name; a model calls a tool by its `name`",
            Some(_) if names[..at].contains(name) => {
                "has the name of a tool before it; leave one of them out"
            }
            Some(_) => continue,
        };
        let beginning = tools[at].chars().take(BEGINNING_CHARS).collect();
        return Err(BuildError::Tool { number: at + 1, beginning, why });
    }
    Ok(())
}
