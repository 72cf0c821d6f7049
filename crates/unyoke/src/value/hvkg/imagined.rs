//! Hypervolumes of sets of designs under the posterior means that an evaluation may leave.
//!
//! Observing objective k at x with outcome z standard deviations above what is expected turns its
//! posterior mean into μ_k(x') + k_k(x', x)/√(k_k(x, x) + σ_k²) · z. Source: Daulton et al. 2023.

use crate::model::Model;
use unyoke_math::lookahead::{Lookahead, Pulled, View, ViewAdjoint};
use unyoke_math::pareto::{hypervolume, hypervolume_with_gradient};
use unyoke_math::{Points, Result};

/// What is observed in an imagined evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observed {
    /// One objective.
    One(usize),
    /// All of them, each with an outcome of its own.
    All,
}

impl Observed {
    fn includes(self, objective: usize) -> bool {
        match self {
            Self::One(m) => m == objective,
            Self::All => true,
        }
    }
}

/// The models as they are now, or as an evaluation at x may leave them.
pub(super) struct Imagined<'a> {
    models: Vec<Ahead<'a>>,
    reference: &'a [f64],
}

/// One objective's model and the standard deviation of its imagined observation.
struct Ahead<'a> {
    ahead: Lookahead<'a>,
    deviation: f64,
}

impl Ahead<'_> {
    /// How far a base sample moves means, per unit of covariance with x.
    fn step(&self, z: f64) -> f64 {
        // Nothing moves where nothing is observed, or where all is known.
        if self.deviation > 0.0 { z / self.deviation } else { 0.0 }
    }
}

/// Buffers, and what gradients in x are summed from.
#[derive(Default)]
pub(super) struct Work {
    views: Vec<View>,
    values: Points,
    slopes: Points,
    by_mean: Vec<f64>,
    by_covariance: Vec<f64>,
    pulled: Vec<Pulled>,
    by_variance: Vec<f64>,
}

impl Work {
    /// Objective values of the last set or fantasy, a row per design.
    pub(super) fn values(&self) -> &Points {
        &self.values
    }

    /// Forgets the sums for the gradient in x.
    pub(super) fn clear(&mut self) {
        self.pulled.iter_mut().for_each(Pulled::clear);
        self.by_variance.fill(0.0);
    }
}

impl<'a> Imagined<'a> {
    /// Nothing is observed.
    pub(super) fn now(model: &'a Model, reference: &'a [f64]) -> Self {
        let models = model.objectives.iter();
        let still = |gp| Ahead { ahead: Lookahead::still(gp), deviation: 0.0 };
        Self { models: models.map(|output| still(&output.gp)).collect(), reference }
    }

    /// An evaluation at `x`.
    pub(super) fn after(
        model: &'a Model,
        reference: &'a [f64],
        observed: Observed,
        x: &[f64],
    ) -> Result<Self> {
        let mut imagined = Self::now(model, reference);
        for (k, output) in model.objectives.iter().enumerate() {
            if observed.includes(k) {
                let ahead = Lookahead::new(&output.gp, x)?;
                let deviation = (ahead.variance() + output.gp.noise()).sqrt();
                imagined.models[k] = Ahead { ahead, deviation };
            }
        }
        Ok(imagined)
    }

    /// Views of designs whose coordinates stand one after another, one for each model.
    pub(super) fn views(&self, designs: &[f64]) -> Result<Vec<View>> {
        let view = |output: &Ahead<'_>| {
            let mut view = View::default();
            output.ahead.view(designs, &mut view)?;
            Ok(view)
        };
        self.models.iter().map(view).collect()
    }

    /// Looks at designs whose coordinates stand one after another.
    pub(super) fn look(&self, designs: &[f64], work: &mut Work) -> Result<()> {
        work.views.resize_with(self.models.len(), View::default);
        for (output, view) in self.models.iter().zip(&mut work.views) {
            output.ahead.view(designs, view)?;
        }
        self.make_room(work);
        Ok(())
    }

    /// Looks at the first `count` designs of earlier views, then at others. No gradients follow.
    pub(super) fn look_again(
        &self,
        earlier: &[View],
        count: usize,
        designs: &[f64],
        work: &mut Work,
    ) -> Result<()> {
        work.views.resize_with(self.models.len(), View::default);
        for ((output, earlier), view) in self.models.iter().zip(earlier).zip(&mut work.views) {
            output.ahead.view_again(earlier, count, designs, view)?;
        }
        self.make_room(work);
        Ok(())
    }

    fn make_room(&self, work: &mut Work) {
        let count = work.views.first().map_or(0, |view| view.means().len());
        if work.values.len() != count || work.values.dim() != self.models.len() {
            work.values = Points::zeros(self.models.len(), count);
            work.slopes = work.values.clone();
        }
    }

    /// Posterior means of the designs looked at, for base samples `z`, one per objective.
    pub(super) fn imagine(&self, z: &[f64], work: &mut Work) {
        for (k, (output, view)) in self.models.iter().zip(&work.views).enumerate() {
            let step = output.step(z[k]);
            for (j, (mean, covariance)) in view.means().iter().zip(view.covariances()).enumerate() {
                work.values.row_mut(j)[k] = covariance.mul_add(step, *mean);
            }
        }
    }

    /// HV(μ_{N+}(S)) of the designs looked at.
    pub(super) fn imagined_hypervolume(&self, z: &[f64], work: &mut Work) -> Result<f64> {
        self.imagine(z, work);
        hypervolume(&work.values, self.reference)
    }

    /// HV(μ_{N+}(S)); its gradient in the designs replaces `gradient`, and what it adds to the
    /// gradient in x is summed in `work`.
    pub(super) fn hypervolume_with_gradient(
        &self,
        designs: &[f64],
        z: &[f64],
        work: &mut Work,
        gradient: &mut [f64],
    ) -> Result<f64> {
        self.look(designs, work)?;
        self.imagine(z, work);
        let volume = hypervolume_with_gradient(&work.values, self.reference, &mut work.slopes)?;
        gradient.fill(0.0);
        work.pulled.resize_with(self.models.len(), Pulled::default);
        work.by_variance.resize(self.models.len(), 0.0);
        for (k, output) in self.models.iter().enumerate() {
            self.pull_back(k, output.step(z[k]), work, gradient)?;
        }
        Ok(volume)
    }

    /// Chain rule for objective k: y_j = μ_j + c_j z/√v, so ∂y_j/∂v = −c_j z/(2 v^{3/2}).
    fn pull_back(&self, k: usize, step: f64, work: &mut Work, gradient: &mut [f64]) -> Result<()> {
        let Work { views, slopes, by_mean, by_covariance, pulled, by_variance, .. } = work;
        by_mean.clear();
        by_mean.extend(slopes.rows().map(|row| row[k]));
        by_covariance.clear();
        by_covariance.extend(by_mean.iter().map(|slope| slope * step));
        let output = &self.models[k];
        if step != 0.0 {
            let covariances = views[k].covariances();
            let moved: f64 = by_covariance.iter().zip(covariances).map(|(g, c)| g * c).sum();
            by_variance[k] -= 0.5 * moved / (output.deviation * output.deviation);
        }
        let adjoint = ViewAdjoint { means: by_mean, covariances: by_covariance };
        output.ahead.pull_back(&views[k], adjoint, gradient, &mut pulled[k])
    }

    /// Writes the gradient in x of the sum of all hypervolumes since [`Work::clear`].
    pub(super) fn gradient_in_x(&self, work: &Work, gradient: &mut [f64]) {
        gradient.fill(0.0);
        for ((output, pulled), by_variance) in
            self.models.iter().zip(&work.pulled).zip(&work.by_variance)
        {
            if output.deviation > 0.0 {
                let part = output.ahead.gradient(pulled, *by_variance);
                gradient.iter_mut().zip(part).for_each(|(g, p)| *g += p);
            }
        }
    }
}

/// The one-shot function: the mean over fantasies of HV(μ_{N+}(S_f)), in x and all sets at once.
pub(super) struct OneShot<'a> {
    pub(super) model: &'a Model,
    pub(super) reference: &'a [f64],
    pub(super) observed: Observed,
    /// Base samples, a row per fantasy, a column per objective.
    pub(super) base: &'a Points,
    pub(super) work: Work,
}

impl OneShot<'_> {
    /// The value at `all`, which holds x and then the sets, all of one size, one after another.
    pub(super) fn evaluate(&mut self, all: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let dim = self.model.objectives.first().map_or(0, |output| output.gp.dim());
        let (x, sets) = all.split_at(dim);
        let (in_x, in_sets) = gradient.split_at_mut(dim);
        let imagined = Imagined::after(self.model, self.reference, self.observed, x)?;
        self.work.clear();
        let size = (sets.len() / self.base.len().max(1)).max(1);
        let mut sum = 0.0;
        let parts = sets.chunks_exact(size).zip(in_sets.chunks_exact_mut(size));
        for ((set, in_set), z) in parts.zip(self.base.rows()) {
            sum += imagined.hypervolume_with_gradient(set, z, &mut self.work, in_set)?;
        }
        imagined.gradient_in_x(&self.work, in_x);
        let count = self.base.len() as f64;
        gradient.iter_mut().for_each(|g| *g /= count);
        Ok(sum / count)
    }
}
