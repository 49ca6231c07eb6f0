//! The list of files: each by what was done to it, in the spelling the log has for it, with what was said of it.

use super::code::is_prose;
use super::concept::Concepts;
use super::file_note::FileNote;
use super::link::{AROUND, is_linking, is_ordinary, word_count};
use super::page::{Section, Spot, SummaryPage};
use super::piece_filter::PieceFilter;
use super::reading::{Quote, Reading};
use super::statement::Finding;
use crate::facts::{Class, Mention};
use crate::ledger::{FileRecord, Operation};
use crate::{EntryId, Tokens};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Stands between a file and what is said of it.
pub(super) const REMARK: &str = " — ";

/// What the list may take.
pub(super) struct FileQuotas {
    pub changed: Tokens,
    pub read: Tokens,
}

/// Of what changed files may take, the most that is for what was said of them. Their names come first, all of them.
const REMARKED_SHARE: (u64, u64) = (1, 2);

/// Changed files newest first, then those only read; each with what was said of it where that fits.
pub(super) fn write(page: &mut SummaryPage<'_>, reading: &Reading, quotas: FileQuotas) {
    let FileQuotas { mut changed, mut read } = quotas;
    let mut entries = entries(reading);
    let names = names_tokens(page, &entries, changed);
    let mut remarked = changed.less(names).min(changed.share(REMARKED_SHARE.0, REMARKED_SHARE.1));
    let changed_entries = |entry: &&mut FileEntry<'_>| entry.is_changed();
    for _ in 0..REMARKS_OF_FILE_MAX {
        // One remark for each file before another for any.
        entries.iter_mut().filter(changed_entries).for_each(|entry| entry.remark(page, &mut remarked));
    }
    let mut read_remarked = read.share(REMARKED_SHARE.0, REMARKED_SHARE.1);
    entries.iter_mut().filter(|entry| !entry.is_changed()).for_each(|entry| {
        entry.remark(page, &mut read_remarked);
    });
    for (order, entry) in entries.into_iter().enumerate() {
        let quota = if entry.is_changed() { &mut changed } else { &mut read };
        let group = match entry.file.standing() {
            Operation::Modified => 0,
            Operation::Created => 1,
            Operation::Deleted => 2,
            Operation::Read => 3,
        };
        let spot =
            Spot { section: Section::Files, order: (group << 32) | order as u64, sources: entry.sources };
        if !page.add(&spot, &entry.text, quota) && entry.text != entry.name {
            page.add(&spot, &entry.name, quota);
        }
    }
}

/// What the names of changed files take, or no less than `most`: names that take all leave nothing for remarks, however
/// many more there are.
fn names_tokens(page: &SummaryPage<'_>, entries: &[FileEntry<'_>], most: Tokens) -> Tokens {
    let mut names = Tokens::ZERO;
    for entry in entries.iter().filter(|entry| entry.is_changed()) {
        names += page.tokens(Section::Files, &entry.text);
        if names >= most {
            break;
        }
    }
    names
}

/// Of one file so many things are said.
const REMARKS_OF_FILE_MAX: usize = 3;

/// An entry of the list in the making.
struct FileEntry<'r> {
    file: &'r FileRecord,
    /// What was done, and to which file.
    name: String,
    /// The same with what is said of it so far.
    text: String,
    sources: Vec<EntryId>,
    /// What may be said of it, what comes first last.
    remarks: Vec<FileRemark>,
}

impl FileEntry<'_> {
    fn is_changed(&self) -> bool {
        self.file.changed.is_some()
    }

    /// Says one more thing of the file, where `room` has space for it.
    fn remark(&mut self, page: &SummaryPage<'_>, room: &mut Tokens) {
        // A remark takes at least what stands before it: there are thousands of files, and room for a few.
        if *room == Tokens::ZERO {
            return;
        }
        let Some(FileRemark { text, sources }) = self.remarks.pop() else { return };
        let joint = if self.text == self.name { REMARK } else { "; " };
        let longer = format!("{}{joint}{text}", self.text);
        let more = page.tokens(Section::Files, &longer).less(page.tokens(Section::Files, &self.text));
        if more <= *room {
            *room = room.less(more);
            self.text = longer;
            self.sources.extend(sources);
        }
    }
}

/// The files in the order they are told, each with what may be said of it.
fn entries(reading: &Reading) -> Vec<FileEntry<'_>> {
    let mut files: Vec<_> = reading.covered().files.iter().collect();
    // What was only tried out can wait.
    files.sort_by_cached_key(|file| (file.is_scratch(), Reverse((file.changed, file.entry))));
    let mut remarks = FileRemarks::of(reading, &files);
    let one = |file| {
        let name = entry(reading, file);
        let mut remarks = remarks.take(file);
        remarks.reverse();
        FileEntry { file, text: name.clone(), name, sources: vec![touched(file)], remarks }
    };
    files.into_iter().map(one).collect()
}

/// The entry that did what the list tells of a file.
fn touched(file: &FileRecord) -> EntryId {
    file.changed.unwrap_or(file.entry)
}

/// What was done, and to which file.
fn entry(reading: &Reading, file: &FileRecord) -> String {
    format!("{} {}", file.standing().name(), spelling(reading, &file.path))
}

/// The path as the log spells it most: the ledger has one spelling for all of a drive's.
fn spelling(reading: &Reading, path: &str) -> String {
    let Some((drive, rest)) = on_drive(path) else { return path.to_owned() };
    let (upper, lower) = (drive.to_ascii_uppercase(), drive.to_ascii_lowercase());
    let all = [
        format!("{upper}:{}", rest.replace('/', "\\")),
        format!("{lower}:{}", rest.replace('/', "\\")),
        format!("{upper}:{rest}"),
        format!("/{lower}{rest}"),
    ];
    let uses = |spelling: &String| {
        let mention = Mention { class: Class::Path, key: spelling, value: spelling };
        reading.table.find(mention).map_or(0, |fact| reading.table.facts[fact as usize].mentions)
    };
    let most = all.into_iter().rev().max_by_key(uses).filter(|spelling| uses(spelling) > 0);
    most.unwrap_or_else(|| path.to_owned())
}

/// The drive of a path and what stands behind it: of `D:/x` and of `/d/x`.
fn on_drive(path: &str) -> Option<(char, &str)> {
    let mut chars = path.chars();
    match (chars.next()?, chars.next()?, chars.next()?) {
        (drive, ':', '/') if drive.is_ascii_alphabetic() => Some((drive, &path[2..])),
        ('/', drive, '/') if drive.is_ascii_alphabetic() => Some((drive, &path[2..])),
        _ => None,
    }
}

/// What was said of files, each sentence for one of them: by the model, or on a line of the log beside the path.
struct FileRemarks<'r> {
    statements: Vec<&'r Finding>,
    /// What is said in them: most files are named in none.
    pieces: PieceFilter,
    taken: HashSet<usize>,
    /// By path, what the log's best line says beside it.
    beside: HashMap<&'r str, FileRemark>,
    /// By path, what the model said by changing it, what says most first.
    notes: HashMap<&'r str, Vec<&'r FileNote>>,
}

/// What was said of a file, and the entries it stands in.
struct FileRemark {
    text: String,
    sources: Vec<EntryId>,
}

/// A longer statement is of more than one file.
const REMARK_CHARS_MAX: usize = 220;
/// So many of the newest statements are looked through.
const REMARKS_MAX: usize = 400;
/// What stands beside a path is told up to this many characters.
const BESIDE_CHARS_MAX: usize = 110;

impl<'r> FileRemarks<'r> {
    fn of(reading: &'r Reading, files: &[&'r FileRecord]) -> Self {
        let is_short = |statement: &&Finding| {
            statement.quote.text.chars().count() <= REMARK_CHARS_MAX && is_prose(&statement.quote.text)
        };
        let statements: Vec<&Finding> =
            reading.statements.iter().rev().filter(is_short).take(REMARKS_MAX).collect();
        let pieces = PieceFilter::of(statements.iter().map(|statement| statement.quote.text.as_str()));
        let (beside, notes) = (beside(reading, files), notes(reading));
        Self { statements, pieces, taken: HashSet::new(), beside, notes }
    }

    /// What the log says beside a file's path, then what the model said by changing it; where there is neither, or only a
    /// tool's bare report, the statement that says most of the file, by its name.
    fn take(&mut self, file: &FileRecord) -> Vec<FileRemark> {
        let beside = self.beside.remove(&*file.path);
        let is_telling = beside.as_ref().is_some_and(|beside| word_count(&beside.text) > REPORT_TOLD_MAX);
        let mut all: Vec<FileRemark> = beside.into_iter().collect();
        // Of what is gone nobody needs to know what it was for.
        let is_gone = file.standing() == Operation::Deleted;
        let notes = self.notes.remove(&*file.path).filter(|_| !is_gone).unwrap_or_default();
        if notes.is_empty() && !is_telling && !is_gone && file.changed.is_some() {
            all.extend(self.take_statement(&file.path).map(FileRemark::of));
        }
        all.extend(notes.into_iter().map(|note| FileRemark::of(&note.quote)));
        all
    }

    fn take_statement(&mut self, path: &str) -> Option<&'r Quote> {
        let name = path.rsplit(['/', '\\']).next().filter(|name| self.pieces.may_hold(name))?;
        let free = self.statements.iter().enumerate().filter(|(at, _)| !self.taken.contains(at));
        let about = free.filter(|(_, statement)| statement.quote.text.contains(name));
        let (at, statement) = about.max_by(|(_, a), (_, b)| a.meaning.total_cmp(&b.meaning))?;
        self.taken.insert(at);
        Some(&statement.quote)
    }
}

impl FileRemark {
    fn of(quote: &Quote) -> Self {
        Self { text: quote.text.clone(), sources: vec![quote.id] }
    }
}

/// For each file what the model said by changing it: what says most, and of equals the newest.
fn notes(reading: &Reading) -> HashMap<&str, Vec<&FileNote>> {
    let mut known: HashMap<&str, Option<&str>> = HashMap::new();
    let mut by_file: HashMap<&str, Vec<&FileNote>> = HashMap::new();
    let mut said = HashSet::new();
    for note in reading.file_notes.all.iter().rev() {
        let file =
            known.entry(&note.path).or_insert_with(|| Some(&*reading.covered().file(&note.path)?.path));
        if let Some(file) = file.filter(|_| said.insert(note.quote.text.as_str())) {
            by_file.entry(file).or_default().push(note);
        }
    }
    let worth = |note: &FileNote| reading.concepts.density(&note.quote.text) * (1.0 + note.meaning);
    for notes in by_file.values_mut() {
        let mut by_worth: Vec<_> = notes.iter().map(|note| (worth(note), *note)).collect();
        by_worth.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        *notes = by_worth.into_iter().map(|(_, note)| note).collect();
        differing(notes, &reading.concepts);
    }
    by_file
}

/// Leaves as many notes as are told, none of which says mostly what others before it say: a line that was written again
/// in other words is one note.
fn differing(notes: &mut Vec<&FileNote>, concepts: &Concepts) {
    let mut told: HashSet<u32> = HashSet::new();
    let mut left = REMARKS_OF_FILE_MAX;
    notes.retain(|note| {
        if left == 0 {
            return false;
        }
        let mut pairs = HashSet::new();
        concepts.each(&note.quote.text, |pair| {
            pairs.insert(pair);
        });
        let is_new = pairs.intersection(&told).count() * 2 <= pairs.len();
        if is_new {
            left -= 1;
            told.extend(pairs);
        }
        is_new
    });
}

/// For each file the line of the log that says most beside its path, without the path.
fn beside<'r>(reading: &'r Reading, files: &[&'r FileRecord]) -> HashMap<&'r str, FileRemark> {
    let mut spelled_files: Vec<(&str, String)> = Vec::new();
    // By fact, since every fact of every line is asked.
    let mut by_fact: Vec<Option<u32>> = vec![None; reading.table.facts.len()];
    for file in files {
        let spelled = spelling(reading, &file.path);
        let mention = Mention { class: Class::Path, key: &spelled, value: &spelled };
        if let Some(fact) = reading.table.find(mention) {
            by_fact[fact as usize] = Some(spelled_files.len() as u32);
            spelled_files.push((&file.path, spelled));
        }
    }
    let mut told: Vec<(&str, FileRemark)> = Vec::new();
    for line in reading.lines.iter().rev() {
        let facts = &reading.line_facts[line.first as usize..(line.first + line.count) as usize];
        for file in facts.iter().filter_map(|fact| by_fact[*fact as usize]) {
            let (path, spelled) = &spelled_files[file as usize];
            let doc = &reading.docs[line.doc as usize];
            let rest = without(&doc.text[line.start as usize..line.end as usize], spelled);
            if rest.chars().count() <= BESIDE_CHARS_MAX && is_linking(&rest) {
                told.push((path, FileRemark { text: rest, sources: doc.id.into_iter().collect() }));
            }
        }
    }
    let formulas = formulas(&told);
    let mut best: HashMap<&str, (usize, FileRemark)> = HashMap::new();
    for (path, FileRemark { text, sources }) in &told {
        let text = if formulas.contains(&**text) { gist(text) } else { text.clone() };
        let words = word_count(&text);
        if best.get(path).is_none_or(|(known, _)| *known < words) {
            best.insert(path, (words, FileRemark { text, sources: sources.clone() }));
        }
    }
    best.into_iter().map(|(path, (_, remark))| (path, remark)).collect()
}

/// What is said in the same words of several files is a tool's formula and says nothing of one of them.
fn formulas<'t>(told: &'t [(&str, FileRemark)]) -> HashSet<&'t str> {
    let mut first: HashMap<&str, &str> = HashMap::new();
    let is_again =
        |(path, remark): &&'t (&str, FileRemark)| first.entry(&remark.text).or_insert(path) != path;
    told.iter().filter(is_again).map(|(_, remark)| &*remark.text).collect()
}

/// The first sentence of a formula, by its ordinary words: how the call went.
fn gist(formula: &str) -> String {
    let first = formula.split(['.', ':']).next().unwrap_or_default();
    ordinary(first)
}

fn ordinary(text: &str) -> String {
    let words = text.split_whitespace().map(|word| word.trim_matches(AROUND));
    words.filter(|word| is_ordinary(word)).take(REPORT_TOLD_MAX).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// A line without a path in it and what held it; of a tool's bare report the words alone.
fn without(line: &str, path: &str) -> String {
    let rest = line.replace(&format!("`{path}`"), "").replace(path, "");
    let words: Vec<&str> = rest.split_whitespace().collect();
    if words.len() <= REPORT_WORDS_MAX && rest.is_ascii() {
        return ordinary(&rest);
    }
    words.join(" ").trim_matches(AROUND).trim().to_owned()
}

/// A line with no more words beside the path says only how a call went.
const REPORT_WORDS_MAX: usize = 6;
/// It tells no more ordinary words than this.
const REPORT_TOLD_MAX: usize = 3;
