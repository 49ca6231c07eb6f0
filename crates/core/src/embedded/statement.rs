//! Sentences of the model's own that say something a successor must know: causes, fixes, choices, what holds, what is
//! open. They are told apart by the words that mark them, in several languages, and weighed by these alone; facts in
//! them are weighed by `weight`.

use super::link::word_count;
use super::reading::Quote;
use crate::EntryId;
use crate::facts::sentences;
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// A sentence that says something, wherever it stands.
pub(crate) struct StatedSentence {
    /// Word for word.
    pub text: Box<str>,
    /// How much it says; see [`Finding::meaning`].
    pub meaning: f64,
}

/// A sentence of the model's.
pub(super) struct Finding {
    /// Where it stands, word for word.
    pub quote: Quote,
    /// How much it says, by its marks; the higher the more.
    pub meaning: f64,
    /// Bytes of history before it.
    pub clock: u64,
}

/// Marks of one kind, and what a sentence that bears one gains by it.
struct Cue {
    words: LazyLock<Regex>,
    weight: f64,
}

/// Words that stand alone, and parts of words in scripts without spaces.
fn words(spaced: &str, spaceless: &str) -> Regex {
    compile(&format!(r"(?i)\b(?:{spaced})\b|{spaceless}"))
}

static CUES: [Cue; 7] = [
    // Causes.
    Cue {
        words: LazyLock::new(|| {
            words(
                r"because|root cause|due to|caused by|turns? out|culprit|reason|that['’]s why|which is why|stems from|the (?:real |actual |core |underlying )?(?:issue|problem|bug|cause|trick|catch) (?:is|was)|means? that|weil|wegen|ursache|parce que|car|porque|causa",
                "原因|因为|由于|导致|ため|によって|せいで|때문|원인",
            )
        }),
        weight: 1.0,
    },
    // What overcame an error.
    Cue {
        words: LazyLock::new(|| {
            words(
                r"fix(?:ed|es)?|resolved?|solved|corrected|patched|reverted|works? now|now (?:works?|passes|builds|fails|returns|uses)|no longer|instead of|rather than|replaced|behoben|corrigé|arreglado",
                "修复|修正|解决|改为|直し|直っ|解消|고쳤|해결|수정",
            )
        }),
        weight: 0.9,
    },
    // Choices.
    Cue {
        words: LazyLock::new(|| {
            words(
                r"decided?|decision|chose|chosen|we(?:['’]ll| will) (?:use|keep|go)|going with|opted|settled on|prefer(?:red|s)?|reject(?:ed)?|ruled out|out of scope|deferred|skip(?:ped)?|won['’]t|deliberate(?:ly)?|by design|trade-?off|recommend(?:ed)?|entschieden|décidé|decidido",
                "决定|选择|采用|方案|建议|決定|選択|採用|方針|見送|결정|선택|권장",
            )
        }),
        weight: 0.9,
    },
    // What was reached.
    Cue {
        words: LazyLock::new(|| {
            words(
                r"confirmed|verified|pass(?:es|ed|ing)?|green|commit(?:ted)?|push(?:ed)?|merged|shipped|released|complete(?:d)?|implemented|added|created|removed|renamed|updated|refactored|all \d+|done|found|fertig|terminé|listo",
                "完成|通过|已经|成功|完了|実装|追加|作成|更新|통과|완료|추가|구현",
            )
        }),
        weight: 0.7,
    },
    // What is open.
    Cue {
        words: LazyLock::new(|| {
            words(
                r"next|remaining|remains|left to|still|todo|pending|blocked|needs? to|not yet|haven['’]t|hasn['’]t|follow-?up|once|after that|waiting|unclear|open question|noch|reste|falta",
                "下一步|剩余|还需|待|尚未|残り|次に|まだ|未|다음|남은|아직",
            )
        }),
        weight: 0.7,
    },
    // What to beware of.
    Cue {
        words: LazyLock::new(|| {
            words(
                r"careful|warning|note that|important|caveat|gotcha|beware|pitfalls?|watch out|risks?|limitations?|known issue|side effects?|breaking|vorsicht|attention|cuidado",
                "注意|警告|小心|危険|風険|风险|주의|경고",
            )
        }),
        weight: 0.8,
    },
    Cue {
        words: LazyLock::new(|| {
            words(
                r"must|never|only|however|but|except|unless|can(?:no|['’])t|doesn['’]t|fails?|failed|missing|broken|wrong|wichtig|ojo",
                "但是|不过|必须|不能|ただし|しかし|必要|できない|하지만|필요|실패",
            )
        }),
        weight: 0.5,
    },
];

/// How sentences begin that only say what is looked at next.
static ANNOUNCES: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^(?:(?:ok(?:ay)?|good|great|perfect|now|alright|right|so|and|first|next|then|hmm|wait)\b[,.!:— -]*)*(?:let['’]?s?\b|let me|i['’]ll|i will|i['’]m going to|i need to|i should|i want to|i can see|looking|checking|running|reading|trying|let us|here(?:['’]s| is| are))|^(?:让我|我来|我将|我会|接下来|现在|まず|では|それでは|確認し|이제|먼저)|(?:します|しますね|しましょう|していきます|하겠습니다|할게요)[。.!！]?$",
    )
});

/// How sentences sound by which the model thinks aloud: what they say is taken back or borne out in a later one.
static HEDGES: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^(?:wait|actually|hmm+|hold on|but wait|maybe|perhaps|unless)\b|\b(?:might|maybe|perhaps|possibly|let me|i wonder|not sure)\b|かもしれ|もしかし|可能是|也许|아마",
    )
});

/// What is left of what such a sentence says.
const HEDGED_SHARE: f64 = 0.4;

/// A shorter sentence says too little, a longer one is a paste.
const CHARS: std::ops::RangeInclusive<usize> = 24..=420;
/// Sentences of one line are told together up to this many bytes.
const UNIT_BYTES_MAX: usize = 400;
/// So wide a sentence has room for what it is about.
const FULL_WIDTH: f64 = 90.0;
/// Scripts without spaces say more in a character.
const CHARS_MIN_SPACELESS: usize = 10;

impl Finding {
    /// A sentence that stands in this entry, so far into the history.
    pub(super) fn new(id: EntryId, sentence: &StatedSentence, clock: u64) -> Self {
        let StatedSentence { text, meaning } = sentence;
        Self { quote: Quote { id, text: text.to_string() }, meaning: *meaning, clock }
    }
}

/// The statements in what the model said, code left aside.
pub(crate) fn sentences_in(said: &str) -> Vec<StatedSentence> {
    let (mut found, mut is_code) = (Vec::new(), false);
    for line in said.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code || line.starts_with('#') {
            continue;
        }
        for unit in units(line) {
            let meaning = meaning_of(unit).max(if is_acting(unit) { ACTING_MEANING } else { 0.0 });
            if meaning > 0.0 {
                found.push(StatedSentence { text: unit.into(), meaning });
            }
        }
    }
    found
}

/// How much the sentences of a text say together.
pub(super) fn meaning_of(text: &str) -> f64 {
    sentences(text).map(|sentence| meaning(sentence) * fullness(sentence)).sum()
}

/// A line, since its sentences explain each other; a long one in runs of sentences.
fn units(line: &str) -> Vec<&str> {
    let mut units: Vec<(usize, usize)> = Vec::new();
    for sentence in sentences(line) {
        // What only leads on says nothing here, unless it says what is about to be changed and how.
        if (ANNOUNCES.is_match(sentence) || sentence.ends_with([':', '：'])) && !is_acting(sentence) {
            continue;
        }
        let start = sentence.as_ptr() as usize - line.as_ptr() as usize;
        let end = start + sentence.len();
        match units.last_mut() {
            Some(unit) if end - unit.0 <= UNIT_BYTES_MAX => unit.1 = end,
            Some(_) | None => units.push((start, end)),
        }
    }
    units.into_iter().map(|(start, end)| &line[start..end]).collect()
}

/// How the model says that it changes something: what it says so of was done next.
static ACTS: LazyLock<Regex> = LazyLock::new(|| {
    words(
        r"(?:fix|updat|chang|replac|remov|add|mak|mov|renam|rewrit|switch|revert|adjust|correct|refactor|extract|simplif|handl|creat|implement|wir|convert|split|introduc|drop|disabl|enabl|wrap|pin|bump)(?:e|es|ed|ing|s|y)?",
        "修复|修改|添加|删除|更新|改成|替换|修正|追加|削除|更新|変更|実装|수정|추가|삭제|변경|구현",
    )
});

/// Fewer words say too little of a change.
const ACTING_WORDS_MIN: usize = 5;
/// What such a sentence says by itself.
const ACTING_MEANING: f64 = 0.2;

/// Whether a sentence says what the model changes, and enough of it to be understood.
fn is_acting(sentence: &str) -> bool {
    ACTS.is_match(sentence) && word_count(sentence) >= ACTING_WORDS_MIN
}

/// A short sentence says less, whatever its marks.
fn fullness(sentence: &str) -> f64 {
    let width: usize = sentence.chars().map(|c| if c.is_ascii() { 1 } else { 3 }).sum();
    (width as f64 / FULL_WIDTH).min(1.0)
}

/// How much a sentence says; zero for what announces, what is too short, and what only leads to what follows it.
pub(super) fn meaning(sentence: &str) -> f64 {
    let chars = sentence.chars().count();
    let is_spaceless = sentence.chars().filter(|c| !c.is_ascii()).count() * 3 > chars;
    let is_short = chars < if is_spaceless { CHARS_MIN_SPACELESS } else { *CHARS.start() };
    let is_lead = sentence.ends_with([':', '：']);
    if is_short || chars > *CHARS.end() || is_lead || ANNOUNCES.is_match(sentence) {
        return 0.0;
    }
    let marks = CUES.iter().filter(|mark| mark.words.is_match(sentence));
    let marks: f64 = marks.map(|mark| mark.weight).sum();
    let marks = if HEDGES.is_match(sentence) { marks * HEDGED_SHARE } else { marks };
    // A question asks; what it is about is in the answer.
    if sentence.ends_with(['?', '？']) { marks * 0.5 } else { marks + 0.2 }
}

#[cfg(test)]
mod tests {
    use super::meaning;

    #[test]
    fn what_explains_says_more_than_what_announces() {
        let cause =
            meaning("The login failed because the cookie was set after the redirect; fixed in auth.ts.");
        let plain = meaning("The folder holds several files of the parser and the lexer.");
        assert!(cause > plain && plain > 0.0);
        for idle in [
            "Let me look at the failing test first.",
            "Here is what I found:",
            "Done.",
            "Now let me run the suite again.",
        ] {
            assert!(meaning(idle) == 0.0, "{idle}");
        }
    }

    #[test]
    fn other_languages_have_statements_too() {
        assert!(meaning("ログインに失敗した原因は、リダイレクト後にクッキーを設定していたため。") > 1.0);
        assert!(meaning("根本原因是重定向之后才设置 cookie，已修复。") > 1.0);
        assert_eq!(meaning("让我先看一下失败的测试。"), 0.0);
    }
}
