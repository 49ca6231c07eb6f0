//! An error body in one short line, for people and records.

use crate::Credential;
use serde_json::Value;

/// More of an error than anyone reads in a list.
const TEXT_CHARS_MAX: usize = 300;

/// What a body says went wrong, in one line, without the key.
pub(crate) fn explain(status: Option<u16>, body: &str, credential: &Credential) -> String {
    let told = message(body).unwrap_or_else(|| body.to_owned());
    let told = credential.hide_in(&told);
    let line = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(TEXT_CHARS_MAX).collect();
    let short = if short.is_empty() { "no reason given".to_owned() } else { short };
    status.map_or_else(|| short.clone(), |status| format!("HTTP {status}: {short}"))
}

fn message(body: &str) -> Option<String> {
    let value: Value = serde_json::from_str(body.trim()).ok()?;
    let value = value.get(0).unwrap_or(&value);
    let paths = ["/error/message", "/response/error/message", "/message", "/error", "/detail"];
    paths.iter().find_map(|path| value.pointer(path)?.as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::explain;
    use crate::{ApiKey, Credential};

    #[test]
    fn an_error_is_told_in_one_line_without_the_key() {
        let key = Credential::Key(ApiKey::new("sk-secret-1").expect("it is a key"));
        let told = explain(Some(401), r#"{"error":{"message":"wrong key\n sk-secret-1"}}"#, &key);
        assert_eq!(told, "HTTP 401: wrong key [key]");
        let bodies = [r#"[{"error":"no"}]"#, "<html>no</html>", "", r#"{"detail":"no"}"#];
        assert_eq!(
            bodies.map(|body| explain(None, body, &Credential::Absent)),
            ["no", "<html>no</html>", "no reason given", "no"]
        );
    }
}
