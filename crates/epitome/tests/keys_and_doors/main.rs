//! Every setting behind every door of the program: either it is changed and something that somebody sees changes with
//! it, or it is refused with the doors where it works. The table in `docs/reference/` is what was seen.

mod cases;
mod observed;
mod scenario;
mod stage;
mod table;
mod talk;

use cases::{CASES, Case, FREED, UNPROVEN};
use epitome_settings::Door;
use epitome_settings::schema::{self, KEYS, Key, ValueKind};
use observed::{Difference, Observed};
use scenario::Scenario;
use stage::{Run, program, variable};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use table::Cell;

/// More runs at once than there are processors: some of them wait.
const WORKERS: usize = 4;
/// Set, the table is written anew instead of compared.
const UPDATE: &str = "EPITOME_UPDATE";
/// Set to the beginning of keys' names, only their cases are run, and what was seen is printed.
const ONLY: &str = "EPITOME_KEYS";
const PAGE: &str = "docs/reference/keys-and-doors.md";

/// Does something with each of `all`, several at once; what came of each, in their order.
fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, made) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(all.len())));
    let worker = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(one) = all.get(at)
        {
            let result = work(one);
            made.lock().expect("no worker fails while it holds this").push((at, result));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().for_each(|worker| worker.join().expect("a run failed"));
    });
    let mut made = made.into_inner().expect("no worker fails while it holds this");
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, result)| result).collect()
}

/// The two runs of a case behind a door.
fn runs(case: &Case, door: Door) -> [Run; 2] {
    let with = |value: &str| {
        let mut settings: BTreeMap<String, String> =
            case.with.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        settings.insert(case.key.to_owned(), value.to_owned());
        Run { door, scenario: case.scenario, window: case.window, plan: case.plan, settings }
    };
    [with(case.from), with(case.to)].map(measured)
}

/// A run with what it frees in place of what stands for that.
fn measured(mut run: Run) -> Run {
    let Some(key) = run.settings.iter().find(|(_, value)| *value == FREED).map(|(key, _)| key.clone()) else {
        return run;
    };
    run.settings.insert(key.clone(), "0".into());
    let freed = run.observe().freed();
    run.settings.insert(key, freed.to_string());
    run
}

fn cases_of(key: &Key, door: Door) -> Vec<&'static Case> {
    CASES.iter().filter(|case| case.key == key.name && case.doors.contains(&door)).collect()
}

fn unproven(key: &Key, door: Door) -> Option<&'static str> {
    UNPROVEN.iter().find(|(name, behind, _)| *name == key.name && *behind == door).map(|(.., why)| *why)
}

/// What a value of this kind may be.
fn example(kind: ValueKind) -> String {
    match kind {
        ValueKind::Text => "a text".into(),
        ValueKind::Flag => "true".into(),
        ValueKind::Number => "1".into(),
        ValueKind::Window => "8000".into(),
        ValueKind::Threshold => "50%".into(),
        ValueKind::Choice(words) | ValueKind::Choices(words) => words[0].into(),
        ValueKind::Amount(words, _) => words[0].into(),
        ValueKind::Texts | ValueKind::Numbers => String::new(),
    }
}

/// The doors in words, as a refusal names them.
fn told(doors: &[Door]) -> String {
    let names: Vec<String> = doors.iter().map(|door| format!("`{door}`")).collect();
    match names.split_last() {
        None => "no command that compacts looks at it".into(),
        Some((last, [])) => format!("it works with {last}"),
        Some((last, rest)) => format!("it works with {} and {last}", rest.join(", ")),
    }
}

/// What goes wrong where a key is set for a door that does not look at it and is not refused as it should be.
fn fault_of_refusal(key: &Key, door: Door) -> Option<String> {
    let folder = tempfile::tempdir().expect("there is room");
    let (name, value) = (variable(key.name), case_value(key));
    let said = |by: String| format!("epitome: {by} is not used by `{door}`; {}\n", told(key.doors));
    let refused = |mut command: std::process::Command| {
        let output = command.output().expect("the program runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let args: &[&str] = match door {
        Door::Compact | Door::Replay => &["none.jsonl"],
        Door::Serve => &["--listen", "127.0.0.1:0"],
    };
    let args: Vec<&str> = std::iter::once(door.name()).chain(args.iter().copied()).collect();
    let mut by_variable = program(folder.path(), &args);
    by_variable.env(&name, &value);
    let found = refused(by_variable);
    if found != (Some(1), said(format!("environment: `{name}`"))) {
        return Some(format!("{} for {door} by the environment: {found:?}", key.name));
    }
    if door == Door::Serve {
        return None;
    }
    let set = format!("{}={value}", key.name);
    let found = refused(program(folder.path(), &[&args[..], &["--set", &set]].concat()));
    let expected = (Some(1), said(format!("command line: `--set {}`", key.name)));
    (found != expected).then(|| format!("{} for {door} by a flag: {found:?}", key.name))
}

fn case_value(key: &Key) -> String {
    let case = CASES.iter().find(|case| case.key == key.name);
    case.map_or_else(|| example(key.kind), |case| case.to.to_owned())
}

/// The keys to look at.
fn keys() -> Vec<&'static Key> {
    let only = std::env::var(ONLY).unwrap_or_default();
    let is_meant = |key: &&Key| only.is_empty() || only.split(',').any(|name| key.name.starts_with(name));
    KEYS.iter().filter(is_meant).collect()
}

/// What a case comes to behind a door, or what is wrong with it.
fn judge(case: &Case, [from, to]: &[Arc<Observed>; 2], door: Door) -> Result<Vec<Difference>, String> {
    let name = format!("{} from {} to {} behind {door}", case.key, case.from, case.to);
    let failed = [from, to].into_iter().filter_map(|seen| seen.failure.as_ref());
    let failed: Vec<&String> = failed.collect();
    if failed.len() > usize::from(case.may_fail) {
        return Err(format!("{name} fails: {}", failed[0].trim_end()));
    }
    let differences = from.differences(to);
    if differences.is_empty() {
        Err(format!("{name} changes nothing: {}", to.outline()))
    } else {
        Ok(differences)
    }
}

/// What all cases of a key come to behind a door.
fn judge_all(cases: impl Iterator<Item = Result<Vec<Difference>, String>>) -> Result<Cell, String> {
    let mut all = Vec::new();
    for differences in cases {
        differences?.into_iter().for_each(|one| {
            if !all.contains(&one) {
                all.push(one)
            }
        });
    }
    all.sort_unstable();
    Ok(Cell::Changes(all))
}

#[test]
#[ignore = "it takes minutes and starts hundreds of programs: make test-doors"]
fn every_key_changes_something_behind_each_door_it_declares_and_is_refused_elsewhere() {
    let keys = keys();
    let all: Vec<(&Key, Door)> = keys.iter().flat_map(|&key| Door::ALL.map(|door| (key, door))).collect();
    let pairs = each(&all, |&(key, door)| {
        let is_run = key.doors.contains(&door) && unproven(key, door).is_none();
        let cases = if is_run { cases_of(key, door) } else { Vec::new() };
        cases.into_iter().map(|case| (case, runs(case, door))).collect::<Vec<_>>()
    });
    let mut distinct: Vec<Run> = pairs.iter().flatten().flat_map(|(_, runs)| runs).cloned().collect();
    // Those that wait begin first.
    distinct.sort_by_key(|run| (!run.scenario.waits(), format!("{run:?}")));
    distinct.dedup();
    let seen: HashMap<Run, Arc<Observed>> =
        distinct.iter().cloned().zip(each(&distinct, |run| Arc::new(run.observe()))).collect();
    let cells = each(&all.iter().zip(&pairs).collect::<Vec<_>>(), |&(&(key, door), runs)| match &runs[..] {
        _ if !key.doors.contains(&door) => fault_of_refusal(key, door).map_or(Ok(Cell::Refused), Err),
        _ if unproven(key, door).is_some() => Ok(Cell::Unproven),
        [] => Err(format!("{} has no case behind {door}", key.name)),
        cases => judge_all(
            cases.iter().map(|(case, runs)| judge(case, &[0, 1].map(|at| seen[&runs[at]].clone()), door)),
        ),
    });
    let faults: Vec<&String> = cells.iter().filter_map(|cell| cell.as_ref().err()).collect();
    assert!(faults.is_empty(), "{} of {}:\n{faults:#?}", faults.len(), cells.len());
    let cells: Vec<Cell> = cells.into_iter().flatten().collect();
    let page = table::page(&keys, &cells);
    if keys.len() < KEYS.len() {
        return println!("{} runs\n{page}", distinct.len());
    }
    compare(&page);
}

fn compare(page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    if std::env::var_os(UPDATE).is_some() {
        return fs::write(path, page).expect("it can be written");
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(committed == page, "{PAGE} is out of date; run with {UPDATE}=1 and look at what changed");
}

#[test]
fn what_is_not_proven_yet_becomes_less() {
    assert_eq!(UNPROVEN.len(), 0);
}

#[test]
fn every_case_is_of_a_key_that_there_is() {
    let named = CASES.iter().map(|case| case.key).chain(UNPROVEN.iter().map(|(key, ..)| *key));
    let unknown: Vec<&str> = named.filter(|name| schema::find(name).is_none()).collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

/// Keys whose cases depend on what happens at the same time.
const TIMED: [&str; 3] = ["check.idle", "speculate", "summary.split"];

#[test]
#[ignore = "it takes minutes and starts hundreds of programs: make test-doors"]
fn a_run_comes_to_the_same_twice() {
    let plain = Scenario::ALL.into_iter().filter(|scenario| !scenario.waits()).flat_map(|scenario| {
        Door::ALL.map(|door| Run { door, scenario, window: None, plan: "", settings: BTreeMap::new() })
    });
    let timed = CASES.iter().filter(|case| TIMED.iter().any(|name| case.key.starts_with(name)));
    let all: Vec<Run> = plain.chain(timed.map(|case| runs(case, Door::Serve)[1].clone())).collect();
    let differ = each(&all, |run| run.observe() != run.observe());
    let faults: Vec<&Run> =
        all.iter().zip(differ).filter(|(_, differs)| *differs).map(|(run, _)| run).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}
