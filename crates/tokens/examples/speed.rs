//! How fast estimating and exact counting are: `cargo run --release -p epitome-tokens --example speed`.

use epitome_tokens::{Family, estimate};
use std::hint::black_box;
use std::time::Instant;

const PASSES: u32 = 5;

fn main() {
    let code = include_str!("../src/estimate/table.rs").repeat(2000);
    let prose = "It was a bright cold day in April, and the clocks were striking thirteen. ".repeat(200_000);
    let han = "我们需要在上下文窗口用完之前压缩对话，同时保留关键的决定和文件路径。".repeat(100_000);
    for (name, text) in [("code", &code), ("prose", &prose), ("han", &han)] {
        println!("estimate {name:<6} {:>6.0} MB/s", measure(text, |text| estimate(Family::Claude, text)));
    }
}

/// The best of a few passes, in megabytes per second.
fn measure(text: &str, count: impl Fn(&str) -> u64) -> f64 {
    let seconds = (0..PASSES)
        .map(|_| {
            let start = Instant::now();
            black_box(count(black_box(text)));
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    text.len() as f64 / seconds / 1e6
}
