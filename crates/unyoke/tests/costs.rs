//! Costs that depend on the design: formulas, and what evaluations turned out to cost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use unyoke::{
    Algorithm, Asked, Config, Cost, Design, Initial, Measurement, Outcome, Output, Permission,
    Problem, Search, Study, Suggestion,
};

fn config(algorithm: Algorithm) -> Config {
    Config {
        algorithm,
        initial: Initial { designs: Some(4), ..Initial::default() },
        search: Search { raw: 32, restarts: 4, iterations: 30 },
        ..Config::default()
    }
}

/// Two objectives of x and y, one of them with this cost, the other with 1.
fn study(cost: Cost, algorithm: Algorithm) -> Study {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    let problem = problem.minimise("mass", 1.0).minimise("drag", cost).build().unwrap();
    Study::with_config(problem, config(algorithm), 3).unwrap()
}

fn value(measurement: &str, design: &Design) -> f64 {
    let [x, y] = ["x", "y"].map(|name| design.real(name).unwrap());
    if measurement == "mass" { x + y * y } else { (0.8 - x).powi(2) - y }
}

fn tell(study: &mut Study, asked: &Suggestion) {
    study.tell(asked.evaluation, value(&asked.measurement, &asked.design)).unwrap();
}

#[test]
fn a_suggestion_costs_what_its_row_says() {
    for algorithm in [Algorithm::CMokg, Algorithm::Makg, Algorithm::Parego] {
        let mut study = study(Cost::formula("1 + 9 * x + y / 3"), algorithm);
        for _ in 0..14 {
            let asked = study.ask().unwrap();
            let [x, y] = ["x", "y"].map(|name| asked.design.real(name).unwrap());
            let price = if asked.measurement == "mass" { 1.0 } else { 1.0 + 9.0 * x + y / 3.0 };
            assert_eq!(asked.cost, price);
            if let Some(row) = asked.chosen.map(|chosen| &asked.options[chosen]) {
                let both = row.measurements.iter();
                let both = both.map(|m| study.expected_cost(m, &row.design).unwrap());
                assert_eq!(row.cost, both.sum::<f64>());
                assert_eq!(row.design, asked.design);
            }
            tell(&mut study, &asked);
        }
    }
}

#[test]
fn a_suggestion_with_a_formula_as_its_price_stays_valid() {
    let mut study = study(Cost::formula("1 + 9 * x + y / 3"), Algorithm::CMokg);
    for _ in 0..8 {
        let asked = study.ask().unwrap();
        tell(&mut study, &asked);
    }
    let granted = |_: &Study, _: &[usize]| Permission::Granted;
    for _ in 0..5 {
        let chosen = study.suggest().unwrap();
        let Asked::Recorded(asked) = study.ask_for(chosen, granted).unwrap() else { panic!() };
        tell(&mut study, &asked);
    }
    let chosen = study.suggest().unwrap();
    study.set_cost("drag", Cost::formula("2 + 9 * x + y / 3")).unwrap();
    assert_eq!(study.ask_for(chosen, granted), Ok(Asked::Outdated));
}

#[test]
fn what_is_expensive_somewhere_is_measured_elsewhere() {
    // Nothing depends on x but the price: it is paid only where it is low.
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    let run = Measurement::new("run", ["f"], Cost::formula("exp(4 * x)"));
    let problem = problem.output(Output::maximise("f")).measurement(run).build().unwrap();
    let mut study = Study::with_config(problem, config(Algorithm::CMokg), 3).unwrap();
    let mut searched = vec![];
    for _ in 0..16 {
        let asked = study.ask().unwrap();
        let y = asked.design.real("y").unwrap();
        if !asked.is_initial() {
            searched.push(asked.cost);
        }
        study.tell(asked.evaluation, (7.0 * y).sin()).unwrap();
    }
    // The mean over all designs is 13.4.
    let mean = searched.iter().sum::<f64>() / searched.len() as f64;
    assert!(mean < 4.0, "{searched:?}");
}

#[test]
fn what_evaluations_cost_is_learned() {
    let mut study = study(Cost::reported(5.0), Algorithm::CMokg);
    let truth = |d: &Design| 2.0 * (3.0 * d.real("x").unwrap()).exp();
    let at = |x: f64| Design::new().with("x", x).with("y", 0.5);
    assert_eq!(study.expected_cost("drag", &at(0.3)), Ok(5.0));
    for _ in 0..20 {
        let asked = study.ask().unwrap();
        let outcome = Outcome::from(value(&asked.measurement, &asked.design));
        let outcome = match &*asked.measurement {
            "drag" => outcome.cost(truth(&asked.design)),
            _ => outcome,
        };
        study.tell(asked.evaluation, outcome).unwrap();
    }
    for x in [0.1, 0.5, 0.9] {
        let expected = study.expected_cost("drag", &at(x)).unwrap();
        assert!((expected / truth(&at(x))).ln().abs() < 0.3, "{x}: {expected}");
    }
    let next = study.suggest().unwrap();
    for row in &next.options {
        let expected = study.expected_cost(&row.measurements[0], &row.design).unwrap();
        assert_eq!(row.cost, expected);
    }
}

#[test]
fn what_costs_more_than_permitted_is_not_asked_for() {
    for algorithm in [Algorithm::CMokg, Algorithm::Makg, Algorithm::Sobol] {
        let mut study = study(Cost::formula("1 + 9 * x"), algorithm);
        let both = algorithm.is_coupled();
        let most = |measurements: &[usize]| if measurements == [0] { 1.0 } else { 5.0 };
        let mut searched = 0;
        for _ in 0..24 {
            let up_to = |_: &Study, m: &[usize]| Permission::UpTo(most(m));
            let asked = study.ask_where(up_to).unwrap().unwrap();
            assert!(asked.cost <= 5.0, "{algorithm:?} {}", asked.cost);
            if asked.is_searched() {
                searched += 1;
                let rows = asked.options.iter().filter(|row| row.measurements.len() > 1 || !both);
                assert!(rows.clone().all(|row| row.cost <= 5.0), "{algorithm:?} {asked:?}");
            }
            tell(&mut study, &asked);
        }
        assert!(searched > 5 || algorithm == Algorithm::Sobol, "{algorithm:?} {searched}");
        let too_little = study.ask_where(|_, _| Permission::UpTo(0.5)).unwrap();
        assert_eq!(too_little, None, "{algorithm:?}");
    }
}

#[test]
fn an_initial_evaluation_that_is_too_expensive_is_left_out() {
    let new = || study(Cost::formula("1 + 9 * x"), Algorithm::CMokg);
    let (mut all, mut study) = (new(), new());
    let initial: Vec<Suggestion> = all.ask_many(8).unwrap();
    let affordable = |_: &Study, _: &[usize]| Permission::UpTo(4.0);
    let mut asked = vec![];
    loop {
        let next = study.ask_where(affordable).unwrap().unwrap();
        if !next.is_initial() {
            break;
        }
        tell(&mut study, &next);
        asked.push((next.measurement, next.design));
    }
    let first_too_expensive = |m: &str| {
        initial.iter().filter(|s| s.measurement == m).position(|s| s.cost > 4.0).unwrap_or(4)
    };
    for m in ["mass", "drag"] {
        let count = asked.iter().filter(|(measurement, _)| measurement == m).count();
        assert_eq!(count, first_too_expensive(m), "{m}");
    }
    assert!(first_too_expensive("drag") < 4);
}
