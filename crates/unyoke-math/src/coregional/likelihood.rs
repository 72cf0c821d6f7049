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
use crate::fit::{
    Mean, Wanted, check_noise, known_replicates, replicate_derivative, replicate_term,
};
use crate::kernel::{Family, Kernel, Scaled};
use crate::linalg::{Cholesky, Inverse, Matrix};
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
        let mut work = Work::default();
        let all = (Wanted::Gradient, &mut work);
        Ok(Terms::new(&rows, family, self.clone(), &means, all)?.with_gradient())
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

/// What evaluations of a likelihood compute, in memory that the next one uses again: getting so much from
/// the system each time takes longer than filling it.
#[derive(Default)]
pub(super) struct Work {
    latents: Vec<Pairs>,
    covariance: Matrix,
    factor: Cholesky,
    inverse: Inverse,
    alpha: Vec<f64>,
    weights: Vec<f64>,
}

/// The pairs of rows i > j in the eyes of a latent process, ordered by j, then i.
#[derive(Default)]
struct Pairs {
    /// Where there is one length scale.
    distances: Vec<f64>,
    covariances: Vec<f64>,
    /// Where gradients are wanted.
    slopes: Vec<f64>,
}

impl Pairs {
    fn fill(&mut self, latent: &Process, wanted: Wanted) {
        latent.inputs.pair_distances_into(&mut self.covariances);
        let family = latent.kernel.family();
        match wanted {
            Wanted::Value => family.values(1.0, &mut self.covariances),
            Wanted::Gradient => {
                if latent.shares_lengthscale {
                    self.distances.clone_from(&self.covariances);
                }
                self.slopes.resize(self.covariances.len(), 0.0);
                family.values_and_slopes(1.0, &mut self.covariances, &mut self.slopes);
            }
        }
    }
}

/// A latent process and the rows in units of its length scales.
struct Process {
    kernel: Kernel,
    inputs: Scaled,
    mixing: Matrix,
    shares_lengthscale: bool,
}

impl Process {
    fn new(kernel: Kernel, latent: &Latent, rows: &Rows<'_>) -> Result<Self> {
        let inputs = kernel.scale(&rows.points)?;
        let shares_lengthscale = latent.lengthscales.len() == 1;
        Ok(Self { kernel, inputs, mixing: latent.mixing(), shares_lengthscale })
    }
}

/// The log likelihood with the intermediate results that its gradient needs.
pub(super) struct Terms<'a> {
    rows: &'a Rows<'a>,
    pub(super) hyper: Hyper,
    /// Without what replicates of known noise add.
    pub(super) value: f64,
    processes: Vec<Process>,
    work: &'a mut Work,
}

impl<'a> Terms<'a> {
    /// The likelihood at `hyper`, its fitted means replaced by the best ones.
    pub(super) fn new(
        rows: &'a Rows<'a>,
        family: Family,
        mut hyper: Hyper,
        means: &[Mean],
        (wanted, work): (Wanted, &'a mut Work),
    ) -> Result<Self> {
        hyper.check()?;
        check_shape("prior means", rows.data.len(), means.len())?;
        for (data, &noise) in rows.data.iter().zip(&hyper.noises) {
            check_noise(noise, data)?;
        }
        let kernels = hyper.kernels(family, rows.dim())?.into_iter().zip(&hyper.latents);
        let processes = kernels.map(|(kernel, latent)| Process::new(kernel, latent, rows));
        let processes = processes.collect::<Result<Vec<_>>>()?;
        work.latents.resize_with(processes.len(), Pairs::default);
        for (process, pairs) in processes.iter().zip(&mut work.latents) {
            pairs.fill(process, wanted);
        }
        fill_covariance(rows, &processes, &hyper, work);
        let Work { covariance, factor, alpha, .. } = &mut *work;
        factor.replace(covariance, jitter_unit(&hyper, rows.data))?;
        hyper.means = best_means(rows, factor, means)?;
        let residuals: Vec<f64> =
            rows.values.iter().zip(&rows.outputs).map(|(y, &k)| y - hyper.means[k]).collect();
        alpha.clone_from(&residuals);
        factor.solve(alpha);
        let replicates = rows.data.iter().zip(&hyper.noises);
        let value = -0.5
            * (dot(&residuals, alpha)
                + factor.log_determinant()
                + rows.len() as f64 * LN_TAU
                + replicates.map(|(data, noise)| replicate_term(data, *noise)).sum::<f64>());
        Ok(Self { rows, hyper, value, processes, work })
    }

    /// What replicates of known noise add to the likelihood, whatever the hyper-parameters are.
    pub(super) fn known_replicates(&self) -> f64 {
        self.rows.data.iter().map(known_replicates).sum()
    }

    /// The gradient; only where it was wanted from the beginning.
    pub(super) fn with_gradient(self) -> LogLikelihood {
        let n = self.rows.len();
        let Work { latents, factor, inverse, alpha, weights, .. } = &mut *self.work;
        let inverse = inverse.compute(factor);
        let diagonal: Vec<f64> = (0..n).map(|i| alpha[i].powi(2) - inverse.get(i, i)).collect();
        let mut sums: Vec<Matrix> = vec![diagonal_sums(self.rows, &diagonal); latents.len()];
        let mut start = 0;
        weights.resize(n, 0.0);
        for j in 0..n {
            let below = weights.iter_mut().zip(&*alpha).zip(inverse.col(j)).skip(j + 1);
            below.for_each(|((w, a), k)| *w = a * alpha[j] - k);
            for ((process, pairs), sums) in self.processes.iter().zip(&mut *latents).zip(&mut sums)
            {
                let column = Column { j, start, weights };
                add_column(self.rows, &process.mixing, pairs, sums, column);
            }
            start += n - j - 1;
        }
        let noises = noise_gradient(self.rows, &self.hyper, &diagonal);
        let means = self.rows.blocks.iter().map(|b| alpha[b.clone()].iter().sum()).collect();
        let each = self.hyper.latents.iter().zip(&self.processes).zip(&*latents).zip(&sums);
        let slopes =
            each.map(|(((latent, process), pairs), sums)| slopes(latent, process, pairs, sums));
        let gradient = Hyper { latents: slopes.collect(), noises, means };
        LogLikelihood { value: self.value + self.known_replicates(), gradient }
    }
}

/// What the diagonal, where k_q = 1, adds to each G^q.
fn diagonal_sums(rows: &Rows<'_>, diagonal: &[f64]) -> Matrix {
    let mut sums = Matrix::zeros(rows.blocks.len(), rows.blocks.len());
    for (k, block) in rows.blocks.iter().enumerate() {
        sums.set(k, k, diagonal[block.clone()].iter().sum());
    }
    sums
}

fn noise_gradient(rows: &Rows<'_>, hyper: &Hyper, diagonal: &[f64]) -> Vec<f64> {
    let outputs = rows.data.iter().zip(&rows.blocks).zip(&hyper.noises);
    let gradient = |((data, block), noise): ((&Data, &Range<usize>), &f64)| {
        let rows = diagonal[block.clone()].iter().zip(data.known_noise()).zip(data.counts());
        let shared = rows.filter(|((_, known), _)| known.is_none());
        0.5 * shared.map(|((w, _), count)| w / count).sum::<f64>()
            + replicate_derivative(data, *noise)
    };
    outputs.map(gradient).collect()
}

/// Column j of W below the diagonal, and where it begins among the pairs.
struct Column<'a> {
    j: usize,
    start: usize,
    weights: &'a [f64],
}

/// Adds what a column of W adds to G^q, and multiplies the slopes of its pairs by W_ij B^q_ij.
fn add_column(
    rows: &Rows<'_>,
    mixing: &Matrix,
    pairs: &mut Pairs,
    sums: &mut Matrix,
    column: Column<'_>,
) {
    let Column { j, start, weights } = column;
    let own = rows.outputs[j];
    for (k, block) in rows.below(j).filter(|(_, block)| !block.is_empty()) {
        let here = start + block.start - j - 1..start + block.end - j - 1;
        let weights = &weights[block];
        let sum = dot(weights, &pairs.covariances[here.clone()]);
        sums.set(own, k, sums.get(own, k) + sum);
        sums.set(k, own, sums.get(k, own) + sum);
        let mixing = mixing.get(k, own);
        for (slope, w) in pairs.slopes[here].iter_mut().zip(weights) {
            *slope *= mixing * w;
        }
    }
}

/// Derivatives in what belongs to a latent process, from G^q and the weighted slopes.
fn slopes(latent: &Latent, process: &Process, pairs: &Pairs, sums: &Matrix) -> Latent {
    let outputs = latent.loadings.len();
    // ∂k/∂ℓ_d = −2 dk/dr² (z_id − z_jd)²/ℓ_d; a pair counts twice.
    let lengthscales = match latent.lengthscales.as_slice() {
        [shared] => vec![-2.0 * dot(&pairs.slopes, &pairs.distances) / shared],
        each => {
            let sum = |d: usize| process.inputs.weighted_pair_squares(d, &pairs.slopes);
            let scales = process.kernel.inverse_lengthscales();
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
fn fill_covariance(rows: &Rows<'_>, processes: &[Process], hyper: &Hyper, work: &mut Work) {
    let Work { latents, covariance, .. } = work;
    let n = rows.len();
    covariance.reshape(n, n);
    let mut start = 0;
    for j in 0..n {
        let own = rows.outputs[j];
        let column = covariance.col_mut(j);
        column[j..].fill(0.0);
        for (process, pairs) in processes.iter().zip(&*latents) {
            for (k, block) in rows.below(j) {
                let here = start + block.start - j - 1..start + block.end - j - 1;
                let mixing = process.mixing.get(k, own);
                add_multiple(&mut column[block], mixing, &pairs.covariances[here]);
            }
        }
        let noise = rows.data[own].noise(j - rows.blocks[own].start, hyper.noises[own]);
        column[j] = hyper.outputscale(own) + noise;
        start += n - j - 1;
    }
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
