//! The places of a body's fields and of the elements of its list, found in one pass over its text. What is known of how the list begins
//! is skipped; every other value is checked by the parser as it is passed over, so that what is no JSON is found out here as anywhere.

use crate::element;
use crate::seen_lists::{ElementLink, KnownBeginning, ReadElement};
use epitome_wire::Protocol;
use serde::Deserialize;
use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// Where everything in a body stands.
pub(crate) struct BodyPlaces {
    /// Its fields in their order, and their values.
    pub(crate) fields: Vec<(String, Range<usize>)>,
    /// The value of the field that holds the messages.
    pub(crate) list: Range<usize>,
    /// The elements of the list, those that are known first.
    pub(crate) elements: Vec<ReadElement>,
    /// How the list began, as far as that was known.
    pub(crate) known: KnownBeginning,
}

/// Where everything in `text` stands whose messages are in the field `key`; none where it is no such body. `recall` is asked once what is
/// known of the list, by the text from its bracket on.
pub(crate) fn scan(
    text: &str,
    key: &str,
    protocol: Protocol,
    recall: impl FnOnce(&str) -> (KnownBeginning, Vec<ReadElement>),
) -> Option<BodyPlaces> {
    let mut scanner = BodyScanner { text, at: 0 };
    let (mut fields, mut found, mut recall) = (Vec::new(), None, Some(recall));
    scanner.open(b'{')?;
    let mut is_open = !scanner.close(b'}');
    while is_open {
        let name = scanner.name()?;
        let value = if name == key {
            // A list that comes twice is one that nobody understands.
            let list = scanner.list(protocol, recall.take()?)?;
            found.insert(list).place.clone()
        } else {
            scanner.value()?
        };
        fields.push((name.into_owned(), value));
        is_open = scanner.is_followed(b'}')?;
    }
    scanner.skip_space();
    let ScannedList { place, elements, known } = found.filter(|_| scanner.at == text.len())?;
    Some(BodyPlaces { fields, list: place, elements, known })
}

struct ScannedList {
    place: Range<usize>,
    elements: Vec<ReadElement>,
    known: KnownBeginning,
}

struct BodyScanner<'t> {
    text: &'t str,
    at: usize,
}

#[derive(Deserialize)]
struct FieldName<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'t> BodyScanner<'t> {
    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
        self.at += rest.iter().take_while(|byte| is_space(byte)).count();
    }

    fn next(&mut self) -> Option<u8> {
        self.skip_space();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes past one byte, which must be there.
    fn open(&mut self, byte: u8) -> Option<()> {
        self.close(byte).then_some(())
    }

    /// Goes past one byte where it is there.
    fn close(&mut self, byte: u8) -> bool {
        let is_here = self.next() == Some(byte);
        self.at += usize::from(is_here);
        is_here
    }

    /// Goes past the comma, or past `end`; whether something follows, none where neither is there.
    fn is_followed(&mut self, end: u8) -> Option<bool> {
        if self.close(b',') {
            return Some(true);
        }
        self.open(end).map(|()| false)
    }

    /// The name of a field, with its colon.
    fn name(&mut self) -> Option<Cow<'t, str>> {
        let place = self.value()?;
        let FieldName(name) = serde_json::from_str(&self.text[place]).ok()?;
        self.open(b':')?;
        Some(name)
    }

    /// The place of the next value.
    fn value(&mut self) -> Option<Range<usize>> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let raw = Deserializer::from_str(rest).into_iter::<&RawValue>().next()?.ok()?;
        let place = self.at..self.at + raw.get().len();
        #[cfg(test)]
        crate::work_count::add_parsed(place.len());
        self.at = place.end;
        Some(place)
    }

    fn list(
        &mut self,
        protocol: Protocol,
        recall: impl FnOnce(&str) -> (KnownBeginning, Vec<ReadElement>),
    ) -> Option<ScannedList> {
        let is_text = self.next()? == b'"' && protocol == Protocol::OpenaiResponses;
        let start = self.at;
        if is_text {
            let place = self.value()?;
            let elements = vec![self.read(protocol, start, place.clone())];
            return Some(ScannedList { place, elements, known: KnownBeginning::default() });
        }
        let (known, mut elements) = recall(&self.text[start..]);
        let mut is_open = if elements.is_empty() {
            self.open(b'[')?;
            !self.close(b']')
        } else {
            self.at = start + known.end;
            self.is_followed(b']')?
        };
        while is_open {
            let place = self.value()?;
            elements.push(self.read(protocol, start, place));
            is_open = self.is_followed(b']')?;
        }
        Some(ScannedList { place: start..self.at, elements, known })
    }

    /// What is to be known of an element of the list that starts at `start`.
    fn read(&self, protocol: Protocol, start: usize, place: Range<usize>) -> ReadElement {
        let text = &self.text[place.clone()];
        let (is_reference, is_sealed) = match protocol {
            Protocol::Anthropic => (false, element::has_block(text, "compaction")),
            Protocol::OpenaiChat => (false, false),
            Protocol::OpenaiResponses => (element::reference(text).is_some(), element::is_sealed(text)),
        };
        // A body has 64 MB at most.
        let offset = |at: usize| (at - start) as u32;
        ReadElement {
            start: offset(place.start),
            end: offset(place.end),
            is_reference,
            is_sealed,
            link: ElementLink::Unread,
        }
    }
}
