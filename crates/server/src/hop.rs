//! Loops: an upstream that leads back to this server. Each server marks what it sends to addresses that are nobody's we know with an id of its own;
//! what arrives with that id has been here. Providers' public hosts are sent no such mark.

use crate::credentials;
use crate::fault::Fault;
use crate::settings::Upstream;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher as _};

/// Through which servers of ours a request has come.
const HOPS: HeaderName = HeaderName::from_static("x-epitome-hop");

/// The id of this server.
pub(crate) struct HopId(HeaderValue);

impl HopId {
    /// A new one. The standard library seeds its hash maps from the system's own source of chance.
    pub(crate) fn new() -> Self {
        let chance = RandomState::new().build_hasher().finish();
        let id = HeaderValue::from_str(&format!("{chance:016x}"));
        Self(id.expect("hexadecimal digits are a header's value"))
    }

    /// Refuses what has been here, on its way to `upstream`.
    pub(crate) fn check(&self, headers: &HeaderMap, upstream: &Upstream) -> Result<(), Fault> {
        let has_been_here = headers.get_all(HOPS).iter().any(|hop| hop == self.0);
        if has_been_here { Err(Fault::Loop { upstream: upstream.to_string() }) } else { Ok(()) }
    }

    /// Adds its mark to what is sent there.
    pub(crate) fn mark(&self, headers: &mut HeaderMap, upstream: &Upstream) {
        if credentials::is_public(upstream) {
            headers.remove(HOPS);
        } else {
            headers.append(HOPS, self.0.clone());
        }
    }
}
