//! `unyoke serve` as a process: killed and started again, beside a run, on PostgreSQL, encrypted.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Stdio};
use std::sync::Arc;

use place::{Place, TWO};
use serde_json::{Value, json};

/// Values that people record.
const BY_HAND: &str = "
[study]
name = \"bench\"
[budget]
cost = 1000
[initial]
designs = 3
[parameters.x]
low = 0
high = 1
[objectives.mass]
direction = \"minimise\"
cost = 1
[objectives.drag]
direction = \"minimise\"
cost = 4
";

/// A server that is killed when the test ends.
struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let all = ["serve", "--json", "--write", "--tokens", "tokens.json"];
        let all: Vec<&str> = all.into_iter().chain(arguments.iter().copied()).collect();
        let mut child = place.command(&all).stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            text += &line;
            if line == "}" {
                break;
            }
        }
        let said: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("it said {text:?}"));
        let token = said["write_url"].as_str().unwrap().split_once("token=").unwrap().1;
        Self {
            child,
            address: said["address"].as_str().unwrap().to_owned(),
            token: token.to_owned(),
        }
    }

    /// Sends a request and does not wait for the answer.
    fn begin(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let Self { address, token, .. } = self;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream
    }

    fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut text = String::new();
        self.begin(method, path, body).read_to_string(&mut text).unwrap();
        parsed(&text)
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn act(&self, action: &str, body: &Value) -> Value {
        let (status, text) = self.send("POST", action, &body.to_string());
        assert_eq!(status, 200, "{action} {body}: {text}");
        serde_json::from_str(&text).unwrap()
    }
}

/// Status and body of an answer.
fn parsed(text: &str) -> (u16, String) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = match head.to_lowercase().contains("transfer-encoding: chunked") {
        true => unchunked(body),
        false => body.to_owned(),
    };
    (status, body)
}

fn unchunked(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = text.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        whole += &rest[..length];
        text = rest.get(length + 2..).unwrap_or_default();
    }
    whole
}

/// The keys of the requests that were carried out, by record.
fn keys(place: &Place) -> Vec<String> {
    let text = place.text(&["export", "--as", "journal"]);
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter_map(|record| record["key"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_server_that_is_killed_again_and_again_neither_loses_nor_doubles_an_entry() {
    let place = Place::new(BY_HAND);
    let first = Server::start(&place, &["--listen", "0"]);
    let port = first.address.rsplit_once(':').unwrap().1.to_owned();
    drop(first);
    let mut wanted = vec![];
    for round in 0..6_u32 {
        for (what, action) in
            [("ask", "/api/studies/study/ask"), ("tell", "/api/studies/study/tell")]
        {
            let key = format!("{what}-round-{round}");
            let body = |asked: &Value| match what {
                "ask" => json!({ "key": key, "by": "Ann" }),
                _ => {
                    let name = asked["measurement"].as_str().unwrap();
                    json!({ "key": key, "evaluation": asked["evaluation"], "values": { name: f64::from(round) } })
                }
            };
            let server = Server::start(&place, &["--listen", &port, "--host", "x"]);
            let study = server.get("/api/studies").as_array().unwrap()[0]["id"].clone();
            let action = action.replace("/study/", &format!("/{}/", study.as_str().unwrap()));
            let status = server.get(&action.replace(what, "status"));
            let body = body(&status["pending"][0]).to_string();
            // Killed at some moment of the request: before, while or after it is recorded.
            let _unanswered = server.begin("POST", &action, &body);
            for _ in 0..(round * round * 40_000) {
                std::hint::black_box(round);
            }
            drop(server);
            let server = Server::start(&place, &["--listen", &port]);
            for _ in 0..2 {
                server.act(&action, &serde_json::from_str(&body).unwrap());
            }
            wanted.push(key);
        }
    }
    assert_eq!(keys(&place), wanted, "each once, in order");
    assert_eq!(place.json(&["status"])["pending"], json!([]));
    let evaluations = place.evaluations();
    assert_eq!(evaluations.len(), 6);
    assert!(evaluations.iter().all(|row| row["status"] == "completed"));
}

#[test]
fn a_run_beside_a_server_is_seen_record_by_record() {
    let place = Place::new(TWO);
    place.write("quiet", "");
    // Somebody has to begin it, so that there is something to watch.
    place.text(&["pause", "mass"]);
    place.text(&["resume", "mass"]);
    let server = Server::start(&place, &["--listen", "0"]);
    let study = server.get("/api/studies")[0]["id"].as_str().unwrap().to_owned();
    let stream = server.begin("GET", &format!("/api/studies/{study}/events?from=0"), "");
    let run = place.spawn(&["run", "--no-report"]).wait_with_output().unwrap();
    assert!(run.status.success(), "{}", place::stderr(&run));
    let text = place.text(&["export", "--as", "journal"]);
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut seen = vec![];
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(data) = line.strip_prefix("data: ")
            && let Ok(Value::Object(data)) = serde_json::from_str(data)
            && let Some(record) = data.get("record")
        {
            seen.push(record.clone());
        }
        if seen.len() == all.len() {
            break;
        }
    }
    assert_eq!(seen, all);
    assert_eq!(server.get(&format!("/api/studies/{study}/status"))["spent"], place.spent());
}

/// Evaluations of `mass` wait at a gate.
fn gated(cost: &str) -> Place {
    let text = TWO
        .replace("\"echo\", \"{x}\"", "\"sh\", \"-c\", \"echo waiting >&2; cat gate; echo {x}\"");
    let place = Place::new(&text.replace("cost = 18", cost));
    place.gate("gate");
    place
}

#[test]
fn a_running_evaluation_shows_its_log_and_is_stopped() {
    let place = gated("cost = 1");
    let run = place.spawn(&["run", "--no-report"]);
    let server = Server::start(&place, &["--listen", "0"]);
    let study = server.get("/api/studies")[0]["id"].as_str().unwrap().to_owned();
    let api = |path: &str| format!("/api/studies/{study}/{path}");
    let log = || server.send("GET", &api("evaluations/0/log"), "");
    place.await_that("the command has begun", |_| log().1.contains("waiting"));
    let live = server.get(&api("live"));
    assert_eq!((&live[0]["can_stop"], &live[0]["has_log"]), (&json!(true), &json!(true)));
    assert!(live[0]["elapsed"].is_u64(), "{live}");
    let stop = json!({ "key": "stop-it-now", "by": "Ann", "evaluation": 0 });
    assert_eq!(server.act(&api("stop"), &stop)["evaluation"]["status"], "withdrawn");
    assert_eq!(server.act(&api("stop"), &stop)["repeated"], true);
    // Whatever is asked for next waits at the gate as well, until that is open.
    place.await_that("the next command has begun", |_| {
        server.send("GET", &api("evaluations/1/log"), "").1.contains("waiting")
    });
    // The command that is being stopped may be the one that passes, so the gate is opened again and again.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let gate = place.path("gate");
    let mut run = run;
    place.await_that("the run has ended", |_| {
        let _ = fs::OpenOptions::new().write(true).custom_flags(nonblocking).open(&gate);
        run.try_wait().unwrap().is_some()
    });
    let ended = run.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", place::stderr(&ended));
    assert_eq!(place.evaluations()[0]["status"], "withdrawn");
}

#[test]
fn a_budget_that_is_raised_meanwhile_is_followed_by_the_run() {
    let place = gated("cost = 1");
    let run = place.spawn(&["run", "--no-report"]);
    let server = Server::start(&place, &["--listen", "0"]);
    let study = server.get("/api/studies")[0]["id"].as_str().unwrap().to_owned();
    let api = |path: &str| format!("/api/studies/{study}/{path}");
    place.await_that("the command has begun", |_| {
        server.send("GET", &api("evaluations/0/log"), "").1.contains("waiting")
    });
    server.act(&api("budget"), &json!({ "key": "more-money", "by": "Ann", "cost": 9 }));
    let path = place.path("gate");
    fs::OpenOptions::new().write(true).open(&path).unwrap();
    // What comes now need not wait.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    let ended = run.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", place::stderr(&ended));
    assert!(place.spent() > 1.0 && place.spent() <= 9.0, "{}", place.spent());
    assert_eq!(place.json(&["status"])["budget"], 9.0);
}

#[test]
fn all_studies_of_a_database_are_served() {
    let server = std::env::var("UNYOKE_TEST_POSTGRES")
        .expect("`cargo xtask test` starts a PostgreSQL for the tests");
    let separator = if server.contains('?') { '&' } else { '?' };
    let names = ["bench", "wing"].map(|name| format!("{name}-web-{}", std::process::id()));
    for name in &names {
        let store = format!("{server}{separator}study={name}");
        let text =
            BY_HAND.replace("name = \"bench\"", &format!("name = {name:?}\nstore = {store:?}"));
        Place::new(&text).text(&["ask"]);
    }
    let place = Place::new(BY_HAND);
    let server = Server::start(&place, &["--listen", "0", &server]);
    let studies = server.get("/api/studies");
    let ids: Vec<&str> =
        studies.as_array().unwrap().iter().map(|study| study["id"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| ids.contains(&name.as_str())), "{studies}");
    let api = |path: &str| format!("/api/studies/{}/{path}", names[0]);
    let pending = server.get(&api("status"))["pending"][0].clone();
    let name = pending["measurement"].as_str().unwrap();
    let tell =
        json!({ "key": "tell-postgres", "by": "Ann", "evaluation": 0, "values": { name: 2.5 } });
    assert_eq!(server.act(&api("tell"), &tell)["evaluation"]["status"], "completed");
    assert_eq!(server.act(&api("tell"), &tell)["repeated"], true);
    let asked = server.act(&api("ask"), &json!({ "key": "ask-postgres" }));
    assert_eq!(asked["suggestion"]["evaluation"], 1);
    let (status, text) =
        server.send("POST", &api("budget"), r#"{"key":"budget-postgres","cost":5}"#);
    assert!(status == 422 && text.contains("study file"), "{text}");
    let text = server.get("/api/studies").to_string();
    assert!(!text.contains("password") && !text.contains("secret"), "{text}");
}

#[test]
fn a_certificate_makes_connections_private() {
    let place = Place::new(BY_HAND);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    place.write("cert.pem", &made.cert.pem());
    place.write("key.pem", &made.signing_key.serialize_pem());
    let server =
        Server::start(&place, &["--listen", "0", "--certificate", "cert.pem", "--key", "key.pem"]);
    // Whoever does not encrypt is not answered.
    let mut text = String::new();
    let _ = server.begin("GET", "/api/studies", "").read_to_string(&mut text);
    assert!(!text.contains("HTTP/1.1 200"), "{text}");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = rustls::StreamOwned::new(client, TcpStream::connect(&server.address).unwrap());
    let token = &server.token;
    let request =
        format!("GET /?token={token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 303") && text.contains("; Secure"), "{text}");
    for (arguments, complaint) in [
        (["--certificate", "key.pem", "--key", "key.pem"], "certificate"),
        (["--certificate", "cert.pem", "--key", "none.pem"], "none.pem"),
        (["--certificate", "cert.pem", "--key", "cert.pem"], "private key"),
    ] {
        let all = ["serve", "--listen", "0"].into_iter().chain(arguments).collect::<Vec<_>>();
        assert!(place.fails(&all, 1).contains(complaint), "{arguments:?}");
    }
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let place = Place::new(BY_HAND);
    for nothing in ["nothing/", "nothing.toml"] {
        let said = place.fails(&["serve", nothing, "--listen", "0"], 3);
        assert!(said.contains(nothing) && said.contains("unyoke init"), "{said}");
    }
    fs::create_dir(place.path("empty")).unwrap();
    assert!(place.fails(&["serve", "empty", "--listen", "0"], 1).contains("there is no study"));
    let server = Server::start(&place, &["--listen", "0"]);
    let taken = place.fails(&["serve", "--listen", &server.address], 1);
    assert!(taken.contains(&server.address) && taken.contains("in use"), "{taken}");
    assert!(place.fails(&["serve", "--listen", "everywhere"], 2).contains("write a port"));
}

#[test]
fn a_journal_file_is_free_again_after_each_action() {
    let text = BY_HAND.replace("name = \"bench\"", "store = \"file:bench.journal\"");
    let place = Place::new(&text);
    place.text(&["ask"]);
    let server = Server::start(&place, &["--listen", "0"]);
    let study = server.get("/api/studies")[0]["id"].as_str().unwrap().to_owned();
    let api = |path: &str| format!("/api/studies/{study}/{path}");
    for round in 0..3 {
        server.act(&api("ask"), &json!({ "key": format!("journal-{round}") }));
        // Another program writes, while somebody looks at the page.
        server.get(&api("status"));
        place.text(&["ask"]);
    }
    assert_eq!(server.get(&api("status"))["pending"].as_array().unwrap().len(), 7);
}
