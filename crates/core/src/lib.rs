//! What compaction is: entries, context, cuts, plans, and the machine that asks.
//!
//! Nothing here touches the world. Token counts come in through [`Measure`], messages through
//! [`Archive`], and what must be found out is handed out as a question whose answer uses it up.

mod amount;
mod archive;
mod budget;
mod context;
mod cut;
pub mod embedded;
mod entry;
pub mod facts;
pub mod fence;
mod finish;
mod form;
mod id;
mod job;
mod keep;
pub mod ledger;
mod machine;
mod material;
mod message;
mod pair;
mod plan;
pub mod policy;
mod prompt;
mod prune;
mod record;
mod request;
mod transcript;
mod verdict;
pub mod verify;

pub use amount::{Sizes, Tokens};
pub use archive::{Archive, ArchiveError, Measure, Shelf, Uncounted};
pub use budget::Budget;
pub use context::{Context, Slot};
pub use cut::{Cut, Keep, find_cut};
pub use entry::{Compaction, Edit, Entry, Item, Log, LogError, Summary, Tail};
pub use form::{Form, Shown};
pub use id::{CallId, EntryId};
pub use job::{Earlier, Expressible, Job, Means, Moment, Summarizer, Trigger};
pub use keep::{Kept, Shape};
pub use machine::{Answer, Ask, Checkpoint, Consultation, Delegation, Errand, Next, NoSummary, Pending};
pub use material::Material;
pub use message::{Author, Block, Call, Image, Message, Opaque, Part, Role, ToolResult};
pub use plan::{Drafted, Plan};
pub use policy::{Policy, PolicyError, Settings, Strategy, Threshold};
pub use prompt::Prompts;
pub use record::{Fallback, Floor, Outcome, Record, Seen, Trail};
pub use request::{Body, Called, Failure, Purpose, Reply, Request, Spent, Stop};
pub use verdict::{Before, Decision, HookAnswer, HookRun, Piece, Supplied, Transformed, Verdict, Wishes};
