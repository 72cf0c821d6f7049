//! Searches are counted alike for all algorithms, and what was withdrawn leaves no trace.

use super::searches;
use crate::config::{Algorithm, Config, Initial, Search};
use crate::event::{Event, Record};
use crate::history::{Evaluation, History, Status};
use crate::problem::Problem;
use crate::reading::Outcome;
use crate::study::Study;
use crate::suggestion::Suggestion;
use crate::weights::{DrawingOrder, weights_of_step};

const INITIAL: usize = 3;

fn study(algorithm: Algorithm) -> Study {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    let problem = problem.minimise("mass", 1.0).minimise("drag", 7.0).build().unwrap();
    let config = Config {
        algorithm,
        initial: Initial { designs: Some(INITIAL), ..Initial::default() },
        search: Search { raw: 16, restarts: 2, iterations: 10 },
        ..Config::default()
    };
    Study::with_config(problem, config, 3).unwrap()
}

fn value(suggestion: &Suggestion) -> f64 {
    let [x, y] = ["x", "y"].map(|name| suggestion.design.real(name).unwrap());
    if suggestion.measurement == "mass" { x + y * y } else { (1.0 - x).powi(2) - y }
}

fn advance(study: &mut Study) -> Suggestion {
    let asked = study.ask().unwrap();
    study.tell(asked.evaluation, value(&asked)).unwrap();
    asked
}

/// The state of a study, without its values.
fn history(study: &Study) -> History {
    let created = Event::Created {
        problem: study.problem().clone(),
        config: study.config().clone(),
        seed: study.seed(),
    };
    let asked = |e: &Evaluation| Event::Asked {
        evaluation: e.id,
        design: e.design.clone(),
        measurement: study.problem().measurements[e.measurement.unwrap()].name.clone(),
        cost: e.cost,
        initial: e.initial,
    };
    let events = std::iter::once(created).chain(study.evaluations().iter().map(asked));
    let records: Vec<Record> = events.map(Record::from).collect();
    History::replay(&records).unwrap()
}

#[test]
fn the_number_of_a_search_is_the_same_for_all_algorithms() {
    for algorithm in [Algorithm::CMokgRandom, Algorithm::MakgRandom, Algorithm::Sobol] {
        let mut study = study(algorithm);
        (0..2 * INITIAL).for_each(|_| drop(advance(&mut study)));
        for search in 0..6 {
            assert_eq!(searches(&history(&study)), search, "{algorithm:?}");
            // A coupled algorithm evaluates the second objective without another search.
            let evaluations = if algorithm.is_coupled() { 2 } else { 1 };
            for _ in 0..evaluations {
                advance(&mut study);
                assert_eq!(searches(&history(&study)), search + 1, "{algorithm:?}");
            }
        }
    }
}

#[test]
fn random_weights_of_coupled_searches_see_the_whole_simplex() {
    let mut study = study(Algorithm::MakgRandom);
    (0..2 * INITIAL).for_each(|_| drop(advance(&mut study)));
    let problem = study.problem().clone();
    let order = DrawingOrder::new(&problem);
    let mut first = vec![];
    for _ in 0..8 {
        let weights = weights_of_step(study.config(), &order, 7, searches(&history(&study)));
        first.push(weights.unwrap().row(0)[0]);
        (0..2).for_each(|_| drop(advance(&mut study)));
    }
    let low = first.iter().filter(|weight| **weight < 0.5).count();
    assert_eq!(low, 4, "{first:?}");
}

/// What is suggested next, apart from its number.
fn next(study: &Study) -> Suggestion {
    Suggestion { evaluation: 0, ..study.suggest().unwrap() }
}

#[test]
fn a_withdrawn_evaluation_changes_nothing_that_follows() {
    for algorithm in [Algorithm::CMokg, Algorithm::MakgRandom, Algorithm::Parego, Algorithm::Sobol]
    {
        let mut study = study(algorithm);
        for step in 0..2 * INITIAL + 5 {
            let mut other = study.clone();
            let asked = other.ask_many(2).unwrap();
            asked.iter().for_each(|asked| other.withdraw(asked.evaluation).unwrap());
            for _ in 0..3 {
                assert_eq!(next(&other), next(&study), "{algorithm:?}, step {step}");
                let again = other.ask().unwrap();
                other.withdraw(again.evaluation).unwrap();
            }
            advance(&mut study);
        }
    }
}

#[test]
fn an_initial_evaluation_is_made_up_for_however_often_it_was_withdrawn() {
    let mut study = study(Algorithm::CMokg);
    let first = study.ask().unwrap();
    study.withdraw(first.evaluation).unwrap();
    for _ in 0..20 {
        let again = study.ask().unwrap();
        assert_eq!((&again.design, &again.measurement), (&first.design, &first.measurement));
        assert!(again.is_initial());
        study.withdraw(again.evaluation).unwrap();
    }
    let asked: Vec<Suggestion> = (0..2 * INITIAL).map(|_| advance(&mut study)).collect();
    assert!(asked.iter().all(Suggestion::is_initial));
    assert!(!study.suggest().unwrap().is_initial());
}

#[test]
fn an_objective_that_was_withdrawn_at_an_earlier_design_is_measured_there_again() {
    let mut study = study(Algorithm::Makg);
    (0..2 * INITIAL).for_each(|_| drop(advance(&mut study)));
    let pairs: Vec<Suggestion> = study.ask_many(4).unwrap();
    study.withdraw(pairs[1].evaluation).unwrap();
    for asked in [&pairs[0], &pairs[2], &pairs[3]] {
        study.tell(asked.evaluation, value(asked)).unwrap();
    }
    let owed = study.ask().unwrap();
    assert_eq!((&owed.design, &owed.measurement), (&pairs[1].design, &pairs[1].measurement));
    study.tell(owed.evaluation, value(&owed)).unwrap();
    let next = study.ask().unwrap();
    assert!(pairs.iter().all(|asked| asked.design != next.design));
    assert_eq!(study.evaluations()[pairs[1].evaluation as usize].status, Status::Withdrawn);
}

#[test]
fn initial_designs_are_all_different_whatever_the_bounds() {
    for (low, high) in [(0.1, 2.0), (-3.0, 7.1), (0.001, 0.3), (32.0, 1e5)] {
        for seed in 0..30 {
            let problem = match low > 0.0 {
                true => Problem::builder().continuous_log("x", low, high),
                false => Problem::builder().continuous("x", low, high),
            };
            let problem = problem.minimise("f", 1.0);
            let initial = Initial { designs: Some(8), ..Initial::default() };
            let config = Config { initial, ..Config::default() };
            let mut study = Study::with_config(problem.build().unwrap(), config, seed).unwrap();
            let mut seen = vec![];
            for _ in 0..8 {
                let asked = study.ask().unwrap();
                study.tell(asked.evaluation, 1.0).unwrap();
                assert!(!seen.contains(&asked.design), "{} twice, seed {seed}", asked.design);
                seen.push(asked.design);
            }
        }
    }
}

#[test]
fn a_design_that_was_made_elsewhere_is_not_asked_for_again() {
    let mut study = study(Algorithm::CMokg);
    let mut seen = vec![];
    for _ in 0..2 * INITIAL {
        let asked = study.ask().unwrap();
        let made = asked.design.clone().with("x", 0.5);
        study.tell(asked.evaluation, Outcome::from(value(&asked)).at(made)).unwrap();
        let suggested = (asked.measurement, asked.design);
        assert!(!seen.contains(&suggested), "{suggested:?}");
        seen.push(suggested);
    }
}
