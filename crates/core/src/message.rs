//! What someone said: a message and its blocks, the same for every provider and transcript.

use crate::CallId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// On which side of the conversation a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions given in the middle of a history; the system prompt itself is not a message.
    System,
    /// The side that asks: people, and whoever speaks for them.
    User,
    /// The model.
    Assistant,
    /// Results of tool calls, alone.
    Tool,
}

/// Who wrote a message. The user's side is not always a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// Typed by a person (or by whatever drives the agent in their place).
    Person,
    /// Put in by the harness: reminders, echoed commands, notices, earlier summaries.
    Harness,
    /// Written by the model.
    Model,
    /// Produced by a tool.
    Tool,
}

/// One message, whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// On which side it stands.
    pub role: Role,
    /// Who wrote it.
    pub author: Author,
    /// What it consists of, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "block", rename_all = "lowercase")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// Reasoning. With a signature or as unreadable data it is kept whole or left out whole.
    Thinking {
        /// The readable part, possibly empty.
        text: Arc<str>,
        /// The provider's seal, or the encrypted reasoning itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Arc<str>>,
        /// Whether only unreadable data came (`redacted_thinking`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    /// A call of a tool.
    Call(Call),
    /// What a tool answered.
    Result(ToolResult),
    /// A picture.
    Image(Image),
    /// Something we carry and do not read.
    Opaque(Opaque),
}

/// A call of a tool by the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// Shared with the result.
    pub id: CallId,
    /// The tool's name.
    pub name: Arc<str>,
    /// The arguments as they came: JSON text, byte for byte, or free text for tools that take it.
    pub input: Arc<str>,
    /// Whether `input` is free text rather than a JSON object (`apply_patch` and its like).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub freeform: bool,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call: CallId,
    /// What came back, in order.
    pub parts: Vec<ResultPart>,
    /// Whether the tool said it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A piece of a tool result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "lowercase")]
pub enum ResultPart {
    /// Plain text.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// A picture.
    Image(Image),
    /// Something we carry and do not read.
    Opaque(Opaque),
}

/// A picture, by reference or inline.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// Such as `image/png`; empty where unknown.
    pub media_type: Arc<str>,
    /// Base64 data, or a URL where `is_url`.
    pub data: Arc<str>,
    /// Whether `data` is a URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_url: bool,
}

/// A block in a provider's own form that we pass on and do not interpret.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Opaque {
    /// Its `type` there.
    pub kind: Arc<str>,
    /// The block as it came: JSON text.
    pub json: Arc<str>,
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl Call {
    /// What its tool answers.
    pub fn answer(&self, text: impl Into<Arc<str>>) -> ToolResult {
        let parts = vec![ResultPart::Text { text: text.into() }];
        ToolResult { call: self.id.clone(), parts, is_error: false }
    }

    /// What is answered where its tool failed, or there is none of that name.
    pub fn fail(&self, text: impl Into<Arc<str>>) -> ToolResult {
        ToolResult { is_error: true, ..self.answer(text) }
    }
}

impl ToolResult {
    /// The readable text of the result, its parts joined by newlines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(ResultPart::as_text).collect();
        texts.join("\n")
    }
}

impl ResultPart {
    /// The text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image(_) | Self::Opaque(_) => None,
        }
    }
}

impl Message {
    /// A message of one text block.
    pub fn text(role: Role, author: Author, text: impl Into<Arc<str>>) -> Self {
        Self { role, author, blocks: vec![Block::text(text)] }
    }

    /// Whether the harness put it on the model's or a tool's side: a demonstration of another run, a reply made up in
    /// the model's place. Nothing of it was said or done in this conversation.
    pub fn is_staged(&self) -> bool {
        self.author == Author::Harness && matches!(self.role, Role::Assistant | Role::Tool)
    }

    /// The calls it makes.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::Result(_)
            | Block::Image(_)
            | Block::Opaque(_) => None,
        })
    }

    /// What it carries and we do not read.
    pub fn opaque(&self) -> impl Iterator<Item = &Opaque> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Opaque(opaque) => Some(opaque),
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::Call(_)
            | Block::Result(_)
            | Block::Image(_) => None,
        })
    }

    /// The results it brings.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Result(result) => Some(result),
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::Call(_)
            | Block::Image(_)
            | Block::Opaque(_) => None,
        })
    }

    /// The pictures in it, those that its results bring included.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let brought = self.results().flat_map(|result| &result.parts).filter_map(|part| match part {
            ResultPart::Image(image) => Some(image),
            ResultPart::Text { .. } | ResultPart::Opaque(_) => None,
        });
        let said = self.blocks.iter().filter_map(|block| match block {
            Block::Image(image) => Some(image),
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::Call(_)
            | Block::Result(_)
            | Block::Opaque(_) => None,
        });
        said.chain(brought)
    }

    /// What was said in it: its text blocks, joined by newlines.
    pub fn said(&self) -> String {
        self.texts().collect::<Vec<_>>().join("\n")
    }

    /// Its text blocks.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_ref()),
            Block::Thinking { .. }
            | Block::Call(_)
            | Block::Result(_)
            | Block::Image(_)
            | Block::Opaque(_) => None,
        })
    }
}
