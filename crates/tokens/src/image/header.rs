//! Reading an image's dimensions from the first bytes of the file, format by format.

use super::PixelSize;

/// The dimensions of a PNG, JPEG, GIF or WebP, from its first bytes; nothing for anything else,
/// or where the bytes end too early. A JPEG may need a few hundred kilobytes, the others need 30 bytes.
#[must_use]
pub fn dimensions(bytes: &[u8]) -> Option<PixelSize> {
    let size = match bytes {
        [0x89, b'P', b'N', b'G', ..] => png(bytes),
        [0xFF, 0xD8, 0xFF, ..] => jpeg(bytes),
        [b'G', b'I', b'F', b'8', ..] => gif(bytes),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(bytes),
        _ => None,
    };
    size.filter(|size| size.width > 0 && size.height > 0)
}

/// Whether the bytes begin a JPEG.
pub(super) fn is_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xFF, 0xD8, 0xFF])
}

/// Signature, length and name of the first chunk, then width and height.
fn png(bytes: &[u8]) -> Option<PixelSize> {
    let is_header = bytes.get(12..16)? == b"IHDR";
    is_header.then_some(PixelSize { width: big_u32(bytes, 16)?, height: big_u32(bytes, 20)? })
}

fn gif(bytes: &[u8]) -> Option<PixelSize> {
    Some(PixelSize { width: little_u16(bytes, 6)?, height: little_u16(bytes, 8)? })
}

/// Segments of a marker and a length, up to the frame header that holds the size.
fn jpeg(bytes: &[u8]) -> Option<PixelSize> {
    let mut at = 2;
    loop {
        let marker = marker(bytes, &mut at)?;
        match marker {
            // Frame headers, all but the three of their range that mean something else.
            0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                return Some(PixelSize { height: big_u16(bytes, at + 3)?, width: big_u16(bytes, at + 5)? });
            }
            // Markers that stand alone.
            0x01 | 0xD0..=0xD7 => {}
            // The picture itself begins or ends before any frame header.
            0xD9 | 0xDA => return None,
            _ => at += usize::try_from(big_u16(bytes, at)?).ok()?.max(2),
        }
    }
}

/// The next marker: 0xFF, perhaps repeated, and a code. Leaves `at` behind it.
fn marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    if *bytes.get(*at)? != 0xFF {
        return None;
    }
    while *bytes.get(*at)? == 0xFF {
        *at += 1;
    }
    *at += 1;
    bytes.get(*at - 1).copied()
}

/// Three kinds of first chunk, each with its own way of writing the size.
fn webp(bytes: &[u8]) -> Option<PixelSize> {
    match bytes.get(12..16)? {
        b"VP8 " => Some(PixelSize {
            width: little_u16(bytes, 26)? & 0x3FFF,
            height: little_u16(bytes, 28)? & 0x3FFF,
        }),
        b"VP8L" => {
            let bits = little_u24(bytes, 21)? | u32::from(*bytes.get(24)?) << 24;
            Some(PixelSize { width: (bits & 0x3FFF) + 1, height: (bits >> 14 & 0x3FFF) + 1 })
        }
        b"VP8X" => Some(PixelSize { width: little_u24(bytes, 24)? + 1, height: little_u24(bytes, 27)? + 1 }),
        _ => None,
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn big_u32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

fn big_u16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u16::from_be_bytes).map(u32::from)
}

fn little_u16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u16::from_le_bytes).map(u32::from)
}

fn little_u24(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|[low, middle, high]| u32::from_le_bytes([low, middle, high, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(parts: &[&[u8]]) -> Option<(u32, u32)> {
        dimensions(&parts.concat()).map(|size| (size.width, size.height))
    }

    #[test]
    fn a_png_says_its_size_in_its_first_chunk() {
        let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(size(&[head, &[0, 0, 7, 128, 0, 0, 4, 56]]), Some((1920, 1080)));
        assert_eq!(size(&[head, &[0, 0, 7]]), None);
    }

    #[test]
    fn a_jpeg_says_its_size_behind_its_other_segments() {
        let exif = [0xFF, 0xE1, 0, 6, 1, 2, 3, 4];
        let tables = [0xFF, 0xFF, 0xC4, 0, 3, 0];
        let frame = [0xFF, 0xC2, 0, 17, 8, 4, 56, 7, 128];
        assert_eq!(size(&[&[0xFF, 0xD8], &exif, &tables, &frame]), Some((1920, 1080)));
        assert_eq!(size(&[&[0xFF, 0xD8], &exif, &[0xFF, 0xDA]]), None);
    }

    #[test]
    fn a_gif_says_its_size_at_once() {
        assert_eq!(size(&[b"GIF89a", &[128, 7, 56, 4]]), Some((1920, 1080)));
    }

    #[test]
    fn a_webp_says_its_size_in_one_of_three_ways() {
        let lossy = [&[0; 6][..], &[128, 7, 56, 4]].concat();
        assert_eq!(size(&[b"RIFF\0\0\0\0WEBPVP8 ", &[0; 4], &lossy]), Some((1920, 1080)));
        let lossless = (1919u32 | 1079 << 14).to_le_bytes();
        assert_eq!(size(&[b"RIFF\0\0\0\0WEBPVP8L", &[0; 4], &[0x2F], &lossless]), Some((1920, 1080)));
        let extended = [0, 0, 0, 0, 127, 7, 0, 55, 4, 0];
        assert_eq!(size(&[b"RIFF\0\0\0\0WEBPVP8X", &[0; 4], &extended]), Some((1920, 1080)));
    }

    #[test]
    fn an_image_of_no_width_has_no_size() {
        assert_eq!(size(&[b"GIF89a", &[0, 0, 56, 4]]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_failing(start in 0..5usize, bytes: Vec<u8>) {
            let starts: [&[u8]; 5] = [b"", b"\x89PNG", b"\xFF\xD8\xFF", b"GIF8", b"RIFF\0\0\0\0WEBPVP8X"];
            let _ = dimensions(&[starts[start], &bytes].concat());
        }
    }
}
