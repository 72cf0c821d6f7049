//! ParEGO against Monte Carlo, its gradient, and its limits.

use super::*;
use crate::acquisition::par_ego::ParEgo;

#[test]
fn par_ego_gradients_match_finite_differences() {
    let mut rng = Rng::new(7, 0);
    for round in 0..20 {
        for objectives in [1, 2, 3] {
            let surrogate = few_objectives(&mut rng, objectives);
            let known = sobol::cube(3, 8, round).unwrap();
            let weights = sobol::simplex(objectives, 1, round).unwrap();
            let par_ego = ParEgo::new(&surrogate, &known, &weights).unwrap();
            // Differences are taken over steps that hardly ever meet a kink.
            assert_gradients(&par_ego, 3, &mut rng);
        }
    }
}

#[test]
fn par_ego_is_the_expected_improvement_of_its_utility() {
    let mut rng = Rng::new(8, 0);
    for objectives in [2, 3] {
        let surrogate = few_objectives(&mut rng, objectives);
        let known = sobol::cube(3, 4, 1).unwrap();
        let weights = sobol::simplex(objectives, 1, 1).unwrap();
        let par_ego = ParEgo::new(&surrogate, &known, &weights).unwrap();
        for x in sobol::cube(3, 6, 2).unwrap().rows() {
            let predictions: Vec<_> =
                surrogate.outputs.iter().map(|output| output.gp.predict(x).unwrap()).collect();
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
            assert!((gain - exact).abs() <= 0.1 * exact + 5e-4, "{gain} against {exact}");
        }
    }
}

#[test]
fn par_ego_is_never_nan_and_always_has_a_slope() {
    for surrogate in degenerate_surrogates() {
        for known in [0, 1, 8] {
            let known = sobol::cube(2, known, 3).unwrap();
            for weights in [[0.5, 0.5], [0.0, 1.0]] {
                let par_ego = ParEgo::new(&surrogate, &known, &one(&weights)).unwrap();
                assert_sane(&par_ego, &known);
                assert!(par_ego.evaluator(0)(&[0.2, 0.7], None) > f64::NEG_INFINITY);
            }
        }
    }
}
