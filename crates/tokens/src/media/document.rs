//! How many pages a document has: read from a PDF whose page objects stand open, guessed by its bytes otherwise.

use memchr::memmem;

/// Bytes of a page whose number cannot be read: between a page of plain text and one with pictures.
const PAGE_BYTES: u64 = 50_000;
/// Providers take no longer document; a guess beyond it says nothing.
const GUESSED_PAGES_MAX: u64 = 100;
/// The longest document any provider takes; a larger number in a file is a slip or a lie.
const PAGES_MAX: u64 = 1_000;

pub(super) fn is_pdf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"%PDF-")
}

/// The pages of a document, at least one.
pub(super) fn pages(bytes: &[u8]) -> u64 {
    let seen = if is_pdf(bytes) { page_objects(bytes).max(page_count(bytes)) } else { 0 };
    let guessed = (bytes.len() as u64).div_ceil(PAGE_BYTES).clamp(1, GUESSED_PAGES_MAX);
    if seen > 0 { seen.min(PAGES_MAX) } else { guessed }
}

/// Objects that say `/Type /Page`; they are out of sight where the file packs its objects into streams.
fn page_objects(bytes: &[u8]) -> u64 {
    let is_page = |at: usize| {
        let value = bytes[at + TYPE.len()..].trim_ascii_start();
        let rest = value.strip_prefix(b"/Page");
        rest.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphabetic))
    };
    memmem::find_iter(bytes, TYPE).filter(|&at| is_page(at)).count() as u64
}

/// The largest number behind a `/Count`: the root of the pages has it.
fn page_count(bytes: &[u8]) -> u64 {
    let number = |at: usize| {
        let digits = bytes[at + COUNT.len()..].trim_ascii_start();
        let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
        std::str::from_utf8(&digits[..end]).ok()?.parse::<u64>().ok()
    };
    let counts = memmem::find_iter(bytes, COUNT).filter_map(number);
    counts.filter(|count| *count <= PAGES_MAX).max().unwrap_or_default()
}

const TYPE: &[u8] = b"/Type";
const COUNT: &[u8] = b"/Count";
