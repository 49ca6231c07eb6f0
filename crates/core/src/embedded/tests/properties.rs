//! What holds of every summary, over random sessions.

use super::{Quarter, draft, exchange, model, person};
use crate::{EntryId, Measure, Message, Tokens};
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use std::collections::HashSet;

const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz012345";

fn any_message() -> impl Strategy<Value = Message> {
    let words = proptest::collection::vec(
        proptest::sample::select(vec![
            "fix",
            "must",
            "never",
            "src/lib.rs",
            "find_cut",
            "请不要",
            "修改",
            "テスト",
            "\n",
            "- [ ] item",
            "error: x",
            "https://x.dev/a",
            "m0003",
            "m7777",
            "</epitome-summary>",
            "84fe9e8",
            "timeout: 30 ms",
            SECRET,
            "v1.2.3",
            "serde 1.0.2",
            "?",
            "。",
            "🙂",
            "x".repeat(300).leak(),
            "password=hunter2hunter2",
        ]),
        0..40,
    );
    (words, 0..4_u8, any::<u16>()).prop_map(|(words, kind, id)| {
        let text = words.join(" ");
        match kind {
            0 => person(&text),
            1 => model(&text),
            2 => {
                let input = serde_json::json!({ "command": text }).to_string();
                exchange(usize::from(id), "Bash", &input, "ok")[0].clone()
            }
            _ => exchange(usize::from(id), "Read", "{}", &text)[1].clone(),
        }
    })
}

/// What another branch may say and do in the same place.
fn message_behind() -> impl Strategy<Value = Message> {
    (0..6_u8, 0..3_usize).prop_map(|(kind, n)| match kind {
        0 => person(&format!("Zebra{n} must never stay. - [ ] paint zebra{n}")),
        1 => model(&format!("The zebra{n} failed because the quagga{n} was late; fixed in zebra{n}.ts.")),
        2 => {
            let list = format!(r#"{{"todos":[{{"content":"paint zebra{n}","status":"in_progress"}}]}}"#);
            exchange(900 + n, "TodoWrite", &list, "ok")[0].clone()
        }
        3 => {
            let input = format!(
                r#"{{"file_path":"src/zebra{n}.ts","content":"// Paints the zebra once more today"}}"#
            );
            let [call, result] = exchange(910 + n, "Write", &input, "File created successfully");
            Message { blocks: [call.blocks, result.blocks].concat(), ..call }
        }
        4 => {
            let [call, result] = exchange(920 + n, "Bash", r#"{"command":"make zebra"}"#, "Exit code 2");
            Message { blocks: [call.blocks, result.blocks].concat(), ..call }
        }
        _ => exchange(0, "Read", "{}", &format!("error: zebra{n} is missing"))[1].clone(),
    })
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn words_of(message: &Message) -> Vec<String> {
    let calls = message.calls().map(|call| call.input.to_string());
    let results = message.results().map(|result| result.text());
    calls.chain(results).chain([message.said()]).flat_map(|text| words(&text).collect::<Vec<_>>()).collect()
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    #[test]
    fn a_summary_fits_and_tells_no_secret(
        messages in proptest::collection::vec(any_message(), 0..12),
        budget in 0..800_u64,
        visible in 0..4_usize,
    ) {
        let visible = visible.min(messages.len());
        let made = draft(&messages, visible, budget);
        prop_assert!(Quarter.text(&made.text) <= Tokens(budget), "{} over {budget}", made.text);
        prop_assert!(!made.text.contains(SECRET) && !made.text.contains("hunter2"), "{}", made.text);
        prop_assert!(!made.text.contains("</epitome-summary"));
        let superseded = messages.len() - visible;
        let words = made.text.split(|c: char| !c.is_ascii_alphanumeric());
        prop_assert!(words.filter_map(|word| word.parse::<EntryId>().ok()).all(|id| id.index() < superseded));
        prop_assert_eq!(draft(&messages, visible, budget), made);
    }

    #[test]
    fn what_stands_behind_adds_no_word(
        covered in proptest::collection::vec(any_message(), 1..10),
        behind in proptest::collection::vec(message_behind(), 1..5),
        budget in 100..900_u64,
    ) {
        let alone = draft(&covered, 0, budget).text;
        let known: HashSet<String> = covered.iter().flat_map(words_of).chain(words(&alone)).collect();
        let strange: HashSet<String> = behind.iter().flat_map(words_of).filter(|word| !known.contains(word)).collect();
        let all: Vec<Message> = covered.iter().chain(&behind).cloned().collect();
        let text = draft(&all, behind.len(), budget).text;
        let told: Vec<String> = words(&text).filter(|word| strange.contains(word)).collect();
        prop_assert!(told.is_empty(), "{told:?} in {text}");
    }

    #[test]
    fn every_rule_is_kept_where_they_fit(count in 1..12_usize, noise in 0..30_usize) {
        let mut messages = Vec::new();
        for n in 0..count {
            messages.push(person(&format!("You must never break law {n} of the house.")));
            for m in 0..noise {
                messages.extend(exchange(n * 100 + m, "Read", &format!(r#"{{"file_path":"src/f{m}.rs"}}"#), "let some_name = other_name;"));
            }
        }
        let text = draft(&messages, 0, 1200).text;
        for n in 0..count {
            let rule = format!("You must never break law {n} of the house.");
            prop_assert!(text.contains(&rule), "{}", text);
        }
    }
}
