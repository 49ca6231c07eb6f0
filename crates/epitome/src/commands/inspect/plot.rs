//! The plots of the page: the request over time beside the window, and what each day cost. Plain SVG.

use super::html::escaped;
use super::survey::Survey;
use super::words;
use crate::draw::grouped;
use epitome_tokens::Bill;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The drawing's own units; the page scales it to its width.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 220.0;
/// What the scale beside a plot takes.
const LEFT: f64 = 62.0;
/// What the words below it take.
const BELOW: f64 = 20.0;
/// A plot has no more points than it has pixels to show.
const POINTS_MAX: usize = 600;
/// Days in a plot; more are too narrow to be told apart.
const DAYS_MAX: usize = 60;

/// The request before each message, with the window and the compactions.
pub fn over_time(survey: &Survey) -> String {
    let amounts = &survey.fill.over_time;
    if amounts.len() < 2 {
        return String::new();
    }
    let window = survey.window.tokens.0;
    let most = amounts.iter().copied().max().unwrap_or(0);
    // A window that is hardly used would press the line to the floor.
    let shows_window = most.saturating_mul(5) >= window;
    let top = if shows_window { most.max(window) } else { most }.max(1) as f64 * 1.1;
    let y = |tokens: u64| (HEIGHT - BELOW) * (1.0 - tokens as f64 / top);
    let x = |at: usize| LEFT + (WIDTH - LEFT) * at as f64 / (amounts.len() - 1) as f64;
    let stretch = amounts.len().div_ceil(POINTS_MAX).max(1);
    let mut line = String::new();
    for (nth, part) in amounts.chunks(stretch).enumerate() {
        let largest = part.iter().copied().max().unwrap_or(0);
        let _ = write!(line, " {:.1},{:.1}", x((nth * stretch).min(amounts.len() - 1)), y(largest));
    }
    let last = amounts.last().copied().unwrap_or(0);
    let _ = write!(line, " {:.1},{:.1}", x(amounts.len() - 1), y(last));
    let floor = HEIGHT - BELOW;
    let mut svg = scale(top, y);
    let _ = write!(
        svg,
        "<polygon class=\"area\" points=\"{LEFT},{floor}{line} {WIDTH},{floor}\"/><polyline class=\"edge\" points=\"{}\"/>",
        line.trim_start()
    );
    if shows_window {
        let at = y(window);
        let _ = write!(
            svg,
            "<line class=\"limit\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">window {}</text>",
            at - 4.0,
            grouped(window)
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\">first message</text><text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">now</text>",
        HEIGHT - 4.0,
        HEIGHT - 4.0
    );
    let about = format!(
        "The request over {} messages, at most {} tokens",
        grouped(amounts.len() as u64),
        grouped(most)
    );
    drawing(&about, &svg)
}

/// Lines and figures of a scale.
fn scale(top: f64, y: impl Fn(u64) -> f64) -> String {
    let step = step_of(top / 4.0);
    let mut svg = String::new();
    // Counted by steps: what stands near the largest number there is has no next one.
    for nth in 0..=(top / step as f64) as u64 {
        let at = step.saturating_mul(nth);
        let height = y(at);
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{height:.1}\" y2=\"{height:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            height + 4.0,
            grouped(at)
        );
    }
    svg
}

/// A round number near `about`: 1, 2 or 5 and noughts.
fn step_of(about: f64) -> u64 {
    let mut ten = 1;
    while (ten * 10) as f64 <= about {
        ten *= 10;
    }
    let round = [1, 2, 5, 10].into_iter().map(|digit| digit * ten).find(|step| *step as f64 >= about);
    round.unwrap_or(ten).max(1)
}

/// What each day cost; nothing where there is one day, or a price is missing.
pub fn by_day(bill: &Bill) -> String {
    let mut days: BTreeMap<&str, f64> = BTreeMap::new();
    for line in &bill.lines {
        let (Some(day), Some(dollars)) = (line.day.as_deref(), line.line.dollars) else {
            return String::new();
        };
        *days.entry(day).or_default() += dollars;
    }
    if days.len() < 2 {
        return String::new();
    }
    let days: Vec<(&str, f64)> = days.into_iter().collect();
    let days = &days[days.len().saturating_sub(DAYS_MAX)..];
    let most = days.iter().map(|(_, dollars)| *dollars).fold(0.01, f64::max);
    let (height, floor) = (120.0, 100.0);
    let cell = WIDTH / days.len() as f64;
    let wide = (cell * 0.7).min(60.0);
    let mut svg = String::new();
    for (at, (day, dollars)) in days.iter().enumerate() {
        let middle = cell * (at as f64 + 0.5);
        let tall = (floor - 16.0) * dollars / most;
        let price = words::dollars(Some(*dollars));
        let _ = write!(
            svg,
            "<rect class=\"area\" style=\"fill-opacity:.7\" x=\"{:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{tall:.1}\" rx=\"2\"><title>{day}: {price}</title></rect>",
            middle - wide / 2.0,
            floor - tall
        );
        if days.len() <= 14 {
            let _ = write!(
                svg,
                "<text x=\"{middle:.1}\" y=\"{height}\" text-anchor=\"middle\">{}</text><text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{price}</text>",
                escaped(day.get(5..).unwrap_or(day)),
                floor - tall - 4.0
            );
        }
    }
    let about = format!("What each of {} days cost, at most {}", days.len(), words::dollars(Some(most)));
    drawing_of(&about, &svg, height + 4.0)
}

fn drawing(about: &str, svg: &str) -> String {
    drawing_of(about, svg, HEIGHT)
}

fn drawing_of(about: &str, svg: &str, height: f64) -> String {
    let about = escaped(about);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{about}\"><title>{about}</title>{svg}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::step_of;

    #[test]
    fn a_scale_has_round_steps() {
        assert_eq!([0.3, 3.0, 42_000.0, 52_500.0, 262_500.0].map(step_of), [1, 5, 50_000, 100_000, 500_000]);
    }
}
