//! A cost that is learned from what evaluations really cost.
//!
//! A Gaussian process on ln(cost/guess). What the next evaluation costs is then log-normal, and
//! expected to be guess · exp(μ + s²/2) with the predictive mean and variance μ and s², noise
//! included. Without values that is the guess; up to two values are combined with it, more tell
//! the hyper-parameters themselves.

use std::cmp::Ordering;

use crate::error::Result;
use crate::history::{Evaluation, History};
use unyoke_math::Points;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{Hyper, Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::Family;

/// What an evaluation that cost nothing counts as, relative to the guess.
const FREE: f64 = 1e-3;

/// Costs further away from the guess than this factor count as that far away.
const FARTHEST: f64 = 1e12;

/// From so many values on, hyper-parameters are fitted.
const ENOUGH: usize = 3;

/// Variance of ln(cost) between designs and between evaluations of one design where too few values
/// tell: costs differ by half, and by a tenth.
const VARIANCE: f64 = 0.25;
const NOISE: f64 = 0.01;

/// Variance of the logarithm of a guess: it is right up to a factor of about e.
const GUESS: f64 = 1.0;

/// Most values that are used, evenly spread over all: costs need not be known as well as outputs.
const MOST: usize = 400;

/// Least fitted noise variance, relative to that of the values.
const LEAST_NOISE: f64 = 1e-4;

/// The model of one measurement's cost.
#[derive(Debug, Clone)]
pub(super) struct Learned {
    gp: Gp,
    map: Standardizer,
    log_guess: f64,
}

impl Learned {
    /// From what the evaluations of a measurement cost; none while nothing is known but the guess.
    pub(super) fn new(history: &History, measurement: usize, guess: f64) -> Result<Option<Self>> {
        let rows = rows(history, measurement, guess);
        if rows.is_empty() {
            return Ok(None);
        }
        let (dim, parameters) = (history.space.dim(), history.space.parameters());
        let points = Points::from_rows(dim, rows.iter().map(|(x, _)| *x))?;
        let values: Vec<f64> = rows.iter().map(|(_, value)| *value).collect();
        let fit = if values.len() < ENOUGH { with_guess } else { fitted };
        let (gp, map) = fit(&points, &values, parameters)?;
        Ok(Some(Self { gp, map, log_guess: guess.ln() }))
    }

    /// The logarithm of the expected cost at `x`.
    pub(super) fn log_at(&self, x: &[f64]) -> f64 {
        let Ok(prediction) = self.gp.predict(x) else { return f64::INFINITY };
        self.log_expected(prediction.mean, prediction.variance)
    }

    /// The expected cost at `x`; adds its gradient to `gradient`.
    pub(super) fn with_gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let Ok(query) = self.gp.query(x) else { return f64::INFINITY };
        let prediction = query.prediction();
        let cost = self.log_expected(prediction.mean, prediction.variance).exp();
        let scale = self.map.scale();
        let slopes = self.gp.gradient(&query, scale, 0.5 * scale * scale);
        gradient.iter_mut().zip(slopes).for_each(|(g, slope)| *g += cost * slope);
        cost
    }

    fn log_expected(&self, mean: f64, variance: f64) -> f64 {
        let scale = self.map.scale();
        let spread = scale * scale * (variance + self.gp.noise());
        self.log_guess + self.map.restore(mean) + 0.5 * spread
    }
}

/// Where evaluations ended, and the logarithm of what they cost relative to the guess; sorted,
/// since the order in which they ended must not show.
fn rows(history: &History, measurement: usize, guess: f64) -> Vec<(&[f64], f64)> {
    // Whatever its value is worth by now, an evaluation cost what it cost.
    let is_own = |e: &&Evaluation| e.status.has_ended() && e.measurement == Some(measurement);
    let ended = history.evaluations.iter().filter(is_own);
    let value = |paid: f64| {
        let ratio = if paid > 0.0 { paid.ln() - guess.ln() } else { FREE.ln() };
        ratio.clamp(-FARTHEST.ln(), FARTHEST.ln())
    };
    let rows = ended.filter_map(|e| Some((history.point(e.id), value(e.paid?))));
    let mut rows: Vec<(&[f64], f64)> = rows.collect();
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    let step = rows.len().div_ceil(MOST).max(1);
    rows.into_iter().step_by(step).collect()
}

/// Mean ½ for one and two parameters, as for outputs.
fn lengthscale_prior(parameters: usize) -> Result<Gamma> {
    let spread = (parameters as f64 / 2.0).max(1.0).sqrt();
    Ok(Gamma::new(3.0, 6.0 / spread)?)
}

/// The model where one or two values tell little: a mean between them and the guess, and usual
/// variances.
fn with_guess(points: &Points, values: &[f64], parameters: usize) -> Result<(Gp, Standardizer)> {
    let count = values.len() as f64;
    // The guess is what is expected, ln E c = mean + half the variances.
    let guess = -0.5 * (VARIANCE + NOISE);
    let trust = count / (count + (VARIANCE + NOISE) / GUESS);
    let mean = guess + trust * (values.iter().sum::<f64>() / count - guess);
    let lengthscale = lengthscale_prior(parameters)?.mean();
    let hyper =
        Hyper { lengthscales: vec![lengthscale], outputscale: VARIANCE, noise: NOISE, mean };
    let gp = hyper.condition(Family::Matern52, &Data::new(points, values)?)?;
    Ok((gp, Standardizer::new(&[])?))
}

/// The model with fitted hyper-parameters.
fn fitted(points: &Points, values: &[f64], parameters: usize) -> Result<(Gp, Standardizer)> {
    let map = Standardizer::new(values)?;
    let standardised: Vec<f64> = values.iter().map(|value| map.standardize(*value)).collect();
    let data = Data::new(points, &standardised)?;
    let model = Model {
        family: Family::Matern52,
        lengthscales: Lengthscales::Isotropic,
        lengthscale_prior: Some(lengthscale_prior(parameters)?.into()),
        // Unlike for outputs, near the variance of the values: it is exponentiated.
        lengthscale_spread: None,
        outputscale_prior: Some(Gamma::new(2.0, 2.0)?),
        noise: Noise::Fitted { prior: Some(Gamma::new(1.1, 0.5)?), lower: LEAST_NOISE },
        mean: Mean::Fitted,
    };
    let hyper = match model.fit(&data, None, &Search::default()) {
        Ok(fit) => fit.hyper,
        Err(_) => Hyper {
            lengthscales: vec![lengthscale_prior(parameters)?.mean()],
            outputscale: 1.0,
            noise: NOISE,
            mean: 0.0,
        },
    };
    Ok((hyper.condition(Family::Matern52, &data)?, map))
}
