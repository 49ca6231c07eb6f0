//! What compaction is: entries, context, cuts, plans, and the machine that asks.
//!
//! Nothing here touches the world. Token counts come in through [`Measure`], messages through
//! [`Archive`], and what must be found out is handed out as a question whose answer uses it up.
//!
//! A compaction, with nothing but this crate: a log, a plan, and the answers it wants. `epitome-engine` does all of this,
//! and `epitome-session` hides it.
//!
//! ```
//! use epitome_core::{
//!     Author, Available, Budget, Circumstances, Context, DigestCache, Entry, Expressible, FarHistory, Image, Job, Log,
//!     LogReader, Measure, MeasuredItem, MemoryArchive, Message, Next, Plan, PlanDraft, Policy, Prompts, Range, Role,
//!     SizeTable, Tokens, Trigger, embedded, ledger::Ledger,
//! };
//!
//! /// A token for four bytes.
//! struct Quarters;
//!
//! impl Measure for Quarters {
//!     fn text(&self, text: &str) -> Tokens {
//!         Tokens(text.len() as u64 / 4)
//!     }
//!
//!     fn image(&self, _: &Image) -> Tokens {
//!         Tokens(1_600)
//!     }
//!
//!     fn framing(&self) -> Tokens {
//!         Tokens(4)
//!     }
//! }
//!
//! // What was said: a light half in the log, the message itself in an archive.
//! let (mut log, mut sizes, archive) = (Log::default(), SizeTable::default(), MemoryArchive::default());
//! for number in 0..200 {
//!     let text = format!("please read src/part{number}.rs, and never touch config.toml on the way");
//!     let message = Message::text(Role::User, Author::Person, text);
//!     let MeasuredItem { item, sizes: taken } = Quarters.weigh(&message);
//!     let id = log.append(log.newest(), Entry::Message(item))?;
//!     sizes.set(id, taken);
//!     archive.put(id, message);
//! }
//! let reader = LogReader { log: &log, sizes: &sizes, measure: &Quarters, archive: &archive };
//! let context = Context::of(log.newest(), reader)?;
//!
//! // What is to become of it.
//! let (policy, ledger, prompts) = (Policy::default(), Ledger::default(), Prompts::default());
//! let answers = embedded::AnswerIndex::default();
//! let (history, count_method) = (log.path_of(log.newest()), "bytes/4".into());
//! let digests = DigestCache::default();
//! let draft = Plan::draft(Job {
//!     log: &log,
//!     sizes: &sizes,
//!     history: &history,
//!     compactions: &[],
//!     earlier: FarHistory { count: 0, ledger: &ledger, answers: &answers },
//!     context: &context,
//!     archive: &archive,
//!     digests: &digests,
//!     measure: &Quarters,
//!     count_method: &count_method,
//!     budget: Budget::new(Tokens(4_000), Tokens(100), Tokens(500)),
//!     policy: &policy,
//!     trigger: Trigger::Manual,
//!     focus: None,
//!     recall: None,
//!     pins: &[],
//!     can: Expressible::ALL,
//!     available: Available::none(&prompts),
//!     range: Range::All,
//!     circumstances: Circumstances::default(),
//! })?;
//! let PlanDraft::Plan(plan) = draft else { panic!("there is something to do") };
//!
//! // Each question is used up by its answer.
//! let mut next = plan.begin()?;
//! let conclusion = loop {
//!     next = match next {
//!         Next::Summarize(question) => {
//!             let summary = embedded::summarize(&question.material(), question.budget());
//!             question.answer(Ok(summary))?
//!         }
//!         Next::Done(conclusion) => break conclusion,
//!         question => panic!("nobody else can be asked here: {question:?}"),
//!     };
//! };
//! assert!(context.tokens() > Tokens(3_000) && conclusion.record.tokens_after < Tokens(2_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_debug_implementations)]

mod amount;
mod archive;
mod budget;
mod chunked_list;
mod compaction;
mod context;
mod cut;
mod debug;
mod digest;
pub mod embedded;
pub mod facts;
pub mod fence;
mod fill;
mod finish;
mod form;
mod id;
mod id_table;
mod job;
mod keep;
mod kept_bodies;
pub mod ledger;
mod log;
mod machine;
mod mark;
mod message;
mod message_cache;
mod message_table;
mod pair;
mod pattern;
mod payload;
mod plain_text;
mod plan;
pub mod policy;
mod prune;
mod record;
mod request;
mod side_thread;
mod sources;
mod statement_source;
mod text_hash;
mod transcript;
mod verdict;
pub mod verify;
mod worth;

pub use amount::{Dollars, Scale, SizeTable, Sizes, Tokens};
pub use archive::{Archive, ArchiveError, Measure, MeasuredItem, MemoryArchive, ZeroMeasure};
pub use budget::{Budget, WINDOW_MAX, WINDOW_MIN, is_window};
pub use compaction::{Compaction, Edit, Tail};
pub use context::{Context, LogReader, Slot, is_other_context, pinned_by};
pub use cut::{Cut, Keep, find_cut};
pub use digest::DigestCache;
pub use fill::{ContextFill, FileShare, MessageShare, RepeatedResults, ToolShare};
pub use form::{Form, MessageView, without_address};
pub use id::{CallId, EntryId};
pub use job::{
    Available, Circumstances, Expressible, FarHistory, Job, Material, Original, Prompts, Range, Summarizer,
    Trigger, TriggerKind,
};
pub use kept_bodies::KeptBodies;
pub use log::{Entry, Item, Log, LogError};
pub use machine::{
    Checkpoint, CheckpointView, Consultation, Delegation, EditPass, EmbeddedQuestion, ModelQuestion, Next,
    NoSummary,
};
pub use mark::{Flag, Judgement, Mark, UndoneMarks, UsageMark, rebuilds};
pub use message::{Author, Block, Call, Image, Message, Opaque, ResultPart, Role, ToolResult};
pub use payload::{OpaqueContents, Payload};
pub use plain_text::TextDetail;
pub use plan::{Plan, PlanDraft};
pub use policy::{Policy, PolicyError, Settings, Strategy, Threshold};
pub use record::{
    Change, Conclusion, Coverage, Effect, Fallback, Floor, Outcome, Record, RecordSource, RestoreReport,
};
pub use request::{CallCost, CallResult, Failure, Purpose, Stop, SummaryInput, SummaryReply, SummaryRequest};
pub use statement_source::{SourcedText, StatementSource};
pub use verdict::{
    CompactorPiece, CompactorReply, Decision, HookAnswer, HookRun, HookSummary, PlanChanges,
    UpcomingCompaction, Verdict,
};
