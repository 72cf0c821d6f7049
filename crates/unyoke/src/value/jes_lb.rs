//! Joint entropy search by its lower bound, JES-LB, for one objective at a time or all together.
//!
//! Draws functions from the models, finds the Pareto set and front of each draw (see [`draw`]), and
//! asks how much an observation at x would say about them: the entropy of the observation now, less
//! what is left of it on average once a drawn front is known. Knowing a front means two things:
//! the values at its designs are known, and no value lies beyond it. The second makes the
//! observation a mixture of truncated normals (see [`mixture`]), whose entropy is bounded by that of
//! the normal with the same covariance:
//!
//! JES-LB(x) = ½ log det(K(x) + σ²) − 1/S Σ_s ½ log det(K_s(x) + σ²).
//!
//! Source: B. Tu, A. Gandy, N. Kantas, B. Shafei, "Joint Entropy Search for Multi-Objective
//! Bayesian Optimization", NeurIPS 2022. The gain is in nats.

mod draw;
mod mixture;

pub(crate) use draw::{SampledFront, draw_fronts};

use super::{Acquisition, Evaluator, latent_factor};
use crate::model::{Belief, Model};
use mixture::{Mixture, Moments};
use std::ops::Range;
use unyoke_math::gp::{Adjoint, Candidate, FixedSet};
use unyoke_math::linalg::{Cholesky, Matrix};
use unyoke_math::pareto::dominated_boxes;
use unyoke_math::{Points, Result};

/// Variance with which values of a drawn function are believed: exact, but for rounding.
pub(crate) const NOISE_FREE: f64 = 1e-6;

/// Least variance of an observation: without noise an entropy has no lower end.
const LEAST_NOISE: f64 = 1e-8;

/// Least variance of a latent value. Bounds are counted in its root, and their fourth powers appear.
const LEAST_VARIANCE: f64 = 1e-9;

/// What can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evaluated {
    /// Each objective on its own: JES-LB-d.
    OneObjective,
    /// All objectives at a design: JES-LB-c.
    AllObjectives,
}

/// JES-LB for fronts that were drawn.
pub(crate) struct JesLb<'a> {
    models: Vec<Conditioned<'a>>,
    mixtures: Vec<Mixture>,
    evaluated: Evaluated,
}

impl<'a> JesLb<'a> {
    /// Conditions the models on each of `fronts` in turn. Values are believed with variance
    /// `certainty`, or with the noise of the model if none is given, as in the published run.
    pub(crate) fn new(
        model: &'a Model,
        fronts: &[SampledFront],
        certainty: Option<f64>,
        evaluated: Evaluated,
    ) -> Result<Self> {
        let outputs = model.objectives.iter().enumerate();
        let models = outputs
            .map(|(m, output)| {
                let certainty = certainty.unwrap_or(output.gp.noise());
                Conditioned::new(output, m, fronts, certainty)
            })
            .collect::<Result<_>>()?;
        let lowest = vec![f64::NEG_INFINITY; model.objectives.len()];
        let mixture = |front: &SampledFront| -> Result<Mixture> {
            Ok(Mixture::new(dominated_boxes(&front.values, &lowest)?))
        };
        let mixtures = fronts.iter().map(mixture).collect::<Result<_>>()?;
        Ok(Self { models, mixtures, evaluated })
    }
}

impl Acquisition for JesLb<'_> {
    fn options(&self) -> usize {
        match self.evaluated {
            Evaluated::OneObjective => self.models.len(),
            Evaluated::AllObjectives => 1,
        }
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        let mut work = Work::new(self, option);
        Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
    }
}

/// One objective's model, and what it becomes when the values on each front are known.
///
/// With c(x) the posterior covariances between x and the designs P of a front, and
/// A = Σ(P) + certainty, μ_s(x) = μ(x) + c(x)ᵀ A⁻¹ (f − μ(P)) and v_s(x) = v(x) − c(x)ᵀ A⁻¹ c(x). All
/// fronts' designs are seen from x in one go.
struct Conditioned<'a> {
    set: FixedSet<'a>,
    noise: f64,
    groups: Vec<Group>,
}

/// The designs of one front.
struct Group {
    range: Range<usize>,
    factor: Cholesky,
    /// A⁻¹ (f − μ(P)).
    weights: Vec<f64>,
}

impl<'a> Conditioned<'a> {
    fn new(output: &'a Belief, m: usize, fronts: &[SampledFront], certainty: f64) -> Result<Self> {
        let gp = &output.gp;
        let designs = fronts.iter().flat_map(|front| front.designs.rows());
        let set = gp.fixed_set(&Points::from_rows(gp.dim(), designs)?)?;
        let mut start = 0;
        let mut group = |front: &SampledFront| -> Result<Group> {
            let range = start..start + front.designs.len();
            start = range.end;
            let factor = latent_factor(gp, &front.designs, certainty)?;
            let surprise = front.values.rows().zip(&set.means()[range.clone()]);
            let mut weights: Vec<f64> = surprise.map(|(f, mean)| f[m] - mean).collect();
            factor.solve(&mut weights);
            Ok(Group { range, factor, weights })
        };
        let groups = fronts.iter().map(&mut group).collect::<Result<_>>()?;
        Ok(Self { set, noise: gp.noise().max(LEAST_NOISE), groups })
    }
}

/// An evaluator with its buffers.
struct Work<'a> {
    acquisition: &'a JesLb<'a>,
    /// The objectives of which an observation is imagined.
    members: Vec<usize>,
    mixtures: Vec<Mixture>,
    views: Vec<View>,
}

/// What one objective's model says about x, and derivatives of the gain in it.
#[derive(Default)]
struct View {
    candidate: Candidate,
    /// A⁻¹ c(x), front after front.
    solved: Vec<f64>,
    by_mean: f64,
    by_variance: f64,
    by_covariances: Vec<f64>,
}

impl<'a> Work<'a> {
    fn new(acquisition: &'a JesLb<'a>, option: usize) -> Self {
        let members = match acquisition.evaluated {
            Evaluated::OneObjective => vec![option],
            Evaluated::AllObjectives => (0..acquisition.models.len()).collect(),
        };
        let views = acquisition.models.iter().map(|_| View::default()).collect();
        Self { acquisition, members, mixtures: acquisition.mixtures.clone(), views }
    }

    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        let models = &self.acquisition.models;
        for (view, model) in self.views.iter_mut().zip(models) {
            view.place(model, x)?;
        }
        let mut gain = 0.0;
        for &m in &self.members {
            let variance = self.views[m].candidate.prediction().variance + models[m].noise;
            gain += 0.5 * variance.ln();
            self.views[m].by_variance += 0.5 / variance;
        }
        let share = 1.0 / self.mixtures.len().max(1) as f64;
        for s in 0..self.mixtures.len() {
            gain -= share * self.add_front(s, share, gradient.is_some())?;
        }
        if gain <= 0.0 {
            return Ok(f64::NEG_INFINITY);
        }
        if let Some(gradient) = gradient {
            self.write_gradient(gain, gradient)?;
        }
        Ok(gain.ln())
    }

    /// Entropy of the observation given front `s`, up to a constant; takes `share` of its
    /// derivatives off those of the gain.
    fn add_front(&mut self, s: usize, share: f64, differentiate: bool) -> Result<f64> {
        let models = &self.acquisition.models;
        let views = self.views.iter_mut().zip(models);
        let moments: Vec<Moments> = views.map(|(view, model)| view.given(model, s)).collect();
        let mixture = &mut self.mixtures[s];
        mixture.truncate(&moments);
        let members = &self.members;
        let mut covariance = Matrix::zeros(members.len(), members.len());
        for (i, &m) in members.iter().enumerate() {
            for (j, &n) in members.iter().enumerate() {
                let noise = if m == n { models[m].noise } else { 0.0 };
                covariance.set(i, j, noise + mixture.covariance(&moments, m, n));
            }
        }
        let factor = Cholesky::new(&covariance)?;
        if differentiate {
            // ∂(½ log det Σ)/∂Σ = ½ Σ⁻¹.
            let inverse = factor.inverse_lower();
            let mut adjoint = vec![0.0; models.len() * models.len()];
            for (i, &m) in members.iter().enumerate() {
                for (j, &n) in members.iter().enumerate() {
                    adjoint[m * models.len() + n] = 0.5 * inverse.get(i.max(j), i.min(j));
                }
            }
            let slopes = mixture.pull_back(&moments, &adjoint);
            for ((view, model), slope) in self.views.iter_mut().zip(models).zip(&slopes) {
                view.pull_back(&model.groups[s], -share * slope.mean, -share * slope.variance);
            }
        }
        Ok(0.5 * factor.log_determinant())
    }

    fn write_gradient(&mut self, gain: f64, gradient: &mut [f64]) -> Result<()> {
        gradient.fill(0.0);
        for (view, model) in self.views.iter().zip(&self.acquisition.models) {
            let adjoint = Adjoint {
                mean: view.by_mean,
                variance: view.by_variance,
                covariances: &view.by_covariances,
            };
            let slope = model.set.gradient(&view.candidate, adjoint)?;
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s / gain);
        }
        Ok(())
    }
}

impl View {
    /// Moves to `x`.
    fn place(&mut self, model: &Conditioned<'_>, x: &[f64]) -> Result<()> {
        model.set.evaluate(x, &mut self.candidate)?;
        self.solved.clear();
        self.solved.extend_from_slice(self.candidate.covariances());
        for group in &model.groups {
            group.factor.solve(&mut self.solved[group.range.clone()]);
        }
        (self.by_mean, self.by_variance) = (0.0, 0.0);
        self.by_covariances.clear();
        self.by_covariances.resize(self.solved.len(), 0.0);
        Ok(())
    }

    /// Mean and variance at x once the values on front `s` are known.
    fn given(&self, model: &Conditioned<'_>, s: usize) -> Moments {
        let group = &model.groups[s];
        let covariances = &self.candidate.covariances()[group.range.clone()];
        let solved = &self.solved[group.range.clone()];
        let prediction = self.candidate.prediction();
        let variance = prediction.variance - dot(covariances, solved);
        Moments {
            mean: prediction.mean + dot(covariances, &group.weights),
            variance: variance.max(LEAST_VARIANCE),
            varies: variance > LEAST_VARIANCE,
        }
    }

    /// Adds derivatives in μ_s(x) and v_s(x) to those in what the model itself says.
    fn pull_back(&mut self, group: &Group, by_mean: f64, by_variance: f64) {
        self.by_mean += by_mean;
        self.by_variance += by_variance;
        let solved = &self.solved[group.range.clone()];
        let sums = &mut self.by_covariances[group.range.clone()];
        for ((sum, weight), solved) in sums.iter_mut().zip(&group.weights).zip(solved) {
            *sum += by_mean * weight - 2.0 * by_variance * solved;
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
