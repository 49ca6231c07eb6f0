//! Everything about a compaction that a policy, a person or a provider may say beside the few things that
//! [`super::Asked`] names: how a model is asked and what is added to its words, what a last resort is, ranges, and what is
//! known of the moment.

use epitome_core::policy::{
    Clip, FileList, Input, LastResort, Markers, Notice, Oversize, Pictures, Previous, PruneWhen, Split,
    Verify,
};
use epitome_core::{Circumstances, EntryId, Range, Settings, Tokens, Trigger};
use proptest::prelude::{Just, Strategy as Generate, any, prop, prop_oneof};

/// A throw for each axis; none leaves all of them where they are by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axes {
    throws: Vec<u8>,
    range: Option<(bool, usize)>,
    circumstances: Circumstances,
    pub(crate) trigger: Option<Trigger>,
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
    (prop::collection::vec(any::<u8>(), 24), range, circumstances, trigger).prop_map(
        |(throws, range, circumstances, trigger)| Axes {
            throws,
            range,
            circumstances,
            trigger: Some(trigger),
        },
    )
}

impl Axes {
    /// Turns settings as the throws fall.
    pub(crate) fn turn(&self, settings: &mut Settings) {
        if self.throws.is_empty() {
            return;
        }
        let mut throws = self.throws.iter().copied().cycle();
        let mut pick = |of: u8| throws.next().unwrap_or_default() % of;
        let (summary, rebuild, prune) = (&mut settings.summary, &mut settings.rebuild, &mut settings.prune);
        summary.input = [Input::Text, Input::Messages, Input::Prefix][usize::from(pick(3))];
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
        settings.guard.last = if pick(2) == 0 { LastResort::Drop } else { LastResort::Abandon };
        settings.guard.calls_max = 5 + u32::from(pick(8));
        settings.keep.within_turn = pick(2) == 0;
        settings.keep.calibrated = pick(2) == 0;
        rebuild.coverage = pick(2) == 0;
        rebuild.todos = pick(2) == 0;
        rebuild.facts = pick(2) == 0;
        rebuild.files = [FileList::None, FileList::Lists, FileList::Tree][usize::from(pick(3))];
        rebuild.verify = if pick(2) == 0 { Verify::Repair } else { Verify::Report };
        prune.when = if pick(2) == 0 { PruneWhen::Compaction } else { PruneWhen::Never };
        prune.notice = [Notice::Pointer, Notice::Pruned, Notice::Truncated][usize::from(pick(3))];
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
