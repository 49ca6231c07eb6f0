//! Every transcript of the corpus, replayed call by call: each request fits, is valid, and extends
//! the one before it byte for byte unless the context was rebuilt; every message is accounted for.

use epitome_core::{Archive as _, EntryId, MessageView, Outcome, Policy, Tokens};
use epitome_engine::{
    Assembly, Driver, EngineError, ReplayInput, ReplayedCall, Session, WindowFacts, replay,
};
use epitome_tokens::Catalog;
use epitome_wire::{Conversation, Protocol, encode, read, validate};
use futures_util::FutureExt as _;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WINDOW: Tokens = Tokens(64_000);
/// Of the many small conversations in one file, these many from its start.
const CONVERSATIONS_MAX: usize = 10;

fn transcripts(folder: &str) -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let mut found = Vec::new();
    let mut folders = vec![corpus];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the corpus is part of the repository") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "zst") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What the call before sent, to compare the next one with.
#[derive(Default)]
struct Before {
    sent: Vec<Box<RawValue>>,
}

impl Before {
    fn check(&mut self, call: &ReplayedCall<'_>, conversation: &Conversation, name: &str) {
        let shown = call.session.shown().expect("originals can be read");
        let parts = parts(conversation);
        let sent = encode::messages(Protocol::Anthropic, &parts, &shown);
        let at = format!("{name} call {}", call.call);
        if call.compaction.is_none() {
            let is_same = self.sent.iter().zip(&sent).all(|(old, new)| old.get() == new.get());
            let is_extended = sent.len() >= self.sent.len() && is_same;
            assert!(is_extended, "{at} does not extend the call before");
        }
        let budget = call.session.budget();
        assert!(
            call.tokens + budget.reserve <= WINDOW,
            "{at}: {} and {} do not fit",
            call.tokens,
            budget.reserve
        );
        assert_eq!(call.tokens, budget.fixed + call.session.context().tokens(), "{at}");
        // Each rebuilt context, and some of the others, on every protocol.
        if call.compaction.is_some() || call.call.is_multiple_of(16) {
            assert_valid(&parts, &shown, &at);
        }
        self.sent = sent;
    }
}

fn parts(conversation: &Conversation) -> encode::RequestParts<'_> {
    let fixed = &conversation.fixed;
    encode::RequestParts {
        system: &fixed.system,
        tools: &fixed.tools,
        model: fixed.model.as_deref(),
        max_tokens: Some(1),
    }
}

fn assert_valid(parts: &encode::RequestParts<'_>, shown: &[MessageView], at: &str) {
    for protocol in Protocol::ALL {
        let body = encode::body(protocol, parts, shown).expect("there is something to send");
        let body = serde_json::from_slice(&body).expect("a body is JSON");
        assert_eq!(validate::body(protocol, &body), [], "{at} as {protocol}");
    }
}

fn assert_accounted(call: &ReplayedCall<'_>, name: &str) {
    let Some(Outcome::Compacted(made)) = call.compaction.as_ref().map(|record| &record.outcome) else {
        return;
    };
    let mut places: Vec<EntryId> =
        made.kept.iter().chain(&made.superseded).chain(&made.dropped).copied().collect();
    places.sort_unstable();
    let mut said = call.session.history().to_vec();
    said.sort_unstable();
    assert_eq!(places, said, "{name} call {}: a message is in no place, or in two", call.call);
}

fn replay_one(conversation: &Conversation, name: &str, assembly: &Assembly) -> (usize, usize) {
    let mut assembly = assembly.clone();
    let fixed = assembly.count_fixed(&conversation.fixed.system, &conversation.fixed.tools);
    assembly.set_request(fixed, Some(Tokens(8_192)));
    let (log, sizes) = (Arc::new(conversation.log.clone()), Arc::new(conversation.sizes.clone()));
    let mut session = Session::new(log, sizes, Arc::default(), assembly);
    let path = conversation.log.path_of(conversation.leaf);
    let (mut before, mut calls, mut rebuilt) = (Before::default(), 0, 0);
    let read = |id| conversation.originals.message(id);
    let input = ReplayInput { path: &path, fixed, usage: &HashMap::new(), read: &read };
    let driver = Driver::default();
    let done = replay::<EngineError>(&driver, &mut session, input, |call| {
        before.check(&call, conversation, name);
        assert_accounted(&call, name);
        calls += 1;
        rebuilt += usize::from(call.compaction.is_some());
        Ok(())
    });
    let done = done.now_or_never().expect("nobody is asked who takes time");
    done.unwrap_or_else(|error| panic!("{name}: {error}"));
    (calls, rebuilt)
}

fn replay_folder(folder: &str) {
    let (mut calls, mut rebuilt) = (0, 0);
    for path in transcripts(folder) {
        let bytes = zstd::decode_all(&*std::fs::read(&path).expect("it can be read")).expect("it unpacks");
        let stated = WindowFacts { stated: Some(WINDOW), ..WindowFacts::default() };
        let model = Catalog::built_in().find("claude-sonnet-4-5");
        let assembly = Assembly::new(Policy::default().into(), model, stated).expect("it is stated");
        let transcript = read(Arc::new(bytes), None, &**assembly.measure()).expect("it is a transcript");
        for conversation in transcript.conversations.iter().take(CONVERSATIONS_MAX) {
            let seen = replay_one(conversation, &path.display().to_string(), &assembly);
            (calls, rebuilt) = (calls + seen.0, rebuilt + seen.1);
        }
    }
    assert!(calls > 0, "nothing was replayed in {folder}");
    println!("{folder}: {calls} calls, {rebuilt} rebuilt contexts");
}

macro_rules! replayed {
    ($($test:ident $folder:literal)*) => { $(
        #[test]
        fn $test() {
            replay_folder($folder);
        }
    )* };
}

replayed! {
    claude_code_fits_call_by_call "claude-code"
    codex_fits_call_by_call "codex"
    pi_fits_call_by_call "pi"
    copilot_cli_fits_call_by_call "copilot-cli"
    gemini_cli_fits_call_by_call "gemini-cli"
    opencode_fits_call_by_call "opencode"
    langgraph_fits_call_by_call "langgraph"
    mini_swe_agent_fits_call_by_call "mini-swe-agent"
    openai_chat_fits_call_by_call "openai-chat"
    openhands_fits_call_by_call "openhands"
    swe_agent_fits_call_by_call "swe-agent"
}
