//! Amounts of context: tokens, and how a message's tokens divide by kind of block.

use crate::EntryId;
use crate::id_table::IdTable;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A number of tokens, by whichever counter the session was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Tokens {
    /// No tokens at all.
    pub const ZERO: Self = Self(0);

    /// Whether there are none.
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// What is left after taking `other` away, zero at the least.
    pub fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This amount times `numerator / denominator`, rounded down.
    pub fn share(self, numerator: u64, denominator: u64) -> Self {
        // Providers name windows of any size; a product of two of them leaves 64 bits.
        let share = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
        Self(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// A number of tokens as people write it: `64000`, `64_000`, `64,000`, `64k`, `200K`, `1M`, `1.5M`.
impl FromStr for Tokens {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("`{text}` is no number of tokens; write 64000 or 64k");
        let plain = without_commas(text.trim()).ok_or_else(refused)?.replace('_', "");
        let (digits, unit) = match plain.char_indices().next_back() {
            Some((at, 'k' | 'K')) => (&plain[..at], 1_000),
            Some((at, 'm' | 'M')) => (&plain[..at], 1_000_000),
            Some(_) | None => (&plain[..], 1),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |digits: &str| digits.chars().all(|c| c.is_ascii_digit());
        // No more places than the unit has, so that every one of them counts.
        let places = u32::try_from(part.len()).map_err(|_| refused())?;
        let part_unit = 10_u64.checked_pow(places).filter(|places| unit % places == 0).ok_or_else(refused)?;
        if whole.is_empty() || !is_number(whole) || !is_number(part) || digits.ends_with('.') {
            return Err(refused());
        }
        let whole: u64 = whole.parse().map_err(|_| refused())?;
        let part: u64 = if part.is_empty() { 0 } else { part.parse().map_err(|_| refused())? };
        let tokens = whole.checked_mul(unit).and_then(|whole| whole.checked_add(part * (unit / part_unit)));
        tokens.map(Self).ok_or_else(refused)
    }
}

/// A number without the commas between its groups of three digits; none where one stands elsewhere: to some people it
/// is a point.
fn without_commas(number: &str) -> Option<String> {
    let Some((first, rest)) = number.split_once(',') else { return Some(number.to_owned()) };
    let is_digits = |group: &str| group.chars().all(|c| c.is_ascii_digit());
    let is_first = (1..=3).contains(&first.len()) && is_digits(first);
    let are_groups = rest.split(',').all(|group| group.len() == 3 && is_digits(group));
    (is_first && are_groups).then(|| number.replace(',', ""))
}

/// A price in dollars; nothing is known of it where one of its parts has no price. Nothing spent is no dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dollars(pub Option<f64>);

impl Dollars {
    /// What has no price that anyone knows.
    pub const UNKNOWN: Self = Self(None);
}

impl Default for Dollars {
    fn default() -> Self {
        Self(Some(0.0))
    }
}

impl AddAssign for Dollars {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.zip(other.0).map(|(sum, more)| sum + more);
    }
}

/// Four digits behind the point: a call of a small model costs less than a cent.
impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(dollars) => write!(f, "${dollars:.4}"),
            None => f.write_str("price unknown"),
        }
    }
}

/// How a provider's count of a request compares with our own: so many of its tokens for a thousand of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scale(u32);

impl Scale {
    /// Both count alike, as far as anybody knows.
    pub const SAME: Self = Self(1_000);

    /// A provider that counts so many where we count one; at least a thousandth.
    pub fn of(factor: f64) -> Self {
        Self((factor * 1_000.0).round().clamp(1.0, f64::from(u32::MAX)) as u32)
    }

    /// Whether both count alike.
    pub fn is_same(&self) -> bool {
        *self == Self::SAME
    }

    /// What we count where the provider counts `tokens`.
    pub fn ours(self, tokens: Tokens) -> Tokens {
        tokens.share(1_000, self.0.into())
    }

    /// What the provider counts where we count `tokens`.
    pub fn theirs(self, tokens: Tokens) -> Tokens {
        tokens.share(self.0.into(), 1_000)
    }
}

impl Default for Scale {
    fn default() -> Self {
        Self::SAME
    }
}

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        // Figures come from providers too; an absurd one is large, and no reason to stop.
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Tokens {
    type Output = Self;
    /// Panics in debug builds when `other` is larger; use [`Tokens::less`] where that can be.
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Tokens {
    /// Digits in groups of three: `18,204`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// The tokens of one message (or of many, summed), by kind of block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// What was said.
    pub text: Tokens,
    /// Readable reasoning.
    pub thinking: Tokens,
    /// Names and arguments of tool calls.
    pub calls: Tokens,
    /// Text of tool results.
    pub results: Tokens,
    /// Images, wherever they stand.
    pub images: Tokens,
    /// Blocks we carry but do not read.
    pub opaque: Tokens,
    /// What the protocol adds around each message.
    pub framing: Tokens,
}

impl Sizes {
    /// All kinds together.
    pub fn total(&self) -> Tokens {
        self.text + self.thinking + self.calls + self.results + self.images + self.opaque + self.framing
    }
}

impl AddAssign for Sizes {
    fn add_assign(&mut self, other: Self) {
        self.text += other.text;
        self.thinking += other.thinking;
        self.calls += other.calls;
        self.results += other.results;
        self.images += other.images;
        self.opaque += other.opaque;
        self.framing += other.framing;
    }
}

/// Sizes of a log's messages by one way of counting, by entry. Another way of counting has a table of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeTable {
    sizes: IdTable<Option<Sizes>>,
    hidden: Tokens,
}

impl SizeTable {
    /// Of a log of `len` entries that is only partly at hand: these, and all others together.
    pub fn partial(len: usize, sizes: Vec<(EntryId, Sizes)>, hidden: Tokens) -> Self {
        let sizes = sizes.into_iter().map(|(id, sizes)| (id, Some(sizes))).collect();
        Self { sizes: IdTable::partial(len, sizes), hidden }
    }

    /// Takes down what an entry takes.
    pub fn set(&mut self, id: EntryId, sizes: Sizes) {
        self.sizes.set(id, Some(sizes));
    }

    /// What an entry takes, by kind; nothing where it was never counted.
    pub fn of(&self, id: EntryId) -> Sizes {
        self.sizes.get(id).copied().flatten().unwrap_or_default()
    }

    /// Whether an entry was counted.
    pub fn has(&self, id: EntryId) -> bool {
        self.sizes.get(id).is_some_and(Option::is_some)
    }

    /// What an entry takes in all.
    pub fn total(&self, id: EntryId) -> Tokens {
        self.of(id).total()
    }

    /// What messages of the path take that are not at hand.
    pub fn hidden(&self) -> Tokens {
        self.hidden
    }

    /// Every entry that was counted.
    pub fn iter(&self) -> impl Iterator<Item = (EntryId, Sizes)> {
        self.sizes.iter().filter_map(|(id, sizes)| Some((id, (*sizes)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Dollars, Tokens};

    #[test]
    fn a_share_of_an_absurd_amount_is_no_panic() {
        assert_eq!(Tokens(u64::MAX).share(3, 4), Tokens(u64::MAX / 4 * 3 + 2));
        assert_eq!(Tokens(u64::MAX).share(2, 1), Tokens(u64::MAX));
    }

    #[test]
    fn tokens_are_taken_as_people_write_them() {
        let written = ["64000", "64_000", "64,000", "64k", "200K", "1M", "1.5M", "0.5k"];
        let tokens = written.map(|text| text.parse::<Tokens>().map(|Tokens(tokens)| tokens));
        assert_eq!(tokens, [64_000, 64_000, 64_000, 64_000, 200_000, 1_000_000, 1_500_000, 500].map(Ok));
        for text in [
            "",
            "k",
            "-1",
            "1.5",
            "1.2345k",
            "1.k",
            ".5k",
            "64kb",
            "6 4",
            "1,5M",
            "1,500k",
            "64,00",
            "1,000.5k",
            ",100",
            "99999999999999999999M",
        ] {
            let told = format!("`{text}` is no number of tokens; write 64000 or 64k");
            assert_eq!(text.parse::<Tokens>(), Err(told));
        }
    }

    #[test]
    fn a_sum_with_a_part_of_unknown_price_has_none() {
        let mut sum = Dollars::default();
        sum += Dollars(Some(0.25));
        assert_eq!((sum, sum.to_string()), (Dollars(Some(0.25)), "$0.2500".to_owned()));
        sum += Dollars::UNKNOWN;
        assert_eq!((sum, sum.to_string()), (Dollars::UNKNOWN, "price unknown".to_owned()));
    }

    #[test]
    fn tokens_read_in_groups_of_three() {
        let shown: Vec<String> = [0, 999, 1000, 18_204, 1_234_567].map(|n| Tokens(n).to_string()).into();
        assert_eq!(shown, ["0", "999", "1,000", "18,204", "1,234,567"]);
    }
}
