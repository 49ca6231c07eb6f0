//! Lists of requests in a person's prose, item by item, and which of them the model has said to be done.
//!
//! Nothing is guessed: an item counts as done where a line of the model's says so of its number or in its words.

use crate::EntryId;
use crate::facts::{list_item, statements};
use crate::pattern::compile;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// An item of a list that the person gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestItem {
    /// In the person's words.
    pub text: Arc<str>,
    /// Its number in the list, where the list has numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The entry that holds the list.
    pub entry: EntryId,
    /// The entry in which the model said that it is done; none where nobody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<EntryId>,
}

/// One item is no list.
const LIST_ITEMS_MIN: usize = 2;
/// Longer lists are material, not requests.
const LIST_ITEMS_MAX: usize = 30;
/// So many items are remembered, the newest.
const ITEMS_MAX: usize = 90;
/// A longer item explains something.
const ITEM_CHARS_MAX: usize = 300;

/// Takes up the list in what a person said, where there is one.
pub(super) fn list(known: &mut Vec<RequestItem>, entry: EntryId, said: &str) {
    // Each item begins a line, or stands where a harness's words end; most of what is said has fewer.
    let is_item = |line: &&str| list_item(line).is_some();
    if !said.contains('<') && said.lines().filter(is_item).nth(LIST_ITEMS_MIN - 1).is_none() {
        return;
    }
    let items: Vec<RequestItem> = statements(said)
        .into_iter()
        .filter(|statement| statement.is_item && statement.text.chars().count() <= ITEM_CHARS_MAX)
        .map(|statement| RequestItem {
            text: statement.text.into(),
            number: statement.number,
            entry,
            done: None,
        })
        .collect();
    if (LIST_ITEMS_MIN..=LIST_ITEMS_MAX).contains(&items.len()) {
        known.extend(items);
        known.drain(..known.len().saturating_sub(ITEMS_MAX));
    }
}

/// A line that says of something that it is done.
static DONE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)✅|✓|✔|☑|\[x\]|\b(?:done|fixed|added|implemented|completed?|resolved|removed|renamed|updated|finished|created|moved|erledigt|fertig|behoben|fait|terminée?|corrigée?|hecho|listo|corregid[oa]|готово|сделано|исправлен[оаы]?)\b|完成|已经|已修|已添|完了|しました|修正済|완료|했습니다",
    )
});

/// A line that says of something that it is not done yet.
static UNDONE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)❌|⏳|\[ \]|\b(?:not|n['’]t|yet|still|todo|remaining|pending|will|going\s+to|let\s+me|next|to\s+be|should|noch|nicht|pas|encore|todavía|aún|ещё|еще|не)\b|n['’]t\b|未|还没|まだ|これから|아직|예정",
    )
});

/// Ticks off the items that the model says are done.
pub(super) fn tick(known: &mut [RequestItem], entry: EntryId, said: &str) {
    let Some(newest) = known.last().map(|item| item.entry) else { return };
    for line in said.lines().filter(|line| DONE.is_match(line) && !UNDONE.is_match(line)) {
        let (number, words) = (number_of(line), words(line));
        for item in known.iter_mut().filter(|item| item.done.is_none()) {
            // Numbers are the newest list's: older ones had theirs.
            let is_numbered = number.is_some() && item.number == number && item.entry == newest;
            if is_said_of(&item.text, &words, is_numbered) {
                item.done = Some(entry);
            }
        }
    }
}

/// Whether the words of a line are those of an item; beside its number half of them are enough.
fn is_said_of(item: &str, line: &BTreeSet<String>, is_numbered: bool) -> bool {
    let own = self::words(item);
    let shared = own.intersection(line).count();
    match is_numbered {
        true => shared >= 1 && shared * 2 >= own.len(),
        false => shared >= 2 && (shared == own.len() || (shared >= 3 && shared * 10 >= own.len() * 6)),
    }
}

/// The number a line is about: `3.`, `#3`, `item 3`.
fn number_of(line: &str) -> Option<u32> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?i)^[\s>*_✅✓✔☑-]*(?:\[x\]\s*)?(?:#|\(|item\s+|point\s+|nr\.?\s*|第)?(\d{1,2})(?:[.):、]|\s|\b)",
        )
    });
    NUMBER.captures(line)?.get(1)?.as_str().parse().ok()
}

/// The words of a text that say something, in lower case; of scripts without spaces each pair of letters.
fn words(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.is_ascii() || word.chars().all(|c| c.len_utf8() <= 2) {
            // The end of a word changes with its use: "add" and "added", "test" and "tests".
            all.extend((word.chars().count() > 3).then(|| word.to_lowercase().chars().take(5).collect()));
        } else {
            let letters: Vec<char> = word.chars().collect();
            all.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{RequestItem, list, tick};
    use crate::EntryId;

    fn done(said: &str) -> Vec<bool> {
        let mut known = Vec::new();
        list(
            &mut known,
            EntryId(0),
            "Please:\n1. fix the flaky login test\n2. rename the config loader\n3. 更新安装文档",
        );
        tick(&mut known, EntryId(4), said);
        known.into_iter().map(|item| item.done == Some(EntryId(4))).collect()
    }

    #[test]
    fn an_item_is_done_where_the_model_says_so_of_it() {
        assert_eq!(done("1. ✅ Login test no longer flaky"), [true, false, false]);
        assert_eq!(done("I renamed the config loader. Done."), [false, true, false]);
        assert_eq!(done("- [x] 更新安装文档"), [false, false, true]);
        assert_eq!(done("Next I will rename the config loader; the login test is not fixed yet"), [false; 3]);
        assert_eq!(done("All done."), [false; 3]);
    }

    #[test]
    fn one_item_is_no_list() {
        let mut known: Vec<RequestItem> = Vec::new();
        list(&mut known, EntryId(0), "- fix it");
        assert_eq!(known, []);
    }
}
