//! Dice that fall the same way each time: what is thrown depends on a seed and on nothing else.

/// A source of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice for one request: the same script and the same prompt throw the same.
    pub(crate) fn new(seed: u64, digest: &blake3::Hash) -> Self {
        let bytes = digest.as_bytes();
        let low = bytes[..8].iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        Self(seed ^ low)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        (self.roll() % sides.max(1) as u64) as usize
    }

    /// One of `all`, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Eight hexadecimal digits, for ids.
    pub(crate) fn hex(&mut self) -> String {
        format!("{:08x}", self.roll() >> 32)
    }
}
