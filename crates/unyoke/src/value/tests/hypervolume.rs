//! The hypervolume knowledge gradient in closed form, and sums of acquisition functions.

use super::{Process, few_objectives};
use crate::model::Model;
use crate::outlook::Beside;
use crate::value::blend::Blend;
use crate::value::c_mokg::CMokg;
use crate::value::hypervolume::{Extent, Hypervolume};
use crate::value::{Acquisition, Scalarised};
use serde::Deserialize;
use unyoke_math::random::Rng;
use unyoke_math::{Points, sobol};

#[derive(Deserialize)]
struct Case {
    gps: Vec<Process>,
    set: Vec<Vec<f64>>,
    reference: Vec<f64>,
    points: Vec<At>,
}

#[derive(Deserialize)]
struct At {
    x: Vec<f64>,
    /// Per objective.
    log_gain: Vec<f64>,
    log_gain_gradient: Vec<Vec<f64>>,
}

fn evaluate(acquisition: &dyn Acquisition, option: usize, x: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; x.len()];
    let log = acquisition.evaluator(option)(x, Some(&mut gradient));
    assert_eq!(acquisition.evaluator(option)(x, None), log);
    (log, gradient)
}

#[test]
fn gains_and_gradients_match_the_recorded_ones() {
    let text = include_str!("../../../tests/golden/hv_kg_exact.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert!(cases.iter().any(|case| case.gps.len() == 3));
    for case in &cases {
        let model = Model::of_objectives(case.gps.iter().map(Process::output).collect());
        let set = Points::from_rows(2, &case.set).unwrap();
        let acquisition = Hypervolume::one_by_one(&model, &set, &case.reference).unwrap();
        for at in &case.points {
            for (m, expected) in at.log_gain.iter().enumerate() {
                let (log, gradient) = evaluate(&acquisition, m, &at.x);
                assert!((log - expected).abs() <= 1e-9 * expected.abs(), "{log} for {expected}");
                for (found, expected) in gradient.iter().zip(&at.log_gain_gradient[m]) {
                    let error = (found - expected).abs();
                    assert!(error <= 1e-6 * expected.abs(), "{found} for {expected}");
                }
            }
        }
    }
}

/// Fails where the gradient of a logarithm is not that of its differences.
fn assert_gradients(acquisition: &dyn Acquisition, x: &[f64], what: &str) {
    for option in 0..acquisition.options() {
        let (_, gradient) = evaluate(acquisition, option, x);
        for (d, slope) in gradient.iter().enumerate() {
            let shifted = |h: f64| {
                let mut moved = x.to_vec();
                moved[d] += h;
                acquisition.evaluator(option)(&moved, None)
            };
            let difference = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
            let error = (slope - difference).abs();
            assert!(
                error <= 1e-5 * (1.0 + difference.abs()),
                "{what}, option {option}, input {d}: {slope} against {difference}"
            );
        }
    }
}

/// A model of four objectives, a set of designs, and a reference point that some of them exceed.
fn setting(rng: &mut Rng, objectives: usize, round: u64) -> (Model, Points, Vec<f64>) {
    let mut model = few_objectives(rng, objectives.min(3));
    if objectives > 3 {
        let more = few_objectives(rng, 3).objectives.swap_remove(1);
        let mut all = model.objectives;
        all.push(more);
        model = Model::of_objectives(all);
    }
    let set = sobol::cube(3, 40, round).unwrap();
    (model, set, vec![-0.8; objectives])
}

#[test]
fn gradients_match_finite_differences_for_two_to_four_objectives() {
    let mut rng = Rng::new(14, 0);
    for round in 0..20 {
        for objectives in 2..=4 {
            let (model, set, reference) = setting(&mut rng, objectives, round);
            let acquisition = Hypervolume::one_by_one(&model, &set, &reference).unwrap();
            let x = [0.0; 3].map(|_| 0.1 + 0.8 * rng.uniform());
            assert_gradients(&acquisition, &x, &format!("{objectives} objectives"));
        }
    }
}

#[test]
fn several_objectives_at_once_gain_more_than_each_alone() {
    let mut rng = Rng::new(16, 0);
    for round in 0..12 {
        for (objectives, several) in [(2, vec![0, 1]), (3, vec![2, 0]), (3, vec![0, 1, 2])] {
            let (model, set, reference) = setting(&mut rng, objectives, round);
            let extent = Extent { set: &set, reference: &reference, seed: round };
            let alone = several.iter().map(|m| vec![*m]);
            let measured: Vec<Vec<usize>> = std::iter::once(several.clone()).chain(alone).collect();
            let acquisition = Hypervolume::new(&model, &extent, &measured).unwrap();
            let x = [0.0; 3].map(|_| 0.1 + 0.8 * rng.uniform());
            let gain = |option: usize| acquisition.evaluator(option)(&x, None).exp();
            let most = (1..measured.len()).map(gain).fold(0.0, f64::max);
            assert!(gain(0) >= most, "{} for {several:?}, {most} alone", gain(0));
            assert_gradients(&acquisition, &x, &format!("{several:?} of {objectives}"));
        }
    }
}

#[test]
fn what_is_known_already_adds_nothing_when_it_is_measured_with_something_else() {
    let mut rng = Rng::new(17, 0);
    let (mut model, set, reference) = setting(&mut rng, 2, 1);
    // Measured at the candidate and at all designs: only the other objective moves.
    let x = [0.3, 0.4, 0.5];
    let mut known = set.clone();
    known.push(&x).unwrap();
    let gp = model.objectives[1].gp.clone();
    let means = gp.means(&known).unwrap();
    model.objectives[1].gp = gp.condition_on(&known, &means, 1e-12).unwrap();
    let extent = Extent { set: &set, reference: &reference, seed: 1 };
    let acquisition = Hypervolume::new(&model, &extent, &[vec![0, 1], vec![0]]).unwrap();
    let [both, one] = [0, 1].map(|option| acquisition.evaluator(option)(&x, None).exp());
    assert!((both - one).abs() <= 1e-4 * one, "{both} for {one}");
}

#[test]
fn a_blend_is_the_sum_of_its_parts_with_its_gradient() {
    let mut rng = Rng::new(15, 0);
    for round in 0..10 {
        let (model, set, reference) = setting(&mut rng, 2, round);
        let weights = sobol::simplex(2, 8, round).unwrap();
        let linear = || CMokg::one_by_one(Scalarised::new(&model, &set, &weights).unwrap());
        let volume = || Hypervolume::one_by_one(&model, &set, &reference).unwrap();
        let blend = Blend {
            parts: vec![(Box::new(linear()), 3f64.ln()), (Box::new(volume()), 0.5f64.ln())],
        };
        let x = [0.0; 3].map(|_| 0.1 + 0.8 * rng.uniform());
        for option in 0..2 {
            let gain =
                |acquisition: &dyn Acquisition| acquisition.evaluator(option)(&x, None).exp();
            let expected = 3.0 * gain(&linear()) + 0.5 * gain(&volume());
            let found = gain(&blend);
            assert!((found - expected).abs() <= 1e-12 * expected, "{found} for {expected}");
        }
        assert_gradients(&blend, &x, "blend");
    }
}

#[test]
fn nothing_is_gained_beyond_a_best_possible_value() {
    let mut rng = Rng::new(19, 0);
    let mut cut = 0;
    for round in 0..12 {
        let (mut model, set, reference) = setting(&mut rng, 3, round);
        let unbounded = Hypervolume::one_by_one(&model, &set, &reference).unwrap();
        let x = [0.0; 3].map(|_| 0.1 + 0.8 * rng.uniform());
        let without = unbounded.evaluator(0)(&x, None).exp();
        let bound = model.objectives[0].gp.means(&set).unwrap().into_iter().fold(0.0, f64::max);
        model.objectives[0].bound = Some(bound);
        let acquisition = Hypervolume::one_by_one(&model, &set, &reference).unwrap();
        let found = acquisition.evaluator(0)(&x, None).exp();
        // The volume of lines that end at the bound, outcome by outcome.
        let mut all = set.clone();
        all.push(&x).unwrap();
        let (counted, lookahead) = (model.means(&all).unwrap(), &model.objectives[0].gp);
        let here = lookahead.fixed_set(&all).unwrap();
        let mut at = unyoke_math::gp::Candidate::default();
        here.evaluate(&x, &mut at).unwrap();
        let deviation = (at.prediction().variance + lookahead.noise()).sqrt();
        let share = |j: usize| {
            let prediction = lookahead.predict(all.row(j)).unwrap();
            unyoke_math::censored::Censored::new(prediction, bound).share
        };
        let slopes: Vec<f64> =
            (0..all.len()).map(|j| share(j) * at.covariances()[j] / deviation).collect();
        let volume = |z: f64| {
            let row = |j: usize| {
                let means = counted.row(j);
                [(means[0] + slopes[j] * z).min(bound), means[1], means[2]]
            };
            let moved = Points::from_rows(3, (0..all.len()).map(row)).unwrap();
            unyoke_math::pareto::hypervolume(&moved, &reference).unwrap()
        };
        let (nodes, width) = (40_000, 16.0 / 40_000.0);
        let outcomes = (0..nodes).map(|i| -8.0 + (i as f64 + 0.5) * width);
        let expected: f64 =
            outcomes.map(|z| unyoke_math::normal::pdf(z) * width * (volume(z) - volume(0.0))).sum();
        assert!((found - expected).abs() <= 1e-5 * without, "{found} for {expected}");
        cut += usize::from(found < 0.9 * without);
    }
    assert!(cut >= 3, "bounds took something off {cut} of 12 gains");
}

#[test]
fn gradients_match_finite_differences_where_objectives_have_a_best_possible_value() {
    let mut rng = Rng::new(18, 0);
    let mut moved = 0;
    for round in 0..10 {
        let (plain, set, reference) = setting(&mut rng, 3, round);
        let weights = sobol::simplex(3, 8, round).unwrap();
        let mut model = plain.clone();
        (model.objectives[0].bound, model.objectives[2].bound) = (Some(0.3), Some(0.0));
        let blend = |model| -> Blend<'_> {
            let linear = CMokg::one_by_one(Scalarised::new(model, &set, &weights).unwrap());
            let volume = Hypervolume::one_by_one(model, &set, &reference).unwrap();
            Blend { parts: vec![(Box::new(linear), 0.0), (Box::new(volume), 0.0)] }
        };
        let (blend, unbounded) = (blend(&model), blend(&plain));
        let x = [0.0; 3].map(|_| 0.1 + 0.8 * rng.uniform());
        assert_gradients(&blend, &x, "best possible values");
        // One of the compared designs, and the same values where they are asked for together.
        let places = Points::from_rows(3, [&x[..], set.row(3)]).unwrap();
        for option in 0..3 {
            let mut beside = Beside::ahead_of(places.clone());
            let mut together = blend.evaluator_beside(option, &mut beside);
            for x in places.rows() {
                let (log, _) = evaluate(&blend, option, x);
                let found = together(x, None);
                assert!((found - log).abs() <= 1e-9 * (1.0 + log.abs()), "{found} for {log}");
                moved += usize::from((unbounded.evaluator(option)(x, None) - log).abs() > 1e-3);
            }
        }
    }
    assert!(moved > 30, "bounds made a difference at {moved} of 60 places");
}

#[test]
fn nothing_is_gained_where_everything_is_known_and_nothing_is_not_a_number() {
    for model in super::degenerate_surrogates() {
        let set = sobol::cube(2, 20, 1).unwrap();
        let reference = vec![-1.0; model.objectives.len()];
        let Ok(acquisition) = Hypervolume::one_by_one(&model, &set, &reference) else { continue };
        for option in 0..acquisition.options() {
            for x in set.rows().chain([&[0.21, 0.43][..]]) {
                let (log, gradient) = evaluate(&acquisition, option, x);
                assert!(!log.is_nan() && log < f64::INFINITY);
                assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
            }
        }
    }
}
