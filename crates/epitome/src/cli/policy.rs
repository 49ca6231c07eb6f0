//! How to compact, as the command line says it.

use clap::Args;
use epitome_core::{Strategy, Threshold};
use epitome_settings::Door;
use epitome_settings::schema::parse_window;
use std::path::PathBuf;
use std::str::FromStr;

/// How to compact.
#[derive(Args, Debug, Clone, Default)]
pub struct PolicyArgs {
    /// A preset (`epitome presets` lists them); the one epitome.toml names if left out, else `default`
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// What to come down to, of the room for a history: 40%, 16000, or -48000 (all but that much)
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub target: Option<Threshold>,
    #[arg(long, value_name = "S", help = strategy_help())]
    pub strategy: Option<Strategy>,
    /// Who writes the summary: `embedded` needs no model; else a name from [alias] of epitome.toml, or
    /// provider/model
    #[arg(long, value_name = "WHO")]
    pub summarizer: Option<String>,
    /// An agent whose settings count: a name from [agents] of epitome.toml, or its file
    #[arg(long, value_name = "FILE")]
    pub agent: Option<String>,
    /// Your settings, in place of epitome.toml in your configuration folder
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Any other setting, as `trigger.at=70%`; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<SettingFlag>,
}

/// One setting by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFlag {
    pub key: String,
    pub value: String,
}

impl FromStr for SettingFlag {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as trigger.at=70%")?;
        Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
    }
}

#[derive(Args, Debug)]
pub struct ConfigArgs {
    /// The command they are for: compact, replay or serve; what it does not look at is marked
    #[arg(long, value_name = "DOOR")]
    pub door: Option<Door>,
    /// The model at work
    #[arg(long, value_name = "MODEL", env = "EPITOME_MODEL")]
    pub model: Option<String>,
    /// The context window in tokens; the model's if left out
    #[arg(long, value_name = "TOKENS", value_parser = parse_window)]
    pub window: Option<u64>,
    /// A file of your own figures for models, on top of the catalog (see docs/reference/tokens.md)
    #[arg(long, value_name = "FILE", env = "EPITOME_MODELS")]
    pub models: Option<PathBuf>,
    /// Show the preset's own values as well
    #[arg(long)]
    pub all: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub policy: PolicyArgs,
}

#[derive(Args, Debug)]
pub struct InitArgs {
    /// The project's folder
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub dir: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

fn strategy_help() -> String {
    let [names @ .., last] = Strategy::ALL.map(Strategy::name);
    format!("The way of making room to try first: {} or {last}", names.join(", "))
}
