//! What the person asked for and forbade, in their own words: sentences that instruct, and the items of
//! requirement lists. Whose words they are is `statement`'s, what instructs is `instruction`'s.

use super::Class;
use super::instruction::{asks, forbids, instructs, is_standing};
use super::statement::statements;
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// A sentence longer than this is an explanation, not a rule somebody stated.
const RULE_CHARS_MAX: usize = 400;

/// A rule, as a slice of what the person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'t> {
    /// A requirement, or a prohibition.
    pub class: Class,
    /// How far it reaches.
    pub reach: RuleReach,
    /// The sentence or list item, word for word; a line break where it is wrapped.
    pub text: &'t str,
}

/// How far a rule reaches. Where not all rules fit, the farther reaching ones stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleReach {
    /// It is about the task at hand.
    Task,
    /// It holds from now on and everywhere: always, never, in every, all.
    Standing,
}

/// A line that announces a list of requirements.
static ANNOUNCES: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:requirements?|acceptance|criteria|constraints?|rules?|must(?:s|-haves?)?|guidelines?|conventions?|specs?|specification|definition of done|deliverables?|checklist|anforderungen|kriterien|regeln|exigences|critères|règles|requisitos|criterios|reglas)\b|要求|需求|验收|规则|约束|標準|标准|要件|条件|ルール|制約|요구\s*사항|기준|규칙|조건",
    )
});

/// How a sentence ends whose object stands below it: "then i want", in front of a list.
static BROKEN_OFF: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?i)^(?:\S+\s+){0,5}(?:want|need|like|prefer|should|must|to|that|the|is|are)$")
});

/// The rules in what a person said, in order. What they pasted, asked or only described makes none.
pub fn rules(said: &str) -> Vec<Rule<'_>> {
    let mut all = Vec::new();
    let mut is_announced = false;
    for statement in statements(said) {
        if statement.is_item && is_announced {
            all.extend(rule(statement.text).filter(|rule| says_something(rule.text) && !asks(rule.text)));
            continue;
        }
        if !statement.is_item {
            is_announced = announces(statement.text);
        }
        all.extend(sentences(statement.text).filter(|sentence| instructs(sentence)).filter_map(rule));
    }
    all
}

/// The text of a list item: after its bullet, number or box.
pub fn list_item(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = match line.strip_prefix(['-', '*', '•', '+']) {
        Some(rest) => rest.strip_prefix(' ')?,
        None => {
            let digits = line.find(|c: char| !c.is_ascii_digit()).filter(|&n| n > 0 && n <= 3)?;
            line[digits..].strip_prefix(['.', ')', '、', '．'])?
        }
    };
    Some(rest.trim()).filter(|text| !text.is_empty())
}

/// Whether a paragraph is the head of a list of requirements.
fn announces(text: &str) -> bool {
    let is_head = text.ends_with([':', '：']) || text.starts_with("**") || text.chars().count() <= 40;
    is_head && ANNOUNCES.is_match(text)
}

/// Whether an item is more than a name.
fn says_something(item: &str) -> bool {
    item.split_whitespace().nth(1).is_some() || item.chars().filter(|c| c.len_utf8() > 2).count() >= 4
}

fn rule(text: &str) -> Option<Rule<'_>> {
    let text = text.trim();
    let chars = text.chars().take(RULE_CHARS_MAX + 1).count();
    if !(4..=RULE_CHARS_MAX).contains(&chars) || text.ends_with([':', '：']) || BROKEN_OFF.is_match(text) {
        return None;
    }
    let class = if forbids(text) { Class::Prohibition } else { Class::Requirement };
    let reach = if is_standing(text) { RuleReach::Standing } else { RuleReach::Task };
    Some(Rule { class, reach, text })
}

/// The sentences of a paragraph. A full stop inside a name or a number ends none.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let end = sentence_end(rest);
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence.trim_end())
    })
}

fn sentence_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, next)| next);
        let is_end = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' | ';' => next.is_none_or(char::is_whitespace) && !is_abbreviation(&text[..at]),
            _ => false,
        };
        if is_end {
            return at + c.len_utf8();
        }
    }
    text.len()
}

fn is_abbreviation(before: &str) -> bool {
    before.ends_with("e.g") || before.ends_with("i.e") || before.ends_with("etc") || before.ends_with(" vs")
}

#[cfg(test)]
mod tests {
    use super::{RuleReach, rules};
    use crate::facts::Class;

    fn found(said: &str) -> Vec<(Class, &str)> {
        rules(said).into_iter().map(|rule| (rule.class, rule.text)).collect()
    }

    #[test]
    fn sentences_with_a_marker_are_rules() {
        let said = "Fix the bug. Never push to main, e.g. by accident. Tests must pass.";
        let want = vec![
            (Class::Prohibition, "Never push to main, e.g. by accident."),
            (Class::Requirement, "Tests must pass."),
        ];
        assert_eq!(found(said), want);
    }

    #[test]
    fn other_languages_have_rules_too() {
        for (said, class) in [
            ("不要修改测试文件。", Class::Prohibition),
            ("必ず日本語で答えてください。", Class::Requirement),
            ("main 브랜치에 절대 푸시하지 마세요.", Class::Prohibition),
            ("Du darfst die API nicht ändern.", Class::Prohibition),
            ("Il faut toujours lancer les tests.", Class::Requirement),
            ("Nunca borres la base de datos.", Class::Prohibition),
        ] {
            assert_eq!(found(said), vec![(class, said)]);
        }
    }

    #[test]
    fn preferences_are_rules_and_questions_and_retorts_are_not() {
        let kept = [
            "We should make it clear that this isn't a checkpoint summary, though.",
            ".collab should live in .entire folder",
            "I don't want to commit the doc",
            "don't do full auto for codex",
            "We should only run entire explain on unique commits.",
            "please use bun for scripts",
            "Let's not rename it.",
            "it would be great if it didn't commit",
            "保留核心修复，提交pr，先不要提交debug日志",
            "いや、対応するようにすべき",
            "Пожалуйста, не трогай тесты.",
            "Ändere die API nicht.",
            "Antworte immer auf Deutsch und sieze mich.",
            "we should have a look when we start code review",
            "can we make the page wide always, so that nothing is cut",
            "Should take up the space to the right",
            "Instead of writing \"Agent\", use the name of the agent.",
        ];
        for said in kept {
            assert_eq!(found(said).len(), 1, "{said}");
        }
        let left = [
            "should we not use sqlite?",
            "do I have to run collab check, claim, handoff?",
            "would this work better as hooks instead of just cli commands",
            "I don't know what we can do about it",
            "we only have one",
            "If we can't have fun leaving easter eggs we might as well continue",
            "It will also never be set when rendering on a non-user machine.",
            "but explain #2 i don't understand",
            "hmm I tested it out and don't like it.",
            "Tell me why it must be so",
            "propose where each of these files should go.",
            "The current behavior overwrites it, which may not match what is meant.",
            "まだv1リリースしたくないんだけどどうする？",
            "这个必须重构吗",
            "Das geht leider nicht.",
            "you should have asked before",
            "that should have been green",
            "can we always make it wide?",
            "can we make the page wide",
            "should be there already?",
            "should the page take up the space",
        ];
        for said in left {
            assert_eq!(found(said), [], "{said}");
        }
    }

    #[test]
    fn what_leads_up_to_a_list_is_no_rule() {
        assert_eq!(found("i have a repo right? then i want\n1. arm yourself with context"), []);
        assert_eq!(found("i want it in Go").len(), 1);
    }

    #[test]
    fn what_holds_everywhere_reaches_farther() {
        let said = "Always answer in French. Use sqlite for this.";
        let reaches: Vec<RuleReach> = rules(said).into_iter().map(|rule| rule.reach).collect();
        assert_eq!(reaches, [RuleReach::Standing, RuleReach::Task]);
    }

    #[test]
    fn a_rule_wrapped_over_lines_is_whole() {
        let said = "When you write to the log you should never put the token of the\nperson into it. Thanks";
        assert_eq!(found(said), [(Class::Prohibition, &said[..said.len() - 7])]);
    }

    #[test]
    fn items_under_an_announcement_are_requirements() {
        let said = "Acceptance criteria:\n- exits with 0\n- prints a table\n\n```\nnever this\n```";
        let want = vec![(Class::Requirement, "exits with 0"), (Class::Requirement, "prints a table")];
        assert_eq!(found(said), want);
    }
}
