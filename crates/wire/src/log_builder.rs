//! Putting a log together from a file that tells its story out of order.
//!
//! An entry's id is given when its first line is met, and never changes when lines are added to the
//! file. Results must follow their call all the same, so a call reserves the place of its result at
//! once: whenever the result comes, and whatever came between, it stands there. A place whose result
//! never came is a note.

use crate::{ByteSource, Format, OriginalPlace, Originals, Span};
use epitome_core::{
    Author, CallId, Compaction, Edit, Entry, EntryId, Form, Item, Log, Mark, MeasuredItem, Outcome, Record,
    Role, SizeTable, Sizes, Tail,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The mark of an edit that the transcript's own tool made.
pub(crate) fn recorded_edit(forms: Vec<(EntryId, Form)>) -> Mark {
    let record = Record { outcome: Outcome::Recorded, ..Record::default() };
    Mark::Edit { edit: Edit { forms }, record: Arc::new(record) }
}

/// What stands in the place of a result that has not come.
const UNANSWERED: &str = "unanswered call";

/// A log in the making.
#[derive(Default)]
pub(crate) struct LogBuilder {
    nodes: Vec<BuilderNode>,
    /// Where the results of unanswered calls will stand, by the newest call of each id.
    waiting: HashMap<CallId, EntryId>,
    /// Entries that do not follow the one before them, with what they follow.
    jumps: HashMap<EntryId, Option<EntryId>>,
    /// What the next entry follows, where the conversation went back.
    resumes: Option<Option<EntryId>>,
    /// Where the newest result of each call stands.
    answered: HashMap<CallId, EntryId>,
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
        let calls = met.weighed.item.calls.clone();
        let id = self.push(BuilderNode::of(met));
        self.reserve(id, &calls);
        id
    }

    fn push(&mut self, node: BuilderNode) -> EntryId {
        let id = self.next_id();
        self.jumps.extend(self.resumes.take().map(|follows| (id, follows)));
        self.nodes.push(node);
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

    /// Notes where more of a message stands that was weighed with it.
    pub(crate) fn add_span(&mut self, id: EntryId, span: Span) {
        self.nodes[id.index()].spans.push(span);
    }

    fn reserve(&mut self, reply: EntryId, calls: &[CallId]) {
        for call in calls {
            let place = self.push(BuilderNode::waiting_for(reply));
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
        let calls = met.weighed.item.answers.clone();
        let places: Vec<EntryId> = calls.iter().filter_map(|call| self.waiting.remove(call)).collect();
        let id = match places.first() {
            Some(&place) => self.fill(place, met),
            None => self.add(met),
        };
        self.answered.extend(calls.iter().map(|call| (call.clone(), id)));
        id
    }

    /// Keeps a place for a message that may turn out to stand here.
    pub(crate) fn keep_place(&mut self, kind: &str) -> EntryId {
        self.push(BuilderNode::bare(Entry::Note { kind: kind.into() }))
    }

    /// Puts a message in a place that was kept.
    pub(crate) fn fill(&mut self, place: EntryId, met: ParsedMessage) -> EntryId {
        let answers = self.nodes[place.index()].answers;
        self.nodes[place.index()] = BuilderNode { answers, ..BuilderNode::of(met) };
        place
    }

    /// Where the newest result of a call stands.
    pub(crate) fn answer_to(&self, call: &CallId) -> Option<EntryId> {
        self.answered.get(call).copied()
    }

    /// From here on the tool itself shows messages in these forms. A mark: nothing follows it.
    pub(crate) fn edit(&mut self, forms: Vec<(EntryId, Form)>) -> EntryId {
        self.push(BuilderNode::bare(Entry::Mark(recorded_edit(forms))))
    }

    /// Adds a compaction. Calls from before it wait no longer: their place is out of view. Those it keeps with
    /// everything behind them still do.
    pub(crate) fn compact(&mut self, compaction: Compaction, name: Option<Arc<str>>) -> EntryId {
        self.waiting.retain(|_, place| matches!(&compaction.tail, Tail::From(first) if *place >= *first));
        let entry = Entry::Recorded(Box::new(compaction));
        self.push(BuilderNode { name, ..BuilderNode::bare(entry) })
    }

    /// Goes back to an entry, or before the first: what comes next follows it. Calls made since wait no longer.
    pub(crate) fn go_back(&mut self, to: Option<EntryId>) {
        self.waiting.retain(|_, place| Some(*place) <= to);
        self.resumes = Some(to);
    }

    /// The compaction of this id, still open to change.
    pub(crate) fn compaction_mut(&mut self, id: EntryId) -> Option<&mut Compaction> {
        match &mut self.nodes.get_mut(id.index())?.entry {
            Entry::Recorded(compaction) => Some(compaction),
            Entry::Message(_) | Entry::Note { .. } | Entry::Mark(_) => None,
        }
    }

    /// The messages of one side by one author that the newest entry follows.
    pub(crate) fn messages_by(&self, role: Role, author: Author) -> Vec<EntryId> {
        let is_theirs =
            |id: &EntryId| self.item(*id).is_some_and(|item| item.role == role && item.author == author);
        let mut ids: Vec<EntryId> =
            std::iter::successors(self.leaf(), |id| self.parent(*id)).filter(is_theirs).collect();
        ids.reverse();
        ids
    }

    /// The message of this id, where it is one.
    pub(crate) fn item(&self, id: EntryId) -> Option<&Item> {
        match &self.nodes.get(id.index())?.entry {
            Entry::Message(item) => Some(item),
            Entry::Recorded(_) | Entry::Note { .. } | Entry::Mark(_) => None,
        }
    }

    /// What an entry follows in a file whose entries follow each other, but where it went back.
    pub(crate) fn parent(&self, id: EntryId) -> Option<EntryId> {
        self.jumps.get(&id).copied().unwrap_or_else(|| self.newest_before(id))
    }

    /// The newest entry before `end` that others can follow.
    fn newest_before(&self, end: EntryId) -> Option<EntryId> {
        let is_mark = |node: &BuilderNode| matches!(node.entry, Entry::Mark(_));
        self.nodes[..end.index()].iter().rposition(|node| !is_mark(node)).map(|at| EntryId(at as u32))
    }

    /// The entry that the next one follows.
    pub(crate) fn leaf(&self) -> Option<EntryId> {
        self.resumes.unwrap_or_else(|| self.newest())
    }

    /// The id the next entry will have.
    pub(crate) fn next_id(&self) -> EntryId {
        EntryId(self.nodes.len() as u32)
    }

    /// The newest entry that others can follow.
    pub(crate) fn newest(&self) -> Option<EntryId> {
        self.newest_before(self.next_id())
    }

    /// For each entry the reply whose result it is, or will be.
    pub(crate) fn answered_replies(&self) -> Vec<Option<EntryId>> {
        self.nodes.iter().map(|node| node.answers).collect()
    }

    /// The log, each entry below the one before it, or below what it went back to.
    pub(crate) fn in_line(self, source: Arc<dyn ByteSource>, format: Format) -> BuiltLog {
        let parents = (0..self.nodes.len() as u32).map(|at| self.parent(EntryId(at))).collect();
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
            let id = log
                .append(parent, on_path(node.entry, parent, &log))
                .expect("a parent comes before its child");
            // What a summary takes is counted from its text, by whoever shows it.
            if log.item(id).is_some() {
                sizes.set(id, node.sizes);
            }
            if !node.spans.is_empty() {
                originals.put(id, OriginalPlace::Spans { spans: node.spans.into(), part: node.part });
            }
            names.push(node.name);
        }
        BuiltLog { log, sizes, originals, names }
    }
}

/// An entry as it can be put below `parent`: of an edit, what is shown there at all.
fn on_path(entry: Entry, parent: Option<EntryId>, log: &Log) -> Entry {
    match entry {
        Entry::Mark(Mark::Edit { mut edit, record }) => {
            let path: HashSet<EntryId> = log.path_of(parent).into_iter().collect();
            edit.forms.retain(|(id, _)| path.contains(id));
            Entry::Mark(Mark::Edit { edit, record })
        }
        other => other,
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
