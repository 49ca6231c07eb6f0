//! `epitome import`: a transcript into the store, each conversation a session with its whole log, and the file's own bytes.

use super::print_json_each;
use crate::agents::{self, home};
use crate::cli::ImportArgs;
use crate::output::{self, Page};
use crate::store_place::OpenStore;
use crate::transcript_file::TranscriptFile;
use crate::{columns, draw, hint, input, progress, settings};
use anyhow::{Context as _, Result, bail};
use epitome_core::facts::spoken;
use epitome_core::{Archive as _, Author, Entry, EntryId, KeptBodies, Role};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{
    ChainHash, CommitBatch, SessionAbout, SessionId, SessionOrigin, StoreError, TenantId,
};
use epitome_wire::Conversation;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// What `--json` prints of each conversation.
#[derive(Serialize)]
struct ImportLine {
    session: SessionId,
    outcome: ImportOutcome,
    file: String,
    /// Which conversation of the file.
    conversation: usize,
    format: &'static str,
    entries: usize,
    messages: usize,
    /// The length of the file.
    bytes: u64,
    title: String,
    model: String,
    /// How many oddities of the file reading survived; `inspect` lists them.
    problems: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ImportOutcome {
    Imported,
    /// The same bytes are in the store already.
    Known,
}

/// Imports each conversation of each file.
pub fn run(args: &ImportArgs) -> Result<()> {
    if settings::of_store()?.keep == KeptBodies::None {
        bail!(
            "`store.keep` is `none`, and nobody says a file again: nothing of it would be kept; set `store.keep` to `superseded` or `all` to import files"
        );
    }
    let files = input::expand(&input::or_stdin(&args.files)?)?;
    let open = args.store.open_or_make()?;
    let mut lines = Vec::new();
    let failed = progress::over(&files, |_, path, _| {
        lines.extend(import_file(&open, path, args)?);
        Ok(())
    })?;
    if args.read.json {
        print_json_each(&lines)?;
    } else {
        page(&lines, &open).print()?;
    }
    failed.result()
}

fn import_file(open: &OpenStore, path: &Path, args: &ImportArgs) -> Result<Vec<ImportLine>> {
    let source = input::open(path)?;
    let mut bytes = Vec::new();
    output::copy(&*source, 0..source.len(), &mut bytes)?;
    let bytes: Arc<[u8]> = bytes.into();
    let file = TranscriptFile::of(path, source, &args.read)?;
    let mut lines: Vec<ImportLine> = Vec::new();
    for number in 0..file.transcript.conversations.len() {
        let hash = import_hash(open, number, &bytes);
        let known = open.wait(open.store.find(TenantId::LOCAL, &[hash]))?.filter(|_| !args.again);
        let about = about(&file, number, &bytes);
        let line = |session, outcome| {
            let log = &file.conversation(number).log;
            ImportLine {
                session,
                outcome,
                file: path.display().to_string(),
                conversation: number,
                format: file.transcript.format.name(),
                entries: log.len(),
                messages: log.iter().filter(|(_, entry)| matches!(entry, Entry::Message(_))).count(),
                bytes: bytes.len() as u64,
                title: about.title.clone(),
                model: about.model.clone(),
                problems: file.transcript.problems.len(),
            }
        };
        if let Some(known) = known {
            lines.push(line(known.session, ImportOutcome::Known));
            continue;
        }
        // The first of a file's conversations that is new keeps it for the others.
        let keeper =
            lines.iter().find(|line| line.outcome == ImportOutcome::Imported).map(|line| line.session);
        let mut batch = batch(file.conversation(number))?;
        batch.hashes.push((hash, batch.leaf.unwrap_or(EntryId(0))));
        let mut kept = about.clone();
        kept.file_in = keeper.map(|session| session.0);
        batch.about = Some(kept);
        batch.file = keeper.is_none().then(|| bytes.clone());
        lines.push(line(open.waiting.to_the_end(store(open, batch))?, ImportOutcome::Imported));
    }
    Ok(lines)
}

/// A session made of a batch; none where the store does not take it.
async fn store(open: &OpenStore, batch: CommitBatch) -> Result<SessionId> {
    let session = open.store.create(TenantId::LOCAL).await?;
    let committed = async {
        let lease = open.store.lease(session).await?.ok_or(StoreError::Leased(session))?;
        let committed = open.store.commit(lease, 0, batch).await;
        open.store.release(lease).await;
        committed
    };
    match committed.await {
        Ok(_) => Ok(session),
        Err(error) => {
            // What cannot be removed either is an empty session, and the error says why.
            drop(open.store.remove(session).await);
            Err(error.into())
        }
    }
}

/// The whole log of a conversation, with what was said.
fn batch(conversation: &Conversation) -> Result<CommitBatch> {
    let log = &conversation.log;
    let mut batch = CommitBatch {
        leaf: conversation.leaf,
        time_ms: u64::try_from(jiff::Timestamp::now().as_millisecond()).ok(),
        ..CommitBatch::default()
    };
    for (id, entry) in log.iter() {
        if let Entry::Message(_) = entry {
            let message = conversation.originals.message(id).with_context(|| format!("cannot read {id}"))?;
            batch.messages.push((id, message));
        }
        batch.entries.push(AppendedEntry { id, parent: log.parent(id), entry: entry.clone() });
    }
    batch.times = times(conversation);
    Ok(batch)
}

/// When entries were said, where the file tells. Files of other tools tell it of replies, our own form of all that was
/// added: what stands between two of them has the time of the first, and what stands before all of them that of the
/// first of all.
fn times(conversation: &Conversation) -> Vec<(EntryId, u64)> {
    let recorded = conversation.recorded_times();
    let Some(&first) = recorded.values().min() else { return Vec::new() };
    let mut times: HashMap<EntryId, u64> = HashMap::new();
    for (id, _) in conversation.log.iter() {
        let before = conversation.log.parent(id).and_then(|parent| times.get(&parent)).copied();
        times.insert(id, recorded.get(&id).copied().or(before).unwrap_or(first));
    }
    times.into_iter().collect()
}

/// Under what a conversation of a file is found again: keyed, as all hashes that lead to what is stored.
fn import_hash(open: &OpenStore, number: usize, bytes: &[u8]) -> ChainHash {
    let key = blake3::derive_key("epitome import 1 files", &open.store.chain_key());
    let mut hasher = blake3::Hasher::new_keyed(&key);
    hasher.update(&(number as u64).to_le_bytes()).update(bytes);
    ChainHash(*hasher.finalize().as_bytes())
}

/// Enough of a first prompt to know a session by.
const TITLE_CHARS: usize = 120;

fn about(file: &TranscriptFile, number: usize, bytes: &[u8]) -> SessionAbout {
    let conversation = file.conversation(number);
    let model = conversation.fixed.model.as_deref().unwrap_or(&file.model().id);
    let mut about = SessionAbout::default();
    about.origin = SessionOrigin::Import;
    about.title = title(file, conversation, bytes);
    about.model = model.to_owned();
    about.form = file.transcript.format.name().to_owned();
    about.project = hint::folder_named(&*file.source).unwrap_or_default();
    about.conversation = (file.transcript.conversations.len() > 1).then_some(number);
    about
}

/// What the table of sessions calls it, else what a person said first. A file of several conversations is no session of a
/// tool's.
fn title(file: &TranscriptFile, conversation: &Conversation, bytes: &[u8]) -> String {
    let is_one = file.transcript.conversations.len() == 1;
    if let Some(name) = agents::name_in(file.transcript.format, bytes).filter(|_| is_one) {
        return columns::cut(&name, TITLE_CHARS);
    }
    let path = conversation.log.path_of(conversation.leaf);
    let is_asked = |id: &EntryId| {
        conversation
            .log
            .item(*id)
            .is_some_and(|item| item.role == Role::User && item.author == Author::Person)
    };
    let asked =
        path.iter().filter(|id| is_asked(id)).filter_map(|&id| conversation.originals.message(id).ok());
    let said = asked.map(|message| spoken(&message.said()).into_owned()).find(|said| !said.trim().is_empty());
    columns::cut(&said.unwrap_or_default(), TITLE_CHARS)
}

fn page(lines: &[ImportLine], open: &OpenStore) -> Page {
    let mut page = Page::default();
    let width = columns::of_stdout();
    for line in lines {
        let which = if lines.iter().filter(|other| other.file == line.file).count() > 1 {
            format!("{} conversation {}", line.file, line.conversation)
        } else {
            line.file.clone()
        };
        let text = match line.outcome {
            ImportOutcome::Imported => format!(
                "{}: {which} ({}), {}, {}",
                line.session,
                line.format,
                draw::entries(line.entries),
                line.title
            ),
            ImportOutcome::Known => {
                format!(
                    "{}: {which} was imported already, and is as it was; --again imports it as another session",
                    line.session
                )
            }
        };
        writeln!(page, "{}", columns::wrap(columns::plain(&text).trim_end_matches([',', ' ']), width, 2));
    }
    let imported = lines.iter().filter(|line| line.outcome == ImportOutcome::Imported);
    if let Some(first) = imported.clone().next() {
        let place = open.store.place();
        let place = place.strip_prefix("sqlite:").map_or(place.clone(), |path| home::shown(Path::new(path)));
        writeln!(
            page,
            "{} in {place}; `epitome history {}{}` shows what is in it",
            draw::counted(imported.count(), "session"),
            first.session,
            open.flag
        );
    }
    page
}
