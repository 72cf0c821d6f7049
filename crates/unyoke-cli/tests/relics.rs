//! Studies that earlier programs left behind: they open, show what they showed, and go on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use place::{Place, stderr};
use serde_json::Value;

/// A study of format 1 as the program of that time left it. Change nothing in these files.
fn relic(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/relics/format-1").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(relic(name)).unwrap()
}

/// A folder with the study file and its scripts, but no study.
fn folder(study_file: &str) -> Place {
    let place = Place::new("");
    place.write("beam.toml", study_file);
    for name in ["mass.py", "stiff.py"] {
        place.write(name, &read(name));
    }
    place
}

/// Every design of the front that was shown, as an argument.
fn designs(front: &Value) -> Vec<String> {
    let pair = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) => format!("{name}={text}"),
        None => format!("{name}={value}"),
    };
    let design = |point: &Value| -> String {
        point["design"].as_object().unwrap().iter().map(pair).collect::<Vec<_>>().join(",")
    };
    front["points"].as_array().unwrap().iter().map(design).collect()
}

fn assert_close(now: &Value, then: &Value) {
    let (now, then) = (now.as_f64().unwrap(), then.as_f64().unwrap());
    assert!((now - then).abs() <= 1e-9 * then.abs(), "{now} is shown, {then} was");
}

fn assert_same_outputs(now: &Value, then: &Value) {
    for output in ["mass", "stiffness"] {
        let (now, then) = (&now["outputs"][output], &then["objectives"][output]);
        assert_close(&now["mean"], &then["mean"]);
        assert_close(&now["sd"], &then["sd"]);
        assert_eq!(now["measured"], then["measured"]);
    }
}

/// What is expected of the designs of the front of then is what it was, and nearly all of them are on that of
/// today, beside those that were measured.
fn expects_the_same(place: &Place) {
    let then: Value = serde_json::from_str(&read("front.json")).unwrap();
    let points = then["points"].as_array().unwrap();
    let designs = designs(&then);
    let at = designs.iter().flat_map(|design| ["--at", design]);
    let arguments: Vec<&str> = ["explain", "beam.toml"].into_iter().chain(at).collect();
    let now = place.json(&arguments);
    assert_eq!(now.as_array().unwrap().len(), designs.len());
    for (now, then) in now.as_array().unwrap().iter().zip(points) {
        assert_same_outputs(now, then);
    }
    let front = place.json(&["front", "beam.toml"]);
    let shown = front["points"].as_array().unwrap();
    let is_shown = |then: &&Value| {
        let then = then["objectives"]["mass"]["mean"].as_f64().unwrap();
        let mean = |now: &Value| now["outputs"]["mass"]["mean"].as_f64().unwrap();
        shown.iter().any(|now| (mean(now) - then).abs() <= 1e-9 * then.abs())
    };
    let same = points.iter().filter(is_shown).count();
    assert!(shown.len() == points.len() && same >= 18, "{same} of {}", points.len());
    let measured = place.json(&["front", "beam.toml", "--measured"]);
    for known in measured["points"].as_array().unwrap() {
        assert!(shown.iter().any(|now| now["design"] == known["design"]), "{known}");
    }
}

/// The numbers that the program of that time showed, with this many results awaited.
fn stands_the_same(place: &Place, pending: usize) {
    let status = place.json(&["status", "beam.toml"]);
    assert_eq!((&status["spent"], &status["budget"]), (&108.0.into(), &200.0.into()));
    let measurement = |m: usize, field: &str| status["measurements"][m][field].clone();
    for (m, completed, failed, spent, cost) in [(0, 20, 0, 20.0, 1.0), (1, 7, 4, 88.0, 9.0)] {
        assert_eq!(measurement(m, "completed"), completed);
        assert_eq!(measurement(m, "failed"), failed);
        assert_eq!((measurement(m, "spent"), measurement(m, "cost")), (spent.into(), cost.into()));
    }
    assert_eq!(measurement(1, "pending"), pending);
    // An imported value beside those that were measured.
    let output = |k: usize, field: &str| status["outputs"][k][field].clone();
    assert_eq!((output(0, "values"), output(1, "values")), (21.into(), 8.into()));
    assert_eq!((output(0, "best"), output(0, "direction")), (0.0077.into(), "minimise".into()));
    assert_eq!(status["pending"].as_array().unwrap().len(), pending);
    assert_eq!(status["pending"][0]["owner"], "by hand");
}

/// Values are recorded, failures retried, and commands run.
fn goes_on(place: &Place) {
    let asked = place.json(&["ask", "beam.toml"]);
    let number = asked[0]["evaluation"].to_string();
    place.text(&["tell", &number, "0.5", "--study", "beam.toml"]);
    place.text(&["tell", "34", "2.5±0.1", "--study", "beam.toml"]);
    let retried = place.json(&["retry", "--study", "beam.toml"]);
    assert_eq!(retried["retried"], serde_json::json!([18, 19, 21, 22]));
    let spent = place.json(&["status", "beam.toml"])["committed"].as_f64().unwrap();
    let before = place.json(&["export", "beam.toml"]).as_array().unwrap().len();
    let budget = (spent + 12.0).to_string();
    let run = place.run(&["run", "beam.toml", "--no-report", "--cost", &budget]);
    assert!(run.status.success(), "{}", stderr(&run));
    assert!(!stderr(&run).contains("differ"), "{}", stderr(&run));
    let evaluations = place.json(&["export", "beam.toml"]);
    assert!(evaluations.as_array().unwrap().len() > before, "{}", stderr(&run));
    let failed = |id: usize| {
        let evaluation = &evaluations[id];
        (evaluation["status"] == "failed", evaluation["reason"].to_string())
    };
    for id in [18, 19, 21, 22] {
        let (is_failed, reason) = failed(id);
        assert!(is_failed && reason.contains("the mesh collapsed"), "{reason}");
    }
    assert_eq!(evaluations[34]["values"]["stiffness"]["sd"], 0.1);
    place.text(&["check", "beam.toml"]);
    place.text(&["report", "beam.toml"]);
}

#[test]
fn a_file_of_format_1_shows_what_it_showed_and_goes_on() {
    let place = folder(&read("beam.toml"));
    std::fs::copy(relic("beam.db"), place.path("beam.db")).unwrap();
    stands_the_same(&place, 2);
    expects_the_same(&place);
    goes_on(&place);
}

/// A database of its own in the server that tests are given.
struct Database(String);

fn server() -> String {
    std::env::var("UNYOKE_TEST_POSTGRES")
        .expect("this test needs PostgreSQL: `cargo xtask postgres cargo test -p unyoke-cli`")
}

fn client(url: &str) -> postgres::Client {
    postgres::Client::connect(url, postgres::NoTls).unwrap()
}

impl Database {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("unyoke_relic_{}_{number}", std::process::id());
        client(&server()).batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        Self(name)
    }

    fn url(&self) -> String {
        let server = server();
        let (base, parameters) = server.split_once('?').unwrap_or((&server, ""));
        let (host, _) = base.rsplit_once('/').unwrap();
        format!("{host}/{}?{parameters}", self.0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.0);
        let _ = client(&server()).batch_execute(&drop);
    }
}

#[test]
fn a_database_of_format_1_shows_what_it_showed_and_goes_on() {
    let database = Database::new();
    client(&database.url()).batch_execute(&read("beam-postgres.sql")).unwrap();
    let separator = if database.url().ends_with('?') { "" } else { "&" };
    let store = format!("store = \"{}{separator}study=beam\"", database.url());
    let place = folder(&read("beam.toml").replace("seed = 7", &format!("seed = 7\n{store}")));
    stands_the_same(&place, 1);
    expects_the_same(&place);
    goes_on(&place);
}
