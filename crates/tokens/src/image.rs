//! What an image costs: from its dimensions, by the provider's rule.
//!
//! Base64 is never counted as text. Reading dimensions from the bytes is in `header`.

mod base64;
mod header;

pub(crate) use base64::decode;
pub use base64::dimensions_base64;
#[cfg(test)]
pub(crate) use base64::encode;
pub use header::dimensions;

use serde::{Deserialize, Serialize};

/// The size of an image in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PixelSize {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// How closely the model is asked to look. Only OpenAI's tile rule heeds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageDetail {
    /// The base price.
    Low,
    /// Tile by tile; also what `auto` is charged as.
    #[default]
    High,
}

/// A provider's rule for turning pixels into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ImageRule {
    /// Anthropic: scaled down to fit both limits, then one token per square of 28 pixels.
    Squares {
        /// The longest edge, in pixels.
        edge_max: u32,
        /// The most tokens one image takes.
        tokens_max: u32,
    },
    /// OpenAI: fitted into 2048 pixels, the short side to 768, then a price per tile of 512 pixels.
    Tiles {
        /// The price of any image, and of one in low detail.
        base: u32,
        /// The price of each tile.
        tile: u32,
    },
    /// OpenAI's small models: at most 1,536 patches of 32 pixels, each this many hundredths of a token.
    Patches {
        /// Tokens per hundred patches.
        percent: u32,
    },
    /// Gemini: 258 for a small image, else 258 per tile of 768 pixels.
    Gemini,
    /// No rule known: a flat price.
    #[default]
    Unknown,
}

/// An image of unknown size under an unknown rule. Others charge 765 to 2,000.
pub const UNKNOWN_TOKENS: u64 = 1_600;

const SQUARE: u32 = 28;
const PATCH: u32 = 32;
const PATCHES_MAX: u64 = 1_536;
const GEMINI_TILE_TOKENS: u64 = 258;
/// The most tiles the tile rule can produce: 2048 by 768 pixels.
const TILES_MAX: u64 = 8;

impl ImageRule {
    /// The tokens of an image of this size.
    #[must_use]
    pub fn tokens(self, size: PixelSize, detail: ImageDetail) -> u64 {
        if size.width == 0 || size.height == 0 {
            return self.tokens_max();
        }
        match self {
            Self::Squares { edge_max, tokens_max } => squares(size, edge_max, u64::from(tokens_max)),
            Self::Tiles { base, tile } => match detail {
                ImageDetail::Low => u64::from(base),
                ImageDetail::High => u64::from(base) + u64::from(tile) * tiles(size),
            },
            Self::Patches { percent } => {
                let patches = cells(size, PATCH).min(PATCHES_MAX);
                (patches * u64::from(percent)).div_ceil(100)
            }
            Self::Gemini => gemini(size),
            Self::Unknown => UNKNOWN_TOKENS,
        }
    }

    /// The most an image can take, for one nobody could measure.
    #[must_use]
    pub const fn tokens_max(self) -> u64 {
        match self {
            Self::Squares { tokens_max, .. } => tokens_max as u64,
            Self::Tiles { base, tile } => base as u64 + tile as u64 * TILES_MAX,
            Self::Patches { percent } => (PATCHES_MAX * percent as u64).div_ceil(100),
            Self::Gemini | Self::Unknown => UNKNOWN_TOKENS,
        }
    }
}

/// How many squares of `side` pixels cover an image.
fn cells(size: PixelSize, side: u32) -> u64 {
    u64::from(size.width.div_ceil(side)) * u64::from(size.height.div_ceil(side))
}

/// Squares after scaling down to the largest size that keeps to both limits.
fn squares(size: PixelSize, edge_max: u32, tokens_max: u64) -> u64 {
    let long = size.width.max(size.height);
    let (mut low, mut high) = (1, long.min(edge_max));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if cells(size.scaled(middle, long), SQUARE) <= tokens_max { low = middle } else { high = middle - 1 }
    }
    cells(size.scaled(low, long), SQUARE)
}

/// Tiles of 512 pixels after OpenAI's two scalings.
fn tiles(size: PixelSize) -> u64 {
    let boxed = size.scaled_down(size.width.max(size.height), 2048);
    let fitted = boxed.scaled_down(boxed.width.min(boxed.height), 768);
    cells(fitted, 512)
}

fn gemini(size: PixelSize) -> u64 {
    let is_small = size.width <= 384 && size.height <= 384;
    GEMINI_TILE_TOKENS * if is_small { 1 } else { cells(size, 768) }
}

impl PixelSize {
    /// Both sides times `part / whole`, rounded up to whole pixels.
    fn scaled(self, part: u32, whole: u32) -> Self {
        let scale = |side: u32| {
            let pixels = (u64::from(side) * u64::from(part)).div_ceil(u64::from(whole));
            u32::try_from(pixels).unwrap_or(u32::MAX)
        };
        Self { width: scale(self.width), height: scale(self.height) }
    }

    /// Scaled so that `edge` becomes at most `edge_max`.
    fn scaled_down(self, edge: u32, edge_max: u32) -> Self {
        if edge > edge_max { self.scaled(edge_max, edge) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLAUDE: ImageRule = ImageRule::Squares { edge_max: 1568, tokens_max: 1568 };
    const CLAUDE47: ImageRule = ImageRule::Squares { edge_max: 2576, tokens_max: 4784 };
    const GPT_4O: ImageRule = ImageRule::Tiles { base: 85, tile: 170 };

    fn tokens(rule: ImageRule, width: u32, height: u32) -> u64 {
        rule.tokens(PixelSize { width, height }, ImageDetail::High)
    }

    #[test]
    fn claude_charges_squares_of_28_pixels() {
        assert_eq!(tokens(CLAUDE, 1000, 1000), 1296);
        assert_eq!(tokens(CLAUDE, 1920, 1080), 1560);
        assert_eq!(tokens(CLAUDE47, 1920, 1080), 2691);
        assert_eq!(tokens(CLAUDE, 1, 1), 1);
    }

    #[test]
    fn openai_charges_tiles_unless_asked_to_look_less_closely() {
        assert_eq!(tokens(GPT_4O, 1024, 1024), 765);
        assert_eq!(tokens(GPT_4O, 2048, 4096), 1105);
        assert_eq!(GPT_4O.tokens(PixelSize { width: 4096, height: 4096 }, ImageDetail::Low), 85);
    }

    #[test]
    fn the_small_openai_models_charge_patches() {
        assert_eq!(tokens(ImageRule::Patches { percent: 162 }, 1024, 1024), 1659);
        assert_eq!(tokens(ImageRule::Patches { percent: 162 }, 4096, 4096), 2489);
    }

    #[test]
    fn gemini_charges_tiles_of_768_pixels() {
        assert_eq!(tokens(ImageRule::Gemini, 384, 384), 258);
        assert_eq!(tokens(ImageRule::Gemini, 1536, 768), 516);
    }

    #[test]
    fn an_image_nobody_can_measure_is_charged_the_most() {
        assert_eq!(
            [CLAUDE, CLAUDE47, GPT_4O, ImageRule::Gemini, ImageRule::Unknown].map(ImageRule::tokens_max),
            [1568, 4784, 1445, 1600, 1600]
        );
        assert_eq!(tokens(CLAUDE, 0, 20), 1568);
    }

    proptest! {
        #[test]
        fn no_image_passes_its_maximum(width in 1..u32::MAX, height in 1..u32::MAX) {
            for rule in [CLAUDE, CLAUDE47, GPT_4O, ImageRule::Patches { percent: 246 }] {
                prop_assert!(tokens(rule, width, height) <= rule.tokens_max());
            }
        }
    }
}
