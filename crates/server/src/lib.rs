//! The proxy: agents point their base URL at it, and their contexts fit.
//!
//! A request of Anthropic Messages, OpenAI Chat Completions or OpenAI Responses is recognised by what it says, taken up by
//! a session of the engine, and compacted where that is due; what is kept goes out as the client's own bytes, and
//! the reply comes back byte for byte. What else a provider has passes through untouched. Sessions, windows, counts and
//! compactions are the engine's.

mod api;
mod api_error;
mod api_token;
mod background_store;
mod beginning_watch;
mod blocking;
mod body;
mod body_edit;
mod body_scan;
mod book_hold;
mod books;
mod cache_marks;
mod chain;
mod checkpoints;
mod client_compaction;
mod client_wait;
mod compact_body;
mod connection_threads;
mod credentials;
mod early_stream;
mod element;
mod ended_call;
mod endpoint_facts;
mod endpoints_api;
mod fault;
mod guard;
mod hand_over;
mod headers;
mod hop;
mod idle;
mod json_body;
mod json_fields;
mod known_path;
mod learned;
mod learned_bindings;
mod learner;
mod metrics;
mod notice;
mod observation;
mod outward;
mod own_model;
mod prefix_hashes;
mod prefix_watch;
mod provider_edits;
mod remarks;
mod reply;
mod reply_store;
mod request;
mod request_reader;
mod resend;
mod response_headers;
mod responses;
mod restorer;
mod router;
mod routes;
mod rules;
mod sealed_parts;
mod seen_lists;
mod serve;
mod server_state;
mod session_list;
mod settings;
mod shown_path;
mod surroundings;
mod tally;
mod token_count;
mod totals;
mod upstream_route;
mod view;
mod walk;
#[cfg(test)]
mod work_count;
mod written_head;

pub use api_token::{ApiToken, ApiTokenError};
pub use endpoint_facts::{EndpointFacts, EndpointFilter, ToldLimit};
pub use learned::{forget_endpoints, learned_endpoints};
pub use notice::{NoticeLevel, OperatorNotice};
pub use rules::{Caller, OwnModel, RequestModel, Rules, SessionRule, WarmRequest};
pub use serve::{LEAVING_TIME_MAX, ServeError, Server};
pub use settings::{SILENCE_TIME_MAX, ServerSettings, ServerSettingsError, ServerStore, Upstream, Upstreams};
pub use totals::{ModelTotals, RequestTotals, ServerTotals};
pub use upstream_route::{Cloud, RouteMatch, UpstreamRoute};
