//! An operator who decides by script and remembers what they were shown.

use epitome_core::{CheckpointView, Decision};
use epitome_engine::{BoxFuture, Operator};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

/// An operator in a test. Who asks waits until there is a decision.
#[derive(Debug, Default)]
pub struct TestOperator {
    decisions: Mutex<VecDeque<Decision>>,
    shown: Mutex<Vec<CheckpointView>>,
}

impl TestOperator {
    /// What the next question that has no answer yet is answered with, asked already or not.
    pub fn then(&self, decision: Decision) -> &Self {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).push_back(decision);
        self
    }

    /// What they were shown, in order.
    pub fn shown(&self) -> Vec<CheckpointView> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Operator for TestOperator {
    fn decide(&self, asked: CheckpointView) -> BoxFuture<'_, Decision> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        let decide = || self.decisions.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        // A test polls by itself, so nobody need be woken.
        Box::pin(poll_fn(move |_| decide().map_or(Poll::Pending, Poll::Ready)))
    }
}
