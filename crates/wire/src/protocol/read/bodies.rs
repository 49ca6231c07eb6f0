//! Where conversations are in a file of messages: it may be a body, a bare array, a list of either,
//! or one of these per line.

use crate::document::{ConversationView, ObjectView, View};

/// What a protocol calls its parts.
pub(super) struct BodyLayout {
    /// The fields that may hold the conversation, in the order they follow each other.
    pub(super) fields: &'static [&'static str],
    /// Whether an object is one message or item by itself.
    pub(super) is_element: fn(&ObjectView<'_>) -> bool,
}

impl BodyLayout {
    /// The conversations of a file, or what is missing.
    pub(super) fn bodies<'a>(&self, roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String> {
        if roots.iter().all(|&root| self.is_one(root)) {
            return Ok(vec![ConversationView { around: ObjectView::default(), elements: roots.to_vec() }]);
        }
        let found: Option<Vec<Vec<ConversationView<'a>>>> =
            roots.iter().map(|&root| self.within(root)).collect();
        found.map(|bodies| bodies.into_iter().flatten().collect()).ok_or_else(|| self.missing())
    }

    fn missing(&self) -> String {
        let fields = self.fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(" or ");
        format!("there is neither a body with {fields}, nor an array of messages, nor a list of these")
    }

    fn is_one(&self, view: View<'_>) -> bool {
        view.object().is_some_and(|object| (self.is_element)(&object))
    }

    /// The conversations in one value: its own, or those of the bodies it lists.
    fn within<'a>(&self, root: View<'a>) -> Option<Vec<ConversationView<'a>>> {
        if let Some(body) = self.body(root) {
            return Some(vec![body]);
        }
        root.list()?.into_iter().map(|listed| self.body(listed)).collect()
    }

    fn body<'a>(&self, view: View<'a>) -> Option<ConversationView<'a>> {
        let (around, elements) = match view.object() {
            Some(around) => {
                let held = self.fields.iter().filter_map(|field| around.get(field));
                let lists: Option<Vec<Vec<View<'a>>>> = held.map(elements_of).collect();
                (around, lists.filter(|lists| !lists.is_empty())?.concat())
            }
            None => (ObjectView::default(), view.list()?),
        };
        let is_ours = elements.first().is_none_or(|&first| first.text().is_some() || self.is_one(first));
        is_ours.then_some(ConversationView { around, elements })
    }
}

/// What a field holds: a list, or a bare string in the place of one.
fn elements_of(field: View<'_>) -> Option<Vec<View<'_>>> {
    field.list().or_else(|| field.text().map(|_| vec![field]))
}
