//! A line to a database that can be cut at a given word: before what the client says reaches the server, or before what the
//! server answers reaches the client. What is said last before a cut can also be delayed until long after the client is gone.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Where a line is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never hears it.
    BeforeServer,
    /// The server has done it, and nobody hears that.
    BeforeClient,
    /// The server hears it when it is told to ([`Line::deliver`]), and nobody hears what it answers.
    Delayed,
}

/// A line, cut once each time it is asked for.
#[derive(Clone, Default)]
pub(crate) struct Line {
    next: Arc<Mutex<Option<(String, Cut)>>>,
    deliver: Arc<Notify>,
    delivered: Arc<Notify>,
}

impl Line {
    /// A line to the server of an address; the address at its end.
    pub(crate) async fn to(address: &str) -> (Self, String) {
        let line = Self::default();
        let (head, rest) = address.split_once('@').expect("a user");
        let (server, database) = rest.split_once('/').expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it has an address").port();
        let (server, accepting) = (server.to_owned(), line.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                tokio::spawn(accepting.clone().carry(client, server));
            }
        });
        (line, format!("{head}@127.0.0.1:{port}/{database}"))
    }

    /// Cuts it at the next message of the client that holds a word; at the next of all where the word is empty.
    pub(crate) fn cut(&self, word: &str, at: Cut) {
        *self.next.lock().expect("nobody panics") = Some((word.to_owned(), at));
    }

    /// Whether it was cut.
    pub(crate) fn was_cut(&self) -> bool {
        self.next.lock().expect("nobody panics").is_none()
    }

    /// Gives the server what was delayed; it has answered when this returns.
    pub(crate) async fn deliver(&self) {
        self.deliver.notify_one();
        self.delivered.notified().await;
    }

    fn cut_for(&self, said: &[u8]) -> Option<Cut> {
        let mut next = self.next.lock().expect("nobody panics");
        let (word, at) = next.as_ref()?;
        let is_said = word.is_empty() || said.windows(word.len()).any(|part| part == word.as_bytes());
        let at = is_said.then_some(*at);
        if is_said {
            *next = None;
        }
        at
    }

    async fn carry(self, client: TcpStream, server: TcpStream) {
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let (mut said, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        let mut is_deaf = false;
        loop {
            tokio::select! {
                read = from_client.read(&mut said) => {
                    let Ok(count @ 1..) = read else { return };
                    match self.cut_for(&said[..count]) {
                        Some(Cut::BeforeServer) => return,
                        Some(Cut::BeforeClient) => is_deaf = true,
                        Some(Cut::Delayed) => {
                            self.deliver.notified().await;
                            to_server.write_all(&said[..count]).await.expect("the server is there");
                            let count = from_server.read(&mut answered).await.expect("it answers");
                            assert!(count > 0, "the server hung up");
                            self.delivered.notify_one();
                            return;
                        }
                        None => {}
                    }
                    if to_server.write_all(&said[..count]).await.is_err() { return }
                }
                read = from_server.read(&mut answered) => {
                    let Ok(count @ 1..) = read else { return };
                    if is_deaf || to_client.write_all(&answered[..count]).await.is_err() { return }
                }
            }
        }
    }
}
