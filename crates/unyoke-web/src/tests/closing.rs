//! Studies that nobody looks at are closed, and come back as they were.

use serde_json::{Value, json};
use std::time::Duration;

use super::setting::Setting;

const HOUR: Duration = Duration::from_secs(3600);

fn is_open(setting: &Setting) -> bool {
    setting.hall.shelf.known()[0].quick_card().position.is_some()
}

/// Closes the study: a thread that watched may look once more, and one that computes first puts its things away.
fn close(setting: &Setting) {
    while is_open(setting) {
        setting.hall.close_unused(Duration::ZERO);
    }
}

fn next(setting: &Setting) -> Value {
    setting.get("/api/studies/beam/next?wait=60").json()
}

#[test]
fn a_study_that_nobody_looks_at_is_closed_and_comes_back_as_it_was() {
    let setting = Setting::new();
    setting.play(6);
    let (seen, evaluations) = (next(&setting), setting.get("/api/studies/beam/evaluations").json());
    setting.hall.close_unused(HOUR);
    assert!(is_open(&setting), "somebody looked a moment ago");
    close(&setting);
    // What is recorded meanwhile is there as well.
    let asked = setting.act("ask", json!({ "by": "Ann" }));
    assert_eq!(asked.json()["suggestion"]["design"], seen["design"], "{}", asked.text());
    close(&setting);
    let again = setting.get("/api/studies/beam/evaluations").json();
    assert_eq!(again.as_array().unwrap()[..6], evaluations.as_array().unwrap()[..6]);
    assert_eq!(again[6]["deeds"][0]["by"], "Ann");
}

#[test]
fn a_study_that_somebody_watches_stays_open() {
    let setting = Setting::new();
    setting.play(2);
    let listener = setting.hall.shelf.known()[0].listen();
    setting.hall.close_unused(Duration::ZERO);
    assert!(is_open(&setting));
    drop(listener);
    close(&setting);
}
