//! Which store is meant: `sqlite:PATH`, a path, or `postgres://…`.

#[cfg(feature = "postgres")]
use crate::postgres::{PostgresAddress, PostgresStore};
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
    /// A database that replicas share.
    #[cfg(feature = "postgres")]
    Postgres(PostgresAddress),
}

/// An address that names no store.
#[derive(Debug, PartialEq, Eq)]
pub struct NoStoreAddress(String);

impl NoStoreAddress {
    fn of(text: &str) -> Self {
        let how = "write sqlite:PATH or postgres://USER@HOST/DATABASE";
        // What stands behind a scheme may hold a password.
        match text.split_once("://") {
            Some((scheme, _)) => Self(format!("`{scheme}://…` names no store; {how}")),
            None => Self(format!("`{text}` names no store; {how}")),
        }
    }
}

impl std::error::Error for NoStoreAddress {}

impl fmt::Display for NoStoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for StoreAddress {
    type Err = NoStoreAddress;
    fn from_str(text: &str) -> Result<Self, NoStoreAddress> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return postgres(text);
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        // Something else with a scheme is no file of that name.
        let is_path = text.starts_with("sqlite:") || !text.contains("://");
        match path {
            "" => Err(NoStoreAddress::of(text)),
            path if is_path => Ok(Self::Sqlite(path.into())),
            _ => Err(NoStoreAddress::of(text)),
        }
    }
}

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Result<StoreAddress, NoStoreAddress> {
    let wrong = |why| {
        NoStoreAddress(format!(
            "a PostgreSQL address cannot be read ({why}); write postgres://USER@HOST/DATABASE"
        ))
    };
    url.parse().map(StoreAddress::Postgres).map_err(wrong)
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &str) -> Result<StoreAddress, NoStoreAddress> {
    Err(NoStoreAddress(
        "this build has no PostgreSQL; write sqlite:PATH, or build it with the feature `postgres`".into(),
    ))
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(address) => address.fmt(f),
        }
    }
}

impl StoreAddress {
    /// The file it is in; none where it is no file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Opens the store, or makes it.
    ///
    /// # Errors
    /// Where it cannot be opened, or was written by a later version.
    pub async fn open(&self) -> Result<Arc<dyn SessionStore>, StoreError> {
        match self {
            Self::Sqlite(path) => Ok(Arc::new(SqliteStore::open(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(address) => Ok(Arc::new(PostgresStore::open(address).await?)),
        }
    }
}

impl StoreAddress {
    /// Opens a store that is there and may not be written, to look at what is in it.
    ///
    /// # Errors
    /// Where it cannot be read either. A database says by itself what may be done in it.
    pub async fn look(&self) -> Result<Arc<dyn SessionStore>, StoreError> {
        match self {
            Self::Sqlite(path) => Ok(Arc::new(SqliteStore::look(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => self.open().await,
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
            "`mysql://…` names no store; write sqlite:PATH or postgres://USER@HOST/DATABASE"
        );
        assert!("sqlite:".parse::<StoreAddress>().is_err());
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_password_is_never_shown() {
        let shown = |url: &str| match url.parse::<StoreAddress>() {
            Ok(address) => format!("{address} {address:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        let address =
            "postgres://anna:hunter2@db.example:5433,other/agents?sslmode=disable&application_name=hunter2";
        assert_eq!(
            shown(address),
            "postgres://anna@db.example:5433,other:5432/agents Postgres(PostgresAddress(postgres://anna@db.example:5433,other:5432/agents))"
        );
        assert_eq!(
            shown("postgresql://anna:hunter2@db.example:port/agents"),
            "a PostgreSQL address cannot be read (invalid value for option `port`); write postgres://USER@HOST/DATABASE \
             NoStoreAddress(\"a PostgreSQL address cannot be read (invalid value for option `port`); write postgres://USER@HOST/DATABASE\")"
        );
        for url in [
            "postgres://anna:hunter2@",
            "postgres://anna:hunter2@db/agents?password=hunter2",
            "mysql://anna:hunter2@db/agents",
        ] {
            assert!(!shown(url).contains("hunter2"), "{}", shown(url));
        }
    }
}
