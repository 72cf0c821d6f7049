//! Several objectives measured at once: the first given the others' outcomes in closed form, these at
//! nodes.

use crate::outlook::{Compared, Outlook};
use unyoke_math::gp::Query;
use unyoke_math::hypervolume_gain::{JointHypervolumeGain, JointWork};
use unyoke_math::{Points, Result};

/// The evaluator of a measurement of several objectives, with its buffers.
pub(super) struct Together<'a> {
    compared: &'a Compared<'a>,
    set: &'a JointHypervolumeGain,
    moving: &'a [usize],
    outlooks: Vec<Outlook>,
    /// Of objectives that do not move.
    queries: Vec<Query>,
    means: Vec<f64>,
    slopes: Points,
    work: JointWork,
}

impl<'a> Together<'a> {
    pub(super) fn new(
        compared: &'a Compared<'a>,
        set: &'a JointHypervolumeGain,
        moving: &'a [usize],
    ) -> Self {
        let objectives = compared.model.objectives.len();
        Self {
            compared,
            set,
            moving,
            outlooks: vec![Outlook::default(); moving.len()],
            queries: vec![Query::default(); objectives],
            means: vec![0.0; objectives],
            slopes: Points::zeros(compared.designs.len() + 1, moving.len()),
            work: JointWork::default(),
        }
    }

    /// Log of the gain at `x`.
    pub(super) fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        self.look(x)?;
        if self.outlooks.iter().all(Outlook::is_still) {
            return Ok(f64::NEG_INFINITY);
        }
        let gain = self.set.gain(&self.slopes, &self.means, &mut self.work)?;
        if let Some(gradient) = gradient {
            self.write_gradient(x, gain.scaled, gradient)?;
        }
        Ok(gain.log())
    }

    /// Computes what all models say about `x`.
    fn look(&mut self, x: &[f64]) -> Result<()> {
        let twin = self.compared.twin(x);
        for (l, (m, outlook)) in self.moving.iter().zip(&mut self.outlooks).enumerate() {
            outlook.look(&self.compared.objectives[*m], x, twin)?;
            self.means[*m] = outlook.candidate.prediction().mean;
            self.slopes.row_mut(l).copy_from_slice(&outlook.slopes);
        }
        for (k, belief) in self.compared.model.objectives.iter().enumerate() {
            if belief.known.is_some() {
                self.means[k] = belief.predict(x)?.mean;
                continue;
            }
            if !self.moving.contains(&k) {
                self.means[k] = belief.gp.query_mean(x, &mut self.queries[k])?;
            }
            // A twin must be one to the last bit.
            if let Some(twin) = twin {
                self.means[k] = self.compared.objectives[k].means()[twin];
            }
        }
        Ok(())
    }

    /// Gradient of the logarithm: chain rule through slopes and means.
    fn write_gradient(&self, x: &[f64], gain: f64, gradient: &mut [f64]) -> Result<()> {
        gradient.fill(0.0);
        // Where nothing can be gained there is no direction to go.
        if gain == 0.0 {
            return Ok(());
        }
        let (by_means, lines) = (self.work.means(), self.slopes.dim());
        let mut by_slopes = self.work.slopes().to_vec();
        let moved = self.moving.iter().zip(&self.outlooks).zip(by_slopes.chunks_mut(lines));
        for ((m, outlook), by_slopes) in moved {
            let set = &self.compared.objectives[*m];
            let slope = outlook.pull_back(set, by_slopes, [by_means[*m], 0.0])?;
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
        }
        for (k, belief) in self.compared.model.objectives.iter().enumerate() {
            if self.moving.contains(&k) || by_means[k] == 0.0 {
                continue;
            }
            if belief.known.is_some() {
                belief.mean_with_gradient(x, by_means[k], gradient)?;
            } else {
                let slope = belief.gp.gradient(&self.queries[k], by_means[k], 0.0);
                gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
            }
        }
        gradient.iter_mut().for_each(|g| *g /= gain);
        Ok(())
    }
}
