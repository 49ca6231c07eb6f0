//! Hashes that lead to content, keyed with the secret of an installation: whoever reads a copy of the tables cannot tell by
//! them whether something was said.

use epitome_engine::store::{FaultKind, StoreFault};

/// The secret of an installation, made once and kept beside what it keys.
#[derive(Clone, Copy)]
pub(crate) struct Secret(pub(crate) [u8; 32]);

/// The hash of a body.
pub(crate) type BodyHash = [u8; 32];

impl Secret {
    /// A new one, from the system's own source of chance.
    pub(crate) fn new() -> Result<Self, StoreFault> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| StoreFault {
            kind: FaultKind::Other,
            what: format!("this system has no chance to make a secret from ({error})"),
        })?;
        Ok(Self(bytes))
    }

    /// The secret in what was stored.
    pub(crate) fn stored(bytes: &[u8]) -> Result<Self, StoreFault> {
        let what = || format!("the installation's secret has {} bytes, not 32", bytes.len());
        let bytes = bytes.try_into().map_err(|_| StoreFault { kind: FaultKind::Damaged, what: what() })?;
        Ok(Self(bytes))
    }

    /// Under what a body is found.
    pub(crate) fn body(&self, bytes: &[u8]) -> BodyHash {
        *blake3::keyed_hash(&blake3::derive_key("epitome store 1 bodies", &self.0), bytes).as_bytes()
    }

    /// A key for whoever hashes what is said: the proxy's chains.
    pub(crate) fn chain_key(&self) -> [u8; 32] {
        blake3::derive_key("epitome store 1 chains", &self.0)
    }
}
