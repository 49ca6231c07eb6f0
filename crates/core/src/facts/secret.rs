//! Secrets, by the forms they are known by, and their removal from what we write.

use super::key::private_key_lines;
use crate::pattern::compile;
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

/// What stands where a secret stood.
pub const SECRET: &str = "[secret]";

/// Tokens that are recognised by their own form.
static BY_FORM: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?x-u)
        \bsk-(?:ant-|proj-|or-|live-|test-)?[A-Za-z0-9_-]{16,} | \b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}
      | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[A-Za-z0-9_-]{16,}
      | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b | \bAIza[A-Za-z0-9_-]{30,} | \bxox[abposr]-[A-Za-z0-9-]{10,}
      | \bya29\.[A-Za-z0-9_-]{20,} | \bnpm_[A-Za-z0-9]{30,} | \bhf_[A-Za-z0-9]{30,} | \bpypi-[A-Za-z0-9_-]{30,}
      | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}
      | \bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | \bdop_v1_[a-f0-9]{40,}",
    )
});

/// Values that are secret because of the name they are given to; group 1 is the value.
static BY_NAME: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?xi-u)
        (?: (?:password|passwd|passphrase|client[_-]?secret|secret[_-]?(?:key|access[_-]?key)|api[_-]?key|apikey
            |access[_-]?token|auth[_-]?token|refresh[_-]?token|private[_-]?key|_token|_secret|_password|\bpwd)
            ["']?\s*(?:=>|:=|[:=])\s*["'`]?
          | \bbearer\s+ | \bbasic\s+
        )
        ([A-Za-z0-9!\#$%^&*+/_.~=-]{8,})"#,
    )
});

/// A password in an address, between the name and the host; group 1 is the password. Without the `@` what follows
/// the colon is a port.
static BY_PLACE: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"://[^\s/:@"'`<>]{0,64}:([^\s/@"'`<>{}]{6,256})@[A-Za-z0-9\[]"#));

/// The secrets of a whole range, so that one named in one place is screened out in every other.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    values: BTreeSet<String>,
    /// Finds any of them in one pass, however many there are; made when first needed.
    matcher: OnceLock<Option<Regex>>,
}

impl Secrets {
    /// Remembers the secrets of a text.
    pub fn learn(&mut self, text: &str) {
        find_secrets(text, |secret| self.remember(secret));
    }

    /// Remembers a secret that was found before.
    pub(crate) fn remember(&mut self, secret: &str) {
        if !self.values.contains(secret) {
            self.values.insert(secret.to_owned());
            self.matcher = OnceLock::new();
        }
    }

    /// The text with each known secret replaced by [`SECRET`].
    pub fn screen<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.matcher.get_or_init(|| self.matcher()) {
            Some(matcher) => matcher.replace_all(text, SECRET),
            None => Cow::Borrowed(text),
        }
    }

    /// None where there is nothing to look for.
    fn matcher(&self) -> Option<Regex> {
        if self.values.is_empty() {
            return None;
        }
        // Longest first: one secret may be the beginning of another.
        let mut values: Vec<String> = self.values.iter().map(|value| regex::escape(value)).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let built = RegexBuilder::new(&values.join("|")).size_limit(MATCHER_BYTES_MAX).build();
        Some(built.unwrap_or_else(|_| BY_FORM.clone()))
    }
}

/// Calls `found` for each secret in a text.
pub(crate) fn find_secrets(text: &str, mut found: impl FnMut(&str)) {
    BY_FORM.find_iter(text).for_each(|secret| found(secret.as_str()));
    private_key_lines(text, &mut found);
    // Most texts hold no address at all.
    let with_address = if text.contains("://") { text } else { "" };
    let named = BY_NAME.captures_iter(text).chain(BY_PLACE.captures_iter(with_address));
    let values = named.filter_map(|captures| captures.get(1)).map(|value| value.as_str());
    values.filter(|value| is_random(value)).for_each(found);
}

/// A matcher beyond this would hold more secrets than any session has; then their forms must do.
const MATCHER_BYTES_MAX: usize = 256 << 20;

/// One text without its secrets.
pub fn screen(text: &str) -> Cow<'_, str> {
    let mut secrets = Secrets::default();
    secrets.learn(text);
    secrets.screen(text)
}

/// Where code finds a value, or which type it has: a variable, a folder, a typed array.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^(?:(?:process|os|env|import\.meta|self|this|config|settings)\.|\$|\*|~/|\.{1,2}/|(?:Big)?(?:U?[Ii]nt|Float)\d+(?:Clamped)?Array$)",
    )
});

/// Whether a value is a secret rather than a name, a type or a place to find it: code that reads
/// `token = get_token(request)` gives nothing away.
fn is_random(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    let has_digit = has(u8::is_ascii_digit);
    let has_sign = value.bytes().any(|b| b"!#$%^&*+~=".contains(&b));
    let is_reference = REFERENCE.is_match(value);
    let is_redacted =
        value.starts_with("REDACTED") || value.chars().all(|c| c == '*' || c == 'x' || c == '.');
    has(u8::is_ascii_alphabetic) && (has_digit || has_sign) && !is_reference && !is_redacted
}

#[cfg(test)]
mod tests {
    use super::{Secrets, screen};

    #[test]
    fn tokens_go_wherever_they_stand() {
        assert_eq!(screen("export API_KEY=abcd1234efgh5678 && run"), "export API_KEY=[secret] && run");
        assert_eq!(screen("use ghp_abcdefghijklmnopqrstuvwxyz0123 here"), "use [secret] here");
        assert_eq!(screen("let token = get_token(request);"), "let token = get_token(request);");
    }

    #[test]
    fn a_port_is_no_password_and_a_password_is() {
        for open in [
            "http://localhost:3000/chunk-AB12cd34.js",
            "https://a.dev:8443/x@2.0/y1",
            "at http://localhost:5173/src/a.ts?t=1773131663129:1744:40",
            "git clone ssh://git@host:2222/x/y1",
            "PWD: \"~/dev/oh-my-posh2\"",
            "let privateKey: Uint8Array;",
            "client_secret: env.AUTH0_CLIENT_SECRET,",
        ] {
            assert_eq!(screen(open), open);
        }
        assert_eq!(screen("postgres://app:s3cr3tPw@db:5432/x"), "postgres://app:[secret]@db:5432/x");
        assert_eq!(screen("redis://:p4ssw0rd!@cache/0"), "redis://:[secret]@cache/0");
        assert_eq!(
            screen("https://x:ghp_abcdefghijklmnopqrstuvwxyz0123@github.com/a"),
            "https://x:[secret]@github.com/a"
        );
    }

    #[test]
    fn a_secret_named_once_is_screened_everywhere() {
        let mut secrets = Secrets::default();
        secrets.learn("password: hunter2hunter2");
        assert_eq!(secrets.screen("login with hunter2hunter2 now"), "login with [secret] now");
    }

    #[test]
    fn a_private_key_goes_line_by_line() {
        let mut secrets = Secrets::default();
        secrets.learn("-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefgh\n-----END RSA PRIVATE KEY-----");
        assert_eq!(secrets.screen("MIIEabcdefgh"), "[secret]");
    }
}
