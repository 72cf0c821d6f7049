//! Correlated outputs: the linear model of coregionalisation.
//!
//! Every output is a mixture of Q latent Gaussian processes of unit variance, each with length
//! scales of its own. With loadings a_qk and own variances κ_qk ≥ 0, outputs k and k' have
//!
//!   K_kk'(x, x') = Σ_q B^q_kk' k_q(x, x'),   B^q = a_q a_qᵀ + diag(κ_q),
//!
//! so that a value of one output tells about the others. Each output has its own constant prior
//! mean and noise, and its own data: a row of the covariance matrix is a point *and* an output, and
//! outputs may have been observed at different points. From there on all is as for one output
//! ([`crate::gp`]): with c_k(x) the prior covariances of the rows with output k at x, K = L Lᵀ over
//! the rows and α = K⁻¹(y − means),
//!
//! - posterior mean       μ_k(x) = mean_k + c_k(x)ᵀ α,
//! - posterior covariance K̃_kk'(x, x') = K_kk'(x, x') − v_k(x)ᵀ v_k'(x') with v_k = L⁻¹ c_k.
//!
//! What one more value would tell about a fixed set of points is in [`set`], the likelihood in
//! [`likelihood`], hyper-parameters and the choice between this and independent models in [`fit`].
//! Work grows with the cube of the number of rows of all outputs together.
//!
//! Source: Eq. (4) with a matrix-valued kernel; Journel and Huijbregts 1978 for the kernel.

pub mod set;
pub mod likelihood;
pub mod fit;

use crate::data::Data;
use crate::error::{Error, Result, check_finite, check_shape};
use crate::fit::Wanted;
use crate::gp::{Prediction, check_noise, imagined};
use crate::kernel::{Family, Kernel, Scaled};
use crate::linalg::{Cholesky, Matrix};
use crate::points::Points;
use crate::simd::{dot, vectorised};
use rayon::prelude::*;
use set::FixedSet;
use std::sync::Arc;

/// Points that share one pass over the data when means are computed in bulk.
const CHUNK: usize = 256;

/// Kernel evaluations from which a second thread pays for itself.
const PARALLEL: usize = 1 << 16;

/// One latent process and what each output takes from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Latent {
    /// One, or one per input.
    pub lengthscales: Vec<f64>,
    /// a_qk: how much of the process that all outputs share is in each output, with its sign.
    pub loadings: Vec<f64>,
    /// κ_qk: variance of each output's own process with the same length scales.
    pub own: Vec<f64>,
}

impl Latent {
    /// B_kk' = a_k a_k' + δ_kk' κ_k.
    fn mixing(&self) -> Matrix {
        let outputs = self.loadings.len();
        let mut mixing = Matrix::zeros(outputs, outputs);
        for k in 0..outputs {
            for other in 0..outputs {
                mixing.set(k, other, self.loadings[k] * self.loadings[other]);
            }
            mixing.set(k, k, self.part(k));
        }
        mixing
    }

    /// The variance that output k has from this process.
    fn part(&self, k: usize) -> f64 {
        self.loadings[k].powi(2) + self.own[k]
    }
}

/// Values of all hyper-parameters of correlated outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyper {
    /// The latent processes.
    pub latents: Vec<Latent>,
    /// Variance of one observation's noise, for each output.
    pub noises: Vec<f64>,
    /// Prior mean of each output.
    pub means: Vec<f64>,
}

impl Hyper {
    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.means.len()
    }

    /// Prior variance of output `k`: Σ_q (a_qk² + κ_qk).
    pub fn outputscale(&self, k: usize) -> f64 {
        self.latents.iter().map(|latent| latent.part(k)).sum()
    }

    /// Prior correlation of outputs `k` and `other` at one point.
    ///
    /// ```
    /// use unyoke_math::coregional::{Hyper, Latent};
    ///
    /// let latent = Latent { lengthscales: vec![0.5], loadings: vec![1.0, -3.0], own: vec![3.0, 0.0] };
    /// let hyper = Hyper { latents: vec![latent], noises: vec![0.1; 2], means: vec![0.0; 2] };
    /// assert_eq!(hyper.correlation(0, 1), -0.5);
    /// ```
    pub fn correlation(&self, k: usize, other: usize) -> f64 {
        if k == other {
            return 1.0;
        }
        let covariance: f64 = self.latents.iter().map(|l| l.loadings[k] * l.loadings[other]).sum();
        let scale = self.outputscale(k).sqrt() * self.outputscale(other).sqrt();
        if scale > 0.0 { covariance / scale } else { 0.0 }
    }

    /// The model with these hyper-parameters, conditioned on the data of each output.
    pub fn condition(&self, family: Family, data: &[Data]) -> Result<Coregional> {
        Coregional::new(family, self, data)
    }

    /// The latent kernels, of unit variance.
    fn kernels(&self, family: Family, dim: usize) -> Result<Vec<Kernel>> {
        let kernel = |latent: &Latent| Kernel::new(family, dim, &latent.lengthscales, 1.0);
        self.latents.iter().map(kernel).collect()
    }

    /// Fails unless all has the right shape and every number is possible.
    fn check(&self) -> Result<()> {
        let outputs = self.outputs();
        if self.latents.is_empty() {
            return Err(Error::Shape { what: "latent processes", expected: 1, found: 0 });
        }
        check_shape("noise variances of the outputs", outputs, self.noises.len())?;
        check_finite("prior means", &self.means)?;
        self.noises.iter().try_for_each(|&noise| check_noise(noise))?;
        for latent in &self.latents {
            check_shape("loadings of a latent process", outputs, latent.loadings.len())?;
            check_shape("own variances of a latent process", outputs, latent.own.len())?;
            check_finite("loadings", &latent.loadings)?;
            if let Some(&value) = latent.own.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
                let must = "finite and not negative";
                return Err(Error::OutOfRange { what: "own variance of an output", value, must });
            }
        }
        let scales: Vec<f64> = (0..outputs).map(|k| self.outputscale(k)).collect();
        check_finite("prior variances of the outputs", &scales)
    }
}

/// Fails unless there is data, perhaps empty, for each of `outputs` outputs of one dimension, which
/// is returned.
fn check_data(outputs: usize, data: &[Data]) -> Result<usize> {
    check_shape("outputs with data", outputs, data.len())?;
    let Some(first) = data.first() else {
        return Err(Error::Shape { what: "outputs", expected: 1, found: 0 });
    };
    let dim = first.points().dim();
    for other in data {
        check_shape("coordinates of the inputs", dim, other.points().dim())?;
    }
    Ok(dim)
}

/// The smallest prior variance of an output with rows, in whose units jitter is added.
fn jitter_unit(hyper: &Hyper, data: &[Data]) -> f64 {
    let with_rows = (0..hyper.outputs()).filter(|&k| !data[k].is_empty());
    let scales = with_rows.map(|k| hyper.outputscale(k)).filter(|s| *s > 0.0);
    let least = scales.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 1.0 }
}

/// A linear model of coregionalisation conditioned on data.
#[derive(Debug, Clone)]
pub struct Coregional {
    means: Vec<f64>,
    noises: Vec<f64>,
    /// Σ_q B^q, the prior covariance of the outputs at one point.
    prior: Matrix,
    parts: Vec<Part>,
    /// The output of each row.
    outputs: Vec<usize>,
    residuals: Vec<f64>,
    /// Shared by copies that differ in values only.
    factor: Arc<Cholesky>,
    alpha: Vec<f64>,
}

/// A latent process over the rows.
#[derive(Debug, Clone)]
struct Part {
    kernel: Kernel,
    mixing: Matrix,
    /// B^q_{output of row i, k} for the rows i, for each output k.
    shares: Vec<Vec<f64>>,
    inputs: Scaled,
}

/// A point in the eyes of one latent process.
#[derive(Debug, Clone, Default)]
struct Seen {
    scaled: Vec<f64>,
    /// k_q(X, x) and, where gradients are wanted, dk_q/dr².
    covariances: Vec<f64>,
    slopes: Vec<f64>,
}

impl Seen {
    /// Looks at some points from the scaled one.
    fn look(&mut self, kernel: &Kernel, points: &Scaled, z: &[f64], wanted: Wanted) {
        let Self { covariances, slopes, .. } = self;
        covariances.resize(points.len(), 0.0);
        match wanted {
            Wanted::Value => points.covariances(kernel, z, covariances),
            Wanted::Gradient => {
                slopes.resize(points.len(), 0.0);
                points.covariances_and_slopes(kernel, z, covariances, slopes);
            }
        }
    }
}

/// Everything about one point x that predictions of all outputs and their gradients share.
#[derive(Debug, Clone, Default)]
pub struct Query {
    seen: Vec<Seen>,
    /// v_k(x), a column per output.
    whitened: Matrix,
    means: Vec<f64>,
    covariance: Matrix,
}

impl Query {
    /// Posterior mean of each output.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Posterior covariance of outputs `k` and `other` at this point.
    pub fn covariance(&self, k: usize, other: usize) -> f64 {
        self.covariance.get(k, other)
    }

    /// Posterior mean and variance of output `k`.
    pub fn prediction(&self, k: usize) -> Prediction {
        Prediction { mean: self.means[k], variance: self.covariance(k, k) }
    }
}

/// Derivatives of some quantity in what a [`Query`] holds.
#[derive(Debug, Clone, Copy)]
pub struct QueryAdjoint<'a> {
    /// In the posterior mean of each output.
    pub means: &'a [f64],
    /// In the posterior covariance of outputs k and k' at x, at position k · outputs + k'; both
    /// orders count.
    pub covariances: &'a [f64],
}

impl Coregional {
    /// Conditions the prior on the data of each output, which may be empty; each row has its known
    /// noise variance, or the noise of its output over its count.
    ///
    /// ```
    /// use unyoke_math::{Points, data::Data, kernel::Family};
    /// use unyoke_math::coregional::{Coregional, Hyper, Latent};
    ///
    /// let latent = Latent { lengthscales: vec![0.5], loadings: vec![1.0, -0.9], own: vec![0.0, 0.19] };
    /// let hyper = Hyper { latents: vec![latent], noises: vec![1e-6; 2], means: vec![0.0; 2] };
    /// let observed = Data::new(&Points::from_rows(1, [[0.3]])?, &[2.0])?;
    /// let model = Coregional::new(Family::Matern52, &hyper, &[observed, Data::empty(1)])?;
    /// let [first, second] = &model.predict(&[0.3])?[..] else { unreachable!() };
    /// assert!((first.mean - 2.0).abs() < 1e-5 && (second.mean + 1.8).abs() < 1e-5);
    /// assert!((second.variance - 0.19).abs() < 1e-5);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn new(family: Family, hyper: &Hyper, data: &[Data]) -> Result<Self> {
        hyper.check()?;
        let dim = check_data(hyper.outputs(), data)?;
        let mut points = Points::new(dim);
        let (mut outputs, mut residuals, mut noises) = (vec![], vec![], vec![]);
        for (k, rows) in data.iter().enumerate() {
            for i in 0..rows.len() {
                points.push(rows.points().row(i))?;
                outputs.push(k);
                residuals.push(rows.values()[i] - hyper.means[k]);
                noises.push(rows.noise(i, hyper.noises[k]));
            }
        }
        let mut parts = Vec::with_capacity(hyper.latents.len());
        for (kernel, latent) in hyper.kernels(family, dim)?.into_iter().zip(&hyper.latents) {
            let inputs = kernel.scale(&points)?;
            let mixing = latent.mixing();
            let share = |k: usize| outputs.iter().map(|&output| mixing.get(output, k)).collect();
            let shares = (0..hyper.outputs()).map(share).collect();
            parts.push(Part { kernel, mixing, shares, inputs });
        }
        let covariance = prior_covariance(&parts, &outputs, &noises);
        let factor = Arc::new(Cholesky::with_jitter_unit(&covariance, jitter_unit(hyper, data))?);
        let mut model = Self {
            means: hyper.means.clone(),
            noises: hyper.noises.clone(),
            prior: total_mixing(&parts, hyper.outputs()),
            parts,
            outputs,
            residuals,
            factor,
            alpha: vec![],
        };
        model.update_alpha();
        Ok(model)
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.means.len()
    }

    /// Number of inputs.
    pub fn dim(&self) -> usize {
        self.parts.first().map_or(0, |part| part.kernel.dim())
    }

    /// Number of rows of all outputs together.
    pub fn len(&self) -> usize {
        self.residuals.len()
    }

    /// Whether it is still the prior.
    pub fn is_empty(&self) -> bool {
        self.residuals.is_empty()
    }

    /// Prior mean of output `k`.
    pub fn prior_mean(&self, k: usize) -> f64 {
        self.means[k]
    }

    /// Variance of the noise of one observation of output `k`, where it is not known by itself.
    pub fn noise(&self, k: usize) -> f64 {
        self.noises[k]
    }

    /// Prior covariance of outputs `k` and `other` at one point.
    pub fn prior_covariance(&self, k: usize, other: usize) -> f64 {
        self.prior.get(k, other)
    }

    /// Conditions on one more value of output `k` at `x`, observed with variance `noise`, in O(n²).
    ///
    /// Fails, unchanged, when this row is so close to earlier ones that the covariance matrix is
    /// singular to working precision.
    pub fn append(&mut self, x: &[f64], k: usize, value: f64, noise: f64) -> Result<()> {
        self.check_output(k)?;
        check_finite("appended value", &[value])?;
        check_noise(noise)?;
        let mut seen = vec![];
        self.see(x, Wanted::Value, &mut seen)?;
        let mut row = vec![0.0; self.len()];
        self.cross(&seen, k, &mut row);
        Arc::make_mut(&mut self.factor).append(&row, self.prior.get(k, k) + noise)?;
        for (part, seen) in self.parts.iter_mut().zip(&seen) {
            part.inputs.push(&seen.scaled);
            let mixing = part.mixing.col(k);
            part.shares.iter_mut().zip(mixing).for_each(|(shares, share)| shares.push(*share));
        }
        self.outputs.push(k);
        self.residuals.push(value - self.means[k]);
        self.update_alpha();
        Ok(())
    }

    /// A copy conditioned on more values of output `k`, each observed with variance `noise`.
    ///
    /// Points that add nothing to working precision are passed over.
    pub fn condition_on(
        &self,
        points: &Points,
        k: usize,
        values: &[f64],
        noise: f64,
    ) -> Result<Self> {
        check_shape("values to condition on", points.len(), values.len())?;
        let mut model = self.clone();
        for (x, &value) in points.rows().zip(values) {
            match model.append(x, k, value, noise) {
                Ok(()) | Err(Error::NotPositiveDefinite { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(model)
    }

    /// A copy in which the last rows, of whatever outputs, have other values, one for each of `normals`:
    /// a joint draw given the rows before them if the normals are independent. See
    /// [`Gp::imagine`](crate::gp::Gp::imagine).
    pub fn imagine(&self, normals: &[f64]) -> Result<Self> {
        let (residuals, alpha) = imagined(&self.factor, &self.residuals, normals)?;
        Ok(Self { residuals, alpha, ..self.clone() })
    }

    /// Posterior mean and variance of each output at `x`.
    pub fn predict(&self, x: &[f64]) -> Result<Vec<Prediction>> {
        let query = self.query(x)?;
        Ok((0..self.outputs()).map(|k| query.prediction(k)).collect())
    }

    /// Computes what predictions at `x` and their gradients need.
    pub fn query(&self, x: &[f64]) -> Result<Query> {
        let mut query = Query::default();
        self.query_into(x, &mut query)?;
        Ok(query)
    }

    /// As [`Coregional::query`], reusing the buffers of an earlier query.
    pub fn query_into(&self, x: &[f64], query: &mut Query) -> Result<()> {
        self.query_for(x, Wanted::Gradient, query)
    }

    fn query_for(&self, x: &[f64], wanted: Wanted, query: &mut Query) -> Result<()> {
        let (n, outputs) = (self.len(), self.outputs());
        let Query { seen, whitened, means, covariance } = query;
        self.see(x, wanted, seen)?;
        reshape(whitened, n, outputs);
        reshape(covariance, outputs, outputs);
        means.clear();
        for k in 0..outputs {
            self.cross(seen, k, whitened.col_mut(k));
            means.push(self.means[k] + dot(whitened.col(k), &self.alpha));
        }
        self.factor.solve_lower_few(whitened);
        for k in 0..outputs {
            for other in 0..=k {
                let explained = dot(whitened.col(k), whitened.col(other));
                let value = self.prior.get(k, other) - explained;
                let value = if k == other { value.max(0.0) } else { value };
                covariance.set(k, other, value);
                covariance.set(other, k, value);
            }
        }
        Ok(())
    }

    /// Chain rule: the gradient in x of a quantity with the given derivatives.
    pub fn gradient(&self, query: &Query, adjoint: QueryAdjoint<'_>) -> Result<Vec<f64>> {
        let outputs = self.outputs();
        check_shape("derivatives in the means", outputs, adjoint.means.len())?;
        let pairs = outputs * outputs;
        check_shape("derivatives in the covariances", pairs, adjoint.covariances.len())?;
        let mut whitened = Matrix::zeros(self.len(), outputs);
        self.add_own_adjoint(query, adjoint.covariances, &mut whitened);
        let mut gradient = vec![0.0; self.dim()];
        self.pull_back(query, adjoint.means, &mut whitened, &mut gradient);
        Ok(gradient)
    }

    /// Adds Σ_k' (C̄_kk' + C̄_k'k) v_k' to each column k: minus the derivatives in v_k of
    /// Σ C̄_kk' K̃_kk'(x, x).
    fn add_own_adjoint(&self, query: &Query, covariances: &[f64], whitened: &mut Matrix) {
        let outputs = self.outputs();
        for k in 0..outputs {
            for other in 0..outputs {
                let weight = covariances[k * outputs + other] + covariances[other * outputs + k];
                if weight != 0.0 {
                    add_multiple(whitened.col_mut(k), weight, query.whitened.col(other));
                }
            }
        }
    }

    /// Adds the gradient of Σ_k (means_k μ_k(x) − whitened_kᵀ v_k(x)) to `gradient`; `whitened` is
    /// used up.
    fn pull_back(&self, query: &Query, means: &[f64], whitened: &mut Matrix, gradient: &mut [f64]) {
        self.factor.solve_upper_few(whitened);
        self.add_solved(query, means, whitened, gradient);
    }

    /// The same from `solved` = L⁻ᵀ whitened, which is used up.
    fn add_solved(&self, query: &Query, means: &[f64], solved: &mut Matrix, gradient: &mut [f64]) {
        for (k, &mean) in means.iter().enumerate() {
            for (weight, alpha) in solved.col_mut(k).iter_mut().zip(&self.alpha) {
                *weight = mean * alpha - *weight;
            }
        }
        let mut weights = vec![0.0; self.len()];
        for (part, seen) in self.parts.iter().zip(&query.seen) {
            weights.fill(0.0);
            for (k, shares) in part.shares.iter().enumerate() {
                add_products(&mut weights, shares, solved.col(k));
            }
            weights.iter_mut().zip(&seen.slopes).for_each(|(weight, slope)| *weight *= slope);
            part.inputs.add_weighted_gradient(&part.kernel, &seen.scaled, &weights, gradient);
        }
    }

    /// Posterior means at `x`; adds the gradient of Σ_k factors_k μ_k(x) to `gradient`. Unlike a
    /// query, which knows covariances too, in O(n).
    pub fn means_with_gradient(
        &self,
        x: &[f64],
        factors: &[f64],
        gradient: &mut [f64],
    ) -> Result<Vec<f64>> {
        check_shape("factors of the means", self.outputs(), factors.len())?;
        check_shape("coordinates of the gradient", self.dim(), gradient.len())?;
        let mut seen = vec![];
        self.see(x, Wanted::Gradient, &mut seen)?;
        let mut means = self.means.clone();
        for (part, seen) in self.parts.iter().zip(&seen) {
            for (k, mean) in means.iter_mut().enumerate() {
                *mean += dot(&self.mean_weights(part, k), &seen.covariances);
            }
            let combined = self.outputs.iter().zip(&self.alpha);
            let weights: Vec<f64> = combined
                .map(|(&output, alpha)| dot(part.mixing.col(output), factors) * alpha)
                .collect();
            part.inputs.add_gradient(&part.kernel, &seen.scaled, &seen.slopes, &weights, gradient);
        }
        Ok(means)
    }

    /// Posterior means at many points, for each output: `means[k][j]`.
    pub fn means(&self, points: &Points) -> Result<Vec<Vec<f64>>> {
        let scaled = self.scale(points)?;
        let weights: Vec<Vec<Vec<f64>>> =
            self.parts.iter().map(|part| self.weights(part)).collect();
        let chunk = |start: usize| {
            let len = CHUNK.min(points.len() - start);
            let mut sums: Vec<Vec<f64>> = self.means.iter().map(|mean| vec![*mean; len]).collect();
            let mut covariances = vec![0.0; len];
            for ((part, points), weights) in self.parts.iter().zip(&scaled).zip(&weights) {
                for i in 0..self.len() {
                    let (z, range) = (part.inputs.point(i), start..start + len);
                    points.covariances_in(&part.kernel, &z, range, &mut covariances);
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        add_multiple(sum, weight[i], &covariances);
                    }
                }
            }
            sums
        };
        let starts: Vec<usize> = (0..points.len()).step_by(CHUNK).collect();
        let parts: Vec<Vec<Vec<f64>>> = if points.len() * self.len() >= PARALLEL {
            starts.into_par_iter().map(chunk).collect()
        } else {
            starts.into_iter().map(chunk).collect()
        };
        let all = |k: usize| parts.iter().flat_map(|part| &part[k]).copied().collect();
        Ok((0..self.outputs()).map(all).collect())
    }

    /// Posterior means and variances at many points, for each output: `predictions[k][j]`.
    pub fn predict_many(&self, points: &Points) -> Result<Vec<Vec<Prediction>>> {
        Ok(self.fixed_set(points)?.predictions())
    }

    /// Prepares posterior covariances between any x and these points.
    pub fn fixed_set(&self, points: &Points) -> Result<FixedSet<'_>> {
        FixedSet::new(self, points)
    }

    /// Joint posterior of the latent values of all outputs at `points`.
    pub fn joint(&self, points: &Points) -> Result<Joint> {
        let (set, scaled) = (self.fixed_set(points)?, self.scale(points)?);
        let (count, outputs) = (points.len(), self.outputs());
        let mut covariance = Matrix::zeros(count * outputs, count * outputs);
        for (part, scaled) in self.parts.iter().zip(&scaled) {
            let kernel = scaled.cross(&part.kernel, scaled);
            for k in 0..outputs {
                for j in 0..count {
                    let column = covariance.col_mut(k * count + j);
                    for (other, rows) in column.chunks_exact_mut(count).enumerate() {
                        add_multiple(rows, part.mixing.get(other, k), kernel.col(j));
                    }
                }
            }
        }
        covariance.subtract_transpose_mul(set.whitened(), set.whitened());
        Ok(Joint { points: count, means: set.all_means().to_vec(), covariance })
    }

    fn weights(&self, part: &Part) -> Vec<Vec<f64>> {
        (0..self.outputs()).map(|k| self.mean_weights(part, k)).collect()
    }

    /// B^q_{output of row i, k} αᵢ: the weights of k_q(X, x) in the mean of output k.
    fn mean_weights(&self, part: &Part, k: usize) -> Vec<f64> {
        part.shares[k].iter().zip(&self.alpha).map(|(share, alpha)| share * alpha).collect()
    }

    /// Looks at `x` through each latent process.
    fn see(&self, x: &[f64], wanted: Wanted, seen: &mut Vec<Seen>) -> Result<()> {
        seen.resize_with(self.parts.len(), Seen::default);
        for (part, seen) in self.parts.iter().zip(seen) {
            part.kernel.check_point(x)?;
            part.kernel.scale_point_into(x, &mut seen.scaled);
            let z = std::mem::take(&mut seen.scaled);
            seen.look(&part.kernel, &part.inputs, &z, wanted);
            seen.scaled = z;
        }
        Ok(())
    }

    /// c_k(x): prior covariances of the rows with output k at the point seen.
    fn cross(&self, seen: &[Seen], k: usize, out: &mut [f64]) {
        out.fill(0.0);
        for (part, seen) in self.parts.iter().zip(seen) {
            add_products(out, &part.shares[k], &seen.covariances);
        }
    }

    /// The points in units of the length scales of each latent process.
    fn scale(&self, points: &Points) -> Result<Vec<Scaled>> {
        self.parts.iter().map(|part| part.kernel.scale(points)).collect()
    }

    fn check_output(&self, k: usize) -> Result<()> {
        if k < self.outputs() {
            return Ok(());
        }
        Err(Error::OutOfRange { what: "output", value: k as f64, must: "the number of an output" })
    }

    fn update_alpha(&mut self) {
        self.alpha.clear();
        self.alpha.extend_from_slice(&self.residuals);
        self.factor.solve(&mut self.alpha);
    }
}

/// Joint distribution of the latent values of all outputs at several points.
#[derive(Debug, Clone)]
pub struct Joint {
    points: usize,
    means: Vec<f64>,
    covariance: Matrix,
}

/// An output at a point of a [`Joint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The output.
    pub output: usize,
    /// The point, by its position.
    pub point: usize,
}

impl Joint {
    /// Posterior mean.
    pub fn mean(&self, place: Place) -> f64 {
        self.means[self.position(place)]
    }

    /// Posterior covariance.
    pub fn covariance(&self, place: Place, other: Place) -> f64 {
        self.covariance.get(self.position(place), self.position(other))
    }

    /// Turns standard normals, one row of `normals` per draw, into joint draws of the values, the
    /// values of one output after those of another.
    pub fn sample(&self, normals: &Points) -> Result<Points> {
        check_shape("normals per draw", self.means.len(), normals.dim())?;
        let factor = Cholesky::new(&self.covariance)?;
        let draw = |z: &[f64]| {
            let deviations = factor.lower_mul(z);
            self.means.iter().zip(deviations).map(|(m, d)| m + d).collect::<Vec<_>>()
        };
        Points::from_rows(self.means.len(), normals.rows().map(draw))
    }

    fn position(&self, place: Place) -> usize {
        place.output * self.points + place.point
    }
}

/// The lower triangle of K over the rows, noise included.
fn prior_covariance(parts: &[Part], outputs: &[usize], noises: &[f64]) -> Matrix {
    let n = outputs.len();
    let mut covariance = Matrix::zeros(n, n);
    for part in parts {
        let kernel = part.inputs.matrix(&part.kernel);
        for j in 0..n {
            let mixing = part.mixing.col(outputs[j]);
            let rows = covariance.col_mut(j)[j..].iter_mut().zip(&kernel.col(j)[j..]);
            for ((k, value), &output) in rows.zip(&outputs[j..]) {
                *k += mixing[output] * value;
            }
        }
    }
    for (i, noise) in noises.iter().enumerate() {
        covariance.col_mut(i)[i] += noise;
    }
    covariance
}

/// Σ_q B^q.
fn total_mixing(parts: &[Part], outputs: usize) -> Matrix {
    let mut total = Matrix::zeros(outputs, outputs);
    for part in parts {
        for k in 0..outputs {
            add_multiple(total.col_mut(k), 1.0, part.mixing.col(k));
        }
    }
    total
}

/// Makes a buffer `rows` × `cols`, its entries to be overwritten.
fn reshape(matrix: &mut Matrix, rows: usize, cols: usize) {
    if (matrix.rows(), matrix.cols()) != (rows, cols) {
        *matrix = Matrix::zeros(rows, cols);
    }
}

/// `sumᵢ ← sumᵢ + aᵢ bᵢ`.
fn add_products(sum: &mut [f64], a: &[f64], b: &[f64]) {
    vectorised(
        #[inline(always)]
        || {
            for ((s, a), b) in sum.iter_mut().zip(a).zip(b) {
                *s = a.mul_add(*b, *s);
            }
        },
    );
}

/// `sum ← sum + factor · terms`.
fn add_multiple(sum: &mut [f64], factor: f64, terms: &[f64]) {
    vectorised(
        #[inline(always)]
        || {
            for (s, t) in sum.iter_mut().zip(terms) {
                *s = factor.mul_add(*t, *s);
            }
        },
    );
}
