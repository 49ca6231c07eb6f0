//! Bytes as they lie in a table: as they are, or compressed where that pays. The first byte says which.

use epitome_engine::store::{FaultKind, StoreFault};
use std::cell::RefCell;
use zstd::bulk::Compressor;

const RAW: u8 = 0;
const ZSTD: u8 = 1;

/// Below this a frame's own head eats what is gained.
const COMPRESSED_MIN: usize = 256;
/// The quickest level: on JSON of messages the next ones gain a twentieth and cost twice the time.
const LEVEL: i32 = 1;
/// No message is larger: a body beyond this is refused before it comes here.
const UNPACKED_MAX: usize = 1 << 30;

/// The form in which bytes are stored.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() >= COMPRESSED_MIN
        && let Some(small) = compressed(bytes)
    {
        return small;
    }
    let mut raw = Vec::with_capacity(bytes.len() + 1);
    raw.push(RAW);
    raw.extend_from_slice(bytes);
    raw
}

thread_local! {
    /// Made once for each thread: making one takes longer than a message does.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(LEVEL).ok());
}

/// The compressed form with its kind in front; none where it is no smaller.
fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut small = vec![0; 1 + zstd::zstd_safe::compress_bound(bytes.len())];
    small[0] = ZSTD;
    let len =
        COMPRESSOR.with_borrow_mut(|one| one.as_mut()?.compress_to_buffer(bytes, &mut small[1..]).ok())?;
    small.truncate(1 + len);
    (len < bytes.len()).then(|| small.into_boxed_slice().into_vec())
}

/// The bytes that were stored.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, StoreFault> {
    match packed.split_first() {
        Some((&RAW, bytes)) => Ok(bytes.to_vec()),
        Some((&ZSTD, frame)) => {
            let size = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
            let size = size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= UNPACKED_MAX);
            let size = size.ok_or_else(|| damaged("a compressed body does not say how long it is"))?;
            zstd::bulk::decompress(frame, size)
                .map_err(|error| damaged(&format!("a body cannot be unpacked ({error})")))
        }
        Some((kind, _)) => {
            Err(damaged(&format!("a body is of kind {kind}, which this version does not know")))
        }
        None => Err(damaged("a body is empty")),
    }
}

fn damaged(what: &str) -> StoreFault {
    StoreFault { kind: FaultKind::Damaged, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};

    #[test]
    fn what_is_packed_comes_back_and_is_no_larger_than_a_byte_more() {
        let long = "a line of a log that is said again and again\n".repeat(1_000);
        let noise: Vec<u8> = (0..5_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for bytes in [b"".as_slice(), b"short", long.as_bytes(), &noise] {
            let packed = pack(bytes);
            assert!(packed.len() <= bytes.len() + 1, "{} bytes became {}", bytes.len(), packed.len());
            assert_eq!(unpack(&packed).expect("it was packed here"), bytes);
        }
        assert!(pack(long.as_bytes()).len() < long.len() / 10);
    }

    #[test]
    fn what_was_not_packed_here_is_damage_and_no_panic() {
        for bytes in [b"".as_slice(), b"\x07abc", b"\x01abc", b"\x01\x28\xb5\x2f\xfd"] {
            assert!(unpack(bytes).is_err(), "{bytes:?}");
        }
    }
}
