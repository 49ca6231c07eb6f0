//! Sessions of the store through the program: transcripts in and out, what is listed of them, acts on them, retention.

mod branches;
mod chain;
mod desk;
mod importing;
mod keeping;
mod lists;
mod native;
