//! Prints how much of what sessions need later each method keeps. Usage: `retention [FILES or folders]`.

use epitome_bench::retention::chart::{CAVEATS, Cell, chain_table, class_table, main_table};
use epitome_bench::retention::contexts::{Method, TAIL_SHARE, compact};
use epitome_bench::retention::count::O200k;
use epitome_bench::retention::score::score;
use epitome_bench::retention::session::Session;
use epitome_bench::retention::words::Vocabulary;
use epitome_bench::retention::{future, labels, load, walk};
use epitome_core::Tokens;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const WINDOWS: [Tokens; 3] = [Tokens(32_000), Tokens(64_000), Tokens(128_000)];

fn main() {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let paths = if arguments.is_empty() { vec![corpus.clone()] } else { arguments };
    let (sessions, problems) = load::load(&paths);
    problems.iter().for_each(|problem| eprintln!("left out: {problem}"));
    let mut vocabulary = Vocabulary::default();
    sessions.iter().for_each(|session| session.count_words(&mut vocabulary));
    let cells = measure_all(&sessions, &vocabulary.frequent());
    for window in WINDOWS {
        println!("{}", main_table(&cells, window));
    }
    println!(
        "### Chains\n\nRecall / linked recall at the nth compaction of a session (number of sessions).\n"
    );
    println!("{}", chain_table(&cells, &WINDOWS));
    println!("### By class\n\n{}", class_table(&cells, &WINDOWS));
    print_labels(&Path::new(env!("CARGO_MANIFEST_DIR")).join("labels"), &corpus);
    println!("### Caveats\n\n{CAVEATS}");
}

fn measure_all(sessions: &[Session], frequent: &HashSet<String>) -> Vec<Cell> {
    let (next, cells) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(session) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
            let measured = measure(session, frequent);
            cells.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(measured);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut cells = cells.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    cells.sort_by(|a, b| (&a.session, a.window, a.nth).cmp(&(&b.session, b.window, b.nth)));
    cells
}

fn measure(session: &Session, frequent: &HashSet<String>) -> Vec<Cell> {
    let counter = O200k::default();
    let mut cells = Vec::new();
    for window in WINDOWS {
        for point in walk::points(session, window) {
            let uses = future::uses(session, point, frequent);
            for method in Method::ALL {
                let context = compact(session, point.at, window.share(1, 4), method, &counter, TAIL_SHARE);
                let score = score(session, point, &uses, &context);
                cells.push(Cell { session: session.name.clone(), window, nth: point.nth, method, score });
            }
        }
    }
    cells
}

fn print_labels(labels: &Path, corpus: &Path) {
    println!(
        "### File ledger against ledgers made by hand\n\n| transcript | F1 of operations | F1 of last operation |\n|---|---|---|"
    );
    for result in labels::compare(labels, corpus) {
        match result {
            Ok(found) => {
                println!("| {} | {:.3} | {:.3} |", found.transcript, found.operations, found.last);
                found.differences.iter().for_each(|line| eprintln!("{}: {line}", found.transcript));
            }
            Err(why) => println!("| {why} | – | – |"),
        }
    }
    println!();
}
