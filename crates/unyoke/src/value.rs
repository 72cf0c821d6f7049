//! What an evaluation is worth: the interface of the acquisition functions.
//!
//! One file each. For evaluations of one objective at a time [`c_mokg`], for utilities other than
//! weighted sums [`chebyshev`], [`hvkg`] and [`jes_lb`], for
//! all at once [`ma_kg`], [`hvkg`], [`jes_lb`], [`par_ego`] and [`noisy_ehvi`];
//! `docs/acquisition.md` compares them.
//! Values are logarithms of expected gains, before any cost is divided by: late in a study gains
//! fall below the smallest double, and a climber needs their gradient all the same.

pub(crate) mod blend;
pub(crate) mod c_mokg;
pub(crate) mod chebyshev;
pub(crate) mod hypervolume;
pub(crate) mod jes_lb;
pub(crate) mod ma_kg;
pub(crate) mod hvkg;
pub(crate) mod noisy_ehvi;
pub(crate) mod par_ego;
mod vector;

use crate::model::Model;
use crate::outlook::{Beside, Compared};
use crate::worth::{Seen, Worth};
use std::sync::Arc;
use unyoke_math::gp::{Gp, Query};
use unyoke_math::kinked::Kinks;
use unyoke_math::linalg::{Cholesky, Matrix};
use unyoke_math::optimize::Optimum;
use unyoke_math::{Points, Result};

/// Log of the expected gain at a point; writes its gradient where one is wanted.
pub(crate) type Evaluator<'a> = Box<dyn FnMut(&[f64], Option<&mut [f64]>) -> f64 + 'a>;

/// The same with its gradient, and the kinks of it.
pub(crate) type Kinked<'a> = Box<dyn FnMut(&[f64], &mut [f64], &mut Kinks) -> f64 + 'a>;

/// The value of evaluations under a model.
pub(crate) trait Acquisition: Sync {
    /// What can be chosen: each objective, or all of them together.
    fn options(&self) -> usize;

    /// A function of the design for one option, with buffers of its own.
    fn evaluator(&self, option: usize) -> Evaluator<'_>;

    /// The same beside other functions of the same models and designs, or for designs that are known
    /// in advance: what models say about a design is computed once, about many designs together.
    fn evaluator_beside<'s>(&'s self, option: usize, _beside: &mut Beside<'s>) -> Evaluator<'s> {
        self.evaluator(option)
    }

    /// The same with its kinks, where they are known.
    fn kinked(&self, _option: usize) -> Option<Kinked<'_>> {
        None
    }

    /// Optima for one option by a search of its own, starting from those of the designs `raw`
    /// that are not taken; `None` for functions that are climbed by their evaluators.
    fn maximise(
        &self,
        _option: usize,
        _raw: &Points,
        _taken: &dyn Fn(&[f64]) -> bool,
    ) -> Option<crate::error::Result<Vec<Optimum>>> {
        None
    }
}

/// An acquisition function with its options in another order, or some of them several times.
pub(crate) struct Reordered<'a> {
    pub(crate) inner: Box<dyn Acquisition + 'a>,
    /// For each option, which one it is of the inner function.
    pub(crate) options: Vec<usize>,
}

impl Acquisition for Reordered<'_> {
    fn options(&self) -> usize {
        self.options.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        self.inner.evaluator(self.options[option])
    }

    fn evaluator_beside<'s>(&'s self, option: usize, beside: &mut Beside<'s>) -> Evaluator<'s> {
        self.inner.evaluator_beside(self.options[option], beside)
    }

    fn kinked(&self, option: usize) -> Option<Kinked<'_>> {
        self.inner.kinked(self.options[option])
    }

    fn maximise(
        &self,
        option: usize,
        raw: &Points,
        taken: &dyn Fn(&[f64]) -> bool,
    ) -> Option<crate::error::Result<Vec<Optimum>>> {
        self.inner.maximise(self.options[option], raw, taken)
    }
}

/// What the knowledge-gradient functions of linear utilities share: the compared designs, for every
/// weight vector.
pub(crate) struct Scalarised<'a> {
    compared: Arc<Compared<'a>>,
    weights: Points,
    /// λ_q · (μ(x'_j) − r) per weight vector, with room at the end of each row for the candidate.
    intercepts: Points,
    /// What designs are worth instead, where utilities are not linear.
    worth: Option<&'a Worth>,
}

impl<'a> Scalarised<'a> {
    pub(crate) fn new(model: &'a Model, set: &Points, weights: &Points) -> Result<Self> {
        let compared = Arc::new(Compared::new(model, set)?);
        let intercepts = Points::zeros(set.len() + 1, weights.len());
        let mut shared = Self { compared, weights: weights.clone(), intercepts, worth: None };
        for k in 0..shared.objectives() {
            let means = shared.compared.means(k)?;
            for q in 0..weights.len() {
                let (factor, zero) = (shared.factor(q, k), shared.zero(k));
                for (a, mean) in shared.intercepts.row_mut(q).iter_mut().zip(&means) {
                    *a += factor * (mean - zero);
                }
            }
        }
        Ok(shared)
    }

    /// The designs that are compared, for other functions of them.
    pub(crate) fn compared(&self) -> Arc<Compared<'a>> {
        self.compared.clone()
    }

    fn model(&self) -> &'a Model {
        self.compared.model
    }

    /// What an infeasible design is worth in objective k.
    fn zero(&self, k: usize) -> f64 {
        self.model().reference.as_ref().map_or(0.0, |reference| reference[k])
    }

    /// λ_q · (μ − r) of a design with these means.
    fn intercept(&self, q: usize, means: &[f64]) -> f64 {
        means.iter().enumerate().map(|(k, mean)| self.factor(q, k) * (mean - self.zero(k))).sum()
    }

    /// What a feasible design at `x` is worth for each weight vector.
    fn worths_at(&self, worth: &Worth, x: &[f64]) -> Result<Vec<f64>> {
        let mut queries = vec![Query::default(); self.objectives()];
        let predictions = self.model().predictions(x, &mut queries)?;
        let mut seen = Seen::default();
        self.weights.rows().map(|row| worth.value(row, &predictions, &mut seen)).collect()
    }

    fn objectives(&self) -> usize {
        self.model().objectives.len()
    }

    /// λ_k times the unit of objective k, for weight vector q.
    fn factor(&self, q: usize, k: usize) -> f64 {
        self.weights.row(q)[k] * self.model().objectives[k].unit
    }
}

/// A gain summed over weight vectors and nodes, with its derivatives in several groups of quantities,
/// in units of e^(log_scale): ordinary numbers however small the gain is.
#[derive(Debug, Clone)]
struct Sums<const GROUPS: usize> {
    log_scale: f64,
    gain: f64,
    by: [Vec<f64>; GROUPS],
}

impl<const GROUPS: usize> Default for Sums<GROUPS> {
    fn default() -> Self {
        Self { log_scale: f64::NEG_INFINITY, gain: 0.0, by: [const { Vec::new() }; GROUPS] }
    }
}

impl<const GROUPS: usize> Sums<GROUPS> {
    /// Forgets everything; the groups get these sizes.
    fn clear(&mut self, sizes: [usize; GROUPS]) {
        (self.log_scale, self.gain) = (f64::NEG_INFINITY, 0.0);
        for (sums, size) in self.by.iter_mut().zip(sizes) {
            sums.clear();
            sums.resize(size, 0.0);
        }
    }

    /// The factor that turns quantities in units of e^(log_scale) into those of the sums; where
    /// the new ones are larger, the sums are converted instead.
    fn align(&mut self, log_scale: f64) -> f64 {
        if log_scale <= self.log_scale {
            return (log_scale - self.log_scale).exp();
        }
        let shrink = (self.log_scale - log_scale).exp();
        self.log_scale = log_scale;
        self.gain *= shrink;
        self.by.iter_mut().flatten().for_each(|sum| *sum *= shrink);
        1.0
    }

    /// Takes a gain of no more than this for none.
    fn drop_below(&mut self, least: f64) {
        if self.gain <= least {
            self.gain = 0.0;
        }
    }

    /// Logarithm of the gain's mean over `count` weight vectors.
    fn log_mean(&self, count: usize) -> f64 {
        self.log_scale + (self.gain / count as f64).ln()
    }
}

/// The factor of the joint covariance of the latent values at `points`, plus `noise` each.
fn latent_factor(gp: &Gp, points: &Points, noise: f64) -> Result<Cholesky> {
    let (joint, count) = (gp.joint(points)?, points.len());
    let mut covariance = Matrix::zeros(count, count);
    for j in 0..count {
        for i in j..count {
            covariance.set(i, j, joint.covariance(i, j) + if i == j { noise } else { 0.0 });
        }
    }
    Cholesky::new(&covariance)
}

#[cfg(test)]
mod tests;
