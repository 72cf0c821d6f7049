//! ParEGO against Monte Carlo, its gradient, and its limits.

use super::*;
use crate::value::par_ego::{NODES, ParEgo, TEMPERATURE};

#[test]
fn par_ego_gradients_match_finite_differences() {
    let mut rng = Rng::new(7, 0);
    for round in 0..20 {
        for objectives in [1, 2, 3] {
            let model = few_objectives(&mut rng, objectives);
            let known = sobol::cube(3, 8, round).unwrap();
            let weights = sobol::simplex(objectives, 1, round).unwrap();
            let par_ego = ParEgo::new(&model, &known, &weights).unwrap();
            // Steps this short seldom cross a kink.
            assert_gradients(&par_ego, 3, &mut rng);
        }
    }
}

#[test]
fn par_ego_is_the_expected_improvement_of_its_utility() {
    let mut rng = Rng::new(8, 0);
    for objectives in [2, 3] {
        let model = few_objectives(&mut rng, objectives);
        let known = sobol::cube(3, 4, 1).unwrap();
        let weights = sobol::simplex(objectives, 1, 1).unwrap();
        let par_ego = ParEgo::new(&model, &known, &weights).unwrap();
        for x in sobol::cube(3, 6, 2).unwrap().rows() {
            let predictions: Vec<_> =
                model.objectives.iter().map(|output| output.gp.predict(x).unwrap()).collect();
            let count = 200_000;
            let mut sum = 0.0;
            for _ in 0..count {
                let draw =
                    |p: &unyoke_math::gp::Prediction| p.mean + p.variance.sqrt() * rng.normal();
                let y: Vec<f64> = predictions.iter().map(draw).collect();
                sum += (par_ego.utility(&y) - par_ego.best()).max(0.0);
            }
            let exact = sum / f64::from(count);
            let (gain, _) = evaluate(&par_ego, 0, x);
            // A few nodes against many: where improvements are rare, none may be seen at all.
            assert_close(gain, exact, [0.1, 3e-5], "expected improvement");
        }
    }
}

#[test]
fn par_ego_is_the_mean_of_softened_improvements_at_its_nodes_however_small() {
    let mut rng = Rng::new(8, 0);
    let mut smallest = 0.0f64;
    for objectives in [1, 2, 3] {
        let model = few_objectives(&mut rng, objectives);
        let known = sobol::cube(3, 4, 1).unwrap();
        let weights = sobol::simplex(objectives, 1, 1).unwrap();
        let par_ego = ParEgo::new(&model, &known, &weights).unwrap();
        for x in sobol::cube(3, 20, 2).unwrap().rows() {
            let predictions: Vec<_> =
                model.objectives.iter().map(|output| output.gp.predict(x).unwrap()).collect();
            let softened = |z: &[f64]| {
                let pairs = predictions.iter().zip(z);
                let y: Vec<f64> = pairs.map(|(p, z)| p.mean + p.variance.sqrt() * z).collect();
                let u = (par_ego.utility(&y) - par_ego.best()) / TEMPERATURE;
                // ln ln(1 + eᵘ), which is u where eᵘ is lost beside 1.
                let log = if u < -40.0 { u } else { (u.max(0.0) + (-u.abs()).exp().ln_1p()).ln() };
                TEMPERATURE.ln() + log
            };
            let nodes = sobol::normals(objectives, NODES, 0).unwrap();
            let logs: Vec<f64> = nodes.rows().map(softened).collect();
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logs.iter().map(|log| (log - top).exp()).sum();
            let expected = top + (sum / NODES as f64).ln();
            let found = par_ego.evaluator(0)(x, None);
            assert_close(found, expected, [1e-9, 1e-9], "logarithm");
            smallest = smallest.min(expected);
        }
    }
    assert!(smallest < -300.0, "{smallest}");
}

#[test]
fn par_ego_is_never_nan_and_always_has_a_slope() {
    for model in degenerate_surrogates() {
        for known in [0, 1, 8] {
            let known = sobol::cube(2, known, 3).unwrap();
            for weights in [[0.5, 0.5], [0.0, 1.0]] {
                let par_ego = ParEgo::new(&model, &known, &one(&weights)).unwrap();
                assert_sane(&par_ego, &known);
                assert!(par_ego.evaluator(0)(&[0.2, 0.7], None) > f64::NEG_INFINITY);
            }
        }
    }
}
