//! How fast estimating and counting are, on files of your own:
//! `cargo run --release -p epitome-tokens --example speed -- FILE...`

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a stopwatch needs a clock, and text to time"
)]

use epitome_tokens::{Counter, Encoding, Family, estimate};
use std::hint::black_box;
use std::time::Instant;

const PASSES: u32 = 5;

fn main() -> std::io::Result<()> {
    let counter = Counter::exact(Encoding::O200kBase);
    let _ = counter.count_text("the vocabulary is unpacked on first use, which is not what we measure");
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        let estimated = measure(&text, |text| estimate(Family::Claude, text));
        let counted = measure(&text, |text| text.lines().map(|line| counter.count_text(line)).sum());
        println!("estimate {estimated:>5.0} MB/s   o200k_base {counted:>5.1} MB/s   {path}");
    }
    Ok(())
}

/// The best of a few passes, in megabytes per second.
fn measure(text: &str, count: impl Fn(&str) -> u64) -> f64 {
    let seconds = |_| {
        let start = Instant::now();
        black_box(count(black_box(text)));
        start.elapsed().as_secs_f64()
    };
    text.len() as f64 / (0..PASSES).map(seconds).fold(f64::INFINITY, f64::min) / 1e6
}
