//! Reading conversations written in a provider's own form: whole request bodies, bare arrays of
//! messages, lists of either, and one message or body per line.

pub mod anthropic;
mod author;
mod bodies;
mod image;
pub mod openai_chat;
pub mod openai_responses;
mod usage;

pub(crate) use author::author_of;
pub(crate) use image::{block_of, image_at, parts_of};
pub(crate) use usage::chat_usage;
