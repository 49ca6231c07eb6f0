//! How fast estimating and counting are: `cargo run --release -p epitome-tokens --example speed`.

use epitome_tokens::{Counter, Encoding, Family, estimate};
use std::hint::black_box;
use std::time::Instant;

const PASSES: u32 = 5;

fn main() {
    let code = include_str!("../src/estimate/table.rs").repeat(500);
    let prose = "It was a bright cold day in April, and the clocks were striking thirteen. ".repeat(50_000);
    let han = "我们需要在上下文窗口用完之前压缩对话，同时保留关键的决定和文件路径。".repeat(30_000);
    let counter = Counter::exact(Encoding::O200kBase);
    for (kind, text) in [("code", &code), ("prose", &prose), ("han", &han)] {
        let estimated = measure(text, |text| estimate(Family::Claude, text));
        let counted = measure(&text[..text.floor_char_boundary(1 << 20)], |text| counter.count_text(text));
        println!("{kind:<6} estimate {estimated:>5.0} MB/s   o200k_base {counted:>5.1} MB/s");
    }
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
