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

pub use amount::{SizeTable, Sizes, Tokens};
pub use archive::{Archive, ArchiveError, Measure, MemoryArchive, Uncounted, Weighed};
pub use budget::Budget;
pub use compaction::{Compaction, Edit, Tail};
pub use context::{Context, Reader, Slot};
pub use cut::{Cut, Keep, find_cut};
pub use form::{Form, Shown};
pub use id::{CallId, EntryId};
pub use job::{
    Available, Circumstances, Earlier, Expressible, Job, Material, Original, Prompts, Range, Summarizer,
    Trigger, TriggerKind,
};
pub use log::{Entry, Item, Log, LogError};
pub use machine::{
    Answer, Ask, Checkpoint, Consultation, Delegation, EditPass, Errand, Next, NoSummary, Pending,
};
pub use mark::{Flag, Judgement, Mark, Undone, UsageMark, rebuilds};
pub use message::{Author, Block, Call, Image, Message, Opaque, Part, Role, ToolResult};
pub use plain_text::TextDetail;
pub use plan::{Drafted, Plan};
pub use policy::{Policy, PolicyError, Settings, Strategy, Threshold};
pub use record::{
    Change, Conclusion, Coverage, Effect, Fallback, Floor, Outcome, Record, RecordSource, Restored,
};
pub use request::{Body, Called, Failure, Purpose, Reply, Request, Spent, Stop};
pub use verdict::{Before, Decision, HookAnswer, HookRun, Piece, Supplied, Transformed, Verdict, Wishes};
