//! Studies that earlier versions left behind open, say the same, and go on.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use unyoke::{Design, Event, FORMAT, FrontPoint, Journal, MemoryJournal, Record, Status, Study};

/// A study of format 1 with failed, pending, withdrawn and imported evaluations and a cost that
/// changed: its journal, and the front that the program of that time showed. Change nothing in them.
const JOURNAL: &str = include_str!("../../unyoke-cli/tests/relics/format-1/journal.jsonl");
const FRONT: &str = include_str!("../../unyoke-cli/tests/relics/format-1/front.json");

fn records() -> Vec<Record> {
    let records: Vec<Record> =
        JOURNAL.lines().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert!(records.iter().all(|record| record.format == 1));
    records
}

fn open(records: &[Record]) -> (Study, MemoryJournal) {
    let mut journal = MemoryJournal::default();
    journal.append(0, records).unwrap();
    (Study::open(journal.clone()).unwrap(), journal)
}

/// The designs of the front, as they were shown.
fn points() -> Vec<Value> {
    let front: Value = serde_json::from_str(FRONT).unwrap();
    front["points"].as_array().unwrap().clone()
}

fn assert_close(now: f64, then: &Value) {
    let then = then.as_f64().unwrap();
    assert!((now - then).abs() <= 1e-9 * then.abs(), "{now} is shown, {then} was");
}

fn assert_same_values(study: &Study, now: &FrontPoint, then: &Value) {
    for (output, forecast) in study.problem().outputs.iter().zip(&now.outputs) {
        let then = &then["objectives"][&output.name];
        assert_close(forecast.mean, &then["mean"]);
        assert_close(forecast.sd, &then["sd"]);
        assert_eq!(serde_json::to_value(&forecast.measured).unwrap(), then["measured"]);
    }
}

#[test]
fn a_study_of_format_1_has_the_front_that_it_had() {
    // Since then, designs at which runs are likely to fail have been left out. The front of that time
    // was the same whether evaluations had failed or had been withdrawn.
    let without_failures = |record: Record| match record.event {
        Event::Failed { evaluation, .. } => Event::Withdrawn { evaluation }.into(),
        _ => record,
    };
    let records: Vec<Record> = records().into_iter().map(without_failures).collect();
    let (study, _) = open(&records);
    let (front, then) = (study.front(20).unwrap(), points());
    assert_eq!(front.points.len(), then.len());
    for (now, then) in front.points.iter().zip(&then) {
        assert_eq!(serde_json::to_value(&now.design).unwrap(), then["design"]);
        assert_same_values(&study, now, then);
    }
}

#[test]
fn a_study_of_format_1_expects_of_designs_what_it_expected() {
    let (study, _) = open(&records());
    for then in points() {
        let design: Design = serde_json::from_value(then["design"].clone()).unwrap();
        assert_same_values(&study, &study.forecast(&design).unwrap(), &then);
    }
}

#[test]
fn a_study_of_format_1_has_spent_what_it_had_spent() {
    let (study, _) = open(&records());
    let count =
        |wanted: &str| study.evaluations().iter().filter(|e| e.status.word() == wanted).count();
    assert_eq!(["completed", "failed", "pending", "withdrawn"].map(count), [29, 4, 1, 1]);
    assert_eq!(study.evaluations()[18].status.word(), "failed");
    assert_eq!(*study.cost("stiffness").unwrap(), 9.0.into());
    let (mass, stiffness) = (study.spent_on("mass").unwrap(), study.spent_on("stiffness").unwrap());
    assert_eq!((mass, stiffness, study.spent()), (20.0, 88.0, 108.0));
}

#[test]
fn a_study_of_format_1_goes_on_in_the_format_of_today() {
    let (mut study, journal) = open(&records());
    let before = JOURNAL.lines().count() as u64;
    let asked = study.ask().unwrap();
    study.tell(asked.evaluation, 0.5).unwrap();
    // One that the program of that time had asked for, and one that it had seen fail.
    study.tell(34, 2.5).unwrap();
    study.retry(18).unwrap();
    let added = journal.read(before).unwrap();
    assert_eq!(added.len(), 4);
    assert!(added.iter().all(|record| record.format == FORMAT));
    let reopened = Study::open(journal).unwrap();
    assert_eq!(reopened.evaluations(), study.evaluations());
    assert_eq!(reopened.evaluations()[34].reading(1), Some(2.5.into()));
    assert_eq!(reopened.evaluations()[18].status, Status::Pending);
    assert_eq!(reopened.suggest().unwrap(), study.suggest().unwrap());
}
