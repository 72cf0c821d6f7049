//! Every algorithm runs a short study: inside the bounds, with evaluations pending, with costs.
#![allow(missing_docs, clippy::unwrap_used)]

use unyoke::{
    Algorithm, Config, Design, Error, FrontSearch, Measurement, Origin, Output, Problem, Study,
};

const RIVALS: [Algorithm; 4] =
    [Algorithm::JesLbD, Algorithm::JesLbC, Algorithm::Parego, Algorithm::Nehvi];

/// Two objectives of one continuous and one integer parameter, the second expensive.
fn problem(costs: [f64; 2]) -> Problem {
    Problem::builder()
        .continuous("x", -2.0, 3.0)
        .integer("k", 1, 4)
        .minimise("near", costs[0])
        .maximise("far", costs[1])
        .build()
        .unwrap()
}

fn config(algorithm: Algorithm) -> Config {
    let front = FrontSearch { population: 40, generations: 20 };
    Config { algorithm, front, ..Config::default() }
}

fn value(design: &Design, objective: &str) -> f64 {
    let x = design.real("x").unwrap();
    let k = design.real("k").unwrap();
    match objective {
        "near" => (x - 0.3).powi(2) + 0.1 * k,
        _ => (2.0 * x).sin() + 0.2 * k,
    }
}

fn assert_inside(design: &Design) {
    assert!((-2.0..=3.0).contains(&design.real("x").unwrap()), "{design:?}");
    assert!([1.0, 2.0, 3.0, 4.0].contains(&design.real("k").unwrap()), "{design:?}");
}

/// Asks and tells until `count` evaluations were chosen by the models or follow from that.
fn run(algorithm: Algorithm, costs: [f64; 2], count: usize) -> (Study, Vec<String>) {
    let mut study = Study::with_config(problem(costs), config(algorithm), 3).unwrap();
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let suggestion = study.ask().unwrap();
        assert_inside(&suggestion.design);
        if suggestion.origin != Origin::Initial {
            chosen.push(suggestion.measurement.clone());
        }
        let value = value(&suggestion.design, &suggestion.measurement);
        study.tell(suggestion.evaluation, value).unwrap();
    }
    (study, chosen)
}

#[test]
fn every_algorithm_runs_a_short_study_inside_the_bounds() {
    for algorithm in RIVALS {
        let (study, chosen) = run(algorithm, [1.0, 10.0], 10);
        assert!(!study.front(10).unwrap().points.is_empty());
        let far = chosen.iter().filter(|objective| *objective == "far").count();
        if algorithm.is_coupled() {
            assert_eq!(far, 5, "{algorithm:?} evaluates both objectives at each design");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_study() {
    for algorithm in RIVALS {
        let designs = |study: &Study| {
            study.evaluations().iter().map(|e| e.design.clone()).collect::<Vec<_>>()
        };
        let (one, two) = (run(algorithm, [1.0, 1.0], 3).0, run(algorithm, [1.0, 1.0], 3).0);
        assert_eq!(designs(&one), designs(&two), "{algorithm:?}");
    }
}

#[test]
fn a_decoupled_choice_turns_to_the_cheap_objective_when_the_other_is_very_expensive() {
    let (_, chosen) = run(Algorithm::JesLbD, [1e-4, 1e4], 3);
    assert!(chosen.iter().all(|objective| objective == "near"), "{chosen:?}");
    let (_, chosen) = run(Algorithm::JesLbD, [1e4, 1e-4], 3);
    assert!(chosen.iter().all(|objective| objective == "far"), "{chosen:?}");
}

#[test]
fn evaluations_that_are_pending_are_not_asked_for_again() {
    for algorithm in RIVALS {
        let (mut study, _) = run(algorithm, [1.0, 2.0], 2);
        let asked = study.ask_many(4).unwrap();
        for (i, one) in asked.iter().enumerate() {
            assert_inside(&one.design);
            for other in &asked[..i] {
                let same = one.design == other.design && one.measurement == other.measurement;
                assert!(!same, "{algorithm:?} asked twice for {one:?}");
            }
        }
        for suggestion in asked {
            study.tell_failure(suggestion.evaluation, "no licence").unwrap();
        }
        assert_inside(&study.ask().unwrap().design);
    }
}

#[test]
fn costs_are_divided_by_and_explained() {
    for algorithm in RIVALS {
        let (mut study, _) = run(algorithm, [1.0, 2.0], 2);
        let suggestion = loop {
            let next = study.ask().unwrap();
            if !next.options.is_empty() {
                break next;
            }
            assert_ne!(next.origin, Origin::Explored, "{algorithm:?}");
            study.tell(next.evaluation, value(&next.design, &next.measurement)).unwrap();
        };
        let expected = if algorithm.is_coupled() { vec![3.0] } else { vec![1.0, 2.0] };
        let costs: Vec<f64> = suggestion.options.iter().map(|row| row.cost).collect();
        assert_eq!(costs, expected, "{algorithm:?}");
        assert!(suggestion.gain_per_cost().unwrap() > 0.0);
    }
}

#[test]
fn an_objective_without_values_and_values_outside_the_bounds_are_no_obstacle() {
    for algorithm in RIVALS {
        let initial = unyoke::Initial { designs: Some(0), ..Default::default() };
        let config = Config { initial, ..config(algorithm) };
        let mut study = Study::with_config(problem([1.0, 1.0]), config, 8).unwrap();
        let design = Design::new().with("x", 17.0).with("k", 2);
        study.tell_result(design, "near", 3.0).unwrap();
        for _ in 0..3 {
            let suggestion = study.ask().unwrap();
            assert_inside(&suggestion.design);
            study.tell(suggestion.evaluation, 1.0).unwrap();
        }
    }
}

#[test]
fn nehvi_is_refused_for_more_than_three_objectives() {
    let four = (0..4).fold(Problem::builder().continuous("x", 0.0, 1.0), |builder, m| {
        builder.maximise(format!("f{m}"), 1.0)
    });
    let result = Study::with_config(four.build().unwrap(), config(Algorithm::Nehvi), 0);
    let Err(Error::Invalid { mistakes }) = result else { unreachable!("{result:?}") };
    assert_eq!(mistakes.len(), 1);
    assert_eq!(mistakes[0].path, "config.algorithm");
}

#[test]
fn algorithms_have_the_names_that_users_write() {
    for (algorithm, name) in RIVALS.into_iter().zip(["jes-lb-d", "jes-lb-c", "parego", "nehvi"]) {
        assert_eq!(serde_json::to_value(algorithm).unwrap(), name);
    }
}

#[test]
fn a_score_is_the_gain_that_the_suggestion_reports_for_the_same_design() {
    let exact = Algorithm::ALL
        .into_iter()
        .filter(|a| !matches!(a, Algorithm::HvkgD | Algorithm::HvkgC | Algorithm::Sobol));
    for algorithm in exact {
        let (study, _) = run(algorithm, [1.0, 10.0], 2);
        let suggestion = study.suggest().unwrap();
        let best = &suggestion.options[suggestion.chosen.unwrap()];
        let scored = study.score(std::slice::from_ref(&best.design)).unwrap();
        assert_eq!(scored[0].len(), if algorithm.is_coupled() { 1 } else { 2 });
        let row = scored[0].iter().find(|row| row.measurements == best.measurements).unwrap();
        let difference = (row.log_gain - best.log_gain).abs();
        assert!(difference < 1e-6, "{algorithm:?}: {} and {}", row.log_gain, best.log_gain);
        assert_eq!(row.cost, best.cost);
    }
}

#[test]
fn the_order_of_measurements_does_not_decide_what_algorithms_measure() {
    for algorithm in [Algorithm::HvkgD, Algorithm::JesLbD, Algorithm::CMokg] {
        let study = |names: [&str; 2]| {
            let start = Problem::builder().continuous("x", 0.0, 1.0);
            let start = start.output(Output::maximise("f")).output(Output::maximise("g"));
            let add = |b: unyoke::ProblemBuilder, name: &&str| {
                b.measurement(Measurement::new(*name, [*name], 1.0))
            };
            let problem = names.iter().fold(start, add).build().unwrap();
            let config = Config { algorithm, ..Config::default() };
            let mut study = Study::with_config(problem, config, 1).unwrap();
            for i in 0..6 {
                let x = f64::from(i) / 5.0;
                let at = || Design::new().with("x", x);
                // One is known well, the other hardly.
                study.tell_result(at(), "f", (3.0 * x).sin()).unwrap();
                if i % 5 == 0 {
                    study.tell_result(at(), "g", (9.0 * x).cos()).unwrap();
                }
            }
            // Past the initial design.
            while study.suggest().unwrap().is_initial() {
                let asked = study.ask().unwrap();
                let x = asked.design.real("x").unwrap();
                let value =
                    if asked.measurement == "f" { (3.0 * x).sin() } else { (9.0 * x).cos() };
                study.tell(asked.evaluation, value).unwrap();
            }
            let suggestion = study.suggest().unwrap();
            let rows =
                suggestion.options.iter().map(|row| (row.measurements[0].clone(), row.log_gain));
            rows.collect::<std::collections::BTreeMap<_, _>>()
        };
        let (plain, turned) = (study(["f", "g"]), study(["g", "f"]));
        for (name, gain) in plain {
            assert!((gain - turned[&name]).abs() <= 1e-6 * gain.abs(), "{algorithm:?} {name}");
        }
    }
}

#[test]
fn algorithms_that_value_one_output_refuse_measurements_of_several() {
    for algorithm in [Algorithm::HvkgD, Algorithm::JesLbD] {
        let problem = Problem::builder()
            .continuous("x", 0.0, 1.0)
            .output(Output::maximise("f"))
            .output(Output::maximise("g"))
            .measurement(Measurement::new("both", ["f", "g"], 1.0))
            .build()
            .unwrap();
        let refused = Study::with_config(problem, Config { algorithm, ..Config::default() }, 1);
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("both gives several; use c-mokg"), "{message}");
    }
}

#[test]
fn everything_is_measured_once_at_each_design_whatever_the_bounds() {
    for algorithm in [Algorithm::Sobol, Algorithm::Parego] {
        let problem = Problem::builder().continuous("root", 0.1, 0.18).continuous("tip", 1e-3, 0.1);
        let problem = problem.minimise("mass", 1.0).minimise("deflection", 10.0).build().unwrap();
        let config = Config { algorithm, ..Config::default() };
        let mut study = Study::with_config(problem, config, 3).unwrap();
        let mut designs: Vec<(Design, Vec<String>)> = vec![];
        for _ in 0..40 {
            let next = study.ask().unwrap();
            study.tell(next.evaluation, next.evaluation as f64).unwrap();
            match designs.iter_mut().find(|(design, _)| *design == next.design) {
                Some((_, measured)) => measured.push(next.measurement),
                None => designs.push((next.design, vec![next.measurement])),
            }
        }
        assert_eq!(designs.len(), 20, "{algorithm:?}");
        for (design, measured) in &mut designs {
            measured.sort();
            assert_eq!(*measured, ["deflection", "mass"], "{algorithm:?} at {design:?}");
        }
    }
}
