//! A filter of texts by their pieces of four bytes, as a table of bits: a name that has a piece which none of the texts
//! has stands in none of them. A session has thousands of files, and of few of them anything is said.

/// Bytes of a piece. Shorter names stand everywhere.
const PIECE_BYTES: usize = 4;
/// Pieces share bits: a hundred thousand of them, as many as the statements looked through have, fill a tenth of these.
const BITS: usize = 1 << 20;

/// Which pieces stand in some texts.
pub(super) struct PieceFilter {
    bits: Vec<u64>,
}

impl PieceFilter {
    pub(super) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut bits = vec![0; BITS / 64];
        for place in texts.flat_map(places) {
            bits[place / 64] |= 1 << (place % 64);
        }
        Self { bits }
    }

    /// Whether a name of at least a piece may stand in one of the texts.
    pub(super) fn may_hold(&self, name: &str) -> bool {
        name.len() >= PIECE_BYTES
            && places(name).all(|place| self.bits[place / 64] & (1 << (place % 64)) != 0)
    }
}

/// The bit of each piece of a text.
fn places(text: &str) -> impl Iterator<Item = usize> {
    text.as_bytes().windows(PIECE_BYTES).map(|piece| {
        let number = piece.iter().fold(0_u32, |number, &byte| (number << 8) | u32::from(byte));
        // Multiplied by a large odd number, the upper bits depend on all of the piece.
        (number.wrapping_mul(0x9E37_79B1) >> (u32::BITS - BITS.trailing_zeros())) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::PieceFilter;

    #[test]
    fn a_name_that_stands_in_a_text_passes_and_a_strange_one_does_not() {
        let filter = PieceFilter::of(["fixed parser.rs and 日本.md", "x"].into_iter());
        let passed = ["parser.rs", "ser.r", "日本.md", "lexer.rs", "parse.rs", ".md"]
            .map(|name| filter.may_hold(name));
        assert_eq!(passed, [true, true, true, false, false, false]);
    }
}
