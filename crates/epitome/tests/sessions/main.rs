//! Sessions as agents leave them in a home: found, listed, opened by number, id or name, and gone on with.

mod finding;
mod home;
mod listing;
mod lookup;
mod resume;
mod terminal;
mod undo;
mod writing;
