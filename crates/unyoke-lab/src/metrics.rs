//! How good a recommended set of designs is: Bayesian regret, Eq. (16)-(17), and hypervolume
//! regret.

use crate::error::Result;
use crate::instance::Instance;
use crate::optimum::{Options, utility};
use crate::target::Target;
use unyoke::{Design, Expectation, Front, FrontPoint};
use unyoke_math::Points;
use unyoke_math::pareto::hypervolume;

/// A recommended set S_N: what the models predict there, and what is true there. Everything
/// maximised.
#[derive(Debug, Clone)]
pub struct Recommendation {
    /// Predicted objective values of each design, by which decision makers choose.
    pub predicted: Points,
    /// What each design is truly worth in each objective: the true values, or less where it breaks a
    /// constraint (see [`Target::worth`]).
    pub truth: Points,
}

impl Recommendation {
    /// The predicted front of a study on `instance`.
    pub fn new(instance: &Instance, target: &Target, front: &Front) -> Result<Self> {
        let objectives = instance.objectives();
        let means = |point: &FrontPoint| -> Vec<f64> {
            point.outputs.iter().take(objectives).map(|forecast| forecast.mean).collect()
        };
        let points = front.points.iter().map(|point| (&point.design, means(point)));
        Self::of(instance, target, points)
    }

    /// What is expected of designs on `instance`.
    pub fn expected(
        instance: &Instance,
        target: &Target,
        expected: Vec<Expectation>,
    ) -> Result<Self> {
        Self::of(instance, target, expected.iter().map(|one| (&one.design, one.choices.clone())))
    }

    /// Designs with the expected values of all objectives in their own units.
    fn of<'a>(
        instance: &Instance,
        target: &Target,
        points: impl Iterator<Item = (&'a Design, Vec<f64>)>,
    ) -> Result<Self> {
        let objectives = instance.objectives();
        let mut designs = Points::new(instance.problem.parameters.len());
        let mut predicted = Points::new(objectives);
        for (design, mut means) in points {
            designs.push(&instance.to_unit(design))?;
            means.iter_mut().enumerate().for_each(|(m, mean)| *mean *= instance.sign(m));
            predicted.push(&means)?;
        }
        let merits = instance.merits(&designs)?;
        let worths = merits.values.rows().zip(&merits.violations);
        let worths = worths.map(|(values, &violation)| target.worth(values, violation));
        Ok(Self { predicted, truth: Points::from_rows(objectives, worths)? })
    }
}

/// Bayesian regret R_N = E_λ[max λ·f*(x) − λ·f*(x_λ)], x_λ the design of largest *predicted*
/// utility; the mean over the weights of `target`. Source: Eq. (17).
///
/// Who is recommended nothing gets the reference point.
pub fn regret(recommendation: &Recommendation, target: &Target) -> f64 {
    let (predicted, truth) = (&recommendation.predicted, &recommendation.truth);
    let options = Options::of(predicted);
    let paid = |weights: &[f64]| {
        let chosen = options.best(predicted, weights, &target.units);
        let values = chosen.map_or(&target.reference[..], |i| truth.row(i));
        utility(weights, values, &target.units)
    };
    let losses = target.weights.rows().zip(&target.best).map(|(w, best)| best - paid(w));
    losses.sum::<f64>() / target.weights.len() as f64
}

/// Bayesian regret for two objectives with the integral over λ exact: both the best true utility
/// and the choice by predicted utility are piecewise linear in λ₁. Source: Eq. (16).
pub fn exact_regret(recommendation: &Recommendation, target: &Target) -> f64 {
    let (predicted, truth) = (&recommendation.predicted, &recommendation.truth);
    best_for_all(target) - expected_choice(&pairs(predicted, target), &pairs(truth, target))
}

/// E_λ[max λ·f*(x)] over the true front for two objectives, the integral over λ exact.
pub fn best_for_all(target: &Target) -> f64 {
    let front = pairs(&target.front, target);
    expected_choice(&front, &front)
}

/// Values of two objectives, in units of utility.
fn pairs(values: &Points, target: &Target) -> Vec<[f64; 2]> {
    values.rows().map(|row| [row[0] / target.units[0], row[1] / target.units[1]]).collect()
}

/// ∫₀¹ u·`paid`₁ + (1 − u)·`paid`₂ du, where at each u the option with the largest such sum of
/// `offered` is chosen.
fn expected_choice(offered: &[[f64; 2]], paid: &[[f64; 2]]) -> f64 {
    let value = |i: usize, u: f64| u * offered[i][0] + (1.0 - u) * offered[i][1];
    let slope = |i: usize| offered[i][0] - offered[i][1];
    let mut from = 0.0;
    let mut total = 0.0;
    // The steepest of the best at u = 0 stays best for a while; then follow the upper envelope.
    let better = |&i: &usize, &j: &usize| {
        value(i, 0.0).total_cmp(&value(j, 0.0)).then(slope(i).total_cmp(&slope(j)))
    };
    let Some(mut current) = (0..offered.len()).max_by(better) else { return f64::NAN };
    while from < 1.0 {
        let (to, next) = next_crossing(current, from, offered);
        let middle = 0.5 * (from + to);
        total += (to - from) * (middle * paid[current][0] + (1.0 - middle) * paid[current][1]);
        (from, current) = (to, next);
    }
    total
}

/// Where on (`from`, 1] the option `current` is overtaken first, and by which: of those that
/// overtake at the same place the steepest.
fn next_crossing(current: usize, from: f64, offered: &[[f64; 2]]) -> (f64, usize) {
    let slope = |i: usize| offered[i][0] - offered[i][1];
    let mut first = (1.0, current);
    for i in 0..offered.len() {
        if slope(i) <= slope(current) {
            continue;
        }
        let at = ((offered[current][1] - offered[i][1]) / (slope(i) - slope(current))).max(from);
        if at < first.0 || (at == first.0 && slope(i) > slope(first.1)) {
            first = (at, i);
        }
    }
    first
}

/// Hypervolume of the true Pareto front less that of the true image of the recommended set.
pub fn hypervolume_regret(recommendation: &Recommendation, target: &Target) -> Result<f64> {
    Ok(target.hypervolume - hypervolume(&recommendation.truth, &target.reference)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Scale;

    /// Five standard deviations of the mean of one random point in each of 1,024 equal intervals,
    /// for a function of slope 2: 5 · 2 / (1024 √(12 · 1024)).
    const STRATIFIED: f64 = 9e-5;

    fn target(front: &[[f64; 2]]) -> Target {
        let front = Points::from_rows(2, front).unwrap();
        let weights = unyoke_math::sobol::simplex(2, 1024, 1).unwrap();
        let of =
            |w: &[f64]| front.rows().map(|f| utility(w, f, &[1.0, 1.0])).fold(f64::MIN, f64::max);
        Target {
            best: weights.rows().map(of).collect(),
            weights,
            set: Points::new(2),
            hypervolume: hypervolume(&front, &[0.0, 0.0]).unwrap(),
            front,
            units: vec![1.0, 1.0],
            reference: vec![0.0, 0.0],
            scale: Scale { utility: 1.0, hypervolume: 1.0 },
        }
    }

    fn recommendation(predicted: &[[f64; 2]], truth: &[[f64; 2]]) -> Recommendation {
        Recommendation {
            predicted: Points::from_rows(2, predicted).unwrap(),
            truth: Points::from_rows(2, truth).unwrap(),
        }
    }

    #[test]
    fn regret_of_the_whole_front_is_zero() {
        let front = [[1.0, 0.0], [0.8, 0.7], [0.0, 1.0]];
        let (target, all) = (target(&front), recommendation(&front, &front));
        assert_eq!(regret(&all, &target), 0.0);
        assert!(exact_regret(&all, &target).abs() < 1e-15);
        assert_eq!(hypervolume_regret(&all, &target).unwrap(), 0.0);
    }

    #[test]
    fn regret_by_hand() {
        // Best of (1, 0) and (0, 1): E max(u, 1 - u) = 3/4. Only (0, 1) recommended: E(1 - u) = 1/2.
        let target = target(&[[1.0, 0.0], [0.0, 1.0]]);
        let one = recommendation(&[[0.0, 1.0]], &[[0.0, 1.0]]);
        assert!((exact_regret(&one, &target) - 0.25).abs() < 1e-15);
        assert!((regret(&one, &target) - 0.25).abs() < STRATIFIED);
        // Hypervolume over the origin: both points span nothing.
        assert_eq!(hypervolume_regret(&one, &target).unwrap(), 0.0);
    }

    #[test]
    fn the_decision_maker_is_paid_the_truth_for_a_choice_by_prediction() {
        // Predictions swap the two designs: for u > 1/2 the one that truly is (0, 1) is chosen.
        // Paid: E min(u, 1 - u) = 1/4, instead of 3/4.
        let target = target(&[[1.0, 0.0], [0.0, 1.0]]);
        let swapped = recommendation(&[[1.0, 0.0], [0.0, 1.0]], &[[0.0, 1.0], [1.0, 0.0]]);
        assert!((exact_regret(&swapped, &target) - 0.5).abs() < 1e-15);
        assert!((regret(&swapped, &target) - 0.5).abs() < STRATIFIED);
    }

    #[test]
    fn who_is_recommended_nothing_gets_the_reference_point() {
        let target = target(&[[1.0, 0.0], [0.0, 1.0]]);
        let nothing = recommendation(&[], &[]);
        assert!((regret(&nothing, &target) - 0.75).abs() < STRATIFIED);
        assert_eq!(hypervolume_regret(&nothing, &target).unwrap(), target.hypervolume);
    }

    #[test]
    fn a_broken_constraint_costs_everything_from_one_percent_on() {
        let target = Target { reference: vec![-1.0, -2.0], ..target(&[[1.0, 0.0], [0.0, 1.0]]) };
        assert_eq!(target.worth(&[1.0, 0.0], 0.0), [1.0, 0.0]);
        assert_eq!(target.worth(&[1.0, 0.0], 0.005), [0.0, -1.0]);
        assert_eq!(target.worth(&[1.0, 0.0], 0.01), [-1.0, -2.0]);
        assert_eq!(target.worth(&[1.0, 0.0], f64::INFINITY), [-1.0, -2.0]);
        // What is worse than the reference point does not get better by breaking a constraint.
        assert_eq!(target.worth(&[1.0, -5.0], 1.0), [-1.0, -5.0]);
    }

    #[test]
    fn the_estimate_agrees_with_the_exact_integral() {
        let mut rng = unyoke_math::random::Rng::new(3, 0);
        for _ in 0..50 {
            let mut points = |n: usize| -> Vec<[f64; 2]> {
                (0..n).map(|_| [rng.normal(), 5.0 * rng.normal()]).collect()
            };
            let (truth, noise, others) = (points(40), points(40), points(30));
            let predicted: Vec<[f64; 2]> = truth
                .iter()
                .zip(&noise)
                .map(|(t, n)| [t[0] + 0.3 * n[0], t[1] + 0.3 * n[1]])
                .collect();
            let target = target(&[truth.clone(), others].concat());
            let set = recommendation(&predicted, &truth);
            let (estimate, exact) = (regret(&set, &target), exact_regret(&set, &target));
            assert!(exact >= 0.0);
            assert!((estimate - exact).abs() < 0.01 * (1.0 + exact), "{estimate} {exact}");
        }
    }
}
