//! Requests that a generator makes up: whatever comes, the server answers, the journal stays one that replays, and a
//! key counts once. `cargo xtask fuzz-api SECONDS` does it for as long as one likes.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method};
use fastrand::Rng;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use unyoke::Study;
use unyoke_store::Store;

use super::setting::{READ, Setting, WRITE, request};

const ACTIONS: [&str; 15] = [
    "ask", "tell", "fail", "withdraw", "skip", "correct", "retract", "retry", "stop", "queue",
    "unqueue", "pause", "resume", "price", "budget",
];

const VIEWS: [&str; 16] = [
    "",
    "/status",
    "/evaluations",
    "/live",
    "/evaluations/0/log",
    "/next",
    "/front",
    "/best",
    "/measured-front",
    "/models",
    "/effects",
    "/confirmation",
    "/report",
    "/design",
    "/figures",
    "/events",
];

const PAGES: [&str; 9] =
    ["next", "front", "designs", "spending", "live", "bench", "models", "figures/values.svg", "x"];

const TEXTS: [&str; 16] = [
    "mass",
    "deflection",
    "length",
    "material",
    "oak",
    "steel",
    "Ann",
    "",
    "<b>",
    "\0",
    "../..",
    "é",
    "0.5",
    "NaN",
    "key",
    "\u{202e}",
];

fn text(rng: &mut Rng) -> String {
    match rng.u8(0..8) {
        0 => (0..rng.usize(0..200)).map(|_| rng.char(..)).collect(),
        1 => rng.u64(..).to_string(),
        _ => TEXTS[rng.usize(..TEXTS.len())].to_owned(),
    }
}

fn number(rng: &mut Rng) -> Value {
    match rng.u8(0..6) {
        0 => json!(rng.u64(..)),
        1 => json!(-rng.f64()),
        2 => json!(f64::MAX),
        3 => json!(rng.u64(0..30)),
        4 => json!(0),
        _ => json!(rng.f64() * 2.0),
    }
}

fn value(rng: &mut Rng, depth: u8) -> Value {
    match rng.u8(0..if depth == 0 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => json!(rng.bool()),
        2 => number(rng),
        3 => json!(text(rng)),
        4 => (0..rng.usize(0..4)).map(|_| value(rng, depth - 1)).collect(),
        _ => (0..rng.usize(0..4)).map(|_| (text(rng), value(rng, depth - 1))).collect(),
    }
}

/// The body of an action: right, or wrong somewhere.
fn body(rng: &mut Rng, action: &str, keys: &[String]) -> Value {
    let names = ["mass", "deflection"];
    let measurement = names[rng.usize(0..2)];
    let material = ["oak", "steel"][rng.usize(0..2)];
    let design = json!({ "length": 0.1 + 1.9 * rng.f64(), "material": material });
    let mut body = match action {
        "ask" => json!({}),
        "tell" => json!({ "evaluation": rng.u64(0..30), "values": { measurement: rng.f64() } }),
        "fail" => json!({ "evaluation": rng.u64(0..30), "reason": text(rng) }),
        "correct" => json!({ "evaluation": rng.u64(0..30), "values": { measurement: rng.f64() } }),
        "retract" => json!({ "evaluation": rng.u64(0..30), "reason": text(rng) }),
        "withdraw" | "skip" | "retry" | "stop" => json!({ "evaluation": rng.u64(0..30) }),
        "queue" => json!({ "design": design }),
        "unqueue" => json!({ "entry": rng.u64(0..5) }),
        "pause" => json!({ "measurement": measurement, "reason": text(rng) }),
        "resume" => json!({ "measurement": measurement }),
        "price" => json!({ "measurement": measurement, "cost": 1.0 + 9.0 * rng.f64() }),
        _ => json!({ "cost": 1e5 * (1.0 + rng.f64()) }),
    };
    body["by"] = json!(text(rng));
    body["key"] = match rng.u8(0..6) {
        0 if !keys.is_empty() => json!(keys[rng.usize(..keys.len())]),
        1 => json!(text(rng)),
        _ => json!(format!("fuzz-{:016x}", rng.u64(..))),
    };
    if rng.u8(0..3) == 0
        && let Some(fields) = body.as_object_mut()
    {
        let at = rng.usize(..fields.len());
        let name = fields.keys().nth(at).cloned().unwrap();
        match rng.u8(0..3) {
            0 => drop(fields.remove(&name)),
            1 => drop(fields.insert(name, value(rng, 3))),
            _ => drop(fields.insert(text(rng), value(rng, 2))),
        }
    }
    body
}

fn query(rng: &mut Rng) -> String {
    let names = [
        "wait",
        "from",
        "count",
        "points",
        "weights",
        "cautious",
        "stream",
        "length",
        "material",
        "price.mass",
        "page",
        "token",
    ];
    let pairs = (0..rng.usize(0..4)).map(|_| {
        let name = names[rng.usize(..names.len())];
        let value = match name {
            "weights" => format!("{},{}", rng.f64(), rng.f64()),
            "wait" => "0".to_owned(),
            _ if rng.bool() => number(rng).to_string(),
            _ => text(rng),
        };
        let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        format!("{name}={value}")
    });
    pairs.collect::<Vec<_>>().join("&")
}

/// One request, and the key that counts from now on if it was carried out.
fn strike(setting: &Setting, rng: &mut Rng, keys: &mut Vec<String>) {
    let (mut method, path, content) = match rng.u8(0..4) {
        0 | 1 => {
            let action = ACTIONS[rng.usize(..ACTIONS.len())];
            let body = body(rng, action, keys);
            keys.extend(body["key"].as_str().map(str::to_owned).filter(|_| rng.u8(0..20) == 0));
            let body = match rng.u8(0..30) {
                0 => Body::from(value(rng, 4).to_string()),
                1 => Body::from((0..rng.usize(0..300)).map(|_| rng.u8(..)).collect::<Vec<u8>>()),
                _ => Body::from(body.to_string()),
            };
            (Method::POST, format!("/api/studies/beam/{action}"), body)
        }
        2 => {
            let view = VIEWS[rng.usize(..VIEWS.len())];
            (Method::GET, format!("/api/studies/beam{view}?{}", query(rng)), Body::empty())
        }
        _ => {
            let page = PAGES[rng.usize(..PAGES.len())];
            (Method::GET, format!("/studies/beam/{page}?{}", query(rng)), Body::empty())
        }
    };
    if rng.u8(0..20) == 0 {
        method =
            [Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS][rng.usize(0..4)].clone();
    }
    let token = match rng.u8(0..12) {
        0 => None,
        1 => Some(READ),
        2 => Some("wrong"),
        _ => Some(WRITE),
    };
    let what = format!("{method} {path}");
    let mut request = request(method, &path, token, content);
    if rng.u8(0..10) == 0 {
        let names = [
            "origin",
            "host",
            "cookie",
            "last-event-id",
            "sec-fetch-site",
            "content-type",
            "if-none-match",
        ];
        let name = HeaderName::from_static(names[rng.usize(..names.len())]);
        if let Ok(value) = HeaderValue::from_bytes(text(rng).as_bytes()) {
            request.headers_mut().insert(name, value);
        }
    }
    let answer = setting.send(request);
    let status = answer.status.as_u16();
    // A request that is carried out already is the only one that is to come again.
    assert!(status < 500 || status == 503, "{what}: {status} {}", answer.text());
    assert!(!answer.text().contains("could not carry this out"), "{what}: something panicked");
}

fn check_journal(setting: &Setting) {
    let records = setting.records();
    let study = Study::open(Store::open(&setting.file().store).unwrap()).unwrap();
    assert_eq!(study.position(), records.len() as u64);
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    for key in records.iter().filter_map(|record| record.key.as_deref()) {
        *keys.entry(key).or_default() += 1;
    }
    assert!(keys.values().all(|count| *count == 1), "a request counted twice");
}

fn run(seed: u64, until: impl Fn(usize) -> bool) -> usize {
    let mut rng = Rng::with_seed(seed);
    let mut requests = 0;
    while !until(requests) {
        // A new study now and then: what is asked of a large one takes longer.
        let (setting, mut keys) = (Setting::new(), vec![]);
        setting.play(2);
        for _ in 0..400 {
            if until(requests) {
                break;
            }
            strike(&setting, &mut rng, &mut keys);
            requests += 1;
        }
        check_journal(&setting);
    }
    requests
}

#[test]
fn made_up_requests_do_no_harm() {
    assert_eq!(run(17, |requests| requests >= 600), 600);
}

#[test]
#[ignore = "takes as long as UNYOKE_FUZZ_SECONDS says: cargo xtask fuzz-api"]
fn made_up_requests_do_no_harm_for_long() {
    let seconds = std::env::var("UNYOKE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let seed = std::env::var("UNYOKE_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(600));
    let requests = run(seed.unwrap_or(1), |_| Instant::now() >= end);
    assert!(requests > 0);
    eprintln!("{requests} requests");
}
