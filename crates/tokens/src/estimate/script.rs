//! Scripts, as far as tokenizers tell them apart: one price per character.

/// The script of a character outside ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// Chinese characters, in whichever language.
    Han,
    /// Hiragana and Katakana.
    Kana,
    /// Korean syllables and letters.
    Hangul,
    /// Accented and other Latin letters.
    Latin,
    /// Cyrillic and Greek.
    Cyrillic,
    /// Hebrew.
    Hebrew,
    /// Arabic.
    Arabic,
    /// The scripts of India.
    Indic,
    /// Thai, Lao, Tibetan, Burmese and Khmer.
    Thai,
    /// Symbols, emoji, box drawing, marks and every other script.
    Other,
}

/// How many scripts there are, for tables with one entry each.
pub(crate) const SCRIPTS: usize = 10;

impl Script {
    /// The script a character outside ASCII belongs to.
    pub(crate) const fn of(wide: char) -> Self {
        match wide as u32 {
            0x00C0..=0x024F | 0x1E00..=0x1EFF => Self::Latin,
            0x0370..=0x052F | 0x1F00..=0x1FFF => Self::Cyrillic,
            0x0590..=0x05FF | 0xFB1D..=0xFB4F => Self::Hebrew,
            0x0600..=0x077F | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC => Self::Arabic,
            0x0900..=0x0DFF => Self::Indic,
            0x0E00..=0x109F | 0x1780..=0x17FF => Self::Thai,
            0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF => Self::Hangul,
            0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => Self::Kana,
            0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_134F => Self::Han,
            _ => Self::Other,
        }
    }
}
