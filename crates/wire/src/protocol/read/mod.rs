//! Reading conversations written in a provider's own form: whole request bodies, bare arrays of
//! messages, lists of either, and one message or body per line.

pub(crate) mod anthropic;
mod author;
mod bodies;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
mod part;
mod shape;
mod usage;

pub(crate) use author::author_of;
pub(crate) use part::{block_of, image_at, part as content_part, parts_of};
pub(crate) use shape::protocol_of;
pub(crate) use usage::{anthropic_usage, chat_usage, responses_usage};
