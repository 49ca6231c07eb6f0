//! What compaction is: entries, context, cuts, plans, and the machine that asks.
//!
//! Nothing here touches the world. Token counts come in through [`Measure`], messages through
//! [`Archive`], and what must be found out is handed out as a question whose answer uses it up.

mod amount;
mod archive;
mod budget;
mod compaction;
mod context;
mod cut;
pub mod embedded;
pub mod facts;
pub mod fence;
mod finish;
mod form;
mod id;
mod job;
mod keep;
pub mod ledger;
mod log;
mod machine;
mod mark;
mod message;
mod message_cache;
mod pair;
mod pattern;
mod payload;
mod plain_text;
mod plan;
pub mod policy;
mod prune;
mod record;
mod request;
mod sources;
mod transcript;
mod verdict;
pub mod verify;

pub use amount::{Scale, SizeTable, Sizes, Tokens};
pub use archive::{Archive, ArchiveError, Measure, MeasuredItem, MemoryArchive, ZeroMeasure};
pub use budget::{Budget, is_window};
pub use compaction::{Compaction, Edit, Tail};
pub use context::{Context, LogReader, Slot};
pub use cut::{Cut, Keep, find_cut};
pub use form::{Form, MessageView};
pub use id::{CallId, EntryId};
pub use job::{
    Available, Circumstances, Expressible, FarHistory, Job, Material, Original, Prompts, Range, Summarizer,
    Trigger, TriggerKind,
};
pub use log::{Entry, Item, Log, LogError};
pub use machine::{
    Answer, Checkpoint, CheckpointView, Consultation, Delegation, EditPass, EmbeddedQuestion, ModelQuestion,
    Next, NoSummary,
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
pub use verdict::{
    CompactorPiece, CompactorReply, Decision, HookAnswer, HookRun, HookSummary, PlanChanges,
    UpcomingCompaction, Verdict,
};
