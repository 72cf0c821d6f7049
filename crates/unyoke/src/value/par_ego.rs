//! ParEGO: expected improvement of one random scalarisation per step, all objectives at a design.
//!
//! Objective values are scaled to ỹ ∈ [0, 1] over the posterior means at the known designs. For the
//! weights λ of the step, the augmented Chebyshev utility and its expected improvement are
//!
//! s(y) = min_m λ_m ỹ_m + 0.05 Σ_m λ_m ỹ_m,  EI(x) = E[(s(y(x)) − s*)⁺],
//!
//! with s* the best s of the posterior means at the known designs, and the expectation over the
//! latent values at x by fixed quasi-random normals. So that there is a slope to climb where no
//! sample improves, (u)⁺ is replaced by the softplus T ln(1 + e^(u/T)) with T = 10⁻⁴: at most
//! T ln 2 too much, in units of the scaled objectives.
//!
//! Source: J. Knowles, "ParEGO", IEEE Trans. Evol. Comput. 10 (2006), with a model per objective as
//! is usual today instead of one of the scalarised values.

use super::{Acquisition, Evaluator};
use crate::model::Model;
use unyoke_math::gp::Query;
use unyoke_math::{Points, Result, sobol};

/// Normals over which the expectation is taken.
pub(super) const NODES: usize = 128;

/// What the sum of the objectives counts beside the worst one.
const AUGMENTATION: f64 = 0.05;

/// T, where the softplus bends.
pub(super) const TEMPERATURE: f64 = 1e-4;

/// Least variance whose root is differentiated.
const LEAST_VARIANCE: f64 = 1e-12;

/// ParEGO for the weights of a step.
pub(crate) struct ParEgo<'a> {
    model: &'a Model,
    utility: Chebyshev,
    /// s*.
    best: f64,
    normals: Points,
}

impl<'a> ParEgo<'a> {
    /// Improvement over the designs `known` under the first row of `weights`.
    pub(crate) fn new(model: &'a Model, known: &Points, weights: &Points) -> Result<Self> {
        let objectives = model.objectives.len();
        let means = model.means(known)?;
        let equal = vec![1.0 / objectives.max(1) as f64; objectives];
        let utility = Chebyshev::new(weights.rows().next().unwrap_or(&equal), &means);
        let best = means.rows().map(|y| utility.value(y)).fold(f64::NEG_INFINITY, f64::max);
        // Where nothing is known, anything better than the average of what was observed will do.
        let best = if best.is_finite() { best } else { utility.value(&vec![0.0; objectives]) };
        Ok(Self { model, utility, best, normals: sobol::normals(objectives, NODES, 0)? })
    }

    /// s*.
    #[cfg(test)]
    pub(crate) fn best(&self) -> f64 {
        self.best
    }

    /// s(y).
    #[cfg(test)]
    pub(crate) fn utility(&self, y: &[f64]) -> f64 {
        self.utility.value(y)
    }
}

impl Acquisition for ParEgo<'_> {
    fn options(&self) -> usize {
        1
    }

    fn evaluator(&self, _option: usize) -> Evaluator<'_> {
        let mut work = Work::new(self);
        Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
    }
}

/// The augmented Chebyshev utility of standardised values.
struct Chebyshev {
    /// λ_m over the range of objective m.
    factors: Vec<f64>,
    low: Vec<f64>,
}

impl Chebyshev {
    /// With objectives scaled by the range of `values`; one without range keeps its unit.
    fn new(weights: &[f64], values: &Points) -> Self {
        let end = |m: usize, start: f64, pick: fn(f64, f64) -> f64| {
            values.rows().map(|y| y[m]).fold(start, pick)
        };
        let (mut factors, mut lows) = (Vec::new(), Vec::new());
        for (m, weight) in weights.iter().enumerate() {
            let low = end(m, f64::INFINITY, f64::min);
            let range = end(m, f64::NEG_INFINITY, f64::max) - low;
            let scaled = range.is_finite() && range > 1e-9;
            factors.push(weight / if scaled { range } else { 1.0 });
            lows.push(if low.is_finite() { low } else { 0.0 });
        }
        Self { factors, low: lows }
    }

    /// λ_m ỹ_m.
    fn term(&self, y: &[f64], m: usize) -> f64 {
        self.factors[m] * (y[m] - self.low[m])
    }

    /// The objective of the smallest λ_m ỹ_m.
    fn worst(&self, y: &[f64]) -> usize {
        let smaller = |a: usize, b: usize| if self.term(y, b) < self.term(y, a) { b } else { a };
        (1..y.len()).fold(0, smaller)
    }

    fn value(&self, y: &[f64]) -> f64 {
        let sum: f64 = (0..y.len()).map(|m| self.term(y, m)).sum();
        let least = if y.is_empty() { 0.0 } else { self.term(y, self.worst(y)) };
        least + AUGMENTATION * sum
    }

    /// ∂s/∂y_m where objective `worst` is the worst.
    fn slope(&self, m: usize, worst: usize) -> f64 {
        self.factors[m] * (AUGMENTATION + if m == worst { 1.0 } else { 0.0 })
    }
}

/// An evaluator with its buffers.
struct Work<'a> {
    acquisition: &'a ParEgo<'a>,
    queries: Vec<Query>,
    means: Vec<f64>,
    deviations: Vec<f64>,
    /// Per normal: the values it stands for, and ln of its improvement over T.
    values: Points,
    logs: Vec<f64>,
}

impl<'a> Work<'a> {
    fn new(acquisition: &'a ParEgo<'a>) -> Self {
        let objectives = acquisition.model.objectives.len();
        Self {
            acquisition,
            queries: vec![Query::default(); objectives],
            means: vec![0.0; objectives],
            deviations: vec![0.0; objectives],
            values: acquisition.normals.clone(),
            logs: vec![0.0; acquisition.normals.len()],
        }
    }

    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        for (m, output) in self.acquisition.model.objectives.iter().enumerate() {
            output.gp.query_into(x, &mut self.queries[m])?;
            let prediction = self.queries[m].prediction();
            self.means[m] = prediction.mean;
            self.deviations[m] = prediction.variance.max(LEAST_VARIANCE).sqrt();
        }
        for (i, z) in self.acquisition.normals.rows().enumerate() {
            for (m, y) in self.values.row_mut(i).iter_mut().enumerate() {
                *y = self.deviations[m].mul_add(z[m], self.means[m]);
            }
            self.logs[i] = log_softplus(self.improvement(i));
        }
        let largest = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = self.logs.iter().map(|log| (log - largest).exp()).sum();
        let log_sum = largest + sum.ln();
        if let Some(gradient) = gradient {
            self.write_gradient(log_sum, gradient);
        }
        Ok(log_sum + (TEMPERATURE / NODES as f64).ln())
    }

    /// (s(y) − s*)/T for normal `i`.
    fn improvement(&self, i: usize) -> f64 {
        let ParEgo { utility, best, .. } = self.acquisition;
        (utility.value(self.values.row(i)) - best) / TEMPERATURE
    }

    /// Chain rule through means and variances: y = μ + √v z, so ∂y/∂v = z/2√v.
    fn write_gradient(&self, log_sum: f64, gradient: &mut [f64]) {
        let utility = &self.acquisition.utility;
        let objectives = self.means.len();
        let (mut by_mean, mut by_variance) = (vec![0.0; objectives], vec![0.0; objectives]);
        for (i, z) in self.acquisition.normals.rows().enumerate() {
            let u = self.improvement(i);
            // The share of this normal, and the slope of its softplus: 1/(1 + e^(−u)).
            let share = (-log_sum - log_one_plus_exp(-u)).exp() / TEMPERATURE;
            let worst = utility.worst(self.values.row(i));
            for m in 0..objectives {
                let slope = share * utility.slope(m, worst);
                by_mean[m] += slope;
                by_variance[m] += slope * z[m] / (2.0 * self.deviations[m]);
            }
        }
        gradient.fill(0.0);
        for (m, output) in self.acquisition.model.objectives.iter().enumerate() {
            let query = &self.queries[m];
            let varies = query.prediction().variance > LEAST_VARIANCE;
            let slope =
                output.gp.gradient(query, by_mean[m], if varies { by_variance[m] } else { 0.0 });
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
        }
    }
}

/// ln(1 + eᵘ) without overflow.
fn log_one_plus_exp(u: f64) -> f64 {
    u.max(0.0) + (-u.abs()).exp().ln_1p()
}

/// ln ln(1 + eᵘ), which is u where eᵘ is small.
fn log_softplus(u: f64) -> f64 {
    if u < -36.0 { u } else { log_one_plus_exp(u).ln() }
}
