//! Hyper-parameters by maximum a posteriori.
//!
//! Maximises log p(y | X, θ) + log p(θ) over length scales, output scale (a variance), noise
//! variance and prior mean. Each prior is a density of the hyper-parameter itself; the optimiser
//! works with logarithms, without a Jacobian. A fitted mean is not searched for: given the rest,
//! the best constant is (1ᵀK⁻¹y)/(1ᵀK⁻¹1), and it is put in exactly.
//!
//! Rows whose noise variance is known do not depend on the fitted one. Where no row does, there is
//! nothing to fit: one more observation is then taken to be as noisy as the median of those there
//! are, within the bounds of the search.
//!
//! Meant for inputs in the unit cube and standardised outputs; the search is bounded accordingly.

use crate::data::{Data, LN_TAU, Replicates};
use crate::error::{Error, Result, check_positive, check_shape};
use crate::gamma::Gamma;
use crate::gp::{self, Gp};
use crate::kernel::{Family, Kernel, Scaled};
use crate::linalg::{Cholesky, Inverse, Matrix};
use crate::optimize::{self, Bounds, Optimum, Stopping};
use crate::points::Points;
use crate::prior::Prior;
use crate::simd::dot;
use crate::sobol;
use std::borrow::Cow;

/// Whether inputs share a length scale.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Lengthscales {
    /// One for all inputs.
    #[default]
    Isotropic,
    /// One for each input (automatic relevance determination), each with the same prior.
    PerInput,
    /// One for each group of inputs: for each input the number of its group, counted from 0 in the
    /// order in which groups appear. Priors are of groups. Hyper-parameters have one length scale per
    /// input, those of a group being equal.
    Grouped(Vec<usize>),
}

impl Lengthscales {
    /// Fails unless groups are as they should be for `dim` inputs.
    fn check(&self, dim: usize) -> Result<()> {
        let Self::Grouped(groups) = self else { return Ok(()) };
        check_shape("groups of inputs", dim, groups.len())?;
        let mut count = 0;
        for &group in groups {
            if group > count {
                let must = "that of an earlier input, or the next number";
                let value = group as f64;
                return Err(Error::OutOfRange { what: "group of an input", value, must });
            }
            count = count.max(group + 1);
        }
        Ok(())
    }

    /// How many are searched for.
    pub(crate) fn free_count(&self, dim: usize) -> usize {
        match self {
            Self::Isotropic => 1,
            Self::PerInput => dim,
            Self::Grouped(groups) => groups.iter().max().map_or(0, |last| last + 1),
        }
    }

    /// Those that are searched for, of all.
    pub(crate) fn free<'a>(&self, all: &'a [f64]) -> Cow<'a, [f64]> {
        let Self::Grouped(groups) = self else { return Cow::Borrowed(all) };
        let mut free = vec![];
        for (group, value) in groups.iter().zip(all) {
            if *group == free.len() {
                free.push(*value);
            }
        }
        Cow::Owned(free)
    }

    /// All, from those that are searched for.
    pub(crate) fn all(&self, free: Vec<f64>) -> Vec<f64> {
        match self {
            Self::Grouped(groups) => groups.iter().map(|group| free[*group]).collect(),
            _ => free,
        }
    }

    /// Derivatives in those that are searched for, from derivatives in all: sums over the groups.
    pub(crate) fn summed(&self, slopes: &[f64]) -> Vec<f64> {
        let Self::Grouped(groups) = self else { return slopes.to_vec() };
        let mut sums = vec![0.0; self.free_count(groups.len())];
        groups.iter().zip(slopes).for_each(|(group, slope)| sums[*group] += slope);
        sums
    }
}

/// What is known of the observation noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Its variance.
    Fixed(f64),
    /// Only that its variance is at least `lower`, and perhaps a prior.
    Fitted {
        /// Prior of the variance.
        prior: Option<Gamma>,
        /// Smallest admissible variance.
        lower: f64,
    },
}

/// What is known of the prior mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mean {
    /// Its value.
    Fixed(f64),
    /// Nothing: a flat prior.
    Fitted,
}

/// A Gaussian process before its hyper-parameters are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Shape of the covariance function.
    pub family: Family,
    /// Shared length scale, or one per input.
    pub lengthscales: Lengthscales,
    /// Prior of each length scale, or of their geometric mean where they have a spread.
    pub lengthscale_prior: Option<Prior>,
    /// How far apart length scales of different inputs are expected to be, as the standard deviation
    /// of their logarithms; none where what is known of one says nothing of the others.
    pub lengthscale_spread: Option<f64>,
    /// Prior of the output scale.
    pub outputscale_prior: Option<Gamma>,
    /// Observation noise.
    pub noise: Noise,
    /// Prior mean.
    pub mean: Mean,
}

/// Values of all hyper-parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyper {
    /// One, or one per input.
    pub lengthscales: Vec<f64>,
    /// Prior variance of the function.
    pub outputscale: f64,
    /// Variance of one observation's noise.
    pub noise: f64,
    /// Prior mean of the function.
    pub mean: f64,
}

impl Hyper {
    /// The Gaussian process with these hyper-parameters, conditioned on `data`.
    pub fn condition(&self, family: Family, data: &Data) -> Result<Gp> {
        Gp::new(self.kernel(family, data.points().dim())?, self.mean, self.noise, data)
    }

    fn kernel(&self, family: Family, dim: usize) -> Result<Kernel> {
        Kernel::new(family, dim, &self.lengthscales, self.outputscale)
    }
}

/// The logarithm of the posterior density at given hyper-parameters, and its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct LogPosterior {
    /// log p(y | X, θ).
    pub likelihood: f64,
    /// log p(θ).
    pub prior: f64,
    /// Derivatives of the sum in each hyper-parameter, in the shape of the hyper-parameters. Of length
    /// scales in groups, those of a group are to be summed.
    pub gradient: Hyper,
}

impl LogPosterior {
    /// Likelihood plus prior.
    pub fn value(&self) -> f64 {
        self.likelihood + self.prior
    }
}

/// The most probable hyper-parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Where the posterior density is largest.
    pub hyper: Hyper,
    /// Its logarithm there.
    pub log_posterior: f64,
}

/// Search effort of [`Model::fit`].
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Points at which the posterior is looked at first.
    pub raw: usize,
    /// How many of them to climb from.
    pub restarts: usize,
    /// When a climb ends.
    pub stopping: Stopping,
    /// Seed of the raw points.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        let stopping = Stopping { iterations: 100, gradient: 1e-5, gain: 1e-10 };
        Self { raw: 24, restarts: 3, stopping, seed: 0 }
    }
}

/// Widest range of hyper-parameters that the search considers.
pub(crate) const LENGTHSCALE_RANGE: [f64; 2] = [1e-3, 1e3];
pub(crate) const OUTPUTSCALE_RANGE: [f64; 2] = [1e-4, 1e4];
pub(crate) const LARGEST_NOISE: f64 = 1e3;

/// With more rows a search begins with so many of them.
const MOST_SCREENED: usize = 160;
const SCREENED: usize = 100;

/// When a climb on a part of the rows ends: it is a start for another.
const ROUGHLY: Stopping = Stopping { iterations: 40, gradient: 1e-2, gain: 1e-6 };

/// Tops whose hyper-parameters differ by less than this factor are the same, e^0.1.
const NEAR: f64 = 0.1;

/// A top of a part of the data is passed over if by all of them it is so much less probable than the
/// best, in logarithms: the few steps that are left do not make that good.
const LIKELY: f64 = 20.0;

impl Model {
    /// Log posterior density and its gradient at `hyper`.
    ///
    /// A fitted mean is taken at its best value given the rest, whatever `hyper` holds.
    pub fn log_posterior(&self, data: &Data, hyper: &Hyper) -> Result<LogPosterior> {
        self.check_lengthscales(data, hyper)?;
        check_noise(hyper.noise, data)?;
        let mut work = Work::default();
        let terms = Terms::new(self, data, hyper.clone(), (Wanted::Gradient, &mut work))?;
        terms.with_gradient(self, data)
    }

    /// Finds the most probable hyper-parameters.
    ///
    /// Climbs from `warm` (the last fit, if there is one) and from the best of a few raw points;
    /// deterministic, whatever the number of threads.
    ///
    /// ```
    /// use unyoke_math::{Points, data::Data, gamma::Gamma, kernel::Family};
    /// use unyoke_math::fit::{Lengthscales, Mean, Model, Noise, Search};
    ///
    /// let points = Points::from_rows(1, (0..9).map(|i| [i as f64 / 8.0]))?;
    /// let values: Vec<f64> = points.rows().map(|x| (6.0 * x[0]).sin()).collect();
    /// let model = Model {
    ///     family: Family::Matern52,
    ///     lengthscales: Lengthscales::Isotropic,
    ///     lengthscale_prior: Some(Gamma::new(3.0, 6.0)?.into()),
    ///     lengthscale_spread: None,
    ///     outputscale_prior: Some(Gamma::new(2.0, 0.15)?),
    ///     noise: Noise::Fixed(1e-4),
    ///     mean: Mean::Fitted,
    /// };
    /// let data = Data::new(&points, &values)?;
    /// let fit = model.fit(&data, None, &Search::default())?;
    /// let gp = fit.hyper.condition(model.family, &data)?;
    /// assert!((gp.predict(&[0.3])?.mean - (1.8f64).sin()).abs() < 0.02);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn fit(&self, data: &Data, warm: Option<&Hyper>, search: &Search) -> Result<Fit> {
        match self.typical_noise(data) {
            Some(noise) => {
                let model = Self { noise: Noise::Fixed(noise), ..self.clone() };
                model.fit_searched(data, warm, search)
            }
            None => self.fit_searched(data, warm, search),
        }
    }

    /// The noise variance to take where it is to be fitted and no observation depends on it.
    pub(crate) fn typical_noise(&self, data: &Data) -> Option<f64> {
        match self.noise {
            Noise::Fitted { lower, .. } if data.all_known() => {
                let typical = data.typical_known_noise()?;
                Some(typical.min(LARGEST_NOISE).max(lower))
            }
            _ => None,
        }
    }

    fn fit_searched(&self, data: &Data, warm: Option<&Hyper>, search: &Search) -> Result<Fit> {
        if let Noise::Fixed(noise) = self.noise {
            check_noise(noise, data)?;
        }
        let space = LogSpace::new(self, data.points().dim())?;
        let starts = match data.len() > MOST_SCREENED {
            true => self.screened_starts(&space, data, warm, search)?,
            false => self.raw_starts(&space, data, warm, search)?,
        };
        let optima = self.climb_each(&space, data, &starts, &search.stopping)?;
        let theta = optimize::best(optima).map_or_else(Vec::new, |optimum| optimum.x);
        let mut work = Work::default();
        let all = (Wanted::Value, &mut work);
        let terms = Terms::new(self, data, space.hyper(&theta, self), all)?;
        let log_posterior = terms.value() + known_replicates(data);
        Ok(Fit { log_posterior, hyper: terms.hyper })
    }

    /// The warm start, and the best of some raw points.
    fn raw_starts(
        &self,
        space: &LogSpace,
        data: &Data,
        warm: Option<&Hyper>,
        search: &Search,
    ) -> Result<Points> {
        let raw = space.raw_points(self, search)?;
        let mut work = Work::default();
        let value = |theta: &[f64]| self.value(space, data, theta, &mut work);
        let values: Vec<f64> = raw.rows().map(value).collect();
        let mut starts = Points::new(raw.dim());
        if let Some(warm) = warm {
            starts.push(&space.theta(warm, self))?;
        }
        for i in optimize::largest(&values, search.restarts.max(1)) {
            starts.push(raw.row(i))?;
        }
        Ok(starts)
    }

    /// Where climbs on a part of the data ended, those that all data do not rule out, the best first.
    ///
    /// A climb takes the cube of the number of rows at each step. A part of them, evenly spread, has the
    /// same hills, and their tops are close to those of all data: few steps are left from there.
    fn screened_starts(
        &self,
        space: &LogSpace,
        data: &Data,
        warm: Option<&Hyper>,
        search: &Search,
    ) -> Result<Points> {
        let every: Vec<usize> = (0..SCREENED).map(|i| i * data.len() / SCREENED).collect();
        let part = data.subset(&every);
        let starts = self.raw_starts(space, &part, warm, search)?;
        let mut tops = Points::new(starts.dim());
        for top in self.climb_each(space, &part, &starts, &ROUGHLY)? {
            let is_near =
                |other: &[f64]| other.iter().zip(&top.x).all(|(a, b)| (a - b).abs() < NEAR);
            if !tops.rows().any(is_near) {
                tops.push(&top.x)?;
            }
        }
        let mut work = Work::default();
        let value = |theta: &[f64]| self.value(space, data, theta, &mut work);
        let values: Vec<f64> = tops.rows().map(value).collect();
        let order = optimize::largest(&values, tops.len());
        let best = order.first().map_or(f64::NAN, |first| values[*first]);
        let is_likely = |i: &usize| *i == order[0] || values[*i] > best - LIKELY;
        Ok(tops.select(&order.iter().copied().filter(is_likely).collect::<Vec<_>>()))
    }

    fn climb_each(
        &self,
        space: &LogSpace,
        data: &Data,
        starts: &Points,
        stopping: &Stopping,
    ) -> Result<Vec<Optimum>> {
        let objective = || {
            let mut work = Work::default();
            move |theta: &[f64], gradient: &mut [f64]| {
                let found = self.log_space_gradient(data, space, theta, gradient, &mut work);
                found.unwrap_or(f64::NAN)
            }
        };
        optimize::maximize_each(objective, starts, &space.bounds, stopping)
    }

    /// The log posterior; not a number where there is none.
    fn value(&self, space: &LogSpace, data: &Data, theta: &[f64], work: &mut Work) -> f64 {
        let terms = Terms::new(self, data, space.hyper(theta, self), (Wanted::Value, work));
        terms.map_or(f64::NAN, |terms| terms.value())
    }

    fn log_space_gradient(
        &self,
        data: &Data,
        space: &LogSpace,
        theta: &[f64],
        gradient: &mut [f64],
        work: &mut Work,
    ) -> Result<f64> {
        let all = (Wanted::Gradient, work);
        let terms = Terms::new(self, data, space.hyper(theta, self), all)?;
        let (hyper, value) = (terms.hyper.clone(), terms.value());
        let posterior = terms.with_gradient(self, data)?;
        // d/dlog θ = θ d/dθ.
        let mut slopes = posterior.gradient;
        let summed = space.kind.summed(&slopes.lengthscales);
        slopes.lengthscales = space.kind.all(summed);
        let derivatives = space.flatten(&slopes);
        for ((g, slope), at) in gradient.iter_mut().zip(derivatives).zip(space.flatten(&hyper)) {
            *g = slope * at;
        }
        Ok(value)
    }

    fn check_lengthscales(&self, data: &Data, hyper: &Hyper) -> Result<()> {
        self.lengthscales.check(data.points().dim())?;
        let expected = self.lengthscale_count(data.points().dim());
        check_shape("length scales", expected, hyper.lengthscales.len())
    }

    pub(crate) fn lengthscale_count(&self, dim: usize) -> usize {
        match self.lengthscales {
            Lengthscales::Isotropic => 1,
            Lengthscales::PerInput | Lengthscales::Grouped(_) => dim,
        }
    }

    /// Log prior of the length scales.
    pub(crate) fn lengthscale_log_prior(&self, lengthscales: &[f64]) -> f64 {
        let Some(prior) = self.lengthscale_prior else { return 0.0 };
        let lengthscales = &self.lengthscales.free(lengthscales);
        let Some(spread) = self.lengthscale_spread else {
            return lengthscales.iter().map(|&l| prior.log_density(l)).sum();
        };
        let middle = mean_log(lengthscales);
        let apart = lengthscales.iter().map(|l| (l.ln() - middle).powi(2)).sum::<f64>();
        prior.log_density(middle.exp()) - 0.5 * apart / (spread * spread)
    }

    /// Adds the derivatives of that to `gradient`.
    pub(crate) fn add_lengthscale_prior(&self, lengthscales: &[f64], gradient: &mut [f64]) {
        let Some(prior) = self.lengthscale_prior else { return };
        if let Lengthscales::Grouped(groups) = &self.lengthscales {
            // Each group counts once: its first input stands for it.
            let free = self.lengthscales.free(lengthscales);
            let mut slopes = vec![0.0; free.len()];
            let own = Self { lengthscales: Lengthscales::PerInput, ..self.clone() };
            own.add_lengthscale_prior(&free, &mut slopes);
            let mut slopes = slopes.into_iter().enumerate().peekable();
            for (g, group) in gradient.iter_mut().zip(groups) {
                if let Some((_, slope)) = slopes.next_if(|(next, _)| next == group) {
                    *g += slope;
                }
            }
            return;
        }
        let Some(spread) = self.lengthscale_spread else {
            let at = lengthscales.iter().map(|&l| prior.log_density_derivative(l));
            return gradient.iter_mut().zip(at).for_each(|(g, slope)| *g += slope);
        };
        let middle = mean_log(lengthscales);
        let shared = prior.log_density_derivative(middle.exp()) * middle.exp();
        let count = lengthscales.len() as f64;
        for (g, l) in gradient.iter_mut().zip(lengthscales) {
            *g += (shared / count - (l.ln() - middle) / (spread * spread)) / l;
        }
    }

    /// Σ log p over the hyper-parameters that have a prior.
    fn log_prior(&self, hyper: &Hyper) -> f64 {
        let density =
            |prior: Option<Prior>, value: f64| prior.map_or(0.0, |p| p.log_density(value));
        self.lengthscale_log_prior(&hyper.lengthscales)
            + density(self.outputscale_prior.map(Prior::from), hyper.outputscale)
            + density(self.noise_prior().map(Prior::from), hyper.noise)
    }

    pub(crate) fn noise_prior(&self) -> Option<Gamma> {
        match self.noise {
            Noise::Fixed(_) => None,
            Noise::Fitted { prior, .. } => prior,
        }
    }
}

/// What is computed of a likelihood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its value.
    Value,
    /// Its gradient too.
    Gradient,
}

/// What evaluations of a likelihood compute, in memory that the next one uses again: getting so much from
/// the system each time takes longer than filling it.
#[derive(Default)]
struct Work {
    /// Of the pairs of rows i > j, ordered by j, then i: distances where there is one length scale,
    /// covariances, and their slopes where gradients are wanted.
    distances: Vec<f64>,
    covariances: Vec<f64>,
    slopes: Vec<f64>,
    matrix: Matrix,
    factor: Cholesky,
    inverse: Inverse,
    alpha: Vec<f64>,
}

/// The log likelihood with the intermediate results that its gradient needs.
struct Terms<'a> {
    hyper: Hyper,
    prior: f64,
    /// Without [`known_replicates`].
    likelihood: f64,
    inputs: Scaled,
    kernel: Kernel,
    residuals: Vec<f64>,
    work: &'a mut Work,
}

impl<'a> Terms<'a> {
    /// Likelihood and prior at `hyper`; a fitted mean is replaced by the best one.
    fn new(
        model: &Model,
        data: &Data,
        mut hyper: Hyper,
        (wanted, work): (Wanted, &'a mut Work),
    ) -> Result<Self> {
        let kernel = hyper.kernel(model.family, data.points().dim())?;
        let inputs = kernel.scale(data.points())?;
        work.fill(model.family, &inputs, &hyper, wanted);
        work.factorise(&hyper, data)?;
        let Work { factor, alpha, .. } = &mut *work;
        data.values().clone_into(alpha);
        factor.solve(alpha);
        if model.mean == Mean::Fitted && !data.is_empty() {
            let mut ones = vec![1.0; data.len()];
            factor.solve(&mut ones);
            hyper.mean = alpha.iter().sum::<f64>() / ones.iter().sum::<f64>();
        }
        let residuals: Vec<f64> = data.values().iter().map(|y| y - hyper.mean).collect();
        alpha.copy_from_slice(&residuals);
        factor.solve(alpha);
        let likelihood = -0.5
            * (dot(&residuals, alpha)
                + factor.log_determinant()
                + data.len() as f64 * LN_TAU
                + replicate_term(data, hyper.noise));
        let prior = model.log_prior(&hyper);
        Ok(Self { hyper, prior, likelihood, inputs, kernel, residuals, work })
    }

    fn value(&self) -> f64 {
        self.likelihood + self.prior
    }

    /// ∂/∂θ log p(y | X, θ) = ½ tr(W ∂K/∂θ) with W = α αᵀ − K⁻¹, plus the priors' derivatives.
    /// Only where it was wanted from the beginning.
    fn with_gradient(self, model: &Model, data: &Data) -> Result<LogPosterior> {
        let Hyper { outputscale, noise, .. } = self.hyper;
        let Work { distances, slopes, factor, inverse, alpha, .. } = &mut *self.work;
        let inverse = inverse.compute(factor);
        let (mut noise_trace, mut known_trace) = (0.0, 0.0);
        for (i, known) in data.known_noise().iter().enumerate() {
            let diagonal = alpha[i].powi(2) - inverse.get(i, i);
            match known {
                None => noise_trace += diagonal / data.counts()[i],
                Some(variance) => known_trace += diagonal * variance,
            }
        }
        // tr(W (K − noise)) needs no pass over the pairs: tr(W K) = rᵀα − n.
        let kernel_trace =
            dot(&self.residuals, alpha) - data.len() as f64 - noise * noise_trace - known_trace;
        weigh(slopes, alpha, inverse);
        let mut lengthscales = match self.hyper.lengthscales.as_slice() {
            [shared] => vec![-2.0 * dot(slopes, distances) / shared],
            each => {
                let sum = |d: usize| self.inputs.weighted_pair_squares(d, slopes);
                let scales = self.kernel.inverse_lengthscales();
                (0..each.len()).map(|d| -2.0 * sum(d) * scales[d]).collect()
            }
        };
        model.add_lengthscale_prior(&self.hyper.lengthscales, &mut lengthscales);
        let derivative =
            |prior: Option<Prior>, at: f64| prior.map_or(0.0, |p| p.log_density_derivative(at));
        let gradient = Hyper {
            lengthscales,
            outputscale: 0.5 * kernel_trace / outputscale
                + derivative(model.outputscale_prior.map(Prior::from), outputscale),
            noise: 0.5 * noise_trace
                + replicate_derivative(data, noise)
                + derivative(model.noise_prior().map(Prior::from), noise),
            mean: alpha.iter().sum(),
        };
        let likelihood = self.likelihood + known_replicates(data);
        Ok(LogPosterior { likelihood, prior: self.prior, gradient })
    }
}

impl Work {
    fn fill(&mut self, family: Family, inputs: &Scaled, hyper: &Hyper, wanted: Wanted) {
        let Self { distances, covariances, slopes, .. } = self;
        inputs.pair_distances_into(covariances);
        match wanted {
            Wanted::Value => family.values(hyper.outputscale, covariances),
            Wanted::Gradient => {
                if hyper.lengthscales.len() == 1 {
                    distances.clone_from(covariances);
                }
                slopes.resize(covariances.len(), 0.0);
                family.values_and_slopes(hyper.outputscale, covariances, slopes);
            }
        }
    }

    /// The factor of K = k(X, X) + the noise of each row, from the covariances of the pairs.
    fn factorise(&mut self, hyper: &Hyper, data: &Data) -> Result<()> {
        let n = data.len();
        self.matrix.reshape(n, n);
        let mut rest = &self.covariances[..];
        for j in 0..n {
            let (column, tail) = rest.split_at(n - j - 1);
            let target = &mut self.matrix.col_mut(j)[j..];
            target[0] = hyper.outputscale + data.noise(j, hyper.noise);
            target[1..].copy_from_slice(column);
            rest = tail;
        }
        let unit = gp::jitter_unit(&self.matrix, hyper.outputscale, data);
        self.factor.replace(&self.matrix, unit)
    }
}

/// Multiplies the slope of each pair by W_ij, so that their sums are ½ tr(W ∂K/∂ℓ): a pair counts twice,
/// and ∂k/∂ℓ_d = −2 dk/dr² (z_id − z_jd)²/ℓ_d.
fn weigh(slopes: &mut [f64], alpha: &[f64], inverse: &Matrix) {
    let n = alpha.len();
    let mut rest = slopes;
    for j in 0..n {
        let (column, tail) = rest.split_at_mut(n - j - 1);
        let below = alpha[j + 1..].iter().zip(&inverse.col(j)[j + 1..]);
        for (slope, (a, k)) in column.iter_mut().zip(below) {
            *slope *= a * alpha[j] - k;
        }
        rest = tail;
    }
}

/// Logarithm of the geometric mean.
fn mean_log(values: &[f64]) -> f64 {
    values.iter().map(|v| v.ln()).sum::<f64>() / values.len().max(1) as f64
}

/// Noise may be zero only where no point was observed twice.
pub(crate) fn check_noise(value: f64, data: &Data) -> Result<()> {
    let repeated = data.replicates().extra > 0.0;
    if value.is_finite() && (value > 0.0 || (value == 0.0 && !repeated)) {
        return Ok(());
    }
    let must = "finite and not negative, and positive where a point was observed twice";
    Err(Error::OutOfRange { what: "noise variance", value, must })
}

/// What replicates add to −2 log likelihood beyond that of their means:
/// Σ ((c − 1) ln 2πσ² + ln c) + scatter/σ².
pub(crate) fn replicate_term(data: &Data, noise: f64) -> f64 {
    let Replicates { extra, log_counts, scatter, .. } = data.replicates();
    if extra == 0.0 {
        return 0.0;
    }
    extra * (LN_TAU + noise.ln()) + log_counts + scatter / noise
}

/// Derivative of −½ [`replicate_term`] in the noise variance.
pub(crate) fn replicate_derivative(data: &Data, noise: f64) -> f64 {
    let Replicates { extra, scatter, .. } = data.replicates();
    if extra == 0.0 { 0.0 } else { -0.5 * (extra / noise - scatter / (noise * noise)) }
}

/// What replicates of known noise add to the log likelihood. No hyper-parameter changes it, and it
/// may be so large that a search would see nothing else, so that the search leaves it out.
pub(crate) fn known_replicates(data: &Data) -> f64 {
    -0.5 * data.replicates().known
}

/// The coordinates of the search: logarithms of what is to be found.
struct LogSpace {
    kind: Lengthscales,
    lengthscales: usize,
    noise_fitted: bool,
    bounds: Bounds,
}

impl LogSpace {
    fn new(model: &Model, dim: usize) -> Result<Self> {
        model.lengthscales.check(dim)?;
        let (kind, lengthscales) = (model.lengthscales.clone(), model.lengthscales.free_count(dim));
        let mut ranges = vec![LENGTHSCALE_RANGE; lengthscales];
        ranges.push(OUTPUTSCALE_RANGE);
        let noise_fitted = match model.noise {
            Noise::Fixed(_) => false,
            Noise::Fitted { lower, .. } => {
                check_positive("lower bound of the noise variance", lower)?;
                ranges.push([lower, lower.max(LARGEST_NOISE)]);
                true
            }
        };
        let end = |e: usize| ranges.iter().map(|range| range[e].ln()).collect();
        Ok(Self { kind, lengthscales, noise_fitted, bounds: Bounds::new(end(0), end(1))? })
    }

    /// The searched hyper-parameters in order.
    fn flatten(&self, hyper: &Hyper) -> Vec<f64> {
        let mut flat = self.kind.free(&hyper.lengthscales).into_owned();
        flat.push(hyper.outputscale);
        if self.noise_fitted {
            flat.push(hyper.noise);
        }
        flat
    }

    fn theta(&self, hyper: &Hyper, model: &Model) -> Vec<f64> {
        let mut hyper = hyper.clone();
        // A warm start may come from a model with the other kind of length scales.
        if self.kind.free(&hyper.lengthscales).len() != self.lengthscales {
            let logs = hyper.lengthscales.iter().map(|l| l.ln()).sum::<f64>();
            let mean = (logs / hyper.lengthscales.len().max(1) as f64).exp();
            hyper.lengthscales = self.kind.all(vec![mean; self.lengthscales]);
        }
        if let Noise::Fitted { lower, .. } = model.noise {
            hyper.noise = hyper.noise.max(lower);
        }
        self.bounds.clamp(&self.flatten(&hyper).iter().map(|v| v.ln()).collect::<Vec<_>>())
    }

    fn hyper(&self, theta: &[f64], model: &Model) -> Hyper {
        let noise = match model.noise {
            Noise::Fixed(noise) => noise,
            // exp(ln v) may fall a bit short of v.
            Noise::Fitted { lower, .. } => theta[self.lengthscales + 1].exp().max(lower),
        };
        let mean = match model.mean {
            Mean::Fixed(mean) => mean,
            Mean::Fitted => 0.0,
        };
        Hyper {
            lengthscales: self
                .kind
                .all(theta[..self.lengthscales].iter().map(|t| t.exp()).collect()),
            outputscale: theta[self.lengthscales].exp(),
            noise,
            mean,
        }
    }

    /// Sobol' points over the plausible part of the space; with a length scale per input, every
    /// other point has all of them equal.
    fn raw_points(&self, model: &Model, search: &Search) -> Result<Points> {
        let center = model.lengthscale_prior.map_or(0.5, |prior| prior.typical());
        let mut ranges = vec![[center / 8.0, center * 4.0]; self.lengthscales];
        ranges.push([0.2, 20.0]);
        if let Noise::Fitted { lower, .. } = model.noise {
            ranges.push([lower, lower.max(1.0)]);
        }
        let mut raw = sobol::cube(ranges.len(), search.raw.max(1), search.seed)?;
        for i in 0..raw.len() {
            let row = raw.row_mut(i);
            for (u, [low, high]) in row.iter_mut().zip(&ranges) {
                *u = low.ln() + *u * (high / low).ln();
            }
            if i % 2 == 0 {
                let first = row[0];
                row[..self.lengthscales].fill(first);
            }
        }
        Points::from_rows(raw.dim(), raw.rows().map(|row| self.bounds.clamp(row)))
    }
}
