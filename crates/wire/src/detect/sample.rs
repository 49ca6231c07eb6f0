//! One JSON value from the beginning of a file, taken apart once for every format that is asked whether
//! the value is its own. The questions themselves are in the formats' modules.

use crate::Protocol;
use crate::document::{ObjectView, View};
use crate::protocol::read::protocol_of;
use std::borrow::Cow;
use std::cell::OnceCell;

/// A value to be recognised.
pub(crate) struct DetectSample<'a> {
    /// The value itself.
    pub(crate) value: View<'a>,
    /// Its fields; none where it is no object.
    pub(crate) object: ObjectView<'a>,
    /// Its elements, where it is a list.
    pub(crate) list: Option<Vec<View<'a>>>,
    /// The elements of its `messages`, where it has such a list.
    pub(crate) messages: Option<Vec<View<'a>>>,
    kind: Cow<'a, str>,
    protocol: OnceCell<Option<Protocol>>,
}

impl<'a> From<View<'a>> for DetectSample<'a> {
    fn from(value: View<'a>) -> Self {
        let object = value.object().unwrap_or_default();
        Self {
            value,
            list: value.list(),
            messages: object.get("messages").and_then(View::list),
            kind: object.text("type").unwrap_or_default(),
            object,
            protocol: OnceCell::new(),
        }
    }
}

impl<'a> DetectSample<'a> {
    /// Whether it has this field.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.object.has(key)
    }

    /// Its `type`, where it can be a line of a log: documents have none, or hold messages.
    pub(crate) fn line_kind(&self) -> Option<&str> {
        Some(&*self.kind).filter(|kind| !kind.is_empty() && !self.has("messages"))
    }

    /// The first of its messages.
    pub(crate) fn first_message(&self) -> Option<View<'a>> {
        self.messages.as_ref()?.first().copied()
    }

    /// The first element of a field that is a list.
    pub(crate) fn first_of(&self, key: &str) -> Option<View<'a>> {
        self.object.list(key).first().copied()
    }

    /// The protocol it is a body, a message or a list of messages of. All three protocols ask this, and the
    /// answer takes looking at many messages.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        *self.protocol.get_or_init(|| protocol_of(self))
    }
}

/// Whether a value has a `role`, as messages do.
pub(crate) fn has_role(view: View<'_>) -> bool {
    view.at(&["role"]).is_some()
}
