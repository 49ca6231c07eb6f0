//! Any history, cut anywhere.

use crate::violations;
use epitome_core::{Author, Block, Call, EntryId, Message, ResultPart, Role, ToolResult, Trigger};
use epitome_testbed::{Bed, Maker};

/// Enough that each kind of message meets each other; all of it takes a few seconds.
const HISTORIES: u64 = 150;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn text(&mut self) -> String {
        let words = self.below(400) as usize + 1;
        "words ".repeat(words)
    }
}

/// Says one message of any kind; calls have few names, so that they meet, repeat and miss.
fn say(bed: &mut Bed, dice: &mut Dice) {
    let id = format!("c{}", dice.below(12));
    let text = dice.text();
    let (role, author, blocks) = match dice.below(6) {
        0 => (Role::User, Author::Person, vec![Block::text(text)]),
        1 => (Role::User, Author::Harness, vec![Block::text(text)]),
        2 => (Role::Assistant, Author::Model, vec![Block::text(text)]),
        3 | 4 => {
            let name = "read".into();
            let input = format!(r#"{{"path":"{}"}}"#, text.trim()).as_str().into();
            let call = Call { id: id.as_str().into(), name, input, freeform: false };
            (Role::Assistant, Author::Model, vec![Block::text("look"), Block::Call(call)])
        }
        _ => {
            let parts = vec![ResultPart::Text { text: text.as_str().into() }];
            let result = ToolResult { call: id.as_str().into(), parts, is_error: false };
            (Role::Tool, Author::Tool, vec![Block::Result(result)])
        }
    };
    bed.say(Message { role, author, blocks });
}

/// Caller and answer of each pair: a call, and what answers it before the model speaks again.
fn exchanges(bed: &Bed) -> Vec<(EntryId, EntryId)> {
    let history = bed.session.history();
    let item = |id: EntryId| bed.session.log().item(id).expect("it is a message");
    let pair = |(at, &answer): (usize, &EntryId)| {
        let call = item(answer).answers.first()?;
        let caller = history[..at].iter().rev().find(|&&id| item(id).role == Role::Assistant)?;
        item(*caller).calls.contains(call).then_some((*caller, answer))
    };
    history.iter().enumerate().filter_map(pair).collect()
}

#[test]
fn l52_any_history_cut_anywhere_is_valid_and_parts_no_pair() {
    let presets = ["default", "aura", "claude-code", "kaged", "operator-use", "pi"];
    for seed in 0..HISTORIES {
        let mut dice = Dice(seed);
        let preset = presets[seed as usize % presets.len()];
        let window = 4_000 + 1_000 * dice.below(12);
        let mut bed = Maker::new(preset, window).no_model().bed();
        for _ in 0..3 {
            (0..20 + dice.below(40)).for_each(|_| say(&mut bed, &mut dice));
            let trigger = [Trigger::Manual, Trigger::Threshold, Trigger::Overflow][dice.below(3) as usize];
            bed.try_compact(trigger).expect("a few thousand tokens hold the newest exchange");
            assert_eq!(violations(&bed), Vec::<String>::new(), "{preset}, history {seed}");
            let view = bed.in_view();
            for (caller, answer) in exchanges(&bed) {
                let is_seen = [caller, answer].map(|id| view.contains(&id));
                assert_eq!(is_seen[0], is_seen[1], "{preset}, history {seed}: {caller} and {answer}");
            }
        }
    }
}
