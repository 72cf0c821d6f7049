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
use crate::fit::Wanted;
use crate::gp::{Prediction, check_noise};
use crate::kernel::Scaled;
use crate::linalg::Matrix;
use crate::points::Points;
use crate::simd::dot;
use std::borrow::Cow;

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
    /// L⁻ᵀ v_m(x) for the output to be observed, which gradients need; if they are wanted.
    solved: Option<Matrix>,
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

/// Many points seen from a [`FixedSet`], the same output to be observed at each.
#[derive(Debug, Clone)]
pub struct Candidates {
    count: usize,
    /// Of output k at point i, at position k · count + i: the mean, and the covariance with the output to
    /// be observed.
    means: Vec<f64>,
    own: Vec<f64>,
    covariances: Matrix,
}

impl Candidates {
    /// Posterior mean of output `k` at point `i`.
    pub fn mean(&self, k: usize, i: usize) -> f64 {
        self.means[k * self.count + i]
    }

    /// Posterior covariance of output `k` with the output to be observed, both at point `i`.
    pub fn own_covariance(&self, k: usize, i: usize) -> f64 {
        self.own[k * self.count + i]
    }

    /// K̃_km(x_j, x) for point `i`, at position k · J + j.
    pub fn covariances(&self, i: usize) -> &[f64] {
        self.covariances.col(i)
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
            model.see(x, Wanted::Value, &mut seen)?;
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
        self.look(x, m, Wanted::Gradient, candidate)
    }

    /// The same where no gradient will be asked for.
    pub fn evaluate_value(&self, x: &[f64], m: usize, candidate: &mut Candidate) -> Result<()> {
        self.look(x, m, Wanted::Value, candidate)
    }

    fn look(&self, x: &[f64], m: usize, wanted: Wanted, candidate: &mut Candidate) -> Result<()> {
        self.model.check_output(m)?;
        self.model.query_for(x, wanted, &mut candidate.query)?;
        candidate.seen.resize_with(self.points.len(), Seen::default);
        let parts = self.model.parts.iter().zip(&self.points).zip(&candidate.query.seen);
        for (((part, points), at), seen) in parts.zip(&mut candidate.seen) {
            seen.look(&part.kernel, points, &at.scaled, wanted);
        }
        self.observe(m, candidate)?;
        if wanted == Wanted::Gradient {
            candidate.solved = Some(self.solved(&candidate.query, m));
        }
        Ok(())
    }

    /// L⁻ᵀ v_m(x).
    fn solved(&self, query: &Query, m: usize) -> Matrix {
        let mut solved = Matrix::zeros(self.model.len(), 1);
        solved.col_mut(0).copy_from_slice(query.whitened.col(m));
        self.model.factor.solve_upper_few(&mut solved);
        solved
    }

    /// Means and covariances at many points, at each of which output `m` is to be observed: faster than
    /// one by one. There are no gradients then.
    pub fn evaluate_many(&self, points: &Points, m: usize) -> Result<Candidates> {
        self.model.check_output(m)?;
        let (model, outputs, count) = (self.model, self.model.outputs(), points.len());
        let mut whitened = Matrix::zeros(model.len(), outputs * count);
        let mut seen = vec![];
        for (i, x) in points.rows().enumerate() {
            model.see(x, Wanted::Value, &mut seen)?;
            for k in 0..outputs {
                model.cross(&seen, k, whitened.col_mut(k * count + i));
            }
        }
        let mut means = vec![0.0; outputs * count];
        whitened.transpose_mul_vec(&model.alpha, &mut means);
        model.factor.solve_lower_many(&mut whitened);
        let mut observed = Matrix::zeros(model.len(), count);
        for i in 0..count {
            observed.col_mut(i).copy_from_slice(whitened.col(m * count + i));
        }
        let mut own = vec![0.0; outputs * count];
        for k in 0..outputs {
            for i in 0..count {
                let place = k * count + i;
                means[place] += model.means[k];
                let explained = dot(whitened.col(place), observed.col(i));
                let rest = model.prior.get(k, m) - explained;
                own[place] = if k == m { rest.max(0.0) } else { rest };
            }
        }
        let mut covariances = self.prior_covariances(points, m)?;
        covariances.subtract_transpose_mul(&self.whitened, &observed);
        Ok(Candidates { count, means, own, covariances })
    }

    /// K_km(x_j, x) at row k · J + j, a column for each x.
    fn prior_covariances(&self, points: &Points, m: usize) -> Result<Matrix> {
        let mut covariances = Matrix::zeros(self.model.outputs() * self.len, points.len());
        let scaled = self.model.scale(points)?;
        for ((part, set), scaled) in self.model.parts.iter().zip(&self.points).zip(&scaled) {
            let kernel = set.cross(&part.kernel, scaled);
            for i in 0..points.len() {
                let column = covariances.col_mut(i);
                for (k, rows) in column.chunks_exact_mut(self.len.max(1)).enumerate() {
                    add_multiple(rows, part.mixing.get(k, m), kernel.col(i));
                }
            }
        }
        Ok(covariances)
    }

    /// Changes which output is to be observed where the candidate is.
    pub fn observe(&self, m: usize, candidate: &mut Candidate) -> Result<()> {
        self.model.check_output(m)?;
        let Candidate { query, observed, seen, covariances, solved } = candidate;
        (*observed, *solved) = (m, None);
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
        self.add_set_adjoint(adjoint.set, whitened.col_mut(candidate.observed));
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
            for (j, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
                let slope = weight * seen.slopes[j];
                points.add_gradient_of(j, &part.kernel, &at.scaled, slope, gradient);
            }
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
        let mut own: Vec<f64> = adjoint.own.iter().map(|w| w * per_deviation).collect();
        let moved = dot(adjoint.set, &steps.set) + dot(adjoint.own, &steps.own);
        own[m] -= 0.5 * moved * per_deviation * per_deviation;
        check_shape("derivatives in the means", outputs, adjoint.means.len())?;
        Ok(self.gradient_by_observed(candidate, &set, &own, adjoint.means))
    }

    /// As [`FixedSet::gradient`] where of the covariances at x only those with the observed output m
    /// count, `own`. Derivatives in v_k are then multiples of v_m, so that there is one right-hand side to
    /// solve for, however many outputs there are.
    fn gradient_by_observed(
        &self,
        candidate: &Candidate,
        set: &[f64],
        own: &[f64],
        means: &[f64],
    ) -> Vec<f64> {
        let (model, m) = (self.model, candidate.observed);
        let mut gradient = vec![0.0; model.dim()];
        self.add_direct(candidate, set, &mut gradient);
        let mut own_part = Matrix::zeros(model.len(), 1);
        let column = own_part.col_mut(0);
        self.add_set_adjoint(set, column);
        for (k, weight) in own.iter().enumerate() {
            add_multiple(column, *weight, candidate.query.whitened.col(k));
        }
        model.factor.solve_upper_few(&mut own_part);
        let of_observed = match &candidate.solved {
            Some(solved) => Cow::Borrowed(solved),
            None => Cow::Owned(self.solved(&candidate.query, m)),
        };
        let mut solved = Matrix::zeros(model.len(), model.outputs());
        solved.col_mut(m).copy_from_slice(own_part.col(0));
        for (k, weight) in own.iter().enumerate() {
            add_multiple(solved.col_mut(k), *weight, of_observed.col(0));
        }
        model.add_solved(&candidate.query, means, &mut solved, &mut gradient);
        gradient
    }

    /// Adds minus the derivatives in v_m of a quantity with the given derivatives in the covariances with
    /// the set.
    fn add_set_adjoint(&self, set: &[f64], column: &mut [f64]) {
        // Most of the designs do not matter for a quantity.
        let matter = set.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        matter.for_each(|(i, weight)| add_multiple(column, *weight, self.whitened.col(i)));
    }
}

/// 1/√variance; 0 where there is none, or so little that this is no number.
fn per_deviation(variance: f64) -> f64 {
    let inverse = 1.0 / variance.sqrt();
    if inverse.is_finite() { inverse } else { 0.0 }
}
