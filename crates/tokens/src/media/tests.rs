//! Files of known length, in base64.

use crate::image::encode;
use crate::{Counter, Encoding, Family};

fn claude() -> Counter {
    Counter::for_model(&crate::Catalog::built_in().find("claude-sonnet-4-5"))
}

/// A WAV file of so many seconds: 16,000 samples a second of two bytes.
fn wav(seconds: usize) -> Vec<u8> {
    let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    bytes.extend(16_000_u32.to_le_bytes());
    bytes.extend(32_000_u32.to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data\0\0\0\0");
    bytes.resize(32_000 * seconds, 7);
    bytes
}

/// 128 kilobits a second behind a tag of 300 bytes.
fn mp3(seconds: usize) -> Vec<u8> {
    let mut bytes = b"ID3\x04\0\0\0\0\x02\x2C".to_vec();
    bytes.resize(310, 0);
    bytes.extend([0xFF, 0xFB, 0x90, 0x64]);
    bytes.resize(16_000 * seconds, 7);
    bytes
}

#[test]
fn a_document_is_charged_by_its_pages() {
    let page = 2_000 + claude().count_image(super::PAGE_PIXELS, crate::ImageDetail::High);
    let count = |bytes: &[u8]| claude().count_file("application/pdf", &encode(bytes));
    let open = b"%PDF-1.4 <</Type/Pages/Count 2>> <</Type /Page>> <</Type/Page/Parent 1 0 R>>";
    assert_eq!(count(open), 2 * page);
    assert_eq!(count(b"%PDF-1.4 <</Type/Pages/Kids[]/Count 7>>"), 7 * page);
    // Nothing to be read: by its bytes, and never more than a provider takes.
    let packed = |len: usize| [&b"%PDF-1.7"[..], &vec![0xA5; len]].concat();
    assert_eq!(count(&packed(450_000)), 10 * page);
    assert_eq!(count(&packed(20_000_000)), 100 * page);
    assert_eq!(count(b"%PDF-1.4 /Count 99999999 "), page, "no document has so many pages");
}

#[test]
fn a_document_is_known_by_its_beginning_where_nobody_says_what_it_is() {
    let pdf = encode(b"%PDF-1.4 <</Type /Page>>");
    assert_eq!(claude().count_file("", &pdf), claude().count_file("application/pdf", &pdf));
    // What nobody knows is sealed data.
    assert_eq!(claude().count_file("", &"a".repeat(1_600)), 300);
}

#[test]
fn a_text_file_is_charged_as_the_text_it_holds() {
    let text = "It is a truth universally acknowledged. ".repeat(20);
    assert_eq!(claude().count_file("text/plain", &encode(text.as_bytes())), claude().count_text(&text));
}

#[test]
fn a_recording_is_charged_by_its_seconds() {
    let openai = Counter::exact(Encoding::O200kBase);
    let gemini = Counter::estimate(Family::Gemini);
    for bytes in [wav(30), mp3(30)] {
        let count = |counter: &Counter| counter.count_file("audio/any", &encode(&bytes));
        assert_eq!((count(&openai), count(&gemini)), (300, 960));
        assert_eq!(openai.count_file("", &encode(&bytes)), 300, "known by its beginning");
    }
    let unreadable = encode(&[1; 80_000]);
    assert_eq!(openai.count_file("audio/ogg", &unreadable), 100);
    assert_eq!(openai.count_file("audio/pcm16", &encode(&[1; 48_000])), 10);
}

#[test]
fn a_picture_in_a_file_is_charged_by_its_sides() {
    // The first 24 bytes of a PNG of 2,400 by 1,800.
    let png = format!("iVBORw0KGgoAAAANSUhEUgAACWAAAAcI{}", "A".repeat(600_000));
    let tokens = claude().count_file("image/png", &png);
    assert_eq!(
        tokens,
        claude().count_image(crate::PixelSize { width: 2_400, height: 1_800 }, crate::ImageDetail::High)
    );
    assert_eq!(claude().count_file("image/heic", "AAAA"), claude().count_unmeasured_image());
}

#[test]
fn what_nobody_can_read_is_charged_by_its_length() {
    assert_eq!([0, 1, 16, 1_000].map(|chars| claude().count_sealed(chars)), [0, 1, 3, 188]);
    assert_eq!(claude().count_sealed(u64::MAX), u64::MAX / 16 + 1);
    assert!(claude().count_unseen_file() > 20_000);
}
