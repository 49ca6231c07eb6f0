//! A mark for the provider's cache, put on a text that stands in an Anthropic message.

use super::edit::Edits;
use crate::document::View;

/// The message with `mark` on its block that says `text`; none where there is none, or it bears a mark already. A content that is
/// one text becomes a list of it.
pub fn mark_text(element: &str, text: &str, mark: &str) -> Option<String> {
    let content = View::parse(element).ok()?.at(&["content"])?;
    let mut edits = Edits::default();
    match content.list() {
        Some(blocks) => {
            let is_it = |block: &View<'_>| block.at(&["text"]).and_then(View::text).as_deref() == Some(text);
            let block =
                blocks.into_iter().find(is_it).filter(|block| block.at(&["cache_control"]).is_none())?;
            edits.add_field(element, block, "cache_control", mark);
        }
        None => {
            content.text().filter(|said| said == text)?;
            let block = format!(r#"[{{"cache_control":{mark},"type":"text","text":{}}}]"#, content.json());
            edits.replace(element, content, block);
        }
    }
    Some(edits.apply(element))
}

#[cfg(test)]
mod tests {
    use super::mark_text;

    #[test]
    fn the_block_that_says_it_is_marked_once_and_nothing_else_is_touched() {
        let mark = r#"{"type":"ephemeral"}"#;
        let message =
            r#"{"role":"user", "content":[{"type":"text","text":"a"},{"type":"text","text":"so far"}]}"#;
        let marked = mark_text(message, "so far", mark).expect("it says so");
        assert_eq!(
            marked,
            r#"{"role":"user", "content":[{"type":"text","text":"a"},{"cache_control":{"type":"ephemeral"},"type":"text","text":"so far"}]}"#
        );
        assert_eq!((mark_text(&marked, "so far", mark), mark_text(message, "b", mark)), (None, None));
        assert_eq!(
            mark_text(r#"{"role":"user","content":"so far"}"#, "so far", mark).as_deref(),
            Some(
                r#"{"role":"user","content":[{"cache_control":{"type":"ephemeral"},"type":"text","text":"so far"}]}"#
            )
        );
    }
}
