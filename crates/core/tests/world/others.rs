//! Whoever else has a say in a compaction, and what they make of it: models that fail in every way,
//! hooks that veto, lie or name what is not there, compactors that split exchanges, operators.

use super::Gauge;
use epitome_core::policy::{Newest, Oversize};
use epitome_core::{
    Available, CallCost, CallResult, CompactorPiece, CompactorReply, Decision, EntryId, Failure, HookAnswer,
    HookSummary, Measure, PlanChanges, Policy, Prompts, Stop, Summarizer, SummaryInput, SummaryReply,
    SummaryRequest, Tokens, UpcomingCompaction, Verdict,
};
use proptest::prelude::{Just, Strategy as Generate, any, prop, prop_oneof};

/// The least window of a summariser that is worth the name.
const WINDOW_MIN: u64 = 8_000;

/// Who can be asked, and what will come of it.
#[derive(Clone, Debug)]
pub(crate) struct Others {
    pub(crate) has_model: bool,
    pub(crate) has_hooks: bool,
    has_compactor: bool,
    is_native: bool,
    pub(crate) makes_short: bool,
    pub(crate) newest: Option<Newest>,
    summarizer_window: u64,
    fates: Vec<u8>,
}

/// Others of every kind; half of the time there is nobody.
pub(crate) fn others() -> impl Generate<Value = Others> {
    let newest = prop_oneof![
        3 => Just(None),
        1 => (0u32..12).prop_map(|count| Some(Newest::Messages(count))),
        1 => (0u64..2_000).prop_map(|tokens| Some(Newest::TokensAtLeast(Tokens(tokens)))),
        1 => (0u64..2_000).prop_map(|tokens| Some(Newest::TokensReached(Tokens(tokens)))),
        1 => (0u64..2_000).prop_map(|tokens| Some(Newest::TokensAtMost(Tokens(tokens)))),
        1 => (0u32..4).prop_map(|count| Some(Newest::Turns(count))),
        1 => Just(Some(Newest::Nothing)),
    ];
    let has = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let fates = prop::collection::vec(any::<u8>(), 0..40);
    (has, newest, 500u64..40_000, fates).prop_map(
        |(
            (has_model, has_hooks, has_compactor, is_native, makes_short),
            newest,
            summarizer_window,
            fates,
        )| {
            Others {
                has_model,
                has_hooks,
                has_compactor,
                is_native,
                makes_short,
                newest,
                summarizer_window,
                fates,
            }
        },
    )
}

impl Others {
    /// Nobody.
    pub(crate) fn nobody() -> Self {
        Self {
            has_model: false,
            has_hooks: false,
            has_compactor: false,
            is_native: false,
            makes_short: false,
            newest: None,
            summarizer_window: 0,
            fates: Vec::new(),
        }
    }

    /// A model, and what comes of each call of it, the first last; it also compacts by itself.
    pub(crate) fn model(fates: Vec<u8>) -> Self {
        Self { has_model: true, is_native: true, summarizer_window: 40_000, fates, ..Self::nobody() }
    }

    pub(crate) fn available<'p>(&self, prompts: &'p Prompts) -> Available<'p> {
        let summarizer = self.has_model.then_some(Summarizer {
            name: "a scripted model",
            window: Tokens(self.summarizer_window),
            output_max: Tokens(2_000),
            takes_parallel: self.makes_short,
            is_warm: self.is_native,
            cached_percent: 10,
        });
        let native = self.is_native && self.has_model;
        Available {
            summarizer,
            no_model: None,
            native,
            hooks: self.has_hooks,
            compactor: self.has_compactor,
            operator: true,
            prompts,
        }
    }

    pub(crate) fn fates(&self) -> Fates {
        Fates { left: self.fates.clone() }
    }

    /// A model is asked for some words, never for none. Unless the policy sends whatever there is, what it is shown fits
    /// its window. Windows that do not even hold what stands around the messages are nobody's.
    pub(crate) fn check_sizes(&self, requests: &[SummaryRequest], policy: &Policy) {
        assert!(requests.iter().all(|request| request.output_max > Tokens::ZERO), "asked for nothing");
        let is_bounded = policy.summary.oversize != Oversize::Send && self.summarizer_window >= WINDOW_MIN;
        for request in requests.iter().filter(|_| is_bounded) {
            let tokens = match &request.body {
                SummaryInput::Text(text) => Gauge.text(text),
                SummaryInput::Messages { messages, .. } => {
                    messages.iter().map(|message| Gauge.sizes(message).total()).sum()
                }
                // The session's own request, as its provider takes it every time.
                SummaryInput::Prefix { .. } => continue,
            };
            assert!(tokens <= Tokens(self.summarizer_window), "{tokens} of {}", self.summarizer_window);
        }
    }
}

/// What comes next, each time somebody is asked; when it runs out, all goes well.
pub(crate) struct Fates {
    left: Vec<u8>,
}

impl Fates {
    fn next(&mut self) -> u8 {
        self.left.pop().unwrap_or(0)
    }

    pub(crate) fn call(&mut self, request: &SummaryRequest) -> CallResult {
        let reply = |text: &str, stop| Ok(SummaryReply { text: text.to_owned(), stop, native: None });
        let summary =
            format!("## Goal\nship it, as said {} times before\n## Next Steps\ngo on", request.attempt);
        let result = match self.next() % 16 {
            0..6 => reply(&summary, Stop::End),
            6 => reply("", Stop::End),
            7 => reply(&summary, Stop::Length),
            8 => reply("", Stop::Call),
            9 => reply(&"a summary that is longer than all it stands for ".repeat(2_000), Stop::End),
            10 => Err(Failure::TooLong { over: Some(Tokens(500)) }),
            11 => Err(Failure::TooLong { over: None }),
            12 => Err(Failure::Broken("the stream broke off".into())),
            13 => Err(Failure::TimedOut),
            14 => reply("usage limit reached", Stop::End),
            _ => Err(Failure::Cancelled),
        };
        CallResult { result, spent: CallCost { calls: 1, ..CallCost::default() } }
    }

    pub(crate) fn verdicts(&mut self, event: &UpcomingCompaction, history: &[EntryId]) -> Vec<HookAnswer> {
        let some = |fate: u8| history.get(usize::from(fate) % history.len().max(1)).copied();
        let result = match self.next() % 12 {
            0..4 => Ok(None),
            4 => Ok(Some(Verdict::Veto { why: "not now".into() })),
            5 => Err("it crashed".into()),
            6 => Ok(Some(Verdict::Proceed(PlanChanges {
                retain: some(self.next()).into_iter().chain([EntryId(9_999)]).collect(),
                ..PlanChanges::default()
            }))),
            7 => Ok(Some(Verdict::Proceed(PlanChanges {
                inject: Some("mind the gap ".repeat(usize::from(self.next()) * 100)),
                ..PlanChanges::default()
            }))),
            8 | 9 => Ok(Some(Verdict::Proceed(PlanChanges {
                summary: Some(HookSummary {
                    text: "the hook's own words".into(),
                    keep_from: some(self.next()),
                }),
                ..PlanChanges::default()
            }))),
            10 => Ok(Some(Verdict::Proceed(PlanChanges {
                summary: Some(HookSummary { text: " ".into(), keep_from: None }),
                ..PlanChanges::default()
            }))),
            _ => Ok(Some(Verdict::Proceed(PlanChanges {
                retain: event.leaving.iter().copied().take(2).collect(),
                guidance: Some("say where we stand".into()),
                ..PlanChanges::default()
            }))),
        };
        vec![HookAnswer { name: "a hook".into(), duration_ms: 1, result }]
    }

    pub(crate) fn list(&mut self, messages: &[EntryId]) -> Result<CompactorReply, String> {
        let fate = self.next();
        let kept = messages.iter().copied().skip(usize::from(fate) % messages.len().max(1));
        let text = CompactorPiece::Write("what the compactor wrote".into());
        match fate % 5 {
            0 => Err("it hangs".into()),
            1 => Ok(CompactorReply::of(kept.map(CompactorPiece::Keep))),
            2 => Ok(CompactorReply::of(kept.rev().map(CompactorPiece::Keep).chain([text]))),
            3 => Ok(CompactorReply::of([text, CompactorPiece::Keep(EntryId(9_999))])),
            _ => Ok(CompactorReply::of([text].into_iter().chain(kept.map(CompactorPiece::Keep)))),
        }
    }

    pub(crate) fn decision(&mut self) -> Decision {
        match self.next() % 4 {
            0 => Decision::Approve,
            1 => Decision::Edit { summary: "the operator's own words".into() },
            2 => Decision::Reject,
            _ => Decision::TimedOut,
        }
    }
}
