//! Hypervolume knowledge gradient of one objective, in closed form.
//!
//! The hypervolume of the posterior means over a reference point is an integral over the objectives
//! that are not measured; at each point of it the measured one is as high as the best line among the
//! designs that reach it. So its expected rise is a sum of expected maxima of lines
//! (`unyoke_math::hypervolume_gain`): no fantasies, no inner search, the set of designs to recommend
//! as large as the set that is compared.

use super::{Acquisition, Evaluator};
use crate::model::Model;
use crate::outlook::{Compared, Outlook};
use unyoke_math::gp::Query;
use unyoke_math::hypervolume_gain::{self, HypervolumeGain};
use unyoke_math::{Points, Result};

/// Directions for more objectives than can be integrated over exactly.
const DIRECTIONS: usize = 64;
const EXACT_OBJECTIVES: usize = 3;

/// The expected rise of the hypervolume when one objective is measured; an option per objective.
pub(crate) struct Hypervolume<'a> {
    compared: Compared<'a>,
    gains: Vec<HypervolumeGain>,
}

impl<'a> Hypervolume<'a> {
    /// For designs `set`, over a reference point in standardised units.
    pub(crate) fn new(model: &'a Model, set: &Points, reference: &[f64]) -> Result<Self> {
        let compared = Compared::new(model, set)?;
        let objectives = model.objectives.len();
        let means = model.means(set)?;
        let gain = |m: usize| match objectives <= EXACT_OBJECTIVES {
            true => HypervolumeGain::new(&means, m, reference),
            false => {
                let directions = hypervolume_gain::directions(objectives - 1, DIRECTIONS, 0)?;
                HypervolumeGain::along(&directions, &means, m, reference)
            }
        };
        let gains = (0..objectives).map(gain).collect::<Result<_>>()?;
        Ok(Self { compared, gains })
    }
}

impl Acquisition for Hypervolume<'_> {
    fn options(&self) -> usize {
        self.gains.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        let mut work = Work::new(self, option);
        Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
    }
}

/// One objective's evaluator with its buffers.
struct Work<'a> {
    acquisition: &'a Hypervolume<'a>,
    objective: usize,
    outlook: Outlook,
    queries: Vec<Query>,
    means: Vec<f64>,
    gain: hypervolume_gain::Work,
    slopes: Vec<f64>,
}

impl<'a> Work<'a> {
    fn new(acquisition: &'a Hypervolume<'a>, objective: usize) -> Self {
        let objectives = acquisition.gains.len();
        Self {
            acquisition,
            objective,
            outlook: Outlook::default(),
            queries: vec![Query::default(); objectives],
            means: vec![0.0; objectives],
            gain: hypervolume_gain::Work::default(),
            slopes: vec![],
        }
    }

    /// Log of the gain at `x`.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        self.place_candidate(x)?;
        if self.outlook.is_still() {
            return Ok(f64::NEG_INFINITY);
        }
        let set = &self.acquisition.gains[self.objective];
        let gain = set.gain(&self.outlook.slopes, &self.means, &mut self.gain)?;
        if let Some(gradient) = gradient {
            self.write_gradient(x, gain.scaled, gradient)?;
        }
        Ok(gain.log())
    }

    /// Computes what all models say about `x`.
    fn place_candidate(&mut self, x: &[f64]) -> Result<()> {
        let Compared { model, objectives, .. } = &self.acquisition.compared;
        let twin = self.acquisition.compared.twin(x);
        self.outlook.look(&objectives[self.objective], x, twin)?;
        for (k, belief) in model.objectives.iter().enumerate() {
            self.means[k] = match (twin, belief.known.is_some()) {
                (_, true) => belief.predict(x)?.mean,
                (Some(twin), false) => {
                    belief.gp.query_into(x, &mut self.queries[k])?;
                    objectives[k].means()[twin]
                }
                (None, false) if k == self.objective => self.outlook.candidate.prediction().mean,
                (None, false) => {
                    belief.gp.query_into(x, &mut self.queries[k])?;
                    self.queries[k].prediction().mean
                }
            };
        }
        Ok(())
    }

    /// Gradient of the logarithm: chain rule through slopes and means.
    fn write_gradient(&mut self, x: &[f64], gain: f64, gradient: &mut [f64]) -> Result<()> {
        gradient.fill(0.0);
        // Where nothing can be gained there is no direction to go.
        if gain == 0.0 {
            return Ok(());
        }
        let Compared { model, objectives, .. } = &self.acquisition.compared;
        self.slopes.clear();
        self.slopes.extend_from_slice(self.gain.slopes());
        let by_means = self.gain.means();
        let own = [by_means[self.objective], 0.0];
        let set = &objectives[self.objective];
        gradient.copy_from_slice(&self.outlook.pull_back(set, &mut self.slopes, own)?);
        for (k, belief) in model.objectives.iter().enumerate().filter(|(k, _)| *k != self.objective)
        {
            if by_means[k] != 0.0 && belief.known.is_some() {
                belief.mean_with_gradient(x, by_means[k], gradient)?;
            } else if by_means[k] != 0.0 {
                let slope = belief.gp.gradient(&self.queries[k], by_means[k], 0.0);
                gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
            }
        }
        gradient.iter_mut().for_each(|g| *g /= gain);
        Ok(())
    }
}
