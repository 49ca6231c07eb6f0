//! Putting a log together from a file that tells its story out of order.
//!
//! An entry's id is given when its first line is met, and never changes when lines are added to the
//! file. Results must follow their call all the same, so a call reserves the place of its result at
//! once: whenever the result comes, and whatever came between, it stands there. A place whose result
//! never came is a note.

use crate::{ByteSource, Format, OriginalPlace, Originals, Span};
use epitome_core::{
    Author, CallId, Compaction, Entry, EntryId, Log, MeasuredItem, Role, SizeTable, Sizes, Tail,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What stands in the place of a result that has not come.
const UNANSWERED: &str = "unanswered call";

/// A log in the making.
#[derive(Default)]
pub(crate) struct LogBuilder {
    nodes: Vec<BuilderNode>,
    /// Where the results of unanswered calls will stand, by the newest call of each id.
    waiting: HashMap<CallId, EntryId>,
}

struct BuilderNode {
    entry: Entry,
    sizes: Sizes,
    spans: Vec<Span>,
    part: u32,
    name: Option<Arc<str>>,
    /// The reply whose result this place is for.
    answers: Option<EntryId>,
}

/// A message as it was met.
pub(crate) struct ParsedMessage {
    /// Its light half, and what it takes.
    pub weighed: MeasuredItem,
    /// Where it stands.
    pub span: Span,
    /// Which message of that span; see [`OriginalPlace::Spans`].
    pub part: u32,
    /// The tool's id for it.
    pub name: Option<Arc<str>>,
}

/// Whether a result finds its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// Its call waits, and nothing was said since.
    Waiting,
    /// Its call waits, though the model has spoken again.
    Late,
    /// No call waits for it.
    Missing,
}

/// A finished log with what belongs to it.
pub(crate) struct BuiltLog {
    pub log: Log,
    pub sizes: SizeTable,
    pub originals: Originals,
    pub names: Vec<Option<Arc<str>>>,
}

impl LogBuilder {
    /// Adds a message, and reserves the places of the results it asks for.
    pub(crate) fn add(&mut self, met: ParsedMessage) -> EntryId {
        let id = self.next_id();
        let calls = met.weighed.item.calls.clone();
        self.nodes.push(BuilderNode::of(met));
        self.reserve(id, &calls);
        id
    }

    /// Adds more of a message that has begun.
    pub(crate) fn extend(&mut self, id: EntryId, more: MeasuredItem, span: Span) {
        let Some(node) = self.nodes.get_mut(id.index()) else { return };
        node.spans.push(span);
        if let Entry::Message(item) = &mut node.entry {
            let framing = node.sizes.framing;
            node.sizes += more.sizes;
            node.sizes.framing = framing;
            item.calls = [&item.calls[..], &more.item.calls].concat().into();
        }
        self.reserve(id, &more.item.calls);
    }

    fn reserve(&mut self, reply: EntryId, calls: &[CallId]) {
        for call in calls {
            let place = self.next_id();
            self.nodes.push(BuilderNode::waiting_for(reply));
            self.waiting.insert(call.clone(), place);
        }
    }

    /// Whether a call waits for this result, `newest` being the newest reply.
    pub(crate) fn pairing(&self, call: &CallId, newest: Option<EntryId>) -> Pairing {
        match self.waiting.get(call).and_then(|place| self.nodes[place.index()].answers) {
            None => Pairing::Missing,
            Some(reply) if Some(reply) == newest => Pairing::Waiting,
            Some(_) => Pairing::Late,
        }
    }

    /// Puts results in the place reserved for the first of them; one that answers nothing is added.
    pub(crate) fn answer(&mut self, met: ParsedMessage) -> EntryId {
        let places: Vec<EntryId> =
            met.weighed.item.answers.iter().filter_map(|call| self.waiting.remove(call)).collect();
        let Some(&place) = places.first() else { return self.add(met) };
        let answers = self.nodes[place.index()].answers;
        self.nodes[place.index()] = BuilderNode { answers, ..BuilderNode::of(met) };
        place
    }

    /// Adds a compaction. Calls from before it wait no longer: their place is out of view. Those it keeps with
    /// everything behind them still do.
    pub(crate) fn compact(&mut self, compaction: Compaction, name: Option<Arc<str>>) -> EntryId {
        let id = self.next_id();
        self.waiting.retain(|_, place| matches!(&compaction.tail, Tail::From(first) if *place >= *first));
        let entry = Entry::Recorded(Box::new(compaction));
        self.nodes.push(BuilderNode { name, ..BuilderNode::bare(entry) });
        id
    }

    /// The compaction of this id, still open to change.
    pub(crate) fn compaction_mut(&mut self, id: EntryId) -> Option<&mut Compaction> {
        match &mut self.nodes.get_mut(id.index())?.entry {
            Entry::Recorded(compaction) => Some(compaction),
            Entry::Message(_) | Entry::Note { .. } | Entry::Mark(_) => None,
        }
    }

    /// The messages of one side by one author.
    pub(crate) fn messages_by(&self, role: Role, author: Author) -> Vec<EntryId> {
        let is_theirs = |node: &BuilderNode| matches!(&node.entry, Entry::Message(item) if item.role == role && item.author == author);
        let all = self.nodes.iter().enumerate().filter(|(_, node)| is_theirs(node));
        all.map(|(at, _)| EntryId(at as u32)).collect()
    }

    /// The id the next entry will have.
    pub(crate) fn next_id(&self) -> EntryId {
        EntryId(self.nodes.len() as u32)
    }

    /// The newest entry.
    pub(crate) fn newest(&self) -> Option<EntryId> {
        self.next_id().0.checked_sub(1).map(EntryId)
    }

    /// For each entry the reply whose result it is, or will be.
    pub(crate) fn answered_replies(&self) -> Vec<Option<EntryId>> {
        self.nodes.iter().map(|node| node.answers).collect()
    }

    /// The log, each entry below the one before it.
    pub(crate) fn in_line(self, source: Arc<dyn ByteSource>, format: Format) -> BuiltLog {
        let parents = (0..self.nodes.len() as u32).map(|at| at.checked_sub(1).map(EntryId)).collect();
        self.below(parents, source, format)
    }

    /// The log, each entry below the parent given for it, which comes before it.
    pub(crate) fn below(
        self,
        parents: Vec<Option<EntryId>>,
        source: Arc<dyn ByteSource>,
        format: Format,
    ) -> BuiltLog {
        let (mut log, mut sizes) = (Log::default(), SizeTable::default());
        let mut originals = Originals::new(source, format);
        let mut names = Vec::with_capacity(self.nodes.len());
        for (node, parent) in self.nodes.into_iter().zip(parents) {
            let id = log.append(parent, node.entry).expect("a parent comes before its child");
            sizes.set(id, node.sizes);
            if !node.spans.is_empty() {
                originals.put(id, OriginalPlace::Spans { spans: node.spans.into(), part: node.part });
            }
            names.push(node.name);
        }
        BuiltLog { log, sizes, originals, names }
    }
}

impl BuilderNode {
    fn of(met: ParsedMessage) -> Self {
        let ParsedMessage { weighed: MeasuredItem { item, sizes }, span, part, name } = met;
        Self { sizes, spans: vec![span], part, name, ..Self::bare(Entry::Message(item)) }
    }

    fn waiting_for(reply: EntryId) -> Self {
        Self { answers: Some(reply), ..Self::bare(Entry::Note { kind: UNANSWERED.into() }) }
    }

    fn bare(entry: Entry) -> Self {
        Self { entry, sizes: Sizes::default(), spans: Vec::new(), part: 0, name: None, answers: None }
    }
}
