//! Summarisers one cannot rely on: answers that are empty, cut off, nonsense, refused, broken off, or never come.

use crate::World;
use crate::dice::Dice;
use epitome_core::policy::Oversize;
use epitome_core::{CallCost, CallResult, Failure, SummaryInput, SummaryRequest, Tokens};
use epitome_engine::{BoxFuture, Clock as _, Model, SummaryModel};
use epitome_testbed::{TestClock, cut_off, empty, failed, good, tool_call};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// More answers than one session asks for; after them all goes well.
const ANSWERS: usize = 60;
/// The least window of a summariser that holds what stands around the messages.
const WINDOW_MIN: Tokens = Tokens(8_000);

/// What comes of a call.
enum Answer {
    Comes(CallResult),
    /// The connection stands, and nothing comes.
    Never,
}

/// A model that answers as the dice fell, and remembers what it was asked.
pub(crate) struct FickleModel {
    window: Tokens,
    takes_parallel: bool,
    latency: Duration,
    clock: Arc<TestClock>,
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<SummaryRequest>>,
}

impl FickleModel {
    /// One that answers well one time in two, or one that is down.
    fn new(clock: Arc<TestClock>, dice: &mut Dice) -> Self {
        let is_down = dice.below(6) == 0;
        let answer = |number| if is_down { Answer::Comes(down()) } else { any_answer(number, dice) };
        let answers = Mutex::new((0..ANSWERS).map(answer).collect());
        Self {
            window: Tokens(2_000 + dice.below(100_000)),
            takes_parallel: dice.below(2) == 0,
            latency: Duration::from_secs(dice.below(300)),
            clock,
            answers,
            requests: Mutex::default(),
        }
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Model for FickleModel {
    fn name(&self) -> &str {
        "fickle-model"
    }

    fn window(&self) -> Tokens {
        self.window
    }

    fn output_max(&self) -> Tokens {
        Tokens(500) + self.window.share(1, 8)
    }

    fn takes_parallel(&self) -> bool {
        self.takes_parallel
    }

    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'_, CallResult> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match answer.unwrap_or_else(|| Answer::Comes(good(&summary(ANSWERS)))) {
            Answer::Never => Box::pin(std::future::pending()),
            Answer::Comes(answer) => Box::pin(async move {
                self.clock.sleep(self.latency).await;
                answer
            }),
        }
    }
}

fn summary(number: usize) -> String {
    format!("## Goal\nship part {number}\n\n## Next Steps\n- go on with part {}", number + 1)
}

fn down() -> CallResult {
    failed(Failure::Broken("connection refused".into()))
}

/// An answer far beyond any limit, whatever its provider says.
fn endless() -> CallResult {
    good(&"a summary longer than all it stands for ".repeat(3_000))
}

fn any_answer(number: usize, dice: &mut Dice) -> Answer {
    Answer::Comes(match dice.below(22) {
        0 => empty(),
        1 => cut_off(&summary(number)),
        2 => tool_call(),
        3 => endless(),
        4 => good("usage limit reached"),
        5 => failed(Failure::TooLong { over: Some(Tokens(dice.below(5_000))) }),
        6 => failed(Failure::TooLong { over: None }),
        7 => failed(Failure::Broken("the stream broke off".into())),
        8 => failed(Failure::TimedOut),
        9 => failed(Failure::Throttled("429".into())),
        10 => CallResult {
            result: Err(Failure::Cancelled),
            spent: CallCost { calls: 1, ..CallCost::default() },
        },
        11 => return Answer::Never,
        _ => good(&summary(number)),
    })
}

impl World {
    /// Another model writes summaries from here on, or none.
    pub(crate) fn find_summariser(&mut self) {
        let is_any = self.dice.below(4) > 0;
        self.model = is_any.then(|| Arc::new(FickleModel::new(self.bed.clock.clone(), &mut self.dice)));
        let model = self.model.clone().map(|model| SummaryModel::apart(model));
        self.bed.driver.ports_mut().model = model;
    }

    /// What a model was asked since it was asked `from` times fits its window, where the policy sees to that.
    pub(crate) fn check_requests(&self, from: usize) {
        let (session, Some(model)) = (&self.bed.session, &self.model) else { return };
        if session.policy().summary.oversize != Oversize::Fold || model.window < WINDOW_MIN {
            return;
        }
        let requests = model.requests.lock().unwrap_or_else(PoisonError::into_inner);
        for request in requests.iter().skip(from) {
            let tokens = request.tokens(&**session.assembly().measure());
            // The session's own request, as its provider takes it every time.
            let is_prefix = matches!(request.body, SummaryInput::Prefix { .. });
            assert!(is_prefix || tokens <= model.window, "seed {}: {tokens} of {}", self.seed, model.window);
        }
    }
}
