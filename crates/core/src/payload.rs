//! What a block that we carry and do not read holds beside prose: pictures, files, files that stand elsewhere, and data
//! that only its provider can read. Each is counted by a rule of its own, which is the [`Measure`](crate::Measure)'s;
//! here they are found, by one table of field names and the shape of what stands in them.

use crate::{Image, Opaque};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Something in a carried block that is neither prose nor a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A file inside the block.
    File {
        /// Such as `application/pdf`; empty where nobody says.
        media_type: Arc<str>,
        /// Base64.
        data: Arc<str>,
    },
    /// A file that stands elsewhere, by its id or address.
    FileElsewhere,
    /// Data that only its provider can read, of so many characters.
    Sealed {
        /// As it is written: base64.
        chars: u64,
    },
}

/// What a carried block holds, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpaqueContents {
    /// The block as JSON, without what is counted otherwise.
    pub prose: String,
    /// Its pictures.
    pub images: Vec<Image>,
    /// Its files and sealed data.
    pub payloads: Vec<Payload>,
}

/// What a field holds, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// A file or picture, where its value is base64 or a `data:` URL.
    Data,
    /// The id or address of a file, where the block shows one.
    Elsewhere,
    /// A seal, or something sealed.
    Seal,
}

/// Fields of all providers that are not prose.
const FIELDS: [(&str, FieldKind); 16] = [
    ("data", FieldKind::Data),
    ("file_data", FieldKind::Data),
    ("image_url", FieldKind::Data),
    // Of an image that the provider made.
    ("result", FieldKind::Data),
    ("b64_json", FieldKind::Data),
    // Of a resource of an MCP server.
    ("blob", FieldKind::Data),
    ("file_id", FieldKind::Elsewhere),
    ("file_url", FieldKind::Elsewhere),
    ("fileUri", FieldKind::Elsewhere),
    ("url", FieldKind::Elsewhere),
    ("encrypted_content", FieldKind::Seal),
    ("encrypted_index", FieldKind::Seal),
    ("encrypted_stdout", FieldKind::Seal),
    ("signature", FieldKind::Seal),
    ("thought_signature", FieldKind::Seal),
    ("thoughtSignature", FieldKind::Seal),
];

/// Longer runs of base64 in any other field are data too: no word and no id is that long.
const RUN_CHARS_MIN: usize = 1_024;

/// What a block shows the model, as far as its `type` tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownMedia {
    Picture,
    File,
    /// Neither: an id in it is only an id.
    Other,
}

impl Opaque {
    /// What the block holds. One that is no JSON is sealed data as a whole.
    pub fn contents(&self) -> OpaqueContents {
        let Ok(mut value) = serde_json::from_str::<Value>(&self.json) else {
            let chars = self.json.len() as u64;
            return OpaqueContents { payloads: vec![Payload::Sealed { chars }], ..OpaqueContents::default() };
        };
        let mut contents = OpaqueContents::default();
        contents.take(&mut value, shown_by(&self.kind, ShownMedia::Other));
        contents.prose = value.to_string();
        contents
    }
}

impl OpaqueContents {
    /// Takes what is no prose out of a value.
    fn take(&mut self, value: &mut Value, shown: ShownMedia) {
        match value {
            Value::Object(fields) => self.take_fields(fields, shown),
            Value::Array(values) => values.iter_mut().for_each(|value| self.take(value, shown)),
            Value::String(text) if is_data(text) && text.len() >= RUN_CHARS_MIN => {
                let chars = std::mem::take(text).len() as u64;
                self.payloads.push(Payload::Sealed { chars });
            }
            Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn take_fields(&mut self, fields: &mut Map<String, Value>, shown: ShownMedia) {
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
        let shown = shown_by(kind, shown);
        let media_type = media_type_of(fields);
        for (name, value) in fields.iter_mut() {
            let known = FIELDS.iter().find(|(field, _)| field == name).map(|(_, kind)| *kind);
            match (value, known) {
                (Value::String(text), Some(kind)) => self.take_text(text, kind, &media_type, shown),
                (value, _) => self.take(value, shown),
            }
        }
    }

    /// Takes a field's text, where it is what its name says.
    fn take_text(&mut self, text: &mut String, kind: FieldKind, media_type: &Arc<str>, shown: ShownMedia) {
        match kind {
            FieldKind::Data if is_data(text) => self.add_file(&std::mem::take(text), media_type, shown),
            FieldKind::Elsewhere if shown == ShownMedia::Picture => {
                let data = std::mem::take(text).into();
                self.images.push(Image { media_type: media_type.clone(), data, is_url: true });
            }
            FieldKind::Elsewhere if shown == ShownMedia::File => {
                text.clear();
                self.payloads.push(Payload::FileElsewhere);
            }
            FieldKind::Seal if !text.is_empty() => {
                let chars = std::mem::take(text).len() as u64;
                self.payloads.push(Payload::Sealed { chars });
            }
            FieldKind::Data | FieldKind::Elsewhere | FieldKind::Seal => {}
        }
    }

    fn add_file(&mut self, text: &str, media_type: &Arc<str>, shown: ShownMedia) {
        let (media_type, data) = match data_url(text) {
            Some((told, data)) => (told.into(), data),
            None => (media_type.clone(), text),
        };
        let is_picture =
            media_type.starts_with("image/") || (media_type.is_empty() && shown == ShownMedia::Picture);
        let data = data.into();
        if is_picture {
            self.images.push(Image { media_type, data, is_url: false });
        } else {
            self.payloads.push(Payload::File { media_type, data });
        }
    }
}

/// What a block of this type shows; the source of a block is no block of its own.
fn shown_by(kind: &str, around: ShownMedia) -> ShownMedia {
    match kind {
        "" | "base64" | "url" | "text" | "content" => around,
        "file" if around != ShownMedia::Other => around,
        "document" | "file" | "input_file" => ShownMedia::File,
        _ if kind.contains("image") => ShownMedia::Picture,
        _ => ShownMedia::Other,
    }
}

/// What the fields beside a file say it is.
fn media_type_of(fields: &Map<String, Value>) -> Arc<str> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let told = text("media_type").or_else(|| text("mime_type")).or_else(|| text("mimeType"));
    if let Some(told) = told {
        return told.into();
    }
    // Of recordings OpenAI says only `wav` or `mp3`; of files their name.
    if let Some(format) = text("format").filter(|_| fields.contains_key("data")) {
        return format!("audio/{format}").into();
    }
    let is_pdf = text("filename").is_some_and(|name| name.to_ascii_lowercase().ends_with(".pdf"));
    if is_pdf { "application/pdf".into() } else { "".into() }
}

/// Whether a text is base64, or a `data:` URL, and no prose.
fn is_data(text: &str) -> bool {
    let digits = data_url(text).map_or(text, |(_, data)| data);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=\r\n".contains(&byte);
    !digits.is_empty() && digits.bytes().all(is_digit)
}

/// The media type and the base64 of a `data:` URL.
fn data_url(text: &str) -> Option<(&str, &str)> {
    let (media_type, data) = text.strip_prefix("data:")?.split_once(',')?;
    Some((media_type.strip_suffix(";base64")?, data))
}

#[cfg(test)]
mod tests;
