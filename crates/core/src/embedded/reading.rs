//! One pass over the material: its passages, their lines, the facts in them, and what people said.
//! Facts are counted in `table`; what of it is written is decided by `write` and `select`.

use super::action::{self, ActionLine};
use super::concept::{Concepts, WordPairs};
use super::dialogue::{Dialogue, spoken};
use super::file_note::{FileNote, FileNotes};
use super::line_piece::piece_around;
use super::lines_by_word::LinesByWord;
use super::material_message::{MaterialMessage, ledgers};
use super::own::OwnSummary;
use super::quoted_line::{LineTraits, is_counted, is_quoted, line_traits};
use super::stated_rule::{RuleQuote, rules_in};
use super::statement::{Finding, meaning_of, sentences_in};
use super::table::{FactPlace, FactTable};
use super::written::NotePlace;
use crate::digest::{DigestCache, MessageDigest};
use crate::facts::{Passage, PassageFacts, RuleReach, Secrets, Sighting, Voice, rules};
use crate::ledger::Ledger;
use crate::{Author, EntryId, Material, Message, Role, fence};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A passage that is leaving view.
pub(super) struct Doc {
    /// Its entry; none for prose of earlier compactions.
    pub id: Option<EntryId>,
    /// Its text, secrets screened out.
    pub text: Arc<str>,
    /// The pairs of its words, where somebody said it or called for it, as against what a tool answered.
    spoken_pairs: Option<WordPairs>,
}

/// A line of a passage, and the facts in it.
#[derive(Clone, Copy)]
pub(super) struct DocLine {
    /// The passage.
    pub doc: u32,
    /// Where the line stands in its text.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Its facts: a run in [`Reading::line_facts`].
    pub first: u32,
    /// How many.
    pub count: u32,
    /// What it tells by itself.
    pub traits: LineTraits,
}

/// Something a person or the model said that is kept as a sentence.
pub(super) struct Quote {
    /// The entry it stands in.
    pub id: EntryId,
    /// Word for word, secrets screened out.
    pub text: String,
}

/// Everything the summariser knows.
#[derive(Default)]
pub(super) struct Reading {
    /// Of the whole history, what stays in view included.
    pub ledger: Ledger,
    /// The ledger as it stood where what leaves view ends; none where nothing stands behind that.
    covered: Option<Ledger>,
    /// Passages that leave view, oldest first.
    pub docs: Vec<Doc>,
    /// Their lines that hold facts.
    pub lines: Vec<DocLine>,
    /// The facts of each line, one run after the other.
    pub line_facts: Vec<u32>,
    /// Every fact, once, with what is known of its use.
    pub table: FactTable,
    /// Tool calls that leave view.
    pub actions: Vec<ActionLine>,
    /// What was said, turn by turn.
    pub dialogue: Dialogue,
    /// What the model said on the way that says something.
    pub statements: Vec<Finding>,
    /// The numbers of the pairs of words in each of these.
    pub statement_pairs: Vec<Vec<u32>>,
    /// What was said of files.
    pub file_notes: FileNotes,
    /// The heads of commits, oldest first.
    pub commits: Vec<Quote>,
    /// What all of this is about.
    pub concepts: Concepts,
    /// The newest summary in view that a model or another tool wrote, to be carried on.
    pub carried: Option<String>,
    /// A person's rules, each once, the newest wording last.
    pub rules: Vec<RuleQuote>,
    /// What must not be written out.
    pub secrets: Secrets,
    /// Bytes read so far: the clock by which things are old.
    clock: u64,
    /// Whether a call has failed that the model has not spoken of.
    has_failed: bool,
    /// The newest message that a person sent.
    heard: Option<EntryId>,
}

/// Of a longer passage only the first part is read: one giant result must not eat the time of all
/// others.
const DOC_BYTES_MAX: usize = 2 << 20;
/// What the model says right behind a failure is its cause more often than not.
const FAILURE_FACTOR: f64 = 1.5;
impl Reading {
    /// Reads the material.
    pub(super) fn of(material: &Material<'_>) -> Self {
        let mut reading = Self::default();
        for text in material.previous {
            material.digests.secrets_of(text).iter().for_each(|secret| reading.secrets.remember(secret));
        }
        let leaving: Vec<(EntryId, Arc<MessageDigest>)> = (material.superseded.iter())
            .map(|original| (original.0, material.digests.digest(original)))
            .collect();
        for (_, digest) in &leaving {
            digest.secrets().iter().for_each(|secret| reading.secrets.remember(secret));
        }
        let (ours, others): (Vec<&str>, Vec<&str>) =
            material.previous.iter().partition(|text| fence::is_ours(text));
        others.iter().for_each(|text| reading.take_prose(text));
        reading.carried = others.last().map(|text| reading.secrets.screen(text).into_owned());
        let read = material.superseded.first().map(|(id, _)| *id);
        ours.iter().for_each(|text| reading.take_own(OwnSummary::of(text, read), material.digests));
        reading.take_all(&leaving, material);
        reading.settle();
        reading
    }

    /// The ledger that may be told. A compaction is shared by branches that go on differently behind it: what was done
    /// there may silence what a summary would say, and adds nothing to it.
    pub(super) fn covered(&self) -> &Ledger {
        self.covered.as_ref().unwrap_or(&self.ledger)
    }

    fn take_prose(&mut self, text: &str) {
        let passage = Passage { voice: Voice::Said, author: Author::Harness, tool: None, text: text.into() };
        self.take(None, &PassageFacts::of(&passage));
    }

    fn take_own(&mut self, own: OwnSummary<'_>, digests: &DigestCache) {
        let OwnSummary { rules: own_rules, dialogue, statements, commits, names, rest } = own;
        commits.iter().for_each(|commit| self.take_prose(&commit.text));
        self.commits.extend(commits);
        let told = LinesByWord::of(dialogue.iter().map(|line| line.text.as_str()));
        for text in own_rules {
            let reach = digests.reach_of(text);
            self.obey(told.find(text).map(|line| dialogue[line].id), text, reach);
        }
        for quote in statements {
            self.take_prose(&quote.text);
            let (meaning, clock) = (meaning_of(&quote.text), self.clock);
            self.statements.push(Finding { quote, meaning, clock });
        }
        dialogue.iter().for_each(|line| self.take_prose(&line.text));
        self.dialogue.recall(dialogue);
        // The words beside a name speak of that one alone, so each is a passage of its own.
        names.into_iter().for_each(|name| self.take_prose(name));
        self.take_prose(&rest);
    }

    /// Every message in its order, by whether it leaves view, stays, or stays cut.
    fn take_all(&mut self, leaving: &[(EntryId, Arc<MessageDigest>)], material: &Material<'_>) {
        let mut all: BTreeMap<EntryId, MaterialMessage<'_>> = BTreeMap::new();
        leaving.iter().for_each(|(id, digest)| all.entry(*id).or_default().original = Some(digest));
        material.visible.iter().for_each(|shown| all.entry(shown.0).or_default().shown = Some(shown));
        // What stays cut may stand behind the summary, where others' paths have something else.
        let gone = all.iter().rev().find(|(_, message)| message.shown.is_none()).map(|(id, _)| *id);
        let end = gone.or(leaving.last().map(|(id, _)| *id));
        self.take_each(&all, end, material);
        (self.ledger, self.covered) = ledgers(&all, end, material);
    }

    fn take_each(
        &mut self,
        all: &BTreeMap<EntryId, MaterialMessage<'_>>,
        end: Option<EntryId>,
        material: &Material<'_>,
    ) {
        for (&id, &MaterialMessage { original, shown }) in all {
            let kept = shown.filter(|_| original.is_none()).map(|shown| material.digests.digest(shown));
            original.or(kept.as_deref()).into_iter().for_each(|digest| self.hear(id, digest));
            match (original, shown) {
                (Some(original), Some((_, shown))) => self.leave_part(id, original, shown, Some(id) <= end),
                (Some(original), None) => self.leave(id, original),
                (None, _) => kept.iter().for_each(|kept| self.stay(id, kept, Some(id) < end)),
            }
        }
    }

    /// Forgets the rules of a message that the person takes back with this one.
    fn hear(&mut self, id: EntryId, digest: &MessageDigest) {
        if digest.message().author != Author::Person {
            return;
        }
        let before = self.heard.replace(id);
        if before.is_some() && digest.is_retraction() {
            self.rules.retain(|rule| rule.source != before);
        }
    }

    /// A message that stays in view cut: what was cut out of it is quoted, what is shown need not be.
    fn leave_part(&mut self, id: EntryId, original: &MessageDigest, shown: &Arc<Message>, is_covered: bool) {
        for passage in original.passages() {
            self.take(Some(id), passage);
        }
        let original = original.message();
        if original.author == Author::Person {
            let (said, in_view) = (self.secrets.screen(&original.said()).into_owned(), shown.said());
            let hidden = rules(&said).into_iter().filter(|rule| !in_view.contains(rule.text));
            hidden.for_each(|rule| self.obey(Some(id), rule.text, rule.reach));
        }
        // The digest that is kept for it is that of the whole message.
        self.stay(id, &MessageDigest::new(shown.clone()), is_covered);
    }

    /// A message that leaves view.
    fn leave(&mut self, id: EntryId, digest: &MessageDigest) {
        let message = digest.message();
        if message.is_staged() {
            return;
        }
        let calls = message.calls().zip(digest.arguments());
        self.actions.extend(calls.map(|(call, argument)| action::of(id, call, argument, &self.secrets)));
        self.note(id, digest);
        self.file_notes.open(id, digest, &self.secrets);
        for (result, ending) in message.results().zip(digest.endings()) {
            let action = action::finish(&mut self.actions, result, ending);
            self.has_failed |= action.is_some_and(|action| action.failed);
            // What a sub-agent reports is said to the model, and by one.
            if action.is_some_and(|action| action::delegates(&action.tool)) {
                let told = self.secrets.screen(&spoken(&result.text())).into_owned();
                self.state(id, &told);
            }
        }
        for passage in digest.passages() {
            self.take(Some(id), passage);
        }
        self.dialogue.leave(id, digest, &self.secrets);
        self.quote(id, digest);
    }

    /// Takes down what the model wrote with its calls, and what is said of files.
    fn note(&mut self, id: EntryId, digest: &MessageDigest) {
        self.file_notes.announce(id, digest, &self.secrets);
        for note in digest.notes() {
            let quote = Quote { id, text: self.secrets.screen(&note.text).into_owned() };
            match &note.place {
                NotePlace::File(path) => {
                    let (path, meaning) = (path.to_string(), note.meaning);
                    self.file_notes.all.push(FileNote { path, quote, meaning });
                }
                NotePlace::Commit | NotePlace::Telling => {
                    if note.place == NotePlace::Commit {
                        self.commits.push(Quote { id, text: quote.text.clone() });
                    }
                    self.statements.push(Finding { quote, meaning: note.meaning, clock: self.clock });
                }
            }
        }
    }

    /// Takes down what is kept as sentences of a message that leaves view.
    fn quote(&mut self, id: EntryId, digest: &MessageDigest) {
        let message = digest.message();
        let said = message.said();
        let screened = match self.secrets.screen(&said) {
            Cow::Borrowed(_) => None,
            Cow::Owned(screened) => Some(screened),
        };
        match (message.role, message.author) {
            (Role::User, Author::Person) => {
                let clean = screened.map(|said| rules_in(&said));
                let rules = clean.as_deref().unwrap_or_else(|| digest.rules());
                rules.iter().for_each(|rule| self.obey(Some(id), &rule.text, rule.reach));
            }
            (Role::Assistant, _) => {
                let clean = screened.map(|said| sentences_in(&said));
                let sentences = clean.as_deref().unwrap_or_else(|| digest.sentences());
                let clock = self.clock;
                let has_failed = self.has_failed && !said.trim().is_empty();
                self.has_failed &= !has_failed;
                let more = if has_failed { FAILURE_FACTOR } else { 1.0 };
                let found = sentences.iter().map(|said| Finding::new(id, said, clock));
                self.statements.extend(found.map(|found| Finding { meaning: found.meaning * more, ..found }));
            }
            (Role::System | Role::User | Role::Tool, _) => {}
        }
    }

    fn state(&mut self, id: EntryId, said: &str) {
        let clock = self.clock;
        self.statements.extend(sentences_in(said).iter().map(|said| Finding::new(id, said, clock)));
    }

    /// A message that stays in view, older than something that leaves it or not: what it shows need not be said again.
    fn stay(&mut self, id: EntryId, digest: &MessageDigest, is_covered: bool) {
        for passage in digest.shown_passages() {
            self.clock += passage.text.len() as u64;
            let clock = self.clock;
            let is_action = passage.voice == Voice::Called;
            // Thinking may be left out where its message is shown.
            let is_visible = passage.voice != Voice::Thought;
            for (Sighting { mention, .. }, hash) in passage.sightings() {
                let place = FactPlace { clock, is_action, is_person: false, is_model: false, is_visible };
                self.table.see(mention, hash, place);
            }
        }
        if digest.message().author == Author::Person {
            // The goal tells how it begins.
            digest.secrets().iter().for_each(|secret| self.secrets.remember(secret));
        }
        self.dialogue.stay(id, digest.message(), is_covered, &self.secrets);
    }

    fn take(&mut self, id: Option<EntryId>, passage: &PassageFacts) {
        let doc = self.docs.len() as u32;
        let (voice, author) = (passage.voice, passage.author);
        let changed = self.changed(passage);
        let clean = changed.as_ref().unwrap_or(passage);
        let text = &clean.text;
        self.clock += text.len() as u64;
        let place = FactPlace {
            clock: self.clock,
            is_action: voice == Voice::Called,
            is_person: author == Author::Person,
            is_model: voice == Voice::Said && author == Author::Model,
            is_visible: false,
        };
        let is_quoted = is_quoted(passage);
        let (mut at, mut facts) = (None::<(u32, u32)>, Vec::new());
        let first = self.lines.len();
        for (Sighting { mention, line }, hash) in clean.sightings() {
            if !is_counted(mention, author) {
                continue;
            }
            let fact = self.table.see(mention, hash, place);
            if !is_quoted {
                continue;
            }
            let piece = piece_around(text, line, mention.value);
            if at.is_some_and(|at| at != piece) {
                self.close_line(doc, at, &mut facts);
            }
            at = Some(piece);
            facts.push(fact);
        }
        self.close_line(doc, at, &mut facts);
        if is_quoted {
            let new = self.lines[first..].iter_mut().zip(line_traits(clean));
            new.for_each(|(line, traits)| line.traits = *traits);
        }
        let is_spoken = matches!(voice, Voice::Said | Voice::Called);
        let spoken_pairs = is_spoken.then(|| clean.word_pairs().clone());
        self.docs.push(Doc { id, text: text.clone(), spoken_pairs });
    }

    /// The passage as it may be quoted, where that is not as it stands: shortened, or with secrets screened out.
    fn changed(&self, passage: &PassageFacts) -> Option<PassageFacts> {
        let text = self.secrets.screen(shorten(&passage.text));
        let is_same = matches!(text, Cow::Borrowed(_)) && text.len() == passage.text.len();
        let PassageFacts { voice, author, .. } = *passage;
        (!is_same).then(|| PassageFacts::of(&Passage { voice, author, tool: None, text }))
    }

    /// Takes down a line of this passage with its facts.
    fn close_line(&mut self, doc: u32, span: Option<(u32, u32)>, facts: &mut Vec<u32>) {
        let Some((start, end)) = span else { return };
        facts.sort_unstable();
        facts.dedup();
        let (first, count) = (self.line_facts.len() as u32, facts.len() as u32);
        self.lines.push(DocLine { doc, start, end, first, count, traits: LineTraits::default() });
        self.line_facts.append(facts);
    }

    fn obey(&mut self, source: Option<EntryId>, text: &str, reach: RuleReach) {
        self.rules.retain(|known| known.text != text);
        self.rules.push(RuleQuote { text: text.to_owned(), source, reach });
    }

    /// What is known only at the end: which values are outdated, and what is spoken of most.
    fn settle(&mut self) {
        self.table.settle(self.clock);
        let stated = self.statements.iter().map(|statement| statement.quote.text.as_str());
        self.statement_pairs = stated.map(|text| self.concepts.number(text)).collect();
        self.file_notes.all.iter().for_each(|note| drop(self.concepts.number(&note.quote.text)));
        let spoken = self.docs.iter().filter_map(|doc| doc.spoken_pairs.as_ref());
        spoken.for_each(|pairs| self.concepts.count(pairs));
    }
}

fn shorten(text: &str) -> &str {
    &text[..text.floor_char_boundary(DOC_BYTES_MAX)]
}
