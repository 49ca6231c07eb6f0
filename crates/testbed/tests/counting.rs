//! What is counted when: a message once for each way of counting, whatever it takes.

use epitome_core::{Image, Measure, Message, Payload, Sizes, Tokens};
use epitome_engine::{Assembly, Session};
use epitome_testbed::{Bed, Quarter};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts as [`Quarter`] does, and how often it is asked for a message.
#[derive(Default)]
struct Tallied(AtomicUsize);

impl Measure for Tallied {
    fn text(&self, text: &str) -> Tokens {
        Quarter.text(text)
    }

    fn image(&self, image: &Image) -> Tokens {
        Quarter.image(image)
    }

    fn payload(&self, payload: &Payload) -> Tokens {
        Quarter.payload(payload)
    }

    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }

    fn sizes(&self, message: &Message) -> Sizes {
        self.0.fetch_add(1, Ordering::Relaxed);
        Quarter.sizes(message)
    }
}

#[test]
fn a_message_that_takes_nothing_is_counted_once() {
    let mut bed = Bed::new("default", 20_000);
    bed.user("");
    let (session, tallied) = (&bed.session, Arc::new(Tallied::default()));
    let assembly =
        Assembly::of_parts(session.assembly().policy().clone(), tallied.clone(), "tallied", session.budget());
    let log = session.timeline().log().clone();
    let mut opened = Session::new(log, Arc::default(), session.archive().clone(), assembly);
    for _ in 0..3 {
        opened.move_to(session.leaf()).expect("all is in memory");
    }
    assert_eq!((tallied.0.load(Ordering::Relaxed), opened.context().tokens()), (1, Tokens::ZERO));
}
