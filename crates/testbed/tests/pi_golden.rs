//! pi's own two fixtures, cut where pi cuts them: entry for entry, by its own estimate.
//!
//! An entry is counted as pi counts the lines of its file, the header left out. Of a command that a
//! person ran pi counts the command and its output; we count what the model is shown of it, the words
//! around both included, which moves one of these cuts by an exchange. So that all of them can be held
//! against pi's, such entries are weighed here as pi weighs them.

use epitome_core::policy::Newest;
use epitome_core::{
    Archive, Budget, EntryId, Measure, MemoryArchive, Policy, Settings, SizeTable, Sizes, Tokens, Trigger,
    Verdict,
};
use epitome_engine::{Assembly, CompactOptions, Driver, Ports, Session, measure_for};
use epitome_settings::preset;
use epitome_testbed::{TestHook, now};
use epitome_tokens::{Counter, Encoding};
use epitome_wire::{Conversation, Format};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A fixture and where its entries stand in the file.
struct Fixture {
    bytes: Vec<u8>,
    conversation: Conversation,
}

/// Where a context is cut.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    cut: usize,
    turn: Option<usize>,
    kept: u64,
}

fn found(cut: usize, turn: usize, kept: u64) -> Found {
    Found { cut, turn: Some(turn), kept }
}

fn policy(name: &str, newest: Option<Newest>) -> Policy {
    let mut settings: Settings = preset::settings(name).expect("the preset is in order");
    settings.keep.newest = newest.unwrap_or(settings.keep.newest);
    Policy::try_from(settings).expect("the settings are sound")
}

fn measure(policy: &Policy) -> Arc<dyn Measure> {
    measure_for(policy, &Counter::exact(Encoding::O200kBase)).0
}

fn fixture(name: &str) -> Fixture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/pi").join(name);
    let packed = std::fs::read(path).expect("the corpus is part of the repository");
    let bytes = zstd::decode_all(packed.as_slice()).expect("the corpus is whole");
    let read = epitome_wire::read(Arc::new(bytes.clone()), Some(Format::Pi), &*measure(&policy("pi", None)));
    let mut conversation = read.expect("pi's own files are read").conversations.remove(0);
    conversation.sizes = as_pi_weighs(&conversation, &bytes);
    Fixture { bytes, conversation }
}

/// The sizes with each command that a person ran weighed by its own words alone.
fn as_pi_weighs(conversation: &Conversation, bytes: &[u8]) -> SizeTable {
    let mut sizes = conversation.sizes.clone();
    for id in (0..conversation.log.len() as u32).map(EntryId) {
        if let Some(letters) = ran(conversation, bytes, id) {
            sizes.set(id, Sizes { text: Tokens(letters.div_ceil(4)), ..Sizes::default() });
        }
    }
    sizes
}

/// The letters of a command and its output, where the entry is one.
fn ran(conversation: &Conversation, bytes: &[u8], id: EntryId) -> Option<u64> {
    let span = conversation.originals.spans(id)?.first()?;
    let line: Value =
        serde_json::from_slice(bytes.get(span.offset as usize..)?.get(..span.len as usize)?).ok()?;
    let letters = |field: &str| Some(line["message"][field].as_str()?.encode_utf16().count() as u64);
    Some(letters("command")? + letters("output")?)
}

impl Fixture {
    /// The number of an entry among the lines of its file.
    fn line(&self, id: EntryId) -> usize {
        let spans = self.conversation.originals.spans(id).expect("it stands in the file");
        let before = &self.bytes[..spans[0].offset as usize];
        before.iter().filter(|&&byte| byte == b'\n').count() - 1
    }

    fn ids(&self) -> impl Iterator<Item = EntryId> {
        let ids = (0..self.conversation.log.len() as u32).map(EntryId);
        ids.filter(|&id| self.conversation.log.item(id).is_some())
    }

    fn estimate(&self) -> u64 {
        self.ids().map(|id| self.conversation.sizes.total(id).0).sum()
    }

    /// The session under `policy`.
    fn session(&self, policy: Policy) -> Session {
        let archive = MemoryArchive::default();
        for id in self.ids() {
            archive.put_shared(id, self.conversation.originals.message(id).expect("it stands in the file"));
        }
        let budget = Budget::new(Tokens(1_000_000), Tokens::ZERO, Tokens::ZERO);
        let counted = measure(&policy);
        let assembly = Assembly::of_parts(Arc::new(policy), counted, "utf16/4", budget);
        let (log, sizes) = (self.conversation.log.clone(), self.conversation.sizes.clone());
        let mut session = Session::new(Arc::new(log), Arc::new(sizes), Arc::new(archive), assembly);
        session.move_to(self.conversation.leaf).expect("the branch can be taken up");
        session
    }

    /// Where `policy` cuts it: what a hook is told, who says no so that nothing is written.
    fn cut(&self, policy: Policy) -> Found {
        let session = self.session(policy);
        let veto = Verdict::Veto { why: "the cut is all we want".into() };
        let hook = Arc::new(TestHook::new("observer").says(Ok(Some(veto))));
        let mut ports = Ports::default();
        ports.add_hook(hook.clone()).expect("it is the only one");
        let tried = now(Driver::new(ports).preview(&session, Trigger::Threshold, CompactOptions::default()));
        tried.expect("the originals are at hand");
        let told = hook.told().pop().expect("there is something to summarise");
        let kept = session.context().newest_tokens(told.staying.len());
        Found { cut: self.line(told.staying[0]), turn: told.cut_turn.map(|id| self.line(id)), kept: kept.0 }
    }
}

fn reached(tokens: u64) -> Option<Newest> {
    Some(Newest::TokensReached(Tokens(tokens)))
}

#[test]
fn the_large_session_is_cut_where_pi_cuts_it() {
    let fixture = fixture("pi-mono-large-session.jsonl.zst");
    assert_eq!(fixture.estimate(), 124_661);
    for version in ["pi@0.58", "pi@0.83", "pi@0.87"] {
        assert_eq!(fixture.cut(policy(version, None)), found(837, 834, 20_330), "{version}");
        assert_eq!(fixture.cut(policy(version, reached(16_384))), found(891, 886, 16_256), "{version}");
    }
}

#[test]
fn the_compacted_session_is_cut_where_pi_cuts_it() {
    let fixture = fixture("pi-mono-before-compaction.jsonl.zst");
    assert_eq!(fixture.estimate(), 375_427);
    for version in ["pi@0.58", "pi@0.83", "pi@0.87"] {
        assert_eq!(fixture.cut(policy(version, None)), found(946, 939, 19_805), "{version}");
        assert_eq!(fixture.cut(policy(version, reached(16_384))), found(966, 957, 16_546), "{version}");
    }
}

#[test]
fn pis_document_keeps_at_least_what_it_says() {
    let fixture = fixture("pi-mono-large-session.jsonl.zst");
    assert_eq!(fixture.cut(policy("pi", None)), found(889, 886, 16_409));
}
