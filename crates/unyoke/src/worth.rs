//! What a design is worth to somebody whose utility is not a weighted sum of expected values: Chebyshev
//! utilities, and objectives of which there can be enough.
//!
//! With factors f_k, reference r_k and targets t_k, X_k = f_k (y_k − r_k) is what objective k counts and
//! T_k = f_k (t_k − r_k) the most it can count. Linear utilities with weights λ are Σ_k min(X_k, T_k)
//! with f = λ; those of Chebyshev are min_k min(X_k, T_k) + ρ Σ_k min(X_k, T_k) with f ∝ 1/λ, so that
//! the best compromise gets ahead of the reference in proportion to λ. Values of a design are expectations
//! of these under the models: E u(y), not u(E y).
//!
//! Seen from the one objective that a measurement moves, such a value is a curve with ceilings
//! (`unyoke_math::capped_gain`).
//!
//! Raw values may be of any size that a number can have, and curves need the squares of what they count.
//! Utilities matter up to a common factor only, so that all values here are in units of about what the
//! objective of the largest unit counts ([`Worth::scale`]): what is then too small for a number is nothing
//! beside that objective. Whoever reports gains multiplies them by it.

use crate::config::Utility;
use unyoke_math::Result;
use unyoke_math::capped_gain::minimum::{Minimum, Nodes};
use unyoke_math::capped_gain::{self, Ceiling, Curve, Slopes};
use unyoke_math::gp::Prediction;

/// What the sum of all objectives counts beside the one that is furthest behind.
const RHO: f64 = 0.05;

/// The least weight that Chebyshev utilities divide by.
const LEAST_WEIGHT: f64 = 1e-3;

/// Nodes for the least of the objectives that are not measured, and the levels they are merged into.
const NODES: usize = 15;
const LEVELS: usize = 16;

/// A target counts as reached on a front if so little of it is expected to be missing, in standard
/// deviations: otherwise designs would go on far beyond it to make it yet a little more certain.
const NEARLY: f64 = 0.01;

/// What all objectives together count, as a part of the weights, where designs are told apart that are
/// equally good for these weights: whoever has enough of all that matters to them takes the design that is
/// better in the rest.
const TIES: f64 = 1e-3;

/// The furthest that the reference of Chebyshev utilities is away from the values, and that a target is below
/// them, in standard deviations: beyond, the differences between designs are lost to rounding.
const FARTHEST: f64 = 1e6;

/// How the objectives of a design are valued; everything standardised.
#[derive(Debug, Clone)]
pub(crate) struct Worth {
    utility: Utility,
    /// For each objective what is enough of it; infinite where nothing is.
    enough: Vec<f64>,
    reference: Vec<f64>,
    /// What one standardised unit counts, in units of `scale`.
    units: Vec<f64>,
    scale: f64,
    /// For the least of all objectives but one.
    nodes: Nodes,
}

/// What an objective counts.
#[derive(Debug, Clone, Copy)]
struct Count {
    factor: f64,
    mean: f64,
    variance: f64,
    /// The most it can count.
    most: f64,
}

impl Count {
    /// E min(X, T).
    fn expected(&self) -> f64 {
        let (curve, ceiling) = self.alone();
        capped_gain::worth(curve, ceiling.as_slice())
    }

    /// Its derivatives in mean and variance of the objective.
    fn slopes(&self) -> [f64; 2] {
        let (curve, ceiling) = self.alone();
        let mut slopes = Slopes::default();
        capped_gain::worth_with_slopes(curve, ceiling.as_slice(), &mut slopes);
        self.pull_back(slopes.mean, slopes.variance)
    }

    /// From derivatives in what it counts to those in the objective.
    fn pull_back(&self, by_mean: f64, by_variance: f64) -> [f64; 2] {
        [self.factor * by_mean, self.factor * self.factor * by_variance]
    }

    fn alone(&self) -> (Curve, Option<Ceiling>) {
        let ceiling = Ceiling { weight: 1.0, mean: self.most, variance: 0.0 };
        let ceiling = self.most.is_finite().then_some(ceiling);
        let free = if ceiling.is_some() { 0.0 } else { 1.0 };
        (Curve { level: 0.0, free, mean: self.mean, variance: self.variance }, ceiling)
    }
}

/// The value of a design as a curve in what one objective counts, with what its derivatives need.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    counts: Vec<Count>,
    moving: usize,
    least: Minimum,
    pub(crate) ceilings: Vec<Ceiling>,
}

impl Worth {
    pub(crate) fn new(
        utility: Utility,
        mut enough: Vec<f64>,
        mut reference: Vec<f64>,
        units: Vec<f64>,
    ) -> Result<Self> {
        if utility == Utility::Chebyshev {
            enough.iter_mut().for_each(|most| *most = most.max(-FARTHEST));
            reference.iter_mut().for_each(|zero| *zero = zero.clamp(-FARTHEST, FARTHEST));
        }
        let nodes = Nodes::new(enough.len().saturating_sub(1), NODES, LEVELS)?;
        let scale = power_of_two(units.iter().copied().fold(0.0, f64::max));
        let units = units.into_iter().map(|unit| unit / scale).collect();
        Ok(Self { utility, enough, reference, units, scale, nodes })
    }

    /// What a value of 1 is in the units of the weights: a power of two, so that no digit depends on it.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// What one standardised unit of every objective counts together to somebody with weights λ.
    pub(crate) fn unit(&self, lambda: &[f64]) -> f64 {
        lambda.iter().zip(&self.units).map(|(weight, unit)| weight * unit).sum()
    }

    /// The same with as many nodes and levels, for tests.
    #[cfg(test)]
    pub(crate) fn with_nodes(self, nodes: usize, levels: usize) -> Self {
        Self { nodes: Nodes::new(self.enough.len() - 1, nodes, levels).unwrap(), ..self }
    }

    /// Weights for a choice among designs: close to λ, and none of them 0.
    pub(crate) fn without_ties(&self, lambda: &[f64]) -> Vec<f64> {
        match self.utility {
            Utility::Chebyshev => lambda.to_vec(),
            Utility::Linear => {
                let total: f64 = lambda.iter().sum();
                let share = TIES * total / lambda.len() as f64;
                lambda.iter().map(|weight| (1.0 - TIES) * weight + share).collect()
            }
        }
    }

    /// What objective k counts for each unit.
    pub(crate) fn factor(&self, lambda: &[f64], k: usize) -> f64 {
        let weight = match self.utility {
            Utility::Linear => lambda[k],
            Utility::Chebyshev => {
                let inverse = |weight: f64| weight.max(LEAST_WEIGHT).recip();
                inverse(lambda[k]) / lambda.iter().map(|weight| inverse(*weight)).sum::<f64>()
            }
        };
        weight * self.units[k]
    }

    /// The design as somebody with weights λ sees it while objective `moving` is measured.
    pub(crate) fn curve(
        &self,
        lambda: &[f64],
        predictions: &[Prediction],
        moving: usize,
        seen: &mut Seen,
    ) -> Result<Curve> {
        let count = |(k, p): (usize, &Prediction)| {
            let factor = self.factor(lambda, k);
            // Of weight 0 there is never enough, which is nothing.
            let most = if factor == 0.0 {
                f64::INFINITY
            } else {
                factor * (self.enough[k] - self.reference[k])
            };
            let mean = factor * (p.mean - self.reference[k]);
            Count { factor, mean, variance: factor * factor * p.variance, most }
        };
        seen.counts.clear();
        seen.counts.extend(predictions.iter().enumerate().map(count));
        seen.moving = moving;
        seen.ceilings.clear();
        let others = seen.counts.iter().enumerate().filter(|(k, _)| *k != moving);
        let level: f64 = others.map(|(_, count)| count.expected()).sum();
        let Count { mean, variance, most, .. } = seen.counts[moving];
        let share = self.share();
        let mut curve = Curve { level: share * level, free: 0.0, mean, variance };
        if self.utility == Utility::Chebyshev {
            self.add_least(seen, &mut curve)?;
        }
        match most.is_finite() {
            true => seen.ceilings.push(Ceiling { weight: share, mean: most, variance: 0.0 }),
            false => curve.free += share,
        }
        Ok(curve)
    }

    /// What the sum of all objectives counts.
    fn share(&self) -> f64 {
        match self.utility {
            Utility::Linear => 1.0,
            Utility::Chebyshev => RHO,
        }
    }

    /// Adds the least of the other objectives and of all targets as ceilings.
    fn add_least(&self, seen: &mut Seen, curve: &mut Curve) -> Result<()> {
        let cap = seen.counts.iter().map(|count| count.most).fold(f64::INFINITY, f64::min);
        let Seen { counts, moving, least, ceilings } = seen;
        let others = || counts.iter().enumerate().filter(|(k, _)| k != moving).map(|(_, c)| c);
        match (counts.len(), cap.is_finite()) {
            (1, false) => curve.free += 1.0,
            (1, true) => ceilings.push(Ceiling { weight: 1.0, mean: cap, variance: 0.0 }),
            (2, false) => ceilings.extend(others().map(|c| Ceiling {
                weight: 1.0,
                mean: c.mean,
                variance: c.variance,
            })),
            _ => {
                let means: Vec<f64> = others().map(|c| c.mean).collect();
                let deviations: Vec<f64> = others().map(|c| c.variance.sqrt()).collect();
                least.compute(&self.nodes, &means, &deviations, cap)?;
                ceilings.extend_from_slice(least.ceilings());
            }
        }
        Ok(())
    }

    /// Adds the derivatives in mean and variance of each objective of a quantity with these in the
    /// curve that was seen last.
    pub(crate) fn pull_back(&self, seen: &Seen, slopes: &Slopes, by: &mut [[f64; 2]]) {
        let mut add = |k: usize, part: [f64; 2]| {
            by[k][0] += part[0];
            by[k][1] += part[1];
        };
        let others = seen.counts.iter().enumerate().filter(|(k, _)| *k != seen.moving);
        let own = &seen.counts[seen.moving];
        add(seen.moving, own.pull_back(slopes.mean, slopes.variance));
        let by_level = slopes.level * self.share();
        for (k, count) in others.clone() {
            add(k, count.slopes().map(|slope| by_level * slope));
        }
        if self.utility == Utility::Linear || seen.counts.len() == 1 {
            return;
        }
        let cap = seen.counts.iter().map(|count| count.most).fold(f64::INFINITY, f64::min);
        if seen.counts.len() == 2 && !cap.is_finite() {
            for ((k, count), [by_mean, by_variance]) in others.zip(&slopes.ceilings) {
                add(k, count.pull_back(*by_mean, *by_variance));
            }
            return;
        }
        for ((k, count), [by_mean, by_deviation]) in
            others.zip(seen.least.pull_back(&slopes.ceilings))
        {
            let deviation = count.variance.sqrt();
            let by_variance = if deviation > 0.0 { 0.5 * by_deviation / deviation } else { 0.0 };
            add(k, count.pull_back(by_mean, by_variance));
        }
    }

    /// What a design with these predictions is worth.
    pub(crate) fn value(
        &self,
        lambda: &[f64],
        predictions: &[Prediction],
        seen: &mut Seen,
    ) -> Result<f64> {
        let curve = self.curve(lambda, predictions, 0, seen)?;
        Ok(capped_gain::worth(curve, &seen.ceilings))
    }

    /// The same; adds its derivatives in mean and variance of each objective.
    pub(crate) fn value_with_slopes(
        &self,
        lambda: &[f64],
        predictions: &[Prediction],
        seen: &mut Seen,
        by: &mut [[f64; 2]],
    ) -> Result<f64> {
        let curve = self.curve(lambda, predictions, 0, seen)?;
        let mut slopes = Slopes::default();
        let value = capped_gain::worth_with_slopes(curve, &seen.ceilings, &mut slopes);
        self.pull_back(seen, &slopes, by);
        Ok(value)
    }

    /// What counts of objective k when designs are compared objective by objective: what is expected
    /// of it, as far as it is not more than enough.
    pub(crate) fn counted(&self, k: usize, Prediction { mean, variance }: Prediction) -> f64 {
        let most = self.enough[k];
        let count = Count { factor: 1.0, mean, variance, most };
        if most.is_finite() { count.expected().min(most - NEARLY) } else { mean }
    }
}

/// The largest power of two that is not larger than this positive number.
fn power_of_two(size: f64) -> f64 {
    // Without the digits of a number its exponent is left; the smallest numbers of all have none.
    f64::from_bits(size.to_bits() & f64::INFINITY.to_bits()).clamp(f64::MIN_POSITIVE, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFINITE: f64 = f64::INFINITY;

    fn worth(utility: Utility, enough: &[f64]) -> Worth {
        let count = enough.len();
        let reference = [-1.0, -0.8, -1.2][..count].to_vec();
        Worth::new(utility, enough.to_vec(), reference, [1.0, 1.5, 0.7][..count].to_vec()).unwrap()
    }

    fn predictions(shift: f64) -> [Prediction; 3] {
        let prediction = |mean, variance| Prediction { mean, variance };
        [prediction(0.3 + shift, 0.4), prediction(-0.1, 0.2 + shift), prediction(0.5, 0.1)]
    }

    fn all() -> Vec<(Worth, [f64; 3])> {
        let targets: [&[f64]; 6] = [
            &[INFINITE, INFINITE],
            &[0.4, INFINITE],
            &[INFINITE, 0.2],
            &[INFINITE; 3],
            &[0.4, 0.2, INFINITE],
            &[0.1],
        ];
        let both = [Utility::Linear, Utility::Chebyshev];
        let pairs = targets.iter().flat_map(|enough| both.map(|utility| worth(utility, enough)));
        pairs.map(|worth| (worth, [0.5, 0.3, 0.2])).collect()
    }

    /// By brute force: quasi-random values of all objectives.
    fn sampled(worth: &Worth, lambda: &[f64], predictions: &[Prediction]) -> f64 {
        let count = predictions.len();
        let draws = unyoke_math::sobol::normals(count, 1 << 14, 5).unwrap();
        let utility = |z: &[f64]| {
            let counted = (0..count).map(|k| {
                let y = predictions[k].mean + predictions[k].variance.sqrt() * z[k];
                worth.factor(lambda, k) * (y.min(worth.enough[k]) - worth.reference[k])
            });
            let counted: Vec<f64> = counted.collect();
            let least = counted.iter().copied().fold(INFINITE, f64::min);
            let sum: f64 = counted.iter().sum();
            match worth.utility {
                Utility::Linear => sum,
                Utility::Chebyshev => least + RHO * sum,
            }
        };
        draws.rows().map(utility).sum::<f64>() / draws.len() as f64
    }

    #[test]
    fn values_are_expected_utilities() {
        for (worth, lambda) in all() {
            let count = worth.enough.len();
            let (lambda, predictions) = (&lambda[..count], &predictions(0.0)[..count]);
            let expected = sampled(&worth, lambda, predictions);
            let value = worth.value(lambda, predictions, &mut Seen::default()).unwrap();
            assert!((value - expected).abs() < 2e-3, "{worth:?}: {value}, {expected}");
            for moving in 0..count {
                let mut seen = Seen::default();
                let curve = worth.curve(lambda, predictions, moving, &mut seen).unwrap();
                let other = capped_gain::worth(curve, &seen.ceilings);
                assert!((value - other).abs() < 2e-3, "{worth:?}, {moving}: {value}, {other}");
            }
        }
    }

    #[test]
    fn derivatives_of_values_are_those_of_finite_differences() {
        for (worth, lambda) in all() {
            let count = worth.enough.len();
            let lambda = &lambda[..count];
            let base = predictions(0.0);
            let value = |predictions: &[Prediction]| {
                worth.value(lambda, &predictions[..count], &mut Seen::default()).unwrap()
            };
            let mut by = vec![[0.0; 2]; count];
            let mut seen = Seen::default();
            worth.value_with_slopes(lambda, &base[..count], &mut seen, &mut by).unwrap();
            for k in 0..count {
                let step = 1e-6;
                let moved = |mean: f64, variance: f64| {
                    let mut moved = base;
                    moved[k].mean += mean;
                    moved[k].variance += variance;
                    value(&moved)
                };
                let expected = [
                    (moved(step, 0.0) - moved(-step, 0.0)) / (2.0 * step),
                    (moved(0.0, step) - moved(0.0, -step)) / (2.0 * step),
                ];
                for (found, expected) in by[k].iter().zip(expected) {
                    assert!((found - expected).abs() < 1e-6, "{worth:?}, {k}: {found}, {expected}");
                }
            }
        }
    }

    #[test]
    fn beyond_what_is_enough_nothing_more_counts() {
        for utility in [Utility::Linear, Utility::Chebyshev] {
            let worth = worth(utility, &[0.4, INFINITE]);
            let value = |mean: f64| {
                let known = |mean| Prediction { mean, variance: 0.0 };
                let predictions = [known(mean), known(0.1)];
                worth.value(&[0.5, 0.5], &predictions, &mut Seen::default()).unwrap()
            };
            assert_eq!(value(0.4), value(3.0));
            assert!(value(0.3) < value(0.4));
            let counted = |mean: f64| worth.counted(0, Prediction { mean, variance: 1e-4 });
            assert_eq!(counted(0.45), counted(3.0));
            assert!(counted(0.3) < counted(0.45));
        }
    }

    #[test]
    fn values_and_derivatives_are_numbers_whatever_the_sizes() {
        let sizes = [5e-324, 1e-300, 1e-100, 1.0, 1e30, 1e100, 1e300, f64::MAX];
        for (unit, other) in sizes.iter().flat_map(|unit| sizes.map(|other| (*unit, other))) {
            for utility in [Utility::Linear, Utility::Chebyshev] {
                for [enough, reference] in [[0.4, -1.0], [1e30, -1e30], [-1e30, -1e30]] {
                    let (enough, reference) = (vec![enough, INFINITE], vec![reference; 2]);
                    let worth = Worth::new(utility, enough, reference, vec![unit, other]).unwrap();
                    let mut by = [[0.0; 2]; 2];
                    let predictions = [(1e100, 1e100), (0.3, 0.4)];
                    let predictions =
                        predictions.map(|(mean, variance)| Prediction { mean, variance });
                    let mut seen = Seen::default();
                    let value =
                        worth.value_with_slopes(&[0.5, 0.5], &predictions, &mut seen, &mut by);
                    assert!(value.unwrap().is_finite(), "{worth:?}");
                    assert!(by.as_flattened().iter().all(|slope| slope.is_finite()), "{worth:?}");
                }
            }
        }
    }
}
