//! Blocks in a provider's own form, passed on as they came or not at all.

use super::input::json;
use super::raw;
use crate::validate::is_base64;
use epitome_core::Opaque;
use serde_json::{Value, value::RawValue};

/// An opaque block that can be written: well-formed, and what it says it is.
pub(super) struct SealedBlock {
    pub(super) value: Value,
    pub(super) raw: Box<RawValue>,
}

impl SealedBlock {
    pub(super) fn of(opaque: &Opaque) -> Option<Self> {
        let (value, raw) = json(&opaque.json)?;
        let sealed = Self { value, raw };
        (sealed.text("type") == Some(&opaque.kind)).then(|| sealed.without_cache_mark())
    }

    pub(super) fn kind(&self) -> &str {
        self.text("type").unwrap_or_default()
    }

    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.value.get(field).and_then(Value::as_str)
    }

    /// Whether the encrypted part is there and was not damaged by redaction.
    pub(super) fn has_intact(&self, field: &str) -> bool {
        self.text(field).is_some_and(is_intact)
    }

    /// Cache marks are the sender's to place, and only four fit in a request.
    fn without_cache_mark(mut self) -> Self {
        if let Some(fields) = self.value.as_object_mut()
            && fields.shift_remove("cache_control").is_some()
        {
            self.raw = raw(&self.value);
        }
        self
    }
}

/// Whether encrypted data is whole. Encrypted items use the URL alphabet too, and need not be padded.
pub(super) fn is_intact(seal: &str) -> bool {
    let standard = seal.trim_end_matches('=').replace('-', "+").replace('_', "/");
    let padded = standard.len().next_multiple_of(4);
    is_base64(&format!("{standard:=<padded$}"))
}
