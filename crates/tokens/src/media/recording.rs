//! How long a recording lasts: from the header of a WAV or MP3 file, and by the bytes a second usually takes otherwise.

/// Speech at 64 kilobits a second: more than Opus takes, less than most MP3 files.
const BYTES_PER_SECOND: u64 = 8_000;
/// 24,000 samples a second of two bytes, as OpenAI's `pcm16` is.
const PCM_BYTES_PER_SECOND: u64 = 48_000;
/// Kilobits a second of an MP3 frame, by its four bits: MPEG 1, layer III.
const MP3_KILOBITS: [u64; 16] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0];
/// The same of MPEG 2 and 2.5.
const MP3_KILOBITS_LOW: [u64; 16] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0];
/// The header of an ID3 tag, which may stand before the first frame.
const ID3_BYTES: usize = 10;

pub(super) fn is_known(bytes: &[u8]) -> bool {
    wav_rate(bytes).is_some()
        || mp3_rate(bytes).is_some()
        || [&b"OggS"[..], b"fLaC"].iter().any(|start| bytes.starts_with(start))
}

/// The seconds of a recording, rounded up.
pub(super) fn seconds(media_type: &str, bytes: &[u8]) -> u64 {
    let is_raw = media_type.to_ascii_lowercase().contains("pcm");
    let rate = wav_rate(bytes).or_else(|| mp3_rate(bytes)).filter(|rate| *rate > 0);
    let usual = if is_raw { PCM_BYTES_PER_SECOND } else { BYTES_PER_SECOND };
    (bytes.len() as u64).div_ceil(rate.unwrap_or(usual))
}

/// Bytes a second, as a WAV file's format says.
fn wav_rate(bytes: &[u8]) -> Option<u64> {
    let is_wav = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE");
    let format = memchr::memmem::find(bytes.get(..256.min(bytes.len()))?, b"fmt ").filter(|_| is_wav)?;
    let rate = bytes.get(format + 16..format + 20)?;
    Some(u64::from(u32::from_le_bytes(rate.try_into().ok()?)))
}

/// Bytes a second, as the first frame of an MP3 file says.
fn mp3_rate(bytes: &[u8]) -> Option<u64> {
    let frame = bytes.get(id3_length(bytes)..)?;
    let &[sync, layer, rate, ..] = frame else { return None };
    // Eleven bits of sync, then layer III.
    if sync != 0xFF || layer & 0xE6 != 0xE2 {
        return None;
    }
    let table = if layer & 0x18 == 0x18 { MP3_KILOBITS } else { MP3_KILOBITS_LOW };
    let kilobits = table[usize::from(rate >> 4)];
    (kilobits > 0).then_some(kilobits * 1_000 / 8)
}

/// The tag before the first frame, its length in four bytes of seven bits.
fn id3_length(bytes: &[u8]) -> usize {
    match bytes.get(..ID3_BYTES) {
        Some(tag) if tag.starts_with(b"ID3") => {
            tag[6..].iter().fold(0, |length, byte| length << 7 | usize::from(byte & 0x7F)) + ID3_BYTES
        }
        Some(_) | None => 0,
    }
}
