//! Where a session is compacted.

use super::session::Session;
use epitome_core::{Role, Tokens};

/// One compaction: everything before message `at` is history.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The reply that found the context too full.
    pub at: usize,
    /// Which compaction of the session it is, from 1.
    pub nth: usize,
    /// The first message of the newest tenth of the window; facts from here on are in view for all.
    pub recent: usize,
}

/// The share of the window that triggers, in hundredths.
const TRIGGER: u64 = 80;

/// The compactions of a session at this window. Every method leaves a quarter of the window, so all
/// are compacted at the same places.
pub fn points(session: &Session, window: Tokens) -> Vec<Point> {
    let (mut all, mut context) = (Vec::new(), Tokens::ZERO);
    for (at, said) in session.messages.iter().enumerate() {
        if said.message.role == Role::Assistant && context >= window.share(TRIGGER, 100) {
            all.push(Point { at, nth: all.len() + 1, recent: recent_from(session, at, window.share(1, 10)) });
            context = window.share(1, 4);
        }
        context += said.tokens;
    }
    all
}

fn recent_from(session: &Session, at: usize, most: Tokens) -> usize {
    let mut sum = Tokens::ZERO;
    let fits = |said: &&super::session::Said| {
        sum += said.tokens;
        sum <= most
    };
    at - session.messages[..at].iter().rev().take_while(fits).count()
}
