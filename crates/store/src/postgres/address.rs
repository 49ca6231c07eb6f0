//! The address of a database: a URL as `psql` takes it, shown without what is secret in it.

use std::fmt;
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Where a database is, and how one gets in.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAddress(Box<Config>);

impl PostgresAddress {
    pub(super) fn config(&self) -> &Config {
        &self.0
    }
}

impl FromStr for PostgresAddress {
    type Err = String;
    fn from_str(url: &str) -> Result<Self, String> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err("it does not begin with postgres://".into());
        }
        let config: Config =
            url.parse().map_err(|error: tokio_postgres::Error| match std::error::Error::source(&error) {
                Some(cause) => cause.to_string(),
                None => error.to_string(),
            })?;
        match config.get_hosts() {
            [] => Err("it names no host".into()),
            _ => Ok(Self(Box::new(config))),
        }
    }
}

/// Without password and options.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.0.get_user() {
            write!(f, "{user}@")?;
        }
        for (at, host) in self.0.get_hosts().iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "," })?;
            match host {
                Host::Tcp(name) => f.write_str(name)?,
                Host::Unix(path) => f.write_str(&path.to_string_lossy().replace('/', "%2F"))?,
            }
            let ports = self.0.get_ports();
            if let Some(port) = ports.get(at).or(ports.first()) {
                write!(f, ":{port}")?;
            }
        }
        match self.0.get_dbname() {
            Some(name) => write!(f, "/{name}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({self})")
    }
}
