//! Putting elements behind each other: the user's side speaks once where a gap has made neighbours of two of its
//! messages, and so do instructions in the middle of an Anthropic list.

use crate::Protocol;
use crate::document::View;
use std::borrow::Cow;

/// An element on its way out.
pub(super) struct ListPiece<'e> {
    json: Cow<'e, str>,
    /// The source's elements it is made of, first and last; none once something of ours is in it.
    from: Option<(usize, usize)>,
}

impl<'e> ListPiece<'e> {
    /// The element at a place, as it came.
    pub(super) fn whole(element: &'e str, at: usize) -> Self {
        Self { json: Cow::Borrowed(element), from: Some((at, at)) }
    }

    /// What is left of the element at a place.
    pub(super) fn cut(json: Cow<'e, str>, at: usize) -> Self {
        Self { json, from: Some((at, at)) }
    }

    /// Something of ours.
    pub(super) fn own(json: String) -> Self {
        Self { json: json.into(), from: None }
    }

    /// It as it stands now.
    pub(super) fn json(&self) -> &str {
        &self.json
    }

    /// The source's elements it is made of, first and last.
    pub(super) fn from(&self) -> Option<(usize, usize)> {
        self.from
    }
}

/// Adds a piece. Where it and the one before are the user's, or an Anthropic list's instructions, and were not neighbours in the
/// source's own list, they become one message: user and assistant speak in turn. A message that says more than who speaks and what,
/// such as a name, stands by itself: those who write such servers take it so.
pub(super) fn put<'e>(protocol: Protocol, pieces: &mut Vec<ListPiece<'e>>, piece: ListPiece<'e>) {
    if let Some(last) = pieces.last_mut()
        && must_join(protocol, last, &piece)
        && let Some(json) = join(protocol, &last.json, &piece.json)
    {
        let from = last.from.zip(piece.from).filter(|((_, a), (b, _))| a == b);
        *last = ListPiece { json: json.into(), from: from.map(|((first, _), (_, last))| (first, last)) };
        return;
    }
    pieces.push(piece);
}

/// The elements of the list. In Responses a text may stand for all of it, and is a message where it does not.
pub(super) fn finish<'e>(protocol: Protocol, pieces: Vec<ListPiece<'e>>) -> Vec<Cow<'e, str>> {
    let is_alone = pieces.len() == 1;
    let element = |piece: ListPiece<'e>| match protocol {
        Protocol::OpenaiResponses if !is_alone && piece.json.starts_with('"') => {
            format!(r#"{{"role":"user","content":{}}}"#, piece.json).into()
        }
        Protocol::OpenaiResponses | Protocol::Anthropic | Protocol::OpenaiChat => piece.json,
    };
    pieces.into_iter().map(element).collect()
}

fn must_join(protocol: Protocol, before: &ListPiece<'_>, after: &ListPiece<'_>) -> bool {
    let roles: &[&str] = match protocol {
        // Of two instructions in a row the second stands behind no user's message.
        Protocol::Anthropic => &["user", "system"],
        Protocol::OpenaiChat => &["user"],
        Protocol::OpenaiResponses => &[],
    };
    let are_neighbours = matches!((before.from, after.from), (Some((_, a)), Some((b, _))) if a + 1 == b);
    let is_said_on = |role: &&str| is_of(role, &before.json) && is_of(role, &after.json);
    !are_neighbours && roles.iter().any(is_said_on) && is_plain(&after.json)
}

fn is_plain(element: &str) -> bool {
    let object = View::parse(element).ok().and_then(View::object).unwrap_or_default();
    object.rest(&["role", "content"]).is_empty()
}

fn is_of(wanted: &str, element: &str) -> bool {
    let role = View::parse(element).ok().and_then(|view| view.at(&["role"])?.text());
    role.as_deref() == Some(wanted)
}

/// Two messages of one side as one: the first, with what the second says behind it. None where one of them
/// cannot be taken apart.
fn join(protocol: Protocol, first: &str, second: &str) -> Option<String> {
    let content = |element| View::parse(element).ok()?.at(&["content"]);
    let (before, after) = (content(first)?, content(second)?);
    let both = match (protocol, unquoted(before.json()), unquoted(after.json())) {
        // Templates of strict servers take one string and no list.
        (Protocol::OpenaiChat, Some(left), Some(right)) => format!("\"{left}\\n\\n{right}\""),
        (Protocol::Anthropic | Protocol::OpenaiChat | Protocol::OpenaiResponses, _, _) => {
            format!("[{},{}]", listed(before.json())?, listed(after.json())?)
        }
    };
    let place = super::range_in(first, before.json());
    Some(format!("{}{both}{}", &first[..place.start], &first[place.end..]))
}

/// What stands between the quotes of a JSON string.
fn unquoted(json: &str) -> Option<&str> {
    json.strip_prefix('"')?.strip_suffix('"')
}

/// A content as the inside of a list of blocks; none where there is nothing in it.
fn listed(content: &str) -> Option<Cow<'_, str>> {
    if unquoted(content).is_some() {
        return Some(format!(r#"{{"type":"text","text":{content}}}"#).into());
    }
    let inside = content.strip_prefix('[')?.strip_suffix(']')?.trim();
    (!inside.is_empty()).then_some(Cow::Borrowed(inside))
}
