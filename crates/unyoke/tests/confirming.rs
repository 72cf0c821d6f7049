//! What was measured stays in view, and what is recommended can be confirmed.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use unyoke::{
    Algorithm, Config, Design, FrontPoint, FrontSearch, Initial, Journal, Measurement,
    MemoryJournal, NextConfirmation, Origin, Outcome, Output, Permission, Problem, Record, Search,
    Study, Suggestion,
};

fn quick() -> Config {
    Config {
        initial: Initial { designs: Some(3), ..Initial::default() },
        search: Search { raw: 16, restarts: 2, iterations: 10 },
        front: FrontSearch { population: 24, generations: 12 },
        ..Config::default()
    }
}

/// `mass` costs 1, `drag` 4; a wavy front.
fn problem() -> Problem {
    let builder = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    builder.minimise("mass", 1.0).minimise("drag", 4.0).build().unwrap()
}

fn value(measurement: &str, design: &Design) -> f64 {
    let [x, y] = ["x", "y"].map(|name| design.real(name).unwrap());
    match measurement {
        "mass" => x + 0.3 * (7.0 * y).sin(),
        _ => (1.0 - x).powi(2) + y * y + 0.2 * (9.0 * x * y).cos(),
    }
}

fn tell(study: &mut Study, asked: &Suggestion) {
    study.tell(asked.evaluation, value(&asked.measurement, &asked.design)).unwrap();
}

fn advance(study: &mut Study, count: usize) {
    for _ in 0..count {
        let asked = study.ask().unwrap();
        tell(study, &asked);
    }
}

fn all(_: &Study, _: &[usize]) -> Permission {
    Permission::Granted
}

/// Confirms `points` designs, at most `most` measurements.
fn confirm(study: &mut Study, points: usize, most: usize) -> Vec<Suggestion> {
    let (mut asked, mut round) = (vec![], None);
    while asked.len() < most {
        let Some(next) = study.ask_confirmation(points, round, all).unwrap() else { break };
        round = next.confirms;
        tell(study, &next);
        asked.push(next);
    }
    asked
}

fn begun(seed: u64) -> (Study, MemoryJournal) {
    let journal = MemoryJournal::default();
    (Study::create(problem(), quick(), seed, journal.clone()).unwrap(), journal)
}

#[test]
fn every_design_of_a_round_gets_all_its_values_and_none_twice() {
    for seed in 0..3 {
        let (mut study, _) = begun(seed);
        advance(&mut study, 9);
        let recommended = study.front(5).unwrap();
        let lacking: usize = recommended
            .points
            .iter()
            .map(|point| point.outputs.iter().filter(|f| f.measured.is_empty()).count())
            .sum();
        let asked = confirm(&mut study, 5, 100);
        assert_eq!(asked.len(), lacking, "one for each value that was missing");
        for suggestion in &asked {
            assert_eq!(suggestion.origin, Origin::Confirmation);
            let mut points = recommended.points.iter();
            assert!(points.any(|point| point.design == suggestion.design));
        }
        for point in &recommended.points {
            let known = study.forecast(&point.design).unwrap();
            assert!(known.is_measured() && known.outputs.iter().all(|f| f.measured.len() == 1));
        }
        let confirmation = study.confirmation().unwrap().unwrap();
        assert_eq!(confirmation.values.len(), lacking);
        for one in &confirmation.values {
            assert_eq!(one.measured, value(&one.output, &one.design));
            assert!(one.interval[0] < one.mean && one.mean < one.interval[1]);
        }
    }
}

#[test]
fn a_round_goes_on_after_a_restart_and_ends_with_another_search() {
    let (mut whole, _) = begun(4);
    advance(&mut whole, 9);
    let expected = confirm(&mut whole, 4, 100);
    assert!(expected.len() > 3, "{}", expected.len());

    let (mut study, journal) = begun(4);
    advance(&mut study, 9);
    let mut asked = confirm(&mut study, 4, 2);
    drop(study);
    let mut study = Study::open(journal).unwrap();
    asked.extend(confirm(&mut study, 4, expected.len() - 2));
    assert_eq!(asked, expected, "same designs, same order");

    let (mut study, _) = begun(4);
    advance(&mut study, 9);
    let first = confirm(&mut study, 4, 1)[0].confirms;
    advance(&mut study, 1);
    let next = confirm(&mut study, 4, 1)[0].confirms;
    assert!(next > first, "what is recommended now is confirmed: {first:?} {next:?}");
}

#[test]
fn what_is_under_way_is_waited_for_and_what_failed_is_left_out() {
    let (mut study, _) = begun(6);
    advance(&mut study, 9);
    let mut asked = vec![];
    let mut round = None;
    while let Some(next) = study.ask_confirmation(3, round, all).unwrap() {
        round = next.confirms;
        asked.push(next);
    }
    let under_way = study.suggest_confirmation(3, round, all).unwrap();
    assert_eq!(under_way, NextConfirmation::Wait);
    assert_eq!(study.suggest_confirmation(3, None, all).unwrap(), NextConfirmation::Wait);
    for suggestion in &asked {
        study.tell_failure(suggestion.evaluation, "no licence").unwrap();
    }
    let over = study.suggest_confirmation(3, round, all).unwrap();
    assert_eq!(over, NextConfirmation::Done);
    assert!(study.confirmation().unwrap().unwrap().values.is_empty());
}

#[test]
fn only_designs_that_can_be_finished_are_begun() {
    let (mut study, _) = begun(7);
    advance(&mut study, 9);
    // Mass alone may be measured, drag not: designs that lack both are not begun.
    let cheap = |_: &Study, which: &[usize]| match which {
        [0] => Permission::Granted,
        _ => Permission::Never,
    };
    let design = |point: &unyoke::FrontPoint| {
        let lacks = |k: usize| point.outputs[k].measured.is_empty();
        lacks(0) && !lacks(1)
    };
    let front = study.front(20).unwrap();
    let possible = front.points.iter().filter(|point| design(point)).count();
    let mut asked = 0;
    while let Some(next) = study.ask_confirmation(20, None, cheap).unwrap() {
        assert_eq!(next.measurement, "mass");
        tell(&mut study, &next);
        asked += 1;
        assert!(asked <= possible, "{possible} designs lack mass alone");
    }
    assert_eq!(asked, possible);
}

#[test]
fn confirmations_are_no_searches_whatever_the_algorithm() {
    // Where everything is measured at a design, nothing is owed to a confirmation.
    for algorithm in [Algorithm::CMokg, Algorithm::MakgVector, Algorithm::Sobol] {
        let config = Config { algorithm, ..quick() };
        let mut study = Study::with_config(problem(), config, 8).unwrap();
        advance(&mut study, 8);
        let asked = confirm(&mut study, 3, 1);
        if asked.is_empty() {
            // All is measured already.
            continue;
        }
        let next = study.ask().unwrap();
        assert_ne!(next.origin, Origin::SameDesign, "{algorithm:?}");
        assert_eq!(next.confirms, None);
    }
}

#[test]
fn one_run_that_gives_everything_confirms_a_design_at_once() {
    let problem = Problem::builder()
        .continuous("x", 0.0, 1.0)
        .continuous("y", 0.0, 1.0)
        .output(Output::minimise("mass"))
        .output(Output::minimise("drag"))
        .output(Output::minimise("size").with_formula("x + y"))
        .measurement(Measurement::new("both", ["mass", "drag"], 4.0))
        .measurement(Measurement::new("mass", ["mass"], 3.0))
        .build()
        .unwrap();
    let mut study = Study::with_config(problem, quick(), 2).unwrap();
    for _ in 0..6 {
        let asked = study.ask().unwrap();
        let outcome = asked.outputs.iter().fold(Outcome::default(), |outcome, output| {
            outcome.value(output, value(output, &asked.design))
        });
        study.tell(asked.evaluation, outcome).unwrap();
    }
    let next = study.ask_confirmation(4, None, all).unwrap().unwrap();
    assert_eq!(next.measurement, "both", "two values for 4 rather than one for 3");
}

#[test]
fn a_measured_design_is_shown_where_models_expect_runs_to_fail() {
    let builder = Problem::builder().continuous("x", 0.0, 1.0);
    let problem = builder.minimise("f", 1.0).minimise("g", 1.0).build().unwrap();
    let initial = Initial { designs: Some(0), ..Initial::default() };
    let mut study = Study::with_config(problem, Config { initial, ..quick() }, 1).unwrap();
    // Around 0.9 everything fails but at one design, which is better than all others.
    for (x, f) in [(0.1, 5.0), (0.3, 4.0), (0.5, 4.5)] {
        study.tell_result(Design::new().with("x", x), "f", f).unwrap();
        study.tell_result(Design::new().with("x", x), "g", f + x).unwrap();
    }
    study.tell_result(Design::new().with("x", 0.9), "f", 1.0).unwrap();
    study.tell_result(Design::new().with("x", 0.9), "g", 1.0).unwrap();
    for _ in 0..6 {
        let asked = study.ask().unwrap();
        let x = asked.design.real("x").unwrap();
        match x > 0.7 {
            true => study.tell_failure(asked.evaluation, "crash").unwrap(),
            false => study.tell(asked.evaluation, 5.0 + x).unwrap(),
        }
    }
    let best = Design::new().with("x", 0.9);
    let measured = study.measured_front().unwrap();
    assert_eq!(measured.points.len(), 1);
    assert_eq!(measured.points[0].design, best);
    let front = study.front(10).unwrap();
    assert!(front.points.iter().any(|point| point.design == best), "{front:?}");
    assert_eq!(study.cautious_front(10, 0.9).unwrap().points[0].design, best);
}

#[test]
fn what_was_measured_is_on_the_front_beside_predictions_that_may_be_better() {
    let mut shown = 0;
    for seed in 0..4 {
        let (mut study, _) = begun(10 + seed);
        advance(&mut study, 14);
        let front = study.front(40).unwrap();
        let designs: Vec<&Design> = front.points.iter().map(|point| &point.design).collect();
        for known in study.measured_front().unwrap().points {
            let is_shown = designs.contains(&&known.design);
            let beaten = front.points.iter().any(|point| {
                let is_certain = |(f, known): (&unyoke::Forecast, &unyoke::Average)| {
                    f.interval[1] <= known.value + 1e-9
                };
                point.outputs.iter().zip(&known.outputs).all(is_certain)
            });
            assert!(is_shown || beaten, "{known:?}");
            shown += usize::from(is_shown);
        }
    }
    assert!(shown > 4, "{shown}");
}

#[test]
fn what_is_predicted_alone_has_no_design_that_another_is_expected_to_beat() {
    let mut only_measured = 0;
    for seed in 0..4 {
        let (mut study, _) = begun(10 + seed);
        advance(&mut study, 14);
        let predicted = study.predicted_front(1000).unwrap().points;
        let beats = |a: &FrontPoint, b: &FrontPoint| {
            a != b && a.outputs.iter().zip(&b.outputs).all(|(a, b)| a.mean < b.mean - 1e-9)
        };
        assert!(!predicted.iter().any(|a| predicted.iter().any(|b| beats(a, b))));
        let is_predicted = |design: &Design| predicted.iter().any(|point| point.design == *design);
        let shown = study.front(1000).unwrap().points;
        only_measured += shown.iter().filter(|point| !is_predicted(&point.design)).count();
    }
    assert!(only_measured > 0);
}

#[test]
fn set_aside_values_are_not_something_to_have() {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0);
    let mut study = Study::new(problem.build().unwrap()).unwrap();
    for i in 0..20 {
        let x = f64::from(i) / 19.0;
        let value = if i == 9 { -1e6 } else { 3.0 + (4.0 * x).sin() };
        study.tell_result(Design::new().with("x", x), "f", value).unwrap();
    }
    // Its neighbours contradict it.
    for x in [9.0 / 19.0 - 0.002, 9.0 / 19.0 + 0.002] {
        study.tell_result(Design::new().with("x", x), "f", 3.0 + (4.0 * x).sin()).unwrap();
    }
    let check = &study.model_checks().unwrap()[0];
    assert_eq!(check.set_aside.len(), 1, "or the test says nothing");
    let best = &study.measured_front().unwrap().points[0];
    assert!(best.outputs[0].value > 2.0, "{best:?}");
}

#[test]
fn replay_gives_the_same_state_and_records_keep_their_round() {
    let (mut study, journal) = begun(5);
    advance(&mut study, 9);
    confirm(&mut study, 2, 3);
    let records = journal.read(0).unwrap();
    let text: Vec<String> = records.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
    let told = text.iter().filter(|line| line.contains("\"confirmation_asked\""));
    assert!(told.clone().count() > 0 && told.clone().all(|line| line.contains("\"round\":")));
    let back: Vec<Record> = text.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(back, records);
    let again = Study::open(journal).unwrap();
    assert_eq!(again.evaluations(), study.evaluations());
    let rounds: BTreeSet<u64> = study.evaluations().iter().filter_map(|e| e.confirms).collect();
    assert_eq!(rounds.len(), 1);
    assert_eq!(again.suggest().unwrap(), study.suggest().unwrap());
}

#[test]
fn nobody_is_cautious_at_a_quantile_that_is_none() {
    let (mut study, _) = begun(3);
    advance(&mut study, 7);
    for quantile in [0.0, 0.49, 1.0, f64::NAN, -3.0] {
        assert!(study.cautious_front(3, quantile).is_err(), "{quantile}");
        assert!(study.cautious_best_for(&[0.5, 0.5], quantile).is_err(), "{quantile}");
    }
    let doubt = |front: &unyoke::Front| {
        let sds = front.points.iter().map(|point| point.outputs[1].sd);
        sds.sum::<f64>() / front.points.len() as f64
    };
    let [plain, cautious] = [study.front(20), study.cautious_front(20, 0.99)].map(Result::unwrap);
    assert!(doubt(&cautious) <= doubt(&plain));
    assert!(study.cautious_best_for(&[0.5, 0.5], 0.9).is_ok());
}
