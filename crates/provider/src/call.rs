//! A summary call from beginning to end: tries, waits and changes, all counted, all paid for.

use crate::Provider;
use crate::attempt::{ProviderAnswer, attempt};
use crate::body::{self, Frame};
use crate::judge::{OUTPUT_MIN, RequestChange, Ruling, SentRequest, judge, judge_lost};
use crate::options::Options;
use epitome_core::{
    CallCost, CallResult, Dollars, Failure, Measure, Purpose, SummaryInput, SummaryReply, SummaryRequest,
    Tokens,
};
use epitome_tokens::{Prices, Usage};
use epitome_wire::overflow::RequestFacts;
use epitome_wire::protocol::ReplyUsage;
use tokio::time::{sleep, timeout};

/// One for each option a provider may not take, and one for the output limit.
const CHANGES_MAX: u32 = 4;
/// A server that is being started again is back within one wait; one that is not there is not waited for.
const CONNECT_RETRIES_MAX: u32 = 1;

/// What has been tried so far.
struct Tries {
    options: Options,
    cap_tokens: u64,
    retries: u32,
    changes: u32,
}

/// Makes the call. What was spent is told however it ends, by its deadline too.
pub(crate) async fn call(provider: &Provider, request: SummaryRequest) -> CallResult {
    let mut spent = CallCost::default();
    let result = timeout(provider.limits().whole, pursue(provider, &request, &mut spent)).await;
    CallResult { result: result.unwrap_or(Err(Failure::TimedOut)), spent }
}

async fn pursue(
    provider: &Provider,
    request: &SummaryRequest,
    spent: &mut CallCost,
) -> Result<SummaryReply, Failure> {
    let known = provider.known(estimate(provider, request));
    let origin = provider.origin();
    let mut tries = Tries::new(provider, request, &known);
    // Ends: every turn of it uses up a retry or a change, and there are few of both.
    loop {
        let sent = SentRequest {
            known,
            options: tries.options,
            cap_tokens: tries.cap_tokens,
            is_native: request.purpose == Purpose::Native,
            credential: provider.credential(),
            origin: &origin,
        };
        match send(provider, request, &sent, spent).await? {
            Ruling::Done(result) => return result,
            Ruling::Differently { change, failure } => tries.change(change).ok_or(failure)?,
            Ruling::Again { asked, failure } => {
                let Some(wait) = tries.retry(provider, asked, &failure) else { return Err(failure) };
                sleep(wait).await;
            }
        }
    }
}

/// One attempt: sent, paid for, judged and learned from.
async fn send(
    provider: &Provider,
    request: &SummaryRequest,
    sent: &SentRequest<'_>,
    spent: &mut CallCost,
) -> Result<Ruling, Failure> {
    let last = provider.last();
    let frame = Frame {
        protocol: provider.protocol(),
        model: provider.model_id(),
        cap_tokens: sent.cap_tokens,
        options: sent.options,
        last: last.as_ref(),
    };
    let outgoing = body::outgoing(request, &frame)?;
    spent.calls += 1;
    let came = attempt(provider.post(outgoing), provider.protocol(), provider.limits()).await;
    let prices = provider.prices();
    match came {
        Ok(came) => {
            let usage = usage_of(&came);
            if usage.is_none() && matches!(came, ProviderAnswer::Reply(_)) {
                // Written and not counted: it may have cost anything.
                spent.dollars = Dollars::UNKNOWN;
            }
            pay(spent, usage.as_ref(), prices);
            let (ruling, verdict) = judge(came, sent);
            if let Some(verdict) = verdict {
                provider.learn(&verdict);
            }
            if let Ruling::Done(Ok(_)) = &ruling {
                provider.retries().give_back();
                usage.inspect(|taken| provider.succeeded(Tokens(taken.usage.prompt)));
            }
            Ok(ruling)
        }
        Err(lost) => {
            pay(spent, lost.usage.as_ref(), prices);
            Ok(judge_lost(lost.why, sent))
        }
    }
}

fn usage_of(came: &ProviderAnswer) -> Option<ReplyUsage> {
    match came {
        ProviderAnswer::Reply(answer) => answer.usage,
        ProviderAnswer::Refusal { .. } => None,
    }
}

fn pay(spent: &mut CallCost, taken: Option<&ReplyUsage>, prices: Option<Prices>) {
    let Some(taken) = taken else { return };
    let charged = taken.charged();
    let usage = Usage {
        prompt: charged.prompt,
        output: charged.output,
        cache_read: charged.cache_read,
        cache_write: charged.cache_write,
        reasoning: taken.reasoning,
    };
    spent.add(&CallCost {
        calls: 0,
        input: Tokens(usage.prompt),
        cache_read: Tokens(usage.cache_read),
        cache_write: Tokens(usage.cache_write),
        output: Tokens(usage.output),
        reasoning: Tokens(usage.reasoning),
        dollars: Dollars(prices.map(|prices| prices.cost(&usage))),
    });
}

/// The prompt by our own count.
fn estimate(provider: &Provider, request: &SummaryRequest) -> Tokens {
    let gauge = provider.gauge();
    let body = match &request.body {
        SummaryInput::Text(text) => gauge.text(text),
        SummaryInput::Messages { messages, instruction } | SummaryInput::Prefix { messages, instruction } => {
            let said: Tokens = messages.iter().map(|message| gauge.sizes(message).total()).sum();
            said + gauge.text(instruction)
        }
    };
    gauge.text(&request.system) + body
}

impl Tries {
    /// The answer's limit: what was asked for and room to think, within the model's maximum and what its
    /// window has left.
    fn new(provider: &Provider, request: &SummaryRequest, known: &RequestFacts) -> Self {
        let options = provider.options().on_attempt(request.attempt);
        let thinking = options.reasoning.map_or(0, crate::Effort::budget_tokens);
        let wanted = request.output_max.0.saturating_add(thinking);
        let room = known.window.unwrap_or_default().less(known.estimate.unwrap_or_default());
        let cap_tokens = wanted.min(provider.output_limit()).min(room.0).max(OUTPUT_MIN);
        Self { options, cap_tokens, retries: 0, changes: 0 }
    }

    fn change(&mut self, change: RequestChange) -> Option<()> {
        self.changes += 1;
        match change {
            RequestChange::Options(options) => self.options = options,
            RequestChange::Cap(cap_tokens) => self.cap_tokens = cap_tokens,
        }
        (self.changes <= CHANGES_MAX).then_some(())
    }

    /// The wait before the next try; none where there is none left, or the provider asks for too long.
    fn retry(
        &mut self,
        provider: &Provider,
        asked: Option<std::time::Duration>,
        failure: &Failure,
    ) -> Option<std::time::Duration> {
        self.retries += 1;
        let limits = provider.limits();
        let is_absent = matches!(failure, Failure::Unreachable(_));
        let retries_max =
            if is_absent { limits.retries_max.min(CONNECT_RETRIES_MAX) } else { limits.retries_max };
        let wait = limits.wait_before(self.retries, asked, provider.roll());
        wait.filter(|_| self.retries <= retries_max && provider.retries().take())
    }
}
