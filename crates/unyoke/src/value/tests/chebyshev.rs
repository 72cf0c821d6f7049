//! Utilities that are not weighted sums: against figures computed independently, C-MOKG where they
//! must agree, and gradients against finite differences.

use super::vector::random_constrained;
use super::*;
use crate::choices::Choice;
use crate::config::Utility;
use crate::value::chebyshev::UtilityKg;
use crate::worth::Worth;

const NEVER: f64 = f64::INFINITY;

/// The model with utilities of this kind.
fn valued(mut model: Model, utility: Utility, enough: &[f64], reference: &[f64]) -> Model {
    let units = model.objectives.iter().map(|belief| belief.unit).collect();
    let worth = Worth::new(utility, enough.to_vec(), reference.to_vec(), units);
    model.worth = Some(worth.unwrap());
    model
}

/// Each output of the model alone.
fn one_by_one(model: &Model) -> Vec<Choice> {
    let count = model.objectives.len() + model.constraints.len();
    (0..count).map(|k| Choice { measurements: vec![k], outputs: vec![k] }).collect()
}

fn acquisition<'a>(model: &'a Model, set: &Points, weights: &Points) -> UtilityKg<'a> {
    let shared = Scalarised::new(model, set, weights).unwrap();
    UtilityKg::new(shared, model.worth.as_ref().unwrap(), &one_by_one(model)).unwrap()
}

#[derive(Deserialize)]
struct Recorded {
    gps: Vec<Process>,
    set: Vec<Vec<f64>>,
    reference: Vec<f64>,
    weights: Vec<Vec<f64>>,
    points: Vec<RecordedGains>,
}

#[derive(Deserialize)]
struct RecordedGains {
    x: Vec<f64>,
    /// Per objective, per weight vector.
    gain: Vec<Vec<f64>>,
}

/// The figures come from a mesh of 16,001 outcomes; they are right to 1e-8 for two objectives and to
/// 1e-6 for three.
#[test]
fn gains_of_chebyshev_utilities_match_the_recorded_ones() {
    let text = include_str!("../../../tests/golden/chebyshev_kg.json");
    let cases: Vec<Recorded> = serde_json::from_str(text).unwrap();
    let mut objectives = vec![];
    for case in &cases {
        let count = case.gps.len();
        objectives.push(count);
        let model = Model::of_objectives(case.gps.iter().map(Process::output).collect());
        let mut model = valued(model, Utility::Chebyshev, &vec![NEVER; count], &case.reference);
        if count > 2 {
            model.worth = model.worth.map(|worth| worth.with_nodes(101, 400));
        }
        let set = Points::from_rows(case.set[0].len(), &case.set).unwrap();
        for at in &case.points {
            let most = at.gain.iter().flatten().copied().fold(0.0, f64::max);
            let floor = 1e-5 * most + if count == 2 { 1e-8 } else { 1e-6 };
            for (q, weights) in case.weights.iter().enumerate() {
                let acquisition = acquisition(&model, &set, &one(weights));
                for m in 0..count {
                    let (gain, _) = evaluate(&acquisition, m, &at.x);
                    assert_close(gain, at.gain[m][q], [0.0, floor], "gain");
                }
            }
        }
    }
    assert!(objectives.contains(&2) && objectives.contains(&3));
}

#[test]
fn targets_out_of_reach_change_nothing() {
    let mut rng = Rng::new(21, 0);
    for round in 0..4 {
        let plain = few_objectives(&mut rng, 3);
        let set = sobol::cube(3, 30, round).unwrap();
        let weights = sobol::simplex(3, 5, round).unwrap();
        let linear = CMokg::one_by_one(Scalarised::new(&plain, &set, &weights).unwrap());
        let capped = valued(plain.clone(), Utility::Linear, &[1e6; 3], &[0.0; 3]);
        let capped = acquisition(&capped, &set, &weights);
        for m in 0..3 {
            let x = [0.0; 3].map(|_| rng.uniform());
            let (expected, slopes) = evaluate(&linear, m, &x);
            let (found, gradient) = evaluate(&capped, m, &x);
            assert_close(found, expected, [1e-7, 1e-14], "gain");
            for (found, expected) in gradient.iter().zip(slopes) {
                assert_close(*found, expected, [1e-5, 1e-9], "gradient");
            }
        }
    }
}

#[test]
fn measuring_what_is_certainly_enough_gains_nothing_and_less_of_it_is_worth_less() {
    let mut rng = Rng::new(5, 0);
    let plain = few_objectives(&mut rng, 2);
    let set = sobol::cube(3, 40, 3).unwrap();
    let weights = sobol::simplex(2, 8, 3).unwrap();
    let gains = |target: f64| {
        let model = valued(plain.clone(), Utility::Linear, &[target, NEVER], &[0.0; 2]);
        let acquisition = acquisition(&model, &set, &weights);
        evaluate(&acquisition, 0, &[0.3, 0.4, 0.6]).0
    };
    let by_target = [-30.0, -1.0, 0.0, 1.0, 30.0].map(gains);
    assert!(by_target[0] < 1e-9, "{by_target:?}");
    assert!(by_target.windows(2).all(|pair| pair[0] < pair[1]), "{by_target:?}");
}

#[test]
fn gradients_match_finite_differences_for_all_utilities() {
    let mut rng = Rng::new(31, 0);
    let targets: [&[f64]; 4] =
        [&[NEVER, NEVER], &[0.3, NEVER], &[NEVER, NEVER, NEVER], &[0.5, NEVER, 0.1]];
    for enough in targets {
        for utility in [Utility::Linear, Utility::Chebyshev] {
            let model = few_objectives(&mut rng, enough.len());
            let model = valued(model, utility, enough, &[-1.0, -1.5, -1.2][..enough.len()]);
            let set = sobol::cube(3, 25, 7).unwrap();
            let weights = sobol::simplex(enough.len().max(1), 4, 2).unwrap();
            assert_gradients(&acquisition(&model, &set, &weights), 3, &mut rng);
        }
    }
}

#[test]
fn gradients_match_finite_differences_within_constraints() {
    let mut rng = Rng::new(77, 0);
    for round in 0..2 {
        for utility in [Utility::Linear, Utility::Chebyshev] {
            let model = random_constrained(&mut rng);
            let model = valued(model, utility, &[0.4, NEVER], &[-1.0, -1.5]);
            let set = sobol::cube(3, 25, round).unwrap();
            let weights = sobol::simplex(2, 4, round).unwrap();
            let acquisition = acquisition(&model, &set, &weights);
            assert_eq!(acquisition.options(), 4);
            assert_gradients(&acquisition, 3, &mut rng);
        }
    }
}

/// Within constraints, linear utilities with targets out of reach are those of C-MOKG, whatever is
/// measured.
#[test]
fn within_constraints_targets_out_of_reach_change_nothing() {
    let mut rng = Rng::new(78, 0);
    let plain = random_constrained(&mut rng);
    let capped = valued(plain.clone(), Utility::Linear, &[1e6; 2], &[-1.0, -1.5]);
    let set = sobol::cube(3, 30, 1).unwrap();
    let weights = sobol::simplex(2, 5, 1).unwrap();
    let shared = Scalarised::new(&plain, &set, &weights).unwrap();
    let linear = CMokg::new(shared, &one_by_one(&plain)).unwrap();
    let capped = acquisition(&capped, &set, &weights);
    for option in 0..4 {
        for _ in 0..3 {
            let x = [0.0; 3].map(|_| rng.uniform());
            let (expected, found) =
                (evaluate(&linear, option, &x).0, evaluate(&capped, option, &x).0);
            assert_close(found, expected, [1e-6, 1e-13], "gain");
        }
    }
}

#[test]
fn values_are_numbers_where_models_know_everything_or_nothing() {
    for utility in [Utility::Linear, Utility::Chebyshev] {
        for model in degenerate_surrogates() {
            let model = valued(model, utility, &[0.1, NEVER], &[-2.0, -2.0]);
            let set = sobol::cube(2, 20, 5).unwrap();
            let weights = Points::from_rows(2, [[1.0, 0.0], [0.3, 0.7], [0.0, 1.0]]).unwrap();
            assert_sane(&acquisition(&model, &set, &weights), &set);
        }
    }
}

/// As late in a study: the best design is known, and others would have to surprise.
#[test]
fn tiny_gains_have_logarithms_and_gradients() {
    let points = sobol::cube(2, 60, 3).unwrap();
    let output = |sign: f64| {
        let value = |x: &[f64]| sign * (x[0] - 0.5) - (x[1] - 0.4).powi(2);
        let values: Vec<f64> = points.rows().map(value).collect();
        let kernel = Kernel::new(Family::Matern52, 2, &[0.8], 1.0).unwrap();
        let gp = Gp::new(kernel, 0.0, 1e-6, &Data::new(&points, &values).unwrap()).unwrap();
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
    let model = Model::of_objectives(vec![output(1.0), output(-1.0)]);
    let model = valued(model, Utility::Chebyshev, &[NEVER; 2], &[-1.0, -1.0]);
    let acquisition = acquisition(&model, &points, &one(&[0.5, 0.5]));
    let mut gradient = [0.0; 2];
    let log = acquisition.evaluator(0)(&[0.1, 0.9], Some(&mut gradient));
    assert!(log.is_finite() && log < -40.0, "{log}");
    assert!(gradient.iter().all(|g| g.is_finite() && *g != 0.0), "{gradient:?}");
}

/// Random models of some objectives in three inputs, with this noise.
fn precise_objectives(rng: &mut Rng, objectives: usize, noise: f64) -> Model {
    let belief = |_| {
        let points = Points::from_rows(3, (0..9).map(|_| [0.0; 3].map(|_| rng.uniform()))).unwrap();
        let values: Vec<f64> = (0..9).map(|_| rng.normal()).collect();
        let data = Data::new(&points, &values).unwrap();
        belief_of(&[0.6, 0.9, 0.5], [1.2, noise, 0.1], &data)
    };
    Model::of_objectives((0..objectives).map(belief).collect())
}

/// The best design all but reaches the target, so that what can be gained is what is expected to be missing
/// at it: next to nothing. It is gained or not within a fraction of a deviation of what is measured.
#[test]
fn gradients_match_finite_differences_where_one_target_is_nearly_reached() {
    let mut rng = Rng::new(131, 0);
    let set = sobol::cube(3, 25, 7).unwrap();
    for noise in [0.02, 1e-4, 1e-6] {
        let plain = precise_objectives(&mut rng, 1, noise);
        let best = plain.means(&set).unwrap().as_flat().iter().copied().fold(-9.0, f64::max);
        for beyond in [2.0, 1.0, 0.5, 0.1] {
            for utility in [Utility::Linear, Utility::Chebyshev] {
                let model = valued(plain.clone(), utility, &[best - beyond], &[-4.0]);
                assert_gradients(&acquisition(&model, &set, &one(&[1.0])), 3, &mut rng);
            }
        }
    }
}

#[test]
fn gradients_match_finite_differences_where_little_is_left_unknown() {
    let mut rng = Rng::new(17, 0);
    let set = sobol::cube(3, 25, 7).unwrap();
    for enough in [&[0.3, NEVER][..], &[0.3, 0.0, NEVER]] {
        let model = precise_objectives(&mut rng, enough.len(), 1e-6);
        let model = valued(model, Utility::Chebyshev, enough, &[-1.0; 3][..enough.len()]);
        let weights = [0.4, 0.35, 0.25];
        assert_gradients(&acquisition(&model, &set, &one(&weights[..enough.len()])), 3, &mut rng);
    }
}

/// Utilities matter up to a factor, whatever its size.
#[test]
fn gains_grow_with_the_units_of_values_of_any_size() {
    let mut rng = Rng::new(9, 0);
    let plain = few_objectives(&mut rng, 2);
    let set = sobol::cube(3, 25, 7).unwrap();
    let weights = sobol::simplex(2, 4, 2).unwrap();
    let x = [0.3, 0.6, 0.2];
    for (utility, enough) in [(Utility::Linear, [0.3, NEVER]), (Utility::Chebyshev, [NEVER; 2])] {
        let log_gains = |units: [f64; 2]| {
            let mut model = plain.clone();
            model.objectives.iter_mut().zip(units).for_each(|(belief, unit)| belief.unit = unit);
            let model = valued(model, utility, &enough, &[-1.0, -1.5]);
            let acquisition = acquisition(&model, &set, &weights);
            [0, 1].map(|option| {
                let mut gradient = [0.0; 3];
                (acquisition.evaluator(option)(&x, Some(&mut gradient)), gradient)
            })
        };
        let usual = log_gains([1.5, 0.7]);
        for size in [1e-300, 1e-100, 1e-9, 1e9, 1e100, 1e300] {
            let scaled = log_gains([1.5 * size, 0.7 * size]);
            for ((found, by_found), (expected, by_expected)) in scaled.into_iter().zip(usual) {
                assert_close(found, expected + size.ln(), [1e-12, 1e-12], "logarithm of the gain");
                for (found, expected) in by_found.into_iter().zip(by_expected) {
                    assert_close(found, expected, [1e-9, 1e-9], "gradient");
                }
            }
        }
        for units in [[1e300, 1e-300], [1e-300, 1e300], [1e-150, 1.0], [f64::MAX, 5e-324]] {
            for (log, gradient) in log_gains(units) {
                assert!(!log.is_nan() && gradient.iter().all(|g| g.is_finite()), "{units:?}");
            }
        }
    }
}

/// Seen from far enough away one objective is always the last: utilities are then weighted sums.
#[test]
fn from_a_reference_far_away_gains_are_those_of_weighted_sums() {
    let mut rng = Rng::new(12, 0);
    let plain = few_objectives(&mut rng, 2);
    let set = sobol::cube(3, 25, 7).unwrap();
    // The weights λ = (0.3, 0.7) make the objectives count 0.7 and 0.3, and all together 0.05 of that.
    let last_is = [[1.05 * 0.7, 0.05 * 0.3], [0.05 * 0.7, 1.05 * 0.3]];
    for (reference, last) in
        [([-1e30, -1e30], 1), ([1e30, 1e30], 0), ([-1e30, 1e30], 1), ([1e30, 0.5], 0)]
    {
        let model = valued(plain.clone(), Utility::Chebyshev, &[NEVER; 2], &reference);
        let found = acquisition(&model, &set, &one(&[0.3, 0.7]));
        let shared = Scalarised::new(&plain, &set, &one(&last_is[last])).unwrap();
        let expected = CMokg::one_by_one(shared);
        for _ in 0..5 {
            let x = [0.0; 3].map(|_| rng.uniform());
            for option in 0..2 {
                let (found, by_found) = evaluate(&found, option, &x);
                let (expected, by_expected) = evaluate(&expected, option, &x);
                assert_close(found, expected, [1e-6, 1e-9], "gain");
                for (found, expected) in by_found.into_iter().zip(by_expected) {
                    assert_close(found, expected, [1e-5, 1e-8], "gradient");
                }
            }
        }
    }
}
