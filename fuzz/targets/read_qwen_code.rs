//! Arbitrary bytes read as qwen-code.
#![no_main]

use epitome_wire::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| epitome_fuzz::read_as(Format::QwenCode, bytes));
