//! Objectives that are modelled together: what is measured of one moves the others.

use super::{assert_gradients, assert_sane, few_objectives, one};
use crate::model::{Joint, Model};
use crate::outlook::Beside;
use crate::value::blend::Blend;
use crate::value::c_mokg::CMokg;
use crate::value::hypervolume::Hypervolume;
use crate::value::{Acquisition, Scalarised};
use serde::Deserialize;
use unyoke_math::coregional::{Coregional, Hyper, Latent};
use unyoke_math::data::Data;
use unyoke_math::kernel::Family;
use unyoke_math::pareto::hypervolume;
use unyoke_math::random::Rng;
use unyoke_math::{Points, normal, sobol};

#[derive(Deserialize)]
struct At {
    x: Vec<f64>,
    mean: Vec<f64>,
    /// Per output, per weight vector.
    log_gain: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Case {
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    task: Vec<usize>,
    y: Vec<f64>,
    loadings: Vec<Vec<f64>>,
    kappa: Vec<Vec<f64>>,
    lengthscales: Vec<Vec<f64>>,
    noise: Vec<f64>,
    mean: Vec<f64>,
    set: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
    points: Vec<At>,
}

impl Case {
    fn model(&self) -> Model {
        let latent = |q: usize| Latent {
            lengthscales: self.lengthscales[q].clone(),
            loadings: self.loadings[q].clone(),
            own: self.kappa[q].clone(),
        };
        let latents = (0..self.loadings.len()).map(latent).collect();
        let hyper = Hyper { latents, noises: self.noise.clone(), means: self.mean.clone() };
        let data = |output: usize| {
            let rows: Vec<usize> = (0..self.y.len()).filter(|&i| self.task[i] == output).collect();
            let points = Points::from_rows(self.x[0].len(), rows.iter().map(|&i| &self.x[i]));
            let values: Vec<f64> = rows.iter().map(|&i| self.y[i]).collect();
            Data::new(&points.unwrap(), &values).unwrap()
        };
        let data: Vec<Data> = (0..self.mean.len()).map(data).collect();
        together(&hyper, &data, self.mean.len())
    }
}

/// A model whose first objectives are modelled together; what their models alone would say is
/// something else altogether, and must not matter.
fn together(hyper: &Hyper, data: &[Data], objectives: usize) -> Model {
    let dim = data[0].points().dim();
    let mut rng = Rng::new(99, 0);
    let mut model =
        Model::of_objectives((0..objectives).map(|_| super::hidden(&mut rng, dim)).collect());
    let joint = hyper.condition(Family::Matern52, data).unwrap();
    model.join(Joint::of_all(joint, hyper.clone()));
    model
}

#[test]
fn gains_of_correlated_objectives_match_the_recorded_ones() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../../tests/golden/lmc.json")).unwrap();
    assert!(cases.len() >= 3 && cases.iter().any(|case| case.mean.len() == 3));
    for case in &cases {
        let (model, set) = (case.model(), Points::from_rows(case.x[0].len(), &case.set).unwrap());
        for at in &case.points {
            for (belief, expected) in model.objectives.iter().zip(&at.mean) {
                let mean = belief.predict(&at.x).unwrap().mean;
                assert!((mean - expected).abs() <= 1e-9, "{mean} for {expected}");
            }
            for (q, weights) in case.weights.iter().enumerate() {
                let shared = Scalarised::new(&model, &set, &one(weights)).unwrap();
                let acquisition = CMokg::one_by_one(shared);
                for (m, expected) in at.log_gain.iter().map(|gains| gains[q]).enumerate() {
                    let found = acquisition.evaluator(m)(&at.x, None);
                    let error = (found - expected).abs();
                    assert!(error <= 1e-8 * expected.abs(), "{found} is {error:e} off {expected}");
                }
            }
        }
    }
}

/// Random hyper-parameters of correlated outputs, and data of different designs for each.
fn random_outputs(rng: &mut Rng, outputs: usize, dim: usize) -> (Hyper, Vec<Data>) {
    let latent = |rng: &mut Rng| Latent {
        lengthscales: (0..dim).map(|_| 0.3 + rng.uniform()).collect(),
        loadings: (0..outputs).map(|_| 0.7 * rng.normal()).collect(),
        own: (0..outputs).map(|_| 0.1 + 0.3 * rng.uniform()).collect(),
    };
    let latents = (0..2).map(|_| latent(rng)).collect();
    let hyper = Hyper { latents, noises: vec![0.02; outputs], means: vec![0.1; outputs] };
    let data = |k: usize| {
        let rows = (0..[9, 4, 6][k]).map(|_| (0..dim).map(|_| rng.uniform()).collect::<Vec<_>>());
        let points = Points::from_rows(dim, rows).unwrap();
        let values: Vec<f64> = (0..points.len()).map(|_| rng.normal()).collect();
        Data::new(&points, &values).unwrap()
    };
    let data = (0..outputs).map(data).collect();
    (hyper, data)
}

/// E g(Z) by the trapezoidal rule.
fn expectation(g: impl Fn(f64) -> f64) -> f64 {
    let (reach, count) = (8.0, 4000);
    let step = 2.0 * reach / f64::from(count);
    (0..=count).map(|i| f64::from(i) * step - reach).map(|z| step * normal::pdf(z) * g(z)).sum()
}

/// Means of each objective at `designs` after a value of output `m` at `x` that is z deviations above
/// what is expected: by conditioning on it.
fn means_after(model: &Coregional, designs: &Points, m: usize, x: &[f64], z: f64) -> Vec<Vec<f64>> {
    let expected = &model.predict(x).unwrap()[m];
    let value = expected.mean + z * (expected.variance + model.noise(m)).sqrt();
    let mut conditioned = model.clone();
    conditioned.append(x, m, value, model.noise(m)).unwrap();
    conditioned.means(designs).unwrap()
}

#[test]
fn the_gain_is_the_mean_rise_of_the_best_utility_over_conditioned_models() {
    let (mut rng, mut telling) = (Rng::new(31, 0), 0);
    for (round, outputs) in [2, 3].into_iter().cycle().take(10).enumerate() {
        let (hyper, data) = random_outputs(&mut rng, outputs, 2);
        let joint = hyper.condition(Family::Matern52, &data).unwrap();
        let model = together(&hyper, &data, outputs);
        let set = sobol::cube(2, 12, round as u64).unwrap();
        let weights = sobol::simplex(outputs, 4, round as u64).unwrap();
        let acquisition = CMokg::one_by_one(Scalarised::new(&model, &set, &weights).unwrap());
        let x = [0.0; 2].map(|_| rng.uniform());
        let mut designs = set.clone();
        designs.push(&x).unwrap();
        for m in 0..outputs {
            let best = |means: &[Vec<f64>], lambda: &[f64]| {
                let utility = |j| lambda.iter().zip(means).map(|(w, m)| w * m[j]).sum::<f64>();
                (0..designs.len()).map(utility).fold(f64::NEG_INFINITY, f64::max)
            };
            // Means move along lines: two outcomes tell all others.
            let [low, high] = [-1.0, 1.0].map(|z| means_after(&joint, &designs, m, &x, z));
            let at = |z: f64| -> Vec<Vec<f64>> {
                let line = |(a, b): (&f64, &f64)| 0.5 * (a + b) + 0.5 * z * (b - a);
                let row = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(line).collect();
                low.iter().zip(&high).map(row).collect()
            };
            let far = means_after(&joint, &designs, m, &x, 3.0);
            assert!(far.iter().zip(at(3.0)).all(|(a, b)| (a[0] - b[0]).abs() < 1e-9));
            let now = joint.means(&designs).unwrap();
            let gain = |lambda: &[f64]| expectation(|z| best(&at(z), lambda)) - best(&now, lambda);
            let expected = weights.rows().map(gain).sum::<f64>() / weights.len() as f64;
            let found = acquisition.evaluator(m)(&x, None).exp();
            assert!((found - expected).abs() <= 2e-6, "{found} for {expected}");
            telling += usize::from(found > 1e-3);
        }
    }
    assert!(telling >= 5, "{telling} gains are large enough to tell right from wrong");
}

#[test]
fn the_hypervolume_gain_is_the_sum_of_the_gains_of_each_movement_alone() {
    let (mut rng, mut telling) = (Rng::new(32, 0), 0);
    for round in 0..10 {
        let (hyper, data) = random_outputs(&mut rng, 2, 2);
        let joint = hyper.condition(Family::Matern52, &data).unwrap();
        let model = together(&hyper, &data, 2);
        let (set, reference) = (sobol::cube(2, 12, round).unwrap(), [-1.5, -1.5]);
        let acquisition = Hypervolume::one_by_one(&model, &set, &reference).unwrap();
        let x = [0.0; 2].map(|_| rng.uniform());
        let mut designs = set.clone();
        designs.push(&x).unwrap();
        let now = joint.means(&designs).unwrap();
        let volume = |means: [&Vec<f64>; 2]| {
            let rows = means[0].iter().zip(means[1]).map(|(a, b)| [*a, *b]);
            hypervolume(&Points::from_rows(2, rows).unwrap(), &reference).unwrap()
        };
        for m in 0..2 {
            let up = means_after(&joint, &designs, m, &x, 1.0);
            let moved = |k: usize, z: f64| -> Vec<f64> {
                now[k].iter().zip(&up[k]).map(|(a, b)| a + z * (b - a)).collect()
            };
            let first = expectation(|z| volume([&moved(0, z), &now[1]]));
            let second = expectation(|z| volume([&now[0], &moved(1, z)]));
            let expected = first + second - 2.0 * volume([&now[0], &now[1]]);
            let found = acquisition.evaluator(m)(&x, None).exp();
            assert!((found - expected).abs() <= 1e-5, "{found} for {expected}");
            telling += usize::from(found > 1e-2);
        }
    }
    assert!(telling >= 4, "{telling} gains are large enough to tell right from wrong");
}

/// C-MOKG, the hypervolume gain and their sum for all weights of a step.
fn all_values<'a>(model: &'a Model, set: &Points, seed: u64) -> [Box<dyn Acquisition + 'a>; 3] {
    let objectives = model.objectives.len();
    let weights = sobol::simplex(objectives, 8, seed).unwrap();
    let reference = vec![-1.5; objectives];
    let linear = || CMokg::one_by_one(Scalarised::new(model, set, &weights).unwrap());
    let volume = || Hypervolume::one_by_one(model, set, &reference).unwrap();
    let parts: Vec<(Box<dyn Acquisition + 'a>, f64)> =
        vec![(Box::new(linear()), 0.3), (Box::new(volume()), -0.2)];
    [Box::new(linear()), Box::new(volume()), Box::new(Blend { parts })]
}

/// Values of designs that are looked at together are those of each by itself.
fn assert_same_together(acquisition: &dyn Acquisition, set: &Points) {
    let mut places = sobol::cube(set.dim(), 4, 6).unwrap();
    places.push(set.row(3)).unwrap();
    for option in 0..acquisition.options() {
        let mut beside = Beside::ahead_of(places.clone());
        let mut together = acquisition.evaluator_beside(option, &mut beside);
        for x in places.rows() {
            let (found, log) = (together(x, None), acquisition.evaluator(option)(x, None));
            let same = found == log || (found - log).abs() <= 1e-9 * (1.0 + log.abs());
            assert!(same, "{found} for {log}");
        }
    }
}

#[test]
fn gradients_of_correlated_objectives_match_finite_differences() {
    let mut rng = Rng::new(33, 0);
    for round in 0..6 {
        // The third objective is in the joint model, or has a model of its own.
        for together_with in [2, 3] {
            let (hyper, data) = random_outputs(&mut rng, together_with, 3);
            let mut model = few_objectives(&mut rng, 3);
            let joint = hyper.condition(Family::Matern52, &data).unwrap();
            model.join(Joint::of_all(joint, hyper));
            let set = sobol::cube(3, 30, round).unwrap();
            // One that is by itself may have a best possible value.
            let bounds = [None, Some(0.2)];
            for bound in if together_with == 2 { &bounds[..] } else { &bounds[..1] } {
                model.objectives[2].bound = *bound;
                for acquisition in all_values(&model, &set, round) {
                    assert_gradients(&*acquisition, 3, &mut rng);
                    assert_sane(&*acquisition, &set);
                    assert_same_together(&*acquisition, &set);
                }
                let mut gradient = vec![0.0; 3];
                let (x, weights) = ([0.3, 0.6, 0.45], [0.2, 0.5, 0.3]);
                let utility = model.utility(&weights, &x, &mut gradient).unwrap();
                let at = Points::from_rows(3, [x]).unwrap();
                let same = model.utilities(&weights, &at).unwrap()[0];
                assert!((utility - same).abs() < 1e-12, "{utility} {same}");
                for (d, slope) in gradient.iter().enumerate() {
                    let shifted = |h: f64| {
                        let mut moved = x;
                        moved[d] += h;
                        model.utility(&weights, &moved, &mut [0.0; 3]).unwrap()
                    };
                    let difference = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                    assert!((slope - difference).abs() < 1e-6 * (1.0 + difference.abs()));
                }
            }
        }
    }
}

#[test]
fn without_loadings_a_measurement_is_worth_what_it_is_with_independent_models() {
    let mut rng = Rng::new(34, 0);
    let (mut hyper, data) = random_outputs(&mut rng, 2, 2);
    for (q, latent) in hyper.latents.iter_mut().enumerate() {
        latent.loadings = vec![0.0; 2];
        latent.own = (0..2).map(|k| if k == q { 0.9 } else { 0.0 }).collect();
    }
    let correlated = together(&hyper, &data, 2);
    let beliefs = hyper.latents.iter().zip(&data).map(|(latent, data)| {
        super::belief_of(&latent.lengthscales, [0.9, hyper.noises[0], hyper.means[0]], data)
    });
    let independent = Model::of_objectives(beliefs.collect());
    let set = sobol::cube(2, 25, 3).unwrap();
    let values =
        all_values(&correlated, &set, 1).into_iter().zip(all_values(&independent, &set, 1));
    for (correlated, independent) in values {
        for m in 0..2 {
            for x in sobol::cube(2, 20, 5).unwrap().rows().chain(set.rows()) {
                let logs = [&correlated, &independent].map(|value| value.evaluator(m)(x, None));
                assert!((logs[0] - logs[1]).abs() <= 1e-8 * (1.0 + logs[1].abs()), "{logs:?}");
            }
        }
    }
}

#[test]
fn a_candidate_that_is_a_compared_design_adds_no_line_of_its_own() {
    let mut rng = Rng::new(35, 0);
    let (hyper, data) = random_outputs(&mut rng, 2, 2);
    let model = together(&hyper, &data, 2);
    let set = sobol::cube(2, 25, 3).unwrap();
    for j in 0..set.len() {
        let others: Vec<usize> = (0..set.len()).filter(|i| *i != j).collect();
        let rest = set.select(&others);
        for (all, rest) in all_values(&model, &set, 1).iter().zip(all_values(&model, &rest, 1)) {
            for m in 0..2 {
                let logs =
                    [all.evaluator(m)(set.row(j), None), rest.evaluator(m)(set.row(j), None)];
                assert!((logs[0] - logs[1]).abs() <= 1e-9 * (1.0 + logs[1].abs()), "{logs:?}");
            }
        }
    }
}
