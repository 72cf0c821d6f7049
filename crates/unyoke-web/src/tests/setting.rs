//! A study, a server for it, and requests to that.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;
use tower::ServiceExt;
use unyoke::{Journal, Record};
use unyoke_run::StudyFile;
use unyoke_store::Store;

use crate::access::{Access, Tokens};
use crate::app::app;
use crate::hall::Hall;
use crate::rates::{Rate, Rates};
use crate::shelf::Shelf;

pub(super) const READ: &str = "read-read-read-read-read";
pub(super) const WRITE: &str = "write-write-write-write-write";

/// A study of a beam, of which nothing is known yet. Little effort: what is tested is not how good suggestions are.
pub(super) const BEAM: &str = r#"
[study]
name = "beam"
seed = 3

[budget]
cost = 1000

[initial]
designs = 2

[parameters.length]
low = 0.1
high = 2.0

[parameters.material]
choices = ["oak", "steel"]

[objectives.mass]
direction = "minimise"
cost = 1

[objectives.deflection]
direction = "minimise"
cost = 20

[engine]
weights = 2
search = { raw = 8, restarts = 1, iterations = 3 }
discretisation = { sobol = { points = 8 } }
front = { population = 8, generations = 3 }
"#;

/// A folder with a study and a server of it.
pub(super) struct Setting {
    pub(super) folder: TempDir,
    pub(super) hall: Arc<Hall>,
    pub(super) app: Router,
    runtime: tokio::runtime::Runtime,
    keys: AtomicU64,
}

/// What was answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

/// Rates that no test reaches.
fn no_limits() -> Rates {
    let rate = Rate { burst: 1e9, per_second: 1e9 };
    Rates { requests: rate, actions: rate, wrong_tokens: rate }
}

pub(super) fn serving(places: &[String], write: bool) -> Router {
    app(hall(places, write))
}

fn hall(places: &[String], write: bool) -> Arc<Hall> {
    let tokens = Tokens { read: READ.to_owned(), write: WRITE.to_owned() };
    let access = Access::new(tokens, write, &[], 8700);
    let shelf = Shelf::new(places).unwrap();
    Arc::new(Hall::new(shelf, access, no_limits(), 400))
}

impl Setting {
    pub(super) fn new() -> Self {
        Self::of(BEAM, true)
    }

    pub(super) fn of(text: &str, write: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("beam")).unwrap();
        let path = folder.path().join("beam/beam.toml");
        fs::write(&path, text).unwrap();
        let hall = hall(&[path.display().to_string()], write);
        let app = app(Arc::clone(&hall));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { folder, hall, app, runtime, keys: AtomicU64::new(0) }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("beam/beam.toml")
    }

    pub(super) fn file(&self) -> StudyFile {
        StudyFile::read(self.path()).unwrap()
    }

    pub(super) fn records(&self) -> Vec<Record> {
        Store::open(&self.file().store).unwrap().read(0).unwrap()
    }

    /// The same study, served anew.
    pub(super) fn restart(&mut self) {
        self.hall = hall(&[self.path().display().to_string()], true);
        self.app = app(Arc::clone(&self.hall));
    }

    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(super) fn send(&self, request: Request<Body>) -> Answer {
        self.block_on(async {
            let response = self.app.clone().oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let is_stream = parts
                .headers
                .get(header::CONTENT_TYPE)
                .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
            // A stream has no end.
            let body = match is_stream {
                true => vec![],
                false => to_bytes(body, 64 << 20).await.unwrap().to_vec(),
            };
            Answer { status: parts.status, headers: parts.headers, body }
        })
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.send(request(Method::GET, path, Some(WRITE), Body::empty()))
    }

    /// The key of a new request.
    pub(super) fn key(&self) -> String {
        format!("test-key-{}", self.keys.fetch_add(1, Ordering::SeqCst))
    }

    /// An action with a key of its own.
    pub(super) fn act(&self, action: &str, mut body: Value) -> Answer {
        body["key"] = self.key().into();
        self.post(action, &body)
    }

    pub(super) fn post(&self, action: &str, body: &Value) -> Answer {
        let path = format!("/api/studies/beam/{action}");
        self.send(request(Method::POST, &path, Some(WRITE), Body::from(body.to_string())))
    }

    /// Asks and tells so often.
    pub(super) fn play(&self, evaluations: usize) {
        for i in 0..evaluations {
            let asked = self.act("ask", serde_json::json!({ "by": "Ann" }));
            assert_eq!(asked.status, StatusCode::OK, "{}", asked.text());
            let suggestion = &asked.json()["suggestion"];
            let length = suggestion["design"]["length"].as_f64().unwrap();
            let name = suggestion["measurement"].as_str().unwrap();
            let value = if name == "mass" { length } else { 1.0 / length };
            let told = serde_json::json!({
                "by": "Ben", "evaluation": suggestion["evaluation"], "values": { name: value + i as f64 / 1e3 },
            });
            let told = self.act("tell", told);
            assert_eq!(told.status, StatusCode::OK, "{}", told.text());
        }
    }
}

/// A request as a program sends it.
pub(super) fn request(
    method: Method,
    path: &str,
    token: Option<&str>,
    body: Body,
) -> Request<Body> {
    let builder =
        Request::builder().method(method).uri(path).header(header::HOST, "127.0.0.1:8700");
    let builder = builder.header(header::CONTENT_TYPE, "application/json");
    let builder = match token {
        Some(token) => builder.header(header::AUTHORIZATION, format!("Bearer {token}")),
        None => builder,
    };
    builder.body(body).unwrap()
}
