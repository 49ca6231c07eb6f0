//! What a message of a request says of itself, read from its JSON.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The role of a message; empty where it has none. Of a role said twice the last counts, as it does for providers.
pub(crate) fn role(message: &str) -> String {
    let fields: HashMap<String, &RawValue> = serde_json::from_str(message).unwrap_or_default();
    let role = fields.get("role").and_then(|role| String::deserialize(*role).ok());
    role.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::role;

    #[test]
    fn a_role_is_read_wherever_it_stands() {
        let messages = [
            r#"{"content":null,"role":"tool"}"#,
            r#"{"role":"user","content":"a\ud83d","content":1e999}"#,
            r#"{"role":"user","role":"system"}"#,
            "7",
        ];
        assert_eq!(messages.map(role), ["tool", "user", "system", ""]);
    }
}
