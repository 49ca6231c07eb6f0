//! Pieces of content as OpenAI's protocols write them: texts, pictures by URL or inside one, and the rest.

use crate::document::View;
use crate::validate::inline_data;
use epitome_core::{Block, Image, Opaque, ResultPart};

/// The picture a URL stands for; a `data:` URL holds it.
pub(crate) fn image_at(url: &str) -> Image {
    match inline_data(url) {
        Some((media_type, data)) => Image { media_type: media_type.into(), data: data.into(), is_url: false },
        None => Image { media_type: "".into(), data: url.into(), is_url: true },
    }
}

/// A part that is no object: a string, or something that does not belong there and is carried. None
/// for a text that says nothing.
pub(crate) fn bare(view: View<'_>) -> Option<ResultPart> {
    match view.text() {
        Some(text) => (!text.is_empty()).then(|| ResultPart::Text { text: text.into() }),
        None => Some(ResultPart::Opaque(Opaque { kind: "".into(), json: view.json().into() })),
    }
}

/// A content part in any of the forms OpenAI's protocols use: text, a picture, or something we carry.
pub(crate) fn part(view: View<'_>) -> Option<ResultPart> {
    let Some(part) = view.object() else { return bare(view) };
    let kind = part.shared("type");
    let url = part.get("image_url").and_then(|url| url.text().or_else(|| url.at(&["url"])?.text()));
    match (&*kind, part.text("text").or_else(|| part.text("refusal")), url) {
        ("text" | "input_text" | "output_text" | "refusal" | "", Some(text), _) => {
            (!text.is_empty()).then(|| ResultPart::Text { text: text.into() })
        }
        ("image_url" | "input_image" | "computer_screenshot", _, Some(url)) => {
            Some(ResultPart::Image(image_at(&url)))
        }
        _ => Some(ResultPart::Opaque(Opaque { kind, json: view.json().into() })),
    }
}

/// A part as a block of a message.
pub(crate) fn block_of(part: ResultPart) -> Block {
    match part {
        ResultPart::Text { text } => Block::Text { text },
        ResultPart::Image(image) => Block::Image(image),
        ResultPart::Opaque(opaque) => Block::Opaque(opaque),
    }
}

/// The parts of a content field: a string, or a list of parts.
pub(crate) fn parts_of(content: Option<View<'_>>) -> Vec<ResultPart> {
    let Some(content) = content else { return Vec::new() };
    match content.list() {
        Some(list) => list.into_iter().filter_map(part).collect(),
        None => part(content).into_iter().collect(),
    }
}
