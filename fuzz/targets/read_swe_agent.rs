//! Arbitrary bytes read as swe-agent.
#![no_main]

use epitome_wire::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| epitome_fuzz::read_as(Format::SweAgent, bytes));
