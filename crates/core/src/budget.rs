//! The token budget of one request: a window, less the answer's reserve and the parts that are not
//! history, and the points in it at which a policy acts. Which window a session has, and how the provider's
//! count compares with ours, is chosen by the engine's `Assembly`.
//!
//! A request is told in the provider's tokens: the window, the trigger, what stands before the history, what records
//! show. A history is told in our own count, since that is what messages are weighed and cut by. The [`Scale`] between
//! the two is applied here and nowhere else.

use crate::policy::{Compare, OutputCount, TargetOf, TriggerRule};
use crate::{Policy, Scale, Threshold, Tokens};
use serde::{Deserialize, Serialize};

/// The window of one request and the parts of it that are not history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// All a request may take, answer included.
    pub window: Tokens,
    /// System prompt and tools, in the provider's tokens.
    pub fixed: Tokens,
    /// What whoever sends the request adds to it that nobody here can see, in the provider's tokens. It takes room and
    /// stands in no figure of a request: an agent's own prompt and tools, where a transcript does not record them.
    #[serde(default, rename = "unrecorded_counted", skip_serializing_if = "Tokens::is_zero")]
    pub unrecorded: Tokens,
    /// Kept free for the answer.
    pub reserve: Tokens,
    /// The longest prompt the provider takes, where that is less than window and reserve would leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_max: Option<Tokens>,
    /// How the provider's count compares with ours.
    #[serde(default, skip_serializing_if = "Scale::is_same")]
    pub scale: Scale,
}

/// An answer never reserves more than this part of the window: a model without a stated limit would
/// otherwise leave no room for what it is to answer.
const RESERVE_SHARE: (u64, u64) = (1, 4);
/// No agent's own prompt and tools take more of its window than this.
const UNRECORDED_SHARE: (u64, u64) = (2, 3);
/// Of the room that is really there, a compaction leaves at most this part taken, so that the next turns have a runway.
const RUNWAY_SHARE: (u64, u64) = (3, 4);
/// Tokens to be left free may be more than a small room has; a history gets this part of it all the same.
const TARGET_SHARE_MIN: (u64, u64) = (1, 4);
/// A reserve that nobody asked for gives way to the rule's least free share where it is more than this
/// part of the window.
const UNASKED_SHARE: (u64, u64) = (1, 2);

/// A number outside this is no window but a slip in reading one.
pub const WINDOW_MIN: Tokens = Tokens(1_024);
/// The same at the other end.
pub const WINDOW_MAX: Tokens = Tokens(10_000_000);

/// Whether a number that somebody told or learned can be a window.
pub fn is_window(tokens: Tokens) -> bool {
    (WINDOW_MIN..=WINDOW_MAX).contains(&tokens)
}

impl Budget {
    /// A budget whose reserve is `output_max`, or a quarter of the window where that is less.
    pub fn new(window: Tokens, fixed: Tokens, output_max: Tokens) -> Self {
        let reserve = output_max.min(window.share(RESERVE_SHARE.0, RESERVE_SHARE.1));
        Self { window, fixed, unrecorded: Tokens::ZERO, reserve, prompt_max: None, scale: Scale::SAME }
    }

    /// The same where a sender adds so much that nobody here can see. A window of which that would take most is not the
    /// sender's own, and what they add says nothing of it.
    pub fn with_unrecorded(self, tokens: Tokens) -> Self {
        let is_theirs = tokens <= self.window.less(self.fixed).share(UNRECORDED_SHARE.0, UNRECORDED_SHARE.1);
        Self { unrecorded: if is_theirs { tokens } else { Tokens::ZERO }, ..self }
    }

    /// The same with a limit on the prompt alone.
    pub fn with_prompt_max(self, prompt_max: Option<Tokens>) -> Self {
        Self { prompt_max, ..self }
    }

    /// The same with a provider that counts otherwise than we do.
    pub fn with_scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// What the provider counts of a request whose history takes so much by our count.
    pub fn request(&self, history: Tokens) -> Tokens {
        self.fixed + self.scale.theirs(history)
    }

    /// What the history of a request takes by our count, of which the provider counts so much.
    pub fn history_in(&self, request: Tokens) -> Tokens {
        self.scale.ours(request.less(self.fixed))
    }

    /// The longest prompt the provider takes, an answer or none, as the history in it.
    pub fn history_max(&self) -> Tokens {
        self.history_in(self.prompt_max.unwrap_or(self.window).min(self.window).less(self.unrecorded))
    }

    /// A point in the window, by our count.
    pub fn point_of(&self, threshold: Threshold) -> Tokens {
        self.scale.ours(threshold.of(self.window))
    }

    /// The budget as `policy` sees it: its own window, and no reserve where the trigger leaves enough.
    pub fn under(self, policy: &Policy) -> Self {
        let window = policy.window.most.map_or(self.window, |most| most.min(self.window));
        let reserve = match policy.trigger.output {
            OutputCount::Room | OutputCount::Reserved | OutputCount::Capped(_) => {
                self.reserve.min(window.share(RESERVE_SHARE.0, RESERVE_SHARE.1))
            }
            OutputCount::None => Tokens::ZERO,
        };
        Self { window, reserve, ..self }
    }

    /// What the history may take at the very most, beside what a sender adds. The answer's reserve gives way to that as far
    /// as it is more than its part of what is left: a small window is to hold a history first.
    pub fn room(&self) -> Tokens {
        let room = self.recorded_room();
        if self.unrecorded.is_zero() {
            return room;
        }
        let left = self.window.less(self.fixed + self.unrecorded);
        let reserve = self.reserve.min(left.share(RESERVE_SHARE.0, RESERVE_SHARE.1));
        room.min(self.history_max()).min(self.scale.ours(left.less(reserve)))
    }

    /// What the history may take if what is recorded were all there is.
    fn recorded_room(&self) -> Tokens {
        let room = self.history_in(self.window.less(self.reserve));
        self.prompt_max.map_or(room, |most| room.min(self.history_in(most)))
    }

    /// Whether a history of `tokens` can be sent.
    pub fn fits(&self, tokens: Tokens) -> bool {
        tokens <= self.room()
    }

    /// The request at which `policy` would compact if any prompt were taken. Where it comes to that is
    /// [`Budget::trigger_point`], which everybody else goes by.
    fn limit(&self, policy: &Policy) -> Tokens {
        let rule = &policy.trigger;
        let answer = match rule.output {
            OutputCount::Room | OutputCount::None => Tokens::ZERO,
            OutputCount::Reserved => self.reserve,
            OutputCount::Capped(most) => self.reserve.min(most),
        };
        let wanted = rule.absolute.unwrap_or_else(|| self.point(rule)).less(answer);
        let lower = rule.only_lower.map(|lower| lower.of(self.window.less(answer)));
        lower.map_or(wanted, |lower| lower.min(wanted))
    }

    /// `at`, with at least `free_min` left free. Where `at` is a reserve of most of a small window that
    /// nobody asked for, the free share alone decides.
    fn point(&self, rule: &TriggerRule) -> Tokens {
        let at = rule.at;
        let Some(free) = rule.free_min.map(|share| share.of(self.window)) else { return at.of(self.window) };
        let is_most = match at {
            Threshold::Remaining(reserve) => reserve > self.window.share(UNASKED_SHARE.0, UNASKED_SHARE.1),
            Threshold::Share(_) | Threshold::Absolute(_) => false,
        };
        let most = self.window.less(free);
        if is_most && rule.yields { most } else { at.of(self.window).min(most) }
    }

    /// The request at which `policy` wants to compact, as it comes about: fixed parts included, and never above what
    /// leaves the answer the room that the policy minds.
    pub fn trigger_point(&self, policy: &Policy) -> Tokens {
        self.request(self.due_at(policy).min(self.most(policy)))
    }

    /// The largest history that can be sent, as `policy` minds the answer.
    fn most(&self, policy: &Policy) -> Tokens {
        match policy.trigger.output {
            OutputCount::Room => self.room(),
            OutputCount::None | OutputCount::Reserved | OutputCount::Capped(_) => self.history_max(),
        }
    }

    /// Whether `policy` wants a history of `tokens` compacted.
    pub fn is_due(&self, tokens: Tokens, policy: &Policy) -> bool {
        tokens > self.most(policy) || policy.trigger.compare.holds(tokens, self.due_at(policy))
    }

    /// The largest history that `policy` leaves alone and that fits, which is what a compaction must come below. A policy
    /// that does not mind the answer's room leaves a larger one alone.
    pub fn undue(&self, policy: &Policy) -> Tokens {
        let left_alone = match policy.trigger.compare {
            Compare::Reached => self.due_at(policy).less(Tokens(1)),
            Compare::Passed => self.due_at(policy),
        };
        left_alone.min(self.room())
    }

    /// The history at which `policy` wants to compact. Where the policy minds the answer's room, large
    /// fixed parts bring the trigger down only half-way to the target: below that each call would
    /// compact again.
    fn due_at(&self, policy: &Policy) -> Tokens {
        let limit = self.scale.ours(self.limit(policy));
        let beside_fixed = self.history_in(self.limit(policy));
        match policy.trigger.output {
            OutputCount::Room => {
                let half_way = Tokens(self.target(policy).0.midpoint(self.room().0));
                beside_fixed.max(half_way.min(limit))
            }
            OutputCount::None | OutputCount::Reserved | OutputCount::Capped(_) => beside_fixed,
        }
    }

    /// What a history is compacted to: the policy's target, of the whole request or of the room that is free
    /// for a history, so that a large system prompt does not starve it. Of a room `25%` is a quarter,
    /// `20000` so many tokens, `-20000` all but so many tokens, and at least a quarter where the room is
    /// not much more than that.
    pub fn target(&self, policy: &Policy) -> Tokens {
        let runway = self.room().share(RUNWAY_SHARE.0, RUNWAY_SHARE.1);
        let wanted = self.wanted_target(policy);
        wanted.map_or(runway, |wanted| wanted.max(self.target_min(policy)).min(runway))
    }

    /// The policy's target as it stands, whatever room there is for it; none where the policy has none. What a sender adds
    /// makes it no smaller while the whole fits.
    pub(crate) fn wanted_target(&self, policy: &Policy) -> Option<Tokens> {
        let (target, room) = (policy.trigger.target?, self.recorded_room());
        Some(match (policy.trigger.target_of, target) {
            (TargetOf::Request, _) => self.history_in(target.of(self.window)),
            (TargetOf::Free, Threshold::Remaining(free)) => room.less(self.scale.ours(free)),
            (TargetOf::Free, Threshold::Absolute(tokens)) => self.scale.ours(tokens),
            (TargetOf::Free, Threshold::Share(_)) => target.of(room),
        })
    }

    /// What a history gets at least where a target names what is beside it: that may be all there is.
    fn target_min(&self, policy: &Policy) -> Tokens {
        match (policy.trigger.target_of, policy.trigger.target) {
            (TargetOf::Request, _) | (TargetOf::Free, Some(Threshold::Remaining(_))) => {
                self.room().share(TARGET_SHARE_MIN.0, TARGET_SHARE_MIN.1)
            }
            (TargetOf::Free, Some(Threshold::Absolute(_) | Threshold::Share(_)) | None) => Tokens::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;
    use crate::policy::{Compare, OutputCount};
    use crate::{Policy, Scale, Settings, Tokens};

    fn target_of(target: &str, budget: Budget) -> Tokens {
        let mut settings = Settings::default();
        settings.trigger.target = Some(target.parse().expect("a threshold"));
        budget.target(&Policy::try_from(settings).expect("sound settings"))
    }

    #[test]
    fn a_target_is_taken_of_what_is_free() {
        let bare = Budget::new(Tokens(32_000), Tokens::ZERO, Tokens(8_000));
        let laden = Budget::new(Tokens(32_000), Tokens(16_000), Tokens(8_000));
        let targets = |target| [bare, laden].map(|budget| target_of(target, budget).0);
        assert_eq!(targets("25%"), [6_000, 2_000]);
        assert_eq!(targets("10%"), [2_400, 800]);
        assert_eq!(targets("3000"), [3_000, 3_000]);
        assert_eq!(targets("-12000"), [12_000, 2_000]);
        // However much is wanted, the next turns have a runway.
        assert_eq!(targets("90%"), [18_000, 6_000]);
    }

    #[test]
    fn every_point_follows_how_the_provider_counts() {
        let policy = Policy::default();
        let same = Budget::new(Tokens(200_000), Tokens(10_000), Tokens(8_000));
        // What stands before the history grows with the provider's count as the history does.
        let finer = Budget { fixed: Tokens(12_500), ..same }.with_scale(Scale::of(1.25));
        assert_eq!([same, finer].map(|budget| budget.room()), [Tokens(182_000), Tokens(143_600)]);
        assert_eq!([same, finer].map(|budget| budget.limit(&policy)), [Tokens(160_000); 2]);
        // The same request, by the provider's count; a smaller history, by ours.
        let due = |budget: Budget| {
            let history = budget.history_in(budget.trigger_point(&policy));
            let is_due = |tokens: Tokens| budget.is_due(tokens, &policy);
            assert_eq!((is_due(history.less(Tokens(1))), is_due(history + Tokens(1))), (false, true));
            history
        };
        assert_eq!((due(same), due(finer)), (Tokens(150_000), Tokens(118_000)));
        assert_eq!([same, finer].map(|budget| budget.target(&policy)), [Tokens(81_900), Tokens(64_620)]);
        assert_eq!((finer.request(Tokens(118_000)), finer.history_max()), (Tokens(160_000), Tokens(150_000)));
        let coarser = Budget { fixed: Tokens(8_000), ..same }.with_scale(Scale::of(0.8));
        assert_eq!((coarser.room(), due(coarser)), (Tokens(230_000), Tokens(190_000)));
    }

    #[test]
    fn what_a_sender_adds_takes_room_and_lowers_a_target_only_where_the_whole_would_not_fit() {
        let budget = Budget::new(Tokens(100_000), Tokens::ZERO, Tokens(25_000));
        let seen = |added: u64| {
            let budget = budget.with_unrecorded(Tokens(added));
            assert_eq!(budget.request(Tokens(7)), Tokens(7), "it is no part of a request that is told");
            [budget.room(), target_of("40%", budget), budget.history_max()].map(|tokens| tokens.0)
        };
        assert_eq!(seen(0), [75_000, 30_000, 100_000]);
        assert_eq!(seen(20_000), [60_000, 30_000, 80_000], "an answer has its part of what is left");
        assert_eq!(seen(53_000), [35_250, 26_437, 47_000], "three quarters of the room");
        assert_eq!(seen(66_000), [25_500, 19_125, 34_000]);
        assert_eq!(seen(67_000), seen(0), "another agent's window");
    }

    #[test]
    fn a_prompt_limit_below_the_window_counts() {
        let budget = Budget::new(Tokens(400_000), Tokens(2_000), Tokens(100_000));
        let limited = budget.with_prompt_max(Some(Tokens(272_000)));
        assert_eq!([budget.room(), limited.room()], [Tokens(298_000), Tokens(270_000)]);
    }

    #[test]
    fn a_reserve_of_most_of_a_small_window_gives_way_to_the_free_share() {
        let mut settings = Settings::default();
        settings.trigger.at = "-16000".parse().expect("a threshold");
        settings.trigger.free_min = Some("15%".parse().expect("a threshold"));
        let limit = |yields: bool, window: u64| {
            let mut settings = settings.clone();
            settings.trigger.yields = yields;
            let policy = Policy::try_from(settings).expect("sound settings");
            Budget::new(Tokens(window), Tokens::ZERO, Tokens::ZERO).limit(&policy).0
        };
        assert_eq!((limit(false, 20_000), limit(true, 20_000)), (4_000, 17_000));
        // Half of the window is not most of it.
        assert_eq!((limit(false, 32_000), limit(true, 32_000)), (16_000, 16_000));
        assert_eq!((limit(true, 30_000), limit(true, 200_000)), (25_500, 170_000));
    }

    #[test]
    fn an_answer_reserves_its_part_of_the_window_that_a_policy_leaves() {
        let mut settings = Settings::default();
        settings.window.most = Some(Tokens(8_000));
        let policy = Policy::try_from(settings).expect("sound settings");
        let budget = Budget::new(Tokens(200_000), Tokens::ZERO, Tokens(64_000)).under(&policy);
        assert_eq!(
            (budget.window, budget.reserve, budget.room()),
            (Tokens(8_000), Tokens(2_000), Tokens(6_000))
        );
    }

    #[test]
    fn the_point_that_is_shown_is_the_one_that_counts() {
        let policy = Policy::default();
        for (window, fixed, reserve) in [(32_000, 0, 1_000), (32_000, 0, 8_000), (32_000, 20_000, 8_000)] {
            let budget = Budget::new(Tokens(window), Tokens(fixed), Tokens(reserve));
            let history = budget.history_in(budget.trigger_point(&policy));
            let is_due = |tokens: Tokens| budget.is_due(tokens, &policy);
            assert_eq!(
                (is_due(history.less(Tokens(1))), is_due(history + Tokens(1))),
                (false, true),
                "{window} {fixed} {reserve}"
            );
        }
    }

    #[test]
    fn what_is_not_due_and_fits_ends_where_it_is_said_to() {
        let outputs =
            [OutputCount::Room, OutputCount::None, OutputCount::Reserved, OutputCount::Capped(Tokens(1_000))];
        let compares = [Compare::Reached, Compare::Passed];
        let rules = outputs.into_iter().flat_map(|output| compares.map(|compare| (output, compare)));
        let points = ["50%", "80%", "100%", "-500", "9000"];
        for ((output, compare), at) in rules.flat_map(|rule| points.map(|at| (rule, at))) {
            let mut settings = Settings::default();
            (settings.trigger.output, settings.trigger.compare) = (output, compare);
            settings.trigger.at = at.parse().expect("a threshold");
            let policy = Policy::try_from(settings).expect("sound settings");
            for (fixed, prompt_max) in [(0, None), (3_000, None), (500, Some(Tokens(12_000)))] {
                let budget = Budget::new(Tokens(16_000), Tokens(fixed), Tokens(4_000));
                let budget = budget.with_prompt_max(prompt_max).under(&policy);
                let undue = budget.undue(&policy);
                let is_left = |tokens| !budget.is_due(tokens, &policy) && budget.fits(tokens);
                assert_eq!(
                    (is_left(undue), is_left(undue + Tokens(1))),
                    (true, false),
                    "{output:?} {compare:?} {at} {fixed} {prompt_max:?}: {undue}"
                );
            }
        }
    }

    #[test]
    fn a_low_trigger_is_the_one_that_was_set() {
        let due_at = |at: &str| {
            let mut settings = Settings::default();
            settings.trigger.at = at.parse().expect("a threshold");
            let budget = Budget::new(Tokens(32_000), Tokens::ZERO, Tokens(1_000));
            budget.due_at(&Policy::try_from(settings).expect("sound settings"))
        };
        assert_eq!(["30%", "40%", "80%"].map(due_at), [Tokens(9_600), Tokens(12_800), Tokens(25_600)]);
    }

    #[test]
    fn large_fixed_parts_do_not_make_every_call_compact() {
        let policy = Policy::default();
        let budget = Budget::new(Tokens(100_000), Tokens(85_000), Tokens(1_000));
        let target = budget.target(&policy);
        assert!(!budget.is_due(target, &policy));
        assert!(budget.is_due(budget.room(), &policy));
    }
}
