//! Base64, decoded only as far as the dimensions lie.

use super::PixelSize;
use super::header::{dimensions, is_jpeg};

/// Enough for every format but JPEG.
const HEAD_BYTES: usize = 64;

/// How far into a JPEG the size is looked for: a preview and a colour profile may come first.
const JPEG_BYTES_MAX: usize = 256 << 10;

/// The dimensions of an image in base64, or in a `data:` URL. Only its head is decoded.
#[must_use]
pub fn dimensions_base64(text: &str) -> Option<PixelSize> {
    let data = match text.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,")?.1,
        None => text,
    };
    let head = decode_head(data, HEAD_BYTES);
    dimensions(&head).or_else(|| {
        let is_longer = is_jpeg(&head) && data.len() > head.len();
        is_longer.then(|| decode_head(data, JPEG_BYTES_MAX)).and_then(|bytes| dimensions(&bytes))
    })
}

/// All the bytes of a file in base64, or in a `data:` URL.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    let data = text
        .split_once(";base64,")
        .filter(|(head, _)| head.starts_with("data:"))
        .map_or(text, |(_, data)| data);
    decode_head(data, usize::MAX)
}

/// Decodes up to `bytes_max` bytes, standard or URL alphabet, line ends passed over. Stops at the
/// first character that is not base64: what came before it may still hold the size.
fn decode_head(data: &str, bytes_max: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(bytes_max.min(data.len()));
    let (mut bits, mut count) = (0u32, 0);
    for digit in data.bytes().filter(|byte| !byte.is_ascii_whitespace()).map_while(digit) {
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
        if bytes.len() == bytes_max {
            break;
        }
    }
    bytes
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Bytes in base64, for tests.
#[cfg(test)]
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect::<Vec<_>>();
    bits.chunks(6)
        .map(|six| six.iter().fold(0, |digit, bit| digit << 1 | bit) << (6 - six.len()))
        .map(|digit| char::from(digits[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG of one pixel, as it stands in many a test.
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    #[test]
    fn an_image_in_base64_is_measured() {
        assert_eq!(dimensions_base64(PIXEL), Some(PixelSize { width: 1, height: 1 }));
    }

    #[test]
    fn an_image_in_a_data_url_is_measured() {
        let url = format!("data:image/png;base64,{PIXEL}");
        assert_eq!(dimensions_base64(&url), Some(PixelSize { width: 1, height: 1 }));
    }

    #[test]
    fn a_damaged_image_is_measured_if_its_head_is_whole() {
        let damaged = format!("{}REDACTED ?? {}", &PIXEL[..40], &PIXEL[50..]);
        assert_eq!(dimensions_base64(&damaged), Some(PixelSize { width: 1, height: 1 }));
        assert_eq!(dimensions_base64("REDACTED"), None);
        assert_eq!(dimensions_base64("data:image/png,plain"), None);
    }

    #[test]
    fn a_jpeg_is_decoded_as_far_as_its_frame_header() {
        // A segment of 300 bytes, then a frame of 16 by 8: far beyond the first 64 bytes.
        let jpeg = [&[0xFF, 0xD8, 0xFF, 0xE1, 1, 44][..], &[0; 298], &[0xFF, 0xC0, 0, 17, 8, 0, 8, 0, 16, 3]]
            .concat();
        assert_eq!(dimensions_base64(&encode(&jpeg)), Some(PixelSize { width: 16, height: 8 }));
    }
}
