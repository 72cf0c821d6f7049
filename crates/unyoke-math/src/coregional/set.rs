//! What one more value of one output would tell about all outputs at a fixed set of points.
//!
//! Observing output m at x moves the mean of output k at x_j along μ_kj + β_kj Z, Z ~ N(0, 1), with
//!
//!   β_kj = K̃_km(x_j, x)/√(K̃_mm(x, x) + σ²),
//!
//! and leaves it the variance s²_kj − β²_kj. For weights λ a line of C-MOKG has the slope
//! Σ_k λ_k β_kj. Source: Eq. (11) with a matrix-valued kernel.

use super::{Coregional, Query, QueryAdjoint, Seen, add_multiple};
use crate::error::{Result, check_shape};
use crate::gp::{Prediction, check_noise};
use crate::kernel::Scaled;
use crate::linalg::Matrix;
use crate::points::Points;
use crate::simd::dot;

/// Posterior covariances between one moving point and a fixed set of points, of all outputs.
///
/// With n rows, M outputs and J points it is set up once per model in O(n² M J); each x then costs
/// O(n² M + n M J), gradient included.
#[derive(Debug, Clone)]
pub struct FixedSet<'a> {
    model: &'a Coregional,
    points: Vec<Scaled>,
    len: usize,
    /// v_k(x_j), the columns of output k after one another.
    whitened: Matrix,
    means: Vec<f64>,
    variances: Vec<f64>,
}

/// A moving point x seen from a [`FixedSet`], and the output to be observed there.
#[derive(Debug, Clone, Default)]
pub struct Candidate {
    query: Query,
    observed: usize,
    /// k_q(x_j, x) and dk_q/dr².
    seen: Vec<Seen>,
    covariances: Vec<f64>,
}

impl Candidate {
    /// Means and covariances of all outputs at x itself.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The output m to be observed.
    pub fn observed(&self) -> usize {
        self.observed
    }

    /// K̃_km(x_j, x) at position k · J + j.
    pub fn covariances(&self) -> &[f64] {
        &self.covariances
    }
}

/// Derivatives of some quantity in what a [`Candidate`] holds.
#[derive(Debug, Clone, Copy)]
pub struct Adjoint<'a> {
    /// In means and covariances at x.
    pub own: QueryAdjoint<'a>,
    /// In the covariances with the set, in their order.
    pub set: &'a [f64],
}

/// β: by how much one standard deviation of a value moves each mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    /// β_kj for the points of the set, at position k · J + j.
    pub set: Vec<f64>,
    /// β_k at x itself.
    pub own: Vec<f64>,
}

/// Derivatives of some quantity in [`Steps`] and in the means at x.
#[derive(Debug, Clone, Copy)]
pub struct StepsAdjoint<'a> {
    /// In β_kj, at position k · J + j.
    pub set: &'a [f64],
    /// In β_k at x itself.
    pub own: &'a [f64],
    /// In the posterior mean of each output at x.
    pub means: &'a [f64],
}

impl<'a> FixedSet<'a> {
    pub(super) fn new(model: &'a Coregional, points: &Points) -> Result<Self> {
        let (scaled, outputs, count) = (model.scale(points)?, model.outputs(), points.len());
        let mut whitened = Matrix::zeros(model.len(), outputs * count);
        let mut seen = vec![];
        for (j, x) in points.rows().enumerate() {
            model.see(x, &mut seen)?;
            for k in 0..outputs {
                model.cross(&seen, k, whitened.col_mut(k * count + j));
            }
        }
        let mut means = vec![0.0; outputs * count];
        whitened.transpose_mul_vec(&model.alpha, &mut means);
        model.factor.solve_lower_many(&mut whitened);
        let mut variances = vec![0.0; outputs * count];
        for k in 0..outputs {
            for i in k * count..(k + 1) * count {
                means[i] += model.means[k];
                let explained = dot(whitened.col(i), whitened.col(i));
                variances[i] = (model.prior.get(k, k) - explained).max(0.0);
            }
        }
        Ok(Self { model, points: scaled, len: count, whitened, means, variances })
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the set has no points.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The model it belongs to.
    pub fn model(&self) -> &Coregional {
        self.model
    }

    /// Posterior means of output `k` at the points of the set.
    pub fn means(&self, k: usize) -> &[f64] {
        &self.means[k * self.len..(k + 1) * self.len]
    }

    /// Posterior variances of output `k` at the points of the set.
    pub fn variances(&self, k: usize) -> &[f64] {
        &self.variances[k * self.len..(k + 1) * self.len]
    }

    pub(super) fn predictions(&self) -> Vec<Vec<Prediction>> {
        let predict = |(&mean, &variance): (&f64, &f64)| Prediction { mean, variance };
        let all = |k: usize| self.means(k).iter().zip(self.variances(k)).map(predict).collect();
        (0..self.model.outputs()).map(all).collect()
    }

    pub(super) fn whitened(&self) -> &Matrix {
        &self.whitened
    }

    pub(super) fn all_means(&self) -> &[f64] {
        &self.means
    }

    /// Moves the candidate to `x`, where output `m` is to be observed, reusing its buffers.
    pub fn evaluate(&self, x: &[f64], m: usize, candidate: &mut Candidate) -> Result<()> {
        self.model.check_output(m)?;
        self.model.query_into(x, &mut candidate.query)?;
        candidate.seen.resize_with(self.points.len(), Seen::default);
        let parts = self.model.parts.iter().zip(&self.points).zip(&candidate.query.seen);
        for (((part, points), at), seen) in parts.zip(&mut candidate.seen) {
            seen.covariances.resize(self.len, 0.0);
            seen.slopes.resize(self.len, 0.0);
            points.covariances_and_slopes(
                &part.kernel,
                &at.scaled,
                &mut seen.covariances,
                &mut seen.slopes,
            );
        }
        self.observe(m, candidate)
    }

    /// Changes which output is to be observed where the candidate is.
    pub fn observe(&self, m: usize, candidate: &mut Candidate) -> Result<()> {
        self.model.check_output(m)?;
        let Candidate { query, observed, seen, covariances } = candidate;
        *observed = m;
        covariances.resize(self.model.outputs() * self.len, 0.0);
        self.whitened.transpose_mul_vec(query.whitened.col(m), covariances);
        for c in covariances.iter_mut() {
            *c = -*c;
        }
        for (part, seen) in self.model.parts.iter().zip(seen) {
            for k in 0..self.model.outputs() {
                let rows = &mut covariances[k * self.len..(k + 1) * self.len];
                add_multiple(rows, part.mixing.get(k, m), &seen.covariances);
            }
        }
        Ok(())
    }

    /// Chain rule: the gradient in x of a quantity with the given derivatives.
    pub fn gradient(&self, candidate: &Candidate, adjoint: Adjoint<'_>) -> Result<Vec<f64>> {
        let (model, outputs) = (self.model, self.model.outputs());
        check_shape("derivatives in the means", outputs, adjoint.own.means.len())?;
        let pairs = outputs * outputs;
        check_shape("derivatives in the covariances", pairs, adjoint.own.covariances.len())?;
        check_shape("derivatives in the set", outputs * self.len, adjoint.set.len())?;
        let mut gradient = vec![0.0; model.dim()];
        self.add_direct(candidate, adjoint.set, &mut gradient);
        let mut whitened = Matrix::zeros(model.len(), outputs);
        // Most of the designs do not matter for a quantity.
        let matter = adjoint.set.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        let column = whitened.col_mut(candidate.observed);
        matter.for_each(|(i, weight)| add_multiple(column, *weight, self.whitened.col(i)));
        model.add_own_adjoint(&candidate.query, adjoint.own.covariances, &mut whitened);
        model.pull_back(&candidate.query, adjoint.own.means, &mut whitened, &mut gradient);
        Ok(gradient)
    }

    /// Adds Σ_kj w_kj ∂K_km(x_j, x)/∂x, prior covariances, to `gradient`.
    fn add_direct(&self, candidate: &Candidate, set: &[f64], gradient: &mut [f64]) {
        let parts = self.model.parts.iter().zip(&self.points).zip(&candidate.query.seen);
        for (((part, points), at), seen) in parts.zip(&candidate.seen) {
            let mut weights = vec![0.0; self.len];
            for k in 0..self.model.outputs() {
                let rows = &set[k * self.len..(k + 1) * self.len];
                add_multiple(&mut weights, part.mixing.get(k, candidate.observed), rows);
            }
            points.add_gradient(&part.kernel, &at.scaled, &seen.slopes, &weights, gradient);
        }
    }

    /// β for a value of the candidate's output that has noise variance `noise`; zero where that value
    /// is known exactly already.
    pub fn steps(&self, candidate: &Candidate, noise: f64) -> Result<Steps> {
        check_noise(noise)?;
        let m = candidate.observed;
        let per_deviation = per_deviation(candidate.query.covariance(m, m) + noise);
        let own = (0..self.model.outputs()).map(|k| candidate.query.covariance(k, m));
        Ok(Steps {
            set: candidate.covariances.iter().map(|c| c * per_deviation).collect(),
            own: own.map(|c| c * per_deviation).collect(),
        })
    }

    /// Chain rule: the gradient in x of a quantity with the given derivatives in the steps.
    ///
    /// With s = K̃_mm(x, x) + σ², β = c/√s: ∂β/∂c = 1/√s, ∂β/∂s = −β/2s.
    pub fn steps_gradient(
        &self,
        candidate: &Candidate,
        noise: f64,
        adjoint: StepsAdjoint<'_>,
    ) -> Result<Vec<f64>> {
        let (outputs, m) = (self.model.outputs(), candidate.observed);
        check_shape("derivatives in the set", outputs * self.len, adjoint.set.len())?;
        check_shape("derivatives in the steps at x", outputs, adjoint.own.len())?;
        let steps = self.steps(candidate, noise)?;
        let per_deviation = per_deviation(candidate.query.covariance(m, m) + noise);
        let set: Vec<f64> = adjoint.set.iter().map(|w| w * per_deviation).collect();
        let mut covariances = vec![0.0; outputs * outputs];
        for (k, w) in adjoint.own.iter().enumerate() {
            covariances[k * outputs + m] += w * per_deviation;
        }
        let moved = dot(adjoint.set, &steps.set) + dot(adjoint.own, &steps.own);
        covariances[m * outputs + m] -= 0.5 * moved * per_deviation * per_deviation;
        let own = QueryAdjoint { means: adjoint.means, covariances: &covariances };
        self.gradient(candidate, Adjoint { own, set: &set })
    }
}

/// 1/√variance; 0 where there is none, or so little that this is no number.
fn per_deviation(variance: f64) -> f64 {
    let inverse = 1.0 / variance.sqrt();
    if inverse.is_finite() { inverse } else { 0.0 }
}
