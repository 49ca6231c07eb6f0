//! What a compaction by hand is asked to be: a body, and its wishes checked against each other.

use crate::api_error::ApiError;
use crate::json_body::{FOCUS_CHARS_MAX, check_chars};
use epitome_core::{EntryId, Range};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a compaction by hand is asked to be.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CompactBody {
    focus: Option<String>,
    up_to: Option<EntryId>,
    from: Option<EntryId>,
    dry_run: bool,
    /// Whether it waits until the turn that runs has ended.
    at_turn_end: bool,
    /// Settings that count for this one compaction, by their names.
    set: Map<String, Value>,
}

/// What a compaction by hand comes to, once its wishes are checked against each other.
pub(crate) enum CompactRequest {
    /// By the policy alone, when the turn that runs has ended.
    AtTurnEnd,
    /// Now.
    Now(CompactNow),
}

/// A compaction that is made, or shown, at once.
pub(crate) struct CompactNow {
    pub(crate) focus: Option<Arc<str>>,
    pub(crate) range: Range,
    pub(crate) dry_run: bool,
    pub(crate) set: Map<String, Value>,
}

impl TryFrom<CompactBody> for CompactRequest {
    type Error = ApiError;
    fn try_from(body: CompactBody) -> Result<Self, ApiError> {
        let CompactBody { focus, up_to, from, dry_run, at_turn_end, set } = body;
        check_chars("focus", focus.as_deref(), FOCUS_CHARS_MAX)?;
        if at_turn_end {
            let is_plain = focus.is_none() && up_to.is_none() && from.is_none() && !dry_run && set.is_empty();
            return is_plain
                .then_some(Self::AtTurnEnd)
                .ok_or_else(|| ApiError::Refused(NOT_AT_TURN_END.into()));
        }
        let range = match (up_to, from) {
            (Some(_), Some(_)) => return Err(ApiError::Refused(TWO_RANGES.into())),
            (Some(id), None) => Range::UpTo(id),
            (None, Some(id)) => Range::From(id),
            (None, None) => Range::All,
        };
        Ok(Self::Now(CompactNow { focus: focus.map(Into::into), range, dry_run, set }))
    }
}

const TWO_RANGES: &str = "`up_to` and `from` are two ranges; name one of them";
const NOT_AT_TURN_END: &str = "`at_turn_end` asks for a compaction by the policy alone; leave out `focus`, `up_to`, `from`, `set` and `dry_run`";
