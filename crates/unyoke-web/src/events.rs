//! Events as they happen: a stream for whoever watches a study. The number of an event is the position in the
//! journal, so that whoever was cut off goes on exactly where that was.

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use unyoke::Journal;

use crate::error::Result;
use crate::shelf::{Listener, Served, Tiding, record_json};

/// After which silence a sign of life is sent.
const ALIVE: Duration = Duration::from_secs(15);

/// After which a browser that was cut off tries again.
const RETRY: Duration = Duration::from_secs(1);

/// Somebody who reads the stream.
struct Reader {
    listener: Listener,
    /// So many records were sent.
    sent: u64,
    /// What is to be sent next.
    pending: VecDeque<Event>,
    /// Holds the place of a listener as long as the stream lasts.
    _place: tokio::sync::OwnedSemaphorePermit,
}

/// The stream of a study from a position on; from now on if there is none, or none so far on.
pub(crate) async fn stream(
    served: Arc<Served>,
    from: Option<u64>,
    place: tokio::sync::OwnedSemaphorePermit,
) -> Result<Sse<impl Stream<Item = std::result::Result<Event, Infallible>>>> {
    // First the ear, then the past: nothing falls in between.
    let listener = served.listen();
    let (begin, position, missed) = off_thread(move || past(&served, from)).await?;
    let hello = serde_json::json!({ "position": position }).to_string();
    let hello = Event::default().event("hello").id(begin.to_string()).retry(RETRY).data(hello);
    let pending = std::iter::once(hello).chain(missed).collect();
    let reader = Reader { listener, sent: position, pending, _place: place };
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)))
}

/// Where the stream begins, where the journal ends, and what was missed.
fn past(served: &Arc<Served>, from: Option<u64>) -> Result<(u64, u64, Vec<Event>)> {
    let glance = served.look()?;
    let position = glance.position;
    let begin = from.filter(|from| *from <= position).unwrap_or(position);
    let records = match &glance.store {
        Some(store) if begin < position => store.read(begin)?,
        _ => vec![],
    };
    let until = usize::try_from(position - begin).unwrap_or(usize::MAX);
    let events = (begin + 1..).zip(records.iter().take(until));
    let events = events.map(|(at, record)| record_event(at, &record_json(at, record)));
    Ok((begin, position, events.collect()))
}

impl Reader {
    /// The next event; `None` if there will be none.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            match self.listener.tidings.recv().await {
                Ok(Tiding::Record { position, json }) if position == self.sent + 1 => {
                    self.sent = position;
                    self.pending.push_back(record_event(position, &json));
                }
                // Sent before.
                Ok(Tiding::Record { position, .. }) if position <= self.sent => {}
                // Too much has happened: the journal has it all.
                Ok(Tiding::Record { .. }) | Err(RecvError::Lagged(_)) => self.catch_up().await,
                Ok(Tiding::Views { position, names }) => {
                    let data = serde_json::json!({ "position": position, "views": names });
                    let event = Event::default().event("views").data(data.to_string());
                    self.pending.push_back(event);
                }
                Ok(Tiding::Live) => {
                    self.pending.push_back(Event::default().event("live").data("{}"));
                }
                Ok(Tiding::Trouble(message)) => {
                    let data = serde_json::json!({ "message": &*message }).to_string();
                    self.pending.push_back(Event::default().event("trouble").data(data));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    async fn catch_up(&mut self) {
        let (served, from) = (Arc::clone(&self.listener.served), self.sent);
        match off_thread(move || past(&served, Some(from))).await {
            Ok((_, position, events)) => {
                self.sent = position;
                self.pending.extend(events);
            }
            Err(error) => {
                let data = serde_json::json!({ "message": error.to_string() }).to_string();
                self.pending.push_back(Event::default().event("trouble").data(data));
            }
        }
    }
}

fn record_event(position: u64, json: &str) -> Event {
    Event::default().event("record").id(position.to_string()).data(json)
}

/// Runs what blocks on a thread for that.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It was cancelled because the server ends, or it broke its promise never to panic.
        Err(_) => {
            let reason = "the server could not carry this out".to_owned();
            Err(unyoke_run::Error::Refused { reason }.into())
        }
    }
}
