//! A plan of orders: which request of which kind is answered how.

use crate::{Kind, Order};
use std::collections::HashMap;
use std::str::FromStr;

/// Orders for requests to come. Requests are numbered from 1 within their kind, from when the plan was set.
///
/// ```
/// let plan: epitome_upstream::Plan = "summary:1=500,2=empty;chat:*=slow=20".parse()?;
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<Step>,
    met: HashMap<Kind, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    kind: Kind,
    turn: Turn,
    order: Order,
}

/// Which requests of a kind a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Nth(u64),
    Every,
}

impl Plan {
    /// Takes note of a request, and gives the order for it. What names its number goes before `*`.
    pub(crate) fn take(&mut self, kind: Kind) -> Option<Order> {
        let met = self.met.entry(kind).or_default();
        *met += 1;
        let number = *met;
        let find = |turn| self.steps.iter().find(|step| step.kind == kind && step.turn == turn);
        find(Turn::Nth(number)).or_else(|| find(Turn::Every)).map(|step| step.order)
    }

    /// This plan with the steps of another behind its own.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut plan = Self::default();
        for clause in text.split(';').map(str::trim).filter(|clause| !clause.is_empty()) {
            let (kind, steps) = clause.split_once(':').ok_or_else(|| malformed(clause))?;
            let kind: Kind = kind.trim().parse()?;
            for step in steps.split(',') {
                let (turn, order) = step.split_once('=').ok_or_else(|| malformed(clause))?;
                let turn = turn_of(turn.trim()).ok_or_else(|| malformed(clause))?;
                plan.steps.push(Step { kind, turn, order: order.parse()? });
            }
        }
        Ok(plan)
    }
}

fn turn_of(text: &str) -> Option<Turn> {
    if text == "*" {
        return Some(Turn::Every);
    }
    text.parse().ok().filter(|&number| number > 0).map(Turn::Nth)
}

fn malformed(clause: &str) -> String {
    format!("`{clause}` is no plan; write KIND:N=ORDER,N=ORDER, such as summary:1=500,2=empty")
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use crate::{Kind, Order};

    fn order(text: &str) -> Option<Order> {
        text.parse().ok()
    }

    #[test]
    fn each_kind_is_numbered_by_itself() {
        let mut plan: Plan = "summary:1=500,2=empty; chat:2=cut".parse().expect("a plan");
        let kinds = [Kind::Chat, Kind::Summary, Kind::Chat, Kind::Summary, Kind::Summary];
        let orders = kinds.map(|kind| plan.take(kind));
        assert_eq!(orders, [None, order("500"), order("cut"), order("empty"), None]);
    }

    #[test]
    fn a_number_goes_before_a_star() {
        let mut plan: Plan = "chat:*=slow=20,2=429=0".parse().expect("a plan");
        let orders = [Kind::Chat; 3].map(|kind| plan.take(kind));
        assert_eq!(orders, [order("slow=20"), order("429=0"), order("slow=20")]);
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        let wrong = ["chat", "chat:1", "chat:0=cut", "tea:1=cut", "chat:1=explode"];
        assert_eq!(wrong.map(|text| text.parse::<Plan>().is_err()), [true; 5]);
    }
}
