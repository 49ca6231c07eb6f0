//! Results against the calls that wait for them: each call has one result, and no result is of another call.

use crate::error::SessionError;
use epitome_core::{Call, CallId, ToolResult};

/// Holds results against the open calls. Providers take a request only where every call has its one result.
///
/// # Errors
/// Where one is of no open call, or comes twice, or a call has none.
pub(crate) fn check(open: &[Call], results: &[ToolResult]) -> Result<(), SessionError> {
    let mut waiting: Vec<&CallId> = open.iter().map(|call| &call.id).collect();
    for result in results {
        let Some(at) = waiting.iter().position(|id| **id == result.call) else {
            let call = result.call.clone();
            return Err(match open.iter().any(|open| open.id == result.call) {
                true => SessionError::AnsweredTwice { call },
                false => SessionError::NoSuchCall { call, open: ids(open.iter().map(|call| &call.id)) },
            });
        };
        waiting.remove(at);
    }
    if waiting.is_empty() { Ok(()) } else { Err(SessionError::Unanswered { open: ids(waiting) }) }
}

fn ids<'c>(calls: impl IntoIterator<Item = &'c CallId>) -> Vec<CallId> {
    calls.into_iter().cloned().collect()
}
