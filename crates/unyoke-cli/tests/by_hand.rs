//! Evaluations asked for and recorded by hand, while others work on the same study.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;

use place::{Place, TWO, stderr};
use unyoke::{Event, Journal, Record, Status, Study};
use unyoke_store::{Location, Store};

/// `mass` costs 1 and has no command.
const PLAIN: &str = "
[parameters.x]
low = 0
high = 1
[objectives.mass]
goal = \"minimise\"
cost = 1
";

fn store(place: &Place) -> Store {
    Store::open(&Location::File(place.path("study.db"))).unwrap()
}

#[test]
fn a_file_imported_by_many_at_once_is_imported_once() {
    let rows: String = (0..20).map(|i| format!("{},{i}\n", f64::from(i) / 20.0)).collect();
    for round in 0..4 {
        let place = Place::new(PLAIN);
        place.write("old.csv", &format!("x,mass\n{rows}"));
        // In some rounds the study is there already, in others they all begin it.
        if round % 2 == 0 {
            place.text(&["ask"]);
        }
        let all: Vec<_> = (0..6).map(|_| place.spawn(&["import", "old.csv", "--json"])).collect();
        let mut imported = 0;
        for child in all {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(said["imported"].as_u64().unwrap() + said["known"].as_u64().unwrap(), 20);
            imported += said["imported"].as_u64().unwrap();
        }
        let values = place.evaluations().iter().filter(|row| row["status"] == "completed").count();
        assert_eq!((imported, values), (20, 20), "round {round}");
    }
}

#[test]
fn what_is_asked_for_by_hand_belongs_to_whoever_asked() {
    let place = Place::new(PLAIN);
    place.text(&["ask"]);
    // A run that was faster to claim evaluations 1, 2 and 4, before they were even asked for.
    let store = store(&place);
    for evaluation in [1, 2, 4] {
        store.claim(evaluation, "a run", Duration::from_secs(600)).unwrap();
    }
    let asked = place.json(&["ask", "--count", "3"]);
    let asked: Vec<u64> =
        asked.as_array().unwrap().iter().map(|one| one["evaluation"].as_u64().unwrap()).collect();
    assert_eq!(asked, [3, 5, 6]);
    for status in store.leases().unwrap() {
        let by_hand = status.lease.owner == "by hand";
        let evaluation = status.lease.evaluation;
        assert_eq!(by_hand, evaluation == 0 || asked.contains(&evaluation), "{status:?}");
    }
    let pending = place.json(&["status"])["pending"].as_array().unwrap().len();
    assert_eq!(pending, 7, "what the run took up is its own");
}

#[test]
fn a_failure_recorded_while_a_command_runs_is_not_overwritten_by_its_value() {
    let text = TWO.replace("\"echo\", \"{x}\"", "\"sh\", \"-c\", \"cat gate; echo {x}\"");
    let place = Place::new(&text.replace("cost = 18", "cost = 1"));
    place.gate("gate");
    let mut run = place.spawn(&["run", "--no-report"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("mass at x="));
    let said = place.text(&["tell", "0", "--failed", "the sensor was off"]);
    assert!(said.contains("recorded as failed"), "{said}");
    assert!(said.contains("kept as a late result"), "{said}");
    let watcher = thread::spawn(move || lines.map(Result::unwrap).collect::<Vec<_>>());
    // Whether the command is still there or was stopped, nobody must wait at the gate without end.
    while run.try_wait().unwrap().is_none() {
        let gate = fs::OpenOptions::new().read(true).write(true).open(place.path("gate")).unwrap();
        thread::sleep(Duration::from_millis(20));
        drop(gate);
    }
    watcher.join().unwrap();
    let study = Study::open(store(&place)).unwrap();
    let failed = Status::Failed("the sensor was off".into());
    assert_eq!(study.evaluations()[0].status, failed);

    let said = place.fails(&["tell", "0", "0.5"], 1);
    assert!(said.contains("recorded as failed (the sensor was off)"), "{said}");
    assert!(said.contains("unyoke tell --correct 0 0.5"), "{said}");
    place.text(&["tell", "0", "0.5", "--replace"]);
    assert_eq!(place.evaluations()[0]["mass"], "0.5");
    assert_eq!(place.spent(), 1.0);
}

#[test]
fn a_withdrawn_evaluation_that_was_made_after_all_is_shown_for_what_it_is() {
    let place = Place::new(&format!("[budget]\ncost = 1\n{PLAIN}"));
    place.text(&["ask"]);
    place.text(&["tell", "0", "--withdraw"]);
    place.text(&["ask"]);
    place.text(&["tell", "1", "2.5"]);
    let said = place.text(&["tell", "0", "3.5"]);
    assert!(said.contains("spent 2, 1 over the budget of 1"), "{said}");
    assert!(said.contains("it had been withdrawn; its value and its cost count now"), "{said}");
    let status = place.text(&["status"]);
    assert!(status.contains("spent 2, 1 over the budget of 1"), "{status}");
    assert!(status.contains("withdrawn were made after all"), "{status}");
    assert!(place.fails(&["ask"], 1).contains("budget"));
}

#[test]
fn an_evaluation_that_cost_more_than_expected_may_lead_beyond_the_budget() {
    let place = Place::new(&format!("[budget]\ncost = 1\n{PLAIN}"));
    place.text(&["ask"]);
    let said = place.text(&["tell", "0", "2.5", "--cost", "3"]);
    assert!(said.contains("spent 3, 2 over the budget of 1"), "{said}");
    let status = place.text(&["status"]);
    assert!(status.contains("evaluations cost more than expected"), "{status}");
}

#[test]
fn every_record_says_who_and_when_and_nothing_follows_from_it() {
    /// Asks and tells by hand, runs, amends, all as `user`.
    fn play(user: &str) -> Vec<Record> {
        let place = Place::new(TWO);
        let run = |arguments: &[&str]| {
            let output = place.command(arguments).env("UNYOKE_USER", user).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
        };
        run(&["ask"]);
        run(&["tell", "0", "0.25"]);
        run(&["run"]);
        let wider = fs::read_to_string(place.path("study.toml")).unwrap();
        place.write("study.toml", &wider.replace("high = 1", "high = 2"));
        run(&["amend", "--yes"]);
        store(&place).read(0).unwrap()
    }
    let began = unyoke_run::now();
    let [ann, bob] = ["Ann", "Bob"].map(play);
    let events = |records: &[Record]| -> Vec<Event> {
        records.iter().map(|record| record.event.clone()).collect()
    };
    assert_eq!(events(&ann), events(&bob));
    for (user, records) in [("Ann", ann), ("Bob", bob)] {
        let by: Vec<&str> = records.iter().map(|record| record.by.as_deref().unwrap()).collect();
        let (last, runs) = (by.len() - 1, format!("{user}@"));
        assert_eq!(([by[0], by[1], by[2], by[last]]), [user; 4]);
        assert!(by.len() > 8 && by[3..last].iter().all(|by| by.starts_with(&runs)), "{by:?}");
        let at: Vec<u64> = records.iter().map(|record| record.at.unwrap()).collect();
        assert!(at.is_sorted() && at[0] >= began && at[last] <= unyoke_run::now(), "{at:?}");
    }
}
