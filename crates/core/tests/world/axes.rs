//! Everything about a compaction that a policy, a person or a provider may say beside the few things that
//! [`super::Asked`] names: how a model is asked and what is added to its words, what a last resort is, ranges, and what is
//! known of the moment.

use epitome_core::policy::{
    AlwaysKeep, Clip, Compare, FileList, Input, LastResort, Markers, Notice, OutputCount, Oversize, Parts,
    Pictures, Previous, PruneRule, PruneWhen, Resume, Split, SummaryRule, TargetOf, Threshold, TriggerRule,
    Verify,
};
use epitome_core::{Circumstances, EntryId, Range, Settings, Tokens, Trigger};
use proptest::prelude::{Just, Strategy as Generate, any, prop, prop_oneof};

/// A throw for each axis; none leaves all of them where they are by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axes {
    throws: Vec<u8>,
    range: Option<(bool, usize)>,
    pub(crate) circumstances: Circumstances,
    pub(crate) trigger: Option<Trigger>,
    /// What a single test says of the settings.
    set: Option<fn(&mut Settings)>,
}

/// Axes of every kind.
pub(crate) fn axes() -> impl Generate<Value = Axes> {
    let range = prop_oneof![3 => Just(None), 1 => (any::<bool>(), 0usize..60).prop_map(Some)];
    let over = prop_oneof![2 => Just(None), 1 => (0u64..5_000).prop_map(|over| Some(Tokens(over)))];
    let circumstances = (over, prop_oneof![Just(0u32), 20u32..400], any::<bool>(), any::<bool>()).prop_map(
        |(over, usage_percent, is_passed, must_ask)| Circumstances {
            over,
            usage_percent,
            is_passed,
            must_ask,
            idle_minutes: is_passed.then_some(90),
        },
    );
    let trigger = prop::sample::select(Trigger::ALL.to_vec());
    (prop::collection::vec(any::<u8>(), 64), range, circumstances, trigger).prop_map(
        |(throws, range, circumstances, trigger)| Axes {
            throws,
            range,
            circumstances,
            trigger: Some(trigger),
            set: None,
        },
    )
}

impl Axes {
    /// Settings as a single test wants them.
    pub(crate) fn setting(set: fn(&mut Settings)) -> Self {
        Self { set: Some(set), ..Self::default() }
    }

    /// Turns settings as the throws fall.
    pub(crate) fn turn(&self, settings: &mut Settings) {
        self.set.into_iter().for_each(|set| set(settings));
        if self.throws.is_empty() {
            return;
        }
        let mut throws = self.throws.iter().copied().cycle();
        let mut pick = |of: u8| throws.next().unwrap_or_default() % of;
        let (summary, rebuild) = (&mut settings.summary, &mut settings.rebuild);
        summary.parts = if pick(2) == 0 { Parts::Prose } else { Parts::All };
        summary.input = [Input::Cheaper, Input::Text, Input::Messages, Input::Prefix][usize::from(pick(4))];
        summary.oversize = match pick(4) {
            0 => Oversize::Send,
            1 => Oversize::Fail,
            2 => Oversize::DropOldest(20),
            _ => Oversize::Fold,
        };
        summary.markers =
            [Markers::Ids, Markers::Upper, Markers::Colon, Markers::Short][usize::from(pick(4))];
        summary.clip = if pick(2) == 0 { Clip::Head } else { Clip::Ends };
        summary.images = [Pictures::Label, Pictures::Dropped, Pictures::Sent][usize::from(pick(3))];
        summary.previous = if pick(2) == 0 { Previous::Update } else { Previous::Message };
        summary.split = if pick(2) == 0 { Split::Sequence } else { Split::Parallel };
        summary.thinking = pick(2) == 0;
        summary.result_chars_max = [None, Some(0), Some(40), Some(2_000)][usize::from(pick(4))];
        summary.chunks = 1 + u32::from(pick(3));
        summary.retries = u32::from(pick(3));
        summary.shrink_keep = pick(2) == 0;
        summary.else_embedded = pick(2) == 0;
        turn_bounds(summary, &mut pick);
        settings.guard.last = if pick(2) == 0 { LastResort::Drop } else { LastResort::Abandon };
        settings.guard.calls_max = 5 + u32::from(pick(8));
        settings.keep.within_turn = pick(2) == 0;
        settings.keep.calibrated = pick(2) == 0;
        rebuild.coverage = pick(2) == 0;
        rebuild.todos = pick(2) == 0;
        rebuild.facts = pick(2) == 0;
        rebuild.files = [FileList::None, FileList::Lists, FileList::Tree][usize::from(pick(3))];
        rebuild.verify = if pick(2) == 0 { Verify::Repair } else { Verify::Report };
        rebuild.resume = [Resume::Continue, Resume::Ask, Resume::Wait][usize::from(pick(3))];
        settings.guard.hook_tokens_max = Tokens(u64::from(pick(4)) * 500);
        settings.guard.hooks_on_prune = pick(2) == 0;
        settings.trim.enabled = pick(2) == 0;
        // What is always kept is what the properties ask for; more of it may be.
        settings.keep.always.extend((pick(4) == 0).then_some(AlwaysKeep::Input));
        settings.keep.matching = if pick(4) == 0 { vec!["Never touch".into()] } else { Vec::new() };
        turn_pruning(&mut settings.prune, &mut pick);
        turn_trigger(&mut settings.trigger, &mut pick);
    }

    /// Which part is meant, where one was named that is in view.
    pub(crate) fn range(&self, in_view: &[EntryId]) -> Range {
        match self.range.and_then(|(is_up_to, at)| Some((is_up_to, *in_view.get(at)?))) {
            None => Range::All,
            Some((true, id)) => Range::UpTo(id),
            Some((false, id)) => Range::From(id),
        }
    }

    /// The same for whatever trigger is asked for.
    pub(crate) fn without_trigger(self) -> Self {
        Self { trigger: None, ..self }
    }

    pub(crate) fn circumstances(&self) -> Circumstances {
        self.circumstances
    }
}

/// What a model may take and say.
fn turn_bounds(summary: &mut SummaryRule, pick: &mut impl FnMut(u8) -> u8) {
    summary.span_messages = [None, Some(1), Some(8)][usize::from(pick(3))];
    summary.output_max = [None, Some(Tokens(50)), Some(Tokens(2_000))][usize::from(pick(3))];
    summary.prefix_output_max = [None, Some(Tokens(100))][usize::from(pick(2))];
    summary.size_min = [None, Some(Tokens(5)), Some(Tokens(200))][usize::from(pick(3))];
    summary.shrink_keep_max = [None, Some(0), Some(2)][usize::from(pick(3))];
    summary.shrink_results = [vec![], vec![1_000, 200], vec![10]][usize::from(pick(3))].clone();
}

/// What of older messages may be shown shorter, and what is left alone.
fn turn_pruning(prune: &mut PruneRule, pick: &mut impl FnMut(u8) -> u8) {
    prune.when = if pick(2) == 0 { PruneWhen::Compaction } else { PruneWhen::Never };
    prune.notice = [Notice::Pointer, Notice::Pruned, Notice::Truncated][usize::from(pick(3))];
    prune.protect =
        [None, Some(Threshold::Share(1_000)), Some(Threshold::Share(6_000))][usize::from(pick(3))];
    prune.protect_results = [None, Some(Tokens::ZERO), Some(Tokens(300))][usize::from(pick(3))];
    prune.saving_min = Tokens(u64::from(pick(3)) * 100);
    prune.saving_compare = if pick(2) == 0 { Compare::Reached } else { Compare::Passed };
    prune.tools_kept = if pick(3) == 0 { vec!["run".into()] } else { Vec::new() };
    (prune.results, prune.arguments, prune.thinking) = (pick(4) > 0, pick(4) > 0, pick(4) > 0);
    (prune.images, prune.superseded_reads, prune.errors_kept) = (pick(4) > 0, pick(4) > 0, pick(4) == 0);
    prune.cache_tokens_max = [None, Some(Tokens(400))][usize::from(pick(2))];
    prune.cache_cold_minutes = [None, Some(60)][usize::from(pick(2))];
}

/// What a history is compacted to, and how the answer's room counts.
fn turn_trigger(trigger: &mut TriggerRule, pick: &mut impl FnMut(u8) -> u8) {
    trigger.compare = if pick(2) == 0 { Compare::Reached } else { Compare::Passed };
    trigger.output = match pick(4) {
        0 => OutputCount::None,
        1 => OutputCount::Reserved,
        2 => OutputCount::Capped(Tokens(100)),
        _ => OutputCount::Room,
    };
    trigger.target_of = if pick(2) == 0 { TargetOf::Free } else { TargetOf::Request };
    trigger.at = [Threshold::Share(8_000), Threshold::Share(5_000), Threshold::Remaining(Tokens(500))]
        [usize::from(pick(3))];
}
