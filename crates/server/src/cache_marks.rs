//! Cache breakpoints of Anthropic in a list that holds a summary of ours: one is put behind the summary, so that what stands for the
//! history until the next compaction is in the provider's cache by itself, wherever the client's own marks move. A client that marks
//! nothing wants nothing cached and gets none; nor does one that has used up the four marks a request may have.

use crate::body::Body;
use epitome_wire::protocol::mark_text;
use std::borrow::Cow;

/// More are refused.
const MARKS_MAX: usize = 4;
const MARK_KEY: &str = "\"cache_control\"";
/// A mark that lasts for as short as any: it may stand behind those that last longer.
const SHORT_MARK: &str = r#"{"type":"ephemeral"}"#;

/// Marks the summary among `messages` as the end of a part to be cached, where that is wanted and there is a mark left.
pub(crate) fn mark_summary(body: &Body, messages: &mut [Cow<'_, str>], summary: &str) {
    let used = body.count_around(MARK_KEY) + messages.iter().map(|one| count(one)).sum::<usize>();
    if used == 0 || used >= MARKS_MAX {
        return;
    }
    let places = 0..messages.len();
    let holds = |at: &usize| mark_text(&messages[*at], summary, SHORT_MARK).is_some();
    let Some(at) = places.clone().find(holds) else { return };
    // Of two marks the one that lasts longer must stand first: ours lasts as long as the next of the client's.
    let next = places.skip(at).find_map(|at| first_mark(&messages[at]));
    let mark = next.unwrap_or(SHORT_MARK).to_owned();
    if let Some(marked) = mark_text(&messages[at], summary, &mark) {
        messages[at] = marked.into();
    }
}

fn count(message: &str) -> usize {
    message.matches(MARK_KEY).count()
}

/// The first mark of a message, as its client wrote it.
fn first_mark(message: &str) -> Option<&str> {
    let behind = &message[message.find(MARK_KEY)? + MARK_KEY.len()..];
    let value = behind.trim_start().strip_prefix(':')?.trim_start();
    let mark = &value[..value.find('}')? + 1];
    (mark.starts_with('{') && !mark[1..].contains('{')).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::mark_summary;
    use crate::body::Body;
    use epitome_wire::Protocol;
    use std::borrow::Cow;

    /// A list that begins with a summary, marked in a body that has `around` beside its messages.
    fn marked(around: &str, newest: &str) -> Vec<String> {
        let body = format!(r#"{{"messages":[]{around}}}"#);
        let body = Body::alone(Protocol::Anthropic, &body).expect("a body");
        let summary = r#"{"role":"user","content":[{"type":"text","text":"so far"}]}"#;
        let mut messages = [Cow::Borrowed(summary), Cow::Borrowed(newest)];
        mark_summary(&body, &mut messages, "so far");
        messages.map(Cow::into_owned).to_vec()
    }

    fn first(around: &str, newest: &str) -> String {
        marked(around, newest).remove(0)
    }

    const HOUR: &str = r#"{"role":"user","content":[{"type":"text","text":"x","cache_control": {"type":"ephemeral","ttl":"1h"}}]}"#;
    const PLAIN: &str = r#"{"role":"user","content":"x"}"#;

    #[test]
    fn a_summary_is_marked_as_its_client_marks_and_not_where_the_client_does_not() {
        let with = |mark: &str| {
            format!(
                r#"{{"role":"user","content":[{{"cache_control":{mark},"type":"text","text":"so far"}}]}}"#
            )
        };
        assert_eq!(first("", HOUR), with(r#"{"type":"ephemeral","ttl":"1h"}"#));
        let system = r#","system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]"#;
        assert_eq!(first(system, PLAIN), with(r#"{"type":"ephemeral"}"#));
        let unmarked = r#"{"role":"user","content":[{"type":"text","text":"so far"}]}"#;
        assert_eq!(first("", PLAIN), unmarked, "the client wants nothing cached");
    }

    #[test]
    fn there_are_never_more_than_four() {
        let mark = r#"{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}"#;
        let system = |count: usize| format!(r#","system":[{}]"#, vec![mark; count].join(","));
        let marks = |count: usize| {
            let all = marked(&system(count), HOUR).concat();
            count + all.matches("\"cache_control\"").count()
        };
        assert_eq!([marks(1), marks(2), marks(3), marks(4)], [3, 4, 4, 5], "a fifth is the client's own");
    }
}
