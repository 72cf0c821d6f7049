//! What an evaluation is worth: the interface of the acquisition functions.
//!
//! One file each. For evaluations of one objective at a time [`c_mokg`], [`hvkg`] and [`jes_lb`], for
//! all at once [`ma_kg`], [`hvkg`], [`jes_lb`], [`par_ego`] and [`noisy_ehvi`];
//! `docs/acquisition.md` compares them.
//! Values are logarithms of expected gains, before any cost is divided by: late in a study gains
//! fall below the smallest double, and a climber needs their gradient all the same.

pub(crate) mod c_mokg;
pub(crate) mod jes_lb;
pub(crate) mod ma_kg;
pub(crate) mod hvkg;
pub(crate) mod noisy_ehvi;
pub(crate) mod par_ego;
mod vector;

use crate::surrogate::{Constraint, Surrogate};
use unyoke_math::gp::{FixedSet, Gp, Prediction, Query};
use unyoke_math::linalg::{Cholesky, Matrix};
use unyoke_math::optimize::Optimum;
use unyoke_math::{Points, Result, normal};

/// Log of the expected gain at a point; writes its gradient where one is wanted.
pub(crate) type Evaluator<'a> = Box<dyn FnMut(&[f64], Option<&mut [f64]>) -> f64 + 'a>;

/// The value of evaluations under a surrogate.
pub(crate) trait Acquisition: Sync {
    /// What can be chosen: each objective, or all of them together.
    fn options(&self) -> usize;

    /// A function of the design for one option, with buffers of its own.
    fn evaluator(&self, option: usize) -> Evaluator<'_>;

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

    fn maximise(
        &self,
        option: usize,
        raw: &Points,
        taken: &dyn Fn(&[f64]) -> bool,
    ) -> Option<crate::error::Result<Vec<Optimum>>> {
        self.inner.maximise(self.options[option], raw, taken)
    }
}

/// What the knowledge-gradient functions share: the designs among which the best is chosen after
/// the imagined observation, seen from every objective's model, for every weight vector.
pub(crate) struct Scalarised<'a> {
    surrogate: &'a Surrogate,
    designs: Points,
    sets: Vec<FixedSet<'a>>,
    constraint_sets: Vec<ConstraintSet<'a>>,
    weights: Points,
    /// λ_q · (μ(x'_j) − r) per weight vector, with room at the end of each row for the candidate.
    intercepts: Points,
}

/// The designs seen from the model of a constraint.
struct ConstraintSet<'a> {
    set: FixedSet<'a>,
    variances: Vec<f64>,
    limit: f64,
}

impl ConstraintSet<'_> {
    fn standing(&self, j: usize) -> Standing {
        let prediction = Prediction { mean: self.set.means()[j], variance: self.variances[j] };
        Standing::new(prediction, self.limit)
    }
}

/// How far a design is from the limit of a constraint.
#[derive(Debug, Clone, Copy)]
struct Standing {
    /// Expected value less the limit.
    margin: f64,
    variance: f64,
}

impl Standing {
    fn new(prediction: Prediction, limit: f64) -> Self {
        Self { margin: prediction.mean - limit, variance: prediction.variance }
    }

    /// Variance that remains after an observation that moves the mean by `slope` Z.
    fn rest(&self, slope: f64) -> f64 {
        // Not nothing: what is known exactly may still lie exactly at the limit.
        const LEAST: f64 = 1e-14;
        (self.variance - slope * slope).max(LEAST)
    }

    /// Standard deviations by which the limit is kept after the outcome Z = z.
    fn at(&self, slope: f64, z: f64) -> f64 {
        (self.margin + slope * z) / self.rest(slope).sqrt()
    }
}

impl<'a> Scalarised<'a> {
    pub(crate) fn new(surrogate: &'a Surrogate, set: &Points, weights: &Points) -> Result<Self> {
        let sets = surrogate.objectives.iter().map(|output| output.gp.fixed_set(set));
        let sets: Vec<FixedSet<'a>> = sets.collect::<Result<_>>()?;
        let constraint_set = |constraint: &'a Constraint| -> Result<ConstraintSet<'a>> {
            let gp = &constraint.belief.gp;
            let variances = gp.predict_many(set)?.iter().map(|p| p.variance).collect();
            Ok(ConstraintSet { set: gp.fixed_set(set)?, variances, limit: constraint.limit })
        };
        let constraint_sets: Vec<ConstraintSet<'a>> =
            surrogate.constraints.iter().map(constraint_set).collect::<Result<_>>()?;
        let (designs, weights) = (set.clone(), weights.clone());
        let intercepts = Points::zeros(set.len() + 1, weights.len());
        let mut shared = Self { surrogate, designs, sets, constraint_sets, weights, intercepts };
        shared.fill_intercepts()?;
        Ok(shared)
    }

    fn fill_intercepts(&mut self) -> Result<()> {
        let means = self.sets.iter().zip(&self.surrogate.objectives).map(|(set, belief)| {
            match belief.known.is_some() {
                true => belief.means(&self.designs),
                false => Ok(set.means().to_vec()),
            }
        });
        let means: Vec<Vec<f64>> = means.collect::<Result<_>>()?;
        let mut intercepts = Points::zeros(self.designs.len() + 1, self.weights.len());
        for q in 0..self.weights.len() {
            for (k, means) in means.iter().enumerate() {
                let (factor, zero) = (self.factor(q, k), self.zero(k));
                for (a, mean) in intercepts.row_mut(q).iter_mut().zip(means) {
                    *a += factor * (mean - zero);
                }
            }
        }
        self.intercepts = intercepts;
        Ok(())
    }

    /// What an infeasible design is worth in objective k.
    fn zero(&self, k: usize) -> f64 {
        self.surrogate.reference.as_ref().map_or(0.0, |reference| reference[k])
    }

    /// λ_q · (μ − r) of a design with these means.
    fn intercept(&self, q: usize, means: &[f64]) -> f64 {
        means.iter().enumerate().map(|(k, mean)| self.factor(q, k) * (mean - self.zero(k))).sum()
    }

    /// Whether some designs may be infeasible.
    fn is_constrained(&self) -> bool {
        self.surrogate.is_constrained()
    }

    /// Feasibility of each design of the set apart from the constraints `observed`, and room for
    /// the candidate.
    fn base_feasibility(&self, observed: &[usize]) -> Result<Vec<f64>> {
        let mut base = vec![1.0; self.designs.len() + 1];
        let constraints = self.surrogate.constraints.iter().zip(&self.constraint_sets).enumerate();
        for (_, (constraint, set)) in constraints.filter(|(c, _)| !observed.contains(c)) {
            for (j, (f, x)) in base.iter_mut().zip(self.designs.rows()).enumerate() {
                *f *= match constraint.belief.known.is_some() {
                    true => constraint.likelihood(x, &mut Query::default())?,
                    false => normal::cdf(set.standing(j).at(0.0, 0.0)),
                };
            }
        }
        for runs in &self.surrogate.runs {
            let factors = runs.factors(&self.designs)?;
            base.iter_mut().zip(factors).for_each(|(f, factor)| *f *= factor);
        }
        Ok(base)
    }

    fn objectives(&self) -> usize {
        self.sets.len()
    }

    /// The design of the set that `x` is, if any.
    ///
    /// The two lines of such a candidate must be one to the last bit: what rounding makes of their
    /// difference looks like a gain, and late in a study like the largest.
    fn twin(&self, x: &[f64]) -> Option<usize> {
        self.designs.rows().position(|design| design == x)
    }

    /// λ_k times the unit of objective k, for weight vector q.
    fn factor(&self, q: usize, k: usize) -> f64 {
        self.weights.row(q)[k] * self.surrogate.objectives[k].unit
    }
}

/// A gain summed over weight vectors, with its derivatives, in units of e^(log_scale): ordinary
/// numbers however small the gain is.
#[derive(Default)]
struct Sums {
    log_scale: f64,
    gain: f64,
    /// Derivatives in slopes or covariances of lines.
    lines: Vec<f64>,
    /// Derivatives in the variance of each objective's observation.
    variances: Vec<f64>,
    /// Derivatives in the posterior mean of each objective at x, standardised.
    means: Vec<f64>,
}

impl Sums {
    fn clear(&mut self, lines: usize, objectives: usize) {
        (self.log_scale, self.gain) = (f64::NEG_INFINITY, 0.0);
        for (sums, count) in [
            (&mut self.lines, lines),
            (&mut self.variances, objectives),
            (&mut self.means, objectives),
        ] {
            sums.clear();
            sums.resize(count, 0.0);
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
        for sum in self.lines.iter_mut().chain(&mut self.variances).chain(&mut self.means) {
            *sum *= shrink;
        }
        1.0
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
