//! One conversation in memory: the engine's session, and how its entries and the client's messages
//! belong together. Nothing outside this module speaks to the engine.

mod remarks;
mod room;
mod seeing;

use crate::body::Body;
use crate::chain::Link;
use crate::layers::Layers;
use crate::reading;
use crate::rules::Rules;
use crate::settings::ServerSettings;
use crate::tally::Tally;
use crate::view::Origin;
use epitome_core::{Budget, Entry, EntryId, Expressible, Log, Role, Tokens};
use epitome_engine::{EngineError, Gauge, Happened, Point, Report, Session, Setup};
use epitome_tokens::{Counter, ModelSpec};
use epitome_wire::Protocol;
use remarks::Remarks;
use std::sync::{Arc, Mutex};

/// A conversation.
pub(crate) struct Conversation {
    rules: Arc<dyn Rules>,
    protocol: Protocol,
    model: ModelSpec,
    gauge: Gauge,
    layers: Layers,
    session: Session,
    places: Vec<Place>,
    /// By entry; none for entries that are no messages.
    origins: Vec<Option<Origin>>,
    spared: Vec<Spared>,
    /// What the parts around the history take, and the hash of the bytes they were counted in.
    fixed: Option<(blake3::Hash, Tokens)>,
    window: Tokens,
    records: Vec<Report>,
    remarks: Remarks,
    tally: Arc<Mutex<Tally>>,
}

/// One message of the client's.
#[derive(Clone, Copy, Debug)]
struct Place {
    link: Link,
    /// How many entries there were once it was taken up, and compacted where that was due.
    entries: usize,
}

/// A reply whose thinking stays for as long as a compaction lasts: the results of its calls were the newest
/// thing said, and providers want such a reply to begin as it began.
#[derive(Clone, Copy, Debug)]
struct Spared {
    /// The compaction.
    since: EntryId,
    element: usize,
}

/// A request, as far as a conversation looks at it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'r> {
    /// Its bytes.
    pub(crate) body: &'r Body,
    /// How many instructions open its list.
    pub(crate) opening: usize,
    /// The links of the messages behind them.
    pub(crate) links: &'r [Link],
}

/// What a compaction did to the size of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rebuilt {
    /// Before it.
    pub(crate) before: Tokens,
    /// After it.
    pub(crate) after: Tokens,
}

/// So many records are kept of a conversation, the newest; each holds a summary.
const RECORDS_MAX: usize = 100;

impl Conversation {
    /// A conversation in which nothing was said yet.
    pub(crate) fn new(settings: &ServerSettings, protocol: Protocol, model: &str) -> Self {
        let model = settings.catalog.find(model);
        let gauge = Gauge(Counter::for_model(&model));
        let window = settings.window.unwrap_or(Tokens(model.window_tokens.value));
        let layers = Layers::new();
        let rule = settings.rules.of(&model.id);
        let setup = Setup {
            archive: Arc::new(layers.clone()),
            measure: Arc::new(gauge.clone()),
            count_method: gauge.0.method().to_string().into(),
            budget: Budget::new(window, Tokens::ZERO, Tokens::ZERO),
            policy: rule.policy,
            can: Expressible::ALL,
            focus: None,
            pins: Vec::new(),
            clock: settings.clock.clone(),
            asks: rule.asks,
        };
        Self {
            rules: settings.rules.clone(),
            protocol,
            model,
            gauge,
            layers,
            session: Session::new(Log::default(), setup),
            places: Vec::new(),
            origins: Vec::new(),
            spared: Vec::new(),
            fixed: None,
            window,
            records: Vec::new(),
            remarks: Remarks::default(),
            tally: Arc::default(),
        }
    }

    /// A conversation that shares the first `count` messages with this one and goes its own way from there.
    pub(crate) fn branch(&self, count: usize) -> Result<Self, EngineError> {
        let entries = count.checked_sub(1).map_or(0, |last| self.places[last].entries);
        let mut log = Log::default();
        (0..entries).filter_map(|at| self.session.log().get(EntryId(at as u32))).for_each(|entry| {
            log.push(entry.clone());
        });
        let layers = self.layers.branch(EntryId(entries as u32));
        let setup = Setup { archive: Arc::new(layers.clone()), ..self.session.setup().clone() };
        let leaf = log.leaf();
        Ok(Self {
            rules: self.rules.clone(),
            protocol: self.protocol,
            model: self.model.clone(),
            gauge: self.gauge.clone(),
            layers,
            session: Session::open(log, leaf, setup)?,
            places: self.places[..count].to_vec(),
            origins: self.origins[..entries].to_vec(),
            spared: self.spared.iter().copied().filter(|spared| spared.since.index() < entries).collect(),
            fixed: self.fixed,
            window: self.window,
            records: Vec::new(),
            remarks: Remarks::default(),
            tally: Arc::default(),
        })
    }

    /// How many of these links are known here, from the first.
    pub(crate) fn count_known(&self, links: &[Link]) -> usize {
        self.places.iter().zip(links).take_while(|(place, link)| place.link == **link).count()
    }

    /// How many messages of the client's it has taken up.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Takes up what is new in a request, whose beginning this conversation is, as far as its links go.
    pub(crate) fn take(&mut self, asked: &Asked<'_>) -> Result<(), TakeError> {
        let first = self.places.len();
        let messages = reading::messages(self.protocol, asked.body, asked.opening, first..asked.links.len())?;
        self.give_room(asked);
        let mut messages = messages.into_iter().peekable();
        for (element, &link) in asked.links.iter().enumerate().skip(first) {
            while let Some((origin, message)) = messages.next_if(|(origin, _)| origin.element == element) {
                let is_reply = message.role == Role::Assistant;
                self.session.say(self.layers.top(), message)?;
                self.origins.push(Some(origin));
                self.take_usage(is_reply && element == first);
            }
            self.places.push(Place { link, entries: self.origins.len() });
        }
        Ok(())
    }

    /// Tells the session what the provider said of the newest call, once the reply to it came back.
    fn take_usage(&mut self, is_newest_reply: bool) {
        let usage = if is_newest_reply { self.tally().newest.take() } else { None };
        if let Some(usage) = usage {
            self.session.record_usage(usage);
        }
    }

    /// Whether the newest thing said ended a turn: a reply that calls nothing.
    pub(crate) fn has_turn_ended(&self) -> bool {
        let newest = self.session.history().last().and_then(|&id| self.session.log().item(id));
        newest.is_some_and(|item| item.role == Role::Assistant && item.calls.is_empty())
    }

    /// Goes by the rules as they are now.
    fn follow_rules(&mut self) {
        let rule = self.rules.of(&self.model.id);
        if !Arc::ptr_eq(&rule.policy, &self.session.setup().policy) {
            self.session.set_policy(rule.policy);
            self.session.set_asks(rule.asks);
        }
    }

    /// Does what the policy wants done between turns, with so much about to be said.
    pub(crate) async fn rest(&mut self, input: Tokens) -> Result<Option<Rebuilt>, EngineError> {
        self.follow_rules();
        let report = self.session.end_turn(true).await;
        let ended = self.settle(report)?;
        let report = self.session.prepare_at(Point::Input(input)).await;
        Ok(self.settle(report)?.or(ended))
    }

    /// Compacts where the policy says it is time; none where nothing was changed.
    pub(crate) async fn fit(&mut self) -> Result<Option<Rebuilt>, EngineError> {
        self.follow_rules();
        let report = self.session.prepare().await;
        self.settle(report)
    }

    /// Keeps the record of what the session did, and whatever follows from it.
    fn settle(&mut self, done: Result<Option<Report>, EngineError>) -> Result<Option<Rebuilt>, EngineError> {
        let mut remarks = remarks::of_events(&self.session.take_events());
        if let Ok(Some(report)) = &done {
            remarks.extend(remarks::of_record(report));
        }
        self.remarks.add(remarks);
        // Whatever came of it: a session that prunes and then fails to compact has appended, and so has one that
        // notes its failure.
        let is_rebuilt = self.note_appended();
        let Some(report) = done? else { return Ok(None) };
        let rebuilt = Rebuilt { before: report.tokens_before, after: report.tokens_after };
        self.keep_record(report);
        Ok(is_rebuilt.then_some(rebuilt))
    }

    /// Brings the books up to date with the entries the session itself appended; whether one of them rebuilt the
    /// context.
    fn note_appended(&mut self) -> bool {
        let (log, known) = (self.session.log(), self.origins.len());
        let entries = log.len();
        let mut appended = (known..entries).filter_map(|at| log.get(EntryId(at as u32)));
        let is_rebuilt = appended.any(is_rebuilding);
        let spared = log.leaf().zip(self.newest_caller()).filter(|_| is_rebuilt);
        self.spared.extend(spared.map(|(since, element)| Spared { since, element }));
        self.origins.resize(entries, None);
        if let Some(place) = self.places.last_mut() {
            place.entries = entries;
        }
        is_rebuilt
    }

    /// What an operator should be told, and was not yet.
    pub(crate) fn take_remarks(&mut self) -> Vec<String> {
        self.remarks.take()
    }

    /// Keeps a record. Of tries in a row that changed nothing, the newest is enough.
    fn keep_record(&mut self, report: Report) {
        if !has_changed(&report) {
            self.records.pop_if(|last| !has_changed(last));
        }
        if self.records.len() == RECORDS_MAX {
            self.records.remove(0);
        }
        self.records.push(report);
    }

    /// The reply whose results are the newest thing said, where that is so.
    fn newest_caller(&self) -> Option<usize> {
        let (log, history) = (self.session.log(), self.session.history());
        let newest_first = history.iter().rev().filter_map(|&id| Some((id, log.item(id)?)));
        let mut before = newest_first.skip_while(|(_, item)| item.role == Role::Tool);
        let (id, _) =
            before.next().filter(|(_, item)| item.role == Role::Assistant && !item.calls.is_empty())?;
        self.origins.get(id.index()).copied().flatten().map(|origin| origin.element)
    }

    /// What was counted of it.
    pub(crate) fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The same, to be kept while a reply streams.
    pub(crate) fn shared_tally(&self) -> Arc<Mutex<Tally>> {
        self.tally.clone()
    }

    /// The newest compactions, oldest first.
    pub(crate) fn records(&self) -> &[Report] {
        &self.records
    }

    /// The model's name, as the request gave it.
    pub(crate) fn model(&self) -> &str {
        &self.model.id
    }

    /// The protocol it is held in.
    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The room there is, and what the history takes of it.
    pub(crate) fn room(&self) -> (Budget, Tokens) {
        (self.session.setup().budget, self.session.context().tokens())
    }
}

/// Whether an entry changes what the model sees of those before it.
fn is_rebuilding(entry: &Entry) -> bool {
    match entry {
        Entry::Compaction(_) | Entry::Edit(_) | Entry::Undo { .. } => true,
        Entry::Message(_) | Entry::Note { .. } => false,
    }
}

fn has_changed(report: &Report) -> bool {
    match report.outcome {
        Happened::Compacted | Happened::Pruned | Happened::Recorded => true,
        Happened::Noop | Happened::Vetoed | Happened::Abandoned => false,
    }
}

/// A request that could not be taken up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeError {
    /// Its messages are none we know.
    #[error(transparent)]
    Unreadable(#[from] reading::Unreadable),
    /// The session failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
