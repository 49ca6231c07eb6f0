//! The shapes of Anthropic's content blocks.

use super::super::picture::Picture;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A content block: one of ours, or one as it came.
#[derive(Serialize)]
#[serde(untagged)]
pub(in super::super) enum AnthropicBlock<'a> {
    Own(OwnBlock<'a>),
    Raw(Box<RawValue>),
    RawThinking(Box<RawValue>),
}

/// What a message says: blocks, or a text as it came.
#[derive(Serialize)]
#[serde(untagged)]
pub(in super::super) enum AnthropicContent<'a> {
    Text(Box<RawValue>),
    Blocks(Vec<AnthropicBlock<'a>>),
}

/// A text block around a text as it came.
#[derive(Serialize)]
struct RawText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a RawValue,
}

impl<'a> AnthropicContent<'a> {
    /// A text that was all of a message stays one; among others it is a block.
    pub(in super::super) fn of(mut blocks: Vec<AnthropicBlock<'a>>) -> Self {
        if let [AnthropicBlock::Raw(raw)] = &blocks[..]
            && raw.get().starts_with('"')
        {
            return Self::Text(raw.clone());
        }
        for block in &mut blocks {
            if let AnthropicBlock::Raw(raw) = block
                && raw.get().starts_with('"')
            {
                *block = AnthropicBlock::Raw(super::super::raw(&RawText { kind: "text", text: raw }));
            }
        }
        Self::Blocks(blocks)
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum OwnBlock<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    Image {
        source: ImageSource<'a>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<AnthropicBlock<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in super::super) enum ImageSource<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

impl<'a> AnthropicBlock<'a> {
    pub(in super::super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Own(OwnBlock::Text { text: text.into() })
    }

    pub(in super::super) fn thinking(thinking: &'a str, signature: &'a str) -> Self {
        Self::Own(OwnBlock::Thinking { thinking, signature })
    }

    pub(in super::super) fn redacted(data: &'a str) -> Self {
        Self::Own(OwnBlock::RedactedThinking { data })
    }

    pub(in super::super) fn call(id: &str, name: String, input: Box<RawValue>) -> Self {
        Self::Own(OwnBlock::ToolUse { id: id.to_owned(), name, input })
    }

    pub(in super::super) fn result(id: &str, content: Vec<Self>, is_error: bool) -> Self {
        Self::Own(OwnBlock::ToolResult { tool_use_id: id.to_owned(), content, is_error })
    }

    pub(in super::super) fn raw(raw: Box<RawValue>) -> Self {
        Self::Raw(raw)
    }

    pub(in super::super) fn is_thinking(&self) -> bool {
        matches!(
            self,
            Self::Own(OwnBlock::Thinking { .. } | OwnBlock::RedactedThinking { .. }) | Self::RawThinking(_)
        )
    }
}

pub(in super::super) fn image(picture: Picture<'_>) -> AnthropicBlock<'_> {
    let source = match picture {
        Picture::Data { media_type, data } => ImageSource::Base64 { media_type, data },
        Picture::Url(url) => ImageSource::Url { url },
    };
    AnthropicBlock::Own(OwnBlock::Image { source })
}
