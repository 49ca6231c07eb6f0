//! Words by which a person takes back what they sent before.

use super::spoken;
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// They stand where a message begins.
const HEAD_CHARS_MAX: usize = 120;

/// That it was meant for somebody else, or is to be passed over. What is to be ignored of others is named: "the last message from CI".
static RETRACTION: LazyLock<Regex> = LazyLock::new(|| {
    let whole = r"(?:last|previous|prior|earlier)\s+(?:message|prompt|request|instructions?|one)|what\s+i\s+(?:just\s+)?said|that\s+last\s+(?:message|part)";
    let clause = r"(?:\s*(?:[.,;:!)]|$)|\s+(?:please|and|i|it|was)\b)";
    compile(&format!(
        r"(?i)\bwrong\s+(?:chat|window|thread|session|terminal|tab|conversation)\b|\b(?:ignore|disregard|forget|scratch)\s+(?:(?:my|the|that)\s+)?(?:{whole}){clause}|发错(?:了|窗口|地方)|忽略(?:我)?(?:上一条|刚才|上面)的?(?:消息|话)?|送信(?:先を)?間違|(?:さっき|前)の(?:メッセージ|発言)は?(?:無視|忘れ)|(?:이전|방금|앞)\s*메시지는?\s*무시"
    ))
});

/// Whether a message takes back the one that the person sent before it.
pub(crate) fn takes_back(said: &str) -> bool {
    let said = spoken(said);
    let said = said.trim_start();
    let end = said.char_indices().nth(HEAD_CHARS_MAX).map_or(said.len(), |(at, _)| at);
    RETRACTION.is_match(&said[..end])
}

#[cfg(test)]
mod tests {
    use super::takes_back;

    #[test]
    fn a_message_that_was_meant_for_others_is_taken_back() {
        for said in [
            "sorry wrong chat. ignore last message. i think the design is fine",
            "Oops, please disregard my previous message.",
            "Forget what I just said, we keep the branch.",
            "scratch that last part: it was for Ann",
            "发错了，请看新的要求",
            "さっきのメッセージは無視してください",
        ] {
            assert!(takes_back(said), "{said}");
        }
    }

    #[test]
    fn what_others_sent_may_be_ignored_without_taking_anything_back() {
        for said in [
            "ignore the last message from CI, it is flaky",
            "The parser must ignore the previous message of a thread.",
            "Never forget the last request id.",
            "we open the wrong file here",
        ] {
            assert!(!takes_back(said), "{said}");
        }
    }
}
