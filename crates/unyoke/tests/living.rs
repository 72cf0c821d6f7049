//! What people ask for: designs of their own, what is possible today, not that one again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod studies;

use studies::{at, f, g, two_objectives};
use unyoke::{
    Algorithm, Config, Design, Error, Event, Initial, Journal, MemoryJournal, Origin, Outcome,
    Pause, Permission, Problem, Status, Study, Suggestion,
};

fn value_of(suggestion: &Suggestion) -> f64 {
    let [x, y] = ["x", "y"].map(|name| suggestion.design.real(name).unwrap());
    if suggestion.measurement == "f" { f(x, y) } else { g(x, y) }
}

/// A study of the plane with this many evaluations.
fn begun(count: usize) -> Study {
    let mut study = Study::new(two_objectives()).unwrap();
    for _ in 0..count {
        let next = study.ask().unwrap();
        study.tell(next.evaluation, value_of(&next)).unwrap();
    }
    study
}

fn granted(_: &Study, _: &[usize]) -> Permission {
    Permission::Granted
}

#[test]
fn what_is_queued_comes_first_and_changes_no_random_numbers() {
    let (mut study, without) = (begun(14), begun(14));
    let entry = study.queue(at(0.3, 0.6), None).unwrap();
    let asked = study.ask_many(2).unwrap();
    for one in &asked {
        assert_eq!((one.origin, one.queued), (Origin::Queued, Some(entry)));
        assert_eq!(one.design, at(0.3, 0.6));
    }
    assert_ne!(asked[0].measurement, asked[1].measurement);
    assert!(study.queued().unwrap().is_empty());
    // Taken back, it waits again; nothing else has changed.
    for one in &asked {
        study.withdraw(one.evaluation).unwrap();
    }
    assert_eq!(study.queued().unwrap().len(), 1);
    study.unqueue(entry).unwrap();
    assert_eq!(study.unqueue(entry), Err(Error::NotQueued { entry }));
    let (next, before) = (study.suggest().unwrap(), without.suggest().unwrap());
    assert_eq!((next.design, next.options), (before.design, before.options));
}

#[test]
fn a_queued_design_waits_for_what_it_lacks_only() {
    let mut study = begun(14);
    study.tell_result(at(0.3, 0.6), "f", f(0.3, 0.6)).unwrap();
    study.queue(at(0.3, 0.6), None).unwrap();
    let next = study.ask().unwrap();
    assert_eq!((next.measurement.as_str(), next.origin), ("g", Origin::Queued));
    study.tell(next.evaluation, g(0.3, 0.6)).unwrap();
    let all_known = study.queue(at(0.3, 0.6), None).unwrap_err();
    assert!(matches!(all_known, Error::NothingLacking { .. }), "{all_known}");
    // A measurement that is named is made again.
    study.queue(at(0.3, 0.6), Some("f")).unwrap();
    assert_eq!(study.ask().unwrap().measurement, "f");
    assert!(matches!(study.queue(at(0.3, 2.0), None), Err(Error::BadValue { .. })));
    assert!(matches!(study.queue(at(0.3, 0.5), Some("h")), Err(Error::UnknownMeasurement { .. })));
}

#[test]
fn what_may_not_be_made_stays_queued_and_others_go_on() {
    let mut study = begun(14);
    study.queue(at(0.3, 0.6), Some("g")).unwrap();
    let only_f = |_: &Study, which: &[usize]| match which {
        [0] => Permission::Granted,
        _ => Permission::Never,
    };
    let next = study.ask_where(only_f).unwrap().unwrap();
    assert_eq!((next.measurement.as_str(), next.queued), ("f", None));
    assert_eq!(study.queued().unwrap().len(), 1);
    assert_eq!(study.ask().unwrap().queued, Some(0));
}

#[test]
fn what_is_skipped_is_not_suggested_again_before_five_more_results() {
    let (mut study, mut withdrawn) = (begun(14), begun(14));
    let spent = study.spent();
    let first = study.ask().unwrap();
    study.skip(first.evaluation).unwrap();
    assert_eq!(study.evaluations()[first.evaluation as usize].status, Status::Withdrawn);
    assert_eq!(study.spent(), spent);
    let apart = |a: &Suggestion, b: &Suggestion| {
        let distance =
            |name: &str| (a.design.real(name).unwrap() - b.design.real(name).unwrap()).abs();
        a.measurement != b.measurement || distance("x") + distance("y") > 1e-3
    };
    let second = study.suggest().unwrap();
    assert!(apart(&first, &second), "{first:?} {second:?}");
    // With five more results it counts as if it had been withdrawn.
    let taken_back = withdrawn.ask().unwrap();
    withdrawn.withdraw(taken_back.evaluation).unwrap();
    for study in [&mut study, &mut withdrawn] {
        for i in 0..5 {
            let x = 0.1 + 0.15 * f64::from(i);
            study.queue(at(x, 1.0 - x), Some("f")).unwrap();
            let next = study.ask().unwrap();
            study.tell(next.evaluation, value_of(&next)).unwrap();
        }
    }
    assert_eq!(study.suggest().unwrap(), withdrawn.suggest().unwrap());
    let settled = Err(Error::AlreadySettled { id: first.evaluation, how: "withdrawn" });
    assert_eq!(study.skip(first.evaluation), settled);
}

#[test]
fn a_skipped_initial_design_gives_way_to_another_and_a_skipped_entry_leaves_the_queue() {
    let mut study = begun(0);
    let first = study.ask().unwrap();
    study.skip(first.evaluation).unwrap();
    let second = study.ask().unwrap();
    assert!(second.is_initial() && second.design != first.design);
    study.queue(at(0.3, 0.6), None).unwrap();
    let queued = study.ask().unwrap();
    assert_eq!(queued.origin, Origin::Queued);
    study.skip(queued.evaluation).unwrap();
    assert!(study.queued().unwrap().is_empty());
    assert!(study.ask().unwrap().is_initial());
}

#[test]
fn searches_are_restricted_to_fixed_values_of_any_kind() {
    let problem = Problem::builder()
        .continuous("x", 0.1, 0.7)
        .integer("n", 1, 50)
        .categorical("kind", ["oak", "pine", "elm"])
        .limit("room", "x + n / 100 <= 1")
        .minimise("f", 1.0)
        .minimise("g", 4.0)
        .build()
        .unwrap();
    let mut study = Study::new(problem).unwrap();
    let fixes = [
        Design::new().with("kind", "pine"),
        Design::new().with("x", 0.3),
        Design::new().with("n", 40).with("kind", "elm"),
    ];
    for round in 0..24 {
        let fixed = &fixes[round % 3];
        let next = study.ask_within(fixed, granted).unwrap().unwrap();
        for (name, value) in fixed.iter() {
            assert_eq!(next.design.get(name), Some(value), "to the last bit, in round {round}");
        }
        let [x, n] = ["x", "n"].map(|name| next.design.real(name).unwrap());
        assert!(x + n / 100.0 <= 1.0);
        for row in &next.options {
            assert!(fixed.iter().all(|(name, value)| row.design.get(name) == Some(value)));
        }
        let value = if next.measurement == "f" { x + n } else { 1.0 / x - n };
        study.tell(next.evaluation, value).unwrap();
    }
    assert!(study.evaluations().iter().any(|e| e.is_searched()), "models were asked as well");
    assert_eq!(
        study.suggest_within(&Design::new(), granted).unwrap(),
        Some(study.suggest().unwrap())
    );
}

#[test]
fn values_that_cannot_be_fixed_are_refused() {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    let problem = problem.limit("much", "x + y >= 1").minimise("f", 1.0).build().unwrap();
    let study = Study::new(problem).unwrap();
    let refused = |fixed: Design| study.suggest_within(&fixed, granted).unwrap_err().to_string();
    assert_eq!(refused(Design::new().with("x", 2.0)), "x is 2.0, but must be from 0 to 1");
    assert!(refused(Design::new().with("z", 2.0)).contains("no parameter is called \"z\""));
    let impossible = Design::new().with("x", 0.25).with("y", 0.5);
    assert_eq!(refused(impossible), "no design with x = 0.25, y = 0.5 is within the limits");
}

#[test]
fn a_design_owed_elsewhere_does_not_break_a_restriction() {
    let initial = Initial { designs: Some(3), ..Initial::default() };
    let config = Config { algorithm: Algorithm::MakgVector, initial, ..Config::default() };
    let mut study = Study::with_config(two_objectives(), config, 1).unwrap();
    for _ in 0..7 {
        let next = study.ask().unwrap();
        study.tell(next.evaluation, value_of(&next)).unwrap();
    }
    assert_eq!(study.suggest().unwrap().origin, Origin::SameDesign);
    let fixed = Design::new().with("x", 0.125);
    let next = study.ask_within(&fixed, granted).unwrap().unwrap();
    assert_eq!(next.design.real("x"), Some(0.125));
}

#[test]
fn a_value_after_a_retry_counts_once() {
    let (mut study, mut again) = (begun(14), begun(14));
    let next = study.ask().unwrap();
    again.ask().unwrap();
    again.tell_failure(next.evaluation, "no licence").unwrap();
    again.retry(next.evaluation).unwrap();
    for study in [&mut study, &mut again] {
        study.tell(next.evaluation, value_of(&next)).unwrap();
    }
    assert_eq!(study.suggest().unwrap().design, again.suggest().unwrap().design);
    assert_eq!(study.front(4).unwrap(), again.front(4).unwrap());
}

#[test]
fn queues_and_pauses_follow_an_amendment() {
    let problem = |high: f64| Problem::builder().continuous("x", 0.0, high).minimise("f", 1.0);
    let mut study = Study::new(problem(1.0).minimise("g", 2.0).build().unwrap()).unwrap();
    study.queue(Design::new().with("x", 0.5), Some("g")).unwrap();
    study.pause("g", Pause { until: Some(7), reason: Some("down".into()) }).unwrap();
    let config = study.config().clone();
    let fewer = problem(1.0).build().unwrap();
    let refused = study.redefine(fewer, config.clone(), Design::new()).unwrap_err().to_string();
    assert!(refused.contains("queue entry q0"), "{refused}");
    let wider = problem(4.0).categorical("kind", ["a", "b"]).minimise("g", 2.0).build().unwrap();
    study.redefine(wider, config, Design::new().with("kind", "a")).unwrap();
    let next = study.ask().unwrap();
    assert_eq!(next.design, Design::new().with("x", 0.5).with("kind", "a"));
    let m = study.problem().measurement_index("g").unwrap();
    let pause = study.pause_of(m).unwrap().clone();
    assert_eq!(pause.reason.as_deref(), Some("down"));
    assert!(pause.holds_at(6) && !pause.holds_at(7));
    assert!(study.resume("g").unwrap() && !study.resume("g").unwrap());
    assert!(matches!(study.pause("h", pause), Err(Error::UnknownMeasurement { .. })));
}

#[test]
fn a_journal_in_which_a_queue_makes_no_sense_is_refused() {
    let study = begun(1);
    let asked = |entry: u64| Event::QueuedAsked {
        evaluation: 1,
        design: at(0.5, 0.5),
        measurement: "f".into(),
        cost: 1.0,
        entry,
    };
    let queued = |entry: u64| Event::Queued { entry, design: at(0.5, 0.5), measurement: None };
    let created = Event::Created {
        problem: study.problem().clone(),
        config: study.config().clone(),
        seed: 0,
    };
    for wrong in [vec![asked(0)], vec![queued(1)], vec![Event::Unqueued { entry: 0 }]] {
        let mut journal = MemoryJournal::default();
        let events = std::iter::once(created.clone()).chain(wrong);
        let records: Vec<_> = events.map(unyoke::Record::from).collect();
        journal.append(0, &records).unwrap();
        assert!(matches!(Study::open(journal), Err(Error::CorruptJournal { .. })));
    }
}

#[test]
fn what_was_skipped_may_have_been_made_after_all() {
    let mut study = begun(3);
    let next = study.ask().unwrap();
    study.skip(next.evaluation).unwrap();
    study.tell(next.evaluation, Outcome::from(1.5).cost(2.0)).unwrap();
    assert_eq!(study.evaluations()[3].status.word(), "completed");
}
