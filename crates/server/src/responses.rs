//! A table of the responses of OpenAI that went by, by their ids. A client may go on from a response by its name, or name
//! an item of it, and send neither again; what it left unsaid is put in front of its list, or in an item's place, from here.
//! Where there is a store the table outlives the server. It is bounded, and what it does not hold passes through untouched.

use crate::body::{Body, BodyError, PREVIOUS};
use crate::element;
use crate::server_state::ServerState;
use bytes::Bytes;
use epitome_engine::store::TenantId;
use epitome_wire::protocol::ModelReply;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// The responses that went by.
#[derive(Default)]
pub(crate) struct SeenResponses {
    table: Mutex<SeenTable>,
}

#[derive(Default)]
struct SeenTable {
    responses: HashMap<String, Arc<SeenResponse>>,
    /// The response that an item is of, and its place there.
    items: HashMap<String, (String, usize)>,
    oldest_first: VecDeque<String>,
    bytes: usize,
    newest: u64,
}

/// One response. Names are keyed hashes of whose it is and what its provider calls it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SeenResponse {
    /// Larger for each later one.
    number: u64,
    /// The name of the one it goes on from.
    previous: Option<String>,
    /// What was asked behind that; none where the client sends its whole history, and need not be helped to it.
    asked: Option<Vec<String>>,
    /// What was said.
    said: Vec<String>,
    /// The names of the items of what was said.
    items: Vec<Option<String>>,
}

/// A request whose response is to be remembered.
pub(crate) struct AskedResponse {
    tenant: TenantId,
    previous: Option<String>,
    asked: Option<Vec<String>>,
}

/// What all of them may take together: weeks of one person's work.
const BYTES_MAX: usize = 64 << 20;
/// A table beyond this is searched for longer than it is worth.
const RESPONSES_MAX: usize = 16_384;
/// A client waits no longer for the store to have its response: one that is lost can not be gone on from by name.
const KEEP_TIME_MAX: Duration = Duration::from_secs(2);
/// What the names of those in the store begin with.
const PREFIX: &str = "response ";

/// What is to be remembered of a request; nothing where its provider remembers nothing of it either.
pub(crate) fn asked(state: &ServerState, tenant: TenantId, body: &Body) -> Option<AskedResponse> {
    if body.field("store") == Some("false") {
        return None;
    }
    let previous = body.text_field(PREVIOUS).map(|id| state.key.name(tenant, &id));
    let own = body.own_elements();
    let is_whole_history = previous.is_none() && own.iter().any(|item| element::is_models(text(item)));
    let asked = (!is_whole_history).then(|| own.iter().map(|item| text(item).to_owned()).collect());
    Some(AskedResponse { tenant, previous, asked })
}

/// Remembers a response; what is to be done so that the store does too, where there is one.
pub(crate) fn remember(
    state: &Arc<ServerState>,
    asked: &AskedResponse,
    reply: &ModelReply,
) -> Option<impl Future<Output = ()> + Send + use<>> {
    let id = reply.id.as_deref().filter(|_| reply.is_whole)?;
    let name_of = |item: &Arc<str>| element::id(item).map(|id| state.key.name(asked.tenant, &id));
    let name = state.key.name(asked.tenant, id);
    let response = SeenResponse {
        number: 0,
        previous: asked.previous.clone(),
        asked: asked.asked.clone(),
        said: reply.items.iter().map(|item| item.to_string()).collect(),
        items: reply.items.iter().map(name_of).collect(),
    };
    let (response, gone) = state.responses.put(&name, response);
    let store = state.settings.store.as_ref()?.store.clone();
    let kept = async move {
        let value = serde_json::to_vec(&*response).ok();
        drop(store.keep_memo(format!("{PREFIX}{name}"), value).await);
        for name in gone {
            drop(store.keep_memo(format!("{PREFIX}{name}"), None).await);
        }
    };
    // What is not kept by then passes through untouched after a restart, and its provider knows it.
    Some(async move { drop(timeout(KEEP_TIME_MAX, kept).await) })
}

/// Takes up what was kept, oldest first; what cannot be read passes through untouched.
pub(crate) async fn load(state: &ServerState) {
    let kept = state.engine.store().memos(PREFIX).await.unwrap_or_default();
    let read = |memo: epitome_engine::store::Memo| {
        let name = memo.name.strip_prefix(PREFIX)?.to_owned();
        Some((name, serde_json::from_slice::<SeenResponse>(&memo.value).ok()?))
    };
    let mut all: Vec<(String, SeenResponse)> = kept.into_iter().filter_map(read).collect();
    all.sort_by_key(|(_, response)| response.number);
    for (name, response) in all {
        let (_, gone) = state.responses.put(&name, response);
        for name in gone {
            drop(state.engine.store().keep_memo(format!("{PREFIX}{name}"), None).await);
        }
    }
}

/// The body with what its client left unsaid, since its provider has it.
pub(crate) async fn complete(state: &ServerState, tenant: TenantId, body: Body) -> Result<Body, BodyError> {
    if body.field("conversation").is_some() {
        return Err(BodyError::Conversation);
    }
    if body.field("background") == Some("true") {
        return Err(BodyError::Background);
    }
    let mut body = match body.text_field(PREVIOUS) {
        Some(id) => {
            let before = chain(state, state.key.name(tenant, &id)).await.ok_or(BodyError::UnknownPrevious)?;
            body.behind(before)
        }
        None => body,
    };
    let references: Vec<usize> = (0..body.len()).filter(|at| body.is_reference(*at)).collect();
    for at in references {
        let named = element::reference(body.element(at)).map(|id| state.key.name(tenant, &id));
        if let Some(item) = named.and_then(|name| state.responses.item(&name)) {
            body.set_meaning(at, item);
        }
    }
    Ok(body)
}

/// All that was asked and said up to a response; none where a part of it did not go by.
async fn chain(state: &ServerState, name: String) -> Option<Vec<Bytes>> {
    let mut links = Vec::new();
    let mut next = Some(name);
    while let Some(name) = next {
        let response = find(state, &name).await.filter(|_| links.len() < RESPONSES_MAX)?;
        next = response.previous.clone();
        links.push(response);
    }
    let mut before = Vec::new();
    for response in links.iter().rev() {
        let elements = response.asked.as_ref()?.iter().chain(&response.said);
        before.extend(elements.map(|element| Bytes::from(element.clone())));
    }
    Some(before)
}

/// A response of the table, or one that another replica has put into the store.
async fn find(state: &ServerState, name: &str) -> Option<Arc<SeenResponse>> {
    let known = state.responses.table().responses.get(name).cloned();
    if known.is_some() || state.settings.store.is_none() {
        return known;
    }
    let full = format!("{PREFIX}{name}");
    let kept = state.engine.store().memos(&full).await.ok()?;
    let memo = kept.into_iter().find(|memo| memo.name == full)?;
    let response = serde_json::from_slice(&memo.value).ok()?;
    Some(state.responses.put(name, response).0)
}

impl SeenResponses {
    fn table(&self) -> MutexGuard<'_, SeenTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a response in; it, and the names of those that went for it.
    fn put(&self, name: &str, response: SeenResponse) -> (Arc<SeenResponse>, Vec<String>) {
        self.table().put(name, response, BYTES_MAX)
    }

    /// What an item was when it was said.
    fn item(&self, name: &str) -> Option<Bytes> {
        let table = self.table();
        let (response, at) = table.items.get(name)?;
        Some(Bytes::from(table.responses.get(response)?.said.get(*at)?.clone()))
    }
}

impl SeenTable {
    fn put(
        &mut self,
        name: &str,
        mut response: SeenResponse,
        bytes_max: usize,
    ) -> (Arc<SeenResponse>, Vec<String>) {
        if let Some(known) = self.responses.get(name) {
            return (known.clone(), Vec::new());
        }
        if response.number == 0 {
            response.number = self.newest + 1;
        }
        self.newest = self.newest.max(response.number);
        self.bytes += response.bytes();
        for (at, item) in response.items.iter().enumerate() {
            self.items.extend(item.iter().map(|item| (item.clone(), (name.to_owned(), at))));
        }
        let response = Arc::new(response);
        self.responses.insert(name.to_owned(), response.clone());
        self.oldest_first.push_back(name.to_owned());
        let mut gone = Vec::new();
        while self.bytes > bytes_max || self.responses.len() > RESPONSES_MAX {
            let Some(oldest) = self.oldest_first.pop_front() else { break };
            self.remove(&oldest);
            gone.push(oldest);
        }
        (response, gone)
    }

    fn remove(&mut self, name: &str) {
        let Some(response) = self.responses.remove(name) else { return };
        self.bytes -= response.bytes();
        response.items.iter().flatten().for_each(|item| drop(self.items.remove(item)));
    }
}

impl SeenResponse {
    fn bytes(&self) -> usize {
        let texts = self.asked.iter().flatten().chain(&self.said);
        texts.map(String::len).sum()
    }
}

fn text(element: &Bytes) -> &str {
    std::str::from_utf8(element).expect("it was cut from UTF-8")
}

#[cfg(test)]
mod tests {
    use super::{SeenResponse, SeenTable};

    fn response(said: &str, item: &str) -> SeenResponse {
        SeenResponse {
            number: 0,
            previous: None,
            asked: Some(vec!["ask".to_owned()]),
            said: vec![said.to_owned()],
            items: vec![Some(item.to_owned())],
        }
    }

    #[test]
    fn the_oldest_go_with_their_items_where_there_is_no_room() {
        let mut table = SeenTable::default();
        let mut put = |name: &str, item: &str| table.put(name, response("0123456", item), 25).1;
        assert_eq!([put("a", "i"), put("b", "j"), put("b", "j")], [[""; 0]; 3]);
        assert_eq!(put("c", "k"), ["a"]);
        let mut items: Vec<&str> = table.items.keys().map(String::as_str).collect();
        items.sort_unstable();
        assert_eq!((items, table.bytes, table.newest), (vec!["j", "k"], 20, 3));
    }
}
