//! What a session says of its files: what a file that was read says it is for, what the model set out to change in one, and what it
//! wrote into it. Which of it is told is decided by `files`.

use super::reading::Quote;
use super::statement::meaning_of;
use crate::digest::MessageDigest;
use crate::facts::Secrets;
use crate::{CallId, EntryId};
use std::collections::HashMap;

/// Something that was said of a file.
pub(super) struct FileNote {
    /// The file, as the call spells it.
    pub path: String,
    /// What was said, and where.
    pub quote: Quote,
    /// How much it says, by its marks.
    pub meaning: f64,
}

/// What a file says of itself.
const OPENING_MEANING: f64 = 0.5;
/// What the model set out to do says more of a change than a comment in it.
const PURPOSE_MEANING: f64 = 0.6;

/// The notes of a history, taken down message by message.
#[derive(Default)]
pub(super) struct FileNotes {
    /// Oldest first.
    pub all: Vec<FileNote>,
    /// What the model said it was about to do, until it does something.
    announced: Option<Quote>,
    /// Calls that read a file, until their results come.
    reads: HashMap<CallId, Box<str>>,
}

impl FileNotes {
    /// Takes down what files that are read say they are for.
    pub(super) fn open(&mut self, id: EntryId, digest: &MessageDigest, secrets: &Secrets) {
        self.reads.extend(digest.files_read().iter().cloned());
        for (call, said) in digest.openings() {
            if let Some(path) = self.reads.remove(call) {
                let quote = Quote { id, text: secrets.screen(said).into_owned() };
                self.all.push(FileNote { path: path.into(), quote, meaning: OPENING_MEANING });
            }
        }
    }

    /// Takes down what the model said it makes its calls for: the first of them is what was announced.
    pub(super) fn announce(&mut self, id: EntryId, digest: &MessageDigest, secrets: &Secrets) {
        if let Some(aim) = digest.purpose() {
            let text = secrets.screen(aim).into_owned();
            self.announced = Some(Quote { id, text });
        }
        if digest.message().calls().next().is_some()
            && let Some(quote) = self.announced.take()
            && let Some(path) = digest.file_written()
        {
            let meaning = PURPOSE_MEANING + meaning_of(&quote.text);
            self.all.push(FileNote { path: path.to_owned(), quote, meaning });
        }
    }
}
