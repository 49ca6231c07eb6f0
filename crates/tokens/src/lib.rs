//! Counting tokens, and knowing the models they are counted for.
//!
//! A [`Counter`] counts with the model's own tokenizer where it is published, and estimates where it
//! is not; either way it says which ([`Method`]). A [`Calibration`] corrects estimates by the usage a
//! provider reports. The [`Catalog`] knows windows, prices and
//! image rules, and where each comes from. Nothing here touches a clock, a file or the network: what
//! it needs is handed in. What a context is, and when it must shrink, is left to other crates; so are
//! the protocols that usage arrives in.
//!
//! ```
//! use epitome_tokens::{Catalog, Counter};
//!
//! let model = Catalog::built_in().find("anthropic/claude-sonnet-4-5@20250929"); // any usual spelling
//! assert_eq!(model.window_tokens.value, 200_000);
//!
//! let counter = Counter::for_model(&model);
//! let count = counter.count("The quick brown fox jumps over the lazy dog.");
//! assert!((9..15).contains(&count.tokens));
//! assert_eq!(count.method.to_string(), "estimate(claude,±20%)"); // its tokenizer is not published
//! ```

#![warn(missing_debug_implementations)]

pub mod bill;
pub mod calibrate;
pub mod catalog;
pub mod counter;
pub mod encoding;
pub mod estimate;
pub mod image;
mod media;
pub mod model;
pub mod price;
pub mod saving;
mod split;
pub mod tokenizer;
pub mod usage;

pub use bill::{Bill, BillLine, BilledCall, DayLine};
pub use calibrate::{Calibration, PromptGrowth};
pub use catalog::{Catalog, CatalogError};
pub use counter::{Counter, TokenCount};
pub use encoding::Encoding;
pub use estimate::{Family, RunningEstimate, estimate};
pub use image::{ImageDetail, ImageRule, PixelSize, dimensions, dimensions_base64};
pub use model::{BetaWindow, Framing, ModelSpec, RowOrigin, SpecSource, SpecValue, Vendor};
pub use price::{LongRates, Prices, Rates};
pub use saving::{CacheUse, ReducedRequest};
pub use tokenizer::{Method, Tokenizer, UnknownTokenizer};
pub use usage::Usage;
