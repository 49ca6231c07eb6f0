//! The engine behind the doors of the program: what settings, hooks and operators do is the same in `compact` and in
//! `replay`, and the record says so.

#[cfg(unix)]
mod checkpoint;
mod due_again;
mod events;
mod hooks;
mod native;
mod pruning;
mod reasoning;
mod recalling;
mod replay;
mod sandbox;
mod usage;
mod window;
