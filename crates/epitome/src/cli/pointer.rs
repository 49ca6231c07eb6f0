//! Pointers as people type them: `m0123` as they are shown, and `M0123`, `123` and ranges of them.

use epitome_core::EntryId;
use std::str::FromStr;

/// A pointer on the command line.
pub fn parse_pointer(text: &str) -> Result<EntryId, String> {
    let digits = text.strip_prefix(['m', 'M']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_number);
    number.map(EntryId).ok_or_else(|| format!("`{text}` is not a pointer; one looks like m0123"))
}

/// One entry, or all from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerRange {
    pub first: EntryId,
    pub last: EntryId,
}

impl PointerRange {
    /// Whether it names one.
    pub fn is_one(self) -> bool {
        self.first == self.last
    }
}

impl FromStr for PointerRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let range = Self { first: parse_pointer(first)?, last: parse_pointer(last)? };
        if range.first > range.last {
            return Err(format!("`{text}` runs backwards; write {}-{}", range.last, range.first));
        }
        Ok(range)
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryId, PointerRange, parse_pointer};

    #[test]
    fn pointers_are_taken_as_people_type_them() {
        let typed = ["m0123", "M0123", "123", "m123"];
        assert_eq!(typed.map(parse_pointer), [(); 4].map(|()| Ok(EntryId(123))));
        let odd = ["", "m", "x0123", "-3", "1.5", "m12345678901"];
        assert!(odd.iter().all(|text| parse_pointer(text).is_err()));
    }

    #[test]
    fn a_range_goes_from_one_to_another() {
        let range = |first, last| PointerRange { first: EntryId(first), last: EntryId(last) };
        assert_eq!("m0370-m0372".parse(), Ok(range(370, 372)));
        assert_eq!("370-372".parse(), Ok(range(370, 372)));
        assert_eq!("m0007".parse(), Ok(range(7, 7)));
        let backwards = "m0009-m0003".parse::<PointerRange>();
        assert_eq!(backwards, Err("`m0009-m0003` runs backwards; write m0003-m0009".to_owned()));
    }
}
