//! How likely a fact is to be needed again, from how it was used so far.

use super::table::{Known, Table};
use crate::facts::Class;

/// A fact's chance of being used later, between 0 and 1; 0 where saying it again gains nothing.
pub(super) fn chance(known: &Known, table: &Table) -> f64 {
    if known.is_visible || known.is_outdated {
        return 0.0;
    }
    let age = |clock: u64| ((table.end - clock) as f64 / 4000.0).ln_1p();
    let acted = if known.actions > 0 { 2.2 - 0.35 * age(known.acted) } else { 0.0 };
    let score = class_score(known.class)
        + acted
        + 0.5 * f64::from(known.actions).ln_1p()
        + 0.35 * f64::from(known.mentions).ln_1p()
        - 0.35 * age(known.seen)
        + if known.by_person { 0.7 } else { 0.0 };
    1.0 / (1.0 + (-score).exp())
}

fn class_score(class: Class) -> f64 {
    match class {
        Class::Path => -2.6,
        Class::Identifier => -3.2,
        Class::Url | Class::Id => -3.8,
        Class::Number => -5.0,
        Class::Version => -4.5,
        Class::State => -3.8,
        Class::Error => -3.0,
        Class::Operation
        | Class::Command
        | Class::Requirement
        | Class::Prohibition
        | Class::Decision
        | Class::Todo
        | Class::UserMessage
        | Class::Question
        | Class::LiveWork => -4.0,
    }
}
