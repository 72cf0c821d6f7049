//! Limits between parameters: which designs they allow, and how far others are from that.

use super::Space;
use super::axis::Column;
use crate::formula::{BoundInequality, Inequality};
use crate::problem::Problem;
use unyoke_math::sobol;

/// How many designs tell the usual size of a slack.
const SAMPLE: usize = 64;

/// What a limit counts as that is not a number or infinitely far from being satisfied.
const HOPELESS: f64 = 1e12;

/// How often a segment is halved: to a trillionth of its length.
const HALVINGS: usize = 40;

/// Rounding errors of a formula, relative to the size of its terms.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// An inequality over the values of the parameters, in their order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    inequality: BoundInequality,
    /// Whether all its parameters have steps.
    is_on_grid: bool,
    /// The usual size of its slack.
    scale: f64,
}

impl Limit {
    /// The limits of a problem that passed its check.
    pub(super) fn all(problem: &Problem, columns: &[Column]) -> Vec<Self> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let bound = |text: &str| Inequality::parse(text).ok()?.bind(&names).ok();
        let inequalities = problem.limits.iter().filter_map(|limit| bound(&limit.formula));
        inequalities.map(|inequality| Self::new(inequality, columns)).collect()
    }

    fn new(inequality: BoundInequality, columns: &[Column]) -> Self {
        let is_on_grid = columns
            .iter()
            .enumerate()
            .all(|(i, column)| column.axis.levels().is_some() || !inequality.uses(i));
        Self { inequality, is_on_grid, scale: 1.0 }
    }

    /// Whether the values satisfy it.
    ///
    /// People count steps in decimals: with steps of 0.1, a = 0.1 and b = 0.2 satisfy a + b <= 0.3,
    /// although the sum of the doubles is more. So rounding errors are forgiven where all
    /// parameters have steps; elsewhere nothing is lost by being strict.
    fn holds(&self, values: &[f64]) -> bool {
        let slack = self.inequality.slack(values);
        slack >= 0.0 || self.is_on_grid && slack >= -self.rounding(values)
    }

    /// How far rounding errors may move the slack: that of each value, times its derivative.
    fn rounding(&self, values: &[f64]) -> f64 {
        let mut slopes = vec![0.0; values.len()];
        self.inequality.gradient(values, &mut slopes);
        let moved = slopes.iter().zip(values).filter(|(slope, _)| **slope != 0.0);
        ROUNDING * moved.map(|(slope, value)| (slope * value).abs()).sum::<f64>()
    }

    /// Sets the scale to the median size of the slack over the designs given.
    fn set_scale(&mut self, designs: &[Vec<f64>]) {
        let sizes = designs.iter().map(|values| self.inequality.slack(values).abs());
        let mut sizes: Vec<f64> = sizes.filter(|size| size.is_normal()).collect();
        sizes.sort_by(f64::total_cmp);
        self.scale = sizes.get(sizes.len() / 2).copied().unwrap_or(1.0);
    }
}

impl Space {
    /// Measures how large the slacks usually are, once the limits are known.
    pub(super) fn scale_limits(&mut self) {
        if self.limits.is_empty() {
            return;
        }
        // Without points, with more parameters than can be searched, the scales stay as they are.
        let Ok(cube) = sobol::cube(self.parameters(), SAMPLE, 0) else { return };
        let designs: Vec<Vec<f64>> =
            cube.rows().map(|u| self.numbers(&self.from_cube(u))).collect();
        self.limits.iter_mut().for_each(|limit| limit.set_scale(&designs));
    }

    /// Whether there are limits between parameters.
    pub(crate) fn is_limited(&self) -> bool {
        !self.limits.is_empty()
    }

    /// Whether the design nearest to `x` satisfies all limits, exactly as it would be suggested.
    pub(crate) fn allows(&self, x: &[f64]) -> bool {
        self.limits.is_empty() || {
            let values = self.numbers(x);
            self.limits.iter().all(|limit| limit.holds(&values))
        }
    }

    /// The same cube with limit number `i` alone.
    pub(crate) fn with_limit(&self, i: usize) -> Self {
        Self { limits: self.limits.get(i).cloned().into_iter().collect(), ..self.clone() }
    }

    /// Number of limits.
    pub(crate) fn limits(&self) -> usize {
        self.limits.len()
    }

    /// How far `x` is from satisfying the limits: the sum of the squares of the negative slacks, each
    /// relative to its usual size; 0 where all are satisfied. Writes the derivatives by the inputs.
    ///
    /// Inputs that can be climbed are taken as they are, without rounding, so it is smooth in these;
    /// the derivatives by others are 0.
    pub(crate) fn violation(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        self.shortfall(x, 0.0, gradient)
    }

    /// The same, if all slacks had to be at least `margin`.
    pub(super) fn shortfall(&self, x: &[f64], margin: f64, gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let relaxed = self.relaxed(x);
        let mut by_value = vec![0.0; relaxed.values.len()];
        let mut total = 0.0;
        for limit in &self.limits {
            let slack = limit.inequality.gradient(&relaxed.values, &mut by_value);
            let short = margin - slack / limit.scale;
            if !short.is_finite() {
                total += HOPELESS;
            } else if short > 0.0 {
                total += short * short;
                let factor = -2.0 * short / limit.scale;
                self.add_slopes(&relaxed, &by_value, factor, gradient);
            }
        }
        total
    }

    /// How far the valid design at `x` is from satisfying the limits.
    pub(super) fn exact_violation(&self, x: &[f64]) -> f64 {
        let values = self.numbers(x);
        let violations = self.limits.iter().map(|limit| {
            let short = -limit.inequality.slack(&values) / limit.scale;
            match limit.holds(&values) {
                true => 0.0,
                false if short.is_finite() => short * short,
                false => HOPELESS,
            }
        });
        violations.sum()
    }

    /// The point on the way from `inside`, which is allowed, to `x` that is as far as allowed.
    ///
    /// Snapped and checked. Where the way leaves the allowed designs and enters them again, it is
    /// the end of one of the allowed parts.
    pub(crate) fn pull_back(&self, inside: &[f64], x: &[f64]) -> Vec<f64> {
        let at = |t: f64| {
            let mut point: Vec<f64> =
                inside.iter().zip(x).map(|(a, b)| (1.0 - t) * a + t * b).collect();
            self.snap(&mut point);
            point
        };
        let end = at(1.0);
        if self.allows(&end) {
            return end;
        }
        let mut best = inside.to_vec();
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let point = at(middle);
            if self.allows(&point) {
                (best, low) = (point, middle);
            } else {
                high = middle;
            }
        }
        best
    }
}
