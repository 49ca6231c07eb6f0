//! Pictures as providers take them, or the marker that stands for one they would refuse.

use crate::validate::{IMAGE_TYPES, inline_data, is_base64, is_web_url};
use epitome_core::Image;

/// Stands for a picture no provider could read.
pub(super) const UNREADABLE: &str = "[image not readable]";

/// A picture some provider can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Picture<'a> {
    Data { media_type: &'a str, data: &'a str },
    Url(&'a str),
}

/// The beginnings of base64 data that tell a picture's type, whatever it is said to be.
const BEGINNINGS: [(&str, &str); 4] =
    [("iVBORw0K", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];

impl<'a> Picture<'a> {
    pub(super) fn of(image: &'a Image) -> Option<Self> {
        if !image.is_url {
            return Self::inline(&image.media_type, &image.data);
        }
        match inline_data(&image.data) {
            Some((media_type, data)) => Self::inline(media_type, data),
            None => is_web_url(&image.data).then_some(Self::Url(&image.data)),
        }
    }

    fn inline(said: &'a str, data: &'a str) -> Option<Self> {
        // A wrong type is refused, and the data knows better than whoever labelled it.
        let seen = BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning));
        let media_type = seen.map_or(said, |(_, seen)| seen);
        let is_readable = IMAGE_TYPES.contains(&media_type) && is_base64(data);
        is_readable.then_some(Self::Data { media_type, data })
    }

    /// As one URL.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Data { media_type, data } => format!("data:{media_type};base64,{data}"),
            Self::Url(url) => (*url).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Picture;
    use epitome_core::Image;

    fn url_of(media_type: &str, data: &str, is_url: bool) -> Option<String> {
        let image = Image { media_type: media_type.into(), data: data.into(), is_url };
        Picture::of(&image).map(|picture| picture.url())
    }

    #[test]
    fn a_picture_is_what_its_data_says() {
        let jpeg = Some("data:image/jpeg;base64,/9j/AAAA".to_owned());
        assert_eq!(url_of("image/png", "/9j/AAAA", false), jpeg);
        assert_eq!(url_of("", "data:image/png;base64,/9j/AAAA", true), jpeg);
    }

    #[test]
    fn pictures_nobody_can_read_are_none() {
        let bad = [("image/png", "AAAREDACTEDA", false), ("image/png", "AAA", false), ("", "AAAA", false)];
        assert_eq!(bad.map(|(kind, data, is_url)| url_of(kind, data, is_url)), [None, None, None]);
        assert_eq!(url_of("image/svg+xml", "AAAA", false), None);
        assert_eq!(url_of("", "file:///a.png", true), None);
    }
}
