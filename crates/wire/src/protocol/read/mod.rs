//! Reading conversations written in a provider's own form: whole request bodies, bare arrays of
//! messages, lists of either, and one message or body per line.

pub mod anthropic;
mod author;
mod bodies;
pub mod openai_chat;
pub mod openai_responses;
mod part;
mod usage;

pub(crate) use author::author_of;
pub(crate) use part::{block_of, image_at, parts_of};
pub(crate) use usage::{anthropic_usage, chat_usage, responses_usage};
