//! Taking times: several repetitions, and the middle one.

use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;

/// Times of the phases of one run, in milliseconds, in the order they were taken.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub struct Figures(serde_json::Map<String, serde_json::Value>);

impl Figures {
    /// Times `work`, `reps` times, and keeps the median under `phase`. Hands back what came of the last.
    pub fn time<T>(&mut self, phase: &str, reps: usize, mut work: impl FnMut() -> T) -> T {
        let (mut times, mut made) = (Vec::with_capacity(reps), None);
        for _ in 0..reps.max(1) {
            drop(made.take());
            let began = Instant::now();
            made = Some(black_box(work()));
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        self.put(phase, median(times));
        made.expect("there is at least one repetition")
    }

    /// Times work too short for the clock: the mean of `count` runs, the median of `reps` such means.
    pub fn time_many<T>(&mut self, phase: &str, reps: usize, count: u32, mut work: impl FnMut() -> T) {
        let mean = |_| {
            let began = Instant::now();
            for _ in 0..count {
                black_box(work());
            }
            began.elapsed().as_secs_f64() * 1e3 / f64::from(count)
        };
        self.put(phase, median((0..reps.max(1)).map(mean).collect()));
    }

    /// Keeps a time that was taken elsewhere.
    pub fn put(&mut self, phase: &str, ms: f64) {
        self.0.insert(phase.to_owned(), serde_json::json!((ms * 1e6).round() / 1e6));
    }

    /// The time of a phase, zero where it was not taken.
    pub fn ms(&self, phase: &str) -> f64 {
        self.0.get(phase).and_then(serde_json::Value::as_f64).unwrap_or_default()
    }
}

/// The middle of these times.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The processor's time this thread has had, in milliseconds; none where the system does not say. On a
/// busy machine it says more than the clock.
pub fn cpu_ms() -> Option<f64> {
    let had = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(had.split_whitespace().next()?.parse::<f64>().ok()? / 1e6)
}

/// The most memory this process ever had, in megabytes; zero where the system does not say.
pub fn peak_rss_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
