//! Coalescing of small chunks: events that one read of a provider's connection brought are passed on in one write. hyper hands the
//! chunks of a body over one by one, and whoever serves the client would flush behind each.

use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt};
use std::mem::take;
use std::pin::Pin;
use std::task::{Context, Poll};

/// About what one read of a connection brings; more would keep the client from reading meanwhile.
const GATHERED_BYTES_MAX: usize = 16 << 10;

/// A larger piece is worth a write of its own, and is not copied.
const SMALL_BYTES_MAX: usize = 2 << 10;

/// Pieces of a stream, those that are there already put together. A piece is held for one more look, never for one that is yet to come.
pub(super) struct GatheredPieces<S: Stream> {
    pieces: S,
    gathered: Vec<Bytes>,
    bytes: usize,
    /// What came behind what is gathered: a large piece, an error or the end.
    behind: Option<Option<S::Item>>,
}

impl<S: Stream> GatheredPieces<S> {
    pub(super) fn new(pieces: S) -> Self {
        Self { pieces, gathered: Vec::new(), bytes: 0, behind: None }
    }

    fn take_gathered(&mut self) -> Option<Bytes> {
        self.bytes = 0;
        match &mut *self.gathered {
            [] => None,
            [alone] => {
                let alone = take(alone);
                self.gathered.clear();
                Some(alone)
            }
            several => {
                let whole = several.concat().into();
                self.gathered.clear();
                Some(whole)
            }
        }
    }
}

impl<S: Stream<Item = Result<Bytes, E>> + Unpin, E: Unpin> Stream for GatheredPieces<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(behind) = self.behind.take() {
            return Poll::Ready(behind);
        }
        match self.pieces.poll_next_unpin(context) {
            Poll::Ready(Some(Ok(piece)))
                if piece.len() <= SMALL_BYTES_MAX && self.bytes + piece.len() <= GATHERED_BYTES_MAX =>
            {
                self.bytes += piece.len();
                self.gathered.push(piece);
                // The task that reads the connection runs before this one is asked again, and hands over what else it has.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(next) => match self.take_gathered() {
                None => Poll::Ready(next),
                Some(gathered) => {
                    self.behind = Some(next);
                    Poll::Ready(Some(Ok(gathered)))
                }
            },
            Poll::Pending => match self.take_gathered() {
                None => Poll::Pending,
                Some(gathered) => Poll::Ready(Some(Ok(gathered))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GATHERED_BYTES_MAX, GatheredPieces, SMALL_BYTES_MAX};
    use bytes::Bytes;
    use futures_util::stream::{self, StreamExt};
    use std::future::poll_fn;
    use std::task::Poll;

    /// What comes of pieces of these sizes, and the texts that are an error or, where empty, a pause.
    async fn sizes(pieces: &[Result<usize, &'static str>]) -> Vec<Result<usize, &'static str>> {
        let mut left = pieces.iter().copied().peekable();
        let pieces = stream::poll_fn(move |context| match left.next() {
            Some(Err("")) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            next => Poll::Ready(next.map(|piece| piece.map(|size| Bytes::from(vec![b'a'; size])))),
        });
        let gathered = GatheredPieces::new(pieces);
        gathered.map(|piece| piece.map(|bytes| bytes.len())).collect().await
    }

    const PAUSE: Result<usize, &str> = Err("");

    #[tokio::test]
    async fn small_pieces_that_are_there_go_together_and_no_byte_waits_for_what_is_not() {
        assert_eq!(sizes(&[Ok(3), Ok(4), PAUSE, Ok(5), PAUSE, PAUSE, Ok(1)]).await, [Ok(7), Ok(5), Ok(1)]);
        assert_eq!(sizes(&[Ok(3), Err("broken off"), Ok(4)]).await, [Ok(3), Err("broken off"), Ok(4)]);
        let large = SMALL_BYTES_MAX + 1;
        assert_eq!(sizes(&[Ok(large), Ok(3), Ok(large), Ok(4)]).await, [Ok(large), Ok(3), Ok(large), Ok(4)]);
        let full = GATHERED_BYTES_MAX / SMALL_BYTES_MAX;
        let many = vec![Ok(SMALL_BYTES_MAX); full + 1];
        assert_eq!(sizes(&many).await, [Ok(GATHERED_BYTES_MAX), Ok(SMALL_BYTES_MAX)]);
    }

    #[tokio::test]
    async fn an_event_alone_waits_for_one_more_look() {
        let event = Ok::<_, String>(Bytes::from_static(b"data: 1\n\n"));
        let mut gathered = GatheredPieces::new(stream::iter([event]).chain(stream::pending()));
        let mut looks = 0;
        let next = poll_fn(|context| {
            looks += 1;
            gathered.poll_next_unpin(context)
        });
        assert_eq!(next.await, Some(Ok(Bytes::from_static(b"data: 1\n\n"))));
        assert_eq!(looks, 2);
    }
}
