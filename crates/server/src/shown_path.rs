//! What the model is to see of a path, in terms of the client's own messages.

use crate::books::Book;
use crate::view::ViewSlot;
use epitome_core::{Archive as _, Author, EntryId, Form, Message, Role, Slot, without_address};
use epitome_engine::{EngineError, Session};
use std::sync::Arc;

/// What the model is to see, slot by slot; none where that is all of it, as the client sent it.
pub(crate) fn view_slots(session: &Session, book: &Book) -> Result<Option<Vec<ViewSlot>>, EngineError> {
    // A summary says how an original is had, where the model can have one. Without that nobody could follow a pointer.
    let has_summary = session.context().slots().iter().any(|slot| matches!(slot, Slot::Summary { .. }));
    let has_address = has_summary && session.options().recall.is_some();
    let show = |id: EntryId, form: Form| {
        let message = session.archive().message(id)?;
        let shown = form.apply(id, &message, &**session.assembly().measure());
        Ok(if has_address { shown } else { without_address(&shown, id) })
    };
    view_slots_by(session, book, &show)
}

/// The same without what is left of messages that are cut: these are blank.
pub(crate) fn outline_slots(session: &Session, book: &Book) -> Result<Option<Vec<ViewSlot>>, EngineError> {
    let blank = Arc::new(Message::text(Role::User, Author::Harness, ""));
    view_slots_by(session, book, &|_, _| Ok(blank.clone()))
}

/// How a message is shown in a form other than its own.
type Show<'s> = dyn Fn(EntryId, Form) -> Result<Arc<Message>, EngineError> + 's;

fn view_slots_by(
    session: &Session,
    book: &Book,
    show: &Show<'_>,
) -> Result<Option<Vec<ViewSlot>>, EngineError> {
    let slots = session.context().slots();
    let is_whole = |slot: &Slot| matches!(slot, Slot::Message { form, .. } if *form == Form::WHOLE);
    let is_all = slots.len() == session.history().len() && slots.iter().all(is_whole);
    if is_all && !book.sealed.is_any() {
        return Ok(None);
    }
    let spared = spared(session).filter(|_| !book.sealed.is_bound);
    let shown: Result<Vec<Option<ViewSlot>>, EngineError> =
        slots.iter().map(|slot| view_slot(session, book, spared, slot, show)).collect();
    Ok(Some(shown?.into_iter().flatten().collect()))
}

fn view_slot(
    session: &Session,
    book: &Book,
    spared: Option<EntryId>,
    slot: &Slot,
    show: &Show<'_>,
) -> Result<Option<ViewSlot>, EngineError> {
    let (id, form) = match slot {
        Slot::Summary { id } => return Ok(summary(session, *id).map(ViewSlot::Summary)),
        Slot::Message { id, form } => (*id, *form),
    };
    let Some(&origin) = book.origins.get(&id).filter(|_| !form.left_out) else { return Ok(None) };
    let is_reply = session.log().item(id).is_some_and(|item| item.role == Role::Assistant);
    let refused = if is_reply { book.sealed.form_of(id) } else { Form::WHOLE };
    let form = Form { thinking: form.thinking && spared != Some(id), ..form }.and(refused);
    if form == Form::WHOLE {
        return Ok(Some(ViewSlot::Message(origin, None)));
    }
    Ok(Some(ViewSlot::Message(origin, Some(show(id, form)?))))
}

fn summary(session: &Session, id: EntryId) -> Option<Arc<Message>> {
    let text = session.log().compaction(id)?.summary.clone()?;
    Some(Arc::new(Message::text(Role::User, Author::Harness, text)))
}

/// The reply whose thinking stays for as long as the compaction in use lasts: the results of its calls were the
/// newest thing said when it was made or put to use here, and providers want such a reply to begin as it began.
fn spared(session: &Session) -> Option<EntryId> {
    let (log, history) = (session.log(), session.history());
    let newest = log.parent(session.timeline().newest_rebuild()?)?;
    let before = history[..history.partition_point(|id| *id <= newest)].iter().rev();
    let mut items = before.filter_map(|&id| Some((id, log.item(id)?)));
    let (id, item) = items.find(|(_, item)| item.role != Role::Tool)?;
    (item.role == Role::Assistant && !item.calls.is_empty()).then_some(id)
}
