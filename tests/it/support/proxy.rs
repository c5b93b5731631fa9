//! A proxy before a real registry that spoils the event stream, as broken networks and dishonest machines do.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::StreamExt as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// What happens to the next audit events that pass; one mishap an event, then none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// It is dropped.
    Drop,
    /// It comes twice.
    Double,
    /// It comes after the one that follows it.
    Swap,
    /// Its actor is another.
    Forge,
    /// The connection ends before it.
    Cut,
    /// From it on nothing comes at all, and the connection stays.
    Silence,
}

/// A running proxy.
pub struct Proxy {
    pub address: SocketAddr,
    mishaps: Arc<Mutex<Vec<Mishap>>>,
}

#[derive(Clone)]
struct Behind {
    upstream: SocketAddr,
    mishaps: Arc<Mutex<Vec<Mishap>>>,
    client: reqwest::Client,
}

impl Proxy {
    /// A proxy before `upstream` that spoils nothing yet.
    pub async fn before(upstream: SocketAddr) -> Self {
        countersign::client::init_tls();
        let mishaps = Arc::new(Mutex::new(Vec::new()));
        let behind = Behind { upstream, mishaps: mishaps.clone(), client: reqwest::Client::new() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().fallback(pass).with_state(behind);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, mishaps }
    }

    /// What happens to the next audit events.
    pub fn spoil(&self, mishaps: &[Mishap]) {
        *self.mishaps.lock().unwrap() = mishaps.iter().rev().copied().collect();
    }

    /// Whether all of it has happened.
    pub fn is_done(&self) -> bool {
        self.mishaps.lock().unwrap().is_empty()
    }
}

async fn pass(State(behind): State<Behind>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let url = format!("http://{}{}", behind.upstream, parts.uri);
    let body = axum::body::to_bytes(body, 1 << 22).await.unwrap();
    let mut headers = parts.headers;
    headers.remove("host");
    let Ok(answer) = behind.client.request(parts.method, url).headers(headers).body(body).send().await else {
        return Response::builder().status(502).body(Body::empty()).unwrap();
    };
    let mut response = Response::builder().status(answer.status());
    let kind = answer.headers().get("content-type").cloned();
    if let Some(kind) = &kind {
        response = response.header("content-type", kind);
    }
    if kind.is_some_and(|kind| kind == "text/event-stream") {
        return response.body(Body::from_stream(spoiled(behind.mishaps, answer))).unwrap();
    }
    response.body(Body::from(answer.bytes().await.unwrap())).unwrap()
}

/// The stream, cut into its events (each ends with an empty line) and spoiled.
fn spoiled(
    mishaps: Arc<Mutex<Vec<Mishap>>>,
    answer: reqwest::Response,
) -> impl futures_util::Stream<Item = Result<Bytes, String>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(64);
    tokio::spawn(async move {
        let (mut chunks, mut buffer, mut late) = (answer.bytes_stream(), String::new(), None::<String>);
        while let Some(Ok(chunk)) = chunks.next().await {
            buffer.push_str(std::str::from_utf8(&chunk).unwrap());
            while let Some(end) = buffer.find("\n\n") {
                let event: String = buffer.drain(..end + 2).collect();
                let mishap = if event.contains("event: audit") { mishaps.lock().unwrap().pop() } else { None };
                let mut send = vec![event.clone()];
                match mishap {
                    None if event.contains("event: audit") => send.extend(late.take()),
                    None => {}
                    Some(Mishap::Drop) => send.clear(),
                    Some(Mishap::Double) => send.push(event),
                    Some(Mishap::Swap) => {
                        late = send.pop();
                    }
                    Some(Mishap::Forge) => send = vec![event.replace("person:dee", "person:eve")],
                    Some(Mishap::Cut) => return,
                    Some(Mishap::Silence) => std::future::pending().await,
                }
                for event in send {
                    if sender.send(Ok(Bytes::from(event))).await.is_err() {
                        return;
                    }
                }
            }
        }
    });
    futures_util::stream::unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|event| (event, receiver)) })
}
