//! Studies in a journal file, driven by the real program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;
use std::process::Child;

use place::{Place, TWO};

/// The study `TWO` in a journal file.
fn in_a_journal(text: &str) -> String {
    format!("[study]\nstore = \"file:study.journal\"\n{text}")
}

/// The same with commands that wait until the file `go` is there.
fn waiting() -> Place {
    let place = Place::new(&in_a_journal(TWO));
    let wait = "while [ ! -e go ]; do sleep 0.02; done\n";
    let log = fs::read_to_string(place.path("log.sh")).unwrap();
    place.write("log.sh", &log.replace("exec ", &format!("{wait}exec ")));
    place
}

/// A run whose first command has begun.
fn running(place: &Place) -> Child {
    let before = place.starts().values().sum::<usize>();
    let child = place.spawn(&["run", "--no-report"]);
    place.await_that("a command begins", |place| place.starts().values().sum::<usize>() > before);
    child
}

fn assert_complete(place: &Place) {
    assert_eq!(place.spent(), 18.0);
    let evaluations = place.evaluations();
    assert!(evaluations.iter().all(|row| row["status"] == "completed"), "{evaluations:?}");
    assert!(place.starts().values().all(|count| *count == 1), "{:?}", place.starts());
}

#[test]
fn a_study_in_a_journal_file_is_that_in_a_database() {
    let journal = |place: &Place| {
        place.text(&["run", "--no-report"]);
        place.journal()
    };
    let (here, there) = (Place::new(&in_a_journal(TWO)), Place::new(TWO));
    assert_eq!(journal(&here), journal(&there));
    assert!(here.path("study.journal").is_file() && !here.path("study.db").exists());
    assert_complete(&here);
    assert_eq!(here.json(&["front"])["designs"], there.json(&["front"])["designs"]);
    here.text(&["report"]);
    here.text(&["check"]);
    assert_eq!(here.json(&["run", "--cost", "19"])["finished"], 1);
}

#[test]
fn while_a_run_writes_others_can_look_and_are_told_who_writes() {
    let place = waiting();
    place.write("go", "");
    place.text(&["run", "--cost", "10", "--no-report"]);
    fs::remove_file(place.path("go")).unwrap();
    let mut child = running(&place);
    for reading in [&["status"][..], &["front"], &["report"], &["export"], &["check"]] {
        place.text(reading);
    }
    let pending = (place.evaluations().len() - 1).to_string();
    let holder = format!("study.journal is in use by process {} (unyoke) on ", child.id());
    for writing in [&["run"][..], &["tell", &pending, "0.5"], &["ask"]] {
        let told = place.fails(writing, 4);
        assert!(told.contains(&holder) && told.contains(", since 20"), "{writing:?}: {told}");
    }
    place.write("go", "");
    assert!(child.wait().unwrap().success());
    assert_complete(&place);
    assert_eq!(place.json(&["run", "--cost", "19"])["finished"], 1);
}

#[test]
fn a_killed_run_is_followed_by_another_at_once() {
    let place = waiting();
    for _ in 0..3 {
        let mut child = place.spawn(&["run", "--no-report"]);
        place.await_that("a command begins", |place| !place.starts().is_empty());
        place.await_that("it writes", |place| {
            let holder = format!("\"pid\":{},", child.id());
            let files = fs::read_dir(place.path("study.journal.lock")).unwrap();
            let texts = files.map(|file| fs::read_to_string(file.unwrap().path()));
            let texts: Vec<String> = texts.map(Result::unwrap_or_default).collect();
            texts.iter().any(|text| text.contains(&holder) && text.contains("ready"))
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place.write("go", "");
    place.text(&["run", "--no-report"]);
    assert_complete(&place);
}
