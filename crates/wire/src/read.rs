//! Reading a file of any format: the format named or detected, then that row's reader of
//! [`FORMATS`](crate::FORMATS).

use crate::{ByteSource, Format, ReadError, Transcript, detect};
use epitome_core::Measure;
use std::sync::Arc;

/// Reads a transcript in the format it is said to have, or in the one it looks like.
pub fn read(
    source: Arc<dyn ByteSource>,
    from: Option<Format>,
    measure: &dyn Measure,
) -> Result<Transcript, ReadError> {
    let format = match from {
        Some(format) => format,
        None => detect(&[], &*source)?,
    };
    (format.row().read)(source, measure)
}
