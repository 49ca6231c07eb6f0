//! The flags of `serve`.

use super::policy::SettingFlag;
use super::{address, parse_window};
use crate::commands::serve::{LogFormat, LogLevel};
use crate::store_place::StoreName;
use clap::Args;
use epitome_server::{Upstream, UpstreamRoute};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ServeArgs {
    /// The address to listen on, or a port alone; this machine's own only, port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7117", value_parser = address::parse_listen, env = "EPITOME_LISTEN")]
    pub listen: SocketAddr,
    /// The port to listen on, at 127.0.0.1
    #[arg(long, value_name = "PORT", hide = true)]
    pub port: Option<u16>,
    /// Where all requests go: a base URL in front of /v1; the providers' public ones if left out
    #[arg(long, value_name = "URL", env = "EPITOME_UPSTREAM")]
    pub upstream: Option<Upstream>,
    /// Where Anthropic's requests go
    #[arg(long, value_name = "URL", env = "EPITOME_UPSTREAM_ANTHROPIC")]
    pub upstream_anthropic: Option<Upstream>,
    /// Where OpenAI's requests go
    #[arg(long, value_name = "URL", env = "EPITOME_UPSTREAM_OPENAI")]
    pub upstream_openai: Option<Upstream>,
    /// Where some requests go, as `model:PREFIX=URL`, `/PATH=URL`, `azure=URL`, `bedrock=URL` or `vertex=URL`; may be given several times
    #[arg(long, value_name = "MATCH=URL", env = "EPITOME_ROUTES", value_delimiter = ',')]
    pub route: Vec<UpstreamRoute>,
    /// Change nothing: each request goes out as it came, and the log, the API and the totals say what would have been done
    #[arg(long, env = "EPITOME_OBSERVE", value_parser = clap::builder::FalseyValueParser::new())]
    pub observe: bool,
    /// What whoever uses the API or reads the metrics must send (`Authorization: Bearer …`), 16 characters or more; nobody is
    /// asked if left out. Set it by the environment: other users of the machine see the flags of a program
    #[arg(long, value_name = "TOKEN", env = "EPITOME_API_TOKEN", hide_env_values = true)]
    pub api_token: Option<String>,
    /// A preset (`epitome presets` lists them); the one epitome.toml names if left out, else `default`
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Who writes summaries: `embedded` needs no model; else a name from [alias] of epitome.toml, or
    /// provider/model
    #[arg(long, value_name = "WHO")]
    pub summarizer: Option<String>,
    /// Your settings, in place of epitome.toml in your configuration folder; no project's are read
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A folder of agents' files: the settings of one count for requests that name it (`x-epitome-agent: NAME`)
    #[arg(long, value_name = "FOLDER")]
    pub agents: Option<PathBuf>,
    /// Where conversations are kept: `sqlite:PATH`, a path, or `postgres://…`; `memory` keeps them until it stops; epitome.db in
    /// your data folder if left out
    #[arg(long, value_name = "ADDRESS", env = "EPITOME_STORE", hide_env_values = true)]
    pub store: Option<StoreName>,
    /// The context window of every model, in tokens; each model's own if left out
    #[arg(long, value_name = "TOKENS", value_parser = parse_window)]
    pub window: Option<u64>,
    /// A file of your own figures for models, on top of the catalog (see docs/reference/tokens.md)
    #[arg(long, value_name = "FILE", env = "EPITOME_MODELS")]
    pub models: Option<PathBuf>,
    /// Any other setting, as `trigger.at=70%`, above all files; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<SettingFlag>,
    /// How lines of the log are written, on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text", env = "EPITOME_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// The least that is written: info is everything, warn what went wrong, error what makes requests fail
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "EPITOME_LOG_LEVEL")]
    pub log_level: LogLevel,
}
