//! The shapes of Responses items.

use serde::Serialize;
use serde_json::value::RawValue;

/// An item: one of ours, or one as it came.
#[derive(Serialize)]
#[serde(untagged)]
pub(in super::super) enum Item<'a> {
    Own(OwnItem<'a>),
    Reasoning(Box<RawValue>),
    Raw(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum OwnItem<'a> {
    Message { role: &'static str, content: Vec<ItemPart> },
    FunctionCall { call_id: String, name: String, arguments: String },
    FunctionCallOutput { call_id: String, output: Output },
    CustomToolCall { call_id: String, name: String, input: &'a str },
    CustomToolCallOutput { call_id: String, output: Output },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(in super::super) enum Output {
    Text(String),
    Parts(Vec<ItemPart>),
}

/// A part of a message or an output: one of ours, or one as it came.
#[derive(Serialize)]
#[serde(untagged)]
pub(in super::super) enum ItemPart {
    Own(ResponsesPart),
    Raw(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum ResponsesPart {
    InputText { text: String },
    InputImage { image_url: String },
    OutputText { text: String },
}

/// Adds a part to the last message where `role` wrote it, else begins a message.
pub(in super::super) fn say(items: &mut Vec<Item<'_>>, role: &'static str, part: ItemPart) {
    match items.last_mut() {
        Some(Item::Own(OwnItem::Message { role: last, content })) if *last == role => content.push(part),
        Some(_) | None => items.push(Item::Own(OwnItem::Message { role, content: vec![part] })),
    }
}

impl ItemPart {
    pub(in super::super) fn input(text: String) -> Self {
        Self::Own(ResponsesPart::InputText { text })
    }

    pub(in super::super) fn output(text: String) -> Self {
        Self::Own(ResponsesPart::OutputText { text })
    }

    pub(in super::super) fn image(image_url: String) -> Self {
        Self::Own(ResponsesPart::InputImage { image_url })
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Own(ResponsesPart::InputText { text } | ResponsesPart::OutputText { text }) => Some(text),
            Self::Own(ResponsesPart::InputImage { .. }) | Self::Raw(_) => None,
        }
    }
}

impl Output {
    /// One string where it is all text, else the parts themselves.
    pub(in super::super) fn of(parts: Vec<ItemPart>) -> Self {
        let texts: Option<Vec<&str>> = parts.iter().map(ItemPart::as_text).collect();
        match texts {
            Some(texts) => Self::Text(texts.join("\n")),
            None => Self::Parts(parts),
        }
    }
}

impl<'a> Item<'a> {
    pub(in super::super) fn function_call(call_id: String, name: String, arguments: String) -> Self {
        Self::Own(OwnItem::FunctionCall { call_id, name, arguments })
    }

    pub(in super::super) fn function_output(call_id: String, output: Output) -> Self {
        Self::Own(OwnItem::FunctionCallOutput { call_id, output })
    }

    pub(in super::super) fn custom_call(call_id: String, name: String, input: &'a str) -> Self {
        Self::Own(OwnItem::CustomToolCall { call_id, name, input })
    }

    pub(in super::super) fn custom_output(call_id: String, output: Output) -> Self {
        Self::Own(OwnItem::CustomToolCallOutput { call_id, output })
    }
}
