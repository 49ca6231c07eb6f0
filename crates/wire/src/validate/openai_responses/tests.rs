//! One good body, and one bad body for each rule.
