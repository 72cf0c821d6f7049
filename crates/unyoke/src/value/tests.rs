//! Acquisition functions against figures computed independently, and gradients against finite
//! differences.

mod chebyshev;
mod correlated;
mod hypervolume;
mod jes_lb;
mod log_kg;
mod noisy_ehvi;
mod par_ego;
mod theory;
mod vector;

use super::c_mokg::CMokg;
use super::ma_kg::MaKg;
use super::vector::{Nodes, Observed};
use super::{Acquisition, Evaluator, Scalarised};
use crate::model::{Belief, Model, Place};
use serde::Deserialize;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::random::Rng;
use unyoke_math::{Points, sobol};

#[derive(Deserialize)]
struct Process {
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    lengthscales: Vec<f64>,
    outputscale: f64,
    noise: f64,
    mean: f64,
}

impl Process {
    fn output(&self) -> Belief {
        let dim = self.x[0].len();
        let data = Data::new(&Points::from_rows(dim, &self.x).unwrap(), &self.y).unwrap();
        let kernel =
            Kernel::new(Family::Matern52, dim, &self.lengthscales, self.outputscale).unwrap();
        let gp = Gp::new(kernel, self.mean, self.noise, &data).unwrap();
        Belief {
            gp,
            joint: None,
            known: None,
            bound: None,
            map: Standardizer::new(&[]).unwrap(),
            unit: 1.0,
            notes: vec![],
        }
    }
}

#[derive(Deserialize)]
struct At {
    x: Vec<f64>,
    /// Per objective, per weight vector.
    decoupled: Vec<Vec<f64>>,
    decoupled_grad: Vec<Vec<Vec<f64>>>,
    coupled_scalarised: Vec<f64>,
    coupled_vector: Vec<f64>,
}

#[derive(Deserialize)]
struct Case {
    gps: Vec<Process>,
    weights: Vec<Vec<f64>>,
    points: Vec<At>,
}

fn cases() -> Vec<(Model, Case)> {
    let text = include_str!("../../tests/golden/discrete_kg.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert!(cases.len() >= 3);
    let model = |case: &Case| Model::of_objectives(case.gps.iter().map(Process::output).collect());
    cases.into_iter().map(|case| (model(&case), case)).collect()
}

fn grid() -> Points {
    let node = |i: usize| [(i / 11) as f64 / 10.0, (i % 11) as f64 / 10.0];
    Points::from_rows(2, (0..121).map(node)).unwrap()
}

fn one(weights: &[f64]) -> Points {
    Points::from_rows(weights.len(), [weights]).unwrap()
}

/// Gain and its gradient from the logarithm and its gradient.
fn evaluate(acquisition: &dyn Acquisition, option: usize, x: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; x.len()];
    let log = acquisition.evaluator(option)(x, Some(&mut gradient));
    assert_eq!(acquisition.evaluator(option)(x, None), log);
    let gain = log.exp();
    // At a gain of zero the logarithm has no gradient, and the gain's own is zero.
    (gain, gradient.iter().map(|g| if gain == 0.0 { 0.0 } else { g * gain }).collect())
}

/// Fails where `found` is off by more than `relative` of what is expected, and by more than `floor`:
/// what rounding left of the recorded figure, not of ours.
fn assert_close(found: f64, expected: f64, [relative, floor]: [f64; 2], what: &str) {
    let error = (found - expected).abs();
    assert!(
        error <= relative * expected.abs() + floor,
        "{what}: {found} is {error:e} off {expected}"
    );
}

/// Recorded gains are differences of maxima of order 1, right to a few units of the last place;
/// what lies below is tested in `log_kg`.
const GAINS: [f64; 2] = [1e-9, 1e-14];

/// Recorded gains of vector observations are integrals by quadrature: where nothing is to be gained,
/// they are 3e-13.
const INTEGRALS: [f64; 2] = [1e-9, 4e-13];

#[test]
fn decoupled_gains_and_gradients_match_the_recorded_ones() {
    let mut telling = 0;
    for (model, case) in cases() {
        for at in &case.points {
            for (q, weights) in case.weights.iter().enumerate() {
                let shared = Scalarised::new(&model, &grid(), &one(weights)).unwrap();
                let acquisition = CMokg::one_by_one(shared);
                for m in 0..2 {
                    let (gain, gradient) = evaluate(&acquisition, m, &at.x);
                    assert_close(gain, at.decoupled[m][q], GAINS, "gain");
                    telling += usize::from(at.decoupled[m][q] > 1e-12);
                    for d in 0..2 {
                        let expected = at.decoupled_grad[m][q][d];
                        assert_close(gradient[d], expected, [1e-8, 1e-13], "gradient");
                    }
                }
            }
        }
    }
    assert!(telling >= 30, "{telling} gains are large enough to tell right from wrong");
}

#[test]
fn both_coupled_forms_match_the_recorded_ones() {
    for (model, case) in cases() {
        for at in &case.points {
            for (q, weights) in case.weights.iter().enumerate() {
                let shared = || Scalarised::new(&model, &grid(), &one(weights)).unwrap();
                let scalarised = MaKg::new(shared());
                let (gain, _) = evaluate(&scalarised, 0, &at.x);
                assert_close(gain, at.coupled_scalarised[q], GAINS, "scalarised observation");
                if let Some(expected) = at.coupled_vector.get(q) {
                    let both = [Place::Objective(0), Place::Objective(1)];
                    let nodes = Nodes::trapezoid(8.0, 8192).unwrap();
                    let exact = CMokg::of(shared(), Observed::with_nodes(&both, nodes).unwrap());
                    let (gain, _) = evaluate(&exact, 0, &at.x);
                    assert_close(gain, *expected, INTEGRALS, "vector observation");
                    let usual = CMokg::of(shared(), Observed::new(&both).unwrap());
                    let (gain, _) = evaluate(&usual, 0, &at.x);
                    assert_close(gain, *expected, [1e-3, INTEGRALS[1]], "with few nodes");
                }
            }
        }
    }
}

#[test]
fn an_expectation_over_weights_is_the_mean_of_its_parts() {
    for (model, case) in cases() {
        let weights = Points::from_rows(2, &case.weights).unwrap();
        let acquisition = CMokg::one_by_one(Scalarised::new(&model, &grid(), &weights).unwrap());
        for at in &case.points {
            for m in 0..2 {
                let (gain, _) = evaluate(&acquisition, m, &at.x);
                let mean = at.decoupled[m].iter().sum::<f64>() / case.weights.len() as f64;
                assert_close(gain, mean, GAINS, "mean gain");
            }
        }
    }
}

/// Random models of three objectives in four inputs, in different units.
fn random_surrogate(rng: &mut Rng) -> Model {
    let output = |rng: &mut Rng, n: usize| {
        let points = Points::from_rows(4, (0..n).map(|_| [0.0; 4].map(|_| rng.uniform()))).unwrap();
        let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let kernel = Kernel::new(Family::Matern52, 4, &[0.6, 0.9, 0.5, 1.4], 1.2).unwrap();
        let gp = Gp::new(kernel, 0.1, 0.02, &Data::new(&points, &values).unwrap()).unwrap();
        let unit = 0.5 + rng.uniform();
        Belief {
            gp,
            joint: None,
            known: None,
            bound: None,
            map: Standardizer::new(&[]).unwrap(),
            unit,
            notes: vec![],
        }
    };
    Model::of_objectives([7, 3, 0].map(|n| output(rng, n)).into())
}

#[test]
fn gradients_match_finite_differences_for_three_objectives() {
    let mut rng = Rng::new(4, 0);
    for round in 0..20 {
        let model = random_surrogate(&mut rng);
        let set = sobol::cube(4, 40, round).unwrap();
        let weights = sobol::simplex(3, 8, round).unwrap();
        let shared = || Scalarised::new(&model, &set, &weights).unwrap();
        let all = [0, 1, 2].map(Place::Objective);
        let forms: [Box<dyn Acquisition>; 3] = [
            Box::new(CMokg::one_by_one(shared())),
            Box::new(MaKg::new(shared())),
            Box::new(CMokg::of(shared(), Observed::new(&all).unwrap())),
        ];
        let x = [0.0; 4].map(|_| 0.1 + 0.8 * rng.uniform());
        for (form, acquisition) in forms.iter().enumerate() {
            for option in 0..acquisition.options() {
                let mut gradient = vec![0.0; 4];
                let mut evaluate = acquisition.evaluator(option);
                evaluate(&x, Some(&mut gradient));
                for d in 0..4 {
                    let mut shifted = |h: f64| {
                        let mut moved = x;
                        moved[d] += h;
                        evaluate(&moved, None)
                    };
                    let difference = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                    let error = (gradient[d] - difference).abs();
                    assert!(
                        error <= 1e-5 * (1.0 + difference.abs()),
                        "form {form}, option {option}, input {d}: {} against {difference}",
                        gradient[d]
                    );
                }
            }
        }
    }
}

#[test]
fn gains_are_never_negative_and_their_logarithm_never_nan() {
    let mut rng = Rng::new(8, 0);
    for round in 0..50 {
        let model = random_surrogate(&mut rng);
        let set = sobol::cube(4, 30, round).unwrap();
        let weights = sobol::simplex(3, 4, round).unwrap();
        let acquisition = CMokg::one_by_one(Scalarised::new(&model, &set, &weights).unwrap());
        for option in 0..3 {
            let mut evaluate = acquisition.evaluator(option);
            for x in set.rows() {
                assert!(!evaluate(x, None).is_nan());
            }
        }
    }
}

/// The model of an output with these length scales; output scale, noise and mean.
fn belief_of(lengthscales: &[f64], [scale, noise, mean]: [f64; 3], data: &Data) -> Belief {
    let dim = data.points().dim();
    let kernel = Kernel::new(Family::Matern52, dim, lengthscales, scale).unwrap();
    let gp = Gp::new(kernel, mean, noise, data).unwrap();
    let map = Standardizer::new(&[]).unwrap();
    Belief { gp, joint: None, known: None, bound: None, map, unit: 1.0, notes: vec![] }
}

/// A model that nobody should ask.
fn hidden(rng: &mut Rng, dim: usize) -> Belief {
    let points = sobol::cube(dim, 5, 1).unwrap();
    let values: Vec<f64> = (0..5).map(|_| 100.0 * rng.normal()).collect();
    belief_of(&[0.1], [50.0, 0.5, 7.0], &Data::new(&points, &values).unwrap())
}

/// Random models of the first `objectives` objectives in three inputs.
fn few_objectives(rng: &mut Rng, objectives: usize) -> Model {
    let output = |n: usize| {
        let row = |_| [0.0; 3].map(|_| rng.uniform());
        let points = Points::from_rows(3, (0..n).map(row)).unwrap();
        let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let kernel = Kernel::new(Family::Matern52, 3, &[0.6, 0.9, 0.5], 1.2).unwrap();
        let gp = Gp::new(kernel, 0.1, 0.02, &Data::new(&points, &values).unwrap()).unwrap();
        Belief {
            gp,
            joint: None,
            known: None,
            bound: None,
            map: Standardizer::new(&[]).unwrap(),
            unit: 1.0,
            notes: vec![],
        }
    };
    Model::of_objectives([9, 5, 7][..objectives].iter().copied().map(output).collect())
}

/// Surrogates that tempt a formula to divide by zero, in two inputs: constant objectives, equal
/// objectives, models without data, without noise, and with values far from their prior.
fn degenerate_surrogates() -> Vec<Model> {
    let output = |n: usize, noise: f64, value: fn(usize) -> f64| {
        let points = sobol::cube(2, n, 3).unwrap();
        let values: Vec<f64> = (0..n).map(value).collect();
        let kernel = Kernel::new(Family::Matern52, 2, &[0.4], 1.0).unwrap();
        let gp = Gp::new(kernel, 0.0, noise, &Data::new(&points, &values).unwrap()).unwrap();
        Belief {
            gp,
            joint: None,
            known: None,
            bound: None,
            map: Standardizer::new(&[]).unwrap(),
            unit: 1.0,
            notes: vec![],
        }
    };
    let wave = |i: usize| (i as f64).sin();
    let pairs = [
        [output(8, 1e-4, wave), output(8, 1e-4, |_| 0.0)],
        [output(8, 1e-4, wave), output(8, 1e-4, wave)],
        [output(8, 1e-4, wave), output(0, 1e-4, wave)],
        [output(0, 1e-4, wave), output(0, 1e-4, wave)],
        [output(8, 0.0, wave), output(9, 0.0, |i| (i as f64).cos())],
        [output(8, 1e-4, |i| 1e3 * i as f64), output(8, 1e-4, |i| -1e3 * i as f64)],
        [output(60, 1e-4, |_| 0.0), output(60, 1e-4, |_| 0.0)],
    ];
    pairs.into_iter().map(|pair| Model::of_objectives(pair.into())).collect()
}

/// Looks everywhere, at the given designs too, for a value that is not a number, or a finite one
/// without a finite gradient.
fn assert_sane(acquisition: &dyn Acquisition, designs: &Points) {
    for option in 0..acquisition.options() {
        let mut evaluate = acquisition.evaluator(option);
        let cube = sobol::cube(designs.dim(), 50, 9).unwrap();
        for x in cube.rows().chain(designs.rows()) {
            let mut gradient = vec![0.0; x.len()];
            let log = evaluate(x, Some(&mut gradient));
            assert!(!log.is_nan() && log < f64::INFINITY, "{log} at {x:?}");
            assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?} at {x:?}");
        }
    }
}

/// Compares gradients with central differences at random points.
fn assert_gradients(acquisition: &dyn Acquisition, dim: usize, rng: &mut Rng) {
    for option in 0..acquisition.options() {
        let mut evaluate = acquisition.evaluator(option);
        for _ in 0..5 {
            let x: Vec<f64> = (0..dim).map(|_| 0.1 + 0.8 * rng.uniform()).collect();
            let mut gradient = vec![0.0; dim];
            if evaluate(&x, Some(&mut gradient)) == f64::NEG_INFINITY {
                continue;
            }
            for d in 0..dim {
                let mut shifted = |h: f64| {
                    let mut moved = x.clone();
                    moved[d] += h;
                    evaluate(&moved, None)
                };
                let difference = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                let error = (gradient[d] - difference).abs();
                let message = format!("option {option}, input {d}: {} {difference}", gradient[d]);
                assert!(error <= 2e-5 * (1.0 + difference.abs()), "{message}");
            }
        }
    }
}
