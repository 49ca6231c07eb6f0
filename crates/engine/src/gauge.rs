//! The model's counter, as the core wants it.

use epitome_core::{Image, Measure, Tokens};
use epitome_tokens::{Counter, Detail, dimensions_base64};

/// Measures messages with a model's counter.
#[derive(Clone, Debug)]
pub struct Gauge(pub Counter);

impl Measure for Gauge {
    fn text(&self, text: &str) -> Tokens {
        Tokens(self.0.count_text(text))
    }

    fn image(&self, image: &Image) -> Tokens {
        let size = if image.is_url { None } else { dimensions_base64(&image.data) };
        Tokens(
            size.map_or_else(
                || self.0.count_unmeasured_image(),
                |size| self.0.count_image(size, Detail::High),
            ),
        )
    }

    fn framing(&self) -> Tokens {
        Tokens(self.0.message_overhead())
    }

    fn call_framing(&self) -> Tokens {
        Tokens(self.0.framing().call_tokens)
    }

    fn result_framing(&self) -> Tokens {
        Tokens(self.0.framing().result_tokens)
    }

    fn head<'t>(&self, text: &'t str, max: Tokens) -> &'t str {
        self.0.take_prefix(text, max.0)
    }

    fn tail<'t>(&self, text: &'t str, max: Tokens) -> &'t str {
        self.0.take_suffix(text, max.0)
    }
}
