//! A model that answers by script and remembers what it was asked.

use crate::clock::TestClock;
use epitome_core::{
    CallCost, CallResult, Dollars, Failure, Stop, SummaryInput, SummaryReply, SummaryRequest, Tokens,
};
use epitome_engine::{BoxFuture, Clock, Model};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A model in a test. Without a script it writes a short summary that says which call it was.
#[derive(Debug)]
pub struct TestModel {
    name: String,
    window: Tokens,
    output_max: Tokens,
    takes_parallel: bool,
    latency: Duration,
    hangs: bool,
    clock: Arc<TestClock>,
    script: Mutex<VecDeque<CallResult>>,
    requests: Mutex<Vec<SummaryRequest>>,
    /// Answer every call like this, once the script is used up.
    always: Mutex<Option<CallResult>>,
}

impl TestModel {
    /// A model with a window of 200,000 that answers at once.
    pub fn new(clock: Arc<TestClock>) -> Self {
        Self {
            name: "test-model".into(),
            window: Tokens(200_000),
            output_max: Tokens(32_000),
            takes_parallel: false,
            latency: Duration::ZERO,
            hangs: false,
            clock,
            script: Mutex::default(),
            requests: Mutex::default(),
            always: Mutex::default(),
        }
    }

    /// The same with another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same with another window.
    #[must_use]
    pub fn with_window(self, window: u64) -> Self {
        Self { window: Tokens(window), ..self }
    }

    /// The same with another limit for its answers.
    #[must_use]
    pub fn with_output_max(self, output_max: u64) -> Self {
        Self { output_max: Tokens(output_max), ..self }
    }

    /// The same, taking several calls at once.
    #[must_use]
    pub fn parallel(self) -> Self {
        Self { takes_parallel: true, ..self }
    }

    /// The same, taking its time.
    #[must_use]
    pub fn slow(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// The same, never answering.
    #[must_use]
    pub fn hangs(self) -> Self {
        Self { hangs: true, ..self }
    }

    /// What the next call that has no answer yet is answered with.
    pub fn then(&self, called: CallResult) -> &Self {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).push_back(called);
        self
    }

    /// What every call is answered with once the script is used up.
    pub fn always(&self, called: CallResult) -> &Self {
        *self.always.lock().unwrap_or_else(PoisonError::into_inner) = Some(called);
        self
    }

    /// What it was asked, in order.
    pub fn requests(&self) -> Vec<SummaryRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The texts of what it was asked: of a message list, all its texts, then the instruction.
    pub fn asked(&self) -> Vec<String> {
        self.requests().iter().map(written).collect()
    }
}

/// Everything a request says, as one text.
pub fn written(request: &SummaryRequest) -> String {
    match &request.body {
        SummaryInput::Text(text) => text.to_string(),
        SummaryInput::Messages { messages, instruction } | SummaryInput::Prefix { messages, instruction } => {
            let told = messages.iter().map(|message| {
                let results: Vec<String> = message.results().map(|result| result.text()).collect();
                let calls: Vec<String> = message.calls().map(|call| call.input.to_string()).collect();
                format!("{}{}{}", message.said(), calls.concat(), results.concat())
            });
            let told: Vec<String> = told.collect();
            format!("{}\n{instruction}", told.join("\n"))
        }
    }
}

impl Model for TestModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> Tokens {
        self.window
    }

    fn output_max(&self) -> Tokens {
        self.output_max
    }

    fn takes_parallel(&self) -> bool {
        self.takes_parallel
    }

    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'_, CallResult> {
        let number = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request);
            requests.len()
        };
        if self.hangs {
            return Box::pin(std::future::pending());
        }
        let scripted = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let always = self.always.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let answer = scripted.or(always).unwrap_or_else(|| {
            good(&format!("## Goal\nwhat call {number} was told\n\n## Next Steps\n- go on"))
        });
        Box::pin(async move {
            self.clock.sleep(self.latency).await;
            answer
        })
    }
}

/// A call of 1,000 tokens in, 100 out, at a cent.
fn spent() -> CallCost {
    CallCost {
        calls: 1,
        input: Tokens(1_000),
        output: Tokens(100),
        dollars: Dollars(Some(0.01)),
        ..CallCost::default()
    }
}

/// A good answer.
pub fn good(text: &str) -> CallResult {
    CallResult {
        result: Ok(SummaryReply { text: text.into(), stop: Stop::End, native: None }),
        spent: spent(),
    }
}

/// An answer with nothing in it.
pub fn empty() -> CallResult {
    good("")
}

/// An answer that was cut off at its limit.
pub fn cut_off(text: &str) -> CallResult {
    CallResult {
        result: Ok(SummaryReply { text: text.into(), stop: Stop::Length, native: None }),
        spent: spent(),
    }
}

/// A call of a tool in place of an answer.
pub fn tool_call() -> CallResult {
    CallResult {
        result: Ok(SummaryReply { text: String::new(), stop: Stop::Call, native: None }),
        spent: spent(),
    }
}

/// No answer.
pub fn failed(failure: Failure) -> CallResult {
    CallResult { result: Err(failure), spent: spent() }
}
