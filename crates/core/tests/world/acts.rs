//! Random histories: what people, the model, its tools and the harness do, of every size and order that
//! agents are known to produce.

use proptest::prelude::{Just, Strategy as Generate, prop, prop_oneof};

/// What someone does in a random history.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A person writes so many bytes.
    Says(usize),
    /// The harness puts in one of a few texts.
    Reminds(u8),
    /// The harness gives an instruction of so many bytes in the middle of the history.
    Instructs(usize),
    /// The harness gives one of a few instructions, in the same words each time.
    Repeats(u8),
    /// The model answers, with thinking of so many bytes in front.
    Answers(usize, usize),
    /// A person shows a picture.
    Shows,
    /// A person attaches something we cannot read.
    Attaches(usize),
    /// Someone says nothing at all, in one of a few ways.
    Hushes(u8),
    /// The harness's own tool compacts everything away.
    Summarizes,
    /// The model makes calls whose results have these sizes; none for a result that never comes.
    Calls(Vec<Option<usize>>, Order),
    /// The model makes calls, one after the other, whose results are giants of these sizes.
    Floods(Vec<usize>),
    /// Something that formats and providers allow and few agents do, of so many bytes.
    Odd(Oddity, usize),
}

/// What few agents do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Oddity {
    /// A result comes in a message of the person's, beside a text.
    ResultBesideText,
    /// A result is an error, with a picture.
    FailsWithPicture,
    /// A result answers no call.
    Orphan,
    /// A result comes after the next reply.
    Late,
    /// Text, sealed reasoning and a call in one message.
    Reasons,
    /// A text that no byte may be cut out of: scripts beyond ASCII, pictures in letters.
    Scripts,
    /// A rule, numbers, ids and a path.
    Rules,
    /// A key, in what is said and in a call.
    Secret,
    /// A list of todos is written.
    Todos,
}

impl Oddity {
    const ALL: [Self; 9] = [
        Self::ResultBesideText,
        Self::FailsWithPicture,
        Self::Orphan,
        Self::Late,
        Self::Reasons,
        Self::Scripts,
        Self::Rules,
        Self::Secret,
        Self::Todos,
    ];
}

/// How the results of parallel calls arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// As they were called.
    Straight,
    /// The other way round.
    Reversed,
    /// With a message of a person in between.
    Interrupted,
    /// All in one message.
    Together,
    /// As they were called, each with a note of the harness behind it.
    Noted,
}

/// Histories of up to thirty acts.
pub(crate) fn histories() -> impl Generate<Value = Vec<Act>> {
    prop::collection::vec(act(), 1..32)
}

/// The same, with much that is odd.
pub(crate) fn odd_histories() -> impl Generate<Value = Vec<Act>> {
    let size = prop_oneof![4 => 0usize..300, 1 => 300usize..6_000];
    let odd = (prop::sample::select(Oddity::ALL.to_vec()), size);
    let odd = odd.prop_map(|(oddity, size)| Act::Odd(oddity, size));
    prop::collection::vec(prop_oneof![1 => act(), 1 => odd], 1..48)
}

fn act() -> impl Generate<Value = Act> {
    let size = prop_oneof![40 => 0usize..200, 8 => 200usize..2_000, 1 => 2_000usize..16_000];
    let result = prop_oneof![9 => size.clone().prop_map(Some), 1 => Just(None)];
    let order = prop::sample::select(vec![
        Order::Straight,
        Order::Reversed,
        Order::Interrupted,
        Order::Together,
        Order::Noted,
    ]);
    prop_oneof![
        60 => size.clone().prop_map(Act::Says),
        20 => Just(Act::Shows),
        4 => size.clone().prop_map(Act::Attaches),
        4 => (0u8..4).prop_map(Act::Hushes),
        5 => Just(Act::Summarizes),
        20 => (0u8..3).prop_map(Act::Reminds),
        8 => size.clone().prop_map(Act::Instructs),
        2 => (0u8..2).prop_map(Act::Repeats),
        40 => (size.clone(), size).prop_map(|(text, thinking)| Act::Answers(text, thinking)),
        100 => (prop::collection::vec(result, 1..4), order)
            .prop_map(|(results, order)| Act::Calls(results, order)),
        3 => prop::collection::vec(4_000usize..20_000, 2..6).prop_map(Act::Floods),
    ]
}
