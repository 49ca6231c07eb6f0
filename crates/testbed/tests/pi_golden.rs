//! pi's own two fixtures, cut where pi cuts them: entry for entry, by its own estimate.
//!
//! An entry is counted as pi counts the lines of its file, the header left out. Of a command that a
//! person ran pi counts the command and its output; we count what the model is shown of it, the words
//! around both included, which moves one of these cuts by an exchange. So that all of them can be held
//! against pi's, such entries are weighed here as pi weighs them.

use epitome_core::policy::Newest;
use epitome_core::{
    Budget, Drafted, Entry, EntryId, Expressible, Log, Measure, Policy, Settings, Sizes, Tokens, Trigger,
};
use epitome_engine::{Asks, Session, Setup, Stopped, measure_for};
use epitome_settings::preset;
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
    measure_for(policy, Counter::exact(Encoding::O200kBase))
}

fn fixture(name: &str) -> Fixture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/pi").join(name);
    let packed = std::fs::read(path).expect("the corpus is part of the repository");
    let bytes = zstd::decode_all(packed.as_slice()).expect("the corpus is whole");
    let read = epitome_wire::read(Arc::new(bytes.clone()), Some(Format::Pi), &*measure(&policy("pi", None)));
    let mut conversation = read.expect("pi's own files are read").conversations.remove(0);
    conversation.log = as_pi_weighs(&conversation, &bytes);
    Fixture { bytes, conversation }
}

/// The log with each command that a person ran weighed by its own words alone.
fn as_pi_weighs(conversation: &Conversation, bytes: &[u8]) -> Log {
    let mut log = Log::default();
    for id in (0..conversation.log.len() as u32).map(EntryId) {
        let mut entry = conversation.log.get(id).expect("it is in the log").clone();
        if let (Entry::Message(item), Some(letters)) = (&mut entry, ran(conversation, bytes, id)) {
            item.sizes = Sizes { text: Tokens(letters.div_ceil(4)), ..Sizes::default() };
        }
        log.push(entry);
    }
    log
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

    fn estimate(&self) -> u64 {
        let items =
            (0..self.conversation.log.len() as u32).filter_map(|id| self.conversation.log.item(EntryId(id)));
        items.map(|item| item.sizes.total().0).sum()
    }

    /// Where `policy` cuts it.
    fn cut(&self, policy: Policy) -> Found {
        let setup = Setup {
            archive: Arc::new(self.conversation.originals.clone()),
            measure: measure(&policy),
            count_method: "utf16/4".into(),
            budget: Budget::new(Tokens(1_000_000), Tokens::ZERO, Tokens::ZERO),
            policy: Arc::new(policy),
            can: Expressible::ALL,
            focus: None,
            pins: Vec::new(),
            clock: Arc::new(Stopped),
            asks: Asks::default(),
        };
        let session = Session::open(self.conversation.log.clone(), self.conversation.leaf, setup);
        let session = session.expect("the branch can be taken up");
        let Drafted::Plan(plan) = session.draft(Trigger::Threshold).expect("the originals are at hand")
        else {
            panic!("there is something to summarise")
        };
        let kept = session.context().newest_tokens(plan.kept.tail.len());
        Found {
            cut: self.line(plan.kept.tail[0]),
            turn: plan.cut_turn().map(|id| self.line(id)),
            kept: kept.0,
        }
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
