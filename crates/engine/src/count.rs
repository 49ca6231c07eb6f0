//! Implementations of the core's `Measure`: the session's model's own counter, or one of the simpler rules
//! that other systems decide by. Tokenizers are the `tokens` crate's.

use epitome_core::policy::{CountRule, CountText};
use epitome_core::{Image, Measure, Message, Payload, Policy, Sizes, Tokens};
use epitome_tokens::{Counter, Encoding, ImageDetail, dimensions_base64};
use std::sync::Arc;

/// How `policy` counts messages of a model whose own way of counting is `counter`, and the name of that way.
///
/// Only the model's own way knows what a protocol adds around messages; the other rules count what was
/// said and nothing else, as the systems do that they are taken from.
pub fn measure_for(policy: &Policy, counter: &Counter) -> (Arc<dyn Measure>, Arc<str>) {
    let CountRule { text, image_tokens } = policy.count;
    let pictures = PictureTokens { each: image_tokens.map(Tokens), model: ModelMeasure(counter.clone()) };
    let own: Arc<str> = counter.method().to_string().into();
    match text {
        CountText::Model if image_tokens.is_none() => (Arc::new(pictures.model), own),
        CountText::Model => (Arc::new(ByModel { pictures }), own),
        CountText::QuarterChars => {
            let measure = Quarters { pictures, letters: chars, quarter: |count| count / 4 };
            (Arc::new(measure), "chars/4".into())
        }
        CountText::QuarterUtf16 => {
            let measure = Quarters { pictures, letters: utf16, quarter: |count| count.div_ceil(4) };
            (Arc::new(measure), "utf16/4".into())
        }
        CountText::Cl100k => {
            let measure = Cl100k { pictures, exact: cl100k(), chars_per_token: None };
            (Arc::new(measure), "cl100k".into())
        }
        CountText::Larger => {
            let measure = Cl100k { pictures, exact: cl100k(), chars_per_token: Some(4) };
            (Arc::new(measure), "larger of cl100k and chars/4".into())
        }
    }
}

/// Measures messages with a model's own counter.
#[derive(Clone, Debug)]
pub struct ModelMeasure(pub Counter);

impl Measure for ModelMeasure {
    fn text(&self, text: &str) -> Tokens {
        Tokens(self.0.count_text(text))
    }

    fn image(&self, image: &Image) -> Tokens {
        let size = if image.is_url { None } else { dimensions_base64(&image.data) };
        Tokens(size.map_or_else(
            || self.0.count_unmeasured_image(),
            |size| self.0.count_image(size, ImageDetail::High),
        ))
    }

    fn payload(&self, payload: &Payload) -> Tokens {
        Tokens(match payload {
            Payload::File { media_type, data } => self.0.count_file(media_type, data),
            Payload::FileElsewhere => self.0.count_unseen_file(),
            Payload::Sealed { chars } => self.0.count_sealed(*chars),
        })
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

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

fn utf16(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

fn cl100k() -> Counter {
    Counter::exact(Encoding::Cl100kBase)
}

/// What pictures take: what the policy says, or what the model's rule does.
struct PictureTokens {
    each: Option<Tokens>,
    model: ModelMeasure,
}

impl PictureTokens {
    fn tokens(&self, image: &Image) -> Tokens {
        self.each.unwrap_or_else(|| self.model.image(image))
    }
}

/// As the model counts, pictures apart.
struct ByModel {
    pictures: PictureTokens,
}

impl Measure for ByModel {
    fn text(&self, text: &str) -> Tokens {
        self.pictures.model.text(text)
    }

    fn image(&self, image: &Image) -> Tokens {
        self.pictures.tokens(image)
    }

    fn payload(&self, payload: &Payload) -> Tokens {
        self.pictures.model.payload(payload)
    }

    fn framing(&self) -> Tokens {
        self.pictures.model.framing()
    }

    fn call_framing(&self) -> Tokens {
        self.pictures.model.call_framing()
    }

    fn result_framing(&self) -> Tokens {
        self.pictures.model.result_framing()
    }

    fn head<'t>(&self, text: &'t str, max: Tokens) -> &'t str {
        self.pictures.model.head(text, max)
    }

    fn tail<'t>(&self, text: &'t str, max: Tokens) -> &'t str {
        self.pictures.model.tail(text, max)
    }
}

/// A quarter of the letters of a whole message, rounded once.
struct Quarters {
    pictures: PictureTokens,
    letters: fn(&str) -> u64,
    quarter: fn(u64) -> u64,
}

impl Measure for Quarters {
    fn text(&self, text: &str) -> Tokens {
        Tokens((self.quarter)((self.letters)(text)))
    }

    fn image(&self, image: &Image) -> Tokens {
        self.pictures.tokens(image)
    }

    fn payload(&self, payload: &Payload) -> Tokens {
        self.pictures.model.payload(payload)
    }

    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }

    fn adds_up(&self) -> bool {
        false
    }

    /// Each kind gets what the sum grows by when it is added, so that all kinds together are the
    /// quarter of the whole.
    fn sizes(&self, message: &Message) -> Sizes {
        let letters = Letters(self).sizes(message);
        let (mut count, mut told) = (0, 0);
        let mut tokens = |letters: Tokens| {
            count += letters.0;
            let before = std::mem::replace(&mut told, (self.quarter)(count));
            Tokens(told - before)
        };
        Sizes {
            text: tokens(letters.text),
            thinking: tokens(letters.thinking),
            calls: tokens(letters.calls),
            results: tokens(letters.results),
            images: tokens(letters.images),
            opaque: tokens(letters.opaque),
            framing: Tokens::ZERO,
        }
    }
}

/// The letters of a message, told as if they were tokens; a picture or a file is four for each of its tokens.
struct Letters<'q>(&'q Quarters);

impl Measure for Letters<'_> {
    fn text(&self, text: &str) -> Tokens {
        Tokens((self.0.letters)(text))
    }

    /// Who goes by letters goes by those of the words: none of these systems looks at a seal.
    fn thinking(&self, text: &str, _: Option<&str>) -> Tokens {
        self.text(text)
    }

    fn image(&self, image: &Image) -> Tokens {
        self.0.image(image).share(4, 1)
    }

    fn payload(&self, payload: &Payload) -> Tokens {
        self.0.payload(payload).share(4, 1)
    }

    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}

/// A `cl100k` count, or the characters divided by `chars_per_token` where that is more.
struct Cl100k {
    pictures: PictureTokens,
    exact: Counter,
    chars_per_token: Option<u64>,
}

impl Measure for Cl100k {
    fn text(&self, text: &str) -> Tokens {
        let least = self.chars_per_token.map_or(0, |each| chars(text) / each);
        Tokens(self.exact.count_text(text).max(least))
    }

    fn image(&self, image: &Image) -> Tokens {
        self.pictures.tokens(image)
    }

    fn payload(&self, payload: &Payload) -> Tokens {
        self.pictures.model.payload(payload)
    }

    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::measure_for;
    use epitome_core::policy::{CountRule, CountText};
    use epitome_core::{Author, Block, Call, Image, Measure, Message, Policy, Role, Settings, Tokens};
    use epitome_tokens::{Counter, Encoding};
    use std::sync::Arc;

    fn measure(text: CountText, image_tokens: Option<u64>) -> Arc<dyn Measure> {
        let settings = Settings { count: CountRule { text, image_tokens }, ..Settings::default() };
        let policy = Policy::try_from(settings).expect("the settings are sound");
        measure_for(&policy, &Counter::exact(Encoding::O200kBase)).0
    }

    /// Five letters of thinking, six of text, and a call of 4 and 12.
    fn reply() -> Message {
        let thinking =
            Block::Thinking { text: "think".into(), signature: Some("seal".into()), redacted: false };
        let call =
            Call { id: "1".into(), name: "read".into(), input: r#"{"path":"a"}"#.into(), freeform: false };
        let blocks = vec![thinking, Block::text("sure 🙂"), Block::Call(call)];
        Message { role: Role::Assistant, author: Author::Model, blocks }
    }

    #[test]
    fn a_message_is_rounded_once_and_its_kinds_add_up() {
        let sizes = measure(CountText::QuarterUtf16, None).sizes(&reply());
        // 7 units of text (the face is two), 5 of thinking, 16 of the call.
        assert_eq!((sizes.text, sizes.thinking, sizes.calls), (Tokens(2), Tokens(1), Tokens(4)));
        assert_eq!(sizes.total(), Tokens(28_u64.div_ceil(4)));
        let sizes = measure(CountText::QuarterChars, None).sizes(&reply());
        assert_eq!(sizes.total(), Tokens(27 / 4));
    }

    #[test]
    fn a_picture_takes_what_the_policy_says() {
        let image = Image { media_type: "image/png".into(), data: "".into(), is_url: false };
        let message =
            Message { role: Role::User, author: Author::Person, blocks: vec![Block::Image(image.clone())] };
        for text in [CountText::Model, CountText::QuarterChars, CountText::QuarterUtf16, CountText::Cl100k] {
            let measure = measure(text, Some(1_200));
            assert_eq!(
                (measure.image(&image), measure.sizes(&message).images),
                (Tokens(1_200), Tokens(1_200))
            );
        }
    }

    #[test]
    fn a_figure_for_pictures_changes_nothing_of_how_texts_are_cut() {
        let [own, pictures] = [None, Some(1_200)].map(|each| measure(CountText::Model, each));
        let text = "unbelievably 🙂🙃 internationalised \u{a66e}\u{a66e} words, ".repeat(40);
        for max in (0..200).map(Tokens) {
            assert_eq!(own.head(&text, max), pictures.head(&text, max), "{max}");
            assert_eq!(own.tail(&text, max), pictures.tail(&text, max), "{max}");
        }
    }

    #[test]
    fn the_larger_of_two_counts_is_taken() {
        let [larger, exact] = [CountText::Larger, CountText::Cl100k].map(|text| measure(text, None));
        // One token for eight spaces and more; several for one rare letter.
        let (spaces, letters) = (" ".repeat(80), "ꙮꙮ");
        assert_eq!((larger.text(&spaces), larger.text(letters)), (Tokens(20), exact.text(letters)));
        assert!(exact.text(&spaces) < Tokens(20) && exact.text(letters) > Tokens(0));
    }

    #[test]
    fn the_models_own_way_counts_what_stands_around_a_message() {
        let model = measure(CountText::Model, None);
        let pictures = measure(CountText::Model, Some(1));
        assert_eq!(model.sizes(&reply()), pictures.sizes(&reply()));
        assert!(model.framing() > Tokens::ZERO && measure(CountText::Cl100k, None).framing() == Tokens::ZERO);
    }
}
