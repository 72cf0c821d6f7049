//! The likelihood of correlated outputs and its derivatives in every hyper-parameter.
//!
//! With W = ααᵀ − K⁻¹ and G^q_kk' = Σ W_ij k_q(xᵢ, x_j) over the rows i of output k and j of k',
//!
//! - ∂/∂a_q = G^q a_q,  ∂/∂κ_qk = ½ G^q_kk,
//! - ∂/∂ℓ = ½ Σ_ij W_ij B^q_ij ∂k_q(xᵢ, x_j)/∂ℓ,
//! - ∂/∂σ²_k = ½ Σ W_ii/countᵢ over the rows of k that share its noise, ∂/∂mean_k = Σ αᵢ over its rows,
//!
//! and replicates add what they do for one output ([`crate::fit`]). Best prior means, given the rest,
//! solve the normal equations of generalised least squares and are put in exactly.

use super::{Hyper, Latent, add_multiple, check_data, jitter_unit};
use crate::data::{Data, LN_TAU};
use crate::error::{Result, check_shape};
use crate::fit::{Mean, check_noise, known_replicates, replicate_derivative, replicate_term};
use crate::kernel::{Family, Kernel, Scaled};
use crate::linalg::{Cholesky, Matrix};
use crate::points::Points;
use crate::simd::dot;
use std::ops::Range;

/// The logarithm of the likelihood at given hyper-parameters, and its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLikelihood {
    /// log p(y | X, θ).
    pub value: f64,
    /// Derivatives in each hyper-parameter, in the shape of the hyper-parameters.
    pub gradient: Hyper,
}

impl Hyper {
    /// Log likelihood of the data of each output, with its gradient.
    pub fn log_likelihood(&self, family: Family, data: &[Data]) -> Result<LogLikelihood> {
        let rows = Rows::new(self.outputs(), data)?;
        let means: Vec<Mean> = self.means.iter().map(|mean| Mean::Fixed(*mean)).collect();
        Ok(Terms::new(&rows, family, self.clone(), &means)?.with_gradient())
    }
}

/// The data of all outputs as rows one after another.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    data: &'a [Data],
    points: Points,
    values: Vec<f64>,
    /// The rows of each output.
    blocks: Vec<Range<usize>>,
    /// The output of each row.
    outputs: Vec<usize>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(outputs: usize, data: &'a [Data]) -> Result<Self> {
        let mut points = Points::new(check_data(outputs, data)?);
        let (mut values, mut blocks, mut of) = (vec![], vec![], vec![]);
        for (k, rows) in data.iter().enumerate() {
            let start = values.len();
            rows.points().rows().try_for_each(|x| points.push(x))?;
            values.extend_from_slice(rows.values());
            blocks.push(start..values.len());
            of.resize(values.len(), k);
        }
        Ok(Self { data, points, values, blocks, outputs: of })
    }

    pub(super) fn dim(&self) -> usize {
        self.points.dim()
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    /// The rows of each output below row j.
    fn below(&self, j: usize) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let blocks = self.blocks.iter().enumerate();
        blocks.map(move |(k, block)| (k, block.start.max(j + 1)..block.end.max(j + 1)))
    }
}

/// A latent process over the pairs of rows i > j, ordered by j, then i.
struct Pairs {
    kernel: Kernel,
    inputs: Scaled,
    mixing: Matrix,
    distances: Vec<f64>,
    covariances: Vec<f64>,
    slopes: Vec<f64>,
}

impl Pairs {
    fn new(kernel: Kernel, latent: &Latent, rows: &Rows<'_>) -> Result<Self> {
        let inputs = kernel.scale(&rows.points)?;
        let distances = inputs.pair_distances();
        let (mut covariances, mut slopes) = (distances.clone(), vec![0.0; distances.len()]);
        kernel.family().values_and_slopes(1.0, &mut covariances, &mut slopes);
        Ok(Self { kernel, inputs, mixing: latent.mixing(), distances, covariances, slopes })
    }
}

/// The log likelihood with the intermediate results that its gradient needs.
pub(super) struct Terms<'a> {
    rows: &'a Rows<'a>,
    pub(super) hyper: Hyper,
    /// Without what replicates of known noise add.
    pub(super) value: f64,
    pairs: Vec<Pairs>,
    factor: Cholesky,
    alpha: Vec<f64>,
}

impl<'a> Terms<'a> {
    /// The likelihood at `hyper`, its fitted means replaced by the best ones.
    pub(super) fn new(
        rows: &'a Rows<'a>,
        family: Family,
        mut hyper: Hyper,
        means: &[Mean],
    ) -> Result<Self> {
        hyper.check()?;
        check_shape("prior means", rows.data.len(), means.len())?;
        for (data, &noise) in rows.data.iter().zip(&hyper.noises) {
            check_noise(noise, data)?;
        }
        let kernels = hyper.kernels(family, rows.dim())?.into_iter().zip(&hyper.latents);
        let pairs = kernels.map(|(kernel, latent)| Pairs::new(kernel, latent, rows));
        let pairs = pairs.collect::<Result<Vec<_>>>()?;
        let covariance = covariance(rows, &pairs, &hyper);
        let factor = Cholesky::with_jitter_unit(&covariance, jitter_unit(&hyper, rows.data))?;
        hyper.means = best_means(rows, &factor, means)?;
        let residuals: Vec<f64> =
            rows.values.iter().zip(&rows.outputs).map(|(y, &k)| y - hyper.means[k]).collect();
        let mut alpha = residuals.clone();
        factor.solve(&mut alpha);
        let replicates = rows.data.iter().zip(&hyper.noises);
        let value = -0.5
            * (dot(&residuals, &alpha)
                + factor.log_determinant()
                + rows.len() as f64 * LN_TAU
                + replicates.map(|(data, noise)| replicate_term(data, *noise)).sum::<f64>());
        Ok(Self { rows, hyper, value, pairs, factor, alpha })
    }

    /// What replicates of known noise add to the likelihood, whatever the hyper-parameters are.
    pub(super) fn known_replicates(&self) -> f64 {
        self.rows.data.iter().map(known_replicates).sum()
    }

    pub(super) fn with_gradient(mut self) -> LogLikelihood {
        let inverse = self.factor.inverse_lower();
        let diagonal = |i: usize| self.alpha[i].powi(2) - inverse.get(i, i);
        let diagonal: Vec<f64> = (0..self.rows.len()).map(diagonal).collect();
        let mut sums: Vec<Matrix> = vec![self.diagonal_sums(&diagonal); self.pairs.len()];
        let (mut start, mut weights) = (0, vec![0.0; self.rows.len()]);
        for j in 0..self.rows.len() {
            let below = weights.iter_mut().zip(&self.alpha).zip(inverse.col(j)).skip(j + 1);
            below.for_each(|((w, alpha), k)| *w = alpha * self.alpha[j] - k);
            for (pairs, sums) in self.pairs.iter_mut().zip(&mut sums) {
                add_column(self.rows, pairs, sums, Column { j, start, weights: &weights });
            }
            start += self.rows.len() - j - 1;
        }
        let latents = self.hyper.latents.iter().zip(&self.pairs).zip(&sums);
        let gradient = Hyper {
            latents: latents.map(|((latent, pairs), sums)| slopes(latent, pairs, sums)).collect(),
            noises: self.noise_gradient(&diagonal),
            means: self.rows.blocks.iter().map(|b| self.alpha[b.clone()].iter().sum()).collect(),
        };
        LogLikelihood { value: self.value + self.known_replicates(), gradient }
    }

    /// What the diagonal, where k_q = 1, adds to each G^q.
    fn diagonal_sums(&self, diagonal: &[f64]) -> Matrix {
        let mut sums = Matrix::zeros(self.rows.blocks.len(), self.rows.blocks.len());
        for (k, block) in self.rows.blocks.iter().enumerate() {
            sums.set(k, k, diagonal[block.clone()].iter().sum());
        }
        sums
    }

    fn noise_gradient(&self, diagonal: &[f64]) -> Vec<f64> {
        let outputs = self.rows.data.iter().zip(&self.rows.blocks).zip(&self.hyper.noises);
        let gradient = |((data, block), noise): ((&Data, &Range<usize>), &f64)| {
            let rows = diagonal[block.clone()].iter().zip(data.known_noise()).zip(data.counts());
            let shared = rows.filter(|((_, known), _)| known.is_none());
            0.5 * shared.map(|((w, _), count)| w / count).sum::<f64>()
                + replicate_derivative(data, *noise)
        };
        outputs.map(gradient).collect()
    }
}

/// Column j of W below the diagonal, and where it begins among the pairs.
struct Column<'a> {
    j: usize,
    start: usize,
    weights: &'a [f64],
}

/// Adds what a column of W adds to G^q, and multiplies the slopes of its pairs by W_ij B^q_ij.
fn add_column(rows: &Rows<'_>, pairs: &mut Pairs, sums: &mut Matrix, column: Column<'_>) {
    let Column { j, start, weights } = column;
    let own = rows.outputs[j];
    for (k, block) in rows.below(j).filter(|(_, block)| !block.is_empty()) {
        let here = start + block.start - j - 1..start + block.end - j - 1;
        let weights = &weights[block];
        let sum = dot(weights, &pairs.covariances[here.clone()]);
        sums.set(own, k, sums.get(own, k) + sum);
        sums.set(k, own, sums.get(k, own) + sum);
        let mixing = pairs.mixing.get(k, own);
        for (slope, w) in pairs.slopes[here].iter_mut().zip(weights) {
            *slope *= mixing * w;
        }
    }
}

/// Derivatives in what belongs to a latent process, from G^q and the weighted slopes.
fn slopes(latent: &Latent, pairs: &Pairs, sums: &Matrix) -> Latent {
    let outputs = latent.loadings.len();
    // ∂k/∂ℓ_d = −2 dk/dr² (z_id − z_jd)²/ℓ_d; a pair counts twice.
    let lengthscales = match latent.lengthscales.as_slice() {
        [shared] => vec![-2.0 * dot(&pairs.slopes, &pairs.distances) / shared],
        each => {
            let sum = |d: usize| pairs.inputs.weighted_pair_squares(d, &pairs.slopes);
            let scales = pairs.kernel.inverse_lengthscales();
            (0..each.len()).map(|d| -2.0 * sum(d) * scales[d]).collect()
        }
    };
    Latent {
        lengthscales,
        loadings: (0..outputs).map(|k| dot(sums.col(k), &latent.loadings)).collect(),
        own: (0..outputs).map(|k| 0.5 * sums.get(k, k)).collect(),
    }
}

/// The lower triangle of K, noise included.
fn covariance(rows: &Rows<'_>, pairs: &[Pairs], hyper: &Hyper) -> Matrix {
    let n = rows.len();
    let mut covariance = Matrix::zeros(n, n);
    let mut start = 0;
    for j in 0..n {
        let own = rows.outputs[j];
        let column = covariance.col_mut(j);
        for latent in pairs {
            for (k, block) in rows.below(j) {
                let here = start + block.start - j - 1..start + block.end - j - 1;
                let mixing = latent.mixing.get(k, own);
                add_multiple(&mut column[block], mixing, &latent.covariances[here]);
            }
        }
        let noise = rows.data[own].noise(j - rows.blocks[own].start, hyper.noises[own]);
        column[j] = hyper.outputscale(own) + noise;
        start += n - j - 1;
    }
    covariance
}

/// Given means, and for the others those of the largest likelihood: HᵀK⁻¹H m = HᵀK⁻¹y, H the
/// indicators of the outputs. Where an output has no rows its mean is 0.
fn best_means(rows: &Rows<'_>, factor: &Cholesky, means: &[Mean]) -> Result<Vec<f64>> {
    let given = |mean: &Mean| match mean {
        Mean::Fixed(mean) => *mean,
        Mean::Fitted => 0.0,
    };
    let mut found: Vec<f64> = means.iter().map(given).collect();
    let fitted: Vec<usize> = (0..means.len())
        .filter(|&k| means[k] == Mean::Fitted && !rows.blocks[k].is_empty())
        .collect();
    if fitted.is_empty() {
        return Ok(found);
    }
    let mut rest: Vec<f64> =
        rows.values.iter().zip(&rows.outputs).map(|(y, &k)| y - found[k]).collect();
    factor.solve_lower(&mut rest);
    let mut indicators = Matrix::zeros(rows.len(), fitted.len());
    for (column, &k) in fitted.iter().enumerate() {
        indicators.col_mut(column)[rows.blocks[k].clone()].fill(1.0);
    }
    factor.solve_lower_many(&mut indicators);
    let mut normal = Matrix::zeros(fitted.len(), fitted.len());
    for i in 0..fitted.len() {
        for j in 0..=i {
            normal.set(i, j, dot(indicators.col(i), indicators.col(j)));
        }
    }
    let mut right: Vec<f64> = (0..fitted.len()).map(|i| dot(indicators.col(i), &rest)).collect();
    Cholesky::new(&normal)?.solve(&mut right);
    for (&k, mean) in fitted.iter().zip(right) {
        found[k] = mean;
    }
    Ok(found)
}
