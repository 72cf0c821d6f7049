//! Gaussian processes: condition on data, predict, differentiate, sample.
//!
//! One [`Gp`] models one output: a constant prior mean, a stationary kernel and independent
//! Gaussian noise. With n observations, K = k(X, X) + noise = L Lᵀ and α = K⁻¹(y − mean),
//!
//! - posterior mean      μ(x) = mean + k(x, X) α,
//! - posterior covariance k(x, x') − v(x)ᵀ v(x') with v(x) = L⁻¹ k(X, x).
//!
//! Source: Eq. (4). Sample paths are in [`crate::path`], hyper-parameters in [`crate::fit`].

use crate::data::Data;
use crate::error::{Error, Result, check_finite, check_positive, check_shape};
use crate::kernel::{Kernel, Scaled};
use crate::linalg::{Cholesky, Matrix};
use crate::points::Points;
use crate::simd::{add_multiple, dot};
use rayon::prelude::*;
use std::sync::Arc;

/// Points that share one pass over the data when means are computed in bulk.
const CHUNK: usize = 256;

/// Kernel evaluations from which a second thread pays for itself.
const PARALLEL: usize = 1 << 16;

/// A Gaussian process conditioned on data.
#[derive(Debug, Clone)]
pub struct Gp {
    kernel: Kernel,
    mean: f64,
    noise: f64,
    inputs: Scaled,
    residuals: Vec<f64>,
    noises: Vec<f64>,
    /// Shared by copies that differ in values only.
    factor: Arc<Cholesky>,
    alpha: Vec<f64>,
}

/// Posterior mean and variance of the latent function (without observation noise) at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Expected value.
    pub mean: f64,
    /// Variance, never negative.
    pub variance: f64,
}

/// A row, and what the other rows make one expect of its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeftOut {
    /// The value of the row; that of replicates is their mean.
    pub value: f64,
    /// What the model expects of it when it has not seen the row.
    pub mean: f64,
    /// Variance of that expectation, the noise of the row's value included.
    pub variance: f64,
}

/// Everything about one point x that predictions and their gradients share.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Posterior mean and variance at x.
    mean: f64,
    variance: f64,
    scaled: Vec<f64>,
    covariances: Vec<f64>,
    slopes: Vec<f64>,
    whitened: Vec<f64>,
}

impl Query {
    /// The prediction at the point that was asked about.
    pub fn prediction(&self) -> Prediction {
        Prediction { mean: self.mean, variance: self.variance }
    }
}

impl Gp {
    /// Conditions the prior on `data`; each row has its known noise variance, or `noise` over its
    /// count.
    ///
    /// ```
    /// use unyoke_math::{Points, data::Data, gp::Gp, kernel::{Family, Kernel}};
    ///
    /// let points = Points::from_rows(1, [[0.0], [1.0]])?;
    /// let data = Data::new(&points, &[1.0, 2.0])?;
    /// let kernel = Kernel::new(Family::Matern52, 1, &[0.5], 1.0)?;
    /// let gp = Gp::new(kernel, 0.0, 1e-6, &data)?;
    /// let at_data = gp.predict(&[1.0])?;
    /// assert!((at_data.mean - 2.0).abs() < 1e-5 && at_data.variance < 1e-5);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn new(kernel: Kernel, mean: f64, noise: f64, data: &Data) -> Result<Self> {
        check_finite("prior mean", &[mean])?;
        check_noise(noise)?;
        let inputs = kernel.scale(data.points())?;
        let mut covariance = inputs.matrix(&kernel);
        let noises: Vec<f64> = (0..data.len()).map(|row| data.noise(row, noise)).collect();
        for (i, noise) in noises.iter().enumerate() {
            covariance.col_mut(i)[i] += noise;
        }
        let unit = jitter_unit(&covariance, kernel.variance(), data);
        let factor = Arc::new(Cholesky::with_jitter_unit(&covariance, unit)?);
        let residuals: Vec<f64> = data.values().iter().map(|y| y - mean).collect();
        let mut gp = Self { kernel, mean, noise, inputs, residuals, noises, factor, alpha: vec![] };
        gp.update_alpha();
        Ok(gp)
    }

    /// Its covariance function.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Its prior mean.
    pub fn prior_mean(&self) -> f64 {
        self.mean
    }

    /// Variance of the noise of one observation, where it is not known by itself.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// Number of inputs.
    pub fn dim(&self) -> usize {
        self.kernel.dim()
    }

    /// Number of rows it is conditioned on.
    pub fn len(&self) -> usize {
        self.residuals.len()
    }

    /// Whether it is still the prior.
    pub fn is_empty(&self) -> bool {
        self.residuals.is_empty()
    }

    /// Conditions on one more value at `x`, observed with variance `noise`, in O(n²).
    ///
    /// Fails, unchanged, when `x` is so close to earlier rows that the covariance matrix is
    /// singular to working precision.
    pub fn append(&mut self, x: &[f64], value: f64, noise: f64) -> Result<()> {
        self.kernel.check_point(x)?;
        check_finite("appended value", &[value])?;
        check_noise(noise)?;
        let z = self.kernel.scale_point(x);
        let mut row = vec![0.0; self.len()];
        self.inputs.covariances(&self.kernel, &z, &mut row);
        Arc::make_mut(&mut self.factor).append(&row, self.kernel.variance() + noise)?;
        self.inputs.push(&z);
        self.residuals.push(value - self.mean);
        self.noises.push(noise);
        self.update_alpha();
        Ok(())
    }

    /// A copy conditioned on more values, each observed with variance `noise`.
    ///
    /// Points that add nothing to working precision, being as good as observed, are passed over.
    pub fn condition_on(&self, points: &Points, values: &[f64], noise: f64) -> Result<Self> {
        check_shape("values to condition on", points.len(), values.len())?;
        let mut gp = self.clone();
        for (x, &value) in points.rows().zip(values) {
            match gp.append(x, value, noise) {
                Ok(()) | Err(Error::NotPositiveDefinite { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(gp)
    }

    /// A copy in which the last rows have other values, one for each of `normals`: what the rows before
    /// it make one expect, plus the normal times the standard deviation of that, noise included.
    ///
    /// Of independent standard normals this makes a joint draw of the values, given the rows before
    /// them: entry i of w = L⁻¹(y − mean) is the deviation of value i from what is expected of it, in
    /// standard deviations. The copy shares the factor and takes O(n²) time.
    pub fn imagine(&self, normals: &[f64]) -> Result<Self> {
        let (residuals, alpha) = imagined(&self.factor, &self.residuals, normals)?;
        Ok(Self { residuals, alpha, ..self.clone() })
    }

    /// Posterior mean and variance at `x`.
    pub fn predict(&self, x: &[f64]) -> Result<Prediction> {
        Ok(self.query(x)?.prediction())
    }

    /// What each row's value is expected to be from all the other rows, with the same
    /// hyper-parameters: mean yᵢ − αᵢ/(K⁻¹)ᵢᵢ, variance 1/(K⁻¹)ᵢᵢ. In O(n³) for all together.
    ///
    /// Replicates are one row and left out together; at a point with observations of known noise and
    /// others there are two rows, each of which says something about the other.
    ///
    /// Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, Eq. (5.12).
    pub fn leave_one_out(&self) -> Vec<LeftOut> {
        let inverse = self.factor.inverse_diagonal();
        let left_out = |i: usize| {
            let (variance, value) = (1.0 / inverse[i], self.residuals[i] + self.mean);
            LeftOut { value, mean: value - self.alpha[i] * variance, variance }
        };
        (0..self.len()).map(left_out).collect()
    }

    /// Computes what predictions at `x` and their gradients need.
    pub fn query(&self, x: &[f64]) -> Result<Query> {
        let mut query = Query::default();
        self.query_into(x, &mut query)?;
        Ok(query)
    }

    /// As [`Gp::query`], reusing the buffers of an earlier query.
    pub fn query_into(&self, x: &[f64], query: &mut Query) -> Result<()> {
        self.kernel.check_point(x)?;
        let n = self.len();
        self.kernel.scale_point_into(x, &mut query.scaled);
        query.covariances.resize(n, 0.0);
        query.slopes.resize(n, 0.0);
        self.inputs.covariances_and_slopes(
            &self.kernel,
            &query.scaled,
            &mut query.covariances,
            &mut query.slopes,
        );
        query.whitened.clear();
        query.whitened.extend_from_slice(&query.covariances);
        self.factor.solve_lower(&mut query.whitened);
        query.mean = self.mean + dot(&query.covariances, &self.alpha);
        query.variance = (self.kernel.variance() - dot(&query.whitened, &query.whitened)).max(0.0);
        Ok(())
    }

    /// Posterior mean at `x`, in O(n): a query that knows no variance, only what [`Gp::gradient`] of
    /// the mean needs.
    pub fn query_mean(&self, x: &[f64], query: &mut Query) -> Result<f64> {
        self.kernel.check_point(x)?;
        self.kernel.scale_point_into(x, &mut query.scaled);
        query.covariances.resize(self.len(), 0.0);
        query.slopes.resize(self.len(), 0.0);
        let Query { scaled, covariances, slopes, .. } = query;
        self.inputs.covariances_and_slopes(&self.kernel, scaled, covariances, slopes);
        query.mean = self.mean + dot(&query.covariances, &self.alpha);
        query.variance = f64::NAN;
        Ok(query.mean)
    }

    /// Gradient in x of `a` · mean + `b` · variance at the point of `query`.
    pub fn gradient(&self, query: &Query, a: f64, b: f64) -> Vec<f64> {
        let mut gradient = vec![0.0; self.dim()];
        if b == 0.0 {
            // The mean alone needs no solve.
            let weights: Vec<f64> = self.alpha.iter().map(|alpha| a * alpha).collect();
            let (z, slopes) = (&query.scaled, &query.slopes);
            self.inputs.add_gradient(&self.kernel, z, slopes, &weights, &mut gradient);
            return gradient;
        }
        let mut adjoint: Vec<f64> = query.whitened.iter().map(|v| 2.0 * b * v).collect();
        self.pull_back(query, a, &mut adjoint, &mut gradient);
        gradient
    }

    /// Adds the gradient of a · mean(x) − adjointᵀ v(x) to `gradient`; `adjoint` is used up.
    fn pull_back(&self, query: &Query, a: f64, adjoint: &mut [f64], gradient: &mut [f64]) {
        self.factor.solve_upper(adjoint);
        for (weight, alpha) in adjoint.iter_mut().zip(&self.alpha) {
            *weight = a * alpha - *weight;
        }
        self.inputs.add_gradient(&self.kernel, &query.scaled, &query.slopes, adjoint, gradient);
    }

    /// Posterior mean at `x`; adds `factor` times its gradient to `gradient`. Unlike a query, which
    /// knows the variance too, in O(n).
    pub fn mean_with_gradient(&self, x: &[f64], factor: f64, gradient: &mut [f64]) -> Result<f64> {
        self.kernel.check_point(x)?;
        check_shape("coordinates of the gradient", self.dim(), gradient.len())?;
        let scaled = self.kernel.scale_point(x);
        let (mut covariances, mut slopes) = (vec![0.0; self.len()], vec![0.0; self.len()]);
        self.inputs.covariances_and_slopes(&self.kernel, &scaled, &mut covariances, &mut slopes);
        let weights: Vec<f64> = self.alpha.iter().map(|alpha| factor * alpha).collect();
        self.inputs.add_gradient(&self.kernel, &scaled, &slopes, &weights, gradient);
        Ok(self.mean + dot(&covariances, &self.alpha))
    }

    /// Posterior means at many points, in vector loops and on all cores when that pays.
    pub fn means(&self, points: &Points) -> Result<Vec<f64>> {
        let scaled = self.kernel.scale(points)?;
        let mut means = vec![self.mean; points.len()];
        let fill = |(chunk, out): (usize, &mut [f64])| {
            let start = chunk * CHUNK;
            let range = start..start + out.len();
            self.inputs.add_weighted(&self.kernel, &self.alpha, &scaled, range, out);
        };
        if points.len() * self.len() >= PARALLEL {
            means.par_chunks_mut(CHUNK).enumerate().for_each(fill);
        } else {
            means.chunks_mut(CHUNK).enumerate().for_each(fill);
        }
        Ok(means)
    }

    /// Posterior means and variances at many points.
    pub fn predict_many(&self, points: &Points) -> Result<Vec<Prediction>> {
        let scaled = self.kernel.scale(points)?;
        let mut cross = self.inputs.cross(&self.kernel, &scaled);
        let means = self.cross_means(&cross);
        self.factor.solve_lower_many(&mut cross);
        let predict = |(j, &mean): (usize, &f64)| {
            let explained = dot(cross.col(j), cross.col(j));
            Prediction { mean, variance: (self.kernel.variance() - explained).max(0.0) }
        };
        Ok(means.iter().enumerate().map(predict).collect())
    }

    /// Joint posterior of the latent values at `points`.
    pub fn joint(&self, points: &Points) -> Result<Joint> {
        let scaled = self.kernel.scale(points)?;
        let mut cross = self.inputs.cross(&self.kernel, &scaled);
        let means = self.cross_means(&cross);
        self.factor.solve_lower_many(&mut cross);
        let mut covariance = scaled.matrix(&self.kernel);
        for j in 0..points.len() {
            for i in 0..j {
                covariance.set(i, j, covariance.get(j, i));
            }
        }
        covariance.subtract_transpose_mul(&cross, &cross);
        Ok(Joint { means, covariance })
    }

    /// Prepares posterior covariances between any x and these points.
    pub fn fixed_set(&self, points: &Points) -> Result<FixedSet<'_>> {
        let scaled = self.kernel.scale(points)?;
        let mut whitened = self.inputs.cross(&self.kernel, &scaled);
        let means = self.cross_means(&whitened);
        self.factor.solve_lower_many(&mut whitened);
        Ok(FixedSet { gp: self, points: scaled, whitened, means })
    }

    /// Conditions on `values.len()` alternative outcomes of one observation at `x`.
    ///
    /// The outcomes share a factor: fantasy f has mean
    /// μ(x') + k_N(x', x)/(k_N(x, x) + noise) · (value_f − μ(x)).
    pub fn fantasies(&self, x: &[f64], values: &[f64], noise: f64) -> Result<Fantasies<'_>> {
        check_finite("fantasised values", values)?;
        let set = self.fixed_set(&Points::from_rows(self.dim(), [x])?)?;
        let prediction = self.predict(x)?;
        check_positive("variance of a fantasised observation", prediction.variance + noise)?;
        let step = |value: &f64| (value - prediction.mean) / (prediction.variance + noise);
        Ok(Fantasies { steps: values.iter().map(step).collect(), set })
    }

    fn cross_means(&self, cross: &Matrix) -> Vec<f64> {
        let mut means = vec![0.0; cross.cols()];
        cross.transpose_mul_vec(&self.alpha, &mut means);
        means.iter().map(|m| self.mean + m).collect()
    }

    fn update_alpha(&mut self) {
        self.alpha.clear();
        self.alpha.extend_from_slice(&self.residuals);
        self.factor.solve(&mut self.alpha);
    }

    /// The observed points, scaled.
    pub(crate) fn inputs(&self) -> &Scaled {
        &self.inputs
    }

    /// K⁻¹(y − mean).
    pub(crate) fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// y − mean per row.
    pub(crate) fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// Noise variance per row.
    pub(crate) fn noises(&self) -> &[f64] {
        &self.noises
    }

    /// `r ← K⁻¹ r` for a vector over the rows.
    pub(crate) fn solve(&self, r: &mut [f64]) {
        self.factor.solve(r);
    }
}

/// Residuals y − mean of which the last are those that `normals` make, and α = K⁻¹(y − mean).
pub(crate) fn imagined(
    factor: &Cholesky,
    residuals: &[f64],
    normals: &[f64],
) -> Result<(Vec<f64>, Vec<f64>)> {
    check_finite("normals of imagined values", normals)?;
    let Some(first) = residuals.len().checked_sub(normals.len()) else {
        return Err(Error::Shape {
            what: "normals of imagined values",
            expected: residuals.len(),
            found: normals.len(),
        });
    };
    let (mut residuals, mut alpha) = (residuals.to_vec(), residuals.to_vec());
    factor.solve_lower(&mut alpha);
    alpha[first..].copy_from_slice(normals);
    for (i, residual) in residuals.iter_mut().enumerate().skip(first) {
        *residual = alpha[..=i].iter().enumerate().map(|(j, w)| factor.get(i, j) * w).sum();
    }
    factor.solve_upper(&mut alpha);
    Ok((residuals, alpha))
}

/// Joint distribution of the latent values at several points.
#[derive(Debug, Clone)]
pub struct Joint {
    means: Vec<f64>,
    covariance: Matrix,
}

impl Joint {
    /// Posterior means.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Posterior covariance of the values at points `i` and `j`.
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        self.covariance.get(i, j)
    }

    /// Turns standard normals, one row of `normals` per draw, into joint draws of the values.
    pub fn sample(&self, normals: &Points) -> Result<Points> {
        check_shape("normals per draw", self.means.len(), normals.dim())?;
        let factor = Cholesky::new(&self.covariance)?;
        let draw = |z: &[f64]| {
            let deviations = factor.lower_mul(z);
            self.means.iter().zip(deviations).map(|(m, d)| m + d).collect::<Vec<_>>()
        };
        Points::from_rows(self.means.len(), normals.rows().map(draw))
    }
}

/// Posterior covariances between one moving point and a fixed set of points.
///
/// Set up once per model in O(n² J); each x then costs O(n² + n J), gradient included.
#[derive(Debug, Clone)]
pub struct FixedSet<'a> {
    gp: &'a Gp,
    points: Scaled,
    whitened: Matrix,
    means: Vec<f64>,
}

/// A moving point x seen from a [`FixedSet`].
#[derive(Debug, Clone, Default)]
pub struct Candidate {
    query: Query,
    covariances: Vec<f64>,
    slopes: Vec<f64>,
    explained: Vec<f64>,
}

impl Candidate {
    /// Posterior mean and variance at x itself.
    pub fn prediction(&self) -> Prediction {
        self.query.prediction()
    }

    /// Posterior covariance between x and each point of the set.
    pub fn covariances(&self) -> &[f64] {
        &self.covariances
    }
}

/// Many points seen from a [`FixedSet`], without what gradients need.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    predictions: Vec<Prediction>,
    /// A column per candidate.
    covariances: Matrix,
}

impl Candidates {
    /// Posterior mean and variance at the candidate with this number.
    pub fn prediction(&self, number: usize) -> Prediction {
        self.predictions[number]
    }

    /// Posterior covariance between it and each point of the set.
    pub fn covariances(&self, number: usize) -> &[f64] {
        self.covariances.col(number)
    }
}

/// Derivatives of some quantity in what a [`Candidate`] holds.
#[derive(Debug, Clone, Copy)]
pub struct Adjoint<'a> {
    /// In the posterior mean at x.
    pub mean: f64,
    /// In the posterior variance at x.
    pub variance: f64,
    /// In the covariance with each point of the set.
    pub covariances: &'a [f64],
}

impl FixedSet<'_> {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether the set has no points.
    pub fn is_empty(&self) -> bool {
        self.points.len() == 0
    }

    /// Posterior means at the points of the set.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Variance of the noise of one observation.
    pub fn noise(&self) -> f64 {
        self.gp.noise()
    }

    /// Number of inputs.
    pub fn dim(&self) -> usize {
        self.gp.dim()
    }

    /// Moves the candidate to `x`, reusing its buffers.
    pub fn evaluate(&self, x: &[f64], candidate: &mut Candidate) -> Result<()> {
        let Candidate { query, covariances, slopes, explained } = candidate;
        self.gp.query_into(x, query)?;
        covariances.resize(self.len(), 0.0);
        slopes.resize(self.len(), 0.0);
        explained.resize(self.len(), 0.0);
        let kernel = &self.gp.kernel;
        self.points.covariances_and_slopes(kernel, &query.scaled, covariances, slopes);
        self.whitened.transpose_mul_vec(&query.whitened, explained);
        for (k, e) in covariances.iter_mut().zip(explained) {
            *k -= *e;
        }
        Ok(())
    }

    /// Posterior variances of the differences between the values at any two points of the set. No
    /// observation anywhere can move the means of two points apart by more than a standard deviation of
    /// their difference for each of its own.
    pub fn difference_variances(&self) -> Matrix {
        let mut covariances = self.points.cross(&self.gp.kernel, &self.points);
        covariances.subtract_transpose_mul(&self.whitened, &self.whitened);
        let own: Vec<f64> = (0..self.len()).map(|j| covariances.get(j, j)).collect();
        for (j, own_j) in own.iter().enumerate() {
            for (c, own_i) in covariances.col_mut(j).iter_mut().zip(&own) {
                *c = (own_i + own_j - 2.0 * *c).max(0.0);
            }
        }
        covariances
    }

    /// Variance of the values before anything was observed.
    pub fn prior_variance(&self) -> f64 {
        self.gp.kernel.variance()
    }

    /// Looks at many points at once: one solve and one product for all of them.
    pub fn evaluate_many(&self, points: &Points) -> Result<Candidates> {
        let kernel = &self.gp.kernel;
        let scaled = kernel.scale(points)?;
        let mut cross = self.gp.inputs.cross(kernel, &scaled);
        let means = self.gp.cross_means(&cross);
        self.gp.factor.solve_lower_many(&mut cross);
        let mut covariances = self.points.cross(kernel, &scaled);
        covariances.subtract_transpose_mul(&self.whitened, &cross);
        let prediction = |(j, mean): (usize, f64)| {
            let explained = dot(cross.col(j), cross.col(j));
            Prediction { mean, variance: (kernel.variance() - explained).max(0.0) }
        };
        let predictions = means.into_iter().enumerate().map(prediction).collect();
        Ok(Candidates { predictions, covariances })
    }

    /// Chain rule: the gradient in x of a quantity with the given derivatives.
    pub fn gradient(&self, candidate: &Candidate, adjoint: Adjoint<'_>) -> Result<Vec<f64>> {
        check_shape("derivatives in the covariances", self.len(), adjoint.covariances.len())?;
        let query = &candidate.query;
        let mut gradient = vec![0.0; self.gp.dim()];
        let mut whitened: Vec<f64> =
            query.whitened.iter().map(|v| 2.0 * adjoint.variance * v).collect();
        // Few points of a set matter for a candidate.
        let weights = adjoint.covariances.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        for (j, &weight) in weights {
            add_multiple(&mut whitened, weight, self.whitened.col(j));
            let slope = weight * candidate.slopes[j];
            self.points.add_gradient_of(j, &self.gp.kernel, &query.scaled, slope, &mut gradient);
        }
        self.gp.pull_back(query, adjoint.mean, &mut whitened, &mut gradient);
        Ok(gradient)
    }
}

/// A Gaussian process under several imagined outcomes of one more observation.
#[derive(Debug, Clone)]
pub struct Fantasies<'a> {
    set: FixedSet<'a>,
    steps: Vec<f64>,
}

impl Fantasies<'_> {
    /// Number of outcomes.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Posterior mean at `x` under each outcome.
    pub fn means(&self, x: &[f64]) -> Result<Vec<f64>> {
        let mut candidate = Candidate::default();
        self.set.evaluate(x, &mut candidate)?;
        let (mean, k) = (candidate.query.mean, candidate.covariances[0]);
        Ok(self.steps.iter().map(|step| k.mul_add(*step, mean)).collect())
    }

    /// Gradient in x of the posterior mean under outcome `fantasy`.
    pub fn mean_gradient(&self, x: &[f64], fantasy: usize) -> Result<Vec<f64>> {
        let Some(&step) = self.steps.get(fantasy) else {
            let must = "the number of a fantasy";
            return Err(Error::OutOfRange { what: "fantasy", value: fantasy as f64, must });
        };
        let mut candidate = Candidate::default();
        self.set.evaluate(x, &mut candidate)?;
        let covariances = &[step];
        self.set.gradient(&candidate, Adjoint { mean: 1.0, variance: 0.0, covariances })
    }
}

/// What jitter of a covariance matrix over the rows of `data` is relative to: its diagonal, or, since
/// known noise may be of any size, the variance of the kernel.
pub(crate) fn jitter_unit(covariance: &Matrix, variance: f64, data: &Data) -> f64 {
    match data.known_noise().iter().any(Option::is_some) {
        true => variance,
        false => covariance.mean_diagonal(),
    }
}

pub(crate) fn check_noise(value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::OutOfRange { what: "noise variance", value, must: "finite and not negative" })
}
