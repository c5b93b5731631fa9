//! Server-sent events off the wire: bytes in, [`StreamEvent`]s out.

use super::{Answer, Client, ClientError};
use crate::wire::{paths, stream as names, stream::StreamEvent};
use futures_util::{Stream, StreamExt as _};
use serde::de::DeserializeOwned;
use sseer::event_stream::EventStream;

/// Opens the stream after an audit number.
pub(super) async fn open(client: &Client, after: u64) -> Answer<impl Stream<Item = Answer<StreamEvent>> + Send + Unpin + use<>> {
    let response = client.open_stream(&paths::stream(), &[("after", after)]).await?;
    let client = client.clone();
    let events = EventStream::new(response.bytes_stream()).filter_map(move |event| {
        let read = match event {
            Ok(event) => read(&event.event, &event.data),
            Err(sseer::errors::EventStreamError::Transport(e)) => Some(Err(client.broken(&e))),
            Err(e) => Some(Err(ClientError::Protocol(e.to_string()))),
        };
        std::future::ready(read)
    });
    Ok(events)
}

/// One event; nothing for names that are not known.
fn read(name: &str, data: &str) -> Option<Answer<StreamEvent>> {
    match name {
        names::AUDIT => Some(parse(data).map(|e| StreamEvent::Audit(Box::new(e)))),
        names::POINTER => Some(parse(data).map(|p| StreamEvent::Pointer(Box::new(p)))),
        names::HEARTBEAT => Some(parse(data).map(StreamEvent::Heartbeat)),
        _ => None,
    }
}

fn parse<T: DeserializeOwned>(data: &str) -> Answer<T> {
    serde_json::from_str(data).map_err(|e| ClientError::Protocol(format!("{e} in a stream event")))
}
