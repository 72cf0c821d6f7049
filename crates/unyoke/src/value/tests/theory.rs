//! The lemmas of the paper's appendix, on models with known hyper-parameters: the residual
//! uncertainty H(λ) = E max_j λ·f(x_j) − max_j λ·μ(x_j) bounds every gain, each evaluation is
//! expected to lower it by exactly its gain, and gains change with λ no faster than stated.

use super::super::c_mokg::CMokg;
use super::super::{Acquisition, Scalarised, latent_factor};
use super::{Model, Rng, few_objectives, one};
use unyoke_math::{Points, normal, sobol};

const DRAWS: usize = 4000;

/// Values of all objectives at the designs of a set, drawn together from the posterior: for each
/// draw, a row per objective.
fn draws(model: &Model, set: &Points, rng: &mut Rng) -> Vec<Vec<Vec<f64>>> {
    let means: Vec<Vec<f64>> = model.objectives.iter().map(|o| o.gp.means(set).unwrap()).collect();
    let factors = model.objectives.iter().map(|o| latent_factor(&o.gp, set, 1e-10).unwrap());
    let factors: Vec<_> = factors.collect();
    let mut draw = |m: usize| {
        let normals: Vec<f64> = (0..set.len()).map(|_| rng.normal()).collect();
        let moved = factors[m].lower_mul(&normals);
        means[m].iter().zip(moved).map(|(mean, v)| mean + v).collect::<Vec<f64>>()
    };
    (0..DRAWS).map(|_| (0..means.len()).map(&mut draw).collect()).collect()
}

/// The largest weighted sum over designs.
fn best(weights: &[f64], values: &[Vec<f64>]) -> f64 {
    let sum = |j: usize| weights.iter().zip(values).map(|(w, row)| w * row[j]).sum::<f64>();
    (0..values[0].len()).map(sum).fold(f64::NEG_INFINITY, f64::max)
}

/// Mean and standard error.
fn estimate(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let (mut count, mut mean, mut square) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        let step = value - mean;
        mean += step / count;
        square += step * (value - mean);
    }
    [mean, (square / (count - 1.0) / count).sqrt()]
}

/// Models of two objectives, designs to compare, and weights.
fn rounds() -> impl Iterator<Item = (Model, Points, Points, Rng)> {
    (0..8).map(|round| {
        let mut rng = Rng::new(11, round);
        let model = few_objectives(&mut rng, 2);
        let (set, weights) = (sobol::cube(3, 24, round), sobol::simplex(2, 4, round));
        (model, set.unwrap(), weights.unwrap(), rng)
    })
}

fn gain(model: &Model, set: &Points, weights: &[f64], m: usize, x: &[f64]) -> f64 {
    let shared = Scalarised::new(model, set, &one(weights)).unwrap();
    CMokg::one_by_one(shared).evaluator(m)(x, None).exp()
}

/// Lemma: c_m α(x, m; λ) ≤ H(λ).
#[test]
fn no_gain_exceeds_the_residual_uncertainty() {
    for (model, set, weights, mut rng) in rounds() {
        let drawn = draws(&model, &set, &mut rng);
        for weights in weights.rows() {
            let now: Vec<Vec<f64>> =
                model.objectives.iter().map(|o| o.gp.means(&set).unwrap()).collect();
            let [most, error] = estimate(drawn.iter().map(|values| best(weights, values)));
            let residual = most - best(weights, &now);
            assert!(residual > 0.0);
            for (m, x) in (0..2).flat_map(|m| set.rows().map(move |x| (m, x))) {
                let gain = gain(&model, &set, weights, m, x);
                assert!(gain <= residual + 4.0 * error, "{gain} exceeds {residual} ± {error}");
            }
        }
    }
}

/// Remark before the lemmas: c_m α(x, m; λ) = H_n(λ) − E_n[H_{n+1}(λ)], which is the expected rise of
/// the best expected utility over the outcomes of the evaluation.
#[test]
fn an_evaluation_is_expected_to_lower_the_residual_uncertainty_by_its_gain() {
    const STEPS: usize = 4000;
    let mut compared = 0;
    for (model, set, weights, _) in rounds() {
        let now: Vec<Vec<f64>> =
            model.objectives.iter().map(|o| o.gp.means(&set).unwrap()).collect();
        let (m, x) = (set.len() % 2, set.row(5));
        let gp = &model.objectives[m].gp;
        let prediction = gp.predict(x).unwrap();
        let deviation = (prediction.variance + gp.noise()).sqrt();
        for weights in weights.rows() {
            // Outcomes at the midpoints of a fine mesh of ±8 standard deviations.
            let step = 16.0 / STEPS as f64;
            let mut rise = 0.0;
            for i in 0..STEPS {
                let z = -8.0 + step * (i as f64 + 0.5);
                let outcome = prediction.mean + deviation * z;
                let point = Points::from_rows(3, [x]).unwrap();
                let after = gp.condition_on(&point, &[outcome], gp.noise()).unwrap();
                let mut then = now.clone();
                then[m] = after.means(&set).unwrap();
                rise += step * normal::pdf(z) * (best(weights, &then) - best(weights, &now));
            }
            let gain = gain(&model, &set, weights, m, x);
            // What is left of a rise below 1e-12 is the rounding of conditioned means.
            assert!((rise - gain).abs() < 1e-4 * gain + 1e-12, "{rise} and {gain}");
            compared += usize::from(gain > 1e-6);
        }
    }
    assert!(compared >= 16, "only {compared} gains are large enough to compare");
}

/// Lemma: |α(x, m; λ) − α(x, m; λ′)| ≤ 2/c_m ‖λ − λ′‖ E max_j ‖f(x_j)‖.
#[test]
fn gains_change_with_the_weights_no_faster_than_stated() {
    for (model, set, weights, mut rng) in rounds() {
        let drawn = draws(&model, &set, &mut rng);
        let norm = |values: &Vec<Vec<f64>>| {
            let at = |j: usize| values.iter().map(|row| row[j] * row[j]).sum::<f64>().sqrt();
            (0..set.len()).map(at).fold(0.0, f64::max)
        };
        let [largest, error] = estimate(drawn.iter().map(norm));
        for (a, b) in weights.rows().flat_map(|a| weights.rows().map(move |b| (a, b))) {
            let apart = a.iter().zip(b).map(|(p, q)| (p - q).powi(2)).sum::<f64>().sqrt();
            for m in 0..2 {
                let [one, other] = [a, b].map(|w| gain(&model, &set, w, m, set.row(7)));
                assert!((one - other).abs() <= 2.0 * apart * (largest + 4.0 * error) + 1e-15);
            }
        }
    }
}
