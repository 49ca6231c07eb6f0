//! Dice that fall the same way for the same seed.

/// A small generator (xorshift with a multiplied output); good enough to choose what happens next.
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d }
    }

    /// A number below `most`; 0 where that is 0.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let number = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16;
        number.checked_rem(most).unwrap_or(0)
    }
}
