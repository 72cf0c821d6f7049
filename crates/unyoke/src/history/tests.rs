use super::*;
use crate::cases;
use crate::event::FORMAT;
use crate::problem::{Measurement, Output};
use proptest::prelude::*;

fn created() -> Event {
    let problem = Problem::builder()
        .continuous("x", 0.0, 2.0)
        .maximise("f", 1.0)
        .minimise("g", 10.0)
        .build()
        .unwrap();
    Event::Created { problem, config: Config::default(), seed: 7 }
}

fn asked(evaluation: u64, measurement: &str, x: f64) -> Event {
    let cost = if measurement == "f" { 1.0 } else { 10.0 };
    let design = Design::new().with("x", x);
    Event::Asked { evaluation, design, measurement: measurement.into(), cost, initial: false }
}

fn imported(evaluation: u64, objective: &str, x: f64, value: f64) -> Event {
    let design = Design::new().with("x", x);
    Event::Imported { evaluation, design, objective: objective.into(), value }
}

fn told(evaluation: u64, value: f64) -> Event {
    Event::Told { evaluation, value }
}

fn failed(evaluation: u64) -> Event {
    Event::Failed { evaluation, reason: "crashed".into(), cost: None }
}

fn replay(events: impl IntoIterator<Item = Event>) -> Result<History> {
    let records: Vec<Record> = events.into_iter().map(Record::from).collect();
    History::replay(&records)
}

/// The history after these events, which follow the creation.
fn after(events: impl IntoIterator<Item = Event>) -> History {
    replay(std::iter::once(created()).chain(events)).unwrap()
}

#[test]
fn results_are_kept_in_the_order_of_their_arrival() {
    let history = after([
        asked(0, "f", 0.5),
        asked(1, "g", 1.0),
        asked(2, "f", 1.5),
        told(2, 3.0),
        imported(3, "f", 4.0, 2.0),
        told(0, 1.0),
    ]);
    let f: Vec<_> = history.observations(0).map(|(x, reading)| (x, reading.value)).collect();
    assert_eq!(f, [(&[0.75][..], 3.0), (&[2.0][..], 2.0), (&[0.25][..], 1.0)]);
    assert_eq!(history.observations(1).count(), 0);
    assert_eq!((history.count(0), history.count(1)), (3, 0));
    assert_eq!(history.pending(1).collect::<Vec<_>>(), [[0.5]]);
    assert_eq!(history.pending(0).count(), 0);
    assert_eq!(history.position, 7);
    assert_eq!(history.point(3), [2.0]);
    let import = &history.evaluations[3];
    assert_eq!((import.id, import.cost, import.asked), (3, 0.0, false));
}

#[test]
fn what_came_to_an_end_was_paid_for() {
    let mut history = after([asked(0, "f", 0.5), asked(1, "g", 1.0), asked(2, "g", 1.5)]);
    assert_eq!(history.spent(), 0.0);
    for event in [told(0, 1.0), failed(1), Event::Withdrawn { evaluation: 2 }] {
        history.apply(&event.into()).unwrap();
    }
    assert_eq!(history.spent(), 11.0);
    assert_eq!((history.spent_on(0), history.spent_on(1)), (1.0, 10.0));
    assert_eq!(history.failed(1).collect::<Vec<_>>(), [[0.5]]);
    history.apply(&imported(3, "f", 0.1, 0.0).into()).unwrap();
    assert_eq!(history.spent(), 11.0);
}

#[test]
fn a_new_cost_holds_from_then_on() {
    let change = Event::CostChanged { measurement: "g".into(), cost: 3.5.into() };
    let history = after([asked(0, "g", 1.0), change, told(0, 1.0)]);
    assert_eq!([history.cost(0), history.cost(1)], [&1.0.into(), &3.5.into()]);
    assert_eq!(history.spent(), 10.0);
}

#[test]
fn a_late_result_is_kept() {
    for end in [failed(0), Event::Withdrawn { evaluation: 0 }] {
        let history = after([asked(0, "f", 0.5), end, told(0, 4.0)]);
        assert_eq!(history.evaluations[0].reading(0), Some(4.0.into()));
        assert_eq!(history.observations(0).count(), 1);
        assert_eq!(history.spent(), 1.0);
    }
}

#[test]
fn an_evaluation_is_settled_once() {
    let withdrawn = || Event::Withdrawn { evaluation: 0 };
    let already = |how| Err(Error::AlreadySettled { id: 0, how });
    let history = after([asked(0, "f", 0.5), told(0, 1.0)]);
    for again in [told(0, 1.0), failed(0), withdrawn()] {
        assert_eq!(history.check(&again), already("completed"));
    }
    let history = after([asked(0, "f", 0.5), failed(0)]);
    assert_eq!(history.check(&failed(0)), already("failed"));
    let history = after([asked(0, "f", 0.5), withdrawn()]);
    assert_eq!(history.check(&failed(0)), already("withdrawn"));
    let history = after([imported(0, "f", 0.5, 1.0)]);
    assert_eq!(history.check(&told(0, 2.0)), already("completed"));
}

/// A study with a run that gives two outputs, and what was recorded of its first evaluation.
fn of_two(outcome: impl Into<Outcome>) -> (History, Result<()>) {
    let run = Measurement::new("run", ["f", "g"], 5.0);
    let problem = Problem::builder()
        .continuous("x", 0.0, 2.0)
        .output(Output::maximise("f"))
        .output(Output::at_most("g", 1.0).log_scale())
        .measurement(run)
        .build()
        .unwrap();
    let created = Event::Created { problem, config: Config::default(), seed: 7 };
    let mut history = replay([created, asked(0, "run", 0.5)]).unwrap();
    let recorded = history.ended(0, outcome.into()).and_then(|event| history.apply(&event.into()));
    (history, recorded)
}

#[test]
fn a_run_that_failed_in_part_keeps_the_values_it_gave() {
    for outcome in [
        Outcome::from([("f", 1.5), ("g", f64::NAN)]),
        Outcome::from([("f", 1.5)]).missing("g is NaN"),
    ] {
        let (history, recorded) = of_two(outcome);
        assert_eq!(recorded, Ok(()));
        assert_eq!((history.count(0), history.count(1)), (1, 0));
        assert_eq!((history.failed(0).count(), history.failed(1).count()), (0, 1));
        let Status::Completed(results) = &history.evaluations[0].status else { panic!() };
        assert_eq!(results.missing.as_deref(), Some("g is NaN"));
        assert_eq!(history.spent(), 10.0);
    }
    let (history, recorded) = of_two([("f", f64::NAN), ("g", f64::INFINITY)]);
    assert_eq!(recorded, Ok(()));
    let reason = "f is NaN; g is inf".to_owned();
    assert_eq!(history.evaluations[0].status, Status::Failed(reason));
}

#[test]
fn values_must_be_those_of_the_measurement_and_possible() {
    let refused = |outcome: Outcome| of_two(outcome).1.unwrap_err().to_string();
    let alone = refused(1.0.into());
    assert!(alone.contains("evaluation 0 measures f, g") && alone.contains("by name"), "{alone}");
    let unknown = refused([("h", 1.0)].into());
    assert!(unknown.contains("no output is called \"h\""), "{unknown}");
    let negative = refused([("f", 1.0), ("g", -1.0)].into());
    assert!(negative.contains("g is -1, but must be positive"), "{negative}");
    for sd in [-1.0, f64::NAN, f64::INFINITY] {
        let message = refused(Outcome::default().value("f", Reading { value: 1.0, sd: Some(sd) }));
        assert!(message.contains("standard error of f"), "{message}");
    }
    for cost in [-1.0, f64::NAN] {
        let message = refused(Outcome::from([("f", 1.0)]).cost(cost));
        assert!(message.contains("cost"), "{message}");
    }
    let (history, recorded) =
        of_two(Outcome::default().value("f", Reading { value: 1.0, sd: Some(0.0) }));
    assert_eq!((recorded, history.count(0)), (Ok(()), 1));
}

#[test]
fn what_really_happened_counts() {
    let outcome = Outcome::from([("f", 1.0), ("g", 2.0)]).cost(7.5);
    let (history, recorded) = of_two(outcome.at(Design::new().with("x", 0.52)));
    assert_eq!(recorded, Ok(()));
    assert_eq!(history.spent(), 7.5);
    assert_eq!(history.evaluations[0].design, Design::new().with("x", 0.52));
    assert_eq!(history.point(0), [0.26]);
}

#[test]
fn a_failed_evaluation_may_be_made_again_and_is_paid_for_once_unless_it_said_otherwise() {
    let retried = || Event::Retried { evaluation: 0 };
    let failed_at = |cost| Event::Failed { evaluation: 0, reason: "no".into(), cost };
    for (cost, total) in [(None, 1.0), (Some(0.25), 1.25)] {
        let history = after([asked(0, "f", 0.5), failed_at(cost), retried()]);
        assert_eq!(history.pending(0).count(), 1);
        assert_eq!(history.failed(0).count(), 0);
        let mut history = history;
        assert!(history.check(&retried()).is_err());
        history.apply(&told(0, 2.0).into()).unwrap();
        assert_eq!(history.spent(), total);
        assert!(history.check(&retried()).is_err());
    }
}

#[test]
fn a_journal_begins_with_the_creation_and_has_no_other() {
    let position = |result: Result<History>| match result {
        Err(Error::CorruptJournal { position, .. }) => Some(position),
        _ => None,
    };
    assert_eq!(position(replay([])), Some(0));
    assert_eq!(position(replay([told(0, 1.0)])), Some(0));
    assert_eq!(position(replay([created(), created()])), Some(1));
    let (outputs, measurements, limits) = (vec![], vec![], vec![]);
    let problem = Problem { parameters: vec![], outputs, measurements, limits };
    let invalid = Event::Created { problem, config: Config::default(), seed: 0 };
    assert_eq!(position(replay([invalid])), Some(0));
}

/// Events that no journal can have after evaluation 0, of f, was asked for.
fn contradictions() -> Vec<Event> {
    let ask = |design: Design, measurement: &str, cost| {
        let measurement = measurement.into();
        Event::Asked { evaluation: 1, design, measurement, cost, initial: false }
    };
    let x = || Design::new().with("x", 1.0);
    let confirm = |measurement: &str, round| {
        let (design, measurement, cost) = (x(), measurement.into(), 1.0);
        Event::ConfirmationAsked { evaluation: 1, design, measurement, cost, round }
    };
    let price = |measurement: &str, cost: f64| Event::CostChanged {
        measurement: measurement.into(),
        cost: cost.into(),
    };
    vec![
        created(),
        asked(0, "f", 0.5),
        asked(2, "f", 0.5),
        asked(u64::MAX, "f", 0.5),
        ask(x(), "h", 1.0),
        confirm("h", 1),
        // From no records, and from some that are not there yet.
        confirm("f", 0),
        confirm("f", 3),
        ask(x(), "f", 0.0),
        ask(x(), "f", f64::NAN),
        ask(Design::new(), "f", 1.0),
        ask(x().with("y", 1.0), "f", 1.0),
        ask(Design::new().with("x", f64::NAN), "f", 1.0),
        ask(Design::new().with("x", "red"), "f", 1.0),
        imported(1, "h", 0.5, 1.0),
        imported(1, "f", 0.5, f64::NAN),
        imported(3, "f", 0.5, 1.0),
        told(1, 1.0),
        told(u64::MAX, 1.0),
        told(0, f64::NAN),
        told(0, f64::INFINITY),
        failed(1),
        Event::Withdrawn { evaluation: 1 },
        price("h", 1.0),
        price("f", -1.0),
        price("f", f64::INFINITY),
    ]
}

#[test]
fn contradictions_are_refused_and_change_nothing() {
    let mut history = after([asked(0, "f", 0.5)]);
    let before = history.clone();
    for event in contradictions() {
        assert!(history.check(&event).is_err(), "{event:?}");
        let Err(Error::CorruptJournal { position: 2, .. }) = history.apply(&event.clone().into())
        else {
            panic!("{event:?} was accepted")
        };
        assert_eq!(history, before);
    }
}

#[test]
fn whoever_causes_a_contradiction_learns_what_to_change() {
    let history = after([asked(0, "f", 0.5)]);
    assert_eq!(history.check(&told(5, 1.0)), Err(Error::UnknownEvaluation { id: 5 }));
    let price = Event::CostChanged { measurement: "f".into(), cost: 0.0.into() };
    let bad = Error::BadCost { measurement: "f".into(), cost: 0.0 };
    assert_eq!(history.check(&price), Err(bad));
    assert!(matches!(history.check(&told(0, f64::NAN)), Err(Error::BadValue { .. })));
    assert_eq!(history.check(&told(0, 1.0)), Ok(()));
}

#[test]
fn newer_formats_are_refused_and_older_ones_are_not() {
    let newer = |event| Record { format: FORMAT + 1, ..Record::from(event) };
    let refusal = Error::Format { found: FORMAT + 1, known: FORMAT };
    assert_eq!(History::replay(&[newer(created())]), Err(refusal.clone()));
    let mut history = after([asked(0, "f", 0.5)]);
    assert_eq!(history.apply(&newer(told(0, 1.0))), Err(refusal));
    assert_eq!(history.evaluations[0].status, Status::Pending);
    let older = Record { format: 0, ..Record::from(told(0, 1.0)) };
    assert_eq!(history.apply(&older), Ok(()));
}

#[test]
fn a_journal_of_format_1_replays_for_ever() {
    let text = include_str!("../../tests/golden/journal-format-1.jsonl");
    let records: Vec<Record> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let history = History::replay(&records).unwrap();
    let observed: Vec<_> = history.observations(0).map(|(x, r)| (x, r.value)).collect();
    assert_eq!(observed, [(&[0.25][..], 0.1), (&[1.0][..], -3.0)]);
    assert_eq!(history.evaluations[2].status, Status::Withdrawn);
    assert_eq!(history.failed(0).collect::<Vec<_>>(), [[0.75]]);
    assert_eq!((history.spent(), history.cost(0)), (3.5, &2.5.into()));
}

proptest! {
    #[test]
    fn a_journal_cut_anywhere_is_a_valid_history(records in cases::journals()) {
        let mut history = History::replay(&records[..1]).unwrap();
        for (i, record) in records.iter().enumerate().skip(1) {
            history.apply(record).unwrap();
            prop_assert_eq!(&History::replay(&records[..=i]).unwrap(), &history);
            prop_assert_eq!(history.position, i as u64 + 1);
        }
    }

    #[test]
    fn every_evaluation_is_counted_once(records in cases::journals()) {
        let history = History::replay(&records).unwrap();
        let gone = history.evaluations.iter().filter(|e| !e.status.counts());
        // Once for each output that it gives, or could not give.
        let expected: usize = history.evaluations.iter().map(|e| e.outputs.len()).sum();
        let left_out: usize = gone.map(|e| e.outputs.len()).sum();
        let count =
            |k| history.count(k) + history.pending(k).count() + history.failed(k).count();
        let counted: usize = (0..history.problem.outputs.len()).map(count).sum();
        prop_assert_eq!(counted + left_out, expected);
        let measurements = 0..history.problem.measurements.len();
        let parts: f64 = measurements.map(|m| history.spent_on(m)).sum();
        prop_assert!((parts - history.spent()).abs() <= 1e-12 * parts);
    }
}
