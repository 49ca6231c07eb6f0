//! Arbitrary bytes read as openai-chat.
#![no_main]

use epitome_wire::{Format, Protocol};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| epitome_fuzz::read_as(Format::Body(Protocol::OpenaiChat), bytes));
