//! What `serve` does for agents, seen from outside: the program itself between a client and a scripted provider, each
//! on a loopback socket.

mod agents;
mod api_token;
mod changes;
mod files;
mod hybrid;
mod kept_bodies;
mod lessons;
mod log;
mod newest_work;
mod observe;
mod outage;
mod paths;
mod replicas;
mod session_model;
mod speculation;
mod stage;
mod stored;
mod warm_prefix;
mod windows;
