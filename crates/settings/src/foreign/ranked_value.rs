//! Typed access to a value of another system: what it must be, or a refusal that says where it was
//! written.

use crate::error::SettingsError;
use crate::resolve::RankedValue;
use toml::Value;

impl RankedValue {
    /// A number, with or without a fraction; variables of the environment hold it as text.
    pub(super) fn number(&self) -> Result<f64, SettingsError> {
        let written = match &self.leaf.value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::String(text) => text.parse().ok(),
            Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
        };
        let number = written.filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.refused("write a number"))
    }

    /// A whole number of tokens.
    pub(super) fn whole(&self) -> Result<i64, SettingsError> {
        self.leaf.value.as_integer().ok_or_else(|| self.refused("write a whole number of tokens"))
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&str, SettingsError> {
        self.leaf.value.as_str().ok_or_else(|| self.refused("write a text"))
    }

    /// The refusal of it; `allowed` says what may be written instead.
    pub(super) fn refused(&self, allowed: &str) -> SettingsError {
        SettingsError::value(&self.leaf.source, &self.leaf.value, allowed)
    }
}
