//! Studies that earlier versions left behind open, say the same, and go on.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use unyoke::{Design, Event, FORMAT, Journal, MemoryJournal, Record, Status, Study};

/// A study of format 1 with failed, pending, withdrawn and imported evaluations and a cost that
/// changed: its journal, and the front that the program of that time showed. Change nothing in them.
const JOURNAL: &str = include_str!("../../unyoke-cli/tests/relics/format-1/journal.jsonl");
const FRONT: &str = include_str!("../../unyoke-cli/tests/relics/format-1/front.json");

fn open() -> (Study, MemoryJournal) {
    let records: Vec<Record> =
        JOURNAL.lines().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert!(records.iter().all(|record| record.format == 1));
    let mut journal = MemoryJournal::default();
    journal.append(0, &records).unwrap();
    (Study::open(journal.clone()).unwrap(), journal)
}

fn assert_close(now: f64, then: &Value) {
    let then = then.as_f64().unwrap();
    assert!((now - then).abs() <= 1e-9 * then.abs(), "{now} is shown, {then} was");
}

/// What is expected of the designs that were shown then is what it was.
fn assert_expects_the_same(study: &Study) {
    let then: Value = serde_json::from_str(FRONT).unwrap();
    let points = then["points"].as_array().unwrap();
    let design = |point: &Value| serde_json::from_value(point["design"].clone()).unwrap();
    let designs: Vec<Design> = points.iter().map(design).collect();
    let names: Vec<&str> = study.problem().outputs.iter().map(|o| o.name.as_str()).collect();
    for (point, then) in study.forecasts(&designs).unwrap().iter().zip(points) {
        for (name, forecast) in names.iter().zip(&point.outputs) {
            let then = &then["objectives"][name];
            assert_close(forecast.mean, &then["mean"]);
            assert_close(forecast.sd, &then["sd"]);
            assert_eq!(serde_json::to_value(&forecast.measured).unwrap(), then["measured"]);
        }
    }
}

/// Nearly all designs that were shown then are shown now. Of late those that were measured are among them,
/// and deviations are those of designs that were chosen for what models promise.
fn assert_similar_front(study: &Study) {
    let then: Value = serde_json::from_str(FRONT).unwrap();
    let front = study.front(20).unwrap();
    let is_shown = |then: &&Value| {
        let mean = |k: usize| then["objectives"][&front.outputs[k]]["mean"].as_f64().unwrap();
        let sd = |k: usize| then["objectives"][&front.outputs[k]]["sd"].as_f64().unwrap();
        front.points.iter().any(|point| {
            let forecasts = point.outputs.iter().enumerate();
            forecasts.clone().all(|(k, f)| (f.mean - mean(k)).abs() <= 1e-9 * mean(k).abs())
                && forecasts.clone().all(|(k, f)| f.sd >= 1.9 * sd(k))
        })
    };
    let shown = then["points"].as_array().unwrap().iter().filter(is_shown).count();
    assert!(front.points.len() == 20 && shown >= 18, "{shown} of 20");
    for known in study.measured_front().unwrap().points {
        assert!(front.points.iter().any(|point| point.design == known.design), "{known:?}");
    }
}

#[test]
fn a_study_of_format_1_has_the_front_and_the_costs_that_it_had() {
    let (study, _) = open();
    assert_expects_the_same(&study);
    assert_similar_front(&study);
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
    let (mut study, journal) = open();
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

/// A study that the last version to write format 2 asked for, with a constraint and default settings.
/// Change nothing in it.
const FORMAT_2: &str = include_str!("golden/study-format-2.jsonl");

/// Whatever users can say about their wishes since, a study that says nothing goes on as it did. Not to the
/// bit any more: since designs are screened together and gradients are added up in another order, a
/// maximum may differ in its last digits.
#[test]
fn a_study_of_format_2_suggests_what_it_suggested() {
    let records: Vec<Record> =
        FORMAT_2.lines().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert!(records.iter().all(|record| record.format == 2));
    let mut searched = 0;
    for (i, record) in records.iter().enumerate() {
        let Event::Asked { design, measurement, initial: false, .. } = &record.event else {
            continue;
        };
        // Every other one will do; searches take a while.
        searched += 1;
        if searched % 2 == 0 {
            continue;
        }
        let mut journal = MemoryJournal::default();
        journal.append(0, &records[..i]).unwrap();
        let suggestion = Study::open(journal).unwrap().suggest().unwrap();
        assert_eq!(&suggestion.measurement, measurement);
        for (name, range) in [("span", 8.0), ("chord", 0.8)] {
            let [found, then] = [&suggestion.design, design].map(|d| d.real(name).unwrap());
            assert!((found - then).abs() < 1e-7 * range, "{i}: {name} {found}, not {then}");
        }
    }
    assert!(searched >= 9);
}
