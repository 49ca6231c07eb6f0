//! Sizes of files as people say them.

/// A number of bytes in the unit that fits.
pub fn size(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{:.2} GB", bytes as f64 / 1e9),
        1_000_000.. => format!("{:.2} MB", bytes as f64 / 1e6),
        1_000.. => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_told_in_the_unit_that_fits() {
        let sizes = [12, 1_234, 4_174_211, 2_500_000_000].map(size);
        assert_eq!(sizes, ["12 bytes", "1.2 kB", "4.17 MB", "2.50 GB"]);
    }
}
