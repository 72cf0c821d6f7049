//! Ctrl-C, at moments when the program is busy with something else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr};

use place::{Place, TWO, signal, stderr};

/// What a run says on standard error.
fn said(run: &mut Child) -> Lines<BufReader<ChildStderr>> {
    BufReader::new(run.stderr.take().unwrap()).lines()
}

/// Reads until so many evaluations have their values.
fn await_values(lines: &mut Lines<BufReader<ChildStderr>>, count: usize) {
    let is_value = |line: &String| line.contains(" = ") && line.contains(" after ");
    let values = lines.map_while(Result::ok).filter(is_value).take(count).count();
    assert_eq!(values, count);
}

#[test]
fn a_stop_is_honoured_while_a_suggestion_is_computed() {
    let place = Place::with_endless_search(TWO);
    let mut run = place.spawn(&["run", "--no-report"]);
    let mut lines = said(&mut run);
    await_values(&mut lines, 4);
    signal(&run, "-INT");
    std::thread::spawn(move || lines.count());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains("mass (minimise)") && shown.contains("interrupted: spent 10"),
        "{shown}"
    );
    assert_eq!(place.evaluations().len(), 4, "nothing was asked for after the stop");
}

#[test]
fn results_are_recorded_while_a_suggestion_is_computed() {
    let text = TWO.replace("\"echo\", \"{x}\"", "\"sh\", \"-c\", \"cat gate; echo {x}\"");
    let place = Place::with_endless_search(&text);
    place.gate("gate");
    let mut run = place.spawn(&["run", "--no-report", "--slots", "4"]);
    // Four initial evaluations: two of them end, and two wait at the gate. Then there is a free slot.
    let mut lines = said(&mut run);
    await_values(&mut lines, 2);
    std::thread::spawn(move || lines.count());
    place.await_that("the search begins", |place| {
        let turn = fs::File::open(place.path("study.runs/.choosing"));
        turn.is_ok_and(|file| file.try_lock().is_err())
    });
    let values = |place: &Place| {
        let told = |row: &&std::collections::BTreeMap<String, String>| row["status"] == "completed";
        place.evaluations().iter().filter(told).count()
    };
    place.await_that("results are recorded", |place| {
        // Opened and closed until both scripts have passed.
        drop(fs::OpenOptions::new().read(true).write(true).open(place.path("gate")).unwrap());
        values(place) == 4
    });
    assert_eq!(place.evaluations().len(), 4, "the search still goes on");
    // Several signals may arrive as one: as many as it takes.
    place.await_that("it ends", |_| {
        signal(&run, "-INT");
        run.try_wait().unwrap().is_some()
    });
    let ended = run.wait().unwrap();
    // A signal that comes while the front is made, after the run, ends the program as any other.
    assert!(ended.code() == Some(130) || ended.signal() == Some(2), "{ended:?}");
}

#[test]
fn a_third_signal_ends_the_program_while_the_database_waits() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "5"]);
    let connection = rusqlite::Connection::open(place.path("study.db")).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut run = place.spawn(&["run", "--no-report"]);
    // Before the program listens, the first would end it: wait until it has shown itself.
    place.await_that("it runs", |place| {
        fs::read_dir(place.path("study.runs/.owners")).is_ok_and(|owners| owners.count() > 0)
    });
    place.await_that("it ends", |_| {
        signal(&run, "-INT");
        run.try_wait().unwrap().is_some()
    });
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    drop(connection);
    assert_eq!(place.evaluations().len(), 2, "nothing was written");
}

#[test]
fn a_signal_ends_the_program_while_the_front_is_computed() {
    let place = Place::new(TWO);
    let text = fs::read_to_string(place.path("study.toml")).unwrap();
    let endless = "population = 10000, generations = 1000000";
    place.write("study.toml", &text.replace("population = 8, generations = 3", endless));
    let run = place.spawn(&["run", "--no-report"]);
    place.await_that("the budget is spent", |place| {
        place.run(&["status", "--json"]).status.success() && place.spent() == 18.0
    });
    let owners = place.path("study.runs/.owners");
    place.await_that("the run is over", |_| fs::read_dir(&owners).unwrap().count() == 0);
    signal(&run, "-INT");
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{:?}: {}", output.status, stderr(&output));
}

#[test]
fn the_front_is_printed_even_when_the_report_cannot_be_written() {
    let place = Place::new(TWO);
    fs::create_dir(place.path("study.html")).unwrap();
    let output = place.run(&["run"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(shown.contains("mass (minimise)") && shown.contains("spent 18 of 18"), "{shown}");
    assert!(stderr(&output).contains("study.html"), "{}", stderr(&output));
    let shown = place.run(&["run", "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
    assert!(shown["front"]["points"].is_array() && shown["report"].is_null(), "{shown}");
}
