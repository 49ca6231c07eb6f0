//! Which store is meant: `sqlite:PATH`, a path, or `postgres://…`.

use crate::session_store::SessionStore;
use crate::sqlite::SqliteStore;
use epitome_engine::store::StoreError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAddress {
    /// A file.
    Sqlite(PathBuf),
}

/// An address that names no store.
#[derive(Debug, PartialEq, Eq)]
pub struct NoStoreAddress(String);

impl std::error::Error for NoStoreAddress {}

impl fmt::Display for NoStoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` names no store; write sqlite:PATH or postgres://USER@HOST/DATABASE", self.0)
    }
}

impl FromStr for StoreAddress {
    type Err = NoStoreAddress;
    fn from_str(text: &str) -> Result<Self, NoStoreAddress> {
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        // Something else with a scheme is no file of that name.
        let is_path = text.starts_with("sqlite:") || !text.contains("://");
        match path {
            "" => Err(NoStoreAddress(text.to_owned())),
            path if is_path => Ok(Self::Sqlite(path.into())),
            _ => Err(NoStoreAddress(text.to_owned())),
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
        }
    }
}

impl StoreAddress {
    /// The file it is in; none where it is no file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
        }
    }

    /// Opens the store, or makes it.
    ///
    /// # Errors
    /// Where it cannot be opened, or was written by a later version.
    pub async fn open(&self) -> Result<Arc<dyn SessionStore>, StoreError> {
        match self {
            Self::Sqlite(path) => Ok(Arc::new(SqliteStore::open(path)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StoreAddress;
    use std::path::PathBuf;

    #[test]
    fn a_store_is_named_by_its_kind_and_place() {
        let file = |path: &str| Ok(StoreAddress::Sqlite(PathBuf::from(path)));
        assert_eq!("sqlite:a/b.db".parse(), file("a/b.db"));
        assert_eq!("a/b.db".parse(), file("a/b.db"));
        let refused = "mysql://here".parse::<StoreAddress>().expect_err("no such store");
        assert_eq!(
            refused.to_string(),
            "`mysql://here` names no store; write sqlite:PATH or postgres://USER@HOST/DATABASE"
        );
        assert!("sqlite:".parse::<StoreAddress>().is_err());
    }
}
