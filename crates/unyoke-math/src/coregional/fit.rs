//! Hyper-parameters of correlated outputs by maximum a posteriori, and whether to use them.
//!
//! Maximises log p(y | X, θ) + log p(θ) as [`crate::fit`] does for one output. Independent models
//! of the outputs are the special case a = 0 with one latent process per output, κ_qk = 0 for q ≠ k.
//! The prior is made so that **there it is the product of the priors of the independent models**.
//! Then the two log posteriors are comparable: their difference, [`Fit::gain`], is a penalised
//! log likelihood ratio of nested models, never negative where there are as many latent processes as
//! outputs. In detail, with s²_k = Σ_q (a_qk² + κ_qk) the prior variance of output k,
//!
//! - s²_k has the prior of the output scale, and noise and mean have those of the output alone;
//! - the length scales have the priors of the outputs that use them, each output with the part of its
//!   variance that it has from them: Σ_k Σ_q (a_qk² + κ_qk)/s²_k · log p_k(ℓ_q). An output pays for its
//!   length scales what it pays alone, whether it shares them or not; a latent process that nobody
//!   uses pays nothing, and sharing length scales is no gain by itself;
//! - the part o_k = Σ_q κ_qk/s²_k of its variance that an output has to itself has the density
//!   ∝ o^½ on (0, 1), relative to that at o = 1: weak, symmetric in the signs of loadings,
//!   largest at correlation 0, and zero at correlation ±1, where values of one output would leave
//!   nothing to learn about the other.
//!
//! What is more in this model, loadings and kernels with more than one set of length scales, has
//! density 1 at the independent models, not a normalised one. What this freedom has to be worth is the
//! [`MARGIN`]: correlations are believed where the gain exceeds it, and where the part of it that the
//! correlations make does ([`Fit::gain_by_correlation`]): outputs that vary on two scales gain from two
//! sets of length scales without being correlated. For one free parameter, twice the
//! gain is about χ² with one degree of freedom where there is no correlation, and exceeds 10 once in
//! 600 times; `docs/correlated.md` has how often it does, and what the choice is worth.

use super::likelihood::{Rows, Terms, Work};
use super::{Hyper, Latent, check_data};
use crate::data::Data;
use crate::error::{Error, Result, check_finite, check_positive, check_shape};
use crate::fit::{
    self, LARGEST_NOISE, LENGTHSCALE_RANGE, Lengthscales, Mean, Noise, OUTPUTSCALE_RANGE, Search,
    Wanted,
};
use crate::kernel::Family;
use crate::optimize::{self, Bounds, Optimum, Stopping};
use crate::points::Points;
use crate::prior;
use crate::sobol;

/// By how much the log posterior has to exceed that of independent models for correlations to be
/// believed.
pub const MARGIN: f64 = 5.0;

/// Below this, all values of an output say at most a quarter of another's variance: too little to rely
/// on a model with so many more hyper-parameters.
pub const LEAST_CORRELATION: f64 = 0.5;

/// Exponent of the prior of the part of its variance that an output has to itself.
const OWN_EXPONENT: f64 = 0.5;

/// Iterations after which only the best climbs go on, and how many of them.
const FIRST_ITERATIONS: usize = 20;
const FINALISTS: usize = 2;

/// Climbs end where rising so far as steeply as where they are would not make correlations believed. The
/// coordinates are logarithms and parts of variances, in which tops are nearer than this; where a climb
/// rests on its way to a large gain, slopes of 1 and more were seen.
const FARTHEST: f64 = 16.0;

/// Correlated outputs before their hyper-parameters are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Each output as it would be modelled alone. All have one family and one kind of length scales.
    pub outputs: Vec<fit::Model>,
    /// Number of latent processes.
    pub latents: usize,
}

/// The logarithm of the posterior density at given hyper-parameters, and its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct LogPosterior {
    /// log p(y | X, θ).
    pub likelihood: f64,
    /// log p(θ), relative as described in [`self`](crate::coregional::fit).
    pub prior: f64,
    /// Derivatives of the sum in each hyper-parameter, in the shape of the hyper-parameters.
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
    /// Where the posterior density is largest. The first loading of each latent process that is not
    /// zero is positive.
    pub hyper: Hyper,
    /// The logarithm of the density there.
    pub log_posterior: f64,
    /// By how much that is more than the sum of those of the independent fits.
    pub gain: f64,
    /// By how much it is more than that of the same kernels of each output without correlations: an
    /// output may also gain from being the sum of processes with different length scales.
    pub gain_by_correlation: f64,
}

impl Fit {
    /// Whether the data speak for correlations: both gains exceed [`MARGIN`], and some correlation is
    /// at least [`LEAST_CORRELATION`].
    pub fn is_preferred(&self) -> bool {
        let is_clear = self.gain.min(self.gain_by_correlation) > MARGIN;
        is_clear && self.strongest_correlation() >= LEAST_CORRELATION
    }

    /// The largest correlation of two outputs, whatever its sign.
    fn strongest_correlation(&self) -> f64 {
        let count = self.hyper.outputs();
        let pairs = (0..count).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs.map(|(i, j)| self.hyper.correlation(i, j).abs()).fold(0.0, f64::max)
    }
}

impl Model {
    /// Correlated outputs with as many latent processes as outputs, so two of two: the least number
    /// that has the independent models as a special case.
    pub fn new(outputs: Vec<fit::Model>) -> Self {
        let latents = outputs.len();
        Self { outputs, latents }
    }

    /// Log posterior density and its gradient at `hyper`.
    ///
    /// Fitted means are taken at their best values given the rest, whatever `hyper` holds. Fails where
    /// an output has no variance of its own, and so the density is zero.
    pub fn log_posterior(&self, data: &[Data], hyper: &Hyper) -> Result<LogPosterior> {
        let problem = Problem::new(self, data)?;
        problem.check(hyper)?;
        check_own(hyper)?;
        let mut work = Work::default();
        let terms = problem.terms(hyper, Wanted::Gradient, &mut work)?;
        let prior = problem.prior(&terms.hyper);
        let mut likelihood = terms.with_gradient();
        add(&mut likelihood.gradient, &prior.gradient);
        Ok(LogPosterior {
            likelihood: likelihood.value,
            prior: prior.value,
            gradient: likelihood.gradient,
        })
    }

    /// Finds the most probable hyper-parameters, given the fits of each output alone.
    ///
    /// Climbs from `warm` (the last fit, if there is one), from next to the independent fits, and
    /// from the best of guesses in which outputs share the length scales of one of them with
    /// correlations whose signs come from the data; deterministic, whatever the number of threads.
    /// Climbs end early where they do not lead to correlations that are believed: a fit that is not
    /// preferred may be less probable than the best one.
    ///
    /// ```
    /// use unyoke_math::{Points, data::Data, gamma::Gamma, kernel::Family};
    /// use unyoke_math::{coregional, fit::{Lengthscales, Mean, Model, Noise, Search}};
    ///
    /// let one = Model {
    ///     family: Family::Matern52,
    ///     lengthscales: Lengthscales::Isotropic,
    ///     lengthscale_prior: Some(Gamma::new(3.0, 6.0)?.into()),
    ///     lengthscale_spread: None,
    ///     outputscale_prior: Some(Gamma::new(2.0, 0.15)?),
    ///     noise: Noise::Fixed(1e-4),
    ///     mean: Mean::Fitted,
    /// };
    /// let observe = |count: usize, f: fn(f64) -> f64| {
    ///     let points = Points::from_rows(1, (0..count).map(|i| [i as f64 / (count - 1) as f64]))?;
    ///     Data::new(&points, &points.rows().map(|x| f(x[0])).collect::<Vec<_>>())
    /// };
    /// let data = [observe(15, |x| (9.0 * x).sin())?, observe(6, |x| 0.5 - 2.0 * (9.0 * x).sin())?];
    /// let alone = data.iter().map(|data| one.fit(data, None, &Search::default()));
    /// let alone = alone.collect::<Result<Vec<_>, _>>()?;
    /// let model = coregional::fit::Model::new(vec![one.clone(), one]);
    /// let fit = model.fit(&data, &alone, None, &Search::default())?;
    /// assert!(fit.is_preferred() && fit.hyper.correlation(0, 1) < -0.9);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn fit(
        &self,
        data: &[Data],
        independent: &[fit::Fit],
        warm: Option<&Hyper>,
        search: &Search,
    ) -> Result<Fit> {
        let problem = Problem::new(self, data)?;
        check_shape("independent fits", self.outputs.len(), independent.len())?;
        let alone = problem.independent(independent)?;
        let mut starts = Points::new(problem.space.bounds.dim());
        if let Some(warm) = warm {
            problem.check(warm)?;
            starts.push(&problem.space.theta(warm))?;
        }
        for start in problem.starts(&alone, search)? {
            starts.push(&problem.space.theta(&start))?;
        }
        let without = problem.value(&alone, &mut Work::default())?;
        let best = problem.search(&starts, search, without)?;
        let best = best.map(|optimum| problem.hyper(&optimum.x));
        // Own variances of exactly zero, as the independent fits have, are not in the space searched.
        let candidates = best.into_iter().chain(warm.cloned()).chain([alone]);
        let fits = candidates.filter_map(|hyper| problem.finish(&hyper, independent).ok());
        let best = fits.reduce(
            |best, next| {
                if next.log_posterior > best.log_posterior { next } else { best }
            },
        );
        let must = "finite for some hyper-parameters";
        best.ok_or(Error::OutOfRange { what: "log posterior", value: f64::NAN, must })
    }
}

/// Model and data, checked once.
struct Problem<'a> {
    outputs: Vec<fit::Model>,
    family: Family,
    means: Vec<Mean>,
    rows: Rows<'a>,
    data: &'a [Data],
    space: Space,
}

/// A log prior with its gradient.
struct Prior {
    value: f64,
    gradient: Hyper,
}

impl<'a> Problem<'a> {
    fn new(model: &Model, data: &'a [Data]) -> Result<Self> {
        let dim = check_data(model.outputs.len(), data)?;
        let family = agreed(&model.outputs, "kernel families of the outputs", |m| m.family)?;
        let kind = "kinds of length scales of the outputs";
        agreed(&model.outputs, kind, |m| m.lengthscales.clone())?;
        if model.latents == 0 {
            return Err(Error::Shape { what: "latent processes", expected: 1, found: 0 });
        }
        let resolve = |(model, data): (&fit::Model, &Data)| match model.typical_noise(data) {
            Some(noise) => fit::Model { noise: Noise::Fixed(noise), ..model.clone() },
            None => model.clone(),
        };
        let outputs: Vec<fit::Model> = model.outputs.iter().zip(data).map(resolve).collect();
        let space = Space::new(&outputs, model.latents, dim)?;
        let means = outputs.iter().map(|output| output.mean).collect();
        Ok(Self { outputs, family, means, rows: Rows::new(data.len(), data)?, data, space })
    }

    fn check(&self, hyper: &Hyper) -> Result<()> {
        check_shape("outputs of the hyper-parameters", self.outputs.len(), hyper.outputs())?;
        check_shape("latent processes", self.space.latents, hyper.latents.len())?;
        for latent in &hyper.latents {
            check_shape("length scales", self.space.all, latent.lengthscales.len())?;
        }
        hyper.check()
    }

    fn terms<'b>(&'b self, hyper: &Hyper, wanted: Wanted, work: &'b mut Work) -> Result<Terms<'b>> {
        Terms::new(&self.rows, self.family, hyper.clone(), &self.means, (wanted, work))
    }

    fn hyper(&self, theta: &[f64]) -> Hyper {
        self.space.hyper(theta, &self.outputs)
    }

    /// The best end of climbs from `starts`, of which only the best few go on to their end: to a top, or
    /// to where nothing promises correlations that are believed, if independent models have the value
    /// `alone`.
    fn search(&self, starts: &Points, search: &Search, alone: f64) -> Result<Option<Optimum>> {
        let (stopping, bounds) = (&search.stopping, &self.space.bounds);
        let objective = || {
            let (mut work, mut is_over) = (Work::default(), false);
            move |theta: &[f64], gradient: &mut [f64]| {
                if is_over {
                    return f64::NAN;
                }
                let value = self.climb(theta, gradient, &mut work).unwrap_or(f64::NAN);
                let within_reach = FARTHEST * bounds.slope_inside(theta, gradient);
                is_over = value - alone + within_reach < MARGIN;
                value
            }
        };
        let iterations = FIRST_ITERATIONS.min(stopping.iterations);
        let first = Stopping { iterations, ..stopping.clone() };
        let optima = optimize::maximize_each(objective, starts, bounds, &first)?;
        let values: Vec<f64> = optima.iter().map(|optimum| optimum.value).collect();
        let ahead = optimize::largest(&values, FINALISTS).into_iter().map(|i| &optima[i].x);
        let ahead = Points::from_rows(bounds.dim(), ahead)?;
        Ok(optimize::best(optimize::maximize_each(objective, &ahead, bounds, stopping)?))
    }

    /// The searched log posterior: without what no hyper-parameter changes.
    fn value(&self, hyper: &Hyper, work: &mut Work) -> Result<f64> {
        let terms = self.terms(hyper, Wanted::Value, work)?;
        Ok(terms.value + self.prior(&terms.hyper).value)
    }

    fn climb(&self, theta: &[f64], gradient: &mut [f64], work: &mut Work) -> Result<f64> {
        let terms = self.terms(&self.hyper(theta), Wanted::Gradient, work)?;
        let hyper = terms.hyper.clone();
        let prior = self.prior(&hyper);
        let value = terms.value + prior.value;
        let mut derivatives = terms.with_gradient().gradient;
        add(&mut derivatives, &prior.gradient);
        self.space.pull_back(theta, &hyper, &derivatives, gradient);
        Ok(value)
    }

    fn finish(&self, hyper: &Hyper, independent: &[fit::Fit]) -> Result<Fit> {
        let mut work = Work::default();
        let terms = self.terms(hyper, Wanted::Value, &mut work)?;
        let log_posterior = terms.value + terms.known_replicates() + self.prior(&terms.hyper).value;
        check_finite("log posterior", &[log_posterior])?;
        let mut hyper = terms.hyper;
        for latent in &mut hyper.latents {
            let first = latent.loadings.iter().find(|a| **a != 0.0);
            if first.is_some_and(|a| *a < 0.0) {
                latent.loadings.iter_mut().for_each(|a| *a = -*a);
            }
        }
        let alone: f64 = independent.iter().map(|fit| fit.log_posterior).sum();
        let [with, without] = [&hyper, &uncorrelated(&hyper)].map(|at| self.value(at, &mut work));
        let gain_by_correlation = with? - without?;
        Ok(Fit { hyper, log_posterior, gain: log_posterior - alone, gain_by_correlation })
    }

    /// The log prior as described in [`self`](crate::coregional::fit).
    fn prior(&self, hyper: &Hyper) -> Prior {
        let mut value = 0.0;
        let mut gradient = zeros(hyper);
        for (k, output) in self.outputs.iter().enumerate() {
            let scale = hyper.outputscale(k);
            let own: f64 = hyper.latents.iter().map(|latent| latent.own[k]).sum();
            let log_density = |latent: &Latent| output.lengthscale_log_prior(&latent.lengthscales);
            let each: Vec<f64> = hyper.latents.iter().map(log_density).collect();
            let parts = hyper.latents.iter().map(|latent| latent.part(k) / scale);
            let mean: f64 = parts.zip(&each).map(|(part, density)| part * density).sum();
            value += mean
                + density(output.outputscale_prior, scale)
                + OWN_EXPONENT * (own / scale).ln()
                + density(output.noise_prior(), hyper.noises[k]);
            let shared = slope(output.outputscale_prior, scale) - OWN_EXPONENT / scale;
            for ((latent, density), slopes) in
                hyper.latents.iter().zip(&each).zip(&mut gradient.latents)
            {
                let part = shared + (density - mean) / scale;
                slopes.loadings[k] = 2.0 * latent.loadings[k] * part;
                slopes.own[k] = part + OWN_EXPONENT / own;
                let share = latent.part(k) / scale;
                let mut each = vec![0.0; latent.lengthscales.len()];
                output.add_lengthscale_prior(&latent.lengthscales, &mut each);
                slopes.lengthscales.iter_mut().zip(each).for_each(|(sum, s)| *sum += share * s);
            }
            gradient.noises[k] = slope(output.noise_prior(), hyper.noises[k]);
        }
        Prior { value, gradient }
    }
}

/// The same kernel of each output, without correlations.
fn uncorrelated(hyper: &Hyper) -> Hyper {
    let mut hyper = hyper.clone();
    for latent in &mut hyper.latents {
        for (loading, own) in latent.loadings.iter_mut().zip(&mut latent.own) {
            *own += loading.powi(2);
            *loading = 0.0;
        }
    }
    hyper
}

fn density(prior: Option<impl Into<prior::Prior>>, at: f64) -> f64 {
    prior.map_or(0.0, |given| given.into().log_density(at))
}

fn slope(prior: Option<impl Into<prior::Prior>>, at: f64) -> f64 {
    prior.map_or(0.0, |given| given.into().log_density_derivative(at))
}

/// What all outputs have in common.
fn agreed<T: PartialEq>(
    outputs: &[fit::Model],
    what: &'static str,
    of: impl Fn(&fit::Model) -> T,
) -> Result<T> {
    let Some(first) = outputs.first().map(&of) else {
        return Err(Error::Shape { what: "outputs", expected: 1, found: 0 });
    };
    match outputs.iter().all(|output| of(output) == first) {
        true => Ok(first),
        false => Err(Error::Shape { what, expected: 1, found: 2 }),
    }
}

/// Fails unless each output has some variance of its own.
fn check_own(hyper: &Hyper) -> Result<()> {
    let own = |k: usize| hyper.latents.iter().map(|latent| latent.own[k]).sum::<f64>();
    (0..hyper.outputs())
        .try_for_each(|k| check_positive("variance that an output has to itself", own(k)))
}

/// `sum ← sum + terms`.
fn add(sum: &mut Hyper, terms: &Hyper) {
    let add = |sum: &mut [f64], terms: &[f64]| {
        sum.iter_mut().zip(terms).for_each(|(s, t)| *s += t);
    };
    for (sum, terms) in sum.latents.iter_mut().zip(&terms.latents) {
        add(&mut sum.lengthscales, &terms.lengthscales);
        add(&mut sum.loadings, &terms.loadings);
        add(&mut sum.own, &terms.own);
    }
    add(&mut sum.noises, &terms.noises);
    add(&mut sum.means, &terms.means);
}

/// Zeros in the shape of `hyper`.
fn zeros(hyper: &Hyper) -> Hyper {
    let latent = |latent: &Latent| Latent {
        lengthscales: vec![0.0; latent.lengthscales.len()],
        loadings: vec![0.0; latent.loadings.len()],
        own: vec![0.0; latent.own.len()],
    };
    let (noises, means) = (vec![0.0; hyper.noises.len()], vec![0.0; hyper.means.len()]);
    Hyper { latents: hyper.latents.iter().map(latent).collect(), noises, means }
}

/// Bounds of loadings and of own variances, relative to the deviation and variance of their output.
const LARGEST_PART: f64 = 2.0;
const LEAST_OWN: f64 = 1e-6;

/// The coordinates of the search, in this order: ln ℓ_qd; t_k; u_qk; w_qk; ln σ²_k where fitted.
///
/// Loadings are a = e^(t/2) u and own variances κ = eᵗ w: as for one output, the scale of each
/// output is searched for on a logarithmic scale, its parts are not, since they may well vanish.
struct Space {
    latents: usize,
    outputs: usize,
    /// Which length scales are searched for, how many these are, and how many there are in all.
    kind: Lengthscales,
    lengthscales: usize,
    all: usize,
    /// The outputs whose noise is fitted.
    noisy: Vec<usize>,
    bounds: Bounds,
}

impl Space {
    fn new(outputs: &[fit::Model], latents: usize, dim: usize) -> Result<Self> {
        let kind = outputs.first().map_or_else(Default::default, |o| o.lengthscales.clone());
        let lengthscales = kind.free_count(dim);
        let all = outputs.first().map_or(0, |output| output.lengthscale_count(dim));
        let logs = |[low, high]: [f64; 2]| [low.ln(), high.ln()];
        let mut ranges = vec![logs(LENGTHSCALE_RANGE); latents * lengthscales];
        ranges.extend(vec![logs(OUTPUTSCALE_RANGE); outputs.len()]);
        ranges.extend(vec![[-LARGEST_PART, LARGEST_PART]; latents * outputs.len()]);
        ranges.extend(vec![[LEAST_OWN, LARGEST_PART]; latents * outputs.len()]);
        let mut noisy = vec![];
        for (k, output) in outputs.iter().enumerate() {
            if let Noise::Fitted { lower, .. } = output.noise {
                check_positive("lower bound of the noise variance", lower)?;
                ranges.push(logs([lower, lower.max(LARGEST_NOISE)]));
                noisy.push(k);
            }
        }
        let end = |e: usize| ranges.iter().map(|range| range[e]).collect();
        let bounds = Bounds::new(end(0), end(1))?;
        let outputs = outputs.len();
        Ok(Self { latents, outputs, kind, lengthscales, all, noisy, bounds })
    }

    /// Where the scales t, the loadings u, the own variances w and the noises begin.
    fn offsets(&self) -> [usize; 4] {
        let scales = self.latents * self.lengthscales;
        let loadings = scales + self.outputs;
        let own = loadings + self.latents * self.outputs;
        [scales, loadings, own, own + self.latents * self.outputs]
    }

    fn theta(&self, hyper: &Hyper) -> Vec<f64> {
        let scale = |k: usize| hyper.outputscale(k);
        let free = |latent: &Latent| self.kind.free(&latent.lengthscales).into_owned();
        let mut theta: Vec<f64> = hyper.latents.iter().flat_map(free).map(|l| l.ln()).collect();
        theta.extend((0..self.outputs).map(|k| scale(k).ln()));
        for latent in &hyper.latents {
            theta.extend((0..self.outputs).map(|k| latent.loadings[k] / scale(k).sqrt()));
        }
        for latent in &hyper.latents {
            theta.extend((0..self.outputs).map(|k| latent.own[k] / scale(k)));
        }
        theta.extend(self.noisy.iter().map(|&k| hyper.noises[k].ln()));
        self.bounds.clamp(&theta)
    }

    fn hyper(&self, theta: &[f64], outputs: &[fit::Model]) -> Hyper {
        let [scales, loadings, own, noises] = self.offsets();
        let scale = |k: usize| theta[scales + k].exp();
        let latent = |q: usize| {
            let lengthscales = &theta[q * self.lengthscales..(q + 1) * self.lengthscales];
            let at = |start: usize, k: usize| theta[start + q * self.outputs + k];
            Latent {
                lengthscales: self.kind.all(lengthscales.iter().map(|l| l.exp()).collect()),
                loadings: (0..self.outputs).map(|k| scale(k).sqrt() * at(loadings, k)).collect(),
                own: (0..self.outputs).map(|k| scale(k) * at(own, k)).collect(),
            }
        };
        let mut fitted = theta[noises..].iter();
        let noise = |output: &fit::Model| match output.noise {
            Noise::Fixed(noise) => noise,
            // exp(ln v) may fall a bit short of v.
            Noise::Fitted { lower, .. } => fitted.next().map_or(lower, |t| t.exp().max(lower)),
        };
        let noises = outputs.iter().map(noise).collect();
        let latents = (0..self.latents).map(latent).collect();
        Hyper { latents, noises, means: vec![0.0; self.outputs] }
    }

    /// Chain rule: derivatives in the hyper-parameters become derivatives in the coordinates.
    fn pull_back(&self, theta: &[f64], hyper: &Hyper, slopes: &Hyper, gradient: &mut [f64]) {
        let [scales, loadings, own, noises] = self.offsets();
        gradient.fill(0.0);
        for (q, (latent, slope)) in hyper.latents.iter().zip(&slopes.latents).enumerate() {
            let by_log = latent.lengthscales.iter().zip(&slope.lengthscales).map(|(l, s)| l * s);
            let by_log = self.kind.summed(&by_log.collect::<Vec<_>>());
            gradient[q * self.lengthscales..][..by_log.len()].copy_from_slice(&by_log);
            for k in 0..self.outputs {
                let (a, own_variance) = (latent.loadings[k], latent.own[k]);
                let scale = theta[scales + k].exp();
                gradient[scales + k] += 0.5 * a * slope.loadings[k] + own_variance * slope.own[k];
                gradient[loadings + q * self.outputs + k] = scale.sqrt() * slope.loadings[k];
                gradient[own + q * self.outputs + k] = scale * slope.own[k];
            }
        }
        for (i, &k) in self.noisy.iter().enumerate() {
            gradient[noises + i] = hyper.noises[k] * slopes.noises[k];
        }
    }
}

/// How much of the variance outputs have in common in the guesses.
const STRENGTHS: [f64; 2] = [0.5, 0.9];

/// The same next to the independent fits. None at all would be a stationary point.
const NEARLY_NONE: f64 = 0.04;

/// Outputs whose length scales are tried for all, and sets of signs to try, at most.
const MOST_SOURCES: usize = 3;
const MOST_SIGNS: usize = 8;

/// Starting points.
impl Problem<'_> {
    /// The independent fits as hyper-parameters of this model; outputs share latent processes where
    /// these are fewer.
    fn independent(&self, fits: &[fit::Fit]) -> Result<Hyper> {
        let outputs = fits.len();
        let latent = |q: usize| Latent {
            lengthscales: self.spread(&fits[q % outputs].hyper.lengthscales),
            loadings: vec![0.0; outputs],
            own: vec![0.0; outputs],
        };
        let mut latents: Vec<Latent> = (0..self.space.latents).map(latent).collect();
        for (k, fit) in fits.iter().enumerate() {
            latents[k % self.space.latents].own[k] = fit.hyper.outputscale;
        }
        let noise = |(output, fit): (&fit::Model, &fit::Fit)| match output.noise {
            Noise::Fixed(noise) => noise,
            Noise::Fitted { lower, .. } => fit.hyper.noise.max(lower),
        };
        let noises = self.outputs.iter().zip(fits).map(noise).collect();
        let means = fits.iter().map(|fit| fit.hyper.mean).collect();
        let hyper = Hyper { latents, noises, means };
        self.check(&hyper)?;
        Ok(hyper)
    }

    /// As many length scales as are searched for: these, or their geometric mean.
    fn spread(&self, lengthscales: &[f64]) -> Vec<f64> {
        if lengthscales.len() == self.space.all {
            return lengthscales.to_vec();
        }
        let logs: f64 = lengthscales.iter().map(|l| l.ln()).sum();
        let mean = (logs / lengthscales.len().max(1) as f64).exp();
        vec![mean; self.space.all]
    }

    /// Next to the independent fits, and the best of the guesses.
    fn starts(&self, alone: &Hyper, search: &Search) -> Result<Vec<Hyper>> {
        let signs = self.signs(alone)?;
        let sources = self.sources();
        let mut guesses = vec![];
        for signs in &signs {
            for &source in &sources {
                let guess = |&strength: &f64| guess(alone, Common { signs, source, strength });
                guesses.extend(STRENGTHS.iter().map(guess));
            }
        }
        // One factor for all length scales of a latent process, and the strength.
        let raw = sobol::cube(self.space.latents + 1, search.raw, search.seed)?;
        for (i, row) in raw.rows().enumerate() {
            let (signs, source) = (&signs[i % signs.len()], sources[i % sources.len()]);
            let strength = 0.1 + 0.85 * row[self.space.latents];
            let mut hyper = guess(alone, Common { signs, source, strength });
            for (latent, u) in hyper.latents.iter_mut().zip(row) {
                let factor = (2.0 * u - 1.0).exp2();
                latent.lengthscales.iter_mut().for_each(|l| *l *= factor);
            }
            guesses.push(hyper);
        }
        let mut work = Work::default();
        let value = |guess: &Hyper| self.value(guess, &mut work).unwrap_or(f64::NAN);
        let values: Vec<f64> = guesses.iter().map(value).collect();
        let mut starts = vec![next_to(alone, &signs[0])];
        let best = optimize::largest(&values, search.restarts.max(1));
        starts.extend(best.into_iter().map(|i| guesses[i].clone()));
        Ok(starts)
    }

    /// Outputs by the number of their rows, the most first.
    fn sources(&self) -> Vec<usize> {
        let mut sources: Vec<usize> = (0..self.data.len()).collect();
        sources.sort_by_key(|&k| std::cmp::Reverse(self.data[k].len()));
        sources.truncate(MOST_SOURCES.min(self.space.latents));
        sources.retain(|&k| k < self.space.latents);
        if sources.is_empty() { vec![0] } else { sources }
    }

    /// Sets of signs of the loadings: those of the correlations with each output, and then with one
    /// output turned round.
    fn signs(&self, alone: &Hyper) -> Result<Vec<Vec<f64>>> {
        let agreement = self.agreement(alone)?;
        let sign = |v: f64| if v < 0.0 { -1.0 } else { 1.0 };
        let from = |k: usize| {
            let signs: Vec<f64> = agreement[k].iter().map(|v| sign(*v)).collect();
            // The signs of all loadings together mean nothing.
            signs.iter().map(|s| s * signs[0]).collect::<Vec<f64>>()
        };
        let mut all: Vec<Vec<f64>> = (0..agreement.len()).map(from).collect();
        for k in 1..agreement.len() {
            let mut turned = all[0].clone();
            turned[k] = -turned[k];
            all.push(turned);
        }
        let mut distinct: Vec<Vec<f64>> = vec![];
        for signs in all {
            if !distinct.contains(&signs) {
                distinct.push(signs);
            }
        }
        distinct.truncate(MOST_SIGNS);
        Ok(distinct)
    }

    /// For each two outputs, the correlation of the values of one with what the model of the other
    /// alone predicts there, summed over both directions.
    fn agreement(&self, alone: &Hyper) -> Result<Vec<Vec<f64>>> {
        let outputs = self.outputs.len();
        let models = alone.condition(self.family, self.data)?;
        let mut agreement = vec![vec![1.0; outputs]; outputs];
        let mut seen = Vec::with_capacity(outputs);
        for data in self.data {
            seen.push(models.means(data.points())?);
        }
        for k in 0..outputs {
            for other in 0..k {
                let sum = correlation(self.data[k].values(), &seen[k][other])
                    + correlation(self.data[other].values(), &seen[other][k]);
                agreement[k][other] = sum;
                agreement[other][k] = sum;
            }
        }
        Ok(agreement)
    }
}

/// What outputs have in common in a guess.
struct Common<'a> {
    signs: &'a [f64],
    /// The latent process in common.
    source: usize,
    /// Which part of the variance of each output it makes.
    strength: f64,
}

/// Outputs that share a latent process; what is left of their variance they have half with its
/// length scales, half with their own.
fn guess(alone: &Hyper, common: Common<'_>) -> Hyper {
    let mut hyper = alone.clone();
    for k in 0..alone.outputs() {
        let scale = alone.outputscale(k);
        let rest = (1.0 - common.strength) / 2.0;
        for latent in &mut hyper.latents {
            latent.own[k] *= rest;
        }
        let source = &mut hyper.latents[common.source];
        source.own[k] += rest * scale;
        source.loadings[k] = common.signs[k] * (common.strength * scale).sqrt();
    }
    hyper
}

/// The independent fits with small loadings everywhere.
fn next_to(alone: &Hyper, signs: &[f64]) -> Hyper {
    let mut hyper = alone.clone();
    for latent in &mut hyper.latents {
        for (k, sign) in signs.iter().enumerate() {
            latent.loadings[k] = sign * (NEARLY_NONE * alone.outputscale(k)).sqrt();
        }
    }
    hyper
}

/// Sample correlation; 0 where one side is constant.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
    let (center_a, center_b) = (mean(a), mean(b));
    let pairs = || a.iter().zip(b).map(|(a, b)| (a - center_a, b - center_b));
    let products: f64 = pairs().map(|(a, b)| a * b).sum();
    let squares = |v: f64| v * v;
    let (in_a, in_b): (f64, f64) =
        (pairs().map(|(a, _)| squares(a)).sum(), pairs().map(|(_, b)| squares(b)).sum());
    let correlation = products / (in_a.sqrt() * in_b.sqrt());
    if correlation.is_finite() { correlation } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gamma::Gamma;
    use crate::random::Rng;

    fn model(noise: Noise) -> fit::Model {
        fit::Model {
            family: Family::Matern52,
            lengthscales: Lengthscales::PerInput,
            lengthscale_prior: Some(Gamma::new(3.0, 6.0).unwrap().into()),
            lengthscale_spread: None,
            outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
            noise,
            mean: Mean::Fitted,
        }
    }

    fn data(rng: &mut Rng, count: usize, f: impl Fn(&[f64]) -> f64) -> Data {
        let points = (0..count).map(|_| [rng.uniform(), rng.uniform()]);
        let points = Points::from_rows(2, points).unwrap();
        let values: Vec<f64> = points.rows().map(f).collect();
        Data::new(&points, &values).unwrap()
    }

    #[test]
    fn gradients_in_the_coordinates_of_the_search_match_finite_differences() {
        let mut rng = Rng::new(1, 0);
        let fitted = Noise::Fitted { prior: Some(Gamma::new(1.1, 0.05).unwrap()), lower: 1e-4 };
        let noises = [fitted, Noise::Fixed(0.1), fitted];
        let outputs: Vec<fit::Model> = noises.iter().map(|noise| model(*noise)).collect();
        let waves = |shift: f64| move |x: &[f64]| (5.0 * x[0] + shift).sin() + x[1];
        let rows = [(9, 0.0), (4, 2.0), (1, 1.0)];
        let all: Vec<Data> = rows.iter().map(|&(n, s)| data(&mut rng, n, waves(s))).collect();
        let model = Model { latents: 2, ..Model::new(outputs) };
        let problem = Problem::new(&model, &all).unwrap();
        let dim = problem.space.bounds.dim();
        assert_eq!(dim, 2 * 2 + 3 + 2 * 3 + 2 * 3 + 2);
        let theta: Vec<f64> = (0..dim).map(|_| 0.1 + 0.8 * rng.uniform()).collect();
        let mut gradient = vec![0.0; dim];
        let mut work = Work::default();
        problem.climb(&theta, &mut gradient, &mut work).unwrap();
        for (i, found) in gradient.iter().enumerate() {
            let mut at = |h: f64| {
                let mut moved = theta.clone();
                moved[i] += h;
                problem.climb(&moved, &mut vec![0.0; dim], &mut work).unwrap()
            };
            let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
            let error = (found - expected).abs();
            assert!(error < 1e-7 * (1.0 + expected.abs()), "{i}: {found} for {expected}");
        }
        let there = problem.hyper(&theta);
        let (value, again) =
            (problem.value(&there, &mut work).unwrap(), problem.space.theta(&there));
        let repeated = problem.value(&problem.hyper(&again), &mut work).unwrap();
        assert!((repeated - value).abs() < 1e-10);
    }

    #[test]
    fn signs_are_found_where_no_design_is_shared() {
        let mut rng = Rng::new(2, 0);
        let models = vec![model(Noise::Fixed(1e-4)); 3];
        let all = [
            data(&mut rng, 20, |x| (4.0 * x[0]).sin() + x[1]),
            data(&mut rng, 8, |x| -(4.0 * x[0]).sin() - x[1]),
            data(&mut rng, 8, |x| 2.0 * (4.0 * x[0]).sin() + 2.0 * x[1]),
        ];
        let search = Search::default();
        let fit = |(model, data): (&fit::Model, &Data)| model.fit(data, None, &search).unwrap();
        let alone: Vec<fit::Fit> = models.iter().zip(&all).map(fit).collect();
        let model = Model::new(models);
        let problem = Problem::new(&model, &all).unwrap();
        let signs = problem.signs(&problem.independent(&alone).unwrap()).unwrap();
        assert_eq!(signs[0], [1.0, -1.0, 1.0]);
        assert!(signs.len() >= 3 && signs.iter().all(|signs| signs[0] == 1.0));
    }

    #[test]
    fn an_output_without_variance_of_its_own_has_no_posterior_density() {
        let mut rng = Rng::new(3, 0);
        let all = [data(&mut rng, 4, |x| x[0]), data(&mut rng, 3, |x| x[1])];
        let latent =
            Latent { lengthscales: vec![0.5; 2], loadings: vec![1.0; 2], own: vec![0.0, 0.1] };
        let hyper = Hyper { latents: vec![latent; 2], noises: vec![0.1; 2], means: vec![0.0; 2] };
        let model = Model::new(vec![model(Noise::Fixed(0.1)); 2]);
        let found = model.log_posterior(&all, &hyper);
        assert!(matches!(found, Err(Error::OutOfRange { .. })), "{found:?}");
    }
}
