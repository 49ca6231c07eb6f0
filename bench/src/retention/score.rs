//! What a context keeps of what will be used.

use super::contexts::{Compacted, word};
use super::future::Use;
use super::session::{Fact, Session};
use super::walk::Point;
use super::words::beside;
use epitome_core::facts::{Class, rules, scan_line};
use epitome_core::ledger::{Ledger, Operation};
use epitome_core::{Author, EntryId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Key and value are one statement when they stand this near.
const NEAR_BYTES: usize = 200;
/// As many ordinary words must still stand beside a fact.
const LINKS_MIN: usize = 2;
/// The near future: this many replies.
pub const NEAR_TURNS: usize = 20;

/// Sums over one compaction, or over many.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Counted facts.
    pub used: f64,
    /// Of these, kept.
    pub kept: f64,
    /// Of these, kept beside their words.
    pub linked: f64,
    /// Of these, kept or behind a pointer.
    pub reachable: f64,
    /// Counted facts used within the near future, and those kept.
    pub near: (f64, f64),
    /// By class: counted and kept.
    pub classes: BTreeMap<Class, (f64, f64)>,
    /// Rules of the past: all, and kept.
    pub rules: (f64, f64),
    /// Open todos: all, and kept.
    pub todos: (f64, f64),
    /// The file list: named rightly, named, and true entries.
    pub files: (f64, f64, f64),
}

impl Score {
    /// Adds another's sums.
    pub fn add(&mut self, other: &Self) {
        self.used += other.used;
        self.kept += other.kept;
        self.linked += other.linked;
        self.reachable += other.reachable;
        self.near = (self.near.0 + other.near.0, self.near.1 + other.near.1);
        for (class, (used, kept)) in &other.classes {
            let sum = self.classes.entry(*class).or_default();
            *sum = (sum.0 + used, sum.1 + kept);
        }
        self.rules = (self.rules.0 + other.rules.0, self.rules.1 + other.rules.1);
        self.todos = (self.todos.0 + other.todos.0, self.todos.1 + other.todos.1);
        self.files =
            (self.files.0 + other.files.0, self.files.1 + other.files.1, self.files.2 + other.files.2);
    }

    /// F1 of the file list with what each file amounts to.
    pub fn files_f1(&self) -> Option<f64> {
        let (right, named, truth) = self.files;
        (truth > 0.0).then(|| 2.0 * right / (named + truth))
    }

    /// Recall with each class weighing the same.
    pub fn balanced(&self) -> Option<f64> {
        let shares: Vec<f64> = self.classes.values().map(|(used, kept)| kept / used).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

/// The score of one context.
pub fn score(session: &Session, point: Point, uses: &[Use], context: &Compacted) -> Score {
    let mut score = Score::default();
    let shown = Index::of(&context.text);
    let pointers: HashSet<EntryId> = context.pointers.iter().copied().collect();
    for used in uses {
        let fact = &session.facts[used.fact as usize];
        let is_kept = shown.holds(fact);
        let is_linked = is_kept && shown.links(fact, &used.words);
        let is_reachable =
            is_kept || used.sources.iter().any(|&at| pointers.contains(&session.messages[at].id));
        score.used += 1.0;
        score.kept += f64::from(is_kept);
        score.linked += f64::from(is_linked);
        score.reachable += f64::from(is_reachable);
        if used.turns <= NEAR_TURNS {
            score.near = (score.near.0 + 1.0, score.near.1 + f64::from(is_kept));
        }
        let class = score.classes.entry(fact.class).or_default();
        *class = (class.0 + 1.0, class.1 + f64::from(is_kept));
    }
    let flat = flatten(&context.text);
    score.rules = rules_kept(session, point, &flat);
    score.todos = todos_kept(session, point, &flat);
    score.files = files_named(session, point, context);
    score
}

/// A context's text, with its facts by form found once.
struct Index<'t> {
    text: &'t str,
    tokens: HashSet<&'t str>,
}

impl<'t> Index<'t> {
    fn of(text: &'t str) -> Self {
        let mut tokens = HashSet::new();
        for line in text.lines() {
            scan_line(line.trim(), &mut |mention: epitome_core::facts::Mention<'t>| {
                tokens.insert(mention.value);
            });
        }
        Self { text, tokens }
    }

    fn holds(&self, fact: &Fact) -> bool {
        if fact.class.latest_wins() {
            return self.places(&fact.value).any(|at| self.is_near(at, fact));
        }
        self.tokens.contains(fact.value.as_str()) || self.text.contains(fact.value.as_str())
    }

    fn is_near(&self, at: usize, fact: &Fact) -> bool {
        let from = self.text.floor_char_boundary(at.saturating_sub(NEAR_BYTES));
        let to = self.text.ceil_char_boundary((at + fact.value.len() + NEAR_BYTES).min(self.text.len()));
        self.text[from..to].to_lowercase().contains(&fact.key)
    }

    fn places(&self, value: &str) -> impl Iterator<Item = usize> {
        self.text.match_indices(value).map(|(at, _)| at)
    }

    fn links(&self, fact: &Fact, words: &HashSet<String>) -> bool {
        self.places(&fact.value).any(|at| {
            let around = beside(self.text, at, at + fact.value.len());
            around.intersection(words).count() >= LINKS_MIN
        })
    }
}

fn flatten(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rules_kept(session: &Session, point: Point, flat: &str) -> (f64, f64) {
    let mut all = HashSet::new();
    for said in session.messages[..point.recent].iter().filter(|said| said.message.author == Author::Person) {
        all.extend(rules(&said.message.said()).iter().map(|rule| flatten(rule.text)));
    }
    let kept = all.iter().filter(|rule| flat.contains(rule.as_str())).count();
    (all.len() as f64, kept as f64)
}

fn todos_kept(session: &Session, point: Point, flat: &str) -> (f64, f64) {
    let ledger = Ledger::of(session.messages[..point.at].iter().map(|said| (said.id, &*said.message)));
    let open: Vec<String> = ledger.open_todos().map(|todo| flatten(&todo.text)).collect();
    let kept = open.iter().filter(|todo| flat.contains(todo.as_str())).count();
    (open.len() as f64, kept as f64)
}

/// What the context says of files, by its list and by the calls it still shows, against the log.
fn files_named(session: &Session, point: Point, context: &Compacted) -> (f64, f64, f64) {
    let of = |messages: &mut dyn Iterator<Item = usize>| {
        Ledger::of(messages.map(|at| (session.messages[at].id, &*session.messages[at].message)))
    };
    let truth = of(&mut (0..point.at));
    let mut named: HashMap<String, String> = HashMap::new();
    for line in context.text.lines() {
        if let Some((operation, path)) = listed(line) {
            named.insert(path.to_owned(), operation.to_owned());
        }
    }
    for file in of(&mut context.kept.iter().copied()).files {
        named.insert(file.path.to_string(), word(file.standing()).to_owned());
    }
    let right = truth
        .files
        .iter()
        .filter(|file| named.get(&*file.path).is_some_and(|told| told == word(file.standing())));
    (right.count() as f64, named.len() as f64, truth.files.len() as f64)
}

fn listed(line: &str) -> Option<(&str, &str)> {
    let (operation, path) = line.trim().split_once(' ')?;
    let words = [Operation::Read, Operation::Created, Operation::Modified, Operation::Deleted].map(word);
    (words.contains(&operation) && !path.contains(' ')).then_some((operation, path))
}
