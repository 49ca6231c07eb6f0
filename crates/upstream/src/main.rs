//! The scripted upstream as a program.

fn main() {}
