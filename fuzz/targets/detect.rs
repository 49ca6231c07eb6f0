//! Arbitrary bytes read as what they look like.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| epitome_fuzz::read_detected(bytes));
