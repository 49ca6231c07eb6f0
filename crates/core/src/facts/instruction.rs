//! The marks by which a sentence tells somebody what to do or how to do it, in several languages, and those by
//! which it only asks, answers back or describes.

use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// Where a clause can begin, so that what follows is an imperative.
const CLAUSE: &str = r"(?:^|[,;:(]\s*|\s[-–—]\s+|\b(?:and|but|so|then|also|please|just|ok|okay|yes|no|hmm|well|again|btw|remember|important|should|must)[,:]?\s+)";

/// Somebody is told what to do.
static INSTRUCTION: LazyLock<Regex> = LazyLock::new(|| {
    let imperatives = [
        r"do\s+not|don['’]?t|never|always|avoid|make\s+sure|ensure|be\s+sure|stop\s+\w+ing|only\s+\w+|no\s+more|prefer",
        r"stick\s+(?:to|with)|from\s+now\s+on|going\s+forward|whenever|every\s+time|each\s+time|keep\s+in\s+mind",
    ];
    let words = [
        r"must|should(?:n['’]?t)?|shall|ought\s+to|has\s+to|needs?\s+to\s+be|(?:we|you)\s+(?:need|have)\s+to",
        r"(?:is|are)\s+(?:required|mandatory|forbidden|not\s+allowed)|not\s+allowed|(?:a|the)\s+requirement\s+is|at\s+all\s+times",
        r"i\s+(?:really\s+|also\s+|just\s+|still\s+)?(?:want|prefer|expect|need\s+you)|i(?:['’]?d|\s+would)\s+(?:really\s+|also\s+)?(?:like|prefer|rather)",
        r"i\s+(?:don['’]?t|do\s+not)\s+want|would\s+be\s+(?:nice|great|good|better|best)\s+(?:if|to|that)|no\s+need\s+(?:to|for)",
        r"let['’]?s\s+(?:not|use|keep|make|call|go\s+with|stick|move|drop|remove|rename|avoid|have|put|switch|only|always)",
        r"please\s+(?:use|keep|don['’]?t|do\s+not|avoid|make\s+sure|always|never|only|stick|prefer|leave|stop)",
        r"use\s.+\s(?:instead|rather\s+than)|instead\s+of\s.+,\s*use|rather\s+than\s+\w+ing",
        // German
        r"bitte\s+(?:nicht|nur|immer|nie|keine?\w*|verwende|nutze|benutze|achte)|niemals|darf(?:st)?|dürfen|muss|müssen|musst",
        r"soll(?:en|st|te|ten|test)?|achte\s+darauf|stelle?\s+sicher|unbedingt|ab\s+(?:jetzt|sofort)|in\s+zukunft|lass\s+uns",
        r"ich\s+(?:möchte|will|bevorzuge|hätte\s+gern\w*)",
        // French
        r"il\s+(?:ne\s+)?faut|(?:tu|vous|on|nous)\s+(?:ne\s+)?d(?:ois|evez|oit|evons|evrai\w+)|doi(?:t|vent)|interdite?s?|obligatoires?",
        r"assure[zr]?[\s-](?:toi|vous)|évite[rz]?|désormais|à\s+partir\s+de\s+maintenant|je\s+(?:ne\s+)?(?:veux|préfère|voudrais|souhaite)",
        // Spanish, Portuguese, Italian
        r"debes?|deben|debería[sn]?|hay\s+que|tienes?\s+que|asegúra(?:te|se)|asegúrese|prohibid[oa]|obligatori[oa]|quiero\s+que|no\s+quiero",
        r"prefiero|me\s+gustaría|a\s+partir\s+de\s+ahora|evita[re]?|deve[mn]?|devi|não\s+(?:use|faça|mexa|altere|quero)|quero\s+que|prefiro|voglio|preferisco",
        // Russian
        r"нельзя|долж(?:ен|на|но|ны)|никогда\s+не|не\s+надо|не\s+нужно|обязательно|следует|убедись|используй(?:те)?|я\s+(?:не\s+)?хочу|предпочитаю|впредь|не\s+\p{L}+(?:й|йте|ь|ьте)",
    ];
    let beginnings = [
        r"use\s|immer\s|nie\s|nur\s|keine?n?\s|verwende\s|nutze\s|ne\s+\S+\s+(?:pas|jamais|plus)\b|n['’]\S+\s+(?:pas|jamais|plus)\b|toujours\s|jamais\s",
        r"utilise[rz]?\s|nunca\s|siempre\s|sempre\s|usa\s|no\s+\p{L}+(?:es|as)\b|всегда\s|только\s|давай(?:те)?\s",
    ];
    let spaceless = [
        r"必须|必須|务必|一定要|不要|不得|不许|不可以|禁止|只能|只要|只用|确保|始终|总是|永远|请勿|别再|以后|应该|應該|应当|避免|我希望|我想要|我不想|最好|尽量|先别|统一用|请用|改成",
        r"必ず|しないで|ないでください|絶対に|べき|なければな|てはいけ|てはなら|ないこと|常に|今後|毎回|ようにして|ようにし(?:たい|よう)|(?:して|使って|書いて|て)(?:ほしい|欲しい)|したくない|(?:使って|使用して|で書いて|で答えて|統一して)(?:ください|$)|にしよう|必要があ",
        r"반드시|절대|하지\s*마|하지\s*말|말고|금지|항상|앞으로|매번|해야|안\s*돼|안\s*됩|않도록|필수|으면\s*좋겠|원해|하고\s*싶|사용해\s*(?:줘|주세요)|하자",
    ];
    compile(&format!(
        r"(?i){CLAUSE}(?:{})\b|\b(?:{})\b|^(?:{})|{}",
        imperatives.join("|"),
        words.join("|"),
        beginnings.join("|"),
        spaceless.join("|")
    ))
});

/// German instructs with an imperative and a word behind it: "Ändere die API nicht.", "Antworte immer auf Deutsch."
static GERMAN_IMPERATIVE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^\p{Lu}\p{Ll}+\s.*\b(?:nicht|keine?[nmrs]?|immer|stets|nie|niemals|nur)\b"));
static GERMAN_STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^(?:das|es|ich|wir|der|die|er|sie|ihr|du|dies\w*|hier|da|dort|man|ein\w*|mein\w*|unser\w*|leider|aber|warum|wieso|kann|ist|hat|noch|im|in|am|bei|mit|wenn|weil|also|jetzt|so|the|this|it|i|we)\b",
    )
});

/// Somebody asks.
static QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    let lead =
        r"(?:(?:and|so|but|or|hmm+|wait|ok(?:ay)?|also|yes|no|well|ah|oh|now|then|first|if\s[^,]+)[,.]?\s+)*";
    let words = r"(?:should|shall|can|could|would|will|does|did|is|are|isn['’]?t|aren['’]?t|doesn['’]?t|didn['’]?t|shouldn['’]?t|wouldn['’]?t|couldn['’]?t|won['’]?t|can['’]?t|was|were|why|what|how|when\s+(?:do|does|did|should|will|is|are)|where|which|who|whose|has|am)\b";
    let inverted = r"(?:do|don['’]?t|have|haven['’]?t|must)\s+(?:i|we|you|they|these|those|the|it)\b";
    let others = r"(?:soll(?:en|te|ten)?|kann|können|ist|sind|hat|warum|wieso|wie|was|muss|müssen|darf)\s+(?:ich|wir|das|es|man|die|der)\b|(?:est-ce|pourquoi|comment|faut-il)\b|(?:por\s+qué|cómo|qué)\b|(?:почему|зачем|как|можно\s+ли)\b";
    let spaceless = r"[?？]\s*[)\x22”’'」』]*$|[吗嘛呢么]\s*[。.]?$|是不是|是否|能不能|要不要|为什么|怎么|有没有|[かの]な[あぁー]?[。]?$|(?:です|ます|でしょう|だろう)か[。]?$|(?:까|나요|인가|는지|을까|ㄹ까)[.]?$|왜";
    compile(&format!(r"(?i)^{lead}(?:{words}|{inverted}|{others})|{spaceless}"))
});

/// A wish without its subject: "should take up the space". A question has one behind its verb.
static WITHOUT_SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^should(?:n['’]?t)?\s+(?:not|also|always|never|only|just|still|be|have|get|go|come|stay|take|show|look|use|work|run|say|tell|keep|fit|contain|include|support|allow)\b[^?？]*$",
    )
});

/// A wish put as a question, for good: "can we make it full page always". With a question mark it is asked.
static STANDING_WISH: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)^(?:(?:and|so|but|also|ok(?:ay)?|then)[,.]?\s+)*(?:can|could|would|will)\s+(?:we|you)\b.*\b(?:always|never|from\s+now\s+on|going\s+forward|every\s+time|each\s+time)\b",
    )
});

/// Somebody answers back, doubts, guesses or tells how things are.
static DESCRIPTION: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        r"i\s+(?:really\s+)?(?:don['’]?t|do\s+not|didn['’]?t|can['’]?t|cannot|couldn['’]?t)\s+(?:really\s+|even\s+|actually\s+)?(?:know|think|see|understand|undersatnd|get|remember|believe|care|mind|find|recall|like|have|need)",
        // "should have worked", and not "should have a look"
        r"should(?:n['’]?t)?\s+(?:have\s+(?:been|had|done|gone|got|made|said|sent|come|run|put|set|kept|left|read|built|caught|found|thought|told|meant|cut|hit|let|lost|won|\w+(?:ed|en|wn))\b|be\s+(?:fine|ok|okay|good|working|able|enough|easy|done|there))|must\s+(?:have|be\s+(?:a|the|an|because))|i\s+(?:should|must|have\s+to|need\s+to)",
        r"(?:like|want|love)\s+(?:to\s+|you\s+to\s+)?(?:know|understand|hear|ask|see\s+(?:if|what|how|why))|don['’]?t\s+(?:know|think|understand|worry|see\s+(?:why|how|any))",
        r"(?:where|what|how|why|whether)\s+[^,.;]{0,40}\bshould|not\s+sure|no\s+idea|i\s+(?:thought|guess|wonder|tried|tested|assume)|as\s+(?:it|i|we|you)\s+should",
    ];
    compile(&format!(
        r"(?i)^(?:(?:but|and|so|please|then)\s+)?(?:tell\s+me|explain|use\s+cases?)\b|^(?:it|this|that|they|there|which|he|she)\s+(?:will|can|could|was|were|does|did|never|always|only)\b|^don['’]?t\s+(?:know|think|see\s+why|understand|get\s+it)|\b(?:{})\b",
        words.join("|")
    ))
});

/// What is forbidden rather than asked for.
static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        r"never|not|don['’]?t|shouldn['’]?t|can['’]?t|cannot|avoid|forbidden|without|instead\s+of|rather\s+than|no|stop",
        r"nicht|niemals|nie|keine?[nmrs]?|statt|ohne|jamais|pas|interdite?s?|sans|au\s+lieu\s+de",
        r"nunca|prohibid[oa]|en\s+(?:lugar|vez)\s+de|sin|não|non|invece\s+di|нельзя|никогда|не|вместо",
    ];
    let spaceless = "不要|不能|不得|不许|不可|不应|不想|禁止|永远不|而不是|请勿|别再|先别|避免|しないで|ないで|したくない|絶対に|てはいけ|てはなら|ないこと\
                     |하지\\s*마|하지\\s*말|말고|금지|안\\s*돼|안\\s*됩|않도록|절대";
    compile(&format!(r"(?i)\b(?:{})\b|{spaceless}", words.join("|")))
});

/// What holds from now on and everywhere, rather than for the task at hand.
static STANDING: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        r"always|never|from\s+now\s+on|going\s+forward|in\s+(?:the\s+)?future|every|each|whenever|all|any|anything|everything|at\s+all\s+times|by\s+default|in\s+general|as\s+a\s+rule|ever",
        r"immer|niemals|nie|ab\s+(?:jetzt|sofort)|in\s+zukunft|jede[snmr]?|alle[snmr]?|grundsätzlich|toujours|jamais|désormais|chaque|tous|toutes",
        r"siempre|nunca|a\s+partir\s+de\s+ahora|cada|todos?|todas?|sempre|всегда|никогда|впредь|кажд\p{L}+|все|всех",
    ];
    let spaceless = "始终|总是|永远|以后|每次|所有|任何|一律|统一|必须|务必|常に|必ず|絶対|今後|毎回|すべて|全て|항상|반드시|절대|앞으로|매번|모든";
    compile(&format!(r"(?i)\b(?:{})\b|{spaceless}", words.join("|")))
});

/// Whether a sentence tells somebody what to do or how.
pub(super) fn instructs(sentence: &str) -> bool {
    if STANDING_WISH.is_match(sentence) && !sentence.trim_end().ends_with(['?', '？']) {
        return true;
    }
    let is_told = INSTRUCTION.is_match(sentence)
        || (GERMAN_IMPERATIVE.is_match(sentence) && !GERMAN_STATEMENT.is_match(sentence));
    is_told && !asks(sentence) && !DESCRIPTION.is_match(sentence)
}

/// Whether a sentence asks something.
pub(super) fn asks(sentence: &str) -> bool {
    let sentence = sentence.trim_end();
    QUESTION.is_match(sentence) && !WITHOUT_SUBJECT.is_match(sentence)
}

/// Whether a rule forbids.
pub(super) fn forbids(sentence: &str) -> bool {
    NEGATION.is_match(sentence)
}

/// Whether a rule holds beyond the task at hand.
pub(super) fn is_standing(sentence: &str) -> bool {
    STANDING.is_match(sentence)
}
