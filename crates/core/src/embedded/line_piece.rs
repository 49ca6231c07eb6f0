//! The piece of a long line that is quoted for a value in it: cells of one size, cut at spaces.

/// Lines are cut into pieces of at most this many bytes; more is no line but data.
const LINE_BYTES_MAX: usize = 220;

/// The piece of `line` around `value`, as a span of `text`. A long line is cut at spaces.
pub(super) fn piece_around(text: &str, line: &str, value: &str) -> (u32, u32) {
    let start = line.as_ptr() as usize - text.as_ptr() as usize;
    if line.len() <= LINE_BYTES_MAX {
        return (start as u32, (start + line.len()) as u32);
    }
    let at = value.as_ptr() as usize - line.as_ptr() as usize;
    let cell = at / LINE_BYTES_MAX * LINE_BYTES_MAX;
    let from = boundary_before(line, cell);
    let to = boundary_after(line, (cell + LINE_BYTES_MAX).max(at + value.len()).min(line.len()));
    ((start + from) as u32, (start + to) as u32)
}

/// How far a piece may reach to end at a space.
const REACH_BYTES: usize = 40;

fn boundary_before(line: &str, at: usize) -> usize {
    let floor = line.floor_char_boundary(at.saturating_sub(REACH_BYTES));
    let at = line.floor_char_boundary(at);
    line[floor..at].find(' ').map_or(at, |step| floor + step + 1)
}

fn boundary_after(line: &str, at: usize) -> usize {
    let at = line.ceil_char_boundary(at);
    let ceiling = line.floor_char_boundary((at + REACH_BYTES).min(line.len())).max(at);
    line[at..ceiling].find(' ').map_or(at, |step| at + step)
}
