//! Averages over what is under way against a brute-force expectation in two stages, and their gradients
//! against finite differences.

use super::super::{Basis, Engine};
use crate::config::{Algorithm, Config, Discretisation, Pending};
use crate::design::Design;
use crate::event::{Event, Record};
use crate::history::History;
use crate::problem::{Output, Problem};
use std::collections::BTreeMap;
use unyoke_math::{Points, normal, sobol};

/// A function of the parameters x0, x1, ...
type Function = fn(&[f64]) -> f64;

/// A study of maximising these outputs on the unit cube, with values of all of them at some designs, and
/// with evaluations under way, each of an output at a design.
fn history(
    problem: Problem,
    functions: &[(&str, Function)],
    count: usize,
    pending: &[(&str, &[f64])],
    config: Config,
) -> History {
    let dim = problem.parameters.len();
    let design = |x: &[f64]| {
        x.iter().enumerate().fold(Design::new(), |design, (d, v)| design.with(format!("x{d}"), *v))
    };
    let mut records = vec![Record::from(Event::Created { problem, config, seed: 4 })];
    let mut asked = 0;
    let mut ask = |records: &mut Vec<Record>, x: &[f64], name: &str, initial: bool| {
        let (evaluation, measurement, cost) = (asked, name.to_owned(), 1.0);
        let design = design(x);
        records.push(Event::Asked { evaluation, design, measurement, cost, initial }.into());
        asked += 1;
        evaluation
    };
    for x in sobol::cube(dim, count, 1).unwrap().rows() {
        for (name, function) in functions {
            let evaluation = ask(&mut records, x, name, true);
            let values = BTreeMap::from([((*name).to_owned(), function(x).into())]);
            let (missing, cost, design) = (None, None, None);
            records.push(Event::Measured { evaluation, values, missing, cost, design }.into());
        }
    }
    for (name, x) in pending {
        ask(&mut records, x, name, false);
    }
    History::replay(&records).unwrap()
}

fn cube(dim: usize) -> crate::problem::ProblemBuilder {
    (0..dim).fold(Problem::builder(), |cube, d| cube.continuous(format!("x{d}"), 0.0, 1.0))
}

fn wave(x: &[f64]) -> f64 {
    (7.0 * x[0]).sin() + 0.5 * x[0]
}

fn config(pending: Pending, algorithm: Algorithm) -> Config {
    Config { pending, algorithm, ..Config::default() }
}

/// The gain of the first option at `x`.
fn gain(history: &History, x: &[f64]) -> f64 {
    let engine = Engine::new(history);
    let model = engine.model(Basis::Expected).unwrap();
    let step = engine.step(&model).unwrap();
    let imagined = engine.imagine(&model, &step).unwrap();
    let acquisition = engine.averaged(&model, &step, &imagined).unwrap();
    acquisition.evaluator(0)(x, None).exp()
}

const NODES: usize = 11;
const UNDER_WAY: f64 = 0.83;

/// One objective of one parameter, of which one value is under way.
fn line(pending: Pending, noisy: bool) -> History {
    let output = Output::maximise("f");
    let output = if noisy { output.known_noise(0.3) } else { output };
    let problem = cube(1).measured(output, 1.0).build().unwrap();
    // The designs that are compared are the same whatever is imagined.
    let discretisation = Discretisation::Grid { per_input: NODES };
    let config = Config { discretisation, ..config(pending, Algorithm::CMokg) };
    history(problem, &[("f", wave)], 4, &[("f", &[UNDER_WAY])], config)
}

/// E_y max_j E[f_j | y, y'] − max_j E[f_j | y] over y, the value under way, and y', that at x, by the
/// trapezoidal rule in both, from the joint posterior of everything given what was observed.
fn two_stages(history: &History, x: f64) -> f64 {
    let model = Engine::new(history).model(Basis::Known).unwrap();
    let gp = &model.objectives[0].gp;
    let designs = (0..NODES).map(|i| i as f64 / (NODES - 1) as f64).chain([x, UNDER_WAY]);
    let points = Points::from_rows(1, designs.map(|v| [v])).unwrap();
    let (joint, noise) = (gp.joint(&points).unwrap(), gp.noise());
    let (candidate, under_way) = (NODES, NODES + 1);
    let first = joint.covariance(under_way, under_way) + noise;
    let given = |i: usize, j: usize| {
        let explained = joint.covariance(i, under_way) * joint.covariance(under_way, j) / first;
        joint.covariance(i, j) - explained
    };
    let second = given(candidate, candidate) + noise;
    let lines: Vec<[f64; 3]> = (0..=NODES)
        .map(|j| {
            let by_first = joint.covariance(j, under_way) / first.sqrt();
            [joint.means()[j], by_first, given(j, candidate) / second.sqrt()]
        })
        .collect();
    const STEP: f64 = 0.02;
    let nodes = || (-400..=400).map(|i| f64::from(i) * STEP);
    let best = |z: f64, w: f64| {
        let values = lines.iter().map(|[mean, a, b]| mean + a * z + b * w);
        values.fold(f64::NEG_INFINITY, f64::max)
    };
    let at = |z: f64| {
        let now = best(z, 0.0);
        nodes().map(|w| normal::pdf(w) * (best(z, w) - now)).sum::<f64>() * STEP
    };
    nodes().map(|z| normal::pdf(z) * at(z)).sum::<f64>() * STEP
}

#[test]
fn many_fantasies_approach_the_expectation_in_two_stages() {
    for noisy in [false, true] {
        let many = line(Pending::Fantasies(1024), noisy);
        let few = line(Pending::Fantasies(8), noisy);
        let expected = line(Pending::Expected, noisy);
        let mut off = [0.0; 3];
        let places = [0.07, 0.33, 0.61, 0.77, 0.95];
        let truths = places.map(|x| two_stages(&many, x));
        let most = truths.iter().copied().fold(0.0, f64::max);
        for (x, truth) in places.into_iter().zip(truths) {
            let found = gain(&many, &[x]);
            assert!((found - truth).abs() < 1e-3 * most, "{found} for {truth} at {x}");
            let found = [found, gain(&few, &[x]), gain(&expected, &[x])];
            off.iter_mut().zip(found).for_each(|(off, found)| *off += (found - truth).abs() / most);
        }
        // Eight scatter by about as much as what is expected is off, here some percent.
        assert!(5.0 * off[0] < off[1] && 5.0 * off[0] < off[2], "{off:?}");
        assert!(off[1] < 0.2, "{off:?}");
    }
}

/// Asserts that gradients of the average are those of finite differences.
fn assert_gradients(history: &History, at: &[&[f64]]) {
    // Volumes of several draws have several bends; one of them is within 1e-5 of a place below.
    const STEP: f64 = 1e-6;
    let engine = Engine::new(history);
    let model = engine.model(Basis::Expected).unwrap();
    let step = engine.step(&model).unwrap();
    let imagined = engine.imagine(&model, &step).unwrap();
    assert_eq!(imagined.len(), history.config.pending.draws());
    let acquisition = engine.averaged(&model, &step, &imagined).unwrap();
    for option in 0..acquisition.options() {
        let mut evaluate = acquisition.evaluator(option);
        for x in at {
            let mut gradient = vec![0.0; x.len()];
            let value = evaluate(x, Some(&mut gradient));
            assert!(value.is_finite());
            assert_eq!(value, evaluate(x, None));
            for d in 0..x.len() {
                let mut moved = |by: f64| {
                    let mut moved = x.to_vec();
                    moved[d] += by;
                    evaluate(&moved, None)
                };
                let slope = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                let error = (gradient[d] - slope).abs();
                assert!(error < 1e-4 * slope.abs().max(1.0), "{} for {slope}", gradient[d]);
            }
        }
    }
}

fn bowl(x: &[f64]) -> f64 {
    -(x[0] - 0.7).powi(2) - (x[1] - 0.2).powi(2)
}

fn ripples(x: &[f64]) -> f64 {
    (5.0 * x[0]).sin() + (4.0 * x[1] + 1.0).cos()
}

fn nearly_ripples(x: &[f64]) -> f64 {
    0.3 * x[0] - 2.0 * ripples(x)
}

const PLACES: [&[f64]; 3] = [&[0.31, 0.47], &[0.83, 0.12], &[0.55, 0.91]];
const AWAITED: [(&str, &[f64]); 3] =
    [("a", &[0.4, 0.5]), ("b", &[0.62, 0.3]), ("a", &[0.45, 0.52])];

#[test]
fn gradients_of_averages_match_finite_differences() {
    for algorithm in [Algorithm::Auto, Algorithm::CMokg, Algorithm::HvkgExact] {
        let problem = cube(2).maximise("a", 1.0).maximise("b", 1.0).build().unwrap();
        let functions: [(&str, Function); 2] = [("a", ripples), ("b", bowl)];
        let config = config(Pending::Fantasies(4), algorithm);
        let history = history(problem, &functions, 10, &AWAITED, config);
        assert_gradients(&history, &PLACES);
    }
}

#[test]
fn gradients_of_averages_match_finite_differences_where_objectives_are_correlated() {
    for algorithm in [Algorithm::Auto, Algorithm::CMokg] {
        let problem = cube(2).maximise("a", 1.0).maximise("b", 1.0).build().unwrap();
        let functions: [(&str, Function); 2] = [("a", ripples), ("b", nearly_ripples)];
        let config = config(Pending::Fantasies(4), algorithm);
        let history = history(problem, &functions, 16, &AWAITED, config);
        assert!(Engine::new(&history).model(Basis::Expected).unwrap().joint.is_some());
        assert_gradients(&history, &PLACES);
    }
}

#[test]
fn gradients_of_averages_match_finite_differences_within_constraints() {
    let problem = cube(2).maximise("a", 1.0).maximise("b", 1.0);
    let problem = problem.measured(Output::at_least("c", 0.0), 1.0).build().unwrap();
    let functions: [(&str, Function); 3] = [("a", ripples), ("b", bowl), ("c", |x| 0.5 + wave(x))];
    let awaited = [AWAITED[0], AWAITED[1], ("c", &[0.5, 0.55][..])];
    let config = config(Pending::Fantasies(3), Algorithm::Auto);
    assert_gradients(&history(problem, &functions, 10, &awaited, config), &PLACES);
}

#[test]
fn what_a_correlated_objective_may_return_is_imagined_of_the_others_too() {
    let problem = cube(2).maximise("a", 1.0).maximise("b", 1.0).build().unwrap();
    let functions: [(&str, Function); 2] = [("a", ripples), ("b", nearly_ripples)];
    let config = config(Pending::Fantasies(8), Algorithm::CMokg);
    let awaited: (&str, &[f64]) = ("a", &[0.97, 0.02]);
    let history = history(problem, &functions, 14, &[awaited], config);
    let engine = Engine::new(&history);
    let model = engine.model(Basis::Expected).unwrap();
    assert!(model.joint.is_some());
    let imagined = engine.imagine(&model, &engine.step(&model).unwrap()).unwrap();
    let mean = |k: usize, one: &super::Imagined| {
        let expected = model.objectives[k].predict(awaited.1).unwrap().mean;
        one.model.objectives[k].predict(awaited.1).unwrap().mean - expected
    };
    for one in &imagined {
        assert!(mean(0, one).abs() > 1e-6);
        // They conflict.
        assert!(mean(0, one) * mean(1, one) < 0.0, "{} and {}", mean(0, one), mean(1, one));
    }
    let sum: f64 = imagined.iter().map(|one| mean(0, one)).sum();
    let size: f64 = imagined.iter().map(|one| mean(0, one).abs()).sum();
    assert!(sum.abs() < 0.3 * size, "{sum} of {size}");
}
