//! Digests of messages, and a cache of them. A digest is all that is found by reading one message alone: its passages with
//! their facts, its secrets, what the person ruled in it, what the model stated. A message never changes, so each of these
//! is looked for once, however many steps of a plan and however many compactions read it. What is made of them is left to
//! the summariser and to [`crate::verify`].

use crate::embedded::{
    StatedRule, StatedSentence, WrittenNote, file_written, line_traits, main_argument, may_be_refused,
    notes_in, opening_of, purpose, rules_in, sentences_in,
};
use crate::facts::{
    PassageFacts, RuleReach, Voice, find_secrets, passages, rules, spoken_passages, takes_back,
};
use crate::ledger::{Ending, FileUse, ending, file_of};
use crate::{Author, Call, CallId, EntryId, Message, Original, Role, ToolResult, fence};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What reading a message alone tells, each part found when it is first asked for.
pub(crate) struct MessageDigest {
    message: Arc<Message>,
    passages: OnceLock<Box<[PassageFacts]>>,
    /// None where they are the same as `passages`.
    shown_passages: OnceLock<Option<Box<[PassageFacts]>>>,
    secrets: OnceLock<Box<[Box<str>]>>,
    carried_secrets: OnceLock<Box<[Box<str>]>>,
    rules: OnceLock<Box<[StatedRule]>>,
    is_retraction: OnceLock<bool>,
    sentences: OnceLock<Box<[StatedSentence]>>,
    purpose: OnceLock<Option<Box<str>>>,
    /// None where it has neither calls nor results: there may be very many such messages.
    calls: Option<Box<CallDigest>>,
}

/// What a message tells of its calls, and of those it has the results of.
#[derive(Default)]
struct CallDigest {
    notes: OnceLock<Vec<WrittenNote>>,
    file_written: OnceLock<Option<Box<str>>>,
    files_read: OnceLock<Vec<(CallId, Box<str>)>>,
    openings: OnceLock<Vec<(CallId, Box<str>)>>,
    arguments: OnceLock<Vec<Box<str>>>,
    endings: OnceLock<Vec<CallEnding>>,
}

/// How a call ended, by its result.
pub(crate) struct CallEnding {
    pub is_failure: bool,
    /// Its exit code, where the result shows one.
    pub exit: Option<i32>,
    /// Whether it may be that a person turned it down.
    pub may_be_refused: bool,
}

impl MessageDigest {
    /// The digest of a message, nothing of which was looked for yet.
    pub(crate) fn new(message: Arc<Message>) -> Self {
        let has_calls = message.calls().next().is_some() || message.results().next().is_some();
        let calls = has_calls.then(Box::default);
        Self {
            message,
            passages: OnceLock::new(),
            shown_passages: OnceLock::new(),
            secrets: OnceLock::new(),
            carried_secrets: OnceLock::new(),
            rules: OnceLock::new(),
            is_retraction: OnceLock::new(),
            sentences: OnceLock::new(),
            purpose: OnceLock::new(),
            calls,
        }
    }

    /// Looks for all that compactions ask of nearly every message.
    fn read(&self) {
        for passage in self.passages() {
            line_traits(passage);
            if matches!(passage.voice, Voice::Said | Voice::Called) {
                passage.word_pairs();
            }
        }
        self.shown_passages();
        let _secrets = (self.secrets(), self.carried_secrets());
        let _calls = (self.arguments(), self.endings());
        let _files = (self.notes(), self.purpose(), self.file_written(), self.files_read(), self.openings());
        match (self.message.role, self.message.author) {
            (Role::User, Author::Person) => {
                self.rules();
            }
            (Role::Assistant, _) => {
                self.sentences();
            }
            (Role::System | Role::User | Role::Tool, _) => {}
        }
    }

    /// The message itself.
    pub(crate) fn message(&self) -> &Message {
        &self.message
    }

    /// Its passages as they were really said, with their facts.
    pub(crate) fn passages(&self) -> &[PassageFacts] {
        self.passages.get_or_init(|| spoken_passages(&self.message).iter().map(PassageFacts::of).collect())
    }

    /// Its passages as they are shown, what a harness put into them included, with their facts.
    pub(crate) fn shown_passages(&self) -> &[PassageFacts] {
        let shown = self.shown_passages.get_or_init(|| {
            let all = passages(&self.message);
            let is_same = all.len() == self.passages().len()
                && all.iter().zip(self.passages()).all(|(one, spoken)| *one.text == *spoken.text);
            (!is_same).then(|| all.iter().map(PassageFacts::of).collect())
        });
        shown.as_deref().unwrap_or_else(|| self.passages())
    }

    /// The secrets of all its passages, what a harness put into them included.
    pub(crate) fn secrets(&self) -> &[Box<str>] {
        let look = || secrets_in(passages(&self.message).iter().map(|passage| &*passage.text)).into();
        self.secrets.get_or_init(look)
    }

    /// The secrets of what it carries and we do not read.
    pub(crate) fn carried_secrets(&self) -> &[Box<str>] {
        let look = || secrets_in(self.message.opaque().map(|opaque| &*opaque.json)).into();
        self.carried_secrets.get_or_init(look)
    }

    /// The rules in what it says, a person's words taken for granted.
    pub(crate) fn rules(&self) -> &[StatedRule] {
        self.rules.get_or_init(|| rules_in(&self.message.said()).into())
    }

    /// Whether it takes back the message before it, a person's words taken for granted.
    pub(crate) fn is_retraction(&self) -> bool {
        *self.is_retraction.get_or_init(|| takes_back(&self.message.said()))
    }

    /// The sentences in what it says that say something, the model's words taken for granted.
    pub(crate) fn sentences(&self) -> &[StatedSentence] {
        self.sentences.get_or_init(|| sentences_in(&self.message.said()).into())
    }

    /// What was written down with its calls.
    pub(crate) fn notes(&self) -> &[WrittenNote] {
        let look = || self.message.calls().flat_map(notes_in).collect();
        self.calls.as_ref().map_or(&[], |calls| calls.notes.get_or_init(look))
    }

    /// What the model said in it that it was about to do.
    pub(crate) fn purpose(&self) -> Option<&str> {
        let look = || match self.message.role {
            Role::Assistant => purpose(&self.message.said()).map(Into::into),
            Role::System | Role::User | Role::Tool => None,
        };
        self.purpose.get_or_init(look).as_deref()
    }

    /// The file that the first of its calls writes into.
    pub(crate) fn file_written(&self) -> Option<&str> {
        let look = || self.message.calls().next().and_then(file_written).map(Into::into);
        self.calls.as_ref()?.file_written.get_or_init(look).as_deref()
    }

    /// Its calls that read one file each, with the file.
    pub(crate) fn files_read(&self) -> &[(CallId, Box<str>)] {
        let read = |call: &Call| match file_of(call)? {
            (path, FileUse::Read) => Some((call.id.clone(), path.into())),
            (_, FileUse::Change) => None,
        };
        let look = || self.message.calls().filter_map(read).collect();
        self.calls.as_ref().map_or(&[], |calls| calls.files_read.get_or_init(look))
    }

    /// What the files that its results show say they are for.
    pub(crate) fn openings(&self) -> &[(CallId, Box<str>)] {
        let opening = |result: &ToolResult| Some((result.call.clone(), opening_of(&result.text())?));
        let look = || self.message.results().filter_map(opening).collect();
        self.calls.as_ref().map_or(&[], |calls| calls.openings.get_or_init(look))
    }

    /// The arguments of each of its calls that say most.
    pub(crate) fn arguments(&self) -> &[Box<str>] {
        let look = || self.message.calls().map(|call| main_argument(call).into()).collect();
        self.calls.as_ref().map_or(&[], |calls| calls.arguments.get_or_init(look))
    }

    /// How the calls ended whose results it holds.
    pub(crate) fn endings(&self) -> &[CallEnding] {
        let look = || self.message.results().map(CallEnding::of).collect();
        self.calls.as_ref().map_or(&[], |calls| calls.endings.get_or_init(look))
    }
}

impl CallEnding {
    fn of(result: &ToolResult) -> Self {
        let Ending { exit, is_failure, text } = ending(result);
        Self { is_failure, exit, may_be_refused: may_be_refused(&text) }
    }
}

fn secrets_in<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<Box<str>> {
    let mut secrets = Vec::new();
    texts.for_each(|text| find_secrets(text, |secret| secrets.push(secret.into())));
    secrets
}

/// Digests of the messages that compactions of a session read. It holds what the newest compaction and the one before it
/// asked for, and no more: what a compaction reads at all is bounded ([`crate::FarHistory`]).
#[derive(Default)]
pub struct DigestCache {
    generations: Mutex<Generations>,
    /// Summaries of the path, and whether a model wrote prose of them.
    summaries: Mutex<HashMap<EntryId, (Arc<str>, bool)>>,
    /// Texts that a compaction reads beside its messages, with their secrets.
    screened: Mutex<Vec<ScreenedText>>,
    /// Rules of earlier summaries with how far each reaches: every summary has those of the one before it.
    reaches: Mutex<HashMap<Box<str>, RuleReach>>,
}

/// More rules than any summary has room for.
const REACHES_MAX: usize = 4_096;

/// A text, and the secrets in it.
struct ScreenedText {
    text: Box<str>,
    secrets: Arc<[Box<str>]>,
}

/// So many of them are kept, the newest: each step of a compaction asks for the same one or two, and they are long.
const SCREENED_MAX: usize = 2;

#[derive(Default)]
struct Generations {
    /// What was asked for since the newest compaction began to read.
    young: HashMap<EntryId, Arc<MessageDigest>>,
    /// What was asked for before that.
    old: HashMap<EntryId, Arc<MessageDigest>>,
    /// What was read before anybody asked for it.
    ahead: HashMap<EntryId, Arc<MessageDigest>>,
    /// The newest message that was asked for: what comes before it is no more read ahead.
    newest: Option<EntryId>,
    /// How many were made in all.
    made: u64,
}

/// So many digests wait to be asked for; past it they were made of messages that no compaction looks at.
const AHEAD_MAX: usize = 1_024;

impl std::fmt::Debug for DigestCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DigestCache").finish_non_exhaustive()
    }
}

impl DigestCache {
    /// The digest of a message. One that is shown in another form than before is read anew.
    pub(crate) fn digest(&self, (id, message): &Original) -> Arc<MessageDigest> {
        let mut generations = self.generations();
        generations.newest = generations.newest.max(Some(*id));
        let known = generations.young.get(id).cloned().or_else(|| generations.old.remove(id));
        let ahead = generations.ahead.remove(id);
        let known = known.or(ahead);
        let is_same =
            |known: &Arc<MessageDigest>| Arc::ptr_eq(&known.message, message) || known.message == *message;
        let known = known.filter(is_same);
        generations.made += u64::from(known.is_none());
        let digest = known.unwrap_or_else(|| Arc::new(MessageDigest::new(message.clone())));
        generations.young.insert(*id, digest.clone());
        digest
    }

    /// Makes the digest of a message that a compaction will ask for: on a thread of its own, it is there by then.
    pub fn read_ahead(&self, (id, message): &Original) {
        let digest = Arc::new(MessageDigest::new(message.clone()));
        {
            let mut generations = self.generations();
            if generations.newest >= Some(*id) {
                return;
            }
            if generations.ahead.len() >= AHEAD_MAX {
                generations.ahead.clear();
            }
            generations.made += 1;
            generations.ahead.insert(*id, digest.clone());
        }
        // Whoever asks meanwhile waits for the part that is being looked for, and for no other.
        digest.read();
    }

    /// How many digests it has made so far. Where compactions carry along what they read, that is one for each message
    /// and form it was shown in, however many of them read it.
    pub fn digests_made(&self) -> u64 {
        self.generations().made
    }

    /// A compaction begins to read: what the one before it did not ask for is let go.
    pub(crate) fn age(&self) {
        let mut generations = self.generations();
        generations.old = std::mem::take(&mut generations.young);
    }

    /// Whether a model wrote prose of the summary that this compaction left. Each is looked through once.
    pub(crate) fn has_prose(&self, compaction: EntryId, summary: &Arc<str>) -> bool {
        let mut summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        // Where a log was put together anew, another may stand under the id.
        let known = summaries.get(&compaction).filter(|(known, _)| Arc::ptr_eq(known, summary));
        known.map(|(_, has_prose)| *has_prose).unwrap_or_else(|| {
            let has_prose = fence::prose(summary).is_some();
            summaries.insert(compaction, (summary.clone(), has_prose));
            has_prose
        })
    }

    /// The secrets of a summary that a compaction reads, looked for once.
    pub(crate) fn secrets_of(&self, text: &str) -> Arc<[Box<str>]> {
        let mut screened = self.screened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = screened.iter().find(|known| *known.text == *text) {
            return known.secrets.clone();
        }
        let secrets: Arc<[Box<str>]> = secrets_in(std::iter::once(text)).into();
        let gone = (screened.len() + 1).saturating_sub(SCREENED_MAX);
        screened.drain(..gone);
        screened.push(ScreenedText { text: text.into(), secrets: secrets.clone() });
        secrets
    }

    /// How far a rule reaches that an earlier summary tells, looked for once.
    pub(crate) fn reach_of(&self, rule: &str) -> RuleReach {
        let mut reaches = self.reaches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reach) = reaches.get(rule) {
            return *reach;
        }
        if reaches.len() >= REACHES_MAX {
            reaches.clear();
        }
        let reach = rules(rule).first().map_or(RuleReach::Task, |rule| rule.reach);
        reaches.insert(rule.into(), reach);
        reach
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        // Whoever panicked while it was locked left whole digests behind.
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::DigestCache;
    use crate::{Author, EntryId, Message, Original, Role};
    use std::sync::Arc;

    fn said(id: u32, text: &str) -> Original {
        (EntryId(id), Arc::new(Message::text(Role::User, Author::Person, text)))
    }

    #[test]
    fn a_message_is_read_once_and_another_form_of_it_anew() {
        let cache = DigestCache::default();
        let first = cache.digest(&said(1, "use src/a.rs"));
        assert!(Arc::ptr_eq(&first, &cache.digest(&said(1, "use src/a.rs"))));
        let cut = cache.digest(&said(1, "use […]"));
        assert_eq!(cut.message(), &*said(1, "use […]").1);
        assert!(cut.passages()[0].sightings().all(|(it, _)| it.mention.value != "src/a.rs"));
    }

    #[test]
    fn what_is_read_ahead_is_what_is_asked_for_later() {
        let cache = DigestCache::default();
        cache.read_ahead(&said(1, "use src/a.rs"));
        cache.age();
        cache.age();
        let asked = cache.digest(&said(1, "use src/a.rs"));
        assert_eq!((asked.passages.get().is_some(), cache.digests_made()), (true, 1));
        cache.read_ahead(&said(1, "use src/a.rs"));
        assert!(Arc::ptr_eq(&asked, &cache.digest(&said(1, "use src/a.rs"))));
    }

    #[test]
    fn what_a_compaction_does_not_read_is_let_go() {
        let cache = DigestCache::default();
        let (kept, gone) = (cache.digest(&said(1, "kept")), cache.digest(&said(2, "gone")));
        cache.age();
        assert!(Arc::ptr_eq(&kept, &cache.digest(&said(1, "kept"))));
        cache.age();
        assert!(Arc::ptr_eq(&kept, &cache.digest(&said(1, "kept"))));
        assert!(!Arc::ptr_eq(&gone, &cache.digest(&said(2, "gone"))));
    }
}
