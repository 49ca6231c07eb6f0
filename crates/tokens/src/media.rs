//! What files cost that are neither text nor pictures: documents by their pages, recordings by their duration, data
//! that only its provider can read by its length. Base64 is never counted as text.
//!
//! Pages and seconds are read from the bytes where they stand there (`document`, `recording`), and guessed by the number of
//! bytes where they do not. Which fields of a provider's block hold a file is left to whoever reads blocks.

mod document;
mod recording;

use crate::counter::Counter;
use crate::estimate::Family;
use crate::image::{ImageDetail, ImageRule, PixelSize, decode, dimensions};

/// The words of a page: 1,500 to 3,000 tokens are usual. A provider that shows pages as pictures charges both.
const PAGE_TEXT_TOKENS: u64 = 2_000;
/// A letter page at 150 dots per inch, as providers render it.
const PAGE_PIXELS: PixelSize = PixelSize { width: 1_275, height: 1_650 };
/// Gemini charges a page as one small picture, its words included.
const GEMINI_PAGE_TOKENS: u64 = 258;
/// A file that stands elsewhere is charged as a document of so many pages; the first reply's usage tells better.
const UNSEEN_PAGES: u64 = 10;
/// A second of video: a picture, and its sound.
const VIDEO_TOKENS_PER_SECOND: u64 = 300;
/// One megabit, as a video for a model usually has.
const VIDEO_BYTES_PER_SECOND: u64 = 125_000;
/// Sealed data is base64, so four characters are three bytes, and four bytes are about a token of what was sealed.
const SEALED_CHARS_PER_TOKEN: (u64, u64) = (16, 3);

/// What a file is, as far as counting goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MediaKind {
    Text,
    Image,
    Document,
    Audio,
    Video,
    /// No media type and no known beginning.
    Unknown,
}

impl MediaKind {
    fn of(media_type: &str, bytes: &[u8]) -> Self {
        let media_type = media_type.to_ascii_lowercase();
        let is_silent = media_type.is_empty() || media_type == "application/octet-stream";
        match media_type.split('/').next().unwrap_or_default() {
            _ if is_silent => Self::sniffed(bytes),
            "text" => Self::Text,
            "image" => Self::Image,
            "audio" => Self::Audio,
            "video" => Self::Video,
            _ if media_type.ends_with("json") || media_type.ends_with("xml") => Self::Text,
            _ => Self::Document,
        }
    }

    /// By how the bytes begin.
    fn sniffed(bytes: &[u8]) -> Self {
        if document::is_pdf(bytes) {
            Self::Document
        } else if dimensions(bytes).is_some() {
            Self::Image
        } else if recording::is_known(bytes) {
            Self::Audio
        } else {
            Self::Unknown
        }
    }
}

impl Counter {
    /// The tokens of a file in base64; `media_type` is empty where nobody says what it is.
    #[must_use]
    pub fn count_file(&self, media_type: &str, base64: &str) -> u64 {
        let bytes = decode(base64);
        match MediaKind::of(media_type, &bytes) {
            MediaKind::Text => self.count_text(&String::from_utf8_lossy(&bytes)),
            MediaKind::Image => match dimensions(&bytes) {
                Some(size) => self.count_image(size, ImageDetail::High),
                None => self.count_unmeasured_image(),
            },
            MediaKind::Document => self.count_pages(document::pages(&bytes)),
            MediaKind::Audio => {
                recording::seconds(media_type, &bytes).saturating_mul(self.audio_tokens_per_second())
            }
            MediaKind::Video => {
                (bytes.len() as u64).div_ceil(VIDEO_BYTES_PER_SECOND).saturating_mul(VIDEO_TOKENS_PER_SECOND)
            }
            MediaKind::Unknown => self.count_sealed(base64.len() as u64),
        }
    }

    /// The tokens of a file that stands elsewhere, by its id or address: nobody here can look into it.
    #[must_use]
    pub fn count_unseen_file(&self) -> u64 {
        self.count_pages(UNSEEN_PAGES)
    }

    /// The tokens of so many characters of base64 that only their provider can read: encrypted reasoning, seals,
    /// encrypted results of searches.
    #[must_use]
    pub const fn count_sealed(&self, chars: u64) -> u64 {
        let (chars_per, tokens) = SEALED_CHARS_PER_TOKEN;
        chars.saturating_mul(tokens).div_ceil(chars_per)
    }

    fn count_pages(&self, pages: u64) -> u64 {
        let page = match self.image_rule() {
            ImageRule::Gemini => GEMINI_PAGE_TOKENS,
            ImageRule::Squares { .. }
            | ImageRule::Tiles { .. }
            | ImageRule::Patches { .. }
            | ImageRule::Unknown => PAGE_TEXT_TOKENS + self.count_image(PAGE_PIXELS, ImageDetail::High),
        };
        pages.saturating_mul(page)
    }

    /// OpenAI charges a token for a tenth of a second, Gemini 32 a second; who says nothing is taken to charge the
    /// most.
    fn audio_tokens_per_second(&self) -> u64 {
        match self.family() {
            Family::O200k | Family::Cl100k => 10,
            Family::Gemini
            | Family::Claude
            | Family::Claude47
            | Family::Llama
            | Family::Qwen
            | Family::DeepSeek
            | Family::Glm
            | Family::Kimi
            | Family::Mistral
            | Family::Unknown => 32,
        }
    }
}

#[cfg(test)]
mod tests;
