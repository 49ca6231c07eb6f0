//! What the person asked for and forbade: sentences by their markers, in several languages, and
//! the items of requirement lists.

use super::Class;
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// A sentence longer than this is pasted material, not a rule somebody stated.
const RULE_CHARS_MAX: usize = 600;

/// A rule, as a slice of what the person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'t> {
    /// A requirement, or a prohibition.
    pub class: Class,
    /// The sentence or list item, word for word.
    pub text: &'t str,
}

static OBLIGATION: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        r"must|never|always|only|do\s+not|don['’]?t|required?|should(?:\s+not|n['’]t)|unless|make\s+sure|ensure",
        r"instead\s+of|rather\s+than|avoid|prefer|needs?\s+to|have\s+to|not\s+allowed|forbidden|without|mandatory",
        r"cannot|can['’]t|no\s+longer|stop\s+\w+ing|shall|at\s+(?:most|least)|important",
        // German
        r"muss|müssen|musst|darf(?:st)?|dürfen|niemals|nie|immer|nur|nicht|keine?[nmrs]?|statt|stattdessen",
        r"erforderlich|sicherstellen|stelle?\s+sicher|unbedingt|außer|sollte?n?|bitte",
        // French
        r"doi(?:t|s|vent)|devez|jamais|toujours|seulement|uniquement|interdite?s?|au\s+lieu\s+de|obligatoires?",
        r"assure[zr]?[\s-](?:toi|vous)|sauf|il\s+faut|n['’e]\s*\S+\s+pas|sans|éviter?|évitez|veuillez",
        // Spanish, Portuguese, Italian
        r"debes?|deben|debe|nunca|siempre|solo|sólo|solamente|en\s+(?:lugar|vez)\s+de|asegúra(?:te|se)|asegúrese",
        r"obligatori[oa]|prohibid[oa]|a\s+menos\s+que|salvo|no\s+\p{L}+(?:es|as|en|an|ar|er|ir)|tienes?\s+que",
        r"deve[mn]?|sempre|somente|apenas|não|soltanto|invece\s+di|evita[re]?",
        // Russian
        r"нельзя|долж(?:ен|на|но|ны)|никогда|всегда|только|не\s+надо|обязательно|вместо|кроме",
    ];
    let spaceless = [
        r"必须|必須|务必|一定要|不要|不能|不得|不许|不可|不应|禁止|只能|只要|只用|仅|确保|始终|总是|永远|而不是|除非|请勿|别再|需要|應該|应该|避免",
        r"必ず|しないで|ないでください|絶対|だけ|のみ|代わりに|べき|なければ|てはいけ|てはなら|ないこと|常に|限り|してください|ようにし",
        r"반드시|절대|하지\s*마|하지\s*말|말고|금지|항상|만\s*사용|해야|안\s*돼|대신|않도록|필수|제외|해\s*주세요|해줘",
    ];
    compile(&format!(r"(?i)\b(?:{})\b|{}", words.join("|"), spaceless.join("|")))
});

static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        r"never|not|don['’]?t|shouldn['’]t|can['’]?t|cannot|avoid|forbidden|without|instead\s+of|rather\s+than|no",
        r"nicht|niemals|nie|keine?[nmrs]?|statt|ohne|jamais|pas|interdite?s?|sans|au\s+lieu\s+de",
        r"nunca|no|prohibid[oa]|en\s+(?:lugar|vez)\s+de|sin|não|non|invece\s+di|нельзя|никогда|не|вместо",
    ];
    let spaceless = "不要|不能|不得|不许|不可|不应|禁止|永远不|而不是|请勿|别再|避免|しないで|ないで|絶対に|てはいけ|てはなら|ないこと\
                     |하지\\s*마|하지\\s*말|말고|금지|안\\s*돼|않도록|절대";
    compile(&format!(r"(?i)\b(?:{})\b|{spaceless}", words.join("|")))
});

/// A line that announces a list of requirements.
static ANNOUNCES: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:requirements?|acceptance|criteria|constraints?|rules?|must(?:s|-haves?)?|guidelines?|conventions?|specs?|specification|definition of done|deliverables?|checklist|anforderungen|kriterien|regeln|exigences|critères|règles|requisitos|criterios|reglas)\b|要求|需求|验收|规则|约束|標準|标准|要件|条件|ルール|制約|요구\s*사항|기준|규칙|조건",
    )
});

/// The rules in what a person said, in order, code fences left aside.
pub fn rules(said: &str) -> Vec<Rule<'_>> {
    let mut all = Vec::new();
    let (mut is_fenced, mut is_announced) = (false, false);
    for line in said.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        if is_fenced || line.trim().is_empty() {
            continue;
        }
        match list_item(line) {
            Some(item) if is_announced || is_checklist(line) => all.extend(rule(item)),
            Some(item) => all.extend(marked_sentences(item)),
            None => {
                is_announced = ANNOUNCES.is_match(line) && is_heading(line);
                all.extend(marked_sentences(line));
            }
        }
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

fn is_checklist(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
    line.starts_with("[ ]") || line.starts_with("[x]") || line.starts_with("[X]")
}

fn is_heading(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('#')
        || line.ends_with([':', '：'])
        || line.starts_with("**")
        || line.chars().count() <= 40
}

fn marked_sentences(line: &str) -> impl Iterator<Item = Rule<'_>> {
    sentences(line).filter(|sentence| OBLIGATION.is_match(sentence)).filter_map(rule)
}

fn rule(text: &str) -> Option<Rule<'_>> {
    let text = text.trim();
    let chars = text.chars().take(RULE_CHARS_MAX + 1).count();
    if !(4..=RULE_CHARS_MAX).contains(&chars) {
        return None;
    }
    let class = if NEGATION.is_match(text) { Class::Prohibition } else { Class::Requirement };
    Some(Rule { class, text })
}

/// The sentences of a line. A full stop inside a name or a number ends none.
pub fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
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
    use super::rules;
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
    fn items_under_an_announcement_are_requirements() {
        let said = "Acceptance criteria:\n- exits with 0\n- prints a table\n\n```\nnever this\n```";
        let want = vec![(Class::Requirement, "exits with 0"), (Class::Requirement, "prints a table")];
        assert_eq!(found(said), want);
    }
}
