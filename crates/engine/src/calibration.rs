//! How a provider's count compares with ours: one [`Calibration`] for each model at each address, shared by every session
//! held with it and moved by what the provider reports. Compactions and new sessions leave it as it is.

use epitome_core::{Scale, Tokens};
use epitome_tokens::{Calibration, PromptGrowth};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A count too high costs an early compaction, one too low a refused request: we are corrected downward by less.
const FACTOR_MIN: f64 = 0.75;
/// Names of models come from clients: past this many endpoints, what was used longest ago is let go.
const ENDPOINTS_MAX: usize = 1_024;

/// The calibration of one endpoint, in the hands of all sessions with it.
#[derive(Clone, Debug, Default)]
pub struct SharedCalibration(Arc<Mutex<Calibration>>);

impl SharedCalibration {
    /// How the provider's count compares with ours, as far as is known.
    pub fn scale(&self) -> Scale {
        let calibration = self.lock();
        if calibration.calls() == 0 { Scale::SAME } else { Scale::of(calibration.factor().max(FACTOR_MIN)) }
    }

    /// Learns from a call that succeeded.
    pub(crate) fn learn(&self, growth: PromptGrowth) {
        self.lock().learn(growth);
    }

    /// Learns from a refusal that says what the request takes, which we `counted` otherwise; whether it is believed.
    pub(crate) fn learn_refusal(&self, requested: Tokens, counted: Tokens) -> bool {
        self.lock().learn_refusal(requested.0, counted.0)
    }

    fn lock(&self) -> MutexGuard<'_, Calibration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calibrations of all endpoints, by a name for each: its address and its model. Those used last stand last.
#[derive(Debug, Default)]
pub struct CalibrationTable(Vec<(String, SharedCalibration)>);

impl CalibrationTable {
    /// The calibration of an endpoint, begun where there is none.
    pub fn of(&mut self, endpoint: &str) -> SharedCalibration {
        let at = self.0.iter().position(|(of, _)| of == endpoint);
        let row =
            at.map_or_else(|| (endpoint.to_owned(), SharedCalibration::default()), |at| self.0.remove(at));
        if self.0.len() >= ENDPOINTS_MAX {
            self.0.remove(0);
        }
        let calibration = row.1.clone();
        self.0.push(row);
        calibration
    }

    /// All of them as they are now, for whoever keeps them.
    pub fn rows(&self) -> Vec<(String, Calibration)> {
        self.0.iter().map(|(of, calibration)| (of.clone(), *calibration.lock())).collect()
    }

    /// Lets go of those that are meant, by name; sessions that hold one are given another with their next request.
    pub fn forget(&mut self, is_meant: impl Fn(&str) -> bool) {
        self.0.retain(|(of, _)| !is_meant(of));
    }

    /// Goes on from what was kept.
    pub fn restore(&mut self, rows: Vec<(String, Calibration)>) {
        for (of, calibration) in rows {
            *self.of(&of).lock() = calibration;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CalibrationTable, ENDPOINTS_MAX, FACTOR_MIN, PromptGrowth, SharedCalibration};
    use epitome_core::{Scale, Tokens};

    #[test]
    fn a_count_is_corrected_downward_by_less_than_upward() {
        let after = |prompt| {
            let calibration = SharedCalibration::default();
            (0..200).for_each(|_| calibration.learn(PromptGrowth { before: 1, prompt, counted: 10_000 }));
            calibration.scale()
        };
        let least = Scale::of(FACTOR_MIN);
        assert_eq!([after(10_000), after(4_000)], [Scale::SAME, least]);
        assert!(after(90_000) > Scale::of(1.9));
    }

    #[test]
    fn a_refusal_says_at_once_what_a_request_takes_and_is_not_believed_beyond_twice() {
        let calibration = SharedCalibration::default();
        assert!(!calibration.learn_refusal(Tokens(90_000), Tokens(30_000)));
        assert_eq!(calibration.scale(), Scale::SAME);
        assert!(calibration.learn_refusal(Tokens(36_000), Tokens(24_000)));
        assert_eq!(calibration.scale(), Scale::of(1.5));
    }

    #[test]
    fn an_endpoint_has_one_calibration_and_those_used_longest_ago_are_let_go() {
        let mut table = CalibrationTable::default();
        table.of("first").learn_refusal(Tokens(30_000), Tokens(20_000));
        assert_eq!((table.of("first").scale(), table.of("other").scale()), (Scale::of(1.5), Scale::SAME));
        for number in 0..ENDPOINTS_MAX - 1 {
            table.of(&number.to_string());
        }
        assert_eq!(table.of("first").scale(), Scale::SAME, "it was let go");
    }
}
